package stream

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"io"

	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/spill"
)

// runMap reads stdin in blocks, calls the mapper with each, and writes what it emits.
func (c *child) runMap(stdin io.Reader) error {
	m := c.job.NewMapper()
	c.begin(m)
	out, release, err := c.newEmitter()
	if err != nil {
		return err
	}
	defer release()
	b := jobs.Block{Path: "(standard input)", Input: int32(c.input), Offset: c.o.Task.InputStart}
	if file := c.o.Task.InputFile; file != "" {
		b.Path, b.File = file, fileNumber(file)
	}
	cut := input.Cutter{R: stdin, LastEnd: input.LastEnd('\n'), Bytes: blockBytes}
	// An empty split gives one empty block, so that the mapper sees each file.
	var data []byte
	for ended := false; !ended; {
		data, err = cut.Next(data)
		if ended = err == io.EOF; err != nil && !ended {
			return fmt.Errorf("read standard input: %w", err)
		}
		if c.job.SkipBinary && bytes.IndexByte(data, 0) >= 0 {
			return errs.Inputf(b.Path, "holds a NUL byte; mrlocal run skips such a binary file, but a map cannot skip the file's other splits; give -a to read it as text")
		}
		// The file ends with standard input, unless that is one of several splits of a file.
		b.Data, b.Last = data, c.o.Task.InputFile == "" && ended
		c.counters[mapInputBytes] += int64(len(data))
		c.counters[mapInputRecords] += int64(bytes.Count(data, []byte{'\n'}))
		if err := m.Map(b, out); err != nil {
			return err
		}
		b.Offset += int64(len(data))
		if err := out.Err(); err != nil {
			return err
		}
	}
	if f, ok := m.(jobs.Flusher); ok {
		if err := f.Flush(out); err != nil {
			return err
		}
	}
	err = out.end()
	for reduce, b := range c.blocks {
		c.putBlock(reduce, b)
	}
	return cmp.Or(err, c.failed())
}

// fileNumber returns a hash of the path in place of the number of a file, which a single map does
// not know. Two files rarely have the same. restore fails if two neighbours do.
func fileNumber(path string) int32 {
	h := fnv.New32a()
	h.Write([]byte(path))
	return int32(h.Sum32() >> 1)
}

// emitter gets what a mapper emits. Err returns the first error. end writes what is left, and returns
// the first error.
type emitter interface {
	jobs.Emitter
	Err() error
	end() error
}

// newEmitter returns the emitter for a map of the job, and a function that gives back what it has.
func (c *child) newEmitter() (out emitter, release func(), err error) {
	switch {
	case c.mapOnly():
		return &rawOut{c: c}, func() {}, nil
	case c.job.NewFolder != nil || c.job.NewCombiner != nil:
		return c.newCombining()
	}
	return &wireOut{c}, func() {}, nil
}

// failed returns the first error of writing to stdout.
func (c *child) failed() error {
	_, err := c.out.Write(nil) // a bufio.Writer keeps its first error
	return err
}

// wireOut writes each record at once. It is also a jobs.Taker and a jobs.SpanEmitter.
type wireOut struct{ c *child }

// Emit implements jobs.Emitter.
func (w *wireOut) Emit(key, value []byte) {
	w.c.counters[mapOutputRecords]++
	w.write(key, value)
}

// write writes a record without counting it. c.out keeps the first error.
func (w *wireOut) write(key, value []byte) {
	if w.c.closing {
		w.c.emittedLate()
		return
	}
	w.c.put(w.c.wire.record(key, value))
}

// EmitSpans implements jobs.SpanEmitter.
func (w *wireOut) EmitSpans(data []byte, keys []jobs.Span, value []byte) {
	for _, s := range keys {
		w.Emit(data[s.Off:s.Off+s.Len], value)
	}
}

// Take implements jobs.Taker. It writes each record of b. A record is the key, with an empty
// value, unless the job makes a key from it (jobs.Job.AppendKey).
func (w *wireOut) Take(b jobs.Block, records []jobs.Span) {
	var key []byte
	for _, s := range records {
		record := b.Data[s.Off : s.Off+s.Len]
		if w.c.job.AppendKey == nil {
			w.Emit(record, nil)
			continue
		}
		key = w.c.job.AppendKey(key[:0], record)
		w.Emit(key, record)
	}
}

// Err returns the first error of writing, or of the partitioner.
func (w *wireOut) Err() error { return cmp.Or(w.c.wire.err, w.c.failed()) }

// end returns the first error.
func (w *wireOut) end() error { return w.Err() }

// combining is the kvbuffer of package engine: it folds or combines records, and spills them to the
// system's directory of temporary files. At the end it writes them to the wire.
type combining struct {
	*spill.Buffer
	c      *child
	budget *membudget.Budget
	merge  *membudget.Lease // of the merge at the end
	temp   *disk.TempRoot
}

// Leases of a combining. The kvbuffer keeps leaveBytes of its lease free, and needs room to sort and to
// write. mergeBytes is for the merge of what it has spilled.
const (
	leaveBytes = spill.LeastBytes
	mergeBytes = 32 * membudget.ChunkBytes
)

