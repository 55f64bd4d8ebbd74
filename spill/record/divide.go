package record

import (
	"sync"
)

// MostParts is what one byte an entry can tell apart.
const MostParts = 256

// Divider divides chunks of entries by partition.
type Divider struct {
	cuts   *cuts                                   // nil: partitions are no ranges
	partOf func(a *Arena, ref uint64) (int, error) // then
	counts []int
	parts  int
	codes  [ChunkEntries]byte
}

// NewDivider divides by range, or, where partOf is not nil, as that says.
func NewDivider(parts int, keys [][]byte, partOf func(a *Arena, ref uint64) (int, error)) *Divider {
	d := &Divider{parts: parts, partOf: partOf}
	if partOf == nil {
		d.cuts = newCuts(keys)
	}
	return d
}

// Divide puts the entries of each partition side by side, in their order, with
// prefixes from where the keys of the partition begin to differ. Entries are at
// most a chunk of them, scratch as many.
//
// hot: every entry moves once.
func (d *Divider) Divide(a *Arena, entries, scratch []Entry) (ends []int, err error) {
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

// Unsorted is what of a divided run is not sorted yet. Any number of goroutines
// may use it.
type Unsorted struct {
	mu       sync.RWMutex // held while entries are sorted; to read, while they are copied
	unsorted []bool       // by partition
	cuts     *cuts
}

// Unsorted of a run that was divided and nothing else.
func (d *Divider) Unsorted() *Unsorted {
	s := &Unsorted{unsorted: make([]bool, d.parts), cuts: d.cuts}
	for p := range s.unsorted {
		s.unsorted[p] = true
	}
	return s
}

// Depth is where the prefixes of a partition begin that is not sorted.
func (s *Unsorted) Depth(part int) int {
	if s == nil || s.cuts == nil {
		return 0
	}
	return s.cuts.depth[part]
}

// Sort sorts a partition in each of the run's slices, with prefixes of whole
// keys, unless that was done before.
func (s *Unsorted) Sort(part int, slices []Slice, sorter *Sorter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.unsorted[part] {
		return
	}
	for _, slice := range slices {
		e := slice.Part(part)
		sorter.Sort(e, s.Depth(part))
		s.cuts.restore(part, e)
	}
	s.unsorted[part] = false
}

// List is a part of what is gathered.
type List struct {
	Entries  []Entry
	Unsorted *Unsorted // nil: nobody else writes to Entries
	Shift    uint64    // moves addresses behind those of the lists before
}

// Gather copies the entries of all lists, which are of one partition, to out, in
// ranges by the highest bits in which prefixes differ, and returns where each
// range ends. It reports false, and has done nothing, where a list whose
// prefixes should begin at depth was sorted meanwhile: then they are whole keys'.
func Gather(out []Entry, lists []List, part, depth int) (ends []int, ok bool) {
	lock(lists)
	defer unlock(lists)
	for i := range lists {
		if s := lists[i].Unsorted; depth > 0 && s != nil && !s.unsorted[part] {
			return nil, false
		}
	}
	first, diff := lists[0].Entries[0].Prefix, uint64(0)
	for i := range lists {
		diff |= Differing(lists[i].Entries, first)
	}
	digit := DigitOf(diff, len(out))
	ends = make([]int, digit.Buckets()+1)
	for i := range lists {
		digit.Count(ends[1:], lists[i].Entries)
	}
	for b := range digit.Buckets() {
		ends[b+1] += ends[b]
	}
	for i := range lists {
		digit.Scatter(out, ends, lists[i].Entries, lists[i].Shift)
	}
	return ends[:digit.Buckets()], true
}

// lock keeps others from sorting the lists. Lists of one run are neighbours, and
// everybody has runs in the order of maps, so that nobody waits in a circle.
func lock(lists []List) { eachUnsorted(lists, func(s *Unsorted) { s.mu.RLock() }) }

func unlock(lists []List) { eachUnsorted(lists, func(s *Unsorted) { s.mu.RUnlock() }) }

func eachUnsorted(lists []List, do func(*Unsorted)) {
	var last *Unsorted
	for i := range lists {
		if s := lists[i].Unsorted; s != nil && s != last {
			do(s)
			last = s
		}
	}
}

// Deepen makes prefixes those of the keys' bytes from depth on, which all keys
// reach.
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
