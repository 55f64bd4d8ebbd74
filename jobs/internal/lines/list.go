// Package lines has the forms of lines that several jobs read or write: records of CSV (csv.go),
// points (points.go, draw.go), ratings of movies (ratings.go), keys with their counts (counts.go),
// and lists that grow with the data (list.go).
//
// Memory: results are parts of the line or belong to the caller. A Growing line belongs to one
// reducer, which uses it again for each group. An attempt that counts has a heap of at most
// 65,536 counts, and one record. Neighbours: the jobs use it; package jobs hands them
// Charge.
package lines

import (
	"bytes"
	"fmt"

	"mrlocal/jobs"
)

// freeBytes of a line are not charged. Each attempt has room for them.
const freeBytes = 64 << 10

// Growing is a line of output whose length grows with the data, such as the documents of a word. It
// is charged to the bound of memory of the run as it grows. A reducer embeds it, so that it gets the
// attempt (jobs.Attempter).
type Growing struct {
	Text    []byte // the caller appends to it
	charge  func(bytes int64) bool
	charged int
}

// Begin implements jobs.Attempter.
func (l *Growing) Begin(a jobs.OwnAttempt) { l.charge, l.charged = a.Charge, freeBytes }

// Check charges what the line has grown by. It fails if there is no room. It is called after
// each item, and is cheap.
func (l *Growing) Check() error {
	if cap(l.Text) > l.charged && l.charge != nil {
		return l.grow()
	}
	return nil
}

// grow charges the new capacity.
func (l *Growing) grow() error {
	if more := cap(l.Text) - l.charged; !l.charge(int64(more)) {
		return fmt.Errorf("a line of %d bytes does not fit into the memory of the run", len(l.Text))
	}
	l.charged = cap(l.Text)
	return nil
}

// DocumentName returns the path of a block as the name of a document in keys and results. TAB and
// newline, which divide these, become blanks. The result is appended to dst.
func DocumentName(dst []byte, path string) []byte {
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '\t' || c == '\n' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}

// ListReducer writes one line for each group: the group without its last byte, then what the keys of
// the group have behind it. Those come sorted (secondary sort). Each is written once, and a comma
// stands between two.
type ListReducer struct {
	Growing
	GroupBytes func(key []byte) int // as in jobs.Job

	last []byte // item of the line
}

// Reduce writes the line of one group.
func (r *ListReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	n := r.GroupBytes(key)
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

// DocumentWords emits the words of documents with the count 1, for a mapper that embeds it. It puts keys of
// some hundred words together and emits them at a time.
type DocumentWords struct {
	File   int32 // the document that the mapper is at; -1: none yet
	Finder *jobs.Words
	Keys   []byte
	Spans  []jobs.Span
	One    []byte // the count
}

// NewDocumentWords returns the words of one attempt.
func NewDocumentWords() DocumentWords {
	return DocumentWords{File: -1, Finder: jobs.BlankSeparated(), One: jobs.AppendUint64(nil, 1)}
}

// Emit emits a key for each word of data: the word between head and tail.
func (d *DocumentWords) Emit(data, head, tail []byte, out jobs.Emitter) {
	for words := range d.Finder.In(data) {
		d.Keys, d.Spans = d.Keys[:0], d.Spans[:0]
		for _, w := range words {
			at := len(d.Keys)
			d.Keys = append(append(append(d.Keys, head...), data[w.Off:w.Off+w.Len]...), tail...)
			d.Spans = append(d.Spans, jobs.Span{Off: uint32(at), Len: uint32(len(d.Keys) - at)})
		}
		jobs.EmitSpans(out, d.Keys, d.Spans, d.One)
	}
}
