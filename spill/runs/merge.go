package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/spill/record"
	"mrlocal/spill/rule"
)

// MergeOptions describe the merge of one partition. Inputs and Lease are required.
// The merge does not close the inputs.
type MergeOptions struct {
	Inputs []*MapOutput // in map order, the order in which equal keys come
	Part   int

	Factor     int                            // segments on disk that are read at once, 2 or more; 0: 64. Runs in memory do not count
	FDs        int                            // files that are open at once; 0: 16
	Lease      *membudget.Lease               // gives all memory; the caller closes it after the merge
	CreateTemp func() (*disk.TempFile, error) // for intermediate passes; nil: they fail
	Codec      Codec                          // of what intermediate passes write

	// Beside runs f on a core on which nothing else runs, and returns at once. f asks idle now and
	// then whether that is still so, and ends if not. It reports false, and does not run f, where no
	// core is idle. nil: none ever is.
	Beside func(f func(idle func() bool)) bool

	Killed func() bool // polled at groups and windows of values; nil: never
	Notify func(Event) // nil: events are dropped
}

// ErrKilled is the sticky error of a kvbuffer or merge whose attempt is killed. An Emitter of
// the attempt panics with it, to end user code that goes on.
var ErrKilled = errors.New("the attempt is killed")

// The chunks of a merge: one of readers.useMemory, then those of disk cursors.
const (
	pollRecords = 4096 // of a pass, between two looks at Killed

	defaultFactor = 64
	defaultFDs    = 16

	// buffersPerChunk blocks of disk cursors share a chunk.
	buffersPerChunk = membudget.ChunkBytes / bufferBytes

	// outputChunks of the lease are left to what the merge feeds.
	outputChunks = 4
)

// Merge reads one partition of many map outputs in order. The caller uses either Next or
// NextGroup, not both. One goroutine uses it and closes it.
// Close must be called once it was made, also after an error.
type Merge struct {
	in     Merger
	o      MergeOptions
	runs   []mergeRun // in map order
	pinned []pinned
	shared readers
	arena  record.Arena       // of all runs, when they are sorted as one (sortWhole)
	chunks []*membudget.Chunk // all that the merge has taken of the lease
	ahead  *ahead             // sorts ranges; nil: none are sorted here
	spare  []byte             // the rest of a chunk, for further disk cursors (oneBuffer)
	file   tempFile           // of intermediate passes
	err    error
	closed bool
}

// pinned is a map output that the merge keeps from being released.
// The output is unpinned by Close, the memory is left at an eviction or by Close.
type pinned struct {
	out    *MapOutput
	memory *MemoryRun // nil: none, or left
}

// mergeRun is one run of the partition: entries in memory, or part of a file. held is the
// run in memory that the entries belong to, which may not be sorted yet.
// The order of runs decides between equal keys, so passes may only join neighbours.
type mergeRun struct {
	entries []record.Entry
	arena   *record.Arena
	held    *MemoryRun
	ranges  []int     // where the ranges of the entries end; nil: they are not divided by ranges
	ahead   *ahead    // sorts the entries that follow
	file    *tempFile // nil: in memory
	index   indexEntry
}

// NewMerge opens a merge. If more segments are on disk than can be read at once, it first
// merges some of them into longer ones (passes). It fails when the lease has too little
// memory or an output was released; ctx ends waiting for memory.
func NewMerge(ctx context.Context, o MergeOptions) (*Merge, error) {
	if o.Factor < 2 {
		o.Factor = defaultFactor
	}
	if o.FDs < 1 {
		o.FDs = defaultFDs
	}
	if o.Notify == nil {
		o.Notify = func(Event) {}
	}
	m := &Merge{o: o, shared: readers{ctx: ctx, lease: o.Lease, files: openFiles{limit: o.FDs}}}
	m.in.killed = o.Killed
	err := m.open()
	if err != nil {
		m.Close()
		return nil, err
	}
	m.shared.took = 0 // of the passes
	return m, nil
}

