package jsonschema

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// deviations are the cases of the published suite whose answer we do not give,
// each with the reason. The test fails for one that is not listed, and for one
// that is listed and agrees.
var deviations = map[string]string{}

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
	unused := map[string]bool{}
	for name := range deviations {
		unused[name] = true
	}
	for _, d := range drafts {
		loader := remotes{}
		for _, f := range archive(t, "remotes") {
			loader["http://localhost:1234/"+strings.TrimPrefix(f.Name, "remotes/")] = instance(declare(parse(t, f.Data), d.uri))
		}
		cases := 0
		for _, f := range archive(t, d.name) {
			for i := range parse(t, f.Data).Items {
				group := &parse(t, f.Data).Items[i]
				cases += runGroup(t, loader, d.uri, strings.TrimPrefix(f.Name, "tests/"), group, unused)
			}
		}
		t.Logf("%s: %d cases", d.name, cases)
		if cases < 400 {
			t.Errorf("%s holds only %d cases", d.name, cases)
		}
	}
	for name := range unused {
		t.Errorf("listed as a deviation, but the answer is the suite's: %s", name)
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
func runGroup(t *testing.T, loader remotes, draft, file string, group *strictjson.Value, unused map[string]bool) int {
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
		} else {
			got += ": " + report.Problems[0].Message
		}
		agrees := got == fmt.Sprint(tests[i].Get("valid").Bool)
		_, listed := deviations[test]
		delete(unused, test)
		if agrees == listed {
			data, err := json.Marshal(tests[i].Get("data"))
			if err != nil {
				t.Fatal(err)
			}
			t.Errorf("%s\n\tdata %.200s: got %s, the suite says %v, listed as a deviation: %v", test, data, got, tests[i].Get("valid").Bool, listed)
		}
	}
	return len(tests)
}
