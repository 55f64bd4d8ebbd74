package term

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// liveInterval is the time between two drawings.
const liveInterval = 100 * time.Millisecond

// eraseBelow moves the cursor to the start of its line and erases all from there to the end of the
// screen.
const eraseBelow = "\r\x1b[J"

// live is the display with a drawing on a terminal: a block, or the line of a tool. Between two drawings, the cursor is at the start
// of the block. So a new drawing begins where the old one began, even if the terminal has got
// another width and broken lines again.
type live struct {
	w       io.Writer
	size    func() (columns, rows int)
	picture func(m *model, now time.Duration, columns, rows int) []byte // nothing: there is no drawing now
	next    []byte                                                      // scratch memory of draw
	shown   []byte                                                      // the bytes that drew the block on the screen; empty: there is no block
}

// newLive returns a display that draws a block on the terminal w. size returns the current size of w.
func newLive(w io.Writer, t Terminal, size func() (columns, rows int)) *live {
	return &live{w: w, size: size, picture: (&block{Terminal: t}).draw}
}

// draw draws the picture in place of the one before, if it has changed.
func (l *live) draw(m *model, now time.Duration) {
	columns, rows := l.size()
	drawing := l.picture(m, now, columns, rows)
	if len(drawing) == 0 {
		l.erase()
		return
	}
	l.next = l.frame(l.next[:0], drawing)
	// In a long run, most drawings are equal to the one before.
	if bytes.Equal(l.next, l.shown) {
		return
	}
	l.shown, l.next = l.next, l.shown
	_, _ = l.w.Write(l.shown)
}

// frame appends a drawing to text. It also appends the sequences that erase the rest of an older and
// higher block, and that move the cursor back to the start.
func (l *live) frame(text, drawing []byte) []byte {
	text = append(append(append(text, '\r'), drawing...), "\x1b[J\r"...)
	if up := bytes.Count(drawing, []byte("\n")); up > 0 {
		text = append(strconv.AppendInt(append(text, "\x1b["...), int64(up), 10), 'A')
	}
	return text
}

// note erases the block, writes text, and draws the block again below it.
func (l *live) note(text string) {
	if len(l.shown) == 0 {
		_, _ = io.WriteString(l.w, text)
		return
	}
	_, _ = io.WriteString(l.w, eraseBelow+text+string(l.shown))
}

// close removes the block.
func (l *live) close(*model, time.Duration) {
	l.erase()
}

// erase removes the block from the screen.
func (l *live) erase() {
	if len(l.shown) > 0 {
		_, _ = io.WriteString(l.w, eraseBelow)
		l.shown = l.shown[:0]
	}
}

// sizeOf returns a function that returns the size of the terminal w, or 0, 0 if w is not a
// terminal. The function asks the terminal at each call, because the user may resize the window.
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
