package worker

import "golang.org/x/sys/unix"

// Linux on arm64 also runs 32-bit Arm programs, whose calls have other numbers:
// a filter that knew only the native ones would let every call through by way
// of the other door.
const (
	nativeArch = unix.AUDIT_ARCH_AARCH64
	compatArch = unix.AUDIT_ARCH_ARM
	x32Bit     = 0 // there is no such thing on this architecture
)

// calls are the system calls that the filters speak of, with the numbers of
// both architectures; -1 is a call that one of them does not have.
var calls = [...]call{
	{"clone", 220, 120},
	{"clone3", 435, 435},
	{"fork", -1, 2},
	{"vfork", -1, 190},
	{"execve", 221, 11},
	{"execveat", 281, 387},
	{"kill", 129, 37},
	{"tkill", 130, 238},
	{"tgkill", 131, 268},
	{"rt_sigqueueinfo", 138, 178},
	{"rt_tgsigqueueinfo", 240, 363},
	{"pidfd_send_signal", 424, 424},
	{"socket", 198, 281},
	{"socketpair", 199, 288},
	{"socketcall", -1, -1},
	{"io_uring_setup", 425, 425},
	{"io_uring_enter", 426, 426},
	{"io_uring_register", 427, 427},
	{"ptrace", 117, 26},
	{"process_vm_readv", 270, 376},
	{"process_vm_writev", 271, 377},
	{"process_madvise", 440, 440},
	{"kcmp", 272, 378},
	{"pidfd_getfd", 438, 438},
	{"mount", 40, 21},
	{"umount", -1, -1},
	{"umount2", 39, 52},
	{"pivot_root", 41, 218},
	{"prlimit64", 261, 369},
	{"chroot", 51, 61},
	{"fsopen", 430, 430},
	{"fsconfig", 431, 431},
	{"fsmount", 432, 432},
	{"fspick", 433, 433},
	{"move_mount", 429, 429},
	{"open_tree", 428, 428},
	{"open_tree_attr", 467, 467},
	{"mount_setattr", 442, 442},
	{"unshare", 97, 337},
	{"setns", 268, 375},
	{"keyctl", 219, 311},
	{"add_key", 217, 309},
	{"request_key", 218, 310},
	{"bpf", 280, 386},
	{"perf_event_open", 241, 364},
	{"userfaultfd", 282, 388},
	{"open_by_handle_at", 265, 371},
	{"chmod", -1, 15},
	{"fchmod", 52, 94},
	{"fchmodat", 53, 333},
	{"fchmodat2", 452, 452},
	{"chown", -1, 182},
	{"fchown", 55, 95},
	{"lchown", -1, 16},
	{"fchownat", 54, 325},
	{"setxattr", 5, 226},
	{"lsetxattr", 6, 227},
	{"fsetxattr", 7, 228},
	{"setxattrat", 463, 463},
	{"removexattr", 14, 235},
	{"lremovexattr", 15, 236},
	{"fremovexattr", 16, 237},
	{"removexattrat", 466, 466},
	{"file_setattr", 469, 469},
	{"utime", -1, -1},
	{"utimes", -1, 269},
	{"futimesat", -1, 326},
	{"utimensat", 88, 348},
	{"ioctl", 29, 54},
}
