package stream

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// runMap feeds the mapper with blocks of stdin.
func (c *child) runMap(stdin io.Reader) error {
	m := c.job.NewMapper()
	c.begin(m)
	out := c.newEmitter()
	file := c.o.Task.InputFile
	file = cmp.Or(file, "(standard input)")
	b := jobs.Block{Path: file, File: fileNumber(file), Offset: c.o.Task.InputStart}
	r := blockReader{in: stdin, buf: make([]byte, 0, blockBytes)}
	for first := true; ; first = false {
		data, err := r.next()
		// An empty split gives one block, so that the mapper sees each file.
		if err == io.EOF && !first {
			break
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("read standard input: %w", err)
		}
		if c.job.SkipBinary && bytes.IndexByte(data, 0) >= 0 {
			return errs.Inputf(file, "holds a NUL byte; mrlocal run would skip a binary file, and a split does not know its file: give -a to read it as text")
		}
		b.Data = data
		c.counters[mapInputBytes] += int64(len(data))
		if err := m.Map(b, out); err != nil {
			return err
		}
		b.Offset += int64(len(data))
		if err := c.failed(); err != nil {
			return err
		}
		if err == io.EOF {
			break
		}
	}
	if f, ok := m.(jobs.Flusher); ok {
		if err := f.Flush(out); err != nil {
			return err
		}
	}
	return out.end()
}

// fileNumber stands for the number of a file, which a single map does not know. Each file has
// its own; restore finds out where two neighbours share one.
func fileNumber(path string) int32 {
	h := fnv.New32a()
	h.Write([]byte(path))
	return int32(h.Sum32() >> 1)
}

// blockReader reads blocks of whole lines.
type blockReader struct {
	in   io.Reader
	buf  []byte
	used int // of buf, by the last block
	eof  bool
}

// next returns the next block, borrowed until the next call. Its last line may lack the newline
// at the end of the input only.
func (r *blockReader) next() ([]byte, error) {
	n := copy(r.buf, r.buf[r.used:])
	r.buf, r.used = r.buf[:n], 0
	searched := 0
	for !r.eof {
		if len(r.buf) == cap(r.buf) {
			if i := bytes.LastIndexByte(r.buf[searched:], '\n'); i >= 0 {
				r.used = searched + i + 1
				return r.buf[:r.used], nil
			}
			searched = len(r.buf)
			r.buf = slices.Grow(r.buf, len(r.buf)) // a long line
		}
		n, err := r.in.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if err == io.EOF {
			r.eof = true
		} else if err != nil {
			return nil, err
		}
	}
	if len(r.buf) == 0 {
		return nil, io.EOF
	}
	r.used = len(r.buf)
	return r.buf, nil
}

// emitter is what a mapper emits to.
type emitter interface {
	jobs.Emitter
	end() error
}

// newEmitter makes the emitter of a map.
func (c *child) newEmitter() emitter {
	switch {
	case c.mapOnly():
		return &rawOut{c: c}
	case c.job.NewFolder != nil:
		return &folding{wireOut: wireOut{c}, folder: c.job.NewFolder(), sums: c.wire.sums, table: map[string][]byte{}, counts: map[string]uint64{}}
	}
	return &wireOut{c}
}

// failed returns the first error of writing.
func (c *child) failed() error {
	_, err := c.out.Write(nil) // a bufio.Writer keeps its first error
	return err
}

// wireOut writes each record to the wire. It is a jobs.Taker and, by jobs.EmitSpans, takes spans.
type wireOut struct{ c *child }

// Emit implements jobs.Emitter.
func (w *wireOut) Emit(key, value []byte) {
	w.c.counters[mapOutputRecords]++
	w.write(key, value)
}

// write writes a record. The writer keeps the first error.
func (w *wireOut) write(key, value []byte) { _, _ = w.c.out.Write(w.c.wire.record(key, value)) }

// Take implements jobs.Taker: the records are written at once.
func (w *wireOut) Take(b jobs.Block, records []jobs.Span) {
	takeEach(&w.c.job, b, records, w.Emit)
}

// takeEach emits each record of a block, with the key that the job makes of it.
func takeEach(job *jobs.Job, b jobs.Block, records []jobs.Span, emit func(key, value []byte)) {
	var key []byte
	for _, s := range records {
		record := b.Data[s.Off : s.Off+s.Len]
		if job.AppendKey == nil {
			emit(record, nil)
			continue
		}
		key = job.AppendKey(key[:0], record)
		emit(key, record)
	}
}

