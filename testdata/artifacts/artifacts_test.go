package artifacts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/bundle/bundletest"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/unpack"
	"github.com/verdictgate/verdictgate/reporter/artifact"
	"github.com/verdictgate/verdictgate/testdata/artifacts/results"
)

// world is what all tests share.
var world struct {
	service *results.Service
	tools   string // the folder that scripts/actions-tools prints
}

func TestMain(m *testing.M) {
	status, err := inWorld(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "artifact tests:", err)
		status = 1
	}
	os.Exit(status)
}

func inWorld(run func() int) (status int, err error) {
	cmd := exec.Command(filepath.Join("..", "..", "scripts", "actions-tools"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 1, fmt.Errorf("scripts/actions-tools: %w", err)
	}
	world.tools = strings.TrimSpace(string(out))
	dir, err := os.MkdirTemp("", "gate-artifacts.")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if world.service, err = results.Start(context.Background(), results.Config{Tools: world.tools, Dir: dir}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, world.service.Close()) }()
	return run(), nil
}

// environment is what the runner sets for an action.
func environment() map[string]string {
	return map[string]string{
		"ACTIONS_RUNTIME_TOKEN": world.service.Token, "ACTIONS_RESULTS_URL": world.service.URL + "/", "GITHUB_SERVER_URL": "https://github.com",
		"GITHUB_REPOSITORY": "acme/shop", "GITHUB_RUN_ID": "99", "GITHUB_RETENTION_DAYS": fmt.Sprint(results.MaxRetention),
	}
}

// config is that of an upload whose pauses take no time and whose answers say
// nothing secret.
func config(t *testing.T) artifact.Config {
	env := environment()
	return artifact.Config{
		Mask: func(secret string) {
			if secret == "" {
				t.Error("nothing is masked")
			}
		},
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Warn: func(text string) { t.Log(text) },
	}.FromEnv(func(name string) string { return env[name] })
}

// client runs GitHub's own client. Its answer is decoded into the last argument.
func client(t *testing.T, answer any, args ...string) error {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "answer.json")
	cmd := exec.CommandContext(t.Context(), "node", append([]string{"client.mjs", world.tools, file}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GITHUB_WORKSPACE=" + home}
	for name, value := range environment() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, answer)
}

// download gets an artifact by GitHub's client, which unpacks it, and gives the
// folder. The client compares the digest.
func download(t *testing.T, up artifact.Uploaded) string {
	t.Helper()
	dir := t.TempDir()
	var answer struct{ DigestMismatch *bool }
	if err := client(t, &answer, "download", fmt.Sprint(up.ID), dir, up.Digest.String()); err != nil {
		t.Fatal(err)
	}
	if answer.DigestMismatch == nil || *answer.DigestMismatch {
		t.Errorf("GitHub's client finds another digest than %s", up.Digest)
	}
	return dir
}

