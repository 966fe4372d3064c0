package github

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Name is the name of a contract's check-run, and what rules require:
//
//	verdict / CONTRACT @ BASE (MATRIX)
//
// Whoever opens a pull request chooses the base's name. A character in it that
// nobody sees, or takes for another one, is shown and not dropped: "main" and "main" with a
// zero-width space are two names. What is too long is cut and ends in a digest of the whole, so that two long
// names are two as well.
func Name(f Facts) string { return named(f, f.ContractID) }

// OverallName is the name of the check-run about several contracts:
//
//	verdict @ BASE (MATRIX)
func OverallName(f Facts) string { return named(f, "") }

func named(f Facts, contractID string) string {
	name := namePart(f.CheckName)
	if contractID != "" {
		name += " / " + namePart(contractID)
	}
	if f.BaseRef != "" {
		name += " @ " + namePart(f.BaseRef)
	}
	if f.Matrix != "" {
		name += " (" + namePart(f.Matrix) + ")"
	}
	return shortened(name, maxName)
}

// namePart makes one part of a name visible, so that two parts that differ look
// different: other spaces than the one, and one that stands at an end or beside
// another, marks that join the letter before them, code points above U+FFFF as in
// annotations, and what only looks like the result of all that.
func namePart(s string) string {
	var b strings.Builder
	for i, r := range s {
		after := s[i:]
		switch {
		case r == ' ' && (i == 0 || len(after) == 1 || s[i-1] == ' '), r != ' ' && unicode.IsSpace(r), unicode.IsMark(r),
			strings.HasPrefix(after, "<U+"), strings.HasPrefix(after, "<0x"):
			fmt.Fprintf(&b, "<U+%04X>", r)
		case r == utf8.RuneError:
			_, size := utf8.DecodeRuneInString(after)
			b.WriteString(escapeRunes(after[:size], false, true))
		default:
			b.WriteString(escapeRunes(string(r), false, true))
		}
	}
	return shortened(b.String(), maxNamePart)
}

// shortened cuts to characters; the end is then a digest of the whole.
func shortened(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	end := fmt.Sprintf("…%x", sum[:6])
	return string([]rune(s)[:most-utf8.RuneCountInString(end)]) + end
}

// MatrixValues gives the values of a job's matrix, as toJSON(matrix) writes it, the way
// GitHub names the job's legs: "ubuntu-latest, 1.26". No matrix ("" or null) gives "".
// Its error says that it is no JSON object.
func MatrixValues(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", nil
	}
	doc, err := strictjson.Parse([]byte(text), strictjson.ContractLimits)
	if err != nil {
		return "", fmt.Errorf("the matrix is not JSON: %w", err)
	}
	switch doc.Root.Kind {
	case strictjson.Null:
		return "", nil
	case strictjson.Object:
	default:
		return "", fmt.Errorf("the matrix is %s, not an object", doc.Root.Kind)
	}
	var values []string
	for i := range doc.Root.Members {
		switch v := &doc.Root.Members[i].Value; v.Kind {
		case strictjson.String, strictjson.Number:
			values = append(values, v.Text)
		default:
			values = append(values, v.String())
		}
	}
	return strings.Join(values, ", "), nil
}
