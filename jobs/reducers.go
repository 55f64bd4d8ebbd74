package jobs

import (
	"bytes"
	"encoding/binary"
	"iter"
	"strconv"
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
	if v.i < len(v.spans) {
		return true
	}
	return v.refill()
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
