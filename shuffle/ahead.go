package shuffle

import (
	"slices"
	"sync"

	"mrlocal/internal/membudget"
	"mrlocal/shuffle/record"
)

// ahead sorts a partition range by range (record.Ranges). It sorts each range of all runs
// together, while the merge reads the ranges before it. The reader sorts a range itself if the
// range is not sorted yet when it is needed. Helpers on idle cores sort the ranges after it.
//
//	range   0      1      2        3        4
//	        read   read   sorted   sorted   not begun      rooms: 4
//	               ^ the reader    ^ a helper
//
// The entries of a range lie in one of several rooms, which are used in turn. The records stay
// in the runs. Only the reader's goroutine calls next and stop.
type ahead struct {
	m      *Merge
	runs   []rangedRun
	ranges []int            // numbers of the ranges that have records
	total  []int            // entries of each range in ranges
	depths []int            // of all ranges: the byte of the key at which prefixes begin
	rooms  [][]record.Entry // each as long as the longest range
	own    record.Sorter    // of the reader's goroutine

	mu struct {
		sync.Mutex
		begun   int    // ranges that are sorted or being sorted, counted from the first
		read    int    // ranges that were read; the room of each is free
		sorted  []bool // by index in ranges
		helpers int    // helpers that are running
		stopped bool
	}
	changed sync.Cond // uses mu; signals that a range is sorted or that a helper has ended
}

// rangedRun is a run in memory that is divided by ranges.
type rangedRun struct {
	whole record.Slice // its partitions are the ranges
	deep  record.Slice // the same entries, with prefixes that begin where the keys of a range differ
	held  *MemoryRun   // nil: the run was sorted by its map, and no other goroutine changes its entries
	shift uint64       // added to the addresses of its arena for their place in the arena of the merge
}

// mostRooms bounds the rooms. As many let a helper sort while the reader reads.
const mostRooms = 8

// sortTogether replaces the runs by one run that ahead sorts while it is read. It sorts by the ranges by which maps
// have divided their records, else all records as one range (docs/adr/0010). It returns false if the runs are to be
// merged instead. All runs must be in memory. It stays until the merge is closed, even if runs are evicted before.
func (m *Merge) sortTogether() bool {
	for _, r := range m.runs {
		if u := r.held.Unsorted; r.ranges != nil {
			return m.sortAhead(u.RangeDepths(), u.Cut)
		}
	}
	depth, ok := m.wholeDepth()
	return ok && m.sortAhead([]int{depth}, func(_ *record.Arena, e []record.Entry) []int { return []int{len(e)} })
}

// wholeDepth returns the byte of the key at which all prefixes begin if the runs are sorted as one range. It
// returns false if they cannot be, or if merging is faster.
func (m *Merge) wholeDepth() (depth int, ok bool) {
	total, unsorted := 0, false
	for _, r := range m.runs {
		// Entries of a table refer to slots, whose layout differs from that of records.
		if r.held.InTable {
			return 0, false
		}
		total += len(r.entries)
		unsorted = unsorted || r.held.Unsorted != nil
		depth = max(depth, r.held.Unsorted.Depth(m.o.Part))
	}
	return depth, unsorted || len(m.runs) > 1 && total >= wholeLeast
}

// sortAhead begins to sort range by range. The prefixes of a range begin at its byte in depths. cut returns where the
// ranges end in sorted entries. If there is no memory, sortAhead leaves m.runs as they are and returns false; Close
// frees what it took.
func (m *Merge) sortAhead(depths []int, cut func(a *record.Arena, sorted []record.Entry) []int) bool {
	a := &ahead{m: m, depths: depths}
	a.changed.L = &a.mu
	sizes := make([]int, len(a.depths))
	for i, r := range m.runs {
		run := rangedRun{whole: record.Slice{Entries: r.entries, Ends: r.ranges}}
		if r.ranges == nil {
			run.whole.Ends = cut(r.arena, r.entries)
		}
		run.deep = run.whole
		if r.held.Unsorted != nil {
			run.held = r.held
		} else if slices.Max(a.depths) > 0 { // a run that was sorted at once, with prefixes of whole keys
			e, ok := m.entries(len(r.entries))
			if !ok {
				m.arena = record.Arena{}
				return false
			}
			copy(e, r.entries)
			run.deep.Entries = e
			for p, depth := range a.depths {
				record.Deepen(r.arena, run.deep.Part(p), depth)
			}
		}
		for p := range sizes {
			sizes[p] += len(run.whole.Part(p))
		}
		if i > 0 && r.held == m.runs[i-1].held {
			run.shift = a.runs[i-1].shift
		} else { // the first slice of its MemoryRun
			run.shift = m.arena.Append(r.arena)
		}
		a.runs = append(a.runs, run)
	}
	if !a.makeRooms(sizes) {
		m.arena = record.Arena{}
		return false
	}
	a.own = a.sorter()
	m.ahead = a
	m.runs = append(m.runs[:0], mergeRun{entries: a.next(), arena: &m.arena, ahead: a})
	return true
}