// open finds the runs and prepares them: all in memory are sorted as one or merged, and
// segments get their buffers.
// The order matters: the fan-in is known only when all runs on disk were counted.
func (m *Merge) open() error {
	for _, in := range m.o.Inputs {
		if err := m.add(in); err != nil {
			return err
		}
	}
	onDisk := 0
	for _, r := range m.runs {
		if r.file != nil {
			onDisk++
		}
	}
	if onDisk == 0 && m.sorted() {
		m.over(&m.in, m.runs)
		return nil
	}
	m.sortParts()
	if onDisk > 0 {
		fanIn, err := m.memory(onDisk)
		if err != nil {
			return err
		}
		if err := m.passes(onDisk, fanIn); err != nil {
			return err
		}
	}
	m.over(&m.in, m.runs)
	m.in.move = m.leaveMemory
	return nil
}

// add pins a map output and adds its runs of the partition, in their order.
// An output without records of the partition is not pinned.
func (m *Merge) add(in *MapOutput) error {
	if records, _, _ := in.PartBytes(m.o.Part); records == 0 {
		return nil
	}
	segments, memory, err := in.pin(&m.in.evicted)
	if err != nil {
		return err
	}
	m.pinned = append(m.pinned, pinned{in, memory})
	for _, s := range segments {
		file, err := m.shared.files.get(&in.mu.file)
		if err != nil {
			return err
		}
		index, err := readIndex(file, s, m.o.Part)
		if err != nil {
			return in.mu.file.corrupt(s.index, err)
		}
		if index.records > 0 {
			m.runs = append(m.runs, mergeRun{file: &in.mu.file, index: index})
		}
	}
	if memory == nil {
		return nil
	}
	for i, s := range memory.Slices {
		if e := s.Part(m.o.Part); len(e) > 0 {
			m.runs = append(m.runs, mergeRun{entries: e, arena: &memory.Arena, held: memory, ranges: memory.Unsorted.RangeEnds(i)})
		}
	}
	return nil
}

// memory takes the buffers for reading up to want segments at once, and returns for how many
// they are enough. It leaves outputChunks of the lease to what the merge feeds.
// A merge of two is the least that makes progress, so for it no chunk is left to
// others.
func (m *Merge) memory(want int) (fanIn int, err error) {
	want = min(want, m.o.Factor)
	staging, err := m.chunk(0)
	if err != nil {
		return 0, err
	}
	m.shared.useMemory(staging.Data)
	passes := want == m.o.Factor // then one chunk more, to write with
	for fanIn < want {
		left := int64(outputChunks)
		if passes {
			left++
		}
		if fanIn < 2 {
			left = 0
		}
		if _, err := m.chunk(left); err != nil {
			if fanIn >= 2 {
				return fanIn, nil
			}
			return 0, err
		}
		fanIn += buffersPerChunk
	}
	return want, nil
}

// chunk takes a chunk of the lease, which grows if it has to, and leaves so many to others.
// Close frees the chunk. The error is membudget.ErrNoRoom.
func (m *Merge) chunk(leave int64) (*membudget.Chunk, error) {
	l := m.o.Lease
	short := (leave+1)*membudget.ChunkBytes - l.Available()
	if short <= 0 || l.Grow(short) {
		if c, ok := l.Chunk(); ok {
			m.chunks = append(m.chunks, c)
			return c, nil
		}
	}
	return nil, fmt.Errorf("merge: %d bytes leased: %w", l.Granted(), membudget.ErrNoRoom)
}

// buffer returns the memory of the i-th disk cursor. The first chunk belongs to
// readers.useMemory.
// The slice is cut to its capacity, so that one cursor cannot write into the next.
func (m *Merge) buffer(i int) []byte {
	at := i % buffersPerChunk * bufferBytes
	return m.chunks[1+i/buffersPerChunk].Data[at : at+bufferBytes : at+bufferBytes]
}

// over makes g merge these runs.
// Disk cursors take the buffers from the first one on, so only one Merger reads from
// disk at a time.
func (m *Merge) over(g *Merger, runs []mergeRun) {
	g.tree = loserTree{cursors: make([]cursor, len(runs)), shared: &m.shared}
	disks := 0
	for i, r := range runs {
		c := &g.tree.cursors[i]
		if r.file == nil {
			c.entries, c.arena, c.ahead = r.entries, r.arena, r.ahead
			continue
		}
		c.disk = &diskCursor{
			shared: &m.shared, file: r.file, at: r.index.offset, end: r.index.offset + r.index.stored, buf: m.buffer(disks),
		}
		disks++
	}
	g.reset()
}

