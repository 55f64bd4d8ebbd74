package runs

import (
	"context"
	"errors"
	"fmt"
	"os"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/spill/record"
)

// MergeOptions describe the merge of one partition.
type MergeOptions struct {
	Inputs []*MapOutput // in map order; equal keys come in this order
	Part   int

	Factor     int // segments on disk read at once; 0: 64. Runs in memory do not count
	FDs        int // files open at once; 0: 16
	Lease      *membudget.Lease
	CreateTemp func() (*os.File, error) // for intermediate passes
	Codec      Codec                    // of what they write

	Killed func() bool // polled at groups and windows of values; nil: never
	Notify func(Event) // nil: nobody wants to know
}

// ErrKilled is the sticky error of a kvbuffer or merge whose attempt is killed.
var ErrKilled = errors.New("the attempt is killed")

const (
	pollRecords = 4096 // of a pass, between two looks at Killed

	defaultFactor = 64
	defaultFDs    = 16

	// buffersPerChunk blocks of disk cursors share a chunk.
	buffersPerChunk = membudget.ChunkBytes / bufferBytes

	// outputChunks of the lease are left to what the merge feeds.
	outputChunks = 4
)

// Merge reads one partition of many map outputs in order. Either Next or
// NextGroup is used, not both. It is used by one goroutine; Close it.
type Merge struct {
	in     Merger
	o      MergeOptions
	runs   []mergeRun
	pinned []pinned
	shared readers
	arena  record.Arena // of all runs, when they are sorted as a whole
	chunks []*membudget.Chunk
	spare  []byte   // for disk cursors yet to come
	file   tempFile // of intermediate passes
	err    error
	closed bool
}

// pinned is a map output that is being read.
type pinned struct {
	out    *MapOutput
	memory *MemoryRun // nil: none, or left
}

// mergeRun is one run of the partition, on disk, or in memory, where held may
// have it not sorted yet.
type mergeRun struct {
	entries []record.Entry
	arena   *record.Arena
	held    *MemoryRun
	file    *tempFile // nil: in memory
	index   indexEntry
}

// NewMerge opens a merge. Where more segments are on disk than can be read at
// once, it first merges some of them into longer ones.
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
	return m, nil
}

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

// add takes the runs of one map output.
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

// memory takes the memory for reading up to want segments at once and returns
// how many it is enough for.
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

// chunk takes one and leaves so many to others.
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

// buffer is the memory of the i-th disk cursor. The first chunk is the staging.
func (m *Merge) buffer(i int) []byte {
	at := i % buffersPerChunk * bufferBytes
	return m.chunks[1+i/buffersPerChunk].Data[at : at+bufferBytes : at+bufferBytes]
}

// over makes g read runs.
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

// Next moves to the next record.
func (m *Merge) Next() bool { return m.in.Next() }

// NextGroup moves to the next key; Values are its values.
func (m *Merge) NextGroup() bool { return m.in.NextGroup() }

// Key is the current record's, or the group's.
func (m *Merge) Key() []byte { return m.in.Key }

// Value is the current record's.
func (m *Merge) Value() []byte { return m.in.Value }

// Values are the current group's.
func (m *Merge) Values() *jobs.Values { return &m.in.Values }

// Err is the first error.
func (m *Merge) Err() error {
	if m.err != nil {
		return m.err
	}
	if m.in.tree.err != nil {
		return m.in.tree.err
	}
	return m.shared.err
}

// Close gives all memory back and removes what passes wrote.
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
