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

// dividing divides the index of a load, chunk by chunk, while its records are
// in the cache: entries of one partition side by side, in their order, with
// prefixes from where the keys of the partition begin to differ.
type dividing struct {
	cuts  *run.Cuts // nil: partitions are no ranges
	parts [run.ChunkEntries]byte
}

func (b *Buffer) newDividing() *dividing {
	if !b.o.SortLate || b.mode != sortMode || b.o.Combiner != nil || b.o.Parts > lateParts {
		return nil
	}
	d := &dividing{}
	if b.part == nil {
		d.cuts = run.NewCuts(b.o.Cuts)
	}
	return d
}

// divide divides the index chunks that are filled and not divided yet.
//
// hot:
func (b *Buffer) divide() {
	s, l := &b.sorting, b.load
	for i := len(l.ends); i < len(l.full) && b.err == nil; i++ {
		entries := l.indexed(i)
		part := b.late.parts[:len(entries)]
		if b.late.cuts != nil {
			b.late.cuts.Parts(part, &l.arena, entries)
		} else {
			for j := range entries {
				p, err := s.partOf(&l.arena, entries[j].Ref)
				if err != nil {
					b.fail(err)
					return
				}
				part[j] = byte(p)
			}
		}
		s.counts = append(s.counts[:0], make([]int, s.parts+1)...)
		for _, p := range part {
			s.counts[int(p)+1]++
		}
		slice := run.Slice{Entries: entries, Ends: s.sums()}
		out := s.sorter.Scratch[:len(entries)]
		for j, p := range part {
			at := &s.counts[p]
			out[*at] = entries[j]
			*at++
		}
		copy(entries, out)
		if b.late.cuts != nil {
			for p := range s.parts {
				run.Deepen(&l.arena, slice.Part(p), b.late.cuts.Depth(p))
			}
		}
		l.ends = append(l.ends, slice.Ends)
	}
}

// sortNow is where it shows that the load cannot be sorted late.
func (b *Buffer) sortNow(l *load) {
	if b.late != nil {
		l.undivide(b.late.cuts)
		b.late = nil
	}
}

// undivide makes the load one that was never divided, but for the order of
// entries: what has to be sorted now is sorted by whole keys.
func (l *load) undivide(cuts *run.Cuts) {
	if cuts == nil {
		l.ends = nil
	}
	for i, ends := range l.ends {
		slice := run.Slice{Entries: l.indexed(i), Ends: ends}
		for p := range ends {
			cuts.Restore(p, slice.Part(p))
		}
	}
	l.ends = nil
}

// keepDivided makes the load the output's run in memory, unsorted, unless it
// is small enough to be copied.
func (b *Buffer) keepDivided(l *load) bool {
	if b.late == nil || len(b.out.mu.segments) > 0 || l.heldBytes < b.o.lateLeastBytes || l.empty() || b.err != nil {
		return false
	}
	b.divide()
	slices := make([]run.Slice, len(l.full))
	for i, ends := range l.ends {
		slices[i] = run.Slice{Entries: l.indexed(i), Ends: ends}
	}
	late := &lateSorted{unsorted: make([]bool, b.o.Parts), cuts: b.late.cuts}
	for p := range late.unsorted {
		late.unsorted[p] = true
	}
	addStats(b.out.stats, &l.arena, slices)
	b.adopt(l, slices)
	b.out.mu.memory.late = late
	return true
}

// lateSorted is what is not sorted yet of a run in memory.
type lateSorted struct {
	mu       sync.Mutex // held while entries are copied or sorted
	unsorted []bool     // by partition
	cuts     *run.Cuts  // nil: partitions are no ranges
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
		e := s.Part(p)
		if r.late.cuts == nil {
			sorter.Sort(e, 0)
			continue
		}
		sorter.Sort(e, r.late.cuts.Depth(p))
		r.late.cuts.Restore(p, e)
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
	depth := m.depth()
	for i, r := range m.runs {
		from[i] = entryList{entries: r.entries, late: r.held.late}
		if depth > 0 && r.held.late == nil && !m.deepen(&from[i], r.arena, depth, &s) {
			return false
		}
		if i > 0 && r.held == m.runs[i-1].held {
			from[i].shift = from[i-1].shift
		} else {
			from[i].shift = m.arena.Append(r.arena)
		}
	}
	s.sorter = run.Sorter{Arena: &m.arena, Scratch: run.EntriesOf(scratch, run.ChunkEntries)}
	out := run.EntriesOf(big, total)
	s.gatherLists(out, from, depth)
	m.runs = append(m.runs[:0], mergeRun{entries: out, arena: &m.arena})
	return true
}

// depth is where the prefixes of runs that are not sorted yet begin.
func (m *Merge) depth() int {
	for _, r := range m.runs {
		if r.held.late != nil && r.held.late.cuts != nil {
			return r.held.late.cuts.Depth(m.o.Part)
		}
	}
	return 0
}

// deepen makes list a copy with prefixes from depth on.
func (m *Merge) deepen(list *entryList, a *run.Arena, depth int, s *sorting) bool {
	big, ok := s.room(len(list.entries))
	if !ok {
		return false
	}
	m.chunks = append(m.chunks, big)
	e := run.EntriesOf(big, len(list.entries))
	copy(e, list.entries)
	run.Deepen(a, e, depth)
	list.entries = e
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
// Prefixes begin at depth.
func (s *sorting) gatherLists(out []run.Entry, lists []entryList, depth int) {
	first, diff := lists[0].entries[0].Prefix, uint64(0)
	each(lists, func(e []run.Entry, _ uint64) { diff |= run.Differing(e, first) })
	digit := run.DigitOf(diff, len(out))
	s.counts = append(s.counts[:0], make([]int, digit.Buckets()+1)...)
	each(lists, func(e []run.Entry, _ uint64) { digit.Count(s.counts[1:], e) })
	for b := range digit.Buckets() {
		s.counts[b+1] += s.counts[b]
	}
	each(lists, func(e []run.Entry, shift uint64) { digit.Scatter(out, s.counts, e, shift) })
	s.sortRanges(out, s.counts[:digit.Buckets()], depth)
}
