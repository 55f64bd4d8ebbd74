package jobs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"strconv"
	"sync"

	"mrlocal/internal/scan"
)

// AppendUint64 appends n to dst in the format of Sum, 8 bytes with the lowest first, and
// returns the result.
func AppendUint64(dst []byte, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(dst, n)
}

// Uint64 returns the number that AppendUint64 wrote. It panics if p has less
// than 8 bytes.
func Uint64(p []byte) uint64 { return binary.LittleEndian.Uint64(p) }

// AppendDescending appends 8 bytes to dst and returns the result. The bytes for a larger n sort
// before those for a smaller n. So keys that begin with them sort by descending n.
func AppendDescending(dst []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(dst, ^n)
}

// Descending returns the number that AppendDescending wrote. It panics if p has
// less than 8 bytes.
func Descending(p []byte) uint64 { return ^binary.BigEndian.Uint64(p) }

// Sum adds values made by AppendUint64. It is a Folder and a Reducer. The zero value works. A
// Sum of NewSum keeps scratch memory, so that Reduce allocates nothing.
//
// The kvbuffer recognizes the type Sum as a Folder, and adds in its hash table without a call
// for each value. It does not recognize a type that embeds or wraps Sum. Such a type gives the
// same result in about five times the time (BenchmarkWrappedSum in package spill), unless it
// implements Summer.
type Sum struct{ text *[20]byte }

// NewSum makes a Sum for one attempt at a task.
func NewSum() Sum { return Sum{text: new([20]byte)} }

// Fold adds value to acc. Both have 8 bytes.
func (Sum) Fold(acc, value []byte) []byte {
	if acc == nil {
		return append(acc, value...)
	}
	binary.LittleEndian.PutUint64(acc, Uint64(acc)+Uint64(value))
	return acc
}

// Reduce emits key and the total of its values in decimal.
func (s Sum) Reduce(key []byte, vs *Values, out Emitter) error {
	text := s.text
	if text == nil {
		text = new([20]byte)
	}
	var total uint64
	for vs.Next() {
		if len(vs.Value()) != 8 {
			return Mistakef("jobs.Sum: a value of %d bytes, want 8", len(vs.Value()))
		}
		total += Uint64(vs.Value())
	}
	out.Emit(key, strconv.AppendUint(text[:0], total, 10))
	return nil
}

// Column says which part of each record an Identity emits.
type Column uint8

const (
	Both        Column = iota // key and value
	KeyColumn                 // the key, once for each value; with Job.GroupBytes the first key of the group
	ValueColumn               // the value
)

// Identity is a Reducer that emits the records that it gets, in order. The engine recognizes
// the type and copies records in bulk instead of calling Reduce. It does not recognize a type
// that embeds Identity, which is slower.
type Identity struct {
	Out    Column
	Unique bool // emit only the first value of each group
}

// Reduce emits the group.
func (r Identity) Reduce(key []byte, vs *Values, out Emitter) error {
	for vs.Next() {
		switch r.Out {
		case KeyColumn:
			out.Emit(key, nil)
		case ValueColumn:
			out.Emit(nil, vs.Value())
		default:
			out.Emit(key, vs.Value())
		}
		if r.Unique {
			break
		}
	}
	return nil
}

// Values iterates over the values of one group.
//
//	for vs.Next() {
//		use(vs.Value())
//	}
//
// Values are streamed: a group may have more of them than memory holds. User code gets a
// *Values from the engine, and calls only Next, Value and Key. Values is not an interface, so
// that the compiler can inline these methods. The engine refills it with windows of values that
// lie in one buffer.
type Values struct {
	base  []byte // memory of the window; borrowed from the Refiller
	spans []Span // where each value lies in base
	i     int    // current value; -1: none
	more  Refiller
	key   []byte // key of the values of the window; nil: the job has no GroupBytes
}

// Refiller supplies the values of a group to a Values. Refill calls vs.Window with the next
// values and returns true, or returns false at the end of the group. Engines and tests
// implement it.
type Refiller interface {
	Refill(vs *Values) bool
}

// Next moves to the next value and reports whether there is one.
func (v *Values) Next() bool {
	v.i++
	return v.i < len(v.spans) || v.refill()
}

// Value returns the current value, borrowed until the next call of Next. It is not nil. It may
// be called only after Next returned true.
func (v *Values) Value() []byte {
	s := v.spans[v.i]
	return v.base[s.Off : uint64(s.Off)+uint64(s.Len) : uint64(s.Off)+uint64(s.Len)]
}

// Key returns the whole key of the current value in the reducer of a job with GroupBytes; otherwise
// nil. It is borrowed until the next call of Next.
func (v *Values) Key() []byte { return v.key }

// SetKey sets the result of Key for the values of the current window. Refillers call it. The
// key is borrowed until the next call of Refill.
func (v *Values) SetKey(key []byte) { v.key = key }

// refill gets the next window of values. It returns false if there is none.
func (v *Values) refill() bool {
	v.spans, v.i = v.spans[:0], 0
	if v.more == nil || !v.more.Refill(v) {
		v.i = -1
		return false
	}
	return true
}

