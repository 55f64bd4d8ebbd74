package spill

import (
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle/record"
)

// load holds the records that a buffer has collected since its last spill. It owns its chunks,
// which are charged to the lease of the buffer. The goroutine of the buffer fills it. rotate
// hands the whole load to a spill.
type load struct {
	arena   record.Arena
	chunks  []*membudget.Chunk // records, blocks that were taken, the table
	index   []*membudget.Chunk // entries
	full    [][]record.Entry   // the entries in index: record.ChunkEntries each, fewer in the last one
	entries int                // in all of index; Buffer.countEntries brings it up to date
	ends    [][]int            // for each index chunk that is divided, where its partitions end
	table   table
	records int64 // before combining

	heldBytes int64 // chunks taken to collect; sorting may take more
}

func (l *load) empty() bool { return l.entries == 0 && l.table.keys == 0 }

// slim reports whether the load has fewer than two chunks. Any load needs two: one of records
// and one of entries.
func (l *load) slim() bool { return len(l.chunks)+len(l.index) < 2 }

// indexed returns the entries of the i-th index chunk.
func (l *load) indexed(i int) []record.Entry {
	return l.full[i][:min(record.ChunkEntries, l.entries-i*record.ChunkEntries)]
}

// sorting turns loads into sorted slices. Its memory is scratch, a chunk that the buffer keeps,
// and the memory that room adds to the lease. A buffer and its spill use it in turn.
type sorting struct {
	parts   int
	cuts    [][]byte                        // Options.Cuts
	part    func(key []byte, parts int) int // of a record that was taken; nil: one partition, or cuts
	lease   *membudget.Lease
	sorter  record.Sorter
	scratch *membudget.Chunk
	counts  []int // by partition; reused

	grownBytes int64 // by which room has grown the lease

	// Bytes of all records of the table sorted last, and of the longest one, as copies.
	slotBytes, longestSlot int
	touched                byte // keeps the compiler from removing the reads that warm the cache
}

// sort sorts a load and returns its slices in the order of arrival. If the lease has memory for
// all entries side by side, they become one slice, and the index chunks are freed. Otherwise
// each index chunk is sorted in place and becomes a slice, and readers merge the slices. The
// slices refer to memory of the load. sort fails if the partitioner returns a number out of
// range.
func (s *sorting) sort(l *load) (_ []record.Slice, err error) {
	s.sorter.Arena = &l.arena
	if l.table.keys > 0 {
		return s.sortTable(l)
	}
	if len(l.index) > 1 {
		if big, ok := s.room(l.entries); ok {
			slice, err := s.gather(l, record.EntriesIn(big.Data, l.entries))
			s.freeIndex(l)
			l.index = append(l.index, big)
			return []record.Slice{slice}, err
		}
	}
	slices := make([]record.Slice, len(l.index))
	for i := range l.index {
		if slices[i], err = s.inPlace(&l.arena, l.indexed(i)); err != nil {
			return nil, err
		}
	}
	return slices, nil
}

// room takes contiguous memory for n entries, if the budget has it free. It may grow the lease;
// giveBack undoes that.
func (s *sorting) room(n int) (*membudget.Chunk, bool) {
	c, grown, ok := s.lease.Take(int64(n) * record.EntryBytes)
	s.grownBytes += grown
	return c, ok
}

// freeIndex frees the index chunks of l. The caller has copied their entries.
func (s *sorting) freeIndex(l *load) {
	for _, c := range l.index {
		s.lease.Free(c)
	}
	l.index, l.full = nil, nil
}

// giveBack shrinks the lease by what room added. The caller has freed the load before.
func (s *sorting) giveBack() {
	s.lease.Shrink(s.grownBytes)
	s.grownBytes = 0
}

// inPlace sorts e, which must not be longer than the scratch. Partitions that are ranges of
// keys are found in the sorted order. Otherwise it distributes the entries by partition first,
// and then sorts each partition.
func (s *sorting) inPlace(a *record.Arena, e []record.Entry) (record.Slice, error) {
	if s.part == nil {
		s.sorter.Sort(e, 0)
		return record.Slice{Entries: e, Ends: record.CutEnds(s.cuts, s.parts, a, e)}, nil
	}
	out := s.sorter.Scratch[:len(e)]
	ends, err := s.distribute(a, out, []record.List{{Entries: e}})
	if err != nil {
		return record.Slice{}, err
	}
	copy(e, out)
	slice := record.Slice{Entries: e, Ends: ends}
	for p := range ends {
		s.sorter.Sort(slice.Part(p), 0)
	}
	return slice, nil
}

