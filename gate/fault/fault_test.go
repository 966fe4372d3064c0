package fault_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// constants reads the codes that the package declares from its source: a new
// one without a row in the table must be noticed.
func constants(t *testing.T) []fault.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []fault.Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Code" {
			return true
		}
		for _, v := range spec.Values {
			text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fault.Code(text))
		}
		return false
	})
	return out
}

func TestEveryCodeHasItsRow(t *testing.T) {
	declared := constants(t)
	if len(declared) < 24 {
		t.Fatalf("only %d codes found in the source", len(declared))
	}
	rows := fault.Codes()
	if len(rows) != len(declared) {
		t.Errorf("%d codes and %d rows", len(declared), len(rows))
	}
	for i, code := range declared {
		if i < len(rows) && rows[i].Code != code {
			t.Errorf("row %d is %s; the constant there is %s", i, rows[i].Code, code)
		}
	}
}

func TestRows(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]+\.[a-z]+(_[a-z]+)*$`)
	seen := map[fault.Code]bool{}
	for _, row := range fault.Codes() {
		if seen[row.Code] {
			t.Errorf("%s stands twice", row.Code)
		}
		seen[row.Code] = true
		if !form.MatchString(string(row.Code)) {
			t.Errorf("%s is not well-formed", row.Code)
		}
		for what, text := range map[string]string{"meaning": row.Meaning, "mend": row.Mend} {
			if !strings.HasSuffix(text, ".") || strings.TrimSpace(text) != text || strings.ContainsAny(text, "\n\r|") {
				t.Errorf("%s: its %s is no sentence for one cell of a table: %q", row.Code, what, text)
			}
		}
	}
}

func TestNew(t *testing.T) {
	for _, row := range fault.Codes() {
		f := fault.New(row.Code, "", "file %s, line %d", "a", 7)
		if f.Code != row.Code || f.Message != "file a, line 7" || f.Fix != row.Mend {
			t.Errorf("New(%s) = %+v, want the code's own mend", row.Code, f)
		}
		if got, want := f.Error(), string(row.Code)+": file a, line 7"; got != want {
			t.Errorf("Error() = %q, want %q", got, want)
		}
	}
	if f := fault.New(fault.Usage, "Do this.", "x"); f.Fix != "Do this." {
		t.Errorf("the fix given is %q", f.Fix)
	}
	if f := fault.New(fault.Usage, "", "x"); f.Details != nil {
		t.Errorf("details without any: %v", f.Details)
	}
}

func TestWithAndBecause(t *testing.T) {
	f := fault.New(fault.ContractUnreadable, "", "x").With("line", 3).With("column", 4).Because(fs.ErrNotExist)
	if len(f.Details) != 2 || f.Details["line"] != 3 || f.Details["column"] != 4 {
		t.Errorf("details %v", f.Details)
	}
	if !errors.Is(f, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
}

func TestAs(t *testing.T) {
	f := fault.New(fault.Timeout, "", "x")
	if got := fault.As(fmt.Errorf("a: %w", fmt.Errorf("b: %w", f))); got != f {
		t.Errorf("As gives %v, not the fault inside", got)
	}
	cause := errors.New("100%d full")
	got := fault.As(cause)
	if got.Code != fault.BackendFailed || got.Message != "100%d full" || got.Fix == "" || !errors.Is(got, cause) {
		t.Errorf("As of any error gives %+v", got)
	}
}
