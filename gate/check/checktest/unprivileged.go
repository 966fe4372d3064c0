package checktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
)

// Permissions do not bind root, so under root a case that needs them is run by
// this test binary again, as a user who owns nothing. Only the binding and the
// run happen there; what came of it returns in a file and is judged here.

// nobody is the customary uid and gid of a user without rights.
const nobody = 65534

// requestVariable holds the path of a request in the re-executed binary.
const requestVariable = "CHECKTEST_REQUEST"

// request asks the re-executed binary to evaluate one case.
type request struct {
	Type                 string
	Archive              string // name of the case
	WS, Outside, Scratch string
	Answer               string // file that the answer goes to
}

// answer is what the re-executed binary found.
type answer struct {
	Seen seen
	Err  string
}

// evaluateUnprivileged runs a case as a user without rights. The world's
// folders were made by root, readable by all but for what the setup forbade.
func (w *world) evaluateUnprivileged(t *testing.T, typ check.Type, c *testCase) (seen, error) {
	if os.Geteuid() != 0 {
		return w.evaluate(typ, c) // permissions bind this process already
	}
	if err := w.open(); err != nil {
		return seen{}, err
	}
	if err := os.Chown(w.scratch, nobody, nobody); err != nil {
		return seen{}, err
	}
	ask := request{Type: typ.Name, Archive: c.name, WS: w.ws, Outside: w.outside, Scratch: w.scratch, Answer: filepath.Join(w.scratch, "answer.json")}
	data, err := json.Marshal(ask)
	if err != nil {
		return seen{}, err
	}
	asked := filepath.Join(filepath.Dir(w.ws), "request.json")
	if err := os.WriteFile(asked, data, 0o644); err != nil {
		return seen{}, err
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	// By way of /proc, because the folder that holds a test binary is root's alone.
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+regexp.QuoteMeta(test)+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), requestVariable+"="+asked, "TMPDIR="+w.scratch, "HOME="+w.scratch)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	output, err := cmd.CombinedOutput()
	if err != nil {
		return seen{}, fmt.Errorf("the case as an unprivileged user: %w\n%s", err, output)
	}
	if data, err = os.ReadFile(ask.Answer); err != nil {
		return seen{}, fmt.Errorf("the case as an unprivileged user gave no answer: %w\n%s", err, output)
	}
	var got answer
	if err := json.Unmarshal(data, &got); err != nil {
		return seen{}, err
	}
	if got.Err != "" {
		return seen{}, errors.New(got.Err)
	}
	return got.Seen, nil
}

// askedCase reads the request that this binary was re-executed for, if any.
func askedCase() (*request, error) {
	path := os.Getenv(requestVariable)
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(request)
	return r, json.Unmarshal(data, r)
}

// answer evaluates the requested case and writes down what came of it.
func (r *request) answer(typ check.Type) error {
	if r.Type != typ.Name {
		return nil // a binary may hold the tests of several types
	}
	c, err := readCase(filepath.Join("testdata", r.Archive+".txtar"))
	if err != nil {
		return err
	}
	w := &world{ws: r.WS, outside: r.Outside, scratch: r.Scratch}
	var a answer
	if a.Seen, err = w.evaluate(typ, c); err != nil {
		a.Err = err.Error()
	}
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return os.WriteFile(r.Answer, data, 0o644)
}
