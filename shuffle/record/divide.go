package record

import "sync"

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
