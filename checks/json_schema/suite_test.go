package jsonschema

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// deviations are the cases of the published suite whose answer we do not give:
// the beginning of their names, how many there are, and the reason. The test
// fails for any other, and for one that is listed and agrees.
var deviations = []deviation{
	{"draft2020-12/format.json: ", 19,
		"The required tests of this draft take formats for annotations; here they are asserted in every draft."},
	{"draft2020-12/optional/format/ecmascript-regex.json: ", 9,
		"Patterns are RE2, which lacks backreferences and lookbehind, has no empty class and no \\cA, and has \\a, (?P<name>) and (?i)."},
}

type deviation struct {
	name   string
	cases  int
	reason string
}

// remotes are the suite's documents. The product loads nothing; in the test
// they stand where the suite's own server would serve them.
type remotes map[string]any

func (r remotes) Load(url string) (any, error) {
	if doc, ok := r[url]; ok {
		return doc, nil
	}
	return nil, fmt.Errorf("the suite has no document %s", url)
}

func archive(t *testing.T, name string) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", "suite", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Files) == 0 {
		t.Fatalf("%s holds no file", name)
	}
	return a.Files
}

func parse(t *testing.T, data []byte) *strictjson.Value {
	t.Helper()
	doc, err := strictjson.Parse(data, strictjson.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	return &doc.Root
}

func TestPublishedSuite(t *testing.T) {
	drafts := []struct{ name, uri string }{
		{"draft4", "http://json-schema.org/draft-04/schema#"},
		{"draft6", "http://json-schema.org/draft-06/schema#"},
		{"draft7", "http://json-schema.org/draft-07/schema#"},
		{"draft2019-09", "https://json-schema.org/draft/2019-09/schema"},
		{"draft2020-12", "https://json-schema.org/draft/2020-12/schema"},
		{"format", "https://json-schema.org/draft/2020-12/schema"},
	}
	differ := make([]int, len(deviations))
	for _, d := range drafts {
		loader := remotes{}
		for _, f := range archive(t, "remotes") {
			loader["http://localhost:1234/"+strings.TrimPrefix(f.Name, "remotes/")] = instance(declare(parse(t, f.Data), d.uri))
		}
		cases := 0
		for _, f := range archive(t, d.name) {
			for i := range parse(t, f.Data).Items {
				group := &parse(t, f.Data).Items[i]
				cases += runGroup(t, loader, d.uri, strings.TrimPrefix(f.Name, "tests/"), group, differ)
			}
		}
		t.Logf("%s: %d cases", d.name, cases)
		if cases < 400 {
			t.Errorf("%s holds only %d cases", d.name, cases)
		}
	}
	for i, d := range deviations {
		if differ[i] != d.cases {
			t.Errorf("%d cases of %q differ; %d are listed", differ[i], d.name, d.cases)
		}
	}
}

// declare writes into a schema what the suite says by the name of a folder and
// a contract says by $schema.
func declare(schema *strictjson.Value, draft string) *strictjson.Value {
	if schema.Kind != strictjson.Object || schema.Get("$schema") != nil {
		return schema
	}
	declared := strictjson.Obj(append([]strictjson.Member{{Name: "$schema", Value: strictjson.Str(draft)}}, schema.Members...)...)
	return &declared
}

// runGroup runs the cases of one schema and counts them.
func runGroup(t *testing.T, loader remotes, draft, file string, group *strictjson.Value, differ []int) int {
	var report strictjson.Report
	c := compile(report.Root(declare(group.Get("schema"), draft)), loader)
	name := file + ": " + group.Get("description").Text
	tests := group.Get("tests").Items
	for i := range tests {
		test := name + ": " + tests[i].Get("description").Text
		got := "the schema is refused"
		if c != nil {
			found, err := c.validate(context.Background(), instance(tests[i].Get("data")))
			if err != nil {
				t.Fatal(err)
			}
			got = fmt.Sprint(len(found) == 0)
			// The two ways of judging must agree.
			valid, err := c.valid(context.Background(), instance(tests[i].Get("data")))
			if err != nil || valid != (len(found) == 0) {
				t.Errorf("%s: %d violations, but valid is %v (%v)", test, len(found), valid, err)
			}
		} else {
			got += ": " + report.Problems[0].Message
		}
		want := fmt.Sprint(tests[i].Get("valid").Bool)
		if got == want {
			continue
		}
		if d := slices.IndexFunc(deviations, func(d deviation) bool { return strings.HasPrefix(test, d.name) }); d >= 0 {
			differ[d]++
			continue
		}
		data, _ := strictjson.Excerpt(tests[i].Get("data"), 200)
		t.Errorf("%s\n\tdata %s: got %s, the suite says %s", test, data, got, want)
	}
	return len(tests)
}
