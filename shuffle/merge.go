package shuffle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle/record"
	"mrlocal/shuffle/rule"
)

// MergeOptions are the options of the merge of one partition. Inputs and Lease are required.
// The merge does not release the inputs.
type MergeOptions struct {
	Inputs []*MapOutput // in the order of their maps, which is the order of equal keys
	Part   int
	// GroupBytes returns the length of the prefix of a key that its group has in common
	// (jobs.Job.GroupBytes); nil: a group has one key.
	GroupBytes func(key []byte) int

	Factor     int                            // most segments on disk that are read at once, 2 or more; 0: 64; runs in memory do not count
	FDs        int                            // most files that are open at once; 0: 16
	Lease      *membudget.Lease               // gives blocks, copies of entries and large records; the caller closes it after the merge
	CreateTemp func() (*disk.TempFile, error) // makes the file of intermediate passes; nil: a merge that needs passes fails
	Codec      Codec                          // of the segments that intermediate passes write

	// OnIdleCore starts f on an idle core and returns true at once. If no core is idle, it returns
	// false and does not run f. f calls idle from time to time, and ends if the core is not
	// idle any more. nil: no core is ever idle.
	OnIdleCore func(f func(idle func() bool)) bool

	Killed func() bool // polled at each group and each window of values; nil: never killed
	Notify func(Event) // nil: events are dropped
}

const (
	pollRecords = 4096 // records of a pass between two polls of Killed

	defaultFactor = 64
	defaultFDs    = 16

	// buffersPerChunk is the number of disk cursors whose buffers share a chunk.
	buffersPerChunk = membudget.ChunkBytes / bufferBytes

	// outputChunks is how many chunks of the lease a merge leaves to the consumer of its
	// records.
	outputChunks = 4
)

// Merge reads one partition of many map outputs in order. The caller uses either Next or
// NextGroup, not both, and must call Close, also after an error. Only one goroutine may use a
// Merge.
type Merge struct {
	in     Merger
	o      MergeOptions
	runs   []mergeRun // in map order
	pinned []pinned
	shared readers
	arena  record.Arena       // of all runs, if they are sorted as one (sortAhead)
	chunks []*membudget.Chunk // all chunks taken from the lease; with runs on disk, the first is that of readers.useMemory
	ahead  *ahead             // sorts range by range; nil: not in use
	spare  []byte             // the rest of a chunk, for further disk cursors (oneBuffer)
	file   tempFile           // of intermediate passes
	closed bool
}

// pinned is a map output that the merge keeps from being freed. Close unpins the output. An
// eviction or Close ends the use of the memory.
type pinned struct {
	out    *MapOutput
	memory *MemoryRun // nil: there is none, or the merge has left it
}

// mergeRun is one run of the partition: entries in memory, or a part of a file. Equal keys come
// in the order of their runs, so a pass may join only neighbouring runs.
type mergeRun struct {
	entries []record.Entry
	arena   *record.Arena
	held    *MemoryRun // to which the entries belong; it may not be sorted yet
	ranges  []int      // where the ranges of the entries end; nil: not divided by ranges
	ahead   *ahead     // sorts the entries that follow; nil: none follow
	file    *tempFile  // nil: the run is in memory
	index   indexEntry
}

// NewMerge opens a merge. If there are more segments on disk than it can read at once, it first
// merges some of them into longer ones (passes). NewMerge fails if the lease has too little
// memory, if an output was released, or if a run cannot be read (CorruptError). The end of ctx
// ends waits for memory.
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
	m.shared.took = 0 // ReadTime does not include the passes
	return m, nil
}

