package jsonschema

import (
	"context"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

const benchmarked = `{"type":"object","required":["a"],"properties":{"a":{"type":"array","items":{"$ref":"#/$defs/n"}}},"$defs":{"n":{"type":"integer","minimum":0}}}`

func BenchmarkCompile(b *testing.B) {
	doc, err := strictjson.Parse([]byte(benchmarked), strictjson.ContractLimits)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var r strictjson.Report
		if compile(r.Root(&doc.Root), nothing{}) == nil {
			b.Fatal(r.Problems)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	schema, err := strictjson.Parse([]byte(benchmarked), strictjson.ContractLimits)
	if err != nil {
		b.Fatal(err)
	}
	var r strictjson.Report
	c := compile(r.Root(&schema.Root), nothing{})
	text := `{"a":[1` + strings.Repeat(",12345", 100_000) + `]}`
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		doc, err := strictjson.Parse([]byte(text), strictjson.DocumentLimits)
		if err != nil {
			b.Fatal(err)
		}
		if found, err := c.validate(context.Background(), instance(&doc.Root)); len(found) > 0 || err != nil {
			b.Fatal(found, err)
		}
	}
}