// ReadTime returns how long blocks were read from disk, checked and unpacked since
// NewMerge returned.
func (m *Merge) ReadTime() time.Duration { return m.shared.took }

// Next moves to the next record. It reports false at the end and after an error.
func (m *Merge) Next() bool { return m.in.Next() }

// NextGroup moves to the next key; Values holds its values. It reports false at the end,
// after an error and when the attempt is killed.
func (m *Merge) NextGroup() bool { return m.in.NextGroup() }

// Key returns the key of the current record or group, borrowed until the next step.
func (m *Merge) Key() []byte { return m.in.Key }

// Value returns the value of the current record, borrowed until the next step.
func (m *Merge) Value() []byte { return m.in.Value }

// Values returns the values of the current group.
func (m *Merge) Values() *jobs.Values { return &m.in.Values }

// Refill gives vs the next values of the current group, and reports false at its end. It
// serves callers that join groups; others use Values.
func (m *Merge) Refill(vs *jobs.Values) bool { return m.in.refill(vs) }

// Err returns the first error; a *CorruptError where a run cannot be read back.
// Errors of reading come before those of comparing, which follow from them.
func (m *Merge) Err() error {
	if m.err != nil {
		return m.err
	}
	if m.in.tree.err != nil {
		return m.in.tree.err
	}
	return m.shared.err
}

// Close frees all memory, removes the files of passes, and lets the map outputs be released.
// It returns the first error. It may be called again.
// Memory that cursors took of the lease goes before the chunks.
func (m *Merge) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	m.ahead.stop()
	for i := range m.in.tree.cursors {
		if d := m.in.tree.cursors[i].disk; d != nil {
			d.drop()
		}
	}
	m.in.dropKey()
	for _, p := range m.pinned {
		if p.memory != nil {
			p.out.leave(p.memory, &m.in.evicted)
		}
		p.out.unpin()
	}
	for _, c := range m.chunks {
		m.o.Lease.Free(c)
	}
	m.shared.files.close()
	m.shared.decoder.Close()
	return errors.Join(m.Err(), m.file.remove())
}

// passes merges runs on disk into longer ones until no more than fanIn are left. As in
// Hadoop's Merger, the first pass takes so many runs that all later ones can take fanIn.
// Each pass takes the runs of the fewest bytes. Unlike there, a pass takes only neighbours,
// because equal keys have to keep the order of their runs. Runs in memory between them are
// merged too.
func (m *Merge) passes(onDisk, fanIn int) error {
	if onDisk <= fanIn {
		return nil
	}
	room, err := m.chunk(0)
	if err != nil {
		return err
	}
	w, err := NewWriter(room.Data, m.o.Codec)
	if err != nil {
		return err
	}
	defer w.Close()
	for onDisk > fanIn {
		if m.o.Killed != nil && m.o.Killed() {
			return ErrKilled
		}
		take := rule.FirstPass(onDisk, fanIn)
		// Runs in memory between them count in from and to, but not in take.
		from, to := m.lightest(take)
		if err := m.pass(w, from, to); err != nil {
			return err
		}
		onDisk -= take - 1
	}
	// The chunk of the Writer was taken last.
	m.chunks = m.chunks[:len(m.chunks)-1]
	m.o.Lease.Free(room)
	return nil
}

// lightest returns the neighbouring runs, from from to to-1 and take of them on disk, that
// have the fewest bytes on disk.
func (m *Merge) lightest(take int) (from, to int) {
	var at []int
	var bytes []int64
	for i, r := range m.runs {
		if r.file != nil {
			at, bytes = append(at, i), append(bytes, r.index.stored)
		}
	}
	first := rule.Lightest(bytes, take)
	return at[first], at[first+take-1] + 1
}

