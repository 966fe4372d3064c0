package worker

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filters are lists of calls that are refused, assembled here and not by a
// library, for two reasons. A denylist must cover each architecture that the
// kernel runs, or "int 0x80" passes it by; and an argument that the kernel
// reads as 32 bits must be compared as 32 bits, or garbage in the upper half
// passes it by.

// call is a system call with its numbers: see the tables per architecture.
type call struct {
	name           string
	native, compat int16
}

// denial refuses a call, always or under a condition, with an error number
// that programs know how to live with.
type denial struct {
	call  string
	errno unix.Errno
	when  *condition
}

// condition compares the lower half of one argument.
type condition struct {
	arg    uint32
	test   test
	values []uint32
}

type test int

const (
	anyBit test = iota // some bit of values[0] is set
	noBit              // none is
	isOneOf
	isNoneOf
)

// filter is a list of denials. What foreign architectures ask is refused
// altogether when foreign is false.
type filter struct {
	denials []denial
	foreign bool
}

// kernelDoors are refused to everybody: ways to more privilege or out of the
// sandbox that no check needs, and that programs expect to find closed inside
// a container.
func kernelDoors() []denial {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	out := refuse(unix.EPERM, "unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick",
		"move_mount", "open_tree", "open_tree_attr", "mount_setattr", "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd",
		"open_by_handle_at", "kcmp", "pidfd_getfd")
	// io_uring does what a filter of calls cannot see. Like clone3, whose
	// arguments lie in memory, it is answered as if the kernel were older:
	// programs fall back.
	out = append(out, refuse(unix.ENOSYS, "io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "socketcall")...)
	return append(out,
		denial{"clone", unix.EPERM, &condition{0, anyBit, []uint32{namespaces}}},
		// Both put characters into a terminal's input, as if typed there.
		denial{"ioctl", unix.EPERM, &condition{1, isOneOf, []uint32{unix.TIOCSTI, unix.TIOCLINUX}}})
}

// debugging is what Landlock confines to a domain by itself; without it these
// calls reach every process of the same user.
func debugging() []denial {
	return refuse(unix.EPERM, "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise")
}

// readingFilter is for a worker that reads files and computes.
func readingFilter() filter {
	out := append(kernelDoors(), debugging()...)
	return filter{denials: append(out, refuse(unix.EPERM, "socket", "socketpair",
		"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
		"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr",
		"utime", "utimes", "futimesat", "utimensat",
		"kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")...)}
}

// sealFilter is what a reading worker adds once it runs: from then on it has
// threads, and no processes.
func sealFilter() filter {
	out := refuse(unix.EPERM, "execve", "execveat", "fork", "vfork")
	return filter{denials: append(out,
		denial{"clone", unix.EPERM, &condition{0, noBit, []uint32{unix.CLONE_THREAD}}},
		denial{"tgkill", unix.EPERM, &condition{0, isNoneOf, []uint32{uint32(unix.Getpid())}}})}
}

// setID are the bits that make a program run as its owner or group: what a
// command leaves behind must not carry the rights of its user to others.
var setID = []uint32{unix.S_ISUID | unix.S_ISGID}

// commandFilter is for commands: what builds and tests do must work.
func commandFilter(landlocked bool) filter {
	out := append(kernelDoors(),
		// A command shares its user with the worker, and may share it with the
		// gate: it must not set limits of theirs.
		denial{"prlimit64", unix.EPERM, &condition{0, isNoneOf, []uint32{0}}},
		denial{"chmod", unix.EPERM, &condition{1, anyBit, setID}},
		denial{"fchmod", unix.EPERM, &condition{1, anyBit, setID}},
		denial{"fchmodat", unix.EPERM, &condition{2, anyBit, setID}},
		denial{"fchmodat2", unix.EPERM, &condition{2, anyBit, setID}},
		denial{"open", unix.EPERM, &condition{2, anyBit, setID}},
		denial{"creat", unix.EPERM, &condition{1, anyBit, setID}},
		denial{"openat", unix.EPERM, &condition{3, anyBit, setID}},
		denial{"mknod", unix.EPERM, &condition{1, anyBit, setID}},
		denial{"mknodat", unix.EPERM, &condition{2, anyBit, setID}},
		denial{"openat2", unix.ENOSYS, nil}, // its mode lies in memory, where a filter cannot look
		denial{"socket", unix.EAFNOSUPPORT, &condition{0, isNoneOf, []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}}})
	if !landlocked {
		out = append(out, debugging()...)
	}
	return filter{denials: out, foreign: true}
}

func refuse(errno unix.Errno, names ...string) []denial {
	out := make([]denial, 0, 2*len(names))
	for _, n := range names {
		out = append(out, denial{call: n, errno: errno})
	}
	return out
}

// Offsets in struct seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16 // 8 bytes each, the lower half first
)

