package spill

import (
	"fmt"

	"mrlocal/internal/membudget"
	"mrlocal/spill/record"
)

// load is what a buffer collected since its last spill.
type load struct {
	arena   record.Arena
	chunks  []*membudget.Chunk // records, blocks taken, the table
	index   []*membudget.Chunk // of entries
	full    [][]record.Entry   // what lies in index: chunkEntries each, the last one fewer
	entries int
	ends    [][]int // of the partitions of index chunks that are divided already
	table   table
	records int64 // as they were emitted

	heldBytes int64 // chunks that collecting took
}

func (l *load) empty() bool { return l.entries == 0 && l.table.keys == 0 }

// slim says that the load has not the two chunks that any needs.
func (l *load) slim() bool { return len(l.chunks)+len(l.index) < 2 }

// indexed is the entries of the i-th index chunk.
func (l *load) indexed(i int) []record.Entry {
	return l.full[i][:min(record.ChunkEntries, l.entries-i*record.ChunkEntries)]
}

// sorting turns loads into sorted slices.
type sorting struct {
	parts   int
	cuts    [][]byte
	byHash  bool                            // hash partitions that the table's hash tells
	part    func(key []byte, parts int) int // of a taken record; nil: one part, or cuts
	lease   *membudget.Lease
	sorter  record.Sorter
	scratch *membudget.Chunk
	counts  []int

	grownBytes int64 // granted to room

	// Of the table sorted last: what its records take when they are copied.
	slotBytes, longestSlot int
}

// sort sorts a load. With memory for all entries side by side the result is
// one slice, and the chunks of the index are free; without, each chunk becomes
// a slice, in place.
func (s *sorting) sort(l *load) ([]record.Slice, error) {
	s.sorter.Arena = &l.arena
	if l.table.keys > 0 {
		return s.sortTable(l)
	}
	if len(l.index) > 1 {
		if big, ok := s.room(l.entries); ok {
			slice, err := s.gather(l, record.EntriesOf(big, l.entries))
			s.freeIndex(l)
			l.index = append(l.index, big)
			return []record.Slice{slice}, err
		}
	}
	slices := make([]record.Slice, len(l.index))
	for i := range l.index {
		var err error
		if slices[i], err = s.inPlace(&l.arena, l.indexed(i)); err != nil {
			return nil, err
		}
	}
	return slices, nil
}

