package record

import (
	"bytes"
	"sync"
)

// MostParts is the most partitions of a Divider, which keeps one byte for each entry.
const MostParts = 256

// Divider divides chunks of entries by partition. Only one goroutine may use it.
type Divider struct {
	ranges *Ranges                                 // chooses the cuts at the first Divide; nil: cuts or partOf is set already
	cuts   *cuts                                   // nil: partitions are not ranges of keys
	partOf func(a *Arena, ref uint64) (int, error) // returns the partition of a record; used if cuts is nil
	counts []int                                   // by partition; reused
	parts  int
	codes  [ChunkEntries]byte // the partition of each entry of a chunk
}

// NewDivider makes a Divider of parts partitions. If partOf is not nil, it gives the partition
// of a record. Otherwise partitions are ranges, and keys has the first key of each range but
// the first one, in ascending order.
func NewDivider(parts int, keys [][]byte, partOf func(a *Arena, ref uint64) (int, error)) *Divider {
	d := &Divider{parts: parts, partOf: partOf}
	if partOf == nil {
		d.cuts = newCuts(keys)
	}
	return d
}

// Divide groups entries by partition, in place. Within a partition they keep their order.
// Divide returns where each partition ends. It also moves each prefix to where the keys of its
// partition begin to differ (Unsorted.Depth).
//
// There are at most ChunkEntries entries, and scratch has room for as many. Divide fails if
// partOf fails; the entries then are as before.
//
// hot: moves every entry once.
func (d *Divider) Divide(a *Arena, entries, scratch []Entry) (ends []int, err error) {
	if d.ranges != nil && d.cuts == nil {
		d.cuts = d.ranges.of(a, entries)
		d.parts = len(d.cuts.depth)
	}
	codes := d.codes[:len(entries)]
	if d.cuts != nil {
		d.cuts.divide(codes, a, entries)
	} else {
		for i := range entries {
			p, err := d.partOf(a, entries[i].Ref)
			if err != nil {
				return nil, err
			}
			codes[i] = byte(p)
		}
	}
	at := append(d.counts[:0], make([]int, d.parts+1)...)
	for _, p := range codes {
		at[int(p)+1]++
	}
	ends = make([]int, d.parts)
	for p := range ends {
		at[p+1] += at[p]
		ends[p] = at[p+1]
	}
	for i, p := range codes {
		scratch[at[p]] = entries[i]
		at[p]++
	}
	copy(entries, scratch[:len(entries)])
	d.counts = at
	if d.cuts != nil {
		slice := Slice{Entries: entries, Ends: ends}
		for p := range ends {
			Deepen(a, slice.Part(p), d.cuts.depth[p])
		}
	}
	return ends, nil
}

// Restore sets the prefixes of divided entries back to those of whole keys. The entries keep
// their order.
func (d *Divider) Restore(s Slice) {
	for p := range s.Ends {
		d.cuts.restore(p, s.Part(p))
	}
}

// Unsorted is the state of a divided run: which partitions are not sorted yet, and where their
// prefixes begin. Any number of goroutines may use it. A nil *Unsorted stands for a sorted run;
// only Depth and RangeEnds accept it.
type Unsorted struct {
	mu     sync.RWMutex // write-locked while entries are sorted, read-locked while they are copied
	sorted []bool       // by partition
	cuts   *cuts

	// ranges is set only for a run whose single partition is divided by Ranges. It says
	// where the ranges end, by slice. cuts then has the cuts between ranges.
	ranges [][]int
}

// Unsorted returns the state of a run of which every partition is divided and none is sorted.
func (d *Divider) Unsorted() *Unsorted {
	return &Unsorted{sorted: make([]bool, d.parts), cuts: d.cuts}
}

// Depth returns the byte of the keys at which the prefixes of an unsorted partition begin.
func (u *Unsorted) Depth(part int) int {
	if u == nil || u.cuts == nil || u.ranges != nil {
		return 0
	}
	return u.cuts.depth[part]
}

// Sort sorts a partition in each of the run's slices and sets its prefixes back to those of
// whole keys. If the partition is sorted already, it does nothing. It sorts each range by
// itself; ranges follow one another in the order of keys.
func (u *Unsorted) Sort(part int, slices []Slice, sorter *Sorter) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sorted[part] {
		return
	}
	for i, slice := range slices {
		if u.ranges != nil {
			slice.Ends = u.ranges[i]
			for r, depth := range u.cuts.depth {
				sorter.Sort(slice.Part(r), depth)
				u.cuts.restore(r, slice.Part(r))
			}
			continue
		}
		e := slice.Part(part)
		sorter.Sort(e, u.Depth(part))
		u.cuts.restore(part, e)
	}
	u.sorted[part] = true
}

// List is a list of entries from one slice, for Gather.
type List struct {
	Entries  []Entry
	Unsorted *Unsorted // state of the run; nil: no other goroutine changes Entries
	Shift    uint64    // number that Gather adds to the refs (Arena.Append)
}

// Gather copies the entries of all lists to out. The lists belong to one partition, and their
// prefixes begin at byte depth of the keys. Gather distributes the entries to ranges by the
// highest bits in which prefixes differ, and returns where each range ends.
//
// If another goroutine has sorted a list meanwhile, its prefixes begin at byte 0. Gather then
// does nothing and returns false, unless depth is 0.
func Gather(out []Entry, lists []List, part, depth int) (ends []int, ok bool) {
	// Other goroutines must not sort the lists meanwhile. All goroutines lock runs in the order of the maps, so there
	// is no deadlock.
	eachUnsorted(lists, func(s *Unsorted) { s.mu.RLock() })
	defer eachUnsorted(lists, func(s *Unsorted) { s.mu.RUnlock() })
	for i := range lists {
		if s := lists[i].Unsorted; depth > 0 && s != nil && s.sorted[part] {
			return nil, false
		}
	}
	first, diff := lists[0].Entries[0].Prefix, uint64(0)
	for i := range lists {
		diff |= differing(lists[i].Entries, first)
	}
	digit := digitOf(diff, len(out))
	ends = make([]int, digit.buckets()+1)
	for i := range lists {
		digit.count(ends[1:], lists[i].Entries)
	}
	for b := range digit.buckets() {
		ends[b+1] += ends[b]
	}
	for i := range lists {
		digit.scatter(out, ends, lists[i].Entries, lists[i].Shift)
	}
	return ends[:digit.buckets()], true
}

