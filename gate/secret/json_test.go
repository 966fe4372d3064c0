package secret

import (
	"fmt"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

func redactJSON(t *testing.T, text string) (string, string) {
	t.Helper()
	doc, err := strictjson.Parse([]byte(text), strictjson.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	before := string(strictjson.Canonical(&doc.Root))
	out, found := RedactValue(&doc.Root)
	if after := string(strictjson.Canonical(&doc.Root)); after != before {
		t.Errorf("the value itself was changed to %s", after)
	}
	if again, more := RedactValue(&out); len(more) > 0 || !strictjson.Equal(&again, &out) {
		t.Errorf("%s: redacting twice changes it", text)
	}
	var where []string
	for _, l := range found {
		where = append(where, fmt.Sprint(l.Pointer, l.Hits))
	}
	return string(strictjson.Canonical(&out)), strings.Join(where, " ")
}

func TestRedactValue(t *testing.T) {
	for _, c := range []struct{ in, want, where string }{
		{`{"a":"x","n":1}`, `{"a":"x","n":1}`, ``},
		{`{"password":"hunter2"}`, `{"password":"[redacted:password]"}`, `/password[{password 1}]`},
		{`{"a":[{"api/Token":"ab"}]}`, `{"a":[{"api/Token":"[redacted:token]"}]}`, `/a/0/api~1Token[{token 1}]`},
		{`{"password":1234,"token":true,"secret":null,"api_key":""}`, `{"api_key":"","password":1234,"secret":null,"token":true}`, ``},
		{`{"passwd":["a","b"],"token":{"x":"y"}}`, `{"passwd":["[redacted:password]","[redacted:password]"],"token":{"x":"y"}}`, `/passwd/0[{password 1}] /passwd/1[{password 1}]`},
		{`{"token":"` + ghp + `"}`, `{"token":"[redacted:github-token]"}`, `/token[{github-token 1}]`},
		{`{"password":"my ` + ghp + ` key"}`, `{"password":"[redacted:github-token]"}`, `/password[{github-token 1}]`},
		{`{"Authorization":"Bearer s3cr3t"}`, `{"Authorization":"Bearer [redacted:bearer-token]"}`, `/Authorization[{bearer-token 1}]`},
		{`{"Authorization":"0123456789"}`, `{"Authorization":"[redacted:token]"}`, `/Authorization[{token 1}]`},
		{`{"out":"password=x y"}`, `{"out":"password=[redacted:password] y"}`, `/out[{password 1}]`},
		{`"` + ghp + `"`, `"[redacted:github-token]"`, `[{github-token 1}]`},
		{`{"token":"${{ secrets.X }}","password":"***"}`, `{"password":"***","token":"${{ secrets.X }}"}`, ``},
		{`{"` + ghp + `":1,"` + ghp + `x":2,"[redacted:github-token]":3}`, `{"[redacted:github-token] (2)":1,"[redacted:github-token] (3)":2,"[redacted:github-token]":3}`,
			`/[redacted:github-token] (2)[{github-token 1}] /[redacted:github-token] (3)[{github-token 1}]`},
		{`{"private_key":"` + pem("PRIVATE KEY", `\n`) + `"}`, `{"private_key":"[redacted:private-key]"}`, `/private_key[{private-key 1}]`},
	} {
		got, where := redactJSON(t, c.in)
		want, _ := strictjson.Parse([]byte(c.want), strictjson.DocumentLimits)
		if got != string(strictjson.Canonical(&want.Root)) || where != c.where {
			t.Errorf("%s\n got %s at %q\nwant %s at %q", c.in, got, where, c.want, c.where)
		}
	}
}

func FuzzRedactValue(f *testing.F) {
	f.Add(`{"password":"a b","` + ghp + `":["Authorization: Bearer x1"]}`)
	f.Add(`{"Authorization":"Digest a=b","x":{"token":"t"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := strictjson.Parse([]byte(text), strictjson.ContractLimits)
		if err != nil {
			return
		}
		out, _ := RedactValue(&doc.Root)
		canonical := strictjson.Canonical(&out)
		if _, err := strictjson.Parse(canonical, strictjson.ContractLimits); err != nil {
			t.Fatalf("%s became %s: %v", text, canonical, err)
		}
		if again, more := RedactValue(&out); len(more) > 0 || !strictjson.Equal(&again, &out) {
			t.Fatalf("%s\n-> %s\n-> %s", text, canonical, strictjson.Canonical(&again))
		}
	})
}
