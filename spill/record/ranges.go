package record

import (
	"bytes"
	"slices"
	"sync"
)

// Ranges are ranges of keys by which the maps of a job divide the records of its only
// partition. The keys that a map makes are not known before it runs, so the first records of
// the first map are the sample. A bad sample makes ranges of unequal size and nothing
// worse. The zero value is ready, and any number of goroutines may use it.
type Ranges struct {
	once sync.Once
	cuts *cuts
}

const (
	rangesWanted = MostParts

	// A cut of so many bytes is as good as a longer one. The sample is a part of a chunk.
	mostCutBytes = 256
	sampledKeys  = 4096
)

// of returns the cuts between ranges. The entries of the first caller are the sample.
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

// NewRangeDivider makes a Divider of one partition that divides it by ranges.
func NewRangeDivider(r *Ranges) *Divider { return &Divider{ranges: r} }

// Ranges reports whether the Divider divides a partition by ranges.
func (d *Divider) Ranges() bool { return d.ranges != nil }

// UnsortedRanges returns the state of a run that a range divider has divided. ends is what
// Divide returned, by slice.
func (d *Divider) UnsortedRanges(ends [][]int) *Unsorted {
	return &Unsorted{parts: []bool{true}, cuts: d.cuts, ranges: ends}
}

// RangeEnds returns where the ranges of a slice end; nil: the run is not divided by ranges.
func (u *Unsorted) RangeEnds(slice int) []int {
	if u == nil || u.ranges == nil {
		return nil
	}
	return u.ranges[slice]
}

// RangeDepths returns, for each range, how many bytes its keys have in common. Prefixes begin
// behind them as long as the range is not sorted.
func (u *Unsorted) RangeDepths() []int { return u.cuts.depth }

// Cut returns where the ranges end in entries that are sorted.
func (u *Unsorted) Cut(a *Arena, sorted []Entry) (ends []int) {
	return CutEnds(u.cuts.root.keys, len(u.cuts.depth), a, sorted)
}

// Arrange moves the records of entries so that they lie in the order of entries, side by side.
// They must be all that lies in the memory from the address from to last. Arrange returns where
// they end then. room is scratch memory for a copy of all. Arrange
// does nothing and reports false if room is too short, or if the records do not fit in their new
// order. It does so too if one of them was not emitted.
//
// hot: each record is copied twice, while it is in the cache.
func (a *Arena) Arrange(entries []Entry, from, last uint64, room []byte) (end uint64, ok bool) {
	for piece := from >> segBits; piece <= last>>segBits; piece++ {
		if piece >= uint64(len(a.pieces)) || len(a.pieces[piece]) != SegBytes {
			return 0, false
		}
	}
	at, off, piece := 0, int(from&SegMask), from>>segBits
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
	if piece > last>>segBits { // records fill the pieces less well in the new order
		return 0, false
	}
	at, off, piece = 0, int(from&SegMask), from>>segBits
	begun := 0 // in room: what belongs to the piece
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

// CutPoints makes at most parts-1 ascending cut points of sampled keys, which it sorts. They
// are distinct, except with spread. A key with a share of several parts is then the cut point of
// all of them, and the next possible key follows it. source.CutsOf divides such a key among maps.
func CutPoints(keys [][]byte, parts int, spread bool) (cuts [][]byte) {
	slices.SortFunc(keys, bytes.Compare)
	cuts = [][]byte{}
	for i := 1; i < parts && len(keys) > 0; i++ {
		cut, share := keys[len(keys)*i/parts], 1
		for spread && i+1 < parts && bytes.Equal(keys[len(keys)*(i+1)/parts], cut) {
			i++
			share++
		}
		if share > 1 {
			cuts = append(cuts, slices.Repeat([][]byte{cut}, share-1)...)
			cuts = append(cuts, append(bytes.Clone(cut), 0))
			continue
		}
		if len(cuts) == 0 && bytes.Compare(cut, keys[0]) <= 0 {
			continue
		}
		if len(cuts) > 0 && bytes.Compare(cut, cuts[len(cuts)-1]) <= 0 {
			continue
		}
		cuts = append(cuts, cut)
	}
	return cuts
}