// makeRooms takes the memory for ranges of these numbers of entries. The rooms together have at
// most as many entries as the runs. It returns false if the lease has no memory.
func (a *ahead) makeRooms(sizes []int) bool {
	longest, all := 0, 0
	for p, n := range sizes {
		if n > 0 {
			a.ranges, a.total = append(a.ranges, p), append(a.total, n)
			longest, all = max(longest, n), all+n
		}
	}
	a.mu.sorted = make([]bool, len(a.ranges))
	a.mu.read = -1 // next adds 1, also before the first range
	n := min(all/longest, mostRooms)
	e, ok := a.m.entries(n * longest)
	for ; ok && n > 0; n-- {
		a.rooms = append(a.rooms, e[:longest])
		e = e[longest:]
	}
	return ok
}

// sorter makes a Sorter for one goroutine.
func (a *ahead) sorter() record.Sorter {
	return record.Sorter{Arena: &a.m.arena, Scratch: make([]record.Entry, scratchEntries)}
}

// next frees the room of the range that was read, and returns the entries of the next range,
// sorted. It returns nil at the end. The entries are valid until the next call.
func (a *ahead) next() []record.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.read++
	at := a.mu.read
	if at == len(a.ranges) {
		return nil
	}
	for !a.mu.sorted[at] {
		i, ok := a.begin()
		a.help()
		if !ok {
			a.changed.Wait()
			continue
		}
		a.mu.Unlock()
		a.sort(i, &a.own)
		a.mu.Lock()
		a.mu.sorted[i] = true
	}
	a.help()
	return a.room(at)
}

// begin chooses the next range to sort and returns its index in ranges. It returns false if
// there is none, or no free room for it. The caller holds a.mu.
func (a *ahead) begin() (at int, ok bool) {
	if at = a.mu.begun; a.mu.stopped || at == len(a.ranges) || at == a.mu.read+len(a.rooms) {
		return 0, false
	}
	a.mu.begun++
	return at, true
}

// help starts helpers on idle cores, at most one for each range that may be begun. The caller
// holds a.mu.
func (a *ahead) help() {
	may := min(len(a.ranges), a.mu.read+len(a.rooms)) - a.mu.begun
	for a.m.o.OnIdleCore != nil && !a.mu.stopped && a.mu.helpers < may && a.m.o.OnIdleCore(a.helper) {
		a.mu.helpers++
	}
}

// helper sorts ranges while there are any and its core is idle. It runs on a goroutine of
// MergeOptions.OnIdleCore.
func (a *ahead) helper(idle func() bool) {
	s := a.sorter()
	a.mu.Lock()
	defer a.mu.Unlock()
	for more := true; more; more = idle() {
		i, ok := a.begin()
		if !ok {
			break
		}
		a.mu.Unlock()
		a.sort(i, &s)
		a.mu.Lock()
		a.mu.sorted[i] = true
		a.changed.Broadcast()
	}
	a.mu.helpers--
	a.changed.Broadcast()
}

// stop waits until no helper runs, so that the memory may be freed. It does nothing if a is
// nil.
func (a *ahead) stop() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.stopped = true
	for a.mu.helpers > 0 {
		a.changed.Wait()
	}
}

// room returns the room for the entries of ranges[i].
func (a *ahead) room(i int) []record.Entry { return a.rooms[i%len(a.rooms)][:a.total[i]] }

// sort gathers the entries of ranges[i] from all runs and sorts them in their room.
func (a *ahead) sort(i int, s *record.Sorter) {
	out, p := a.room(i), a.ranges[i]
	depth := a.depths[p]
	ends, ok := record.Gather(out, a.lists(p, true), a.m.o.Part, depth)
	if !ok { // a run was evicted meanwhile: its prefixes are those of whole keys again
		a.m.sortParts()
		depth = 0
		ends, _ = record.Gather(out, a.lists(p, false), a.m.o.Part, 0)
	}
	s.SortRanges(out, ends, depth, a.m.o.Lease)
}

// lists returns the entries of range p in each run. With deep, all prefixes begin at the depth
// of the range. Otherwise the prefixes of sorted runs are those of whole keys.
func (a *ahead) lists(p int, deep bool) (lists []record.List) {
	for i := range a.runs {
		r := &a.runs[i]
		slice := &r.whole
		if deep {
			slice = &r.deep
		}
		if e := slice.Part(p); len(e) > 0 {
			l := record.List{Entries: e, Shift: r.shift}
			if r.held != nil {
				l.Unsorted = r.held.Unsorted
			}
			lists = append(lists, l)
		}
	}
	return lists
}

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
