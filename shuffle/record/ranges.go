package record

import (
	"bytes"
	"sync"
)

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
