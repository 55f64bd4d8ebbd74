package spill

import (
	"mrlocal/internal/membudget"
	"mrlocal/spill/late"
	"mrlocal/spill/run"
)

const (
	// wholeLeast: fewer entries are merged, if they are sorted already.
	wholeLeast = 4096

	// scratchEntries of a partition that is sorted in place.
	scratchEntries = 4096
)

func (b *Buffer) newDivider() *late.Divider {
	if !b.o.SortLate || b.mode != sortMode || b.o.Combiner != nil || b.o.Parts > late.MostParts {
		return nil
	}
	if b.part == nil {
		return late.NewDivider(b.o.Parts, b.o.Cuts, nil)
	}
	return late.NewDivider(b.o.Parts, nil, b.sorting.partOf)
}

// divide divides the index chunks that are filled and not divided yet.
func (b *Buffer) divide() {
	l := b.load
	for i := len(l.ends); i < len(l.full) && b.err == nil; i++ {
		ends, err := b.late.Divide(&l.arena, l.indexed(i), b.sorting.sorter.Scratch)
		if err != nil {
			b.fail(err)
			return
		}
		l.ends = append(l.ends, ends)
	}
}

// sortNow is where it shows that the load cannot be sorted late. It makes it
// one that was never divided, but for the order of entries.
func (b *Buffer) sortNow(l *load) {
	if b.late == nil {
		return
	}
	for i, ends := range l.ends {
		b.late.Restore(run.Slice{Entries: l.indexed(i), Ends: ends})
	}
	b.late, l.ends = nil, nil
}

// keepDivided makes the load the output's run in memory, unsorted, unless it
// is small enough to be copied.
func (b *Buffer) keepDivided(l *load) bool {
	if b.late == nil || len(b.out.mu.segments) > 0 || l.heldBytes < b.o.lateLeastBytes || l.empty() || b.err != nil {
		return false
	}
	if b.divide(); b.err != nil {
		return false
	}
	slices := make([]run.Slice, len(l.full))
	for i, ends := range l.ends {
		slices[i] = run.Slice{Entries: l.indexed(i), Ends: ends}
	}
	addStats(b.out.stats, &l.arena, slices)
	b.adopt(l, slices)
	b.out.mu.memory.late = b.late.State()
	return true
}

// sortParts sorts partitions from up to to of the run that are not sorted yet.
func (r *memoryRun) sortParts(from, to int) {
	if r.late == nil {
		return
	}
	sorter := run.Sorter{Arena: &r.arena, Scratch: make([]run.Entry, scratchEntries)}
	for p := from; p < to; p++ {
		r.late.Sort(p, r.slices, &sorter)
	}
}

// sortParts makes the runs in memory sorted ones, each for itself.
func (m *Merge) sortParts() {
	for _, p := range m.pinned {
		if p.memory != nil {
			p.memory.sortParts(m.o.Part, m.o.Part+1)
		}
	}
}

// sortWhole makes all runs, which are in memory, one sorted run of entries of
// its own. It reports false where that does not pay, or there is no memory for
// it. The runs' memory then stays until the merge is closed, even when it was
// written to disk meanwhile.
func (m *Merge) sortWhole() bool {
	total, depth, any := 0, 0, false
	for _, r := range m.runs {
		if r.held.slots {
			return false
		}
		total += len(r.entries)
		any = any || r.held.late != nil
		depth = max(depth, r.held.late.Depth(m.o.Part))
	}
	if !any && (len(m.runs) < 2 || total < wholeLeast) {
		return false
	}
	out, ok := m.entries(total)
	if !ok {
		return false
	}
	lists := make([]late.List, len(m.runs))
	for i, r := range m.runs {
		lists[i] = late.List{Entries: r.entries, State: r.held.late}
		if depth > 0 && r.held.late == nil {
			e, ok := m.entries(len(r.entries))
			if !ok {
				return false
			}
			copy(e, r.entries)
			late.Deepen(r.arena, e, depth)
			lists[i].Entries = e
		}
		if i > 0 && r.held == m.runs[i-1].held {
			lists[i].Shift = lists[i-1].Shift
		} else {
			lists[i].Shift = m.arena.Append(r.arena)
		}
	}
	s := sorting{lease: m.o.Lease, sorter: run.Sorter{Arena: &m.arena, Scratch: make([]run.Entry, scratchEntries)}}
	ends, ok := late.Gather(out, lists, m.o.Part, depth)
	if !ok { // one of them was evicted, or merged with too little memory
		m.sortParts()
		for i, r := range m.runs {
			lists[i].Entries = r.entries
		}
		depth = 0
		ends, _ = late.Gather(out, lists, m.o.Part, 0)
	}
	s.sortRanges(out, ends, depth)
	m.runs = append(m.runs[:0], mergeRun{entries: out, arena: &m.arena})
	return true
}

// entries is room for n of them until the merge is closed, beyond the floor,
// which is left to what the merge feeds.
func (m *Merge) entries(n int) ([]run.Entry, bool) {
	bytes := int64(n) * run.EntryBytes
	if m.o.Lease.Grow(bytes + membudget.ChunkBytes/64) {
		if big, ok := m.o.Lease.Big(bytes); ok {
			m.chunks = append(m.chunks, big)
			return run.EntriesOf(big, n), true
		}
	}
	return nil, false
}