// eachUnsorted calls do once for each run of lists. The lists of one run are neighbours.
func eachUnsorted(lists []List, do func(*Unsorted)) {
	var last *Unsorted
	for i := range lists {
		if s := lists[i].Unsorted; s != nil && s != last {
			do(s)
			last = s
		}
	}
}

// Deepen sets the prefixes of entries to the 8 bytes from depth on. Each key has at least depth
// bytes.
//
// hot: reads every key, while it is in the cache.
func Deepen(a *Arena, entries []Entry, depth int) {
	if depth == 0 {
		return
	}
	for i := range entries {
		entries[i].Prefix = PrefixOf(a.Key(entries[i].Ref)[depth:])
	}
}

// Ranges chooses ranges of keys by which the maps of a job divide the records of its only
// partition. The keys of a map are not known before it runs. So the first records of the first
// map are the sample. A bad sample makes ranges of unequal size; the result stays correct. The
// zero value is ready. Any number of goroutines may use it.
type Ranges struct {
	once sync.Once
	cuts *cuts
}

const (
	rangesWanted = MostParts

	// A cut needs no more bytes to divide well. The sample is taken from one chunk of entries.
	mostCutBytes = 256
	sampledKeys  = 4096
)

// of returns the cuts between ranges. The entries of the first call are the sample; later calls
// ignore theirs.
func (r *Ranges) of(a *Arena, entries []Entry) *cuts {
	r.once.Do(func() {
		var keys [][]byte
		for i := 0; i < len(entries); i += max(1, len(entries)/sampledKeys) {
			key := a.Key(entries[i].Ref)
			keys = append(keys, bytes.Clone(key[:min(len(key), mostCutBytes)]))
		}
		r.cuts = newCuts(CutPoints(keys, rangesWanted, false))
	})
	return r.cuts
}

// NewRangeDivider makes a Divider that divides the only partition of a job by r.
func NewRangeDivider(r *Ranges) *Divider { return &Divider{ranges: r} }

// Ranges reports whether the Divider divides one partition by ranges.
func (d *Divider) Ranges() bool { return d.ranges != nil }

// UnsortedRanges returns the state of a run that d has divided by ranges. ends are the results
// of Divide, by slice. The Unsorted keeps ends.
func (d *Divider) UnsortedRanges(ends [][]int) *Unsorted {
	return &Unsorted{sorted: make([]bool, 1), cuts: d.cuts, ranges: ends}
}

// RangeEnds returns where the ranges of a slice end; nil if the run is not divided by ranges.
func (u *Unsorted) RangeEnds(slice int) []int {
	if u == nil || u.ranges == nil {
		return nil
	}
	return u.ranges[slice]
}

// RangeDepths returns, for each range, the number of leading bytes that its keys have in
// common. As long as the range is not sorted, the prefixes begin behind them. The caller must
// not change the result.
func (u *Unsorted) RangeDepths() []int { return u.cuts.depth }

// Cut returns where each range ends in sorted entries.
func (u *Unsorted) Cut(a *Arena, sorted []Entry) (ends []int) {
	return CutEnds(u.cuts.root.keys, len(u.cuts.depth), a, sorted)
}

// Arrange moves the records of entries, so that they lie side by side in the order of entries.
// They must be the only records from address from to address last, and must be emitted records.
// room is scratch memory for a copy of all of them. Arrange returns the address behind the last
// record.
//
// Arrange does nothing and returns false if room is too short or if a record was not emitted.
// It does so too if the records do not fit in the same pieces in their new order.
//
// hot: copies each record twice, while it is in the cache.
func (a *Arena) Arrange(entries []Entry, from, last uint64, room []byte) (end uint64, ok bool) {
	for piece := from >> segBits; piece <= last>>segBits; piece++ {
		if piece >= uint64(len(a.pieces)) || len(a.pieces[piece]) != SegBytes {
			return 0, false
		}
	}
	var at int
	off := int(from & SegMask)
	piece := from >> segBits
	for i := range entries {
		ref := entries[i].Ref
		if ref&KindMask != CodeEmitted {
			return 0, false
		}
		p := a.At(ref >> CodeBits)
		n := emittedLength(p)
		if n > len(room)-at {
			return 0, false
		}
		at += copy(room[at:], p[:n])
		if off += n; off > SegBytes {
			off = n
			piece++
		}
	}
	if piece > last>>segBits { // in the new order, more bytes stay unused at the ends of pieces
		return 0, false
	}
	at = 0
	off = int(from & SegMask)
	piece = from >> segBits
	begun := 0 // where the records of the current piece begin in room
	for i := range entries {
		n := emittedLength(room[at:])
		if off+n > SegBytes {
			copy(a.pieces[piece][off-(at-begun):], room[begun:at])
			begun, off = at, 0
			piece++
		}
		ref := &entries[i].Ref
		*ref = (piece<<segBits+uint64(off))<<CodeBits | *ref&CodeMask
		off += n
		at += n
	}
	copy(a.pieces[piece][off-(at-begun):], room[begun:at])
	return piece<<segBits + uint64(off), true
}