// open finds the runs and prepares them. If all runs are in memory, it sorts them as one or
// merges them. Otherwise it takes buffers for the segments and merges. The fan-in is known only
// after all runs on disk are counted.
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
	if onDisk == 0 && m.sortTogether() {
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

// add pins a map output and adds its runs of the partition, in their order. It does not pin an
// output without records of the partition.
func (m *Merge) add(in *MapOutput) error {
	if in.Part(m.o.Part).Records == 0 {
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

// memory takes buffers to read up to want segments at once. It returns for how many they are
// enough. It leaves outputChunks of the lease to the consumer. A merge needs at least two
// segments to make progress, so for the first two it leaves nothing. It fails if there is no
// memory for two.
func (m *Merge) memory(want int) (fanIn int, err error) {
	want = min(want, m.o.Factor)
	staging, err := m.chunk(0)
	if err != nil {
		return 0, err
	}
	m.shared.useMemory(staging.Data)
	passes := want == m.o.Factor // passes need one more chunk, to write with
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

// chunk takes a chunk of the lease, and leaves the given number of chunks to others. The lease
// grows if necessary. Close frees the chunk. The error is membudget.ErrNoRoom.
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

// buffer returns the memory of the i-th disk cursor. m.chunks[0] belongs to readers.useMemory.
// The capacity of the slice ends where the buffer of the next cursor begins.
func (m *Merge) buffer(i int) []byte {
	at := i % buffersPerChunk * bufferBytes
	return m.chunks[1+i/buffersPerChunk].Data[at : at+bufferBytes : at+bufferBytes]
}

// over makes g merge the given runs. Their disk cursors use the buffers from the first one on,
// so only one Merger may read from disk at a time.
func (m *Merge) over(g *Merger, runs []mergeRun) {
	g.tree = loserTree{cursors: make([]cursor, len(runs)), shared: &m.shared}
	disks := 0
	for i, r := range runs {
		c := &g.tree.cursors[i]
		if r.file == nil {
			c.entries = r.entries
			c.arena = r.arena
			c.ahead = r.ahead
			continue
		}
		c.disk = &diskCursor{
			shared: &m.shared, file: r.file, at: r.index.offset, end: r.index.offset + r.index.stored, buf: m.buffer(disks),
		}
		disks++
	}
	g.reset()
}

// ReadTime returns the time of reading, checking and unpacking blocks since NewMerge returned.
func (m *Merge) ReadTime() time.Duration { return m.shared.took }

// Next moves to the next record. It returns false at the end and after an error (Err).
func (m *Merge) Next() bool { return m.in.Next() }

// NextGroup moves to the next group of equal keys; Values returns its values. It returns false
// at the end, after an error (Err), and if the attempt is killed.
func (m *Merge) NextGroup() bool { return m.in.NextGroup() }

// Groups returns the groups of the merge, which MergeOptions.GroupBytes makes larger than one key.
// It is for callers that use neither Next nor NextGroup.
func (m *Merge) Groups() Groups { return ByPrefix(m, m.o.GroupBytes) }

// Key returns the key of the current record or group, borrowed until the next step.
func (m *Merge) Key() []byte { return m.in.Key }

// Value returns the value of the current record, borrowed until the next step.
func (m *Merge) Value() []byte { return m.in.Value }

// Values returns the values of the current group.
func (m *Merge) Values() *jobs.Values { return &m.in.Values }

// Refill sets vs to the next values of the current group, and returns false at its end. It
// serves callers that join several groups to one. Other callers use Values.
func (m *Merge) Refill(vs *jobs.Values) bool { return m.in.Refill(vs) }

// Err returns the first error. It is a *CorruptError if a run cannot be read back. An attempt
// that is killed is not an error here.
func (m *Merge) Err() error {
	return cmp.Or(m.in.tree.err, m.shared.err)
}

// Close frees all memory, removes the file of the passes, and unpins the map outputs. It
// returns the first error. It may be called again. Slices that the merge returned are invalid
// afterwards.
func (m *Merge) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	m.ahead.stop()
	// Large records have memory of their own in the lease.
	for i := range m.in.tree.cursors {
		if d := m.in.tree.cursors[i].disk; d != nil {
			d.drop()
		}
	}
	m.in.dropKey()
	m.in.Values.Reset(nil) // user code may have kept it
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
	if z := m.shared.decoder.zstd; z != nil {
		z.Close()
	}
	return errors.Join(m.Err(), m.file.remove())
}

// passes merges runs on disk into longer ones until at most fanIn are left. As in Hadoop's
// Merger, the first pass reads the number of runs with which every later pass can read fanIn. Each pass
// reads the runs with the fewest bytes. Unlike in Hadoop, a pass reads only neighbours, because
// equal keys must keep the order of their runs. Runs in memory between them are merged too.
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
			return jobs.ErrKilled
		}
		take := rule.FirstPass(onDisk, fanIn)
		// Runs in memory between the chosen ones are inside from and to, but not counted in
		// take.
		from, to := m.lightest(take)
		if err := m.pass(w, from, to); err != nil {
			return err
		}
		onDisk -= take - 1
	}
	// The chunk of the Writer is the last one that was taken.
	m.chunks = m.chunks[:len(m.chunks)-1]
	m.o.Lease.Free(room)
	return nil
}

// lightest returns the range from..to-1 of runs that holds take runs on disk with the fewest
// bytes on disk.
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

// pass merges the runs from..to-1 into one segment of the merge's file, which replaces them.
func (m *Merge) pass(w *Writer, from, to int) error {
	var g Merger
	m.over(&g, m.runs[from:to])
	_, err := m.file.appendSegment(w, m.o.CreateTemp, nil, func(w *Writer) error {
		for n := 1; g.Next(); n++ {
			w.Add(g.Key, g.Value)
			if n%pollRecords == 0 && m.o.Killed != nil && m.o.Killed() {
				g.tree.err = jobs.ErrKilled
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
	m.runs = slices.Replace(m.runs, from, to, mergeRun{file: &m.file, index: index})
	m.o.Notify(Event{Kind: MergePass, Runs: to - from, Bytes: w.TotalBytes})
	return nil
}

// leaveMemory lets the merge read evicted runs from disk, from the current position on, and
// leaves their memory. A run for which there is no buffer stays in memory.
func (m *Merge) leaveMemory() {
	for i := range m.pinned {
		p := &m.pinned[i]
		if p.memory == nil {
			continue
		}
		// All runs of the merge share one flag, so each run has to be checked.
		s, moved := p.out.movedTo(p.memory)
		if !moved || !m.moveRun(p, s) {
			continue
		}
		p.out.leave(p.memory, &m.in.evicted)
		p.memory = nil
	}
}

// moveRun replaces the cursors over the slices of a run in memory by one cursor over s, its
// segment. The slices of a run are neighbours, and the eviction merged them in their order. So
// the records that the merge has read from the slices are the first records of the segment.
// moveRun returns false if there is no buffer, or after an error.
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

// standIn moves d behind the taken records. d then replaces all cursors over the arena a, of
// which cursor first is the first one.
func (m *Merge) standIn(first int, d *diskCursor, taken int64, a *record.Arena) error {
	if err := d.skip(taken); err != nil {
		return err
	}
	t := &m.in.tree
	for i := range t.cursors {
		if c := &t.cursors[i]; c.arena == a {
			// The cursors keep their places in the tree, because places decide between equal
			// keys.
			*c = cursor{done: true}
		}
	}
	c := &t.cursors[first]
	c.disk, c.done = d, false
	if _, err := c.advance(); err != nil {
		return err
	}
	// The prefixes in the nodes may belong to cursors that are done now.
	t.rebuild()
	return nil
}

// oneBuffer takes the memory for one more disk cursor. It returns false if there is none.
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