// distribute copies the entries of all lists to out, by partition, and returns where each partition ends.
// Within a partition they keep their order.
func (s *sorting) distribute(a *record.Arena, out []record.Entry, lists []record.List) (ends []int, err error) {
	s.counts = append(s.counts[:0], make([]int, s.parts+1)...)
	for _, list := range lists {
		for i := range list.Entries {
			p, err := s.partOf(a, list.Entries[i].Ref)
			if err != nil {
				return nil, err
			}
			s.counts[p+1]++
		}
	}
	ends = make([]int, s.parts)
	for p := range ends {
		s.counts[p+1] += s.counts[p]
		ends[p] = s.counts[p+1]
	}
	for _, list := range lists {
		for _, e := range list.Entries {
			p, _ := s.partOf(a, e.Ref) // the first loop has checked the range
			out[s.counts[p]] = e
			s.counts[p]++
		}
	}
	return ends, nil
}

// gather copies all entries of the load to out and sorts them. While it copies, it distributes
// the entries by partition. Without a partitioner it distributes them by the highest bits in
// which their prefixes differ.
func (s *sorting) gather(l *load, out []record.Entry) (record.Slice, error) {
	lists := make([]record.List, len(l.index))
	for i := range lists {
		lists[i].Entries = l.indexed(i)
	}
	if s.part != nil {
		ends, err := s.distribute(&l.arena, out, lists)
		if err == nil {
			s.sorter.SortRanges(out, ends, 0, s.lease)
		}
		return record.Slice{Entries: out, Ends: ends}, err
	}
	ends, _ := record.Gather(out, lists, 0, 0)
	s.sorter.SortRanges(out, ends, 0, s.lease)
	return record.Slice{Entries: out, Ends: record.CutEnds(s.cuts, s.parts, &l.arena, out)}, nil
}

