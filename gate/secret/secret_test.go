package secret

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every credential of these tests is made up, and put together here so that no
// scanner of source code takes this file for a leak.
const (
	letters = "aZ3bY7cX1dW9eV5fU2gT8hS4iR6jQ0kPlOmNnMoLpKqJrIsHtGuFvEwDxCyBzA"
	hexes   = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

func alnum(n int) string { return strings.Repeat(letters, n/len(letters)+1)[:n] }

func pem(label, newline string) string {
	return strings.Join([]string{"-----BEGIN " + label + "-----", alnum(64), alnum(60) + "ab==", "-----END " + label + "-----"}, newline)
}

var (
	ghp   = "ghp_" + alnum(36)
	akia  = "AKIA" + "IOSFODNN7EXAMPLE"
	anJWT = "eyJ" + alnum(20) + ".eyJ" + alnum(40) + "." + alnum(43)
	b64up = base64.StdEncoding.EncodeToString([]byte("aladdin:opensesame"))
)

// positives: in each text the part between « and » must be replaced whole, and
// nothing else.
var positives = []struct {
	kind Kind
	text string
}{
	{GitHub, "token «" + ghp + "»\n"},
	{GitHub, "«gho_" + alnum(36) + "»"},
	{GitHub, "«ghu_" + alnum(36) + "» «ghr_" + alnum(76) + "»"},
	{GitHub, "x«ghs_" + alnum(36) + "»"},
	{GitHub, "«ghs_1234567_" + anJWT + "» end"},
	{GitHub, "«github_pat_" + alnum(22) + "_" + alnum(59) + "»."},
	{GitHub, "https://«" + ghp + "»@github.com/o/r"},
	{GitHub, "https://«x-access-token:" + ghp + "»@github.com/o/r"},
	{GitHub, "token=«" + ghp + "»&x=1"},
	{GitHub, "\x1b[31m«" + ghp + "»\x1b[0m"},
	{GitHub, `the value is "«ghp_` + alnum(9) + `»"…`},
	{GitHub, "got «github_pat_" + alnum(9) + "»…"},
	{AWSKeyID, `\xff«` + akia + `»`},
	{AWSKeyID, "«AKIA12345»…"},
	{OpenAI, `\"«sk-` + alnum(12) + `»\"…`},
	{JWT, "«eyJ" + alnum(30) + ".eyJ" + alnum(9) + "»…"},
	{GitLab, "«glpat-" + alnum(20) + "», «gldt-" + alnum(20) + "» «glrt-" + alnum(20) + "» «glptt-" + hexes[:40] + "»"},
	{GitLab, "«glpat-" + alnum(27) + ".01." + alnum(9) + "»"},
	{GitLab, "«glcbt-1a_" + alnum(20) + "»"},
	{AWSKeyID, "id «" + akia + "» used"},
	{AWSKeyID, "\x1b[1;33m«" + akia + "»\x1b[0m"},
	{AWSKeyID, `{"a":"x\n«ASIA` + "ABCDEFGHIJKLMNOP" + `»"}`},
	{AWSSecret, "aws_secret_access_key = «" + alnum(20) + "/" + alnum(10) + "+" + alnum(8) + "»"},
	{AWSSecret, `"SecretAccessKey": "«` + alnum(40) + `»",`},
	{Google, "key=«AIza" + alnum(35) + "»"},
	{Google, "«ya29." + alnum(60) + "»"},
	{Google, "«GOCSPX-" + alnum(28) + "»"},
	{Google, "«1//0" + alnum(60) + "»"},
	{Slack, "«xoxb-123456789012-123456789012-" + alnum(24) + "»"},
	{Slack, "«xoxp-1-2-3-" + alnum(32) + "» «xoxa-2-" + alnum(12) + "» «xoxe-1-" + alnum(40) + "»"},
	{Slack, "«xapp-1-A012-123-" + alnum(40) + "»"},
	{SlackWebhook, "https://hooks.slack.com/services/«T" + alnum(8) + "/B" + alnum(8) + "/" + alnum(24) + "»"},
	{Stripe, "«sk_live_" + alnum(24) + "» «sk_test_" + alnum(24) + "» «rk_live_" + alnum(24) + "» «whsec_" + alnum(32) + "»"},
	{OpenAI, "«sk-" + alnum(48) + "»"},
	{OpenAI, "«sk-" + strings.Repeat("a", 48) + "»"},
	{OpenAI, "«sk-proj-" + alnum(30) + "_" + alnum(20) + "-" + alnum(20) + "»"},
	{OpenAI, "\x1b[32m«sk-svcacct-" + alnum(60) + "»"},
	{Anthropic, "«sk-ant-api03-" + alnum(93) + "AA»"},
	{NPM, "//registry.npmjs.org/:_authToken=«npm_" + alnum(36) + "»"},
	{PyPI, "password = «pypi-AgEIcHlwaS5vcmc" + alnum(60) + "»"},
	{Docker, "«dckr_pat_" + alnum(27) + "»"},
	{HuggingFace, "«hf_" + strings.Repeat("aBcDe", 7)[:34] + "»"},
	{SendGrid, "«SG." + alnum(22) + "." + alnum(43) + "»"},
	{DigitalOcean, "«dop_v1_" + hexes + "»"},
	{Vault, "«hvs." + alnum(90) + "»"},
	{Age, "«AGE-SECRET-KEY-1" + strings.ToUpper(alnum(58)) + "»"},
	{JWT, "got «" + anJWT + "»"},
	{JWT, "«eyJ" + alnum(17) + "..iv" + alnum(14) + "." + alnum(30) + "." + alnum(22) + "»"},
	{PrivateKey, "a\n«" + pem("PRIVATE KEY", "\n") + "»\nb"},
	{PrivateKey, "«" + pem("RSA PRIVATE KEY", "\r\n") + "»"},
	{PrivateKey, "«" + pem("OPENSSH PRIVATE KEY", "\n    ") + "»"},
	{PrivateKey, "«" + pem("EC PRIVATE KEY", `\n`) + "»"},
	{PrivateKey, "«" + pem("ENCRYPTED PRIVATE KEY", `\\n`) + "»"},
	{PrivateKey, "«" + pem("PGP PRIVATE KEY BLOCK", "\n") + "»"},
	{PrivateKey, `{"type":"service_account","private_key":"«` + pem("PRIVATE KEY", `\n`) + `\n»","client_email":"a@b"}`},
	{PrivateKey, "«-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n" + alnum(64) + "\n-----END RSA PRIVATE KEY-----»"},
	{PrivateKey, "«-----BEGIN PRIVATE KEY-----\n" + alnum(64) + "\n" + alnum(30) + "»"},
	{PrivateKey, "cut: [«" + alnum(64) + "\n" + alnum(30) + "\n-----END PRIVATE KEY-----»"},
	{Bearer, "Authorization: Bearer «abcdef0123456789abcdef»\r\n"},
	{Bearer, `-H "Authorization: Bearer «s3cr3t»" https://x`},
	{Bearer, `{"authorization": "Bearer «a.b-c_d~e+f/g==»"}`},
	{Bearer, "sent bearer «0123456789abcdef0123»"},
	{JWT, "Authorization: Bearer «" + anJWT + "»"},
	{Basic, "authorization: Basic «" + b64up + "»"},
	{Basic, "Proxy-Authorization: basic «" + b64up + "»"},
	{Basic, "header was Basic «" + b64up + "» there"},
	{Basic, `"auth": "«` + b64up + `»"`},
	{Token, "Authorization: token «0123456789abcdef»"},
	{Token, `Authorization: Digest «username=x, realm=y, response=0123456789»`},
	{Token, "Authorization: «0123456789abcdef»"},
	{URLUserinfo, "postgres://«app:hunter2»@db:5432/x"},
	{URLUserinfo, "https://«user:p@ss»@host/"},
	{URLUserinfo, "redis://«:hunter2»@cache"},
	{URLUserinfo, "amqp://«u:pa/ss»@host"},
	{URLUserinfo, "https://«" + alnum(32) + "»@sentry.example/1"},
	{Password, "password=«hunter2»"},
	{Password, "PASSWORD=«hunter2»\n"},
	{Password, "export DB_PASSWORD='«hun ter2»'"},
	{Password, "PGPASSWORD=«x» psql"},
	{Password, "passwd: «hunter2»"},
	{Password, "password: «swordfish»\nuser: x"},
	{Password, "password := \"«hunter2»\""},
	{Password, "'password' => '«hunter2»',"},
	{Password, `"password" : "«a\"b\\»"`},
	{Password, `{\"password\":\"«hunter2»\",\"a\":1}`},
	{Password, `{\\\"password\\\":\\\"«hunter2»\\\"}`},
	{Password, `&quot;password&quot;:&quot;«hunter2»&quot;`},
	{Password, `{'newPassword': '«hunter2»'}`},
	{Password, "a\\npassword=«hunter2»\\nb"},
	{Password, "password=«p@ss,w0rd!;x»"},
	{Password, "Server=x;Password=«abc»;Database=y"},
	{Password, "f(user=a, password=«abc»)"},
	{Password, "?user=a&password=«abc»&x=1"},
	{Password, "{Password:«hunter2» User:x}"},
	{Password, "\x1b[1mpassword\x1b[0m: \x1b[33m«hunter2»\x1b[0m"},
	{Password, "<password>«hunter2»</password>"},
	{Password, "<m:password>«hunter2»</m:password>"},
	{Password, "--password «hunter2» --user x"},
	{Password, "--password=«hunter2»"},
	{Password, "env[\"DB_PASSWORD\"] = \"«hunter2»\""},
	{Password, "passphrase: «correct-horse-battery-1»"},
	{Password, "password2=«1234»"},
	{Password, "MYSQL_PWD=«abc»"},
	{Password, "password='«unterminated»\nnext"},
	{Password, "password=«caf\xe9\xff»\x00"},
	{Secret, "client_secret=«s3cr3t»"},
	{Secret, "\"clientSecret\": \"«s3cr3t»\""},
	{Secret, "SECRET_KEY_BASE=«" + hexes + "»"},
	{Token, "access_token: «abc123»"},
	{Token, "x-auth-token: «abcdef»"},
	{Token, "token = «abcd»"},
	{Key, "api_key: «abcdef»"},
	{Key, "X-Api-Key: «0123456789»"},
	{Key, "apiKey='«0123456789»'"},
	{Key, "API key: «0a1b2c3d»"},
	{Password, `{"password":{"value":"«hunter2sekrit»","set":true}}`},
	{Password, "{\"password\": {\n  \"value\": \"«hunter2»\",\n  \"type\": \"string\"\n}}"},
	{Password, `{\"password\":{\"value\":\"«hunter2»\"}}`},
	{Password, `{"password":{"a":"«hunter2»","description":"password=«x1»"},"c":"password=«x2»"}`},
	{GitHub, `{"password":{"a":"«` + ghp + `»","b":"«` + ghp + `»","type":"x «` + ghp + `»"}}`},
	{Password, "userPassword: «{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=»"},
	{Password, "password=«{a!b»\n"},
	{Password, "password=«[a!b9»\n"},
	{Password, `{"password":["«hunter2»", "«swordfish»"]}`},
	{Password, "{Password:{Value:«hunter2» Set:true}}"},
	{Password, "password: {value: «hunter2», type: string}"},
	{Password, `{"pass\u0077ord":"«hunter2»"}`},
	{Password, `{"\u0070\u0061\u0073\u0073word":"«hunter2»"}`},
	{Password, `{"pass":"«hunter2sekrit»"}`},
	{Password, "DB_PASS=«hunter2sekrit»"},
	{Password, "pass: «hunter2»\n"},
	{Password, `"smtpPass": "«swordfish»"`},
	{Password, "passwords: [«hunter2», «hunter3»]"},
	{Password, "password: |\n  «hunter2\n  more»\nuser: x"},
	{Password, "a:\n  password: >-\n    «hunter2»\n  user: x"},
	{Password, "machine example.com login me password «hunter2»\n"},
	{Password, "machine example.com\n  login me\n  password «hunter2»\nmachine b"},
	{Secret, `{"credentials": "«hunter2sekrit»"}`},
	{Secret, `{"credentials": {"key": "«swordfish»"}}`},
	{Token, `{"token":{"value":"«abcdef»"}}`},
	{Token, "session_id=«0123456789abcdef»"},
	{Token, `"PHPSESSID":"«0123456789abcdef»"`},
	{Bearer, "map[Authorization:[Bearer «s3cr3t»]]"},
	{Bearer, `{"Authorization":["Bearer «s3cr3t»"]}`},
	{Cookie, "Cookie: sid=«abc»; theme=«dark»\r\nHost: x"},
	{Cookie, "Set-Cookie: sid=«abc»; Path=/; HttpOnly; SameSite=Lax"},
	{Cookie, `-H 'Cookie: sid=«abc»' https://x`},
	{Cookie, `{"Set-Cookie":"sid=«abc»; Secure"}`},
	{URLUserinfo, "https://«hunter2sekrit»@host/"},
	{URLUserinfo, "https://«0123456789abcdef»@host/x"},
	{URLUserinfo, "https://«0123456789abcdef:»@host/x"},
	{GitHub, "https://«0" + ghp + "»@host"},
	{URLUserinfo, "/home/x/https:/«user:hunter2»@host"},
	{URLUserinfo, "HTTP://«a!b$c»@host"},
	{Key, "AccountKey=«" + alnum(86) + "==»;EndpointSuffix=core"},
}

func TestReplaces(t *testing.T) {
	for _, c := range positives {
		text := strings.NewReplacer("«", "", "»", "").Replace(c.text)
		var want strings.Builder
		for rest := c.text; ; {
			before, after, ok := strings.Cut(rest, "«")
			want.WriteString(before)
			if !ok {
				break
			}
			want.WriteString(c.kind.Replacement())
			_, rest, _ = strings.Cut(after, "»")
		}
		got, hits := Redact(text)
		if got != want.String() {
			t.Errorf("%q\n got %q\nwant %q", text, got, want.String())
		}
		if len(hits) != 1 || hits[0].Kind != c.kind || hits[0].Count != strings.Count(c.text, "«") {
			t.Errorf("%q: hits %v", text, hits)
		}
		if again, more := Redact(got); again != got || more != nil {
			t.Errorf("%q: redacting twice changed it to %q", got, again)
		}
	}
}

// negatives must stay as they are.
var negatives = []string{
	"", "token:", "token: ", "password=", "password: \n", `"password":""`, `password=""`, "token: ***", "password: ********", "api_key=xxxxxxxx",
	"password: null", "password=None", "token: nil", `"token": null`, `"token": 12345`, `"password": false`, "secret=undefined",
	"secret=${{ secrets.X }}", "token: ${{ github.token }}", "password=${DB_PASSWORD}", "password=$DB_PASSWORD", "password=$(cat f)", "token={{ .Token }}", "password=%PASSWORD%",
	"<password>", "password=<password>", "--password <password>", "usage: x --token TOKEN --user U"[:8], "password=[FILTERED]", "password: [redacted:password]", "password: (sensitive value)",
	"token: %s", "printf(\"token=%s\", t)", "password=...", "--password string   The password to use",
	"Unexpected token: identifier", "token: string;", "password: string", "secret: boolean", "password: please type it again", "token: required",
	"max_tokens: 4096", "total_tokens=512", "token_type: bearer", "token_url=https://x/y", "password_hash=x", "secret_name: foo", "passwords: 3", "public_key=abcdef", "primary_key: id",
	"token: 42", "token = os.Getenv(\"X\")", "token = process.env.TOKEN", "password = getPassword()", "token == \"abcdef\"", "if token != \"abcdef\"", "Secret::new(x)", "secret://store/name",
	"PWD=/home/user/x", "OLDPWD=/tmp", "private_key: /run/secrets/key.pem", "credentials: include",
	"--- PASS: TestToken (0.00s)", "    token.go:12: compared", "src/password.js:12:5", "Makefile:token:",
	"sha256:" + hexes, hexes[:40], "commit " + hexes[:40], "550e8400-e29b-41d4-a716-446655440000", "sha512-" + alnum(86) + "==",
	"data:image/png;base64," + alnum(400) + "==", "integrity sha384-" + alnum(64),
	"sk-learn-some-very-long-package-name-here", "sk-fading-circle sk-cube-grid", "task-1234567890abcdef1234567890", "npm_config_registry=https://registry.npmjs.org/ npm_lifecycle_event=test",
	"weighs_in_the_face_of_danger", "AKIA", "AKIAIOSFODNN7", "XAKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLEX", "eyJ", "eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9.abc",
	"npm_config_reg…", "sk-learn-pack…", "ghp_…", "glob…", "error in gl1234…", "eyJ…",
	"xoxb-", "xoxb-not-a-token", "glpat-short", "ghp_short",
	"Bearer token required", "Bearer authentication is not configured here", "Basic authentication", "Basic ZZZZ", "Authorization: Bearer", "Authorization: Bearer $TOKEN", "Authorization: Bearer <token>", "Authorization: Bearer ***", "authorization: required", "Authorization: must be given",
	"Authorization: Basic ${{ secrets.X }}",
	"https://example.com/a@b", "https://user@example.com/", "ssh://git@github.com/o/r", "https://[::1]:8080/x", "http://localhost:8080/a?b=c@d", "https://example.com:443/x@y", "mailto:a@b", "https://user:${PASSWORD}@host", "https://user:***@host", "https://<user>:<password>@host",
	"https://hooks.slack.com/services/", "-----BEGIN CERTIFICATE-----\n" + alnum(64) + "\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\n" + alnum(64) + "\n-----END PUBLIC KEY-----",
	"use -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----", "12:30:45 a=b c:d", "http://a.b/c?x=1&y=2", "Content-Type: text/plain",
	"https://git@github.com/o/r", "https://john.doe@example.com/", "ssh://hunter2@host", "ssh://deploy-12@host", "https://${TOKEN}@host", "git+ssh://git@host/x",
	`{"password":{"type":"string","format":"password","minLength":8}}`, `{"password": {}}`, `{"password": []}`, `{"password":{"set":true,"length":12}}`, "password: {{ .Values.password }}",
	"password: [redacted:password]", `{"tokens":["the","cat"]}`, `{"token":{"x":"y"}}`, "token: {type: String, required: true}",
	`"pass": true`, `"pass": "yes"`, "pass: 12, fail: 3", "pass=5", "PASS: TestToken2", "PASS: TestToken2 (0.00s)", "pass: check1 holds", "bypass=hunter22", "pass = compute", "pass: 5/10", `what did not pass: "big2" (fail)`, `those that pass: ["big2", "check1"]`,
	`"auth": "none"`, "auth: basic", `"auth": "oauth2"`, "session: checkout", "session = requests.Session()", "cookie: none", "Cookie: the cookie of a session", "cookies=3", "credentials: include", "GOOGLE_APPLICATION_CREDENTIALS=/run/secrets/gcp.json",
	"Unexpected token: {", "unexpected token: {\n  \"a\" is none", "unexpected token: [\nsee \"abcdef\"", "token: [", "password=[a-z]+", "password = {", "password={{ .P }}", "password: {\n",
	"secrets: inherit", "api_keys=3", "password: |\n", "password: |\nuser: x", "a || password: | grep x", "machine learning is fun", "machine host login me", "the machine login page password field",
	"\xff\xfe\x00\x01", "=:=:=:==", "::::", ">>>>",
}

func TestLeavesAlone(t *testing.T) {
	for _, text := range negatives {
		if got, hits := Redact(text); got != text || hits != nil {
			t.Errorf("%q became %q (%v)", text, got, hits)
		}
	}
}

func TestCredentialIsBeyondDoubt(t *testing.T) {
	for _, text := range []string{ghp, "x=" + akia, pem("PRIVATE KEY", `\n`), "xoxb-123456789012-" + alnum(24), "sk-ant-api03-" + alnum(93), "https://x:" + ghp + "@h"} {
		if _, ok := Credential(text); !ok {
			t.Errorf("%q is no credential", text)
		}
	}
	for _, text := range append([]string{"password=hunter2", "Authorization: Bearer abcdef0123456789abcdef", "https://u:p@h", anJWT, `"token":"abcdef1"`}, negatives...) {
		if kind, ok := Credential(text); ok {
			t.Errorf("%q is taken for a %s", text, kind)
		}
	}
}

// The table of first bytes only saves time: it must miss no prefix.
func TestStartsAgreesWithTokens(t *testing.T) {
	for c := range tokens {
		if got, want := starts[c]&tokenStart != 0, len(tokens[c]) > 0; got != want {
			t.Errorf("byte %q: starts says %v, tokens says %v", rune(c), got, want)
		}
		for _, rule := range tokens[c] {
			if !strings.Contains(seconds[c], rule.prefix[1:2]) {
				t.Errorf("seconds misses the prefix %q", rule.prefix)
			}
			if int(rule.prefix[0]) != c || (rule.match == nil) != (rule.first != nil && rule.rest != nil && rule.min > 0) {
				t.Errorf("the rule of %q is not whole", rule.prefix)
			}
		}
	}
}

func TestFindIsOrdered(t *testing.T) {
	text := "password=" + ghp + " x " + akia + " password=\"a " + anJWT + " b\" key: " + pem("PRIVATE KEY", "\n")
	last := 0
	for _, m := range Find(text) {
		if m.Start < last || m.End <= m.Start {
			t.Errorf("%+v after %d", m, last)
		}
		last = m.End
	}
	if n := len(Find(text)); n != 4 {
		t.Errorf("%d matches, want 4: %v", n, Find(text))
	}
}

func TestRedactBytesKeepsWhatHoldsNothing(t *testing.T) {
	data := []byte("\xff\x00plain")
	got, hits := RedactBytes(data)
	if &got[0] != &data[0] || hits != nil {
		t.Error("bytes without a credential were copied")
	}
	got, hits = RedactBytes([]byte("\xff" + ghp + "\x00"))
	if string(got) != "\xff"+GitHub.Replacement()+"\x00" || len(hits) != 1 {
		t.Errorf("%q %v", got, hits)
	}
}

// hostile texts are those on which a careless scanner takes quadratic time: a
// test of this size would not end in any sensible time then.
func TestHostileTextsAreLinear(t *testing.T) {
	const size = 1 << 20
	for _, piece := range []string{
		"eyJ", "-eyJ", "sk-…", "ghp_1…", "ghp_1", "eyJaaaaaaaaaaaa.", "sk-", "sk-a-", "xoxb-", "SG.", "hooks.slack.com/", "hooks.slack.com/services/", "token=${", "token:", "auth=", "password=\"${ ", `password=\"${ `,
		"-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN ", "authorization: ", "authorization: digest ", "authorization: bearer *** ", "://", "://a:b", "http:/a:b", "https:/a", "<password>", "x:password>", "--token ", "--token",
		"bearer ", "basic ", "\x1b[", "\\", "a,", "password", "key ", "=", ":", "=\"", "glpat-", "ghs_1_", "password=[redacted:", "authorization: digest [redacted:x ", "ghp_", "AKIA", "token='{a", "password=%a", "session='a", "auth={a}b", "cookie: a", "cookie: a=b;", "cookie:\"a", "token:{", "token:{\"", "password:[a,", "password: |\n ", "machine a login ", "machine a password ", `\u0077ord:`,
	} {
		text := strings.Repeat(piece, size/len(piece))
		out, _ := Redact(text)
		if again, hits := Redact(out); again != out || hits != nil {
			t.Errorf("%q repeated: redacting twice changes it", piece)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, c := range positives {
		f.Add(strings.NewReplacer("«", "", "»", "").Replace(c.text))
	}
	for _, n := range negatives {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, m := range Find(text) {
			if m.Start < last || m.End <= m.Start || m.End > len(text) {
				t.Fatalf("%+v after %d in %q", m, last, text)
			}
			last = m.End
		}
		out, hits := Redact(text)
		if again, more := Redact(out); again != out || more != nil {
			t.Fatalf("%q\n-> %q\n-> %q %v", text, out, again, more)
		}
		if utf8.ValidString(text) && !utf8.ValidString(out) {
			t.Fatalf("%q became invalid UTF-8: %q", text, out)
		}
		if (hits == nil) != (out == text) {
			t.Fatalf("%q: hits %v, but %q", text, hits, out)
		}
	})
}

// A token that was put into any text is gone afterwards.
func FuzzNothingOfATokenSurvives(f *testing.F) {
	f.Add("a", "b")
	f.Add("password=\"", "\" x")
	f.Add("\x1b[31m", "\x1b[0m")
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before, letters[:8]) || strings.Contains(after, letters[:8]) {
			return
		}
		if out, _ := Redact(before + ghp + after); strings.Contains(out, letters[:8]) {
			t.Fatalf("%q between %q and %q: %q", ghp, before, after, out)
		}
	})
}

func ExampleRedact() {
	text, hits := Redact("Authorization: Bearer abcdef0123456789abcdef\nDB_PASSWORD=hunter2\n")
	fmt.Print(text)
	fmt.Println(hits)
	// Output:
	// Authorization: Bearer [redacted:bearer-token]
	// DB_PASSWORD=[redacted:password]
	// [{bearer-token 1} {password 1}]
}
