package sqlread

import (
	"io/fs"
	"syscall"
	"time"
)

// stampOf reads what shows that a file is another one or was changed. The time
// of the last change (ctime) is part of it, for that of the last write can be
// set back by anybody.
func stampOf(info fs.FileInfo) (stamp, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{
		device: uint64(st.Dev), inode: st.Ino, size: st.Size,
		written: time.Unix(st.Mtim.Unix()), changed: time.Unix(st.Ctim.Unix()),
	}, true
}