// Reset begins a new group, whose values r supplies. If r is nil, the group is
// empty until Window is called.
func (v *Values) Reset(r Refiller) {
	v.base = nil
	v.spans = v.spans[:0]
	v.i = -1
	v.more = r
}

// Window sets the next values: at least one span of base. Both slices are borrowed until the
// next call of Refill.
func (v *Values) Window(base []byte, spans []Span) {
	if v.base, v.spans, v.i = base, spans, 0; base == nil {
		v.base = []byte{} // all values are empty; Value never returns nil
	}
}

// Lines yields the lines of the block without their newlines. A carriage return before the
// newline belongs to the line. The lines lie in b.Data and are borrowed until Map returns.
// Nothing is allocated.
func (b Block) Lines() iter.Seq[[]byte] { return b.Records(Newline) }

// Fixed yields the records of a block whose records have the given number of bytes each
// (Job.RecordBytes). A shorter rest at the end is left out. The records lie in b.Data and are
// borrowed until Map returns.
func (b Block) Fixed(bytes int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b.mustBeText()
		for rest := b.Data; len(rest) >= bytes; rest = rest[bytes:] {
			b.stands(rest)
			if !yield(rest[:bytes:bytes]) {
				return
			}
		}
	}
}

// Records yields the records of the block without their delimiter. They lie in b.Data and are
// borrowed until Map returns. Their capacity is their length, so that append copies them.
func (b Block) Records(delim Delim) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b.mustBeText()
		rest, end := b.Data, delim.Byte()
		for len(rest) > 0 {
			b.stands(rest)
			n := bytes.IndexByte(rest, end)
			if n < 0 {
				yield(rest[:len(rest):len(rest)])
				return
			}
			if !yield(rest[:n:n]) {
				return
			}
			rest = rest[n+1:]
		}
	}
}

// AppendPair appends a record to dst, as a job of a chain gets it from the job before: the lengths of key and value
// as varints, the key, and the value. Engines call it.
func AppendPair(dst, key, value []byte) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(len(key))), uint64(len(value)))
	return append(append(dst, key...), value...)
}

// MostPairHead is the largest number of bytes in front of the key of a pair.
const MostPairHead = 2 * binary.MaxVarintLen64

// PairBytes returns the lengths of the first pair of data: of the part in front of its key, and of key and value.
// Of data that ends before the key begins, head is 0.
func PairBytes(data []byte) (head, key, value int) {
	if len(data) >= 2 && data[0] < 0x80 && data[1] < 0x80 {
		return 2, int(data[0]), int(data[1])
	}
	k, n := binary.Uvarint(data)
	v, m := binary.Uvarint(data[max(n, 0):])
	if n <= 0 || m <= 0 {
		return 0, 0, 0
	}
	return n + m, int(k), int(v)
}

