package runs

import (
	"sync"

	"mrlocal/spill/record"
)

// ahead sorts a partition range by range (record.Ranges): each range of all runs as one, while
// the ranges before it are read. The reader sorts what it would have to wait for, and idle cores
// sort ahead of it.
//
//	range   0      1      2        3        4
//	        read   read   sorted   sorted   not begun      rooms: 4
//	               ^ the reader    ^ another core
//
// The entries of a range lie in one of several rooms, which are used in turn. Records stay where
// they are. The reader's goroutine calls next and stop.
type ahead struct {
	m      *Merge
	runs   []rangedRun
	ranges []int            // those that have records
	total  []int            // entries of each of them
	depths []int            // of all ranges
	rooms  [][]record.Entry // each as long as the longest range
	own    record.Sorter    // the reader's

	mu struct {
		sync.Mutex
		begun   int    // ranges that are sorted or being sorted
		read    int    // ranges that were read; the room of each is free
		sorted  []bool // by range
		helpers int    // at work
		stopped bool
	}
	changed sync.Cond // on mu; a range is sorted, or a helper has ended
}

// rangedRun is a run in memory.
type rangedRun struct {
	whole record.Slice // its parts are the ranges
	deep  record.Slice // the same with prefixes that begin where keys of a range differ
	held  *MemoryRun   // nil: no other goroutine writes to the entries
	shift uint64       // of its arena in that of all runs
}

const (
	// mostRooms are enough for a core that sorts while another one reads.
	mostRooms = 8
)

// sorted leaves one run to read, which is sorted or is being sorted. It reports false where runs
// are to be merged.
func (m *Merge) sorted() bool {
	for _, r := range m.runs {
		if r.ranges != nil {
			return m.sortAhead(r.held.Unsorted)
		}
	}
	return m.sortWhole()
}

// sortAhead begins to sort range by range. It reports false, and changes nothing, where there is no
// memory for that.
func (m *Merge) sortAhead(u *record.Unsorted) bool {
	a := &ahead{m: m, depths: u.RangeDepths()}
	a.changed.L = &a.mu
	sizes := make([]int, len(a.depths))
	for i, r := range m.runs {
		run := rangedRun{whole: record.Slice{Entries: r.entries, Ends: r.ranges}}
		if r.ranges != nil {
			run.deep, run.held = run.whole, r.held
		} else { // a small run, which was sorted at once
			e, ok := m.entries(len(r.entries))
			if !ok {
				return false
			}
			copy(e, r.entries)
			run.whole.Ends = u.Cut(r.arena, r.entries)
			run.deep = record.Slice{Entries: e, Ends: run.whole.Ends}
			for p, depth := range a.depths {
				record.Deepen(r.arena, run.deep.Part(p), depth)
			}
		}
		for p := range sizes {
			sizes[p] += len(run.whole.Part(p))
		}
		if i > 0 && r.held == m.runs[i-1].held {
			run.shift = a.runs[i-1].shift
		} else {
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

// makeRooms takes the memory for ranges of these sizes: no more than all entries take.
func (a *ahead) makeRooms(sizes []int) bool {
	longest, all := 0, 0
	for p, n := range sizes {
		if n > 0 {
			a.ranges, a.total = append(a.ranges, p), append(a.total, n)
			longest, all = max(longest, n), all+n
		}
	}
	a.mu.sorted = make([]bool, len(a.ranges))
	a.mu.read = -1
	n := min(all/longest, mostRooms)
	e, ok := a.m.entries(n * longest)
	for ; ok && n > 0; n-- {
		a.rooms = append(a.rooms, e[:longest])
		e = e[longest:]
	}
	return ok
}

// sorter makes what one goroutine sorts with.
func (a *ahead) sorter() record.Sorter {
	return record.Sorter{Arena: &a.m.arena, Scratch: make([]record.Entry, scratchEntries)}
}

// next gives the room of the last range back, and returns the entries of the next one; none at
// the end.
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

// begin chooses the next range to be sorted, if there is one and a room for it. a.mu is held.
func (a *ahead) begin() (at int, ok bool) {
	if at = a.mu.begun; a.mu.stopped || at == len(a.ranges) || at == a.mu.read+len(a.rooms) {
		return 0, false
	}
	a.mu.begun++
	return at, true
}

// help lets idle cores sort, one for each range that may be begun. a.mu is held.
func (a *ahead) help() {
	may := min(len(a.ranges), a.mu.read+len(a.rooms)) - a.mu.begun
	for a.m.o.Beside != nil && !a.mu.stopped && a.mu.helpers < may && a.m.o.Beside(a.helper) {
		a.mu.helpers++
	}
}

// helper sorts ranges as long as there are any and its core is idle.
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

// stop waits until no other goroutine sorts. It does nothing if a is nil.
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

// room returns where the entries of the i-th range with records lie.
func (a *ahead) room(i int) []record.Entry { return a.rooms[i%len(a.rooms)][:a.total[i]] }

// sort gathers and sorts a range.
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

// lists returns the entries of a range. Those of sorted runs have prefixes of whole keys, or else
// deep ones.
func (a *ahead) lists(p int, deep bool) []record.List {
	var lists []record.List
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
