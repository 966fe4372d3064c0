package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const run, job = "1111", "2222"

func ask(t *testing.T, method, url, token, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if json.Unmarshal(text, &document) != nil {
		document = map[string]any{"text": string(text)}
	}
	return resp.StatusCode, document
}

// TestUpload goes the way of an upload, and then each wrong one.
func TestUpload(t *testing.T) {
	s, err := Start("", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	token := Token(run, job)
	ids := fmt.Sprintf(`"workflow_run_backend_id":%q,"workflow_job_run_backend_id":%q`, run, job)
	call := func(method, rest string) (int, map[string]any) {
		return ask(t, "POST", s.URL+service+method, token, "{"+ids+rest+"}")
	}
	status, created := call("CreateArtifact", `,"name":"a","version":7,"mime_type":"application/zip"`)
	address, _ := created["signed_upload_url"].(string)
	if status != 200 || address == "" {
		t.Fatal(status, created)
	}
	if status, _ := call("FinalizeArtifact", `,"name":"a","size":"4","hash":"x"`); status != 412 {
		t.Error("nothing was uploaded:", status)
	}
	var list bytes.Buffer
	list.WriteString("<BlockList>")
	for i, part := range []string{"on", "e!"} {
		id := base64.StdEncoding.EncodeToString([]byte{byte(i)})
		if status, _ := ask(t, "PUT", address+"&comp=block&blockid="+strings.NewReplacer("=", "%3D", "+", "%2B").Replace(id), "", part); status != 201 {
			t.Error(status)
		}
		fmt.Fprintf(&list, "<Latest>%s</Latest>", id)
	}
	list.WriteString("</BlockList>")
	if status, _ := ask(t, "PUT", address+"&comp=blocklist", "", list.String()); status != 201 {
		t.Error(status)
	}
	sum := sha256.Sum256([]byte("one!"))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if status, done := call("FinalizeArtifact", `,"name":"a","size":"4","hash":"`+digest+`"`); status != 200 || done["artifact_id"] != "1" {
		t.Error(status, done)
	}
	if status, _ := call("CreateArtifact", `,"name":"a"`); status != 409 {
		t.Error("a name that is taken:", status)
	}
	got := s.Of(run)
	if len(got) != 1 || string(got[0].Archive) != "one!" || got[0].Digest != digest {
		t.Errorf("%+v", got)
	}
	if status, text := ask(t, "GET", got[0].URL, "", ""); status != 200 || text["text"] != "one!" {
		t.Error(status, text)
	}
	if v := s.Violations(); len(v) > 0 {
		t.Error(v)
	}

	for name, wrong := range map[string]func() (int, map[string]any){
		"a name with a slash": func() (int, map[string]any) { return call("CreateArtifact", `,"name":"a/b"`) },
		"another job": func() (int, map[string]any) {
			return ask(t, "POST", s.URL+service+"CreateArtifact", Token("x", "y"), "{"+ids+`,"name":"b"}`)
		},
		"a blob in one piece": func() (int, map[string]any) { return ask(t, "PUT", address, "", "x") },
		"a block without address": func() (int, map[string]any) {
			return ask(t, "PUT", s.URL+"/artifacts/blob-0?comp=block&blockid=AA==", "", "x")
		},
		"a token shown to the store": func() (int, map[string]any) { return ask(t, "PUT", address+"&comp=block&blockid=AA%3D%3D", token, "x") },
	} {
		before := len(s.Violations())
		if status, _ := wrong(); status/100 != 4 || len(s.Violations()) != before+1 {
			t.Errorf("%s: %d", name, status)
		}
	}
}
