// Package wordcount is a job that counts words, like the first example of Hadoop.
//
// jobs.Words finds the words of a block, some hundred at a time. The mapper
// passes them to the kvbuffer, where jobs.Sum adds the counts. The result is
// "word TAB count" in byte order of the words. With Top, it is ordered by falling
// count, then by word: a second job sorts the counts of the first one.
//
// Memory: words are slices of the block, and are not copied here. With IgnoreCase
// the mapper changes the block in place; a second attempt on the same block then
// changes nothing.
//
// Neighbours: package jobs defines jobs and finds words; jobs/jobtest is the
// reference of the tests.
package wordcount

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"fmt"
	"strconv"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// Options say what a word is and how many words are wanted. By default, words
// are runs of bytes other than space, TAB, newline, carriage return and form
// feed, as in StringTokenizer of Java.
type Options struct {
	IgnoreCase bool  // A to Z count as a to z; other letters are not changed
	Alnum      bool  // words are runs of ASCII letters and digits
	Top        int64 // only the Top most frequent words, by count, then by word; 0: all words
}

// New makes the job.
func New(o Options) (jobs.Chain, error) {
	if o.Top < 0 {
		return nil, errs.Optionf("Options.Top "+strconv.FormatInt(o.Top, 10), "must not be negative")
	}
	count := jobs.Job{
		Name:       "wordcount",
		Ordered:    o.Top == 0,
		NewMapper:  func() jobs.Mapper { return newMapper(o) },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.NewSum() },
		BuiltIn:    true,
	}
	if o.Top == 0 {
		return jobs.Chain{count}, nil
	}
	top := jobs.Job{
		Name:       "wordcount-top",
		Reduces:    1,
		Ordered:    true,
		NewMapper:  func() jobs.Mapper { return newRank(o.Top) },
		NewReducer: func() jobs.Reducer { return &head{left: o.Top} },
		Partition:  func([]byte, int) int { return 0 }, // one reducer must see all words
		BuiltIn:    true,
	}
	return jobs.Chain{count, top}, nil
}

type mapper struct {
	one   [8]byte
	lower bool
	words *jobs.Words
}

func newMapper(o Options) *mapper {
	m := &mapper{lower: o.IgnoreCase}
	if o.Alnum {
		m.words = jobs.LettersAndDigits()
	} else {
		m.words = jobs.BlankSeparated()
	}
	jobs.AppendUint64(m.one[:0], 1)
	return m
}

func (m *mapper) Map(b jobs.Block, out jobs.Emitter) error {
	if m.lower {
		lower(b.Data)
	}
	for words := range m.words.In(b.Data) {
		jobs.EmitSpans(out, b.Data, words, m.one[:])
	}
	return nil
}

// rank turns "word TAB count" into keys that sort by falling count. It leaves
// out words that at least n words of its split beat, as long as a heap of n
// counts is small.
type rank struct {
	n    int64
	best counts
	key  []byte
}

const maxHeap = 1 << 16 // counts, 512 KiB

func newRank(n int64) *rank { return &rank{n: n} }

func (r *rank) Map(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		tab := bytes.LastIndexByte(line, '\t')
		count, err := strconv.ParseUint(string(line[tab+1:]), 10, 64)
		if tab < 0 || err != nil {
			return fmt.Errorf("wordcount-top: %s at %d: %q is not a word with its count", b.Path, b.Offset, line)
		}
		if r.beaten(count) {
			continue
		}
		r.key = append(jobs.AppendDescending(r.key[:0], count), line[:tab]...)
		out.Emit(r.key, nil)
	}
	return nil
}

func (r *rank) beaten(count uint64) bool {
	switch {
	case r.n > maxHeap:
		return false
	case int64(len(r.best)) < r.n:
		heap.Push(&r.best, count)
		return false
	case count < r.best[0]:
		return true
	}
	r.best[0] = count
	heap.Fix(&r.best, 0)
	return false
}

// counts is a heap with the smallest count on top.
type counts []uint64

func (c counts) Len() int           { return len(c) }
func (c counts) Less(i, j int) bool { return c[i] < c[j] }
func (c counts) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *counts) Push(x any)        { *c = append(*c, x.(uint64)) }
func (c *counts) Pop() any          { panic("wordcount: the heap of counts never shrinks") }

// head emits the first n words.
type head struct {
	left int64
	text [20]byte
}

func (h *head) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	if h.left == 0 {
		return nil
	}
	h.left--
	out.Emit(key[8:], strconv.AppendUint(h.text[:0], jobs.Descending(key), 10))
	return nil
}

const (
	lows   = 0x0101010101010101
	highs  = 0x8080808080808080
	sevens = 0x7f7f7f7f7f7f7f7f
)

// lower changes A to Z in p to a to z, eight bytes at a time.
//
// hot: with IgnoreCase it sees each byte.
func lower(p []byte) {
	for ; len(p) >= 8; p = p[8:] {
		v := binary.LittleEndian.Uint64(p)
		low := v & sevens
		upper := (low + (0x80-'A')*lows) &^ (low + (0x80-'Z'-1)*lows) &^ v & highs
		binary.LittleEndian.PutUint64(p, v|upper>>2)
	}
	for i, c := range p {
		if c-'A' < 26 {
			p[i] = c | 0x20
		}
	}
}