// TestBundle: what the gate uploads, GitHub's client unpacks into a bundle that
// is whole, and the archive itself is one that can be required.
func TestBundle(t *testing.T) {
	s := bundletest.Write(t, bundletest.Content(t))
	if err := errors.Join(os.Mkdir(filepath.Join(s.Dir, "reports"), 0o755), os.WriteFile(filepath.Join(s.Dir, "reports", "überblick.html"), []byte("<p>"), 0o644)); err != nil {
		t.Fatal(err)
	}
	up, err := artifact.Upload(t.Context(), config(t), "gate-bundle", s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if up.URL != fmt.Sprintf("https://github.com/acme/shop/actions/runs/99/artifacts/%d", up.ID) {
		t.Errorf("its page is %s", up.URL)
	}
	dir := download(t, up)
	back, err := bundle.Read(dir)
	if err != nil || back.Attestation.AttestationDigest != s.Attestation.AttestationDigest || len(back.Unknown) > 0 {
		t.Errorf("unpacked by GitHub's client: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "reports", "überblick.html")); err != nil || string(data) != "<p>" {
		t.Errorf("a report: %q %v", data, err)
	}

	data, err := world.service.Archive(t.Context(), up.ID)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := artifact.Zip(t.Context(), &again, dir); err != nil || !bytes.Equal(again.Bytes(), data) {
		t.Errorf("what was downloaded gives another archive than what was uploaded: %v", err)
	}
	archive := filepath.Join(t.TempDir(), "gate-bundle.zip")
	if err := os.WriteFile(archive, data, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := unpack.Open(t.Context(), archive)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := bundle.Read(b.Dir); err != nil {
		t.Error(err)
	}
}

// noise makes a folder with one file that nothing packs smaller.
func noise(t *testing.T, size int) (dir string, data []byte) {
	t.Helper()
	dir, data = t.TempDir(), make([]byte, size)
	state := uint64(1)
	for i := range data {
		state = state*6364136223846793005 + 1442695040888963407
		data[i] = byte(state >> 56)
	}
	if err := os.WriteFile(filepath.Join(dir, "noise"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, data
}

// TestLarge: an archive of several blocks, one of which is lost on the way.
func TestLarge(t *testing.T) {
	dir, data := noise(t, 21<<20)
	c := config(t)
	lost := &onBlock{do: func(*http.Request) error { return io.ErrUnexpectedEOF }}
	c.Transport = lost
	var sent []int64
	c.Progress = func(n, _ int64) { sent = append(sent, n) }
	up, err := artifact.Upload(t.Context(), c, "gate-large", dir)
	if err != nil {
		t.Fatal(err)
	}
	if lost.do != nil || len(sent) < 5 || sent[len(sent)-1] != up.Bytes {
		t.Errorf("sent %v of %d", sent, up.Bytes)
	}
	got, err := os.ReadFile(filepath.Join(download(t, up), "noise"))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back: %v", len(got), err)
	}
}

// onBlock does something with the second block, once.
type onBlock struct {
	do func(*http.Request) error
}

func (o *onBlock) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("comp") == "block" && r.URL.Query().Get("blockid") == "YmxvY2stMDAwMDAwMDE=" && o.do != nil {
		err := o.do(r)
		if o.do = nil; err != nil {
			return nil, err
		}
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestDamaged: the service compares what it stored with what was meant.
func TestDamaged(t *testing.T) {
	dir, _ := noise(t, 9<<20)
	c := config(t)
	c.Transport = &onBlock{do: func(r *http.Request) error {
		data, err := io.ReadAll(r.Body)
		data[7] ^= 1
		r.Body = io.NopCloser(bytes.NewReader(data))
		return err
	}}
	_, err := artifact.Upload(t.Context(), c, "gate-damaged", dir)
	if f := fault.As(err); f.Code != fault.ActionUploadFailed || !strings.Contains(f.Message, "hash mismatch") {
		t.Error(err)
	}
	if _, ok := listed(t)["gate-damaged"]; ok {
		t.Error("an artifact that is damaged can be seen")
	}
}

// listed gives the ids of all artifacts, as GitHub's client sees them.
func listed(t *testing.T) map[string]int64 {
	t.Helper()
	var answer struct {
		Artifacts []struct {
			ID   int64
			Name string
		}
	}
	if err := client(t, &answer, "list"); err != nil {
		t.Fatal(err)
	}
	all := map[string]int64{}
	for _, a := range answer.Artifacts {
		all[a.Name] = a.ID
	}
	return all
}

// TestNameTaken: neither client replaces what the other one uploaded.
func TestNameTaken(t *testing.T) {
	s := bundletest.Write(t, bundletest.Content(t))
	up, err := artifact.Upload(t.Context(), config(t), "gate-ours", s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var theirs struct {
		ID     int64
		Digest string
	}
	if err := client(t, &theirs, "upload", "gate-ours", s.Dir); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("GitHub's client took a name that we had: %v", err)
	}
	if err := client(t, &theirs, "upload", "gate-theirs", s.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := artifact.Upload(t.Context(), config(t), "gate-theirs", s.Dir); fault.As(err).Code != fault.ActionUploadFailed || !strings.Contains(err.Error(), "name is taken") {
		t.Errorf("we took a name that GitHub's client had: %v", err)
	}
	all := listed(t)
	if all["gate-ours"] != up.ID || all["gate-theirs"] != theirs.ID {
		t.Errorf("listed are %v", all)
	}

	// Its archive of the same folder, packed in its own way, can be required as well.
	data, err := world.service.Archive(t.Context(), theirs.ID)
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "theirs.zip")
	if err := os.WriteFile(archive, data, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := unpack.Open(t.Context(), archive)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := bundle.Read(b.Dir); err != nil {
		t.Error(err)
	}
}

// TestRetention: no longer than the repository allows, and then it is gone.
func TestRetention(t *testing.T) {
	s := bundletest.Write(t, bundletest.Content(t))
	c := config(t)
	c.Retention = 400
	up, err := artifact.Upload(t.Context(), c, "gate-kept", s.Dir)
	if err != nil || !strings.Contains(up.Note, "90 days and not for 400") {
		t.Errorf("%q: %v", up.Note, err)
	}
	// A runner that names no bound: then the service has the word.
	c.MaxRetention = ""
	if _, err := artifact.Upload(t.Context(), c, "gate-longer", s.Dir); fault.As(err).Code != fault.ActionUploadFailed || !strings.Contains(err.Error(), "expires_at") {
		t.Error(err)
	}
	c.Retention = 3
	if up, err = artifact.Upload(t.Context(), c, "gate-short", s.Dir); err != nil || up.Note != "" {
		t.Fatalf("%q: %v", up.Note, err)
	}
	download(t, up)
	defer world.service.SetNow(time.Now)
	world.service.SetNow(func() time.Time { return time.Now().AddDate(0, 0, 4) })
	if err := client(t, &struct{}{}, "download", fmt.Sprint(up.ID), t.TempDir(), up.Digest.String()); err == nil || !strings.Contains(err.Error(), "No artifacts found") {
		t.Errorf("it can be had although its time is over: %v", err)
	}
	if all := listed(t); all["gate-short"] != 0 || all["gate-kept"] == 0 {
		t.Errorf("listed are %v", all)
	}
}

func TestWrongToken(t *testing.T) {
	dir, _ := noise(t, 10)
	c := config(t)
	c.Token += "x"
	if _, err := artifact.Upload(t.Context(), c, "gate-token", dir); fault.As(err).Code != fault.ActionUploadFailed || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), c.Token) {
		t.Error(err)
	}
}
