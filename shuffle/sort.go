package shuffle

import (
	"mrlocal/internal/membudget"
	"mrlocal/shuffle/record"
)

const (
	// wholeLeast: if all runs are sorted already and have fewer entries together, they are
	// merged and not sorted as one.
	wholeLeast = 4096

	// scratchEntries is the length of the scratch of a Sorter here. Longer parts are divided in
	// place.
	scratchEntries = 4096
)

// sortParts sorts partitions from..to-1 of the run, if the map has only divided them. It sorts
// each slice by itself. Several goroutines may call it; each partition is sorted once.
func (r *MemoryRun) sortParts(from, to int) {
	if r.Unsorted == nil {
		return
	}
	sorter := record.Sorter{Arena: &r.Arena, Scratch: make([]record.Entry, scratchEntries)}
	for p := from; p < to; p++ {
		r.Unsorted.Sort(p, r.Slices, &sorter)
	}
}

// sortParts sorts the merge's partition of each run in memory, so that the runs can be merged.
func (m *Merge) sortParts() {
	for _, p := range m.pinned {
		if p.memory != nil {
			p.memory.sortParts(m.o.Part, m.o.Part+1)
		}
	}
}

// sortWhole copies the entries of all runs, which must be in memory, and sorts the copy. One
// sorted run is then left to read (docs/adr/0010). If merging is faster, or there is no memory
// for the copy, it leaves the runs as they are and returns false. The memory of the runs stays
// until the merge is closed, even if the runs are evicted before.
func (m *Merge) sortWhole() bool {
	total, depth, unsorted := 0, 0, false
	for _, r := range m.runs {
		// Entries of a table refer to slots, whose layout differs from that of records.
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
	// Gather returns false if a run was evicted, or merged with runs on disk, meanwhile. Then
	// its prefixes are those of whole keys again.
	ends, ok := record.Gather(out, lists, m.o.Part, depth)
	if !ok {
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

// lists returns the entries of each run, with prefixes that all begin at byte depth of the key.
// It adds the memory of all runs to m.arena. If the prefixes of a run have to change, it works
// on a copy of its entries. It returns false if there is no memory for such a copy.
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

// entries takes memory for n entries until the merge is closed. It grows the lease by that
// much, because the floor of the attempt is left to the consumer. It returns false if the
// budget refuses.
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
