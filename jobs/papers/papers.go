// Package papers holds the jobs with which papers measure MapReduce: those of PUMA, Purdue's
// MapReduce benchmarks, of Gridmix, and Hadoop's own examples. A function makes each job. Its
// comment says what the lines of the input and of the result are, and how much memory a task needs.
//
// Results do not depend on how the input is divided.
//
// Memory: a line of output that grows with the data, and what a reduce must collect, is charged to
// the bound of the run. Neighbours: package jobs finds words and adds counts; wordcount, sort and
// grep are packages beside this one; docs/jobs.md shows each job as a command.
package papers

import (
	"bytes"
	"fmt"

	"mrlocal/jobs"
)

// freeBytes of a line are not charged. Each attempt has room for them.
const freeBytes = 64 << 10

// line is a line that grows. A reducer embeds it, so that it gets the attempt (jobs.Attempter).
type line struct {
	Text    []byte // the caller appends to it
	charge  func(bytes int64) bool
	charged int
}

// Begin implements jobs.Attempter.
func (l *line) Begin(a jobs.OwnAttempt) { l.charge, l.charged = a.Charge, freeBytes }

// Check charges what the line has grown by. It fails if there is no room. It is called after
// each item, and is cheap.
func (l *line) Check() error {
	if cap(l.Text) > l.charged && l.charge != nil {
		return l.grow()
	}
	return nil
}

// grow charges the new capacity.
func (l *line) grow() error {
	if more := cap(l.Text) - l.charged; !l.charge(int64(more)) {
		return fmt.Errorf("a line of %d bytes does not fit into the memory of the run", len(l.Text))
	}
	l.charged = cap(l.Text)
	return nil
}

// appendDocument returns the path of a block as the name of a document in keys and results. TAB and
// newline, which divide these, become blanks. The result is appended to dst.
func appendDocument(dst []byte, path string) []byte {
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '\t' || c == '\n' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}

// fieldBytes returns the length of the first field of a key with its TAB. The field is the group
// of a secondary sort.
func fieldBytes(key []byte) int { return bytes.IndexByte(key, '\t') + 1 }

// listReducer writes one line for each group: the group without its last byte, then what the keys
// of the group have behind it. Those come sorted (secondary sort). Each is written once, and a comma
// stands between two.
type listReducer struct {
	line
	groupBytes func(key []byte) int
	last       []byte // of the line
}

// Reduce writes the list of one group.
func (r *listReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	n := r.groupBytes(key)
	r.Text = r.Text[:0]
	for some := false; vs.Next(); some = true {
		item := vs.Key()[n:]
		if some && bytes.Equal(item, r.last) { // from another map
			continue
		}
		if some {
			r.Text = append(r.Text, ',')
		}
		r.last = append(r.last[:0], item...)
		r.Text = append(r.Text, item...)
		if err := r.Check(); err != nil {
			return err
		}
	}
	out.Emit(key[:n-1], r.Text)
	return nil
}

// mix64 spreads the bits of a number (the mixer of SplitMix64).
func mix64(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
