package runs

import (
	"mrlocal/internal/membudget"
	"mrlocal/spill/record"
)

const (
	// wholeLeast is the least number of entries that are sorted anew though all runs are sorted
	// already. Fewer entries are merged.
	wholeLeast = 4096

	// scratchEntries is the scratch of a sort whose entries are longer than it,
	// and which divides them in place.
	scratchEntries = 4096
)

// sortParts sorts partitions from to to-1 of the run, each slice for itself,
// where the map has only divided them.
func (r *MemoryRun) sortParts(from, to int) {
	if r.Unsorted == nil {
		return
	}
	sorter := record.Sorter{Arena: &r.Arena, Scratch: make([]record.Entry, scratchEntries)}
	for p := from; p < to; p++ {
		r.Unsorted.Sort(p, r.Slices, &sorter)
	}
}

// sortParts sorts the merge's partition of each run in memory, for a merge with
// runs on disk.
func (m *Merge) sortParts() {
	for _, p := range m.pinned {
		if p.memory != nil {
			p.memory.sortParts(m.o.Part, m.o.Part+1)
		}
	}
}

// sortWhole copies the entries of all runs, which must be in memory, and sorts
// them, so that one sorted run is left to read (docs/adr/0010). It reports
// false, and leaves the runs as they are, where merging is faster or where
// there is no memory for the copy. The memory of the runs then stays until the
// merge is closed, even if they are evicted meanwhile.
func (m *Merge) sortWhole() bool {
	total, depth, unsorted := 0, 0, false
	for _, r := range m.runs {
		// Entries of a table refer to slots, which have another layout than records.
		if r.held.InTable {
			return false
		}
		total += len(r.entries)
		unsorted = unsorted || r.held.Unsorted != nil
		// The prefixes of all runs must begin at the same byte of the key.
		depth = max(depth, r.held.Unsorted.Depth(m.o.Part))
	}
	if !unsorted && (len(m.runs) < 2 || total < wholeLeast) {
		return false
	}
	out, ok := m.entries(total)
	if !ok {
		return false
	}
	lists, ok := m.lists(depth)
	if !ok {
		return false
	}
	ends, ok := record.Gather(out, lists, m.o.Part, depth)
	if !ok { // a run was evicted, or merged with runs on disk, meanwhile: its prefixes are those of whole keys again
		m.sortParts()
		for i, r := range m.runs {
			lists[i].Entries = r.entries
		}
		depth = 0
		ends, _ = record.Gather(out, lists, m.o.Part, 0)
	}
	sorter := record.Sorter{Arena: &m.arena, Scratch: make([]record.Entry, scratchEntries)}
	sorter.SortRanges(out, ends, depth, m.o.Lease)
	m.runs = append(m.runs[:0], mergeRun{entries: out, arena: &m.arena})
	return true
}

// lists returns the entries of each run, all with prefixes that begin at depth,
// and gives m.arena the memory of all runs. It reports false where there is no
// memory for the entries of a run whose prefixes have to change.
func (m *Merge) lists(depth int) ([]record.List, bool) {
	lists := make([]record.List, len(m.runs))
	for i, r := range m.runs {
		lists[i] = record.List{Entries: r.entries, Unsorted: r.held.Unsorted}
		if depth > 0 && r.held.Unsorted == nil {
			e, ok := m.entries(len(r.entries))
			if !ok {
				return nil, false
			}
			copy(e, r.entries)
			record.Deepen(r.arena, e, depth)
			lists[i].Entries = e
		}
		if i > 0 && r.held == m.runs[i-1].held {
			lists[i].Shift = lists[i-1].Shift
		} else {
			lists[i].Shift = m.arena.Append(r.arena)
		}
	}
	return lists, true
}

// entries takes memory for n entries until the merge is closed. It grows the
// lease for them, because its floor is left to what the merge feeds.
func (m *Merge) entries(n int) ([]record.Entry, bool) {
	bytes := int64(n) * record.EntryBytes
	if m.o.Lease.Grow(bytes + membudget.ChunkBytes/64) {
		if big, ok := m.o.Lease.Big(bytes); ok {
			m.chunks = append(m.chunks, big)
			return record.EntriesIn(big.Data, n), true
		}
	}
	return nil, false
}