// pass merges the runs from from to to-1 into one segment of the merge's file.
func (m *Merge) pass(w *Writer, from, to int) error {
	var g Merger
	m.over(&g, m.runs[from:to])
	_, err := m.file.appendSegment(w, m.o.CreateTemp, nil, func(w *Writer) error {
		for n := 1; g.Next(); n++ {
			w.Add(g.Key, g.Value)
			if n%pollRecords == 0 && m.o.Killed != nil && m.o.Killed() {
				g.tree.err = ErrKilled
				break
			}
		}
		for i := range g.tree.cursors {
			if d := g.tree.cursors[i].disk; d != nil {
				d.drop()
			}
		}
		w.EndPart()
		return errors.Join(g.tree.err, m.shared.err)
	})
	if err != nil {
		return fmt.Errorf("merge pass: %w", err)
	}
	index, err := parseIndexEntry(w.index[:indexBytes])
	if err != nil {
		return err
	}
	m.runs = append(append(m.runs[:from:from], mergeRun{file: &m.file, index: index}), m.runs[to:]...)
	m.o.Notify(Event{Kind: MergePass, Bytes: w.TotalBytes, Records: w.TotalRecords})
	return nil
}

// leaveMemory makes the merge read evicted runs from disk, from where it is in them, and
// gives up their memory. A run for which there is no buffer stays in memory.
func (m *Merge) leaveMemory() {
	for i := range m.pinned {
		p := &m.pinned[i]
		if p.memory == nil {
			continue
		}
		// The flag is one for all runs of the merge, so each run is asked.
		s, moved := p.out.movedTo(p.memory)
		if !moved || !m.moveRun(p, s) {
			continue
		}
		p.out.leave(p.memory, &m.in.evicted)
		p.memory = nil
	}
}

// moveRun replaces the cursors over the slices of a run in memory by one cursor over s, its
// segment. The slices of a run are neighbours and were merged into the segment in that
// order. So the records that the merge has already taken from them are the first ones of the
// segment.
func (m *Merge) moveRun(p *pinned, s segment) bool {
	t := &m.in.tree
	first, taken, left := -1, int64(0), int64(0)
	for i := range t.cursors {
		c := &t.cursors[i]
		if c.arena != &p.memory.Arena {
			continue
		}
		if first < 0 {
			first = i
		}
		if !c.done {
			left += int64(len(c.entries))
		}
	}
	if left == 0 {
		return true
	}
	for _, slice := range p.memory.Slices {
		taken += int64(len(slice.Part(m.o.Part)))
	}
	taken -= left
	buf, ok := m.oneBuffer()
	if !ok {
		return false
	}
	file, err := m.shared.files.get(&p.out.mu.file)
	if err == nil {
		var index indexEntry
		if index, err = readIndex(file, s, m.o.Part); err == nil {
			d := &diskCursor{shared: &m.shared, file: &p.out.mu.file, at: index.offset, end: index.offset + index.stored, buf: buf}
			err = m.standIn(first, d, taken, &p.memory.Arena)
		} else {
			err = p.out.mu.file.corrupt(s.index, err)
		}
	}
	if err != nil {
		t.err, t.live = err, 0
	}
	return err == nil
}

// standIn puts d, moved behind taken records, in the place of all cursors over the arena a,
// the first of which is cursor first.
func (m *Merge) standIn(first int, d *diskCursor, taken int64, a *record.Arena) error {
	if err := d.skip(taken); err != nil {
		return err
	}
	t := &m.in.tree
	for i := range t.cursors {
		if c := &t.cursors[i]; c.arena == a {
			// Cursors keep their places in the tree, because places decide ties.
			*c = cursor{done: true}
		}
	}
	c := &t.cursors[first]
	c.disk, c.done = d, false
	if _, err := c.advance(); err != nil {
		return err
	}
	// The keys are the same as before, but the prefixes in the nodes may be of cursors that are
	// done now.
	t.rebuild()
	return nil
}

// oneBuffer takes the memory for one more disk cursor. It reports false where there is none.
func (m *Merge) oneBuffer() ([]byte, bool) {
	if m.shared.staging == nil {
		staging, err := m.chunk(1)
		if err != nil {
			return nil, false
		}
		m.shared.useMemory(staging.Data)
	}
	if len(m.spare) < bufferBytes {
		c, err := m.chunk(1)
		if err != nil {
			return nil, false
		}
		m.spare = c.Data
	}
	buf := m.spare[:bufferBytes:bufferBytes]
	m.spare = m.spare[bufferBytes:]
	return buf, true
}
