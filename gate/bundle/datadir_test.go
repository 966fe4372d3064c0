package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/fault"
)

func environment(vars ...string) func(string) string {
	return func(name string) string {
		for _, v := range vars {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestDataDirSources(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag string
		env  func(string) string
		want string
	}{
		{top + "/flag", environment("GATE_DATA_DIR="+top+"/env", "XDG_DATA_HOME="+top+"/xdg", "HOME="+top), top + "/flag"},
		{"", environment("GATE_DATA_DIR="+top+"/env", "XDG_DATA_HOME="+top+"/xdg", "HOME="+top), top + "/env"},
		{"", environment("XDG_DATA_HOME="+top+"/xdg", "HOME="+top), top + "/xdg/gate"},
		{"", environment("XDG_DATA_HOME=relative", "HOME="+top), top + "/.local/share/gate"},
		{top + "/a/../b//c/", environment(), top + "/b/c"},
	} {
		if got, err := ResolveDataDir(c.flag, c.env, ""); err != nil || got != c.want {
			t.Errorf("%q: %s %v, want %s", c.flag, got, err, c.want)
		}
	}
	for _, c := range []struct {
		flag string
		env  func(string) string
	}{{"", environment()}, {"", environment("HOME=relative")}, {"a\x00b", environment()}} {
		if got, err := ResolveDataDir(c.flag, c.env, ""); codeOf(err) != fault.Usage {
			t.Errorf("%q: %s %v", c.flag, got, err)
		}
	}
}

func TestDataDirIsNeverInsideTheWorkspace(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(top, "ws")
	for _, dir := range []string{"ws/sub", "out", "data"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"link": "ws", "dangling": "ws/not/yet", "chain": "link", "absolute": ws + "/x", "deep": "ws/sub", "ws/out": "../out", "data/verifications": "../ws/sub", "loop": "loop", "wslink": ws,
	} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, inner := range []string{"ws", "ws/data", "ws/sub/a/b", "link", "link/new", "dangling", "dangling/x", "chain/y", "absolute", "out/../ws/q", "link/../ws/r", "deep/../x", "data"} {
		for _, workspace := range []string{ws, filepath.Join(top, "wslink"), ws + "/"} {
			if got, err := ResolveDataDir(top+"/"+inner, environment(), workspace); codeOf(err) != fault.Usage || !strings.Contains(err.Error(), "inside the workspace") {
				t.Errorf("%s in %s: %s %v", inner, workspace, got, err)
			}
		}
	}
	for _, outer := range []string{"out", "out/new/deep", "ws2", "wsx/../out", "ws/out/../r", "ws/out", "ws/out/new", "."} {
		if got, err := ResolveDataDir(top+"/"+outer, environment(), ws); err != nil {
			t.Errorf("%s: %s %v", outer, got, err)
		}
	}
	if got, err := ResolveDataDir(filepath.Join(top, "loop"), environment(), ws); codeOf(err) != fault.Usage {
		t.Errorf("a loop: %s %v", got, err)
	}
	if got, err := ResolveDataDir(filepath.Join(top, "out"), environment(), filepath.Join(top, "loop")); codeOf(err) != fault.WorkspaceUnresolved {
		t.Errorf("%s %v", got, err)
	}
}
