package spill

import (
	"sync"

	"mrlocal/internal/membudget"
	"mrlocal/spill/run"
)

// Sorting late. Where the whole job fits in memory, a map only divides its
// entries by partition, and the reduce sorts all of its partition at once:
//
//	map 0   [ 0 | 1 | 2 ]
//	map 1   [ 0 | 1 | 2 ]   --reduce 1-->   [ 1 1 1 ] sorted
//	map 2   [ 0 | 1 | 2 ]
//
// Sorting costs the same in one place as in the other, and the merge of many
// sorted runs, which for text costs more than sorting, is not needed at all. A
// run that has to leave memory after all, or that is merged with runs on disk,
// is sorted then, partition by partition.

const (
	// lateParts is what one byte an entry can tell apart.
	lateParts = 256

	// wholeLeast: fewer entries are merged, if they are sorted already.
	wholeLeast = 4096

	// scratchEntries of a partition that is sorted in place.
	scratchEntries = 4096
)

// divideLate divides what was collected last by partition, unsorted. It
// reports false where the load is better sorted now: a combiner or a table
// wants it, it is small enough to be copied, or there is no memory.
func (b *Buffer) divideLate(l *load) (run.Slice, bool, error) {
	if !b.o.SortLate || b.mode != sortMode || b.o.Parts > lateParts || l.heldBytes <= shrinkHeldMax || len(b.out.mu.segments) > 0 {
		return run.Slice{}, false, nil
	}
	s := &b.sorting
	codes, ok := s.room((l.entries + run.EntryBytes - 1) / run.EntryBytes)
	if !ok {
		return run.Slice{}, false, nil
	}
	defer b.lease.Free(codes)
	big, ok := s.room(l.entries)
	if !ok {
		return run.Slice{}, false, nil
	}
	s.sorter.Arena = &l.arena
	slice, err := s.divide(l, codes.Data, run.EntriesOf(big, l.entries))
	s.freeIndex(l)
	l.index = append(l.index, big)
	return slice, true, err
}

// divide puts the entries of each partition side by side, in their order.
//
// hot:
func (s *sorting) divide(l *load, codes []byte, out []run.Entry) (run.Slice, error) {
	s.counts = append(s.counts[:0], make([]int, s.parts+1)...)
	cuts := run.NewCuts(s.cuts)
	n := 0
	for i := range l.index {
		entries := l.indexed(i)
		part := codes[n : n+len(entries)]
		n += len(entries)
		if s.part == nil {
			cuts.Parts(part, &l.arena, entries)
		} else {
			for j := range entries {
				p, err := s.partOf(&l.arena, entries[j].Ref)
				if err != nil {
					return run.Slice{}, err
				}
				part[j] = byte(p)
			}
		}
		for _, p := range part {
			s.counts[int(p)+1]++
		}
	}
	slice := run.Slice{Entries: out, Ends: s.sums()}
	n = 0
	for i := range l.index {
		entries := l.indexed(i)
		part := codes[n : n+len(entries)]
		n += len(entries)
		for j, p := range part {
			at := &s.counts[p]
			out[*at] = entries[j]
			*at++
		}
	}
	return slice, nil
}

// lateSorted is what is not sorted yet of a run in memory.
type lateSorted struct {
	mu       sync.Mutex // held while entries are copied or sorted
	unsorted []bool     // by partition; nil: all are sorted
}

// sortPart sorts partition p of the run, unless that was done before.
func (r *memoryRun) sortPart(p int, sorter *run.Sorter) {
	if r.late == nil {
		return
	}
	r.late.mu.Lock()
	defer r.late.mu.Unlock()
	if !r.late.unsorted[p] {
		return
	}
	sorter.Arena = &r.arena
	for _, s := range r.slices {
		sorter.Sort(s.Part(p), 0)
	}
	r.late.unsorted[p] = false
}

// sortAll sorts what is not sorted yet.
func (r *memoryRun) sortAll() {
	if r.late == nil {
		return
	}
	sorter := run.Sorter{Scratch: make([]run.Entry, scratchEntries)}
	for p := range r.late.unsorted {
		r.sortPart(p, &sorter)
	}
}

// sortHere sorts this partition of the runs that are to be merged as they are.
func (m *Merge) sortHere() {
	var sorter run.Sorter
	for _, p := range m.pinned {
		if p.memory != nil && p.memory.late != nil {
			if sorter.Scratch == nil {
				sorter.Scratch = make([]run.Entry, scratchEntries)
			}
			p.memory.sortPart(m.o.Part, &sorter)
		}
	}
}

// sortWhole makes all runs, which are in memory, one sorted run of entries of
// its own. It reports false where that does not pay, or there is no memory for
// it. The runs' memory then stays until the merge is closed, even when it was
// written to disk meanwhile.
func (m *Merge) sortWhole() bool {
	total, late := 0, false
	for _, r := range m.runs {
		if r.held.arena.Sums || r.held.slots {
			return false
		}
		total += len(r.entries)
		late = late || r.held.late != nil
	}
	if len(m.runs) < 2 && !late || total < wholeLeast && !late {
		return false
	}
	s := sorting{parts: 1, lease: m.o.Lease}
	scratch, err := m.chunk(outputChunks)
	if err != nil {
		return false
	}
	defer m.drop(scratch)
	big, ok := s.room(total)
	if !ok {
		return false
	}
	m.chunks = append(m.chunks, big)
	from := make([]entryList, len(m.runs))
	for i, r := range m.runs {
		from[i] = entryList{entries: r.entries, late: r.held.late, shift: m.arena.Append(r.arena)}
	}
	s.sorter = run.Sorter{Arena: &m.arena, Scratch: run.EntriesOf(scratch, run.ChunkEntries)}
	out := run.EntriesOf(big, total)
	s.gatherLists(out, from)
	m.runs = append(m.runs[:0], mergeRun{entries: out, arena: &m.arena})
	return true
}

// drop frees a chunk that the merge took.
func (m *Merge) drop(c *membudget.Chunk) {
	for i := range m.chunks {
		if m.chunks[i] == c {
			m.chunks = append(m.chunks[:i], m.chunks[i+1:]...)
			break
		}
	}
	m.o.Lease.Free(c)
}

// entryList is a part of what is gathered. shift moves its addresses behind
// those of the lists before it.
type entryList struct {
	entries []run.Entry
	late    *lateSorted // nil: nobody else writes to entries
	shift   uint64
}

// each calls do with the entries of every list, while nobody sorts them.
func each(lists []entryList, do func(e []run.Entry, shift uint64)) {
	for i := range lists {
		l := &lists[i]
		if l.late != nil {
			l.late.mu.Lock()
		}
		do(l.entries, l.shift)
		if l.late != nil {
			l.late.mu.Unlock()
		}
	}
}

// gatherLists sorts the entries of all lists into out: a first distribution by
// the highest bits in which prefixes differ, on the way.
func (s *sorting) gatherLists(out []run.Entry, lists []entryList) {
	first, diff := lists[0].entries[0].Prefix, uint64(0)
	each(lists, func(e []run.Entry, _ uint64) { diff |= run.Differing(e, first) })
	digit := run.DigitOf(diff, len(out))
	s.counts = append(s.counts[:0], make([]int, digit.Buckets()+1)...)
	each(lists, func(e []run.Entry, _ uint64) { digit.Count(s.counts[1:], e) })
	for b := range digit.Buckets() {
		s.counts[b+1] += s.counts[b]
	}
	each(lists, func(e []run.Entry, shift uint64) { digit.Scatter(out, s.counts, e, shift) })
	s.sortRanges(out, s.counts[:digit.Buckets()])
}