// newCombining makes the kvbuffer of a job with a folder or a combiner.
func (c *child) newCombining() (out *combining, release func(), err error) {
	o := spill.Options{Parts: 1, AppendKey: c.job.AppendKey, Folder: c.wire.folder}
	// Only a combiner sees partitions: it is flushed behind each.
	if c.job.NewCombiner != nil {
		o.Parts = c.o.Reduces
		o.Partition = func(key []byte, parts int) int { part, _, _ := c.wire.part(key, parts); return part }
		o.Combiner = func() jobs.Reducer {
			combiner := c.job.NewCombiner()
			c.begin(combiner)
			return combiner
		}
	}
	return c.newBuffer(o)
}

// newBuffer makes a kvbuffer, and a function that gives back what it has.
func (c *child) newBuffer(o spill.Options) (out *combining, release func(), err error) {
	b := &combining{c: c, temp: disk.NewTempRoot(nil, 0)}
	leaseBytes := (c.o.TableBytes/membudget.ChunkBytes+1)*membudget.ChunkBytes + leaveBytes
	if b.budget, err = membudget.New(leaseBytes + mergeBytes); err != nil {
		return nil, nil, err
	}
	// The budget has exactly these two leases, so both are granted.
	lease, _ := b.budget.TryReserve(leaseBytes)
	b.merge, _ = b.budget.TryReserve(mergeBytes)
	o.StartBytes, o.KVBuffer.NoGrowth = c.o.TableBytes, true
	o.Lease, o.CreateTemp = lease, b.createTemp
	o.AfmBytes, o.Late = b.budget.Free, c.emittedLate
	o.Killed, o.Notify = func() bool { return false }, func(shuffle.Event) {}
	o.Background = func(spill func()) { spill() }
	o.Guard = func(_ string, call func() error) error { return call() } // a panic of the user code ends the child
	release = func() {
		if b.Buffer != nil {
			b.Discard()
		}
		lease.Close()
		b.merge.Close()
		_ = b.budget.Close()
		_ = b.temp.Close() // what is left does no harm
	}
	if b.Buffer, err = spill.NewBuffer(o); err != nil {
		release()
		return nil, nil, err
	}
	return b, release, nil
}

// createTemp makes the file of a spill.
func (b *combining) createTemp() (*disk.TempFile, error) { return b.temp.Create("map") }

// end writes all records to the wire.
func (b *combining) end() error {
	out, err := b.Close()
	if err != nil {
		return err
	}
	defer out.Release()
	stats := b.Stats()
	c := b.c
	c.counters[mapOutputRecords] += stats.Records
	c.counters[combineInputRecords] += stats.CombineIn
	c.counters[combineOutputRecords] += stats.CombineOut
	wire := &wireOut{c}
	for part := range out.Parts() {
		m, err := shuffle.NewMerge(c.ctx, shuffle.MergeOptions{Inputs: []*shuffle.MapOutput{out}, Part: part, Lease: b.merge, CreateTemp: b.createTemp})
		if err != nil {
			return err
		}
		for m.Next() {
			wire.write(m.Key(), m.Value())
		}
		err = m.Err()
		m.Close()
		if err != nil {
			return err
		}
	}
	return wire.Err()
}

// rawOut is the emitter of a job without reducers. It collects the text of the result in chunks.
// A chunk is a record on the wire: its key is its place in the input, and its value is the text.
type rawOut struct {
	c     *child
	chunk []byte
	seq   uint64 // number of the next chunk in the split
	line  []byte // reused by write
}

// rawChunkBytes is the least length of a chunk, except the last one of a split.
const rawChunkBytes = 64 << 10

// Emit implements jobs.Emitter. It appends a record to the result, with its delimiter.
func (r *rawOut) Emit(key, value []byte) {
	r.chunk = append(appendRecord(r.chunk, key, value), r.c.job.Delim.Byte())
	r.spill()
}

// WriteRaw implements jobs.RawWriter. It appends p to the result.
func (r *rawOut) WriteRaw(p []byte) {
	r.chunk = append(r.chunk, p...)
	r.spill()
}

// spill writes the chunk if it is full.
func (r *rawOut) spill() {
	if r.c.closing {
		r.c.emittedLate()
	}
	if len(r.chunk) >= rawChunkBytes {
		r.write()
	}
}

// write writes the chunk. c.out keeps the first error.
func (r *rawOut) write() {
	line := append(append(r.line[:0], r.c.wire.position...), 0)
	line = appendHex(line, r.seq)
	r.seq++
	line = append(line, '\t')
	line = appendEscaped(line, r.chunk)
	r.c.put(append(line, '\n'), 0)
	r.line, r.chunk = line, r.chunk[:0]
	r.c.counters[mapOutputRecords]++
}

// Err returns the first error of writing.
func (r *rawOut) Err() error { return r.c.failed() }

// end writes the last chunk. It writes at least one for each split, because the reduce must see
// each split.
func (r *rawOut) end() error {
	if len(r.chunk) > 0 || r.seq == 0 {
		r.write()
	}
	return r.c.failed()
}

// appendRecord appends a record of a result without its delimiter: key, TAB and value, or only one
// of them if the other is empty.
func appendRecord(dst, key, value []byte) []byte {
	dst = append(dst, key...)
	if len(key) > 0 && len(value) > 0 {
		dst = append(dst, '\t')
	}
	return append(dst, value...)
}

// errCarriageReturn is the error for a result that Hadoop would divide at a carriage return.
var errCarriageReturn = errs.Errorf("a result holds a carriage return, at which Hadoop ends a record of text; give %s typedbytes", errs.Field("Options.Results"))
