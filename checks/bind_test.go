package checks_test

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/verdictgate/verdictgate/checks"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// FuzzBind binds arbitrary params to every type. A type looks at what was
// decoded also when something is wrong beside it; whatever that is, it must not
// panic, nor report a problem without a place, nor change the document.
func FuzzBind(f *testing.F) {
	cases, err := filepath.Glob("*/testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		f.Fatalf("no cases of check types (%v)", err)
	}
	for _, file := range cases {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, section := range archive.Files {
			if section.Name == "params.json" && len(section.Data) < 2000 {
				f.Add(section.Data)
			}
		}
	}
	for _, seed := range []string{
		`[]`, `null`, `{"value": {"from": {"database": 1, "sql": 2, "parameters": 3}}, "min": [], "max": {}, "equals": "x", "tolerance": null}`,
		`{"path": 1, "schema": [], "pointer": 2, "equals": [[]], "satisfies": 7}`,
		`{"database": [], "sql": {}, "parameters": {}, "equals": 1, "row_count": "x"}`,
		`{"path": {}, "expected_files": [[], {}, null, 1], "exact": [], "expected_digests": {"a": [], "": {}}}`,
		`{"command": [[], 1], "cwd": 7, "exit_code": "x", "env": [], "caches": {}}`,
	} {
		f.Add([]byte(seed))
	}
	types := checks.All()
	f.Fuzz(func(t *testing.T, params []byte) {
		doc, err := strictjson.Parse(params, strictjson.ContractLimits)
		if err != nil {
			return
		}
		before := string(strictjson.Canonical(&doc.Root))
		for _, typ := range types {
			for version := 1; version <= 2; version++ {
				report := strictjson.Report{Version: version}
				step := typ.Bind(report.Root(&doc.Root))
				for _, p := range report.Problems {
					if p.Message == "" || doc.Position(p.Pos).Line == 0 {
						t.Errorf("%s: %+v has no message or no place", typ.Name, p)
					}
				}
				if len(report.Problems) > 0 && (step.Tools != nil || step.Warnings != nil) {
					t.Errorf("%s: refused params were asked for more", typ.Name)
				}
			}
		}
		if after := string(strictjson.Canonical(&doc.Root)); after != before {
			t.Errorf("binding changed the contract:\n%s\n%s", before, after)
		}
	})
}
