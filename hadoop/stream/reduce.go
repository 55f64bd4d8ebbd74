package stream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/jobs"
	"mrlocal/shuffle"
)

// scanLines returns a scanner of the lines of in, which may have any length. No line of the wire ends with a
// carriage return, which the scanner would remove.
func scanLines(in io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 256<<10), math.MaxInt)
	return s
}

// groups reads records from the wire and divides them into groups. It is the jobs.Refiller of
// the values of the current group. It reads one record ahead.
type groups struct {
	in   lines
	wire *wire
	// same returns the part of a key, escaped, that the records of a group share.
	same func(whole []byte) []byte

	whole, value []byte // key and value of the record that was read ahead, escaped
	held         bool   // there is such a record
	key          []byte // of the current group: the part that same returns
	begun        bool   // the first record was read
	open         bool   // there is a current group
	err          error  // the first error; it ends the groups

	plain   []byte // key of the current group, not escaped
	values  jobs.Values
	base    []byte // the current window of values
	spans   []jobs.Span
	records int64 // records that were read
}

// windowBytes is the limit on a window of values, unless a single value is longer.
const windowBytes = 1 << 20

// windowValues is the limit on the number of values in a window.
const windowValues = 4096

// read reads one record ahead. value is borrowed from in, whole is copied.
func (g *groups) read() {
	if g.held = g.in.Scan(); !g.held {
		if err := g.in.Err(); err != nil {
			g.err = fmt.Errorf("read standard input: %w", err)
		}
		return
	}
	whole, value, _ := bytes.Cut(g.in.Bytes(), []byte{'\t'})
	g.whole = append(g.whole[:0], whole...)
	g.value = value
	g.records++
}

// next moves to the next group and reports whether there is one. It skips the records that are
// left of the current group. After false, err has the error if there was one.
func (g *groups) next() bool {
	if !g.begun {
		g.begun = true
		g.read()
	}
	for g.open && g.held && bytes.Equal(g.same(g.whole), g.key) && g.err == nil {
		g.read()
	}
	g.open = g.held && g.err == nil
	if !g.open {
		return false
	}
	g.key = append(g.key[:0], g.same(g.whole)...)
	return true
}

// Refill implements jobs.Refiller. It gives vs the next window of values of the current group.
func (g *groups) Refill(vs *jobs.Values) bool {
	g.base, g.spans = g.base[:0], g.spans[:0]
	for g.held && g.err == nil && len(g.base) < windowBytes && len(g.spans) < windowValues && bytes.Equal(g.same(g.whole), g.key) {
		from := len(g.base)
		if g.base, g.err = g.wire.appendValueOf(g.base, g.value); g.err != nil {
			return false
		}
		g.spans = append(g.spans, jobs.Span{Off: uint32(from), Len: uint32(len(g.base) - from)})
		g.read()
	}
	if len(g.spans) == 0 {
		return false
	}
	vs.Window(g.base, g.spans)
	return true
}

// NextGroup implements shuffle.Groups: it moves to the next key.
func (g *groups) NextGroup() bool {
	if !g.next() {
		return false
	}
	var err error
	if g.plain, err = appendUnescaped(g.plain[:0], keyOf(g.key)); err != nil {
		g.err = fmt.Errorf("key %q: %w", g.key, err)
		return false
	}
	g.values.Reset(g)
	return true
}

// Key returns the key of the group.
func (g *groups) Key() []byte { return g.plain }

// Values returns the values of the group.
func (g *groups) Values() *jobs.Values { return &g.values }

// runCombine folds or combines the values of each key. The key keeps its form on the wire. A
// job without a folder and a combiner has its records copied, and so has one whose keys have
// positions, because no two of them are equal.
func (c *child) runCombine(stdin io.Reader) error {
	g := &groups{in: scanLines(stdin), wire: &c.wire, plain: []byte{}, same: func(whole []byte) []byte { return whole }}
	// A combiner that emits keys of its own gets them in the form of the wire from their parts.
	own, late := &wireOut{c}, false
	add := func(key, value []byte) {
		c.counters[combineOutputRecords]++
		if late {
			own.write(key, value)
			return
		}
		c.wire.line = c.wire.appendValue(append(c.wire.line[:0], g.key...), value)
		_, _ = c.out.Write(c.wire.line)
	}
	var combining *shuffle.Combining
	if c.job.NewCombiner != nil && !c.wire.inOrder {
		combiner := c.job.NewCombiner()
		c.begin(combiner)
		_, late = combiner.(jobs.Flusher)
		combining = shuffle.NewCombining(combiner, c.emittedLate, guard.Failed("combiner"))
		combining.Begin(add)
	}
	for g.NextGroup() {
		vs := g.Values()
		switch {
		case c.wire.folder != nil:
			var acc []byte
			for vs.Next() {
				if acc = c.wire.folder.Fold(acc, vs.Value()); acc == nil {
					acc = []byte{} // a nil accumulator is that of a new key
				}
			}
			if g.err == nil {
				add(g.Key(), acc)
			}
		case combining != nil:
			if err := combining.Group(g.Key(), vs); err != nil {
				return err
			}
		default:
			for vs.Next() {
				add(g.Key(), vs.Value())
			}
		}
	}
	if combining != nil && g.err == nil {
		if err := combining.End(); err != nil {
			return err
		}
	}
	c.counters[combineInputRecords] += g.records
	return errors.Join(g.err, c.failed())
}

