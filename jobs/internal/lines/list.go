// Package lines reads and writes the lines that several jobs have in common:
//
//   - records of CSV (csv.go),
//   - points (points.go, draw.go),
//   - ratings of movies (points.go),
//   - keys with their counts (counts.go),
//   - lists that grow with the data (list.go),
//   - blocks with the spans of their lines (list.go),
//   - text with NUL and newline exchanged (exchange.go).
//
// Memory: results are parts of the line or belong to the caller. A Growing line belongs to one
// reducer, which reuses it for each group. An attempt that counts has a heap of at most 65,536
// counts, and one record.
package lines

import (
	"bytes"
	"fmt"

	"mrlocal/jobs"
)

// freeBytes is the capacity of a line that is not charged. Each attempt has room for it.
const freeBytes = 64 << 10

// Growing is a line of output whose length grows with the data, such as the documents of a
// word. Check charges it to the memory bound of the run. A reducer embeds it, so that the
// engine calls Begin (jobs.Attempter).
type Growing struct {
	Text    []byte // the line; the caller appends to it
	charge  func(bytes int64) bool
	charged int // capacity of Text that is charged or free, in bytes
}

// Begin implements jobs.Attempter.
func (l *Growing) Begin(a jobs.OwnAttempt) { l.charge, l.charged = a.Charge, freeBytes }

// Check charges the bytes by which the capacity of Text has grown. It fails if the run has no
// memory for them. The reducer calls it after each item; mostly it is one comparison.
func (l *Growing) Check() error {
	if cap(l.Text) > l.charged && l.charge != nil {
		return l.grow()
	}
	return nil
}

// Charge charges bytes, and reports whether the run has memory for them.
func (l *Growing) Charge(bytes int) bool { return l.charge == nil || l.charge(int64(bytes)) }

// grow charges the new capacity.
func (l *Growing) grow() error {
	if more := cap(l.Text) - l.charged; !l.Charge(more) {
		return fmt.Errorf("a line of %d bytes does not fit into the memory of the run", len(l.Text))
	}
	l.charged = cap(l.Text)
	return nil
}

// DocumentName appends path to dst and returns the result, the name of a document in keys and
// lines. TAB and newline become blanks, because they separate the fields of keys and lines.
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

// ListReducer emits one line for each group: the group without its last byte, TAB, and the
// rests of its keys, separated by commas. The keys of a group come sorted (secondary sort).
// Each rest is written once.
type ListReducer struct {
	Growing
	GroupBytes func(key []byte) int // as in jobs.Job

	last []byte // the last item of the line
}

// Reduce emits the line of one group.
func (r *ListReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	n := r.GroupBytes(key)
	r.Text = append(append(r.Text[:0], key[:n-1]...), '\t') // an Emitter writes no TAB next to an empty key
	for some := false; vs.Next(); some = true {
		item := vs.Key()[n:]
		if some && bytes.Equal(item, r.last) { // the same item from another map
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
	out.Emit(nil, r.Text)
	return nil
}

// wordCounter emits each word of a block with the count 1.
type wordCounter struct {
	one   [8]byte // the count 1 in the format of jobs.Sum; never changed
	fold  bool
	words *jobs.Words
}

// NewWordCounter returns a mapper for one attempt that emits each word with the count 1. With alnum, words
// are runs of ASCII letters and digits. With fold, it changes A to Z in the block to a to z.
func NewWordCounter(alnum, fold bool) jobs.Mapper {
	m := &wordCounter{fold: fold, words: jobs.BlankSeparated()}
	if alnum {
		m.words = jobs.LettersAndDigits()
	}
	jobs.AppendUint64(m.one[:0], 1)
	return m
}

// Map implements jobs.Mapper.
func (m *wordCounter) Map(b jobs.Block, out jobs.Emitter) error {
	if m.fold {
		Lower(b.Data)
	}
	for words := range m.words.In(b.Data) {
		jobs.EmitSpans(out, b.Data, words, m.one[:])
	}
	return nil
}

// DocumentWords emits the words of documents with the count 1. A mapper embeds it. It builds
// the keys of several hundred words and emits them together.
type DocumentWords struct {
	File   int32 // the current document; -1: none yet
	Finder *jobs.Words
	Keys   []byte      // scratch: keys, one after the other
	Spans  []jobs.Span // where each key lies in Keys
	One    []byte      // the count 1 in the format of jobs.Sum
}

// NewDocumentWords returns a DocumentWords for one attempt.
func NewDocumentWords() DocumentWords {
	return DocumentWords{File: -1, Finder: jobs.BlankSeparated(), One: jobs.AppendUint64(nil, 1)}
}

// Emit emits a key for each word of data: head, the word and tail.
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

// AppendSpans appends the spans of the lines of data, without their delimiter. The last line
// may lack it. data must have less than 4 GiB.
//
// hot: one iteration for each line; IndexByte does the search.
func AppendSpans(dst []jobs.Span, data []byte, delim byte) []jobs.Span {
	for off := 0; off < len(data); {
		n := bytes.IndexByte(data[off:], delim)
		if n < 0 {
			n = len(data) - off
		}
		dst = append(dst, jobs.Span{Off: uint32(off), Len: uint32(n)})
		off += n + 1
	}
	return dst
}

// Take passes a block with the spans of its records to out, which must be a jobs.Taker. job is the name of the job,
// for messages.
func Take(job string, b jobs.Block, records []jobs.Span, out jobs.Emitter) error {
	taker, ok := out.(jobs.Taker)
	if !ok {
		return fmt.Errorf("%s: the Emitter cannot take blocks (jobs.Taker)", job)
	}
	if len(records) > 0 {
		taker.Take(b, records)
	}
	return nil
}
