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
		{`{"password":{"value":"hunter2sekrit","set":true,"type":"string"}}`, `{"password":{"set":true,"type":"string","value":"[redacted:password]"}}`, `/password/value[{password 1}]`},
		{`{"token":{"a":{"b":["abcdef",7]}}}`, `{"token":{"a":{"b":["[redacted:token]",7]}}}`, `/token/a/b/0[{token 1}]`},
		{`{"password":{"type":"string","format":"password","description":"The user's password"}}`, `{"password":{"description":"The user's password","format":"password","type":"string"}}`, ``},
		{`{"pass":"hunter2sekrit","db_pass":"x","userPass":"swordfish","bypass":"hunter2","compass":"north1"}`,
			`{"bypass":"hunter2","compass":"north1","db_pass":"[redacted:password]","pass":"[redacted:password]","userPass":"[redacted:password]"}`,
			`/pass[{password 1}] /db_pass[{password 1}] /userPass[{password 1}]`},
		{`{"pass":true,"pass_":"yes","passes":"3"}`, `{"pass":true,"pass_":"yes","passes":"3"}`, ``},
		{`{"pass":"all checks hold","auth":"basic","session":"checkout","cookie":"none","credentials":"same-origin","tokens":["the","cat"],"passwords":3}`,
			`{"auth":"basic","cookie":"none","credentials":"same-origin","pass":"all checks hold","passwords":3,"session":"checkout","tokens":["the","cat"]}`, ``},
		{`{"passwords":["swordfish"],"credentials":{"user":"alice","auth":"none"},"auth":"hunter2sekrit","session_id":"0123456789abcdef"}`,
			`{"auth":"[redacted:basic-credentials]","credentials":{"auth":"none","user":"[redacted:secret]"},"passwords":["[redacted:password]"],"session_id":"[redacted:token]"}`,
			`/passwords/0[{password 1}] /credentials/user[{secret 1}] /auth[{basic-credentials 1}] /session_id[{token 1}]`},
		{`{"Cookie":"sid=abc; theme=dark","Set-Cookie":["a=b; Path=/"]}`, `{"Cookie":"sid=[redacted:cookie]; theme=[redacted:cookie]","Set-Cookie":["a=[redacted:cookie]; Path=/"]}`, `/Cookie[{cookie 2}] /Set-Cookie/0[{cookie 1}]`},
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

func TestPlace(t *testing.T) {
	for _, c := range []struct{ path, in, want string }{
		{"", `"hunter2"`, `"hunter2"`},
		{"/db/user", `"hunter2"`, `"hunter2"`},
		{"/db/password", `"hunter2"`, `"[redacted:password]"`},
		{"/db/password/value", `"hunter2"`, `"[redacted:password]"`},
		{"/db/password/type", `"hunter2"`, `"hunter2"`},
		{"/passwords/0", `"hunter2"`, `"[redacted:password]"`},
		{"/password", `[{"a":["hunter2",1,null]}]`, `[{"a":["[redacted:password]",1,null]}]`},
		{"", `{"user":"x","api_key":"abcdef"}`, `{"user":"x","api_key":"[redacted:key]"}`},
		{"/Authorization", `"Bearer s3cr3t"`, `"Bearer [redacted:bearer-token]"`},
		{"/token", `"${TOKEN}"`, `"${TOKEN}"`},
		{"/password", `12`, `12`},
	} {
		path, err := strictjson.ParsePointer(c.path)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := strictjson.Parse([]byte(c.in), strictjson.DocumentLimits)
		if err != nil {
			t.Fatal(err)
		}
		if got, cut := At(path...).Excerpt(&doc.Root, 100); got != c.want || cut {
			t.Errorf("%s at %q is quoted as %s, want %s", c.in, c.path, got, c.want)
		}
		whole := At(path...).Redact(&doc.Root)
		if got, _ := strictjson.Excerpt(&whole, 100); got != c.want {
			t.Errorf("%s at %q is redacted to %s, want %s", c.in, c.path, got, c.want)
		}
	}
}

// An excerpt is of the same beginning as one that nothing was taken out of.
func TestPlaceExcerptIsBounded(t *testing.T) {
	var items []strictjson.Value
	for range 1000 {
		items = append(items, strictjson.Arr(), strictjson.Num("1"), strictjson.Str(strings.Repeat("a", 50)))
	}
	v := strictjson.Arr(items...)
	for most := range 200 {
		want, cutWant := strictjson.Excerpt(&v, most)
		if got, cut := (Place{}).Excerpt(&v, most); got != want || cut != cutWant {
			t.Fatalf("%d: %q, want %q", most, got, want)
		}
	}
	long := strictjson.Str(strings.Repeat("hunter2 ", 1<<20))
	if got, _ := At("password").Excerpt(&long, 80); got != `"[redacted:password]"` {
		t.Errorf("%q", got)
	}
}
