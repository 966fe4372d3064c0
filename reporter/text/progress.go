package text

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Progress shows how far a run is: on a terminal one live line, in the log of a
// CI job a group with one line a check, in a pipe nothing. It can be told from
// several goroutines.
type Progress struct {
	to    io.Writer
	style Style
	group bool
	now   func() time.Time
	begun time.Time
	drawn time.Time

	mu   sync.Mutex
	live bool // a line of ours stands on the terminal
	open bool // a group is open in the log
}

// When a live line appears, and how often it is redrawn: a short run is over
// before a reader could have read it, and would only flicker.
const (
	liveAfter = 300 * time.Millisecond
	liveEvery = 80 * time.Millisecond
)

// NewProgress makes a progress on a stream. In the log of a GitHub job its
// lines form a group, which the runner shows folded.
func NewProgress(to io.Writer, style Style, env func(string) string) *Progress {
	return &Progress{to: to, style: style, group: !style.Live && env("GITHUB_ACTIONS") == "true", now: time.Now}
}

// Step says that done of total checks have answered, and which one was the
// last (status is its answer) or is running (status is "").
func (p *Progress) Step(done, total int, id, status string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.style.Live:
		p.draw(done, total, id)
	case p.group && status != "":
		p.log(done, total, id, status)
	}
}

func (p *Progress) draw(done, total int, id string) {
	now := p.now()
	if p.begun.IsZero() {
		p.begun = now
	}
	if now.Sub(p.begun) < liveAfter || now.Sub(p.drawn) < liveEvery {
		return
	}
	p.drawn, p.live = now, true
	const bar = 20
	full := bar * done / max(total, 1)
	line := fmt.Sprintf("%s%s %d/%d  ", strings.Repeat(p.style.pick("━", "="), full), strings.Repeat(p.style.pick("─", "-"), bar-full), done, total)
	// The last column is left free: a terminal would break the line there.
	line += p.style.fit(clip(Escape(id), max(p.style.Width-cells(line)-1, 1)))
	p.write("\r\x1b[K" + p.style.paint(faint, line))
}

func (p *Progress) log(done, total int, id, status string) {
	if !p.open {
		p.open = true
		p.write(fmt.Sprintf("::group::%d checks\n", total))
	}
	p.write(p.style.Line("", fmt.Sprintf("%d/%d %s: %s", done, total, id, status)) + "\n")
}

// End takes the live line away, or closes the group. It is called before
// anything else is printed, also when the run was interrupted.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		p.write("\r\x1b[K")
	}
	if p.open {
		p.write("::endgroup::\n")
	}
	p.live, p.open = false, false
}

// write shows progress as well as it can: a stream that takes none takes no
// answer either, and the answer's own error is the one that is told.
func (p *Progress) write(s string) {
	if _, err := io.WriteString(p.to, s); err != nil {
		p.style.Live, p.group = false, false
	}
}
