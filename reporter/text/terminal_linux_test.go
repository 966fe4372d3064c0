package text

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal of that many columns.
func terminal(t *testing.T, columns uint16) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return slave
}

func TestDetectOnATerminal(t *testing.T) {
	for _, c := range []struct {
		columns uint16
		env     func(string) string
		want    Style
	}{
		{80, env(), Style{Width: 80, Color: true, Unicode: true, Live: true}},
		{10, env(), Style{Width: minWidth, Color: true, Unicode: true, Live: true}},
		{300, env(), Style{Width: maxWidth, Color: true, Unicode: true, Live: true}},
		{0, env(), Style{Width: maxWidth, Color: true, Unicode: true, Live: true}},
		{80, env("NO_COLOR", "1"), Style{Width: 80, Unicode: true, Live: true}},
		{80, env("CLICOLOR", "0"), Style{Width: 80, Unicode: true, Live: true}},
		{80, env("TERM", "dumb"), Style{Width: 80, Unicode: true}},
	} {
		if got := Detect(terminal(t, c.columns), c.env); got != c.want {
			t.Errorf("%d columns, NO_COLOR=%q CLICOLOR=%q TERM=%q: %+v, want %+v", c.columns, c.env("NO_COLOR"), c.env("CLICOLOR"), c.env("TERM"), got, c.want)
		}
	}
}
