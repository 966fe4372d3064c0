package worker

import (
	"io/fs"
	"syscall"
)

func identify(info fs.FileInfo) (fileIdentity, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileIdentity{}, false
	}
	return fileIdentity{int64(st.Dev), int64(st.Ino), st.Size, st.Mtim.Nano(), st.Ctim.Nano()}, true
}

// maxRSS is the peak of resident memory in bytes.
func maxRSS(u *syscall.Rusage) int64 { return u.Maxrss << 10 }
