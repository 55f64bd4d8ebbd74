package lines

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"mrlocal/jobs"
)

// CountFormat is the format of a record with a key and its count. A job that counts writes such
// records, and TopJob reads them, so both use the same CountFormat.
type CountFormat interface {
	// Append appends a record, without its delimiter, to dst and returns the result.
	Append(dst, key []byte, count uint64) []byte
	// Cut parses a record that Append has written. key is a part of record, or valid until the
	// next call. ok is false if record is something else.
	Cut(record []byte) (key []byte, count uint64, ok bool)
}

// KeyCount is the CountFormat "key TAB count". The last TAB ends the key.
type KeyCount struct{}

// Append implements CountFormat.
func (KeyCount) Append(dst, key []byte, count uint64) []byte {
	return strconv.AppendUint(append(append(dst, key...), '\t'), count, 10)
}

// Cut implements CountFormat.
func (KeyCount) Cut(record []byte) (key []byte, count uint64, ok bool) {
	tab := bytes.LastIndexByte(record, '\t')
	count, err := strconv.ParseUint(string(record[tab+1:]), 10, 64)
	return record[:max(tab, 0)], count, tab >= 0 && err == nil
}

// Kept says which keys are kept. The zero value keeps all of them.
type Kept struct {
	Min, Max uint64 // least and largest count; Max 0: no bound
	Top      int64  // only the Top most frequent keys, by descending count, then by key; 0: all
}

// Keeps reports whether a key with that count is kept, apart from Top.
func (o Kept) Keeps(count uint64) bool { return count >= o.Min && (o.Max == 0 || count <= o.Max) }

// maxHeap is the most counts in a heap, which then takes 512 KiB. With a larger Kept.Top, the
// first job leaves out nothing early, and the second job does all the work.
const maxHeap = 1 << 16

// NewSum makes the reducer of the first job, for one attempt. The values have the format of
// jobs.Sum.
func NewSum(o Kept, f CountFormat) *Sum { return &Sum{o: o, format: f, best: best{n: o.Top}} }

// Sum adds the counts of each key, and emits the keys that Kept keeps.
type Sum struct {
	o       Kept
	format  CountFormat
	tallies bool // each value counts 1, whatever it is
	best    best
	record  []byte // scratch
}

// Reduce emits a key and the sum of its values as one record.
func (s *Sum) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	var total uint64
	for vs.Next() {
		if s.tallies {
			total++
		} else {
			total += jobs.Uint64(vs.Value())
		}
	}
	s.Emit(key, total, out)
	return nil
}

// NewTally makes a reducer like that of NewSum. It counts the values of a key instead of adding
// them.
func NewTally(o Kept, f CountFormat) *Sum {
	s := NewSum(o, f)
	s.tallies = true
	return s
}

// Emit emits a key with its count if Kept keeps it. The keys of an attempt ascend.
func (s *Sum) Emit(key []byte, total uint64, out jobs.Emitter) {
	if !s.o.Keeps(total) {
		return
	}
	// Keys ascend, so a key with the least count of the heap ranks behind all keys in it.
	if s.o.Top > 0 && s.best.beats(total, true) {
		return
	}
	s.record = s.format.Append(s.record[:0], key, total)
	out.Emit(s.record, nil)
}

// TopJob makes the second job of a chain. It reads the records of the first job and writes the
// o.Top most frequent keys, or all, by descending count, then by key.
func TopJob(name string, delim jobs.Delim, o Kept, newFormat func() CountFormat) jobs.Job {
	top := cmp.Or(o.Top, math.MaxInt64)
	job := jobs.Job{
		Name:       name,
		Delim:      delim,
		Ordered:    o.Top == 0,
		NewMapper:  func() jobs.Mapper { return &rank{name: name, delim: delim, format: newFormat(), best: best{n: top}} },
		NewReducer: func() jobs.Reducer { return &head{left: top, format: newFormat()} },
		BuiltIn:    true,
	}
	if o.Top > 0 { // one reducer must see all keys
		job.Reduces = 1
		job.Partition = func([]byte, int) int { return 0 }
	}
	return job
}

// rank turns records into keys that sort by descending count. It leaves out a record if at
// least Top records of its split have larger counts. It does not do so if Top exceeds maxHeap.
type rank struct {
	name   string
	delim  jobs.Delim
	format CountFormat
	best   best
	key    []byte // reused
}

// Map implements jobs.Mapper. It fails for a record that CountFormat.Cut refuses.
func (r *rank) Map(b jobs.Block, out jobs.Emitter) error {
	for record := range b.Records(r.delim) {
		key, count, ok := r.format.Cut(record)
		if !ok {
			return fmt.Errorf("%s: %s at %d: %q is not a key with its count", r.name, b.Path, b.Offset, record)
		}
		// The records of a split may come from several reducers, so their keys do not ascend,
		// and equal counts are kept.
		if r.best.beats(count, false) {
			continue
		}
		r.key = append(jobs.AppendDescending(r.key[:0], count), key...)
		out.Emit(r.key, nil)
	}
	return nil
}

// head emits the first left records.
type head struct {
	left   int64
	format CountFormat
	record []byte // reused
}

// Reduce implements jobs.Reducer. It ignores the number of values, because the keys of the
// first job are distinct.
func (h *head) Reduce(key []byte, _ *jobs.Values, out jobs.Emitter) error {
	if h.left == 0 {
		return nil
	}
	h.left--
	h.record = h.format.Append(h.record[:0], key[8:], jobs.Descending(key))
	out.Emit(h.record, nil)
	return nil
}

// best holds the n largest counts so far, or nothing if n exceeds maxHeap.
type best struct {
	n      int64
	counts minHeap
}

// beats reports whether n counts are larger than count or, with ties, at least as large. If
// not, it adds count.
func (b *best) beats(count uint64, ties bool) bool {
	switch {
	case b.n > maxHeap:
		return false
	case int64(len(b.counts)) < b.n:
		heap.Push(&b.counts, count)
		return false
	case count < b.counts[0] || ties && count == b.counts[0]:
		return true
	}
	b.counts[0] = count
	heap.Fix(&b.counts, 0)
	return false
}

// minHeap is a heap.Interface with the smallest count on top.
type minHeap []uint64

func (c minHeap) Len() int           { return len(c) }
func (c minHeap) Less(i, j int) bool { return c[i] < c[j] }
func (c minHeap) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *minHeap) Push(x any)        { *c = append(*c, x.(uint64)) }
func (c *minHeap) Pop() any          { panic("lines: the heap of counts never shrinks") }

// Lower changes A to Z in p to a to z, eight bytes at a time.
//
// hot: with IgnoreCase, passes over each byte of the input.
func Lower(p []byte) { swapCase(p, 'A') }

// Upper changes a to z in p to A to Z.
func Upper(p []byte) { swapCase(p, 'a') }

// swapCase changes the case of the 26 letters from first on.
func swapCase(p []byte, first byte) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	from, behind := uint64(0x80-first)*ones, uint64(0x80-first-26)*ones
	for ; len(p) >= 8; p = p[8:] {
		v := binary.LittleEndian.Uint64(p)
		// Without the high bits, no addition below carries into the next byte.
		low := v &^ highs
		letters := (low + from) &^ (low + behind) &^ v & highs
		binary.LittleEndian.PutUint64(p, v^letters>>2)
	}
	for i, c := range p {
		if c-first < 26 {
			p[i] = c ^ 0x20
		}
	}
}
