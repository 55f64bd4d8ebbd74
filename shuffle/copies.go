package shuffle

import (
	"context"
	"slices"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle/record"
	"mrlocal/shuffle/rule"
)

// Copies are the copies that a reduce attempt makes of its partition of the map outputs, if it
// copies bytes and not references. A copy goes to memory or to a file of its own. Copies in
// memory are merged to files, and files to fewer files, while maps still run, by the thresholds of
// rule.ReduceMerges (Hadoop 1.0.3, ReduceTask.ReduceCopier). Only copies of neighbouring maps are
// merged, because equal keys must keep the order of their maps.
//
// A copy is a MapOutput of one partition. The budget may evict it from memory, so an attempt that
// waits for maps holds no memory that others need. One goroutine uses Copies.
type Copies struct {
	merges rule.ReduceMerges
	part   int
	runs   []copyRun // in the order of their maps
}

// copyRun is the copy of the outputs of the maps first to last.
type copyRun struct {
	first, last int
	out         *MapOutput // nil: the maps have no records of the partition
}

// NewCopies makes Copies of one partition without any copy.
func NewCopies(part int, merges rule.ReduceMerges) *Copies {
	return &Copies{merges: merges.WithDefaults(), part: part}
}

// Add copies the output of a map, and merges what the thresholds require. It ignores a map that
// was copied before. o is used as by NewMerge, without Inputs and Part. Its Lease is needed until
// Add returns.
func (c *Copies) Add(ctx context.Context, mapTask int, out *MapOutput, o MergeOptions) (err error) {
	at, found := c.find(mapTask)
	if found {
		return nil
	}
	run := copyRun{first: mapTask, last: mapTask}
	if stat := out.Part(c.part); stat.Records > 0 {
		o.Inputs, o.Part = []*MapOutput{out}, c.part
		if c.merges.ToMemory(stat.Bytes()) {
			run.out, err = toMemory(ctx, stat, o)
		}
		if run.out == nil && err == nil {
			run.out, err = toFile(ctx, o, SpillEnd)
		}
		if err != nil {
			return err
		}
	}
	c.runs = slices.Insert(c.runs, at, run)
	segments, bytes, _ := c.held()
	if c.merges.MergesMemory(segments, bytes) {
		if err := c.Flush(ctx, o); err != nil {
			return err
		}
	}
	return c.mergeFiles(ctx, o)
}

// Has reports whether the output of the map is copied.
func (c *Copies) Has(mapTask int) bool {
	_, found := c.find(mapTask)
	return found
}

// find returns the index in runs of the run that has the map, or that of the next run.
func (c *Copies) find(mapTask int) (at int, found bool) {
	return slices.BinarySearchFunc(c.runs, mapTask, func(r copyRun, m int) int {
		if m < r.first {
			return 1
		}
		return min(0, r.last-m)
	})
}

// held returns the number of copies in memory, the bytes of their records, and the number of files. As in the
// simulator, which knows no records, the index does not count.
func (c *Copies) held() (segments int, bytes int64, files int) {
	for i := range c.runs {
		switch out := c.runs[i].out; {
		case out == nil:
		case out.MemoryBytes() > 0:
			segments++
			bytes += out.Part(0).Bytes()
		default:
			files++
		}
	}
	return segments, bytes, files
}

// MemoryBytes returns the memory that the copies take.
func (c *Copies) MemoryBytes() (sum int64) {
	for _, out := range c.Outputs() {
		sum += out.MemoryBytes()
	}
	return sum
}

