package worker

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// verdict runs a filter as the kernel would, and gives the error number that
// it answers with; 0 lets the call through.
func verdict(t *testing.T, f filter, arch, number uint32, args ...uint64) unix.Errno {
	t.Helper()
	program, err := f.program()
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64) // struct seccomp_data
	binary.LittleEndian.PutUint32(data[dataNumber:], number)
	binary.LittleEndian.PutUint32(data[dataArch:], arch)
	for i, a := range args {
		binary.LittleEndian.PutUint64(data[dataArgs+8*i:], a)
	}
	out := interpret(t, program, data)
	if out == unix.SECCOMP_RET_ALLOW {
		return 0
	}
	if out&^0xffff != unix.SECCOMP_RET_ERRNO {
		t.Fatalf("the filter answers %#x", out)
	}
	return unix.Errno(out & 0xffff)
}

// interpret is the kernel's machine, as far as these programs use it.
func interpret(t *testing.T, program []unix.SockFilter, data []byte) uint32 {
	t.Helper()
	var a uint32
	for pc := 0; pc < len(program); pc++ {
		i := program[pc]
		var holds bool
		switch i.Code {
		case opLoad:
			a = binary.LittleEndian.Uint32(data[i.K:])
			continue
		case opJump:
			pc += int(i.K)
			continue
		case opReturn:
			return i.K
		case opEqual:
			holds = a == i.K
		case opBitSet:
			holds = a&i.K != 0
		case opAtLeast:
			holds = a >= i.K
		default:
			t.Fatalf("instruction %d has the unknown code %#x", pc, i.Code)
		}
		if holds {
			pc += int(i.Jt)
		} else {
			pc += int(i.Jf)
		}
	}
	t.Fatal("the program has no end")
	return 0
}

func number(t *testing.T, name string, compat bool) uint32 {
	t.Helper()
	c, ok := findCall(name)
	if !ok {
		t.Fatalf("no call %s", name)
	}
	if compat {
		return uint32(c.compat)
	}
	return uint32(c.native)
}

func TestFilters(t *testing.T) {
	const none = 0
	garbage := uint64(1) << 40 // what the kernel does not look at
	reading, sealed, command, bare := readingFilter(), sealFilter(), commandFilter(true), commandFilter(false)
	for _, c := range []struct {
		what   string
		filter filter
		call   string
		compat bool
		args   []uint64
		want   unix.Errno
	}{
		{"reading", reading, "socket", false, []uint64{unix.AF_UNIX}, unix.EPERM},
		{"reading", reading, "fchmodat2", false, nil, unix.EPERM},
		{"reading", reading, "io_uring_setup", false, nil, unix.ENOSYS},
		{"reading", reading, "clone", false, []uint64{unix.CLONE_THREAD}, none},
		{"reading", reading, "clone", false, []uint64{unix.CLONE_NEWUSER}, unix.EPERM},
		{"reading, foreign", reading, "kill", true, nil, unix.ENOSYS},
		{"sealed", sealed, "execve", false, nil, unix.EPERM},
		{"sealed", sealed, "clone", false, []uint64{unix.CLONE_VM}, unix.EPERM},
		{"sealed", sealed, "clone", false, []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, none},
		{"sealed", sealed, "tgkill", false, []uint64{uint64(unix.Getpid())}, none},
		{"sealed", sealed, "tgkill", false, []uint64{1}, unix.EPERM},
		{"command", command, "socket", false, []uint64{unix.AF_INET6}, none},
		{"command", command, "socket", false, []uint64{unix.AF_NETLINK}, none},
		{"command", command, "socket", false, []uint64{unix.AF_ALG}, unix.EAFNOSUPPORT},
		{"command", command, "socket", false, []uint64{unix.AF_ALG | garbage}, unix.EAFNOSUPPORT},
		{"command", command, "socket", true, []uint64{unix.AF_VSOCK}, unix.EAFNOSUPPORT},
		{"command", command, "socketcall", true, []uint64{1}, unix.ENOSYS},
		{"command", command, "ioctl", false, []uint64{0, unix.TIOCSTI}, unix.EPERM},
		{"command", command, "ioctl", false, []uint64{0, unix.TIOCSTI | garbage}, unix.EPERM},
		{"command", command, "ioctl", true, []uint64{0, unix.TIOCLINUX}, unix.EPERM},
		{"command", command, "ioctl", false, []uint64{0, unix.TCGETS}, none},
		{"command", command, "clone", false, []uint64{unix.CLONE_NEWNET | 17}, unix.EPERM},
		{"command", command, "clone", false, []uint64{unix.CLONE_VFORK | 17}, none},
		{"command", command, "clone", true, []uint64{unix.CLONE_NEWUSER}, unix.EPERM},
		{"command", command, "unshare", true, nil, unix.EPERM},
		{"command", command, "clone3", false, nil, unix.ENOSYS},
		{"command", command, "chmod", false, nil, none},
		{"command", command, "ptrace", false, nil, none},
		{"command without Landlock", bare, "ptrace", false, nil, unix.EPERM},
		{"command without Landlock", bare, "ptrace", true, nil, unix.EPERM},
		{"command", command, "execve", false, nil, none},
	} {
		arch := uint32(nativeArch)
		if c.compat {
			arch = compatArch
		}
		n := number(t, c.call, c.compat)
		if int32(n) < 0 {
			continue // the architecture has no such call
		}
		if got := verdict(t, c.filter, arch, n, c.args...); got != c.want {
			t.Errorf("%s: %s(%x) is answered %v, want %v", c.what, c.call, c.args, got, c.want)
		}
	}
	for _, f := range []filter{reading, sealed, command} {
		if got := verdict(t, f, 0x1234, 1); got != unix.ENOSYS {
			t.Errorf("an unknown architecture is answered %v", got)
		}
		if got := verdict(t, f, nativeArch, uint32(unix.SYS_READ)); got != 0 {
			t.Errorf("read is answered %v", got)
		}
		if nativeArch == unix.AUDIT_ARCH_X86_64 {
			if got := verdict(t, f, nativeArch, x32Bit|uint32(unix.SYS_READ)); got != unix.ENOSYS {
				t.Errorf("the x32 calls are answered %v", got)
			}
		}
	}
}

// The kernel takes at most 4096 instructions, and a jump has one byte.
func TestFilterFits(t *testing.T) {
	for _, f := range []filter{readingFilter(), sealFilter(), commandFilter(false)} {
		program, err := f.program()
		if err != nil || len(program) > 4096 {
			t.Errorf("%d instructions, %v", len(program), err)
		}
	}
	if _, err := (filter{denials: refuse(unix.EPERM, "no_such_call")}).program(); err == nil {
		t.Error("a call without a number is taken")
	}
}