// Pairs yields the keys and values of a block with Paired, as the job before has emitted them. They lie in b.Data
// and are borrowed until Map returns. Their capacity is their length. It panics with a Mistake if the block has text.
func (b Block) Pairs() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		if !b.Paired && len(b.Data) > 0 {
			panic(Mistakef("Block.Pairs: the block has text; only a later job of a chain, without Job.Text, reads pairs"))
		}
		for rest := b.Data; len(rest) > 0; {
			b.stands(rest)
			head, key, value := PairBytes(rest)
			end := head + key + value
			if !yield(rest[head:head+key:head+key], rest[head+key:end:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}

// mustBeText panics with a Mistake if the block has pairs.
func (b Block) mustBeText() {
	if b.Paired {
		panic(Mistakef("the block has the pairs of the job before: read Block.Pairs, or set Job.Text"))
	}
}

// Words finds the words of a block, several hundred at a time. It keeps scratch memory, so each
// mapper needs its own.
//
//	for spans := range m.words.In(b.Data) {
//		jobs.EmitSpans(out, b.Data, spans, one)
//	}
type Words struct {
	set   *scan.Bytes
	edges [1024 + scan.EdgesRoom]uint32 // offsets where a word begins, ends, begins, ...
	spans [512 + scan.EdgesRoom/2]Span
}

// BlankSeparated makes a Words that finds runs of bytes other than space, TAB,
// newline, carriage return and form feed.
func BlankSeparated() *Words {
	return &Words{set: scan.NewBytes(func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }, true)}
}

// LettersAndDigits makes a Words that finds runs of ASCII letters and digits.
func LettersAndDigits() *Words {
	return &Words{set: scan.NewBytes(func(c byte) bool { return c-'0' < 10 || c|0x20-'a' < 26 }, false)}
}

// In yields the words of data in order, as spans of data, several hundred in each step. A step
// is borrowed until the next one. data must have less than 4 GiB.
//
// hot: one iteration for several hundred words.
func (w *Words) In(data []byte) iter.Seq[[]Span] {
	return func(yield func([]Span) bool) {
		begun := 0 // 1: edges[0] begins a word whose end is not known yet
		for at := 0; at < len(data); {
			var n int
			n, at = w.set.Edges(w.edges[begun:], data, at)
			n += begun
			for i := range w.spans[:n/2] {
				begin := w.edges[2*i]
				w.spans[i] = Span{Off: begin, Len: w.edges[2*i+1] - begin}
			}
			if n >= 2 && !yield(w.spans[:n/2]) {
				return
			}
			if begun = n & 1; begun == 1 {
				w.edges[0] = w.edges[n-1]
			}
		}
	}
}

// EmitSpans emits one record for each span: its key is the span of data, its
// value is value. It uses the method of out if out is a SpanEmitter, and Emit
// otherwise. All slices are borrowed.
func EmitSpans(out Emitter, data []byte, keys []Span, value []byte) {
	if s, ok := out.(SpanEmitter); ok {
		s.EmitSpans(data, keys, value)
		return
	}
	for _, s := range keys {
		out.Emit(data[s.Off:s.Off+s.Len:s.Off+s.Len], value)
	}
}

// errBorrowed is the error of user code that changes bytes that it only borrows.
var errBorrowed = errors.New("changed bytes that it borrows")

// Checked returns j with a Partition, GroupBytes, AppendKey and Folder that panic if they change what
// they borrow, or keep it. The engine uses it in checked builds, and package jobtest in each run.
// Folders that are a Sum or a Summer stay as they are, because kvbuffers know their type.
func Checked(j Job) Job {
	if partition := j.Partition; partition != nil {
		j.Partition = func(key []byte, parts int) (part int) {
			unchanged(key, func() { part = partition(key, parts) })
			return part
		}
	}
	if group := j.GroupBytes; group != nil {
		j.GroupBytes = func(key []byte) (n int) {
			unchanged(key, func() { n = group(key) })
			return n
		}
	}
	if appendKey := j.AppendKey; appendKey != nil {
		j.AppendKey = func(dst, record []byte) (key []byte) {
			unchanged(record, func() { key = appendKey(dst, record) })
			return key
		}
	}
	if create := j.NewFolder; create != nil {
		j.NewFolder = func() Folder {
			f := create()
			switch f.(type) {
			case nil, Sum, Summer:
				return f
			}
			return checkedFolder{f}
		}
	}
	return j
}

// unchanged calls do, and panics if do has changed p.
func unchanged(p []byte, do func()) {
	before := bytes.Clone(p)
	if do(); !bytes.Equal(p, before) {
		panic(errBorrowed)
	}
}

// checkedFolder is a Folder that panics if the one in it changes or keeps a value.
type checkedFolder struct{ Folder }

// Fold folds a copy of value, and overwrites the copy.
func (f checkedFolder) Fold(acc, value []byte) (folded []byte) {
	lent := append([]byte{}, value...)
	folded = f.Folder.Fold(acc, lent)
	if !bytes.Equal(lent, value) {
		panic(errBorrowed)
	}
	result := bytes.Clone(folded)
	for i := range lent {
		lent[i] = ^lent[i]
	}
	if !bytes.Equal(folded, result) {
		panic(errors.New("keeps the value that it borrows"))
	}
	return folded
}

// Mistake is the error of user code that breaks a rule of this package, such as a group of Job.GroupBytes that
// comes back. The function that finds it panics with it, or returns it. The attempt fails without a stack.
type Mistake string

// Mistakef makes a Mistake.
func Mistakef(format string, args ...any) error { return Mistake(fmt.Sprintf(format, args...)) }

func (m Mistake) Error() string { return string(m) }

// CombinerOf returns a combiner that create, a Job.NewCombiner, makes. It panics with a Mistake if that is a Sum.
func CombinerOf(create func() Reducer) Reducer {
	r := create()
	if _, sum := r.(Sum); sum {
		panic(Mistakef("jobs.Sum is a Folder, for Job.NewFolder; as a combiner it would emit text"))
	}
	return r
}

// GroupOf returns the leading bytes of a key that name its group: group is Job.GroupBytes. It panics with a
// Mistake if the key has fewer bytes.
func GroupOf(key []byte, group func(key []byte) int) []byte {
	n := group(key)
	if n < 0 || n > len(key) {
		panic(Mistakef("GroupBytes: returned %d for a key of %d bytes", n, len(key)))
	}
	return key[:n:n]
}

// OneReduce returns partition, a Job.Partition, with a check: it panics with a Mistake if keys of one group go to
// different reduces. It remembers some of the groups that it has met. Any number of goroutines may call it.
func OneReduce(partition func(key []byte, parts int) int, group func(key []byte) int) func(key []byte, parts int) int {
	var mu sync.Mutex
	var met [256]struct {
		name []byte
		part int // plus 1; 0: none
	}
	seed := maphash.MakeSeed()
	return func(key []byte, parts int) int {
		part, name := partition(key, parts), GroupOf(key, group)
		mu.Lock()
		defer mu.Unlock()
		m := &met[maphash.Bytes(seed, name)%uint64(len(met))]
		if m.part > 0 && m.part != part+1 && bytes.Equal(m.name, name) {
			panic(Mistakef("Partition: sends keys of the group %q to the reduces %d and %d", name, m.part-1, part))
		}
		m.name, m.part = append(m.name[:0], name...), part+1
		return part
	}
}
