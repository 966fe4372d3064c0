package worker

import "golang.org/x/sys/unix"

// Linux on amd64 also runs 32-bit x86 programs, whose calls have other numbers:
// a filter that knew only the native ones would let every call through by way
// of the other door.
const (
	nativeArch = unix.AUDIT_ARCH_X86_64
	compatArch = unix.AUDIT_ARCH_I386
	x32Bit     = 0x40000000 // of the third door: 32-bit pointers with 64-bit calls
)

// calls are the system calls that the filters speak of, with the numbers of
// both architectures; -1 is a call that one of them does not have.
var calls = [...]call{
	{"clone", 56, 120},
	{"clone3", 435, 435},
	{"fork", 57, 2},
	{"vfork", 58, 190},
	{"execve", 59, 11},
	{"execveat", 322, 358},
	{"kill", 62, 37},
	{"tkill", 200, 238},
	{"tgkill", 234, 270},
	{"rt_sigqueueinfo", 129, 178},
	{"rt_tgsigqueueinfo", 297, 335},
	{"pidfd_send_signal", 424, 424},
	{"socket", 41, 359},
	{"socketpair", 53, 360},
	{"socketcall", -1, 102},
	{"io_uring_setup", 425, 425},
	{"io_uring_enter", 426, 426},
	{"io_uring_register", 427, 427},
	{"ptrace", 101, 26},
	{"process_vm_readv", 310, 347},
	{"process_vm_writev", 311, 348},
	{"process_madvise", 440, 440},
	{"kcmp", 312, 349},
	{"pidfd_getfd", 438, 438},
	{"mount", 165, 21},
	{"umount", -1, 22},
	{"umount2", 166, 52},
	{"pivot_root", 155, 217},
	{"prlimit64", 302, 340},
	{"chroot", 161, 61},
	{"fsopen", 430, 430},
	{"fsconfig", 431, 431},
	{"fsmount", 432, 432},
	{"fspick", 433, 433},
	{"move_mount", 429, 429},
	{"open_tree", 428, 428},
	{"open_tree_attr", 467, 467},
	{"mount_setattr", 442, 442},
	{"unshare", 272, 310},
	{"setns", 308, 346},
	{"keyctl", 250, 288},
	{"add_key", 248, 286},
	{"request_key", 249, 287},
	{"bpf", 321, 357},
	{"perf_event_open", 298, 336},
	{"userfaultfd", 323, 374},
	{"open_by_handle_at", 304, 342},
	{"chmod", 90, 15},
	{"fchmod", 91, 94},
	{"fchmodat", 268, 306},
	{"fchmodat2", 452, 452},
	{"chown", 92, 182},
	{"fchown", 93, 95},
	{"lchown", 94, 16},
	{"fchownat", 260, 298},
	{"setxattr", 188, 226},
	{"lsetxattr", 189, 227},
	{"fsetxattr", 190, 228},
	{"setxattrat", 463, 463},
	{"removexattr", 197, 235},
	{"lremovexattr", 198, 236},
	{"fremovexattr", 199, 237},
	{"removexattrat", 466, 466},
	{"file_setattr", 469, 469},
	{"utime", 132, 30},
	{"utimes", 235, 271},
	{"futimesat", 261, 299},
	{"utimensat", 280, 320},
	{"ioctl", 16, 54},
}
