package streaming

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"mrlocal/internal/stats"
	"mrlocal/jobs"
)

// Hadoop promises no order of records with equal keys. Yet each run of a map gives the same
// order. The map begins with its last record and sorts with a quicksort that is not stable
// (MapOutputBuffer, QuickSort). Small jobs may rely on that order without notice.
//
// Strict jobs with little input therefore have the same order. A map holds its output in
// memory, sorts it with the same quicksort, and numbers the records. mapRank orders the maps.

// exactBytes is the greatest input of a job whose records with equal keys have Hadoop's order.
const exactBytes = 1 << 20

// paired reports whether the engine's keys are an encoding (sortKey), and its values hold
// both the keys and the values of the job.
func (w *Work) paired() bool { return w.order != nil || w.exact }

// heldRecord is a record that waits to be sorted. It owns its bytes.
type heldRecord struct {
	key, value []byte
	sortKey    []byte // see Work.sortKey
}

// inHadoopOrder returns two functions. emit copies a record and holds it; flush emits all held
// records in Hadoop's order.
func (r *runner) inHadoopOrder(out jobs.Emitter) (emit func(key, value []byte), flush func()) {
	var all []heldRecord
	emit = func(key, value []byte) {
		all = append(all, heldRecord{bytes.Clone(key), bytes.Clone(value), r.work.sortKey(nil, key)})
	}
	flush = func() {
		// Hadoop's kvbuffer fills its index from the end, so its sort finds the last record first.
		slices.Reverse(all)
		quicksort(all, 0, len(all))
		for i := range all {
			r.emitPaired(out, all[i].sortKey, all[i].key, all[i].value)
		}
	}
	return emit, flush
}

// sortKey appends the bytes by which a record sorts: the number of its reduce (4 bytes, highest
// first), and an encoding of its key. Encodings have the order of the job. None is the start of
// another one, so bytes behind it decide among equal keys alone.
func (w *Work) sortKey(dst, key []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(w.partition(key, w.Reducers)))
	order := w.order
	if order == nil {
		order = &Order{} // of bytes
	}
	return order.Append(dst, key)
}

// emitPaired emits a record with sortKey as its key. Its value is the length of key, key, and
// value. In an exact job numbers follow the sortKey: they put records with equal keys in order.
// The slices are borrowed during the call.
func (r *runner) emitPaired(out jobs.Emitter, sortKey, key, value []byte) {
	r.key = append(r.key[:0], sortKey...)
	if r.work.exact {
		r.emitted++
		first, second := mapRank(r.attempt.Task), uint64(r.emitted)
		switch r.work.o.ValueOrder {
		case Reversed:
			first, second = ^uint32(r.attempt.Task), ^second
		case Shuffled:
			second = stats.Bits(uint64(r.attempt.Task), second)
			first = uint32(second >> 32)
		}
		r.key = binary.BigEndian.AppendUint32(r.key, first)
		r.key = binary.BigEndian.AppendUint64(r.key, second)
	}
	r.value = binary.AppendUvarint(r.value[:0], uint64(len(key)))
	r.value = append(append(r.value, key...), value...)
	out.Emit(r.key, r.value)
}

// mapRank returns the rank of a map's records among records with equal keys. Those of map 0
// come first, then those of the last map, and so on down to map 1. Hadoop's heap of runs gives
// this order if the next keys of all runs are equal (Merger.MergeQueue). Otherwise Hadoop's
// order may differ.
func mapRank(task int) uint32 {
	if task == 0 {
		return 0
	}
	return ^uint32(task)
}

