package strictjson

import (
	"archive/zip"
	"errors"
	"io"
	"strings"
	"testing"
)

// What the suite leaves to the parser, and what ours decides: the reason is a
// part of the refusal, or says why the text is accepted.
var suiteDecisions = map[string]struct {
	accept bool
	why    string
}{
	"i_number_double_huge_neg_exp.json":                   {true, "the binary64 number nearest to it is 0"},
	"i_number_real_underflow.json":                        {true, "the binary64 number nearest to it is 0"},
	"i_number_too_big_neg_int.json":                       {true, "integers keep every digit"},
	"i_number_too_big_pos_int.json":                       {true, "integers keep every digit"},
	"i_number_very_big_negative_int.json":                 {true, "integers keep every digit"},
	"i_structure_500_nested_arrays.json":                  {true, "a judged document may nest 10,000 deep"},
	"i_structure_UTF-8_BOM_empty_object.json":             {true, "a byte order mark at the start is skipped"},
	"i_number_huge_exp.json":                              {false, "too large for a binary64 number"},
	"i_number_neg_int_huge_exp.json":                      {false, "too large for a binary64 number"},
	"i_number_pos_double_huge_exp.json":                   {false, "too large for a binary64 number"},
	"i_number_real_neg_overflow.json":                     {false, "too large for a binary64 number"},
	"i_number_real_pos_overflow.json":                     {false, "too large for a binary64 number"},
	"i_object_key_lone_2nd_surrogate.json":                {false, "second half of a surrogate pair"},
	"i_string_1st_surrogate_but_2nd_missing.json":         {false, "first half of a surrogate pair"},
	"i_string_1st_valid_surrogate_2nd_invalid.json":       {false, "first half of a surrogate pair"},
	"i_string_UTF-16LE_with_BOM.json":                     {false, "UTF-16"},
	"i_string_UTF-8_invalid_sequence.json":                {false, "not valid UTF-8"},
	"i_string_UTF8_surrogate_U+D800.json":                 {false, "not valid UTF-8"},
	"i_string_incomplete_surrogate_and_escape_valid.json": {false, "first half of a surrogate pair"},
	"i_string_incomplete_surrogate_pair.json":             {false, "second half of a surrogate pair"},
	"i_string_incomplete_surrogates_escape_valid.json":    {false, "first half of a surrogate pair"},
	"i_string_invalid_lonely_surrogate.json":              {false, "first half of a surrogate pair"},
	"i_string_invalid_surrogate.json":                     {false, "first half of a surrogate pair"},
	"i_string_invalid_utf-8.json":                         {false, "not valid UTF-8"},
	"i_string_inverted_surrogates_U+1D11E.json":           {false, "second half of a surrogate pair"},
	"i_string_iso_latin_1.json":                           {false, "not valid UTF-8"},
	"i_string_lone_second_surrogate.json":                 {false, "second half of a surrogate pair"},
	"i_string_lone_utf8_continuation_byte.json":           {false, "not valid UTF-8"},
	"i_string_not_in_unicode_range.json":                  {false, "not valid UTF-8"},
	"i_string_overlong_sequence_2_bytes.json":             {false, "not valid UTF-8"},
	"i_string_overlong_sequence_6_bytes.json":             {false, "not valid UTF-8"},
	"i_string_overlong_sequence_6_bytes_null.json":        {false, "not valid UTF-8"},
	"i_string_truncated-utf-8.json":                       {false, "not valid UTF-8"},
	"i_string_utf16BE_no_BOM.json":                        {false, "UTF-16"},
	"i_string_utf16LE_no_BOM.json":                        {false, "UTF-16"},
}

// Valid JSON that we refuse all the same: a duplicate name is no mistake to the
// suite, but no two readers agree about what it means.
var suiteStricter = map[string]string{
	"y_object_duplicated_key.json":           "duplicate member name",
	"y_object_duplicated_key_and_value.json": "duplicate member name",
}

func TestJSONTestSuite(t *testing.T) {
	archive, err := zip.OpenReader("testdata/jsontestsuite/test_parsing.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	seen := map[string]int{}
	for _, f := range archive.File {
		data := unzipped(t, f)
		doc, err := Parse(data, DocumentLimits)
		var syn *SyntaxError
		if err != nil && (!errors.As(err, &syn) || syn.Line < 1 || syn.Column < 1) {
			t.Errorf("%s: refused without a place: %v", f.Name, err)
			continue
		}
		seen[f.Name[:2]]++
		switch decision, listed := suiteDecisions[f.Name]; {
		case suiteStricter[f.Name] != "":
			if err == nil || !strings.Contains(syn.Reason, suiteStricter[f.Name]) {
				t.Errorf("%s: %v, want %q", f.Name, err, suiteStricter[f.Name])
			}
		case strings.HasPrefix(f.Name, "y_") && err != nil:
			t.Errorf("%s: refused: %v", f.Name, err)
		case strings.HasPrefix(f.Name, "n_") && err == nil:
			t.Errorf("%s: accepted as %s", f.Name, Canonical(&doc.Root))
		case strings.HasPrefix(f.Name, "i_") && !listed:
			t.Errorf("%s: not decided: %v", f.Name, err)
		case listed && decision.accept && err != nil:
			t.Errorf("%s: refused: %v; want it accepted, for %s", f.Name, err, decision.why)
		case listed && !decision.accept && (err == nil || !strings.Contains(syn.Reason, decision.why)):
			t.Errorf("%s: %v; want it refused: %s", f.Name, err, decision.why)
		}
	}
	if seen["y_"] != 95 || seen["n_"] != 188 || seen["i_"] != 35 {
		t.Errorf("the suite is not whole: %v", seen)
	}
}

func unzipped(t testing.TB, f *zip.File) []byte {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
