// Package list collects a line of output whose length grows with the data, such as the
// documents of a word. A line is charged to the bound of memory of the run as it grows.
//
// Memory: a Line belongs to one reducer, which uses it again for each group. Neighbours: the
// jobs whose results are lists use it; package jobs hands them Charge.
package list

import (
	"fmt"

	"mrlocal/jobs"
)

// freeBytes of a line are not charged. Each attempt has room for them.
const freeBytes = 64 << 10

// Line is a line that grows. A reducer embeds it, so that it gets the attempt (jobs.Attempter).
type Line struct {
	Text    []byte // the caller appends to it
	charge  func(bytes int64) bool
	charged int
}

// Begin implements jobs.Attempter.
func (l *Line) Begin(a jobs.OwnAttempt) { l.charge, l.charged = a.Charge, freeBytes }

// Check charges what the line has grown by. It fails if there is no room. It is called after
// each item, and is cheap.
func (l *Line) Check() error {
	if cap(l.Text) > l.charged && l.charge != nil {
		return l.grow()
	}
	return nil
}

// grow charges the new capacity.
func (l *Line) grow() error {
	if more := cap(l.Text) - l.charged; !l.charge(int64(more)) {
		return fmt.Errorf("a line of %d bytes does not fit into the memory of the run", len(l.Text))
	}
	l.charged = cap(l.Text)
	return nil
}

// Document returns the path of a block as the name of a document in keys and results. TAB and
// newline, which divide these, become blanks. The result is appended to dst.
func Document(dst []byte, path string) []byte {
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '\t' || c == '\n' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}