// Flush merges all copies in memory to files: one for each range of neighbouring maps.
func (c *Copies) Flush(ctx context.Context, o MergeOptions) error {
	for from := 0; from < len(c.runs); from++ {
		to := from
		for to < len(c.runs) && c.inMemory(to) && c.adjoins(from, to) {
			to++
		}
		if to > from {
			if err := c.merge(ctx, from, to, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// inMemory reports whether run i takes memory. A run without records takes none, but it may lie
// between others that do.
func (c *Copies) inMemory(i int) bool { return c.runs[i].out == nil || c.runs[i].out.MemoryBytes() > 0 }

// adjoins reports whether run to is run from, or follows its neighbour directly.
func (c *Copies) adjoins(from, to int) bool {
	return to == from || c.runs[to-1].last+1 == c.runs[to].first
}

// mergeFiles merges Factor files to one as long as there are too many. Of all ranges of
// neighbouring maps with that number of files it takes the one with the fewest bytes. If there is no such
// range, the files stay until other maps are copied.
func (c *Copies) mergeFiles(ctx context.Context, o MergeOptions) error {
	for {
		if _, _, files := c.held(); !c.merges.MergesDisk(files) {
			return nil
		}
		from, to := c.lightest()
		if from == to {
			return nil
		}
		if err := c.merge(ctx, from, to, o); err != nil {
			return err
		}
	}
}

// lightest returns the range from..to-1 of neighbouring runs that has Factor files with the fewest
// bytes; 0, 0: there is none. Copies in memory between the files belong to the range.
func (c *Copies) lightest() (from, to int) {
	least := int64(-1)
	for i := range c.runs {
		files, bytes := 0, int64(0)
		for k := i; k < len(c.runs) && c.adjoins(i, k) && files < c.merges.Factor; k++ {
			if c.inMemory(k) {
				continue
			}
			files++
			if bytes += c.runs[k].out.Part(0).Bytes(); files == c.merges.Factor && (least < 0 || bytes < least) {
				from, to, least = i, k+1, bytes
			}
		}
	}
	return from, to
}

// merge replaces the runs from..to-1 by one file with their records.
func (c *Copies) merge(ctx context.Context, from, to int, o MergeOptions) (err error) {
	whole := copyRun{first: c.runs[from].first, last: c.runs[to-1].last}
	o.Inputs, o.Part = outputsOf(c.runs[from:to]), 0
	if len(o.Inputs) > 0 {
		if whole.out, err = toFile(ctx, o, MergePass); err != nil {
			return err
		}
	}
	for _, old := range o.Inputs {
		old.Release()
	}
	c.runs = slices.Replace(c.runs, from, to, whole)
	return nil
}

// Outputs returns the copies in the order of their maps, each with one partition. They are borrowed
// until Close.
func (c *Copies) Outputs() []*MapOutput { return outputsOf(c.runs) }

// outputsOf returns the copies of runs that have records.
func outputsOf(runs []copyRun) (outs []*MapOutput) {
	for _, r := range runs {
		if r.out != nil {
			outs = append(outs, r.out)
		}
	}
	return outs
}

// Close frees all copies.
func (c *Copies) Close() {
	for _, out := range c.Outputs() {
		out.Release()
	}
	c.runs = nil
}

// toFile writes the merge of o to a file, and makes an event of the given kind.
func toFile(ctx context.Context, o MergeOptions, kind EventKind) (*MapOutput, error) {
	room, ok := o.Lease.Chunk()
	if !ok {
		return nil, membudget.ErrNoRoom
	}
	defer o.Lease.Free(room)
	w, err := NewWriter(room.Data, o.Codec)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	out := NewMapOutput(1, o.Codec, o.CreateTemp, o.Notify)
	err = out.AppendSegment(w, func(w *Writer) error {
		err := eachRecord(ctx, o, w.Add)
		w.EndPart()
		return err
	})
	if err != nil {
		out.Release()
		return nil, err
	}
	o.Notify(Event{Kind: kind, Bytes: w.TotalBytes, Records: w.TotalRecords, Runs: len(o.Inputs)})
	return out, nil
}

// toMemory copies the records of the merge of o to memory. stat counts them. The result is nil if
// the budget has no memory for them.
func toMemory(ctx context.Context, stat record.PartStat, o MergeOptions) (*MapOutput, error) {
	// Each of the two lengths of a record takes a byte, and one more for each 64 bytes at most.
	dataBytes := stat.Bytes() + stat.Bytes()/64 + 2*stat.Records
	entryBytes := stat.Records * record.EntryBytes
	lease, ok := o.Lease.Budget().TryReserve(dataBytes + entryBytes + 2*membudget.ChunkBytes/64)
	if !ok {
		return nil, nil
	}
	data, ok := lease.Big(dataBytes)
	index, also := lease.Big(entryBytes)
	if !ok || !also {
		lease.Close()
		return nil, nil
	}
	run := &MemoryRun{Lease: lease}
	addr := run.Arena.Add(data.Data)
	entries, n, at := record.EntriesIn(index.Data, int(stat.Records)), 0, 0
	err := eachRecord(ctx, o, func(key, value []byte) {
		entries[n] = record.Entry{Prefix: record.PrefixOf(key), Ref: (addr+uint64(at))<<record.CodeBits | record.CodeEmitted}
		n++
		at += record.PutEmitted(data.Data[at:], key, value)
	})
	if err != nil {
		lease.Close()
		return nil, err
	}
	run.Slices = []record.Slice{{Entries: entries, Ends: []int{n}}}
	out := NewMapOutput(1, o.Codec, o.CreateTemp, o.Notify)
	out.Keep(run, []record.PartStat{stat})
	out.Register(lease.Budget())
	return out, nil
}

// eachRecord calls add with each record of a merge.
func eachRecord(ctx context.Context, o MergeOptions, add func(key, value []byte)) error {
	m, err := NewMerge(ctx, o)
	if err != nil {
		return err
	}
	for n := 1; m.Next(); n++ {
		if add(m.Key(), m.Value()); n%pollRecords == 0 && o.Killed != nil && o.Killed() {
			m.Close()
			return jobs.ErrKilled
		}
	}
	return m.Close()
}