// quicksort sorts all[p:r] by sortKey. It takes the same steps as Hadoop's QuickSort
// (org.apache.hadoop.util.QuickSort), so records with equal keys end up in the same order.
// Hadoop changes to a heap sort when divisions stay very uneven. That is left out.
func quicksort(all []heldRecord, p, r int) {
	compare := func(i, j int) int { return bytes.Compare(all[i].sortKey, all[j].sortKey) }
	swap := func(i, j int) { all[i], all[j] = all[j], all[i] }
	// fix swaps the records i and j if i sorts behind j.
	fix := func(i, j int) {
		if compare(i, j) > 0 {
			swap(i, j)
		}
	}
	for r-p >= 13 { // Hadoop sorts fewer records by insertion, below
		// The median of three records becomes the pivot all[p].
		fix((p+r)/2, p)
		fix((p+r)/2, r-1)
		fix(p, r-1)
		// Records that equal the pivot are collected at both ends: up to low, and from high on.
		i, low := p, p
		j, high := r, r
		for {
			for i++; i < j; i++ {
				c := compare(i, p)
				if c > 0 {
					break
				}
				if c == 0 {
					low++
					swap(low, i)
				}
			}
			for j--; j > i; j-- {
				c := compare(p, j)
				if c > 0 {
					break
				}
				if c == 0 {
					high--
					swap(high, j)
				}
			}
			if i >= j {
				break
			}
			swap(i, j)
		}
		for j = i; low >= p; low-- { // records that equal the pivot go to the middle
			i--
			swap(low, i)
		}
		for ; high < r; high++ {
			swap(high, j)
			j++
		}
		// The shorter part is sorted by a call and the longer one by the loop, which bounds the stack.
		if i-p < r-j {
			quicksort(all, p, i)
			p = j
		} else {
			quicksort(all, j, r)
			r = i
		}
	}
	for i := p; i < r; i++ {
		for j := i; j > p && compare(j-1, j) > 0; j-- {
			swap(j, j-1)
		}
	}
}

// hashBytes goes on with a hash as WritableComparator.hashBytes does: it adds each byte of p, as a
// signed one, to 31 times the hash so far. The hash of a Text or BytesWritable key begins with 1.
func hashBytes(hash int32, p []byte) int32 {
	for _, b := range p {
		hash = 31*hash + int32(int8(b))
	}
	return hash
}

// hashLong returns the hash of a LongWritable.
func hashLong(n int64) int32 { return int32(n ^ int64(uint64(n)>>32)) }

// reduceOf returns the reduce for a hash, from 0 to parts-1 (HashPartitioner).
func reduceOf(hash int32, parts int) int { return int(hash&0x7fffffff) % parts }

// ByFields returns the reduce of a key, from 0 to parts-1, as KeyFieldBasedPartitioner does.
// It hashes the bytes that each specification means, one after the other. An empty key goes
// to reduce 0. Without a specification it hashes the key as a Java string.
func ByFields(s *Specs, key []byte, parts int) int {
	key = ReplaceInvalid(key)
	if !s.Given() {
		return reduceOf(hashString(key), parts)
	}
	if len(key) == 0 {
		return 0
	}
	var room [16]int
	lengths, h := s.lengths(room[:0], key), int32(0)
	for i := range s.list {
		begin, end, ok := s.span(key, lengths, &s.list[i])
		if !ok {
			continue
		}
		h = hashBytes(h, key[begin:max(begin, end)])
	}
	return reduceOf(h, parts)
}

// hashString returns the hash of valid UTF-8 text as Java's String.hashCode computes it, over
// UTF-16 code units.
func hashString(text []byte) int32 {
	h := int32(0)
	var room [2]uint16
	for _, r := range string(text) {
		for _, unit := range utf16.AppendRune(room[:0], r) {
			h = 31*h + int32(unit)
		}
	}
	return h
}

// BySlice returns the reduce of a key, from 0 to parts-1, as BinaryPartitioner does. It hashes
// the bytes from left to right, both included. A negative offset counts from the end. ok is
// false if the key is empty or a negative offset lies before it; Hadoop's task fails then.
func BySlice(key []byte, left, right, parts int) (part int, ok bool) {
	n := len(key)
	if n == 0 {
		return 0, false
	}
	// The remainder keeps the sign of its left side, in Go as in Java.
	from, to := (left+n)%n, (right+n)%n
	if from < 0 || to < 0 {
		return 0, false
	}
	return reduceOf(hashBytes(1, key[from:max(from, to+1)]), parts), true
}

// ReplaceInvalid returns text with U+FFFD in place of each invalid sequence of UTF-8, as a
// Java decoder replaces it. It returns text itself if that is valid, otherwise a new slice. An
// invalid sequence ends before the first byte that no valid one could have there. For Java a surrogate, encoded in
// three bytes, is one sequence.
func ReplaceInvalid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	out := make([]byte, 0, len(text)+8)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch isSurrogate := text[0] == 0xED && len(text) > 1 && text[1]&0xE0 == 0xA0; {
		case isSurrogate && len(text) > 2 && text[2]&0xC0 == 0x80:
			n = 3
		case isSurrogate:
			n = 2
		case r == utf8.RuneError && n == 1:
			for n < len(text) && !utf8.FullRune(text[:n+1]) {
				n++
			}
		}
		out = utf8.AppendRune(out, r)
		text = text[n:]
	}
	return out
}
