package worker

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPrimaryGroup(t *testing.T) {
	passwd := filepath.Join(t.TempDir(), "passwd")
	if err := os.WriteFile(passwd, []byte("root:x:0:0::/root:/bin/sh\nrunner:x:1001:118:Runner:/home/runner:/bin/sh\nodd:x:1002:0::/:/bin/sh\nbroken:x:1003\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for uid, gid := range map[uint32]uint32{1001: 118, 1002: 1002, 1003: 1003, 5000: 5000} {
		if got := primaryGroup(passwd, uid); got != gid {
			t.Errorf("uid %d has the group %d, want %d", uid, got, gid)
		}
	}
	if got := primaryGroup(passwd+"2", 7); got != 7 {
		t.Errorf("without a passwd file: %d", got)
	}
}