const (
	opLoad    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	opJump    = unix.BPF_JMP | unix.BPF_JA
	opEqual   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	opBitSet  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	opAtLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	opReturn  = unix.BPF_RET | unix.BPF_K
)

func load(offset uint32) unix.SockFilter { return unix.SockFilter{Code: opLoad, K: offset} }

func fail(errno unix.Errno) unix.SockFilter {
	return unix.SockFilter{Code: opReturn, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// program assembles the filter: a section per architecture, straight down.
func (f filter) program() ([]unix.SockFilter, error) {
	if nativeArch == 0 {
		return nil, fmt.Errorf("no system call numbers are known for %s", runtime.GOARCH)
	}
	native, err := f.section(func(c call) int16 { return c.native }, x32Bit)
	if err != nil {
		return nil, err
	}
	compat := []unix.SockFilter{fail(unix.ENOSYS)}
	if f.foreign {
		if compat, err = f.section(func(c call) int16 { return c.compat }, 0); err != nil {
			return nil, err
		}
	}
	out := []unix.SockFilter{
		load(dataArch),
		{Code: opEqual, K: nativeArch, Jf: 1},
		{Code: opJump, K: 3}, // over the three that follow
		{Code: opEqual, K: compatArch, Jf: 1},
		{Code: opJump, K: uint32(1 + len(native))},
		fail(unix.ENOSYS),
	}
	return append(append(out, native...), compat...), nil
}

func (f filter) section(number func(call) int16, ceiling uint32) ([]unix.SockFilter, error) {
	out := []unix.SockFilter{load(dataNumber)}
	if ceiling > 0 {
		out = append(out, unix.SockFilter{Code: opAtLeast, K: ceiling, Jf: 1}, fail(unix.ENOSYS))
	}
	for _, d := range f.denials {
		c, ok := findCall(d.call)
		if !ok {
			return nil, fmt.Errorf("the filter names an unknown system call %q", d.call)
		}
		n := number(c)
		if n < 0 {
			continue
		}
		body := d.body()
		out = append(out, unix.SockFilter{Code: opEqual, K: uint32(n), Jf: uint8(len(body))})
		out = append(out, body...)
	}
	return append(out, unix.SockFilter{Code: opReturn, K: unix.SECCOMP_RET_ALLOW}), nil
}

// body is what follows once the number of the call is the denial's. When its
// condition does not hold, the number is loaded again for the next denial.
func (d denial) body() []unix.SockFilter {
	if d.when == nil {
		return []unix.SockFilter{fail(d.errno)}
	}
	out := []unix.SockFilter{load(dataArgs + 8*d.when.arg)}
	values := d.when.values
	switch d.when.test {
	case anyBit:
		out = append(out, unix.SockFilter{Code: opBitSet, K: values[0], Jf: 1})
	case noBit:
		out = append(out, unix.SockFilter{Code: opBitSet, K: values[0], Jt: 1})
	case isOneOf, isNoneOf:
		for i, v := range values {
			rest := uint8(len(values) - 1 - i)
			step := unix.SockFilter{Code: opEqual, K: v, Jt: rest}
			if d.when.test == isNoneOf {
				step.Jt = rest + 1
			} else if rest == 0 {
				step.Jf = 1
			}
			out = append(out, step)
		}
	}
	return append(out, fail(d.errno), load(dataNumber))
}

func findCall(name string) (call, bool) {
	for _, c := range calls {
		if c.name == name {
			return c, true
		}
	}
	return call{}, false
}

// install puts the filter on this thread, or with TSYNC on every thread of the
// process. no_new_privs must be set.
func (f filter) install(flags uintptr) error {
	program, err := f.program()
	if err != nil {
		return err
	}
	arg := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&arg)))
	runtime.KeepAlive(program)
	switch {
	case errno == unix.ENOSYS:
		return errors.New("the kernel has no seccomp filters")
	case errno != 0:
		return fmt.Errorf("the kernel refused the filter: %w", errno)
	case thread != 0:
		return fmt.Errorf("thread %d has another filter", thread)
	}
	return nil
}
