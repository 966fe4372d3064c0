package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseDigest(t *testing.T) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, text := range []string{empty, "sha256:" + empty, strings.ToUpper(empty), "SHA256:" + empty, "Sha256:" + strings.ToUpper(empty)} {
		d, err := ParseDigest(text)
		if err != nil || d != Sum(nil) || d.Hex() != empty || d.String() != "sha256:"+empty {
			t.Errorf("ParseDigest(%s) = %s, %v", text, d, err)
		}
	}
	for text, want := range map[string]string{
		"":                          "64 hex digits are wanted",
		"sha256:":                   "64 hex digits are wanted",
		empty[1:]:                   "64 hex digits are wanted",
		empty + "0":                 "64 hex digits are wanted",
		" " + empty:                 "64 hex digits are wanted",
		empty + "\n":                "64 hex digits are wanted",
		"sha512:" + empty:           "64 hex digits are wanted",
		"sha256:sha256:" + empty:    "64 hex digits are wanted",
		"sha256-" + empty:           "64 hex digits are wanted",
		"g" + empty[1:]:             "no hex digit",
		"sha256:" + "é" + empty[2:]: "no hex digit",
	} {
		if d, err := ParseDigest(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseDigest(%q) = %s, %v; want %q", text, d, err, want)
		}
	}
	var back struct{ D Digest }
	data, err := json.Marshal(struct{ D Digest }{Sum([]byte("x"))})
	if err == nil {
		err = json.Unmarshal(data, &back)
	}
	if err != nil || back.D != Sum([]byte("x")) {
		t.Errorf("a digest does not survive JSON: %s, %v", data, err)
	}
	if err := json.Unmarshal([]byte(`{"D":"sha256:0"}`), &back); err == nil {
		t.Error("a short digest is read from JSON")
	}
}
