package streaming

import (
	"bytes"
	"encoding/binary"

	"mrlocal/jobs"
)

// Hadoop leaves open in which order records with equal keys come, but what it does is
// the same in each run of one map: it sorts the records of a map, last record first, with
// a quicksort that is not stable (MapOutputBuffer, QuickSort). A small job looks as
// if the order were a rule. So strict jobs of little input come in that order: a map
// keeps its output, sorts it so, and numbers the records; turn orders the maps.

// exactBytes is the most input of a job whose equal keys come as Hadoop has them.
const exactBytes = 1 << 20

// paired reports whether values hold the key too, because the key of the engine is an
// encoding.
func (w *Work) paired() bool { return w.order != nil || w.exact }

// held is a record that waits to be sorted. It owns its bytes.
type held struct {
	key, value []byte
	place      []byte // the reduce, then the key as it sorts
}

// exactly collects the records of a map. flush emits them in Hadoop's order.
func (r *runner) exactly(out jobs.Emitter) (emit func(key, value []byte), flush func()) {
	var all []held
	emit = func(key, value []byte) {
		h := held{key: bytes.Clone(key), value: bytes.Clone(value)}
		h.place = r.work.place(nil, key)
		all = append(all, h)
	}
	flush = func() {
		// The kvbuffer of Hadoop's map fills its index from the end, so the last record comes
		// first.
		for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
			all[i], all[j] = all[j], all[i]
		}
		quicksort(all, 0, len(all))
		for i := range all {
			r.emitPaired(out, all[i].place, all[i].key, all[i].value)
		}
	}
	return emit, flush
}

// place appends what a record sorts by: its reduce, and its key in the order of the
// job, with an end that no key goes beyond.
func (w *Work) place(dst, key []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(w.partition(key, w.Reducers)))
	if w.order != nil {
		return w.order.Append(dst, key)
	}
	// A zero byte gets 0xff behind it and two zeros end the key, so a key sorts before the longer
	// keys that begin with it.
	for _, c := range key {
		if dst = append(dst, c); c == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 0)
}

// emitPaired emits a record whose value holds the key. Exact jobs number the records.
func (r *runner) emitPaired(out jobs.Emitter, place, key, value []byte) {
	r.key = append(r.key[:0], place...)
	if r.work.exact {
		r.emitted++
		// The numbers follow the key: they decide among equal keys alone.
		first, second := turn(r.attempt.Task), uint64(r.emitted)
		switch r.work.o.ValueOrder {
		case Reversed:
			first, second = ^uint32(r.attempt.Task), ^second
		case Shuffled:
			mixed := mix(uint64(r.attempt.Task)<<40 ^ second)
			first, second = uint32(mixed>>32), mixed
		}
		r.key = binary.BigEndian.AppendUint32(r.key, first)
		r.key = binary.BigEndian.AppendUint64(r.key, second)
	}
	r.value = binary.AppendUvarint(r.value[:0], uint64(len(key)))
	r.value = append(append(r.value, key...), value...)
	out.Emit(r.key, r.value)
}

// mix is the last step of SplitMix64: it gives each number another one, as if at random.
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// turn returns when the records of a map come among equals: those of map 0 first, then
// those of the last map, and down to map 1. That is the way out of a heap of runs whose
// next keys are all equal (Merger.MergeQueue). Where they were not always equal,
// Hadoop's order may differ.
func turn(task int) uint32 {
	if task == 0 {
		return 0
	}
	return ^uint32(task)
}

// quicksort sorts all[p:r] by place, step by step as Hadoop's QuickSort does, so that
// equal records end up where they end up there. Its change to a heap sort, after very
// unlucky divisions, is left out.
func quicksort(all []held, p, r int) {
	compare := func(i, j int) int { return bytes.Compare(all[i].place, all[j].place) }
	swap := func(i, j int) { all[i], all[j] = all[j], all[i] }
	fix := func(i, j int) {
		if compare(i, j) > 0 {
			swap(i, j)
		}
	}
	for r-p >= 13 {
		fix((p+r)/2, p)
		fix((p+r)/2, r-1)
		fix(p, r-1)
		i, j, low, high := p, r, p, r // all[p] is the pivot; up to low and from high on are its equals
		for {
			for i++; i < j; i++ {
				c := compare(i, p)
				if c > 0 {
					break
				}
				if c == 0 {
					if low++; low != i {
						swap(low, i)
					}
				}
			}
			for j--; j > i; j-- {
				c := compare(p, j)
				if c > 0 {
					break
				}
				if c == 0 {
					if high--; high != j {
						swap(high, j)
					}
				}
			}
			if i >= j {
				break
			}
			swap(i, j)
		}
		for j = i; low >= p; low-- { // the equals go to the middle
			i--
			swap(low, i)
		}
		for ; high < r; high++ {
			swap(high, j)
			j++
		}
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
