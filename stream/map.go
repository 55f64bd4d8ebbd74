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

// runMap reads stdin in blocks, calls the mapper with each, and writes what it emits.
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
		// An empty split gives one empty block, so that the mapper sees each file.
		if err == io.EOF && !first {
			break
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("read standard input: %w", err)
		}
		if c.job.SkipBinary && bytes.IndexByte(data, 0) >= 0 {
			return errs.Inputf(file, "holds a NUL byte; mrlocal run skips such a binary file, but a map cannot skip the file's other splits; give -a to read it as text")
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

// fileNumber returns a hash of the path in place of the number of a file, which a single map does
// not know. Two files rarely have the same. restore fails if two neighbours do.
func fileNumber(path string) int32 {
	h := fnv.New32a()
	h.Write([]byte(path))
	return int32(h.Sum32() >> 1)
}

// blockReader reads blocks of whole lines.
type blockReader struct {
	in   io.Reader
	buf  []byte // its capacity is the length of a block
	used int    // bytes of buf that the last block had
	eof  bool
}

// next returns the next block, borrowed until the next call. Only the last line of the input may
// lack its newline. The error is io.EOF behind the last block.
func (r *blockReader) next() ([]byte, error) {
	n := copy(r.buf, r.buf[r.used:])
	r.buf, r.used = r.buf[:n], 0
	searched := 0 // bytes of buf without a newline
	for !r.eof {
		if len(r.buf) == cap(r.buf) {
			if i := bytes.LastIndexByte(r.buf[searched:], '\n'); i >= 0 {
				r.used = searched + i + 1
				return r.buf[:r.used], nil
			}
			searched = len(r.buf)
			r.buf = slices.Grow(r.buf, len(r.buf)) // a line is longer than the buffer
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

// emitter gets what a mapper emits. end writes what is left, and returns the first error of
// writing.
type emitter interface {
	jobs.Emitter
	end() error
}

// newEmitter returns the emitter for a map of the job.
func (c *child) newEmitter() emitter {
	switch {
	case c.mapOnly():
		return &rawOut{c: c}
	case c.job.NewFolder != nil:
		return &folding{wireOut: wireOut{c}, folder: c.wire.folder, sums: c.wire.sums, table: map[string][]byte{}, counts: map[string]uint64{}}
	}
	return &wireOut{c}
}

// failed returns the first error of writing to stdout.
func (c *child) failed() error {
	_, err := c.out.Write(nil) // a bufio.Writer keeps its first error
	return err
}

// wireOut writes each record at once. It is also a jobs.Taker.
type wireOut struct{ c *child }

// Emit implements jobs.Emitter.
func (w *wireOut) Emit(key, value []byte) {
	w.c.counters[mapOutputRecords]++
	w.write(key, value)
}

// write writes a record without counting it. c.out keeps the first error.
func (w *wireOut) write(key, value []byte) { _, _ = w.c.out.Write(w.c.wire.record(key, value)) }

// Take implements jobs.Taker. It writes each record of b.
func (w *wireOut) Take(b jobs.Block, records []jobs.Span) {
	takeEach(&w.c.job, b, records, w.Emit)
}

// takeEach calls emit for each record of a block. A record is the key, with an empty value, unless
// the job makes a key from it (jobs.Job.AppendKey).
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

// end returns the first error of writing.
func (w *wireOut) end() error { return w.c.failed() }

// folding folds the values of each key in a table. It writes the table when the table is full.
type folding struct {
	wireOut
	folder jobs.Folder
	sums   bool              // counts is the table; otherwise table is
	counts map[string]uint64 // the sum of each key
	table  map[string][]byte // the accumulator of each key
	bytes  int64             // estimated size of the table
}

// entryBytes is the estimated size of an entry, without its key and accumulator.
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
	grown := fold(f.folder, acc, value)
	f.table[string(key)] = grown
	f.bytes += int64(len(grown) - len(acc))
	if !known {
		f.grow(len(key))
	}
}

// fold returns acc with value folded in. The result is not nil, because a Folder takes a nil
// accumulator for that of a new key.
func fold(f jobs.Folder, acc, value []byte) []byte {
	if acc = f.Fold(acc, value); acc == nil {
		acc = []byte{}
	}
	return acc
}

// Take implements jobs.Taker. It folds each record of b, as Emit does.
func (f *folding) Take(b jobs.Block, records []jobs.Span) {
	takeEach(&f.c.job, b, records, f.Emit)
}

// add adds n to the sum of key, which it borrows during the call.
func (f *folding) add(key []byte, n uint64) {
	total, known := f.counts[string(key)]
	f.counts[string(key)] = total + n
	if !known {
		f.grow(len(key))
	}
}

// grow adds a new entry to the estimated size, and writes the table if it is full.
func (f *folding) grow(keyBytes int) {
	if f.bytes += int64(keyBytes) + entryBytes; f.bytes > f.c.o.TableBytes {
		f.empty()
	}
}

// empty writes the table and clears it. The order is that of the keys, so that each run of a map
// has the same output.
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

// end writes the rest of the table.
func (f *folding) end() error {
	f.empty()
	return f.wireOut.end()
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
	_, _ = r.c.out.Write(append(line, '\n'))
	r.line, r.chunk = line, r.chunk[:0]
	r.c.counters[mapOutputRecords]++
}

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
var errCarriageReturn = errors.New("a result holds a carriage return, at which Hadoop ends a record of text; give Options.Results typedbytes")