func (w *wireOut) end() error { return w.c.failed() }

// folding folds values in a table, and writes the table when it is full.
type folding struct {
	wireOut
	folder jobs.Folder
	sums   bool
	counts map[string]uint64 // of sums
	table  map[string][]byte // of other folders
	bytes  int64             // of keys and accumulators, about
}

// entryBytes is what an entry takes beside its key and accumulator, about.
const entryBytes = 64

// Emit implements jobs.Emitter.
func (f *folding) Emit(key, value []byte) {
	f.c.counters[mapOutputRecords]++
	f.c.counters[combineInputRecords]++
	if f.sums {
		f.add(key, jobs.Uint64(value))
		return
	}
	acc, known := f.table[string(key)]
	grown := f.folder.Fold(acc, value)
	f.table[string(key)] = grown
	f.bytes += int64(len(grown) - len(acc))
	if !known {
		f.grow(len(key))
	}
}

// Take counts each record of a block as Emit does.
func (f *folding) Take(b jobs.Block, records []jobs.Span) {
	takeEach(&f.c.job, b, records, f.Emit)
}

// add adds n to the sum of key.
func (f *folding) add(key []byte, n uint64) {
	total, known := f.counts[string(key)]
	f.counts[string(key)] = total + n
	if !known {
		f.grow(len(key))
	}
}

// grow counts a new entry, and empties a full table.
func (f *folding) grow(keyBytes int) {
	if f.bytes += int64(keyBytes) + entryBytes; f.bytes > f.c.o.TableBytes {
		f.empty()
	}
}

// empty writes the table in the order of its keys, so that the output of a map is always the
// same.
func (f *folding) empty() {
	keys := make([]string, 0, len(f.counts)+len(f.table))
	for key := range f.counts {
		keys = append(keys, key)
	}
	for key := range f.table {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, strings.Compare)
	f.c.counters[combineOutputRecords] += int64(len(keys))
	for _, key := range keys {
		if f.sums {
			f.write([]byte(key), jobs.AppendUint64(nil, f.counts[key]))
			continue
		}
		f.write([]byte(key), f.table[key])
	}
	clear(f.counts)
	clear(f.table)
	f.bytes = 0
}

func (f *folding) end() error {
	f.empty()
	return f.wireOut.end()
}

// rawOut writes what a job without reducers writes: chunks of bytes, whose keys are their places
// in the input.
type rawOut struct {
	c     *child
	chunk []byte
	seq   uint64
	key   []byte
}

// rawChunkBytes is the length of a chunk.
const rawChunkBytes = 64 << 10

// Emit implements jobs.Emitter: it writes a record as it is to appear.
func (r *rawOut) Emit(key, value []byte) {
	r.chunk = append(appendRecord(r.chunk, key, value), r.c.job.Delim.Byte())
	r.spill()
}

// WriteRaw implements jobs.RawWriter.
func (r *rawOut) WriteRaw(p []byte) {
	r.chunk = append(r.chunk, p...)
	r.spill()
}

// spill writes a full chunk.
func (r *rawOut) spill() {
	if len(r.chunk) >= rawChunkBytes {
		r.write()
	}
}

// write writes the chunk. The writer keeps the first error.
func (r *rawOut) write() {
	r.key = append(append(r.key[:0], r.c.wire.position...), 0)
	r.key = appendHex(r.key, r.seq)
	r.seq++
	line := append(r.key, '\t')
	line = appendEscaped(line, r.chunk)
	_, _ = r.c.out.Write(append(line, '\n'))
	r.key, r.chunk = line, r.chunk[:0]
	r.c.counters[mapOutputRecords]++
}

// end writes the last chunk; one at least, so that the reduce sees each split.
func (r *rawOut) end() error {
	if len(r.chunk) > 0 || r.seq == 0 {
		r.write()
	}
	return r.c.failed()
}

// appendRecord appends a record of a result, without its delimiter: key, TAB, value, or the one
// that is not nil.
func appendRecord(dst, key, value []byte) []byte {
	dst = append(dst, key...)
	if key != nil && value != nil {
		dst = append(dst, '\t')
	}
	return append(dst, value...)
}

// errCarriageReturn is the error of a result that Hadoop would divide.
var errCarriageReturn = errors.New("a result holds a carriage return, at which Hadoop ends a record of text; give Options.Results typedbytes")
