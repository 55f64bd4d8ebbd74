package spill

import (
	"fmt"
	"sort"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

// load is what a buffer collected since its last spill.
type load struct {
	arena   arena
	chunks  []*membudget.Chunk // records, blocks taken, the table
	index   []*membudget.Chunk // of entries
	full    [][]entry          // what lies in index: chunkEntries each, the last one fewer
	entries int
	table   table
	records int64 // as they were emitted

	heldBytes int64 // chunks that collecting took
}

func (l *load) empty() bool { return l.entries == 0 && l.table.keys == 0 }

// slim says that the load has not the two chunks that any needs.
func (l *load) slim() bool { return len(l.chunks)+len(l.index) < 2 }

// indexed is the entries of the i-th index chunk.
func (l *load) indexed(i int) []entry {
	return l.full[i][:min(chunkEntries, l.entries-i*chunkEntries)]
}

// sorting turns loads into sorted slices.
type sorting struct {
	parts   int
	cuts    [][]byte
	byHash  bool                            // hash partitions that the table's hash tells
	part    func(key []byte, parts int) int // of a taken record; nil: one part, or cuts
	lease   *membudget.Lease
	sorter  sorter
	scratch *membudget.Chunk
	counts  []int

	grownBytes int64 // granted to room
}

// sort sorts a load. With memory for all entries side by side the result is
// one slice, and the chunks of the index are free; without, each chunk becomes
// a slice, in place.
func (s *sorting) sort(l *load) ([]sortedSlice, error) {
	s.sorter.arena = &l.arena
	if l.table.keys > 0 {
		return s.sortTable(l)
	}
	if len(l.index) > 1 {
		if big, ok := s.room(l.entries); ok {
			slice, err := s.gather(l, entriesOf(big, l.entries))
			s.freeIndex(l)
			l.index = append(l.index, big)
			return []sortedSlice{slice}, err
		}
	}
	slices := make([]sortedSlice, len(l.index))
	for i := range l.index {
		var err error
		if slices[i], err = s.inPlace(&l.arena, l.indexed(i)); err != nil {
			return nil, err
		}
	}
	return slices, nil
}

// room is contiguous memory for n entries, if the budget has it free.
func (s *sorting) room(n int) (*membudget.Chunk, bool) {
	bytes := int64(n) * entryBytes
	if big, ok := s.lease.Big(bytes); ok {
		return big, true
	}
	more := bytes + membudget.ChunkBytes/64
	if !s.lease.Grow(more) {
		return nil, false
	}
	s.grownBytes += more
	return s.lease.Big(bytes)
}

// freeIndex gives back the index chunks after their entries were gathered.
func (s *sorting) freeIndex(l *load) {
	for _, c := range l.index {
		s.lease.Free(c)
	}
	l.index, l.full = nil, nil
}

// giveBack ends what room was granted, when the load is written and freed.
func (s *sorting) giveBack() {
	s.lease.Shrink(s.grownBytes)
	s.grownBytes = 0
}

// inPlace sorts entries that fit the scratch, first by partition where the
// order of keys does not tell it.
func (s *sorting) inPlace(a *arena, e []entry) (sortedSlice, error) {
	if s.part == nil {
		s.sorter.sort(e, 0)
		return sortedSlice{e, s.cut(a, e)}, nil
	}
	s.counts = append(s.counts[:0], make([]int, s.parts+1)...)
	for i := range e {
		p, err := s.partOf(a, e[i].ref)
		if err != nil {
			return sortedSlice{}, err
		}
		s.counts[p+1]++
	}
	ends := s.sums()
	out := s.sorter.scratch[:len(e)]
	for i := range e {
		p, _ := s.partOf(a, e[i].ref) // was in range above
		out[s.counts[p]] = e[i]
		s.counts[p]++
	}
	copy(e, out)
	slice := sortedSlice{e, ends}
	for p := range ends {
		s.sorter.sort(slice.part(p), 0)
	}
	return slice, nil
}

// sums turns counts, shifted by one, into where each partition begins, and
// returns where each ends.
func (s *sorting) sums() (ends []int) {
	ends = make([]int, s.parts)
	for p := range ends {
		s.counts[p+1] += s.counts[p]
		ends[p] = s.counts[p+1]
	}
	return ends
}

// gather sorts all entries of the load into out: a first distribution by
// partition, or by the highest bits in which prefixes differ, on the way.
func (s *sorting) gather(l *load, out []entry) (sortedSlice, error) {
	if s.part != nil {
		return s.gatherParts(l, out)
	}
	first, diff := l.full[0][0].prefix, uint64(0)
	for i := range l.index {
		for _, e := range l.indexed(i) {
			diff |= e.prefix ^ first
		}
	}
	digit := digitOf(diff, l.entries)
	s.counts = append(s.counts[:0], make([]int, digit.buckets()+1)...)
	for i := range l.index {
		digit.count(s.counts[1:], l.indexed(i))
	}
	for b := range digit.buckets() {
		s.counts[b+1] += s.counts[b]
	}
	for i := range l.index {
		digit.scatter(out, s.counts, l.indexed(i))
	}
	s.sortRanges(out, s.counts[:digit.buckets()])
	return sortedSlice{out, s.cut(&l.arena, out)}, nil
}

// sortRanges sorts the ranges that end at ends, each for itself. With scratch
// as long as the longest of them nothing has to be divided in place, which is
// faster; it is borrowed if the budget has it free.
func (s *sorting) sortRanges(e []entry, ends []int) {
	longest, start := 0, 0
	for _, end := range ends {
		longest, start = max(longest, end-start), end
	}
	if longest > len(s.sorter.scratch) {
		if big, ok := s.room(longest); ok {
			own := s.sorter.scratch
			s.sorter.scratch = entriesOf(big, longest)
			defer func() {
				s.sorter.scratch = own
				s.lease.Free(big)
			}()
		}
	}
	start = 0
	for _, end := range ends {
		if end-start > 1 {
			s.sorter.sort(e[start:end], 0)
		}
		start = end
	}
}

func (s *sorting) gatherParts(l *load, out []entry) (sortedSlice, error) {
	s.counts = append(s.counts[:0], make([]int, s.parts+1)...)
	for i := range l.index {
		for _, e := range l.indexed(i) {
			p, err := s.partOf(&l.arena, e.ref)
			if err != nil {
				return sortedSlice{}, err
			}
			s.counts[p+1]++
		}
	}
	slice := sortedSlice{out, s.sums()}
	for i := range l.index {
		for _, e := range l.indexed(i) {
			p, _ := s.partOf(&l.arena, e.ref) // was in range above
			out[s.counts[p]] = e
			s.counts[p]++
		}
	}
	s.sortRanges(out, slice.ends)
	return slice, nil
}

// sortTable drains the table: into one slice where there is memory for its
// entries, else each chunk into its own unused third.
func (s *sorting) sortTable(l *load) ([]sortedSlice, error) {
	l.arena.sums = l.table.sums
	total := int(l.table.keys)
	if big, ok := s.room(total); ok {
		out := entriesOf(big, total)
		n := 0
		for _, c := range l.table.chunks {
			used := c.compact()
			if err := s.slotEntries(&l.arena, c, out[n:n+used]); err != nil {
				return nil, err
			}
			n += used
		}
		l.chunks = append(l.chunks, big)
		slice, err := s.spread(&l.arena, out)
		return []sortedSlice{slice}, err
	}
	var slices []sortedSlice
	for _, c := range l.table.chunks {
		used := c.compact()
		out := entriesIn(c.slots[used*slotBytes:], used)
		if err := s.slotEntries(&l.arena, c, out); err != nil {
			return nil, err
		}
		slice, err := s.inPlace(&l.arena, out)
		if err != nil {
			return nil, err
		}
		slices = append(slices, slice)
	}
	return slices, nil
}

// spread sorts entries that may be more than the scratch.
func (s *sorting) spread(a *arena, e []entry) (sortedSlice, error) {
	if len(e) <= len(s.sorter.scratch) {
		return s.inPlace(a, e)
	}
	if s.part == nil {
		s.sortRanges(e, []int{len(e)})
		return sortedSlice{e, s.cut(a, e)}, nil
	}
	// The partitions are ranges of what partOf says: an order to sort by.
	ends := make([]int, s.parts)
	s.byPart(a, e, 0, s.parts, 0, ends)
	s.sortRanges(e, ends)
	return sortedSlice{e, ends}, nil
}

// byPart divides entries of the partitions from lo to hi, in place, by halves.
func (s *sorting) byPart(a *arena, e []entry, lo, hi, at int, ends []int) {
	if hi-lo == 1 {
		ends[lo] = at + len(e)
		return
	}
	mid := (lo + hi) / 2
	i, j := 0, len(e)
	for i < j {
		if p, _ := s.partOf(a, e[i].ref); p < mid {
			i++
		} else {
			j--
			e[i], e[j] = e[j], e[i]
		}
	}
	s.byPart(a, e[:i], lo, mid, at, ends)
	s.byPart(a, e[i:], mid, hi, at+i, ends)
}

// slotEntries makes entries for the compacted slots of c.
func (s *sorting) slotEntries(a *arena, c *tableChunk, out []entry) error {
	for i := range out {
		slot := c.slots[i*slotBytes : (i+1)*slotBytes]
		key := a.slotKey(slot)
		part := 0
		switch {
		case s.part == nil:
		case s.byHash:
			part = partOfHash(uint32(c.meta(uint32(i))), s.parts)
		default:
			if part = s.part(key, s.parts); part < 0 || part >= s.parts {
				return partError(part, s.parts)
			}
		}
		addr := c.base + uint64(i)*slotBytes
		out[i] = entry{prefixOf(key), addr<<codeBits | (codeSlot + uint64(part))}
	}
	return nil
}

// partOf is the partition of the record at ref.
func (s *sorting) partOf(a *arena, ref uint64) (int, error) {
	if code := ref & codeMask; code >= codeSlot {
		return int(code &^ kindMask), nil
	}
	p := s.part(a.key(ref), s.parts)
	if p < 0 || p >= s.parts {
		return 0, partError(p, s.parts)
	}
	return p, nil
}

func partError(p, parts int) error {
	return fmt.Errorf("partition %d of %d: out of range", p, parts)
}

// cut finds the partitions of sorted entries.
func (s *sorting) cut(a *arena, e []entry) (ends []int) {
	ends = make([]int, s.parts)
	from := 0
	for p, cut := range s.cuts {
		prefix := prefixOf(cut)
		from += sort.Search(len(e)-from, func(i int) bool {
			x := e[from+i]
			return x.prefix > prefix || x.prefix == prefix && string(a.key(x.ref)) >= string(cut)
		})
		ends[p] = from
	}
	ends[s.parts-1] = len(e)
	return ends
}

// combineInto runs a combiner over the groups of m. It may emit only the key
// it was given.
func combineInto(m *merger, combiner jobs.Reducer, out *combined) error {
	for m.nextGroup() {
		out.key = m.key
		if err := combiner.Reduce(m.key, &m.values, out); err != nil {
			return fmt.Errorf("combiner: %w", err)
		}
		if out.err != nil {
			return out.err
		}
	}
	return m.tree.err
}

// combined is the Emitter of a combiner.
type combined struct {
	add     func(key, value []byte)
	key     []byte
	records int64
	err     error
}

func (c *combined) Emit(key, value []byte) {
	if string(key) != string(c.key) {
		if c.err == nil {
			c.err = fmt.Errorf("combiner: emitted a key other than the one it was given")
		}
		return
	}
	c.records++
	c.add(key, value)
}
