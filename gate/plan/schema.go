package plan

import (
	"reflect"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/match"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

type member = strictjson.Member

// ContractSchema is the JSON Schema (2020-12) of the contract format with
// these types, for editors: what it refuses, the parser refuses too. It is
// made from the tags that the parser reads.
func ContractSchema(types Types) strictjson.Value {
	one, two := contractOf(types, 1), contractOf(types, 2)
	out := strictjson.Obj(
		member{Name: "$schema", Value: strictjson.Str("https://json-schema.org/draft/2020-12/schema")},
		member{Name: "title", Value: strictjson.Str("Verdict Gate contract")},
		member{Name: "type", Value: strictjson.Str("object")},
	)
	out.Set("if", object(member{Name: "properties", Value: object(member{Name: "schema_version", Value: object(member{Name: "const", Value: strictjson.Num("2")})})},
		member{Name: "required", Value: strictjson.Arr(strictjson.Str("schema_version"))}))
	out.Set("then", two)
	out.Set("else", one)
	out.Set("$defs", object(member{Name: "matcher", Value: match.SchemaDefinition()}))
	return out
}

func object(members ...member) strictjson.Value { return strictjson.Obj(members...) }

func contractOf(types Types, version int) strictjson.Value {
	s := strictjson.Schema(reflect.TypeFor[contract.Contract](), version)
	properties := s.Get("properties")
	versions := object(member{Name: "const", Value: strictjson.Num("1")})
	if version == 2 {
		versions = object(member{Name: "const", Value: strictjson.Num("2")})
	}
	properties.Set("schema_version", versions)
	id := properties.Get("contract_id")
	id.Set("minLength", strictjson.Num("1"))
	id.Set("maxLength", strictjson.Num("256"))
	id.Set("pattern", strictjson.Str(noControls))
	item := properties.Get("checks").Get("items")
	refineCheck(item, types, version)
	refineContract(&s, version)
	return s
}

// The patterns are read by editors with ECMAScript's grammar and by the tests
// with RE2's, so they are written in what both have; \s is not the same in both.
const (
	noControls = `^[^\x00-\x1f\x7f-\x9f]*$`
	notBlank   = "[^\\x09-\\x0d\\x20\\x85\\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
	upwards    = `^/|(^|/)\.\.(/|$)`
)

// refineContract adds what the tags do not say: a contract decides something,
// unless it is frozen already, and what stands in the lists of text.
func refineContract(s *strictjson.Value, version int) {
	one := strictjson.Num("1")
	text := object(member{Name: "type", Value: strictjson.Str("string")}, member{Name: "minLength", Value: one})
	holding := func(name string) strictjson.Value {
		return object(member{Name: "properties", Value: object(member{Name: name, Value: object(member{Name: "minItems", Value: one})})},
			member{Name: "required", Value: strictjson.Arr(strictjson.Str(name))})
	}
	stamped := func(names ...string) strictjson.Value {
		properties, required := object(), strictjson.Arr()
		for _, name := range names {
			properties.Set(name, text)
			required.Items = append(required.Items, strictjson.Str(name))
		}
		return object(member{Name: "properties", Value: properties}, member{Name: "required", Value: required})
	}
	deciding := strictjson.Arr(holding("checks"), stamped("digest", "frozen_at"))
	if version >= 2 {
		deciding.Items = append(deciding.Items, holding("expectations"))
		properties := s.Get("properties")
		properties.Get("expectations").Get("items").Set("pattern", strictjson.Str(notBlank))
		subject := properties.Get("subjects").Get("items")
		subject.Set("pattern", strictjson.Str(notBlank))
		subject.Set("not", object(member{Name: "pattern", Value: strictjson.Str(upwards)}))
		revises := strictjson.DigestSchema()
		revises.Set("description", *properties.Get("revises").Get("description"))
		properties.Set("revises", revises)
		s.Set("dependentSchemas", object(member{Name: "revises", Value: stamped("digest")}))
	}
	s.Set("anyOf", deciding)
}

// refineCheck adds to a check's schema what its tags do not say: the form of
// the id, the bounds of the timeout, and per type the form of its params.
func refineCheck(item *strictjson.Value, types Types, version int) {
	p := item.Get("properties")
	p.Get("id").Set("pattern", strictjson.Str("^[A-Za-z0-9_.:-]{1,64}$"))
	ceiling := "600"
	if version == 2 {
		ceiling = "3600"
		retry := p.Get("retry").Get("properties")
		retry.Get("attempts").Set("minimum", strictjson.Num("1"))
		retry.Get("attempts").Set("maximum", strictjson.Num("10"))
		retry.Get("interval_seconds").Set("minimum", strictjson.Num("0"))
		retry.Get("interval_seconds").Set("maximum", strictjson.Num("600"))
	}
	p.Get("timeout_seconds").Set("exclusiveMinimum", strictjson.Num("0"))
	p.Get("timeout_seconds").Set("maximum", strictjson.Num(ceiling))
	var names, cases []strictjson.Value
	for _, t := range types {
		if t.Since > version {
			continue
		}
		names = append(names, strictjson.Str(t.Name))
		params := strictjson.Schema(t.Params, version)
		params.Set("description", strictjson.Str(t.Summary()))
		properties := object(member{Name: "params", Value: params})
		if _, decides := reflect.New(t.Params).Interface().(check.Profiler); !decides {
			// Only a check that may start a process may take longer.
			properties.Set("timeout_seconds", object(member{Name: "maximum", Value: strictjson.Num("600")}))
		}
		then := object(member{Name: "properties", Value: properties})
		if params.Get("required") != nil {
			then.Set("required", strictjson.Arr(strictjson.Str("params")))
		}
		cases = append(cases, object(
			member{Name: "if", Value: object(member{Name: "properties", Value: object(member{Name: "type", Value: object(member{Name: "const", Value: strictjson.Str(t.Name)})})},
				member{Name: "required", Value: strictjson.Arr(strictjson.Str("type"))})},
			member{Name: "then", Value: then}))
	}
	p.Get("type").Set("enum", strictjson.Arr(names...))
	p.Get("params").Set("type", strictjson.Str("object"))
	item.Set("allOf", strictjson.Arr(cases...))
}
