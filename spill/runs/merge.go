package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mrlocal/internal/membudget"
	"mrlocal/internal/tempdir"
	"mrlocal/jobs"
	"mrlocal/spill/record"
)

// MergeOptions describe the merge of one partition. Inputs and Lease are required.
// The merge does not close the inputs.
type MergeOptions struct {
	Inputs []*MapOutput // in map order, the order in which equal keys come
	Part   int

	Factor     int                           // segments on disk that are read at once, 2 or more; 0: 64. Runs in memory do not count
	FDs        int                           // files that are open at once; 0: 16
	Lease      *membudget.Lease              // gives all memory; the caller closes it after the merge
	CreateTemp func() (*tempdir.File, error) // for intermediate passes; nil: they fail
	Codec      Codec                         // of what intermediate passes write

	Killed func() bool // polled at groups and windows of values; nil: never
	Notify func(Event) // nil: events are dropped
}

// ErrKilled is the sticky error of a kvbuffer or merge whose attempt is killed.
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
	if onDisk == 0 && m.sortWhole() {
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
	for _, s := range memory.Slices {
		if e := s.Part(m.o.Part); len(e) > 0 {
			m.runs = append(m.runs, mergeRun{entries: e, arena: &memory.Arena, held: memory})
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
			c.entries, c.arena = r.entries, r.arena
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