// room takes contiguous memory for n entries, if the budget has it free.
func (s *sorting) room(n int) (*membudget.Chunk, bool) {
	c, grown, ok := record.Take(s.lease, n)
	s.grownBytes += grown
	return c, ok
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
func (s *sorting) inPlace(a *record.Arena, e []record.Entry) (record.Slice, error) {
	if s.part == nil {
		s.sorter.Sort(e, 0)
		return record.Slice{Entries: e, Ends: record.CutEnds(s.cuts, s.parts, a, e)}, nil
	}
	s.counts = append(s.counts[:0], make([]int, s.parts+1)...)
	for i := range e {
		p, err := s.partOf(a, e[i].Ref)
		if err != nil {
			return record.Slice{}, err
		}
		s.counts[p+1]++
	}
	ends := s.sums()
	out := s.sorter.Scratch[:len(e)]
	for i := range e {
		p, _ := s.partOf(a, e[i].Ref) // was in range above
		out[s.counts[p]] = e[i]
		s.counts[p]++
	}
	copy(e, out)
	slice := record.Slice{Entries: e, Ends: ends}
	for p := range ends {
		s.sorter.Sort(slice.Part(p), 0)
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
func (s *sorting) gather(l *load, out []record.Entry) (record.Slice, error) {
	if s.part != nil {
		return s.gatherParts(l, out)
	}
	lists := make([]record.List, len(l.index))
	for i := range lists {
		lists[i].Entries = l.indexed(i)
	}
	ends, _ := record.Gather(out, lists, 0, 0)
	s.sorter.SortRanges(out, ends, 0, s.lease)
	return record.Slice{Entries: out, Ends: record.CutEnds(s.cuts, s.parts, &l.arena, out)}, nil
}

func (s *sorting) gatherParts(l *load, out []record.Entry) (record.Slice, error) {
	s.counts = append(s.counts[:0], make([]int, s.parts+1)...)
	for i := range l.index {
		for _, e := range l.indexed(i) {
			p, err := s.partOf(&l.arena, e.Ref)
			if err != nil {
				return record.Slice{}, err
			}
			s.counts[p+1]++
		}
	}
	slice := record.Slice{Entries: out, Ends: s.sums()}
	for i := range l.index {
		for _, e := range l.indexed(i) {
			p, _ := s.partOf(&l.arena, e.Ref) // was in range above
			out[s.counts[p]] = e
			s.counts[p]++
		}
	}
	s.sorter.SortRanges(out, slice.Ends, 0, s.lease)
	return slice, nil
}

// sortTable drains the table: into one slice where there is memory for its
// entries, else each chunk into its own unused third.
func (s *sorting) sortTable(l *load) ([]record.Slice, error) {
	l.arena.Sums = l.table.sums
	s.slotBytes, s.longestSlot = 0, 0
	total := int(l.table.keys)
	if big, ok := s.room(total); ok {
		out := record.EntriesOf(big, total)
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
		return []record.Slice{slice}, err
	}
	var slices []record.Slice
	for _, c := range l.table.chunks {
		used := c.compact()
		out := record.EntriesIn(c.slots[used*slotBytes:], used)
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
func (s *sorting) spread(a *record.Arena, e []record.Entry) (record.Slice, error) {
	if len(e) <= len(s.sorter.Scratch) {
		return s.inPlace(a, e)
	}
	if s.part == nil {
		s.sorter.SortRanges(e, []int{len(e)}, 0, s.lease)
		return record.Slice{Entries: e, Ends: record.CutEnds(s.cuts, s.parts, a, e)}, nil
	}
	// The partitions are ranges of what partOf says: an order to sort by.
	ends := make([]int, s.parts)
	s.byPart(a, e, 0, s.parts, 0, ends)
	s.sorter.SortRanges(e, ends, 0, s.lease)
	return record.Slice{Entries: e, Ends: ends}, nil
}

// byPart divides entries of the partitions from lo to hi, in place, by halves.
func (s *sorting) byPart(a *record.Arena, e []record.Entry, lo, hi, at int, ends []int) {
	if hi-lo == 1 {
		ends[lo] = at + len(e)
		return
	}
	mid := (lo + hi) / 2
	i, j := 0, len(e)
	for i < j {
		if p, _ := s.partOf(a, e[i].Ref); p < mid {
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
func (s *sorting) slotEntries(a *record.Arena, c *tableChunk, out []record.Entry) error {
	for i := range out {
		slot := c.slots[i*slotBytes : (i+1)*slotBytes]
		key := a.SlotKey(slot)
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
		n := record.EmittedBytes(key, a.SlotValue(slot))
		s.slotBytes += n
		s.longestSlot = max(s.longestSlot, n)
		addr := c.base + uint64(i)*slotBytes
		out[i] = record.Entry{Prefix: record.PrefixOf(key), Ref: addr<<record.CodeBits | (record.CodeSlot + uint64(part))}
	}
	return nil
}

// partOf is the partition of the record at ref.
func (s *sorting) partOf(a *record.Arena, ref uint64) (int, error) {
	if code := ref & record.CodeMask; code >= record.CodeSlot {
		return int(code &^ record.KindMask), nil
	}
	p := s.part(a.Key(ref), s.parts)
	if p < 0 || p >= s.parts {
		return 0, partError(p, s.parts)
	}
	return p, nil
}

func partError(p, parts int) error {
	return fmt.Errorf("partition %d of %d: out of range", p, parts)
}
