package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/record"
)

// ownerOf gives whom the worker runs as when the gate runs as root: the owner
// of the workspace, with the layer that says so.
func ownerOf(workspace string) (*syscall.Credential, record.Layer) {
	if uid := os.Geteuid(); uid != 0 {
		return nil, standing(layerUser, "uid %d and gid %d, as the gate itself", uid, os.Getegid())
	}
	var st unix.Stat_t
	err := unix.Stat(workspace, &st)
	if err == nil && st.Uid == 0 {
		return nil, missing(layerUser, "root, because the workspace belongs to root")
	}
	gid := primaryGroup("/etc/passwd", st.Uid)
	if err == nil {
		err = canBecome(st.Uid, gid)
	}
	if err != nil {
		return nil, missing(layerUser, "root: the worker cannot become the owner of the workspace: %v", err)
	}
	return &syscall.Credential{Uid: st.Uid, Gid: gid}, standing(layerUser, "uid %d and gid %d, the owner of the workspace", st.Uid, gid)
}

// primaryGroup is the group of a user in a passwd file, or the one of the same
// number where the file does not know the user. The group of the workspace's
// folder is not taken: it may be one that opens more than the workspace, the
// group of root or of a container engine's socket.
func primaryGroup(passwd string, uid uint32) uint32 {
	text, err := os.ReadFile(passwd)
	if err != nil {
		return uid
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(line, ":")
		if len(f) < 4 || f[2] != strconv.FormatUint(uint64(uid), 10) {
			continue
		}
		if gid, err := strconv.ParseUint(f[3], 10, 32); err == nil && gid != 0 {
			return uint32(gid)
		}
	}
	return uid
}

// canBecome says beforehand whether root may change to a user: a container can
// take the capabilities away, and a user namespace may not know the id.
func canBecome(uid, gid uint32) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	if need := uint32(1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID); sets[0].Effective&need != need {
		return errors.New("the capabilities CAP_SETUID and CAP_SETGID were taken away")
	}
	if !mapped("/proc/self/uid_map", uid) || !mapped("/proc/self/gid_map", gid) {
		return fmt.Errorf("uid %d or gid %d is not known in this user namespace", uid, gid)
	}
	return nil
}

func mapped(file string, id uint32) bool {
	data, err := os.ReadFile(file)
	if err != nil {
		return true // no user namespaces: every id is what it is
	}
	for line := range strings.Lines(string(data)) {
		var inside, outside, count uint32
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err == nil && id >= inside && id-inside < count {
			return true
		}
	}
	return false
}

// program gives the path that executes this program, also when the worker's
// user may not execute the file itself: then it is run from memory.
func (c confinement) program() (path string, held *os.File, err error) {
	var st unix.Stat_t
	if c.owner == nil {
		return selfExe, nil, nil
	}
	if err := unix.Stat(selfExe, &st); err != nil {
		return "", nil, fmt.Errorf("the gate's own program cannot be found: %w", err)
	}
	need := uint32(unix.S_IXOTH)
	switch {
	case st.Uid == c.owner.Uid:
		need = unix.S_IXUSR
	case st.Gid == c.owner.Gid:
		need = unix.S_IXGRP
	}
	if st.Mode&need != 0 {
		return selfExe, nil, nil
	}
	self, err := os.Open(selfExe)
	if err != nil {
		return "", nil, err
	}
	defer self.Close()
	fd, err := unix.MemfdCreate("gate", unix.MFD_CLOEXEC)
	if err != nil {
		return "", nil, fmt.Errorf("uid %d may not execute the gate, and there is no memory file: %w", c.owner.Uid, err)
	}
	defer unix.Close(fd)
	// Above the descriptors that the child's own are laid over.
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, firstFree)
	if err != nil {
		return "", nil, err
	}
	held = os.NewFile(uintptr(high), "gate")
	if _, err = io.Copy(held, self); err == nil {
		err = held.Chmod(0o755)
	}
	return fmt.Sprintf("/proc/self/fd/%d", high), held, err
}

// firstFree is above every descriptor that a worker is given.
const firstFree = 16
