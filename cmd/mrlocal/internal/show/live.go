package show

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"
)

// liveInterval is the time between two drawings.
const liveInterval = 100 * time.Millisecond

// eraseBelow erases from the line of the cursor to the end of the screen.
const eraseBelow = "\r\x1b[J"

// live draws a block on a terminal again and again. Between two drawings the cursor stands
// at the start of the block. So a new drawing begins where the old one began, also after a
// terminal that got another width has broken its lines anew. close removes the block.
type live struct {
	w     io.Writer
	size  func() (columns, rows int)
	block block
	next  []byte // of draw

	mu sync.Mutex // notes come from any goroutine
	// shown is what is on the screen, empty before the first drawing; under mu.
	shown []byte
}

// newLive draws on w, a terminal of that size.
func newLive(w io.Writer, l look, size func() (columns, rows int)) *live {
	return &live{w: w, size: size, block: block{look: l}}
}

// interval returns the time between two drawings.
func (l *live) interval() time.Duration { return liveInterval }

// draw draws the block over the one before, if it has changed. Write may be called at the same
// time by another goroutine, so draw holds the lock.
func (l *live) draw(m *model, now time.Duration) {
	columns, rows := l.size()
	l.mu.Lock()
	defer l.mu.Unlock()
	// A terminal that has become too small for a block shows none until it grows again.
	if columns < leastWidth || rows <= leastLines {
		l.erase()
		return
	}
	l.next = l.frame(l.next[:0], l.block.draw(m, now, columns, rows))
	// Most drawings of a run of minutes are equal to the one before.
	if bytes.Equal(l.next, l.shown) {
		return
	}
	l.shown, l.next = l.next, l.shown
	_, _ = l.w.Write(l.shown)
}

// frame appends a drawing and the way back to its start. Lines of a higher block that was
// there before go.
func (l *live) frame(text, drawing []byte) []byte {
	text = append(append(append(text, '\r'), drawing...), "\x1b[J\r"...)
	if up := bytes.Count(drawing, []byte("\n")); up > 0 {
		text = append(strconv.AppendInt(append(text, "\x1b["...), int64(up), 10), 'A')
	}
	return text
}

// note writes a message of the run above the block, which is drawn again below.
func (l *live) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.shown) == 0 {
		_, _ = io.WriteString(l.w, text)
		return
	}
	_, _ = io.WriteString(l.w, eraseBelow+text+string(l.shown))
}

func (l *live) close(*model, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
}

// erase removes the block; the caller holds mu.
func (l *live) erase() {
	if len(l.shown) > 0 {
		_, _ = io.WriteString(l.w, eraseBelow)
		l.shown = l.shown[:0]
	}
}

// sizeOf returns a function that returns the size of the terminal w, or 0, 0 if w is no terminal. It
// asks the terminal at each call, because the user may resize the window.
func sizeOf(w io.Writer) func() (columns, rows int) {
	f, ok := w.(*os.File)
	return func() (int, int) {
		if !ok {
			return 0, 0
		}
		columns, rows, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return columns, rows
	}
}
