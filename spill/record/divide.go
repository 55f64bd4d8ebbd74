package record

import (
	"sync"
)

// MostParts is how many partitions a Divider can tell apart: one byte for each entry.
const MostParts = 256

// Divider divides chunks of entries by partition. One goroutine uses it.
type Divider struct {
	ranges *Ranges                                 // where cuts come from; nil: they are known, or not wanted
	cuts   *cuts                                   // nil: partitions are no ranges
	partOf func(a *Arena, ref uint64) (int, error) // the partition of a record, if cuts is nil
	counts []int
	parts  int
	codes  [ChunkEntries]byte // the partition of each entry of a chunk
}

// NewDivider makes a Divider of parts partitions: the ranges that begin with keys, which
// ascend, or, where partOf is not nil, what it returns.
func NewDivider(parts int, keys [][]byte, partOf func(a *Arena, ref uint64) (int, error)) *Divider {
	d := &Divider{parts: parts, partOf: partOf}
	if partOf == nil {
		d.cuts = newCuts(keys)
	}
	return d
}

// Divide puts the entries of each partition side by side, in their order, and returns
// where each partition ends. The prefixes then begin where the keys of the partition
// begin to differ (Unsorted.Depth). There are at most ChunkEntries entries, and scratch
// has room for as many. It fails where partOf does.
//
// hot: every entry moves once.
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

// Restore gives divided entries the prefixes of whole keys again.
func (d *Divider) Restore(s Slice) {
	for p := range s.Ends {
		d.cuts.restore(p, s.Part(p))
	}
}

// Unsorted says which partitions of a divided run are not sorted yet, and where their
// prefixes begin. Any number of goroutines may use it. The methods Depth and nothing
// else may be called on nil, which stands for a sorted run.
type Unsorted struct {
	mu    sync.RWMutex // held to write while entries are sorted, to read while they are copied
	parts []bool       // by partition: not sorted
	cuts  *cuts

	// Of a run whose only partition is divided by Ranges: by slice, where the ranges end. cuts are
	// those between ranges.
	ranges [][]int
}

// Unsorted returns the state of a run that was divided and nothing else.
func (d *Divider) Unsorted() *Unsorted {
	u := &Unsorted{parts: make([]bool, d.parts), cuts: d.cuts}
	for p := range u.parts {
		u.parts[p] = true
	}
	return u
}

// Depth returns where in the keys of an unsorted partition the prefixes begin, in bytes.
func (u *Unsorted) Depth(part int) int {
	if u == nil || u.cuts == nil || u.ranges != nil {
		return 0
	}
	return u.cuts.depth[part]
}

// Sort sorts a partition in each of the run's slices, and makes its prefixes those of
// whole keys, unless that was done before. Ranges are sorted each for itself, and follow one
// another in order.
func (u *Unsorted) Sort(part int, slices []Slice, sorter *Sorter) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.parts[part] {
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
	u.parts[part] = false
}

// List is the entries of one slice, to be gathered.
type List struct {
	Entries  []Entry
	Unsorted *Unsorted // of the run; nil: no other goroutine writes to Entries
	Shift    uint64    // what Gather adds to the refs (Arena.Append)
}

// Gather copies the entries of all lists, which belong to one partition and have prefixes
// that begin at depth, to out. It puts them in ranges by the highest bits in which
// prefixes differ, and returns where each range ends. If a list was sorted meanwhile, its
// prefixes are those of whole keys: Gather then reports false and has done nothing, unless
// depth is 0.
func Gather(out []Entry, lists []List, part, depth int) (ends []int, ok bool) {
	lock(lists)
	defer unlock(lists)
	for i := range lists {
		if s := lists[i].Unsorted; depth > 0 && s != nil && !s.parts[part] {
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

// lock keeps other goroutines from sorting the lists. Lists of one run are neighbours,
// and all goroutines lock runs in the order of the maps, so that there is no deadlock.
func lock(lists []List) { eachUnsorted(lists, func(s *Unsorted) { s.mu.RLock() }) }

func unlock(lists []List) { eachUnsorted(lists, func(s *Unsorted) { s.mu.RUnlock() }) }

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

// Deepen makes the prefixes of entries those of the bytes from depth on. All keys are at
// least depth bytes long.
//
// hot: a look at every key, while it is in the cache.
func Deepen(a *Arena, entries []Entry, depth int) {
	if depth == 0 {
		return
	}
	for i := range entries {
		entries[i].Prefix = PrefixOf(a.Key(entries[i].Ref)[depth:])
	}
}