// sortTable makes entries for the slots of the table and sorts them. If there is memory for all
// entries, it returns one slice. Otherwise it returns a slice for each chunk of the table; its
// entries lie in the third of the chunk that no slot uses. Keys cannot be looked up in the
// table afterwards.
func (s *sorting) sortTable(l *load) (slices []record.Slice, err error) {
	l.arena.Sums = l.table.sums
	s.slotBytes, s.longestSlot = 0, 0
	total := int(l.table.keys)
	if big, ok := s.room(total); ok {
		out := record.EntriesIn(big.Data, total)
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

// spread sorts entries of any number, in memory that room took.
func (s *sorting) spread(a *record.Arena, e []record.Entry) (record.Slice, error) {
	if len(e) <= len(s.sorter.Scratch) {
		return s.inPlace(a, e)
	}
	if s.part == nil {
		s.sorter.SortRanges(e, []int{len(e)}, 0, s.lease)
		return record.Slice{Entries: e, Ends: record.CutEnds(s.cuts, s.parts, a, e)}, nil
	}
	ends := make([]int, s.parts)
	s.byPart(a, e, 0, s.parts, 0, ends)
	s.sorter.SortRanges(e, ends, 0, s.lease)
	return record.Slice{Entries: e, Ends: ends}, nil
}

// byPart divides e, whose entries belong to partitions lo to hi-1, by partition. It works in
// place and by halves, so it needs no memory. e begins at index at of the whole slice. byPart
// sets ends[p], the index in the whole slice where partition p ends.
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

// slotEntries writes to out the entries of the first len(out) slots of c, which are compacted.
// It also adds up the bytes of their records (slotBytes) and finds the longest one. It fails if
// the partitioner returns a number out of range.
func (s *sorting) slotEntries(a *record.Arena, c *tableChunk, out []record.Entry) error {
	for i := range out {
		slot := c.slots[i*slotBytes : (i+1)*slotBytes]
		if i%slotsAhead == 0 {
			s.touchKeys(a, c, i, len(out))
		}
		key := a.SlotKey(slot)
		part := 0
		if s.part != nil {
			if part = s.part(key, s.parts); part < 0 || part >= s.parts {
				return partError(part, s.parts)
			}
		}
		n := record.EmittedBytes(key, a.SlotValue(slot))
		s.slotBytes += n
		s.longestSlot = max(s.longestSlot, n)
		ref := (c.base+uint64(i)*slotBytes)<<record.CodeBits | (record.CodeSlot + uint64(part))
		if a.Sums && len(key) > inlineKey {
			ref = a.EndSum(slot, n)<<record.CodeBits | (record.CodeEmitted + uint64(part))
		}
		out[i] = record.Entry{Prefix: record.PrefixOf(key), Ref: ref}
	}
	return nil
}

// slotsAhead is the number of slots whose keys are read in a row, so that their cache misses
// overlap.
const slotsAhead = 32

// touchKeys reads a byte of the key of slotsAhead slots, from i on. c has n slots in use.
func (s *sorting) touchKeys(a *record.Arena, c *tableChunk, i, n int) {
	for end := min(i+slotsAhead, n); i < end; i++ {
		s.touched += a.TouchSlotKey(c.slots[i*slotBytes:])
	}
}

// partOf returns the partition of the record at ref. The code of an emitted record or of a slot
// holds it. For a taken record it calls the partitioner, and fails if the number is out of
// range.
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
	return jobs.Mistakef("partition %d of %d: out of range", p, parts)
}

// newDivider returns the Divider for a buffer whose records the reduces sort
// (Options.SortLate). It returns nil if the buffer has to sort them itself.
func (b *Buffer) newDivider() *record.Divider {
	if !b.o.SortLate || b.mode != sortMode || b.o.Combiner != nil || b.o.Parts > record.MostParts {
		return nil
	}
	if b.o.Ranges != nil && b.o.Parts == 1 {
		return record.NewRangeDivider(b.o.Ranges)
	}
	if b.part == nil {
		return record.NewDivider(b.o.Parts, b.o.Cuts, nil)
	}
	return record.NewDivider(b.o.Parts, nil, b.sorting.partOf)
}

// divide divides the index chunks that are full but not yet divided; at the end also the last
// one. Their records are then still in the cache.
func (b *Buffer) divide() {
	l := b.load
	for i := len(l.ends); i < len(l.full) && b.err == nil; i++ {
		// Divide needs a scratch of as many entries as a chunk has. NewBuffer took that much.
		first := l.indexed(i)[0].Ref >> record.CodeBits
		var ends []int
		err := b.dividing(func() (err error) {
			ends, err = b.divider.Divide(&l.arena, l.indexed(i), b.sorting.sorter.Scratch)
			return err
		})
		if err != nil {
			b.fail(err)
			return
		}
		if l.ends = append(l.ends, ends); b.divider.Ranges() && len(l.ends) == len(l.full) && b.data != nil {
			b.arrange(l.indexed(i), first)
		}
	}
}

// arrange copies the records of the index chunk that was divided last into the order of their
// ranges. first is the address of its first record. The reduce, which sorts range by range,
// then finds many records of a range side by side. Without memory arrange does nothing.
func (b *Buffer) arrange(entries []record.Entry, first uint64) {
	if b.arranging == nil {
		if !b.lease.Grow(arrangeBytes) {
			return
		}
		var ok bool
		if b.arranging, ok = b.lease.Big(arrangeBytes); !ok {
			return
		}
	}
	// In the new order the records may take fewer bytes. The next records then begin behind
	// them.
	if end, ok := b.load.arena.Arrange(entries, first, b.dataAddr+uint64(b.off), b.arranging.Data); ok {
		b.off = int(max(end, b.dataAddr) - b.dataAddr)
	}
}

// stopDividing is called when this buffer has to sort the load after all. Divided entries get
// the prefixes of their whole keys again; they stay in the order of the partitions. From then
// on the buffer sorts all loads.
func (b *Buffer) stopDividing(l *load) {
	if b.divider == nil {
		return
	}
	for i, ends := range l.ends {
		b.divider.Restore(record.Slice{Entries: l.indexed(i), Ends: ends})
	}
	b.divider, l.ends = nil, nil
}

// keepDivided makes the load the run in memory of the output, unsorted. It returns false if the
// load has to be sorted here. That is so without a divider, after an error, and if a part of
// the output is on disk. It is also so if the load is so small that shrunk may copy it.
func (b *Buffer) keepDivided(l *load) bool {
	if b.divider == nil || b.out.OnDisk() || l.heldBytes < b.o.lateLeastBytes || l.empty() || b.err != nil {
		return false
	}
	if b.divide(); b.err != nil {
		return false
	}
	slices := make([]record.Slice, len(l.full))
	for i, ends := range l.ends {
		slices[i] = record.Slice{Entries: l.indexed(i), Ends: ends}
	}
	unsorted := b.divider.Unsorted()
	if b.divider.Ranges() {
		unsorted = b.divider.UnsortedRanges(l.ends)
		for i := range slices {
			slices[i].Ends = []int{len(slices[i].Entries)}
		}
	}
	b.adopt(l, slices, record.CountParts(&l.arena, slices, b.o.Parts), unsorted)
	return true
}