// runReduce runs the reducer on each group and writes the result. For a job without reducers it
// puts the outputs of the maps in order.
func (c *child) runReduce(stdin io.Reader) error {
	if c.mapOnly() {
		return c.restore(stdin)
	}
	in, release, err := c.records(stdin)
	if err != nil {
		return err
	}
	defer release()
	g := &groups{in: in, wire: &c.wire, plain: []byte{}, same: keyOf}
	reducer := c.job.NewReducer()
	c.begin(reducer)
	out := &resultOut{c: c}
	reduce := reducer.Reduce
	if each, ok := reducer.(jobs.RecordReducer); ok && c.job.GroupBytes == nil {
		reduce = func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
			return jobs.ReduceRecords(each, key, vs, out)
		}
	}
	for groups := shuffle.ByPrefix(g, c.job.GroupBytes); groups.NextGroup(); {
		c.counters[reduceInputGroups]++
		if err := reduce(groups.Key(), groups.Values(), out); err != nil {
			return err
		}
		if err := errors.Join(g.err, out.err, c.failed()); err != nil {
			return err
		}
	}
	c.counters[reduceInputRecords] = g.records
	if f, ok := reducer.(jobs.Flusher); ok && g.err == nil {
		if err := f.Flush(out); err != nil {
			return err
		}
	}
	return errors.Join(g.err, out.err, c.failed())
}

// resultOut writes the records of the result.
type resultOut struct {
	c    *child
	line []byte // of Emit: reused; of Write: the part of a line so far
	err  error  // the first record that Hadoop would change; nothing is written after it
}

// Emit implements jobs.Emitter.
func (r *resultOut) Emit(key, value []byte) {
	r.line = appendRecord(r.line[:0], key, value)
	r.record(r.line)
}

// record writes a record in a form from which Hadoop's TextOutputFormat makes the same bytes.
func (r *resultOut) record(line []byte) {
	r.c.counters[reduceOutputRecords]++
	switch {
	case r.c.closing:
		r.c.emittedLate()
	case r.err != nil:
	case r.c.o.Results == TypedBytes && !utf8.Valid(line):
		r.err = errs.Errorf("%q is not UTF-8, and Hadoop would change it; give %s text", string(line[:min(len(line), 60)]), errs.Field("Options.Results"))
	case r.c.o.Results == TypedBytes:
		// The key is the record: type code 7 for a string, 4 bytes of length, text. The value is an
		// empty string.
		var head [5]byte
		head[0] = 7
		binary.BigEndian.PutUint32(head[1:], uint32(len(line)))
		_, _ = r.c.out.Write(head[:])
		_, _ = r.c.out.Write(line)
		_, _ = r.c.out.Write([]byte{7, 0, 0, 0, 0})
	case !r.c.o.Spark && bytes.IndexByte(line, '\r') >= 0:
		r.err = errCarriageReturn
	case !r.c.o.Spark && bytes.IndexByte(line, '\n') >= 0:
		r.err = errNewline
	default:
		_, _ = r.c.out.Write(line)
		_ = r.c.out.WriteByte('\n')
	}
}

// errNewline is the error for a result that Hadoop would divide at a newline.
var errNewline = errs.Errorf("a result holds a newline, at which Hadoop ends a record of text; give %s typedbytes", errs.Field("Options.Results"))

// Write implements io.Writer for a jobs.Releaser. It takes text and writes a record for each line.
func (r *resultOut) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			r.line = append(r.line, p...)
			return n, r.err
		}
		r.line = append(r.line, p[:i]...)
		r.record(r.line)
		r.line, p = r.line[:0], p[i+1:]
	}
}

// flush writes the last line if it has no newline. It returns the error of a record.
func (r *resultOut) flush() error {
	if len(r.line) > 0 {
		r.record(r.line)
		r.line = r.line[:0]
	}
	return r.err
}

// restore is the reduce of a job without reducers. It puts the outputs of the maps in the order of
// the input, and passes each to the Releaser of the job.
func (c *child) restore(stdin io.Reader) error {
	// A group is the chunks of a split: their keys differ only in NUL and the number of the chunk.
	in, free, err := c.records(stdin)
	if err != nil {
		return err
	}
	defer free()
	g := &groups{in: in, wire: &c.wire, plain: []byte{}, same: func(whole []byte) []byte { return whole[:max(0, len(whole)-1-hexDigits)] }}
	out := &resultOut{c: c}
	var release jobs.Releaser = jobs.Copying{}
	if c.job.NewReleaser != nil {
		release = guard.Releaser(c.job.NewReleaser())
	}
	verdict := jobs.Continue
	file := ""
	for g.next() {
		path, err := pathOf(g.key)
		if err != nil {
			return fmt.Errorf("key %q: %w", g.key, err)
		}
		again := path == file
		if !again && file != "" && fileNumber(path) == fileNumber(file) {
			return fmt.Errorf("files %q and %q have the same number", file, path)
		}
		file = path
		if verdict == jobs.EndJob || verdict == jobs.EndFile && again {
			continue
		}
		split := &splitReader{g: g}
		split.vs.Reset(g)
		if verdict, err = release.Release(split, out); err != nil {
			return err
		}
	}
	if g.err != nil {
		return g.err
	}
	if err := release.Finish(out); err != nil {
		return err
	}
	return errors.Join(out.flush(), c.failed())
}

// splitReader reads the output of one map: the values of the current group, joined.
type splitReader struct {
	g    *groups
	vs   jobs.Values
	rest []byte // the part of the current value that was not read, borrowed from vs
}

// Read implements io.Reader.
func (s *splitReader) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if !s.vs.Next() {
			if s.g.err != nil {
				return 0, s.g.err
			}
			return 0, io.EOF
		}
		s.rest = s.vs.Value()
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
