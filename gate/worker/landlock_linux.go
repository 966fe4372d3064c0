package worker

import (
	"errors"
	"fmt"
	"os"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Rights in a hierarchy of files.
const (
	rightsRead     = ll.AccessFSReadFile | ll.AccessFSReadDir
	rightsExecute  = ll.AccessFSExecute
	rightsFile     = ll.AccessFSExecute | ll.AccessFSWriteFile | ll.AccessFSReadFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix
	rightsDevice   = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
	rightsAll      = 1<<17 - 1
	rightsWritable = rightsAll &^ (ll.AccessFSMakeChar | ll.AccessFSMakeBlock)
)

// abiRights is what each Landlock ABI can restrict, from ABI 1 on: to handle a
// right that the kernel does not know is an error.
var abiRights = [...]uint64{1<<13 - 1, 1<<14 - 1, 1<<15 - 1, 1<<15 - 1, 1<<16 - 1, 1<<16 - 1, 1<<16 - 1, 1<<16 - 1, 1<<17 - 1}

const (
	abiRefer = 2 // before it, no file can be moved between folders
	abiNet   = 4
	abiScope = 6
)

// allowance opens one hierarchy, or one file. An optional one may be missing.
type allowance struct {
	path     string
	rights   uint64
	optional bool
}

// domain is what a Landlock domain allows; everything else is refused.
type domain struct {
	allow   []allowance
	network bool   // TCP is not restricted
	connect bool   // pathname sockets are not restricted
	minimum int    // the least ABI with which the domain is worth having
	why     string // what is wrong with a lesser one
}

// landlockABI is the kernel's, or why there is none.
func landlockABI() (int, error) {
	abi, err := ll.LandlockGetABIVersion()
	switch {
	case err == nil && abi > 0:
		return abi, nil
	case errors.Is(err, unix.EOPNOTSUPP):
		return 0, errors.New("Landlock is built into the kernel but not enabled at boot")
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return 0, errors.New("the kernel, or the container's system call filter, does not offer Landlock")
	case err == nil:
		err = unix.ENOSYS
	}
	return 0, fmt.Errorf("Landlock cannot be used: %w", err)
}

// enforce puts this thread, and what it starts from now on, into the domain.
// no_new_privs must be set. It gives the ABI and what it could not restrict.
func (d domain) enforce() (abi int, detail string, err error) {
	if abi, err = landlockABI(); err != nil {
		return 0, "", err
	}
	if abi < d.minimum {
		return abi, "", fmt.Errorf("the kernel offers Landlock ABI %d, %s", abi, d.why)
	}
	handled := abiRights[min(abi, len(abiRights))-1]
	if d.connect {
		handled &^= ll.AccessFSResolveUnix
	}
	attr := ll.RulesetAttr{HandledAccessFS: handled}
	if abi >= abiNet && !d.network {
		attr.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if abi >= abiScope {
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return abi, "", fmt.Errorf("no ruleset: %w", err)
	}
	defer unix.Close(fd)
	for _, a := range d.allow {
		if err := a.add(fd, handled); err != nil {
			return abi, "", err
		}
	}
	if err := ll.LandlockRestrictSelf(fd, 0); err != nil {
		return abi, "", fmt.Errorf("it cannot be enforced: %w", err)
	}
	return abi, d.missing(abi), nil
}

// missing names what the kernel's ABI is too old to restrict.
func (d domain) missing(abi int) string {
	var out []string
	if abi < abiNet && !d.network {
		out = append(out, "TCP")
	}
	if abi < abiScope {
		out = append(out, "signals")
	}
	if len(out) == 0 {
		return fmt.Sprintf("Landlock ABI %d", abi)
	}
	return fmt.Sprintf("Landlock ABI %d, which does not restrict %s", abi, strings.Join(out, " and "))
}

func (a allowance) add(ruleset int, handled uint64) error {
	// Opened on this thread, before it is restricted.
	f, err := unix.Open(a.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		if a.optional {
			return nil
		}
		return &os.PathError{Op: "allow", Path: a.path, Err: err}
	}
	defer unix.Close(f)
	var st unix.Stat_t
	if err := unix.Fstat(f, &st); err != nil {
		return &os.PathError{Op: "allow", Path: a.path, Err: err}
	}
	rights := a.rights & handled
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsFile // the others are about what is in a folder
	}
	if rights == 0 {
		return nil
	}
	err = ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: rights, ParentFd: f}, 0)
	if err == unix.EBADFD && a.path == selfExe {
		return nil // a program in memory lies in no folder, so Landlock does not restrict it
	}
	if err != nil {
		return &os.PathError{Op: "allow", Path: a.path, Err: err}
	}
	return nil
}

// readingDomain is for a worker that reads files and computes.
func readingDomain(roots []string, scratch string) domain {
	d := domain{minimum: 1}
	for _, r := range roots {
		d.allow = append(d.allow, allowance{path: r, rights: rightsRead})
	}
	d.allow = append(d.allow, allowance{path: scratch, rights: rightsWritable &^ rightsExecute},
		allowance{path: selfExe, rights: rightsRead | rightsExecute},
		allowance{path: "/etc/ld.so.cache", rights: rightsRead, optional: true},
		allowance{path: "/dev/null", rights: rightsDevice, optional: true})
	for _, lib := range mappedFiles() {
		d.allow = append(d.allow, allowance{path: lib, rights: rightsRead | rightsExecute, optional: true})
	}
	return d
}

// sharedMemory is where programs keep semaphores and shared memory.
const sharedMemory = "/dev/shm"

// commandDomain is for commands: they read everything that their user may
// read, and write only where a command has reason to.
func commandDomain(workspace, scratch string, caches []string) domain {
	d := domain{network: true, connect: true, minimum: abiRefer, why: "under which no file can be moved between folders: builds would fail"}
	d.allow = []allowance{{path: "/", rights: rightsRead | rightsExecute}, {path: workspace, rights: rightsWritable}, {path: scratch, rights: rightsWritable}}
	for _, c := range caches {
		d.allow = append(d.allow, allowance{path: c, rights: rightsWritable})
	}
	for _, dev := range [...]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"} {
		d.allow = append(d.allow, allowance{path: dev, rights: rightsDevice, optional: true})
	}
	// No pseudo-terminals: the user's own are among them, and what is written
	// there nobody escapes.
	d.allow = append(d.allow, allowance{path: sharedMemory, rights: rightsWritable, optional: true})
	return d
}

// mappedFiles lists the files that this process runs from, its libraries and
// their loader: what the same program needs to start again.
func mappedFiles() []string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for line := range strings.Lines(string(maps)) {
		i := strings.IndexByte(line, '/')
		if i < 0 || !strings.Contains(line[:i], "x") {
			continue
		}
		if path := strings.TrimSuffix(line[i:], "\n"); !seen[path] {
			seen[path] = true
			out = append(out, path)
		}
	}
	return out
}
