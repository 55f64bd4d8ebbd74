package stream

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strconv"

	"mrlocal/jobs"
	"mrlocal/spill"
)

// A record on the wire is a line:
//
//	key [NUL position] [NUL label] [TAB value]
//
// Key and value are escaped: a byte below 14 becomes the byte 1, then the byte plus '0'. So no
// TAB, newline or carriage return is left, at which Hadoop would end a field or record.
//
// Escaped keys have the order of the keys. All escapes begin with 1, their second bytes have
// the order of the escaped bytes, and all other bytes are greater than 1. NUL ends a key. It is
// less than any byte of a longer key.
//
// The value of a sum is a decimal number. A position is the place of the record in the input.
// Keys have it if the order of values matters. A label leads the record to its reduce. With Options.Spark
// there is no label: a map writes blocks of records of one reduce (blocks.go).
const (
	escape   = 1   // the first byte of an escape
	escaped  = 14  // bytes below it are escaped
	escapeAt = '0' // is added to an escaped byte
)

// appendEscaped appends p to dst, escaped.
func appendEscaped(dst, p []byte) []byte {
	from := 0
	for i, b := range p {
		if b < escaped {
			dst = append(append(dst, p[from:i]...), escape, b+escapeAt)
			from = i + 1
		}
	}
	return append(dst, p[from:]...)
}

// errWire is the error for a line that no map of this package writes.
var errWire = errors.New("not a record of mrlocal stream map")

// appendUnescaped appends p to dst without its escapes. It fails if an escape is not whole.
func appendUnescaped(dst, p []byte) ([]byte, error) {
	for {
		i := bytes.IndexByte(p, escape)
		if i < 0 {
			return append(dst, p...), nil
		}
		if i+1 >= len(p) || p[i+1]-escapeAt >= escaped {
			return dst, errWire
		}
		dst = append(append(dst, p[:i]...), p[i+1]-escapeAt)
		p = p[i+2:]
	}
}

// wire writes and reads the records of one job.
type wire struct {
	folder   jobs.Folder // of the attempt; nil: the job has none
	blocks   bool        // records go to their reduces in blocks (Options.Spark)
	sums     bool        // values are 8 bytes, as those of jobs.Sum, and decimal on the wire
	inOrder  bool        // keys have positions
	reduces  int
	cuts     [][]byte                        // escaped
	target   func(key []byte, parts int) int // chooses the reduce of a key; nil: see ordered
	ordered  bool                            // the job is a total order, so cuts choose the reduce. Else Hadoop's hash does
	position []byte                          // of the split, without the number of a record
	seq      uint64                          // number of the next record in the split
	err      error                           // of target: the first number that is out of range

	line []byte // reused by record
	key  []byte // reused by part
}

// newWire makes the wire of a job. input is the number of the input to which the file of a map belongs.
func newWire(job *jobs.Job, o Options, input int) wire {
	w := wire{reduces: o.Reduces, blocks: o.Spark, inOrder: o.InOrder && job.NewReducer != nil, target: job.Partition, ordered: job.Ordered && job.NewReducer != nil}
	if job.NewFolder != nil {
		w.folder = job.NewFolder()
		switch w.folder.(type) {
		case jobs.Sum, jobs.Summer:
			w.sums = true
		}
	}
	group := job.GroupBytes
	switch {
	case w.target != nil && group != nil:
		w.target = jobs.OneReduce(w.target, group)
	case w.target != nil || w.ordered:
	case group != nil: // all keys of a group go to one reduce, as in package engine
		w.target = func(key []byte, parts int) int { return spill.HashPartition(jobs.GroupOf(key, group), parts) }
	case w.inOrder: // Hadoop would hash the position too
		w.target = spill.HashPartition
	}
	for _, cut := range o.Cuts {
		w.cuts = append(w.cuts, appendEscaped(nil, cut))
	}
	// The number of the input from 0, the path of the file, NUL, and the start of the split. So places compare, byte by
	// byte, in the order of the input.
	w.position = append(appendEscaped(appendHex(nil, uint64(input)), []byte(o.Task.InputFile)), 0)
	w.position = appendHex(w.position, uint64(o.Task.InputStart))
	return w
}

// part returns the reduce of a key, from 0 to parts-1, and its escaped form, borrowed until the next
// call. A key needs a label if Hadoop's own hash would lead it elsewhere.
func (w *wire) part(key []byte, parts int) (part int, escaped []byte, label bool) {
	w.key = appendEscaped(w.key[:0], key)
	switch {
	case parts == 1:
	case w.target != nil:
		if part = w.target(key, parts); part < 0 || part >= parts {
			w.err = cmp.Or(w.err, fmt.Errorf("the partitioner returned %d; must be from 0 to %d", part, parts-1))
			part = 0
		}
		label = true
	case w.ordered:
		// A key that equals a cut belongs to the range behind the cut.
		part, label = sort.Search(len(w.cuts), func(i int) bool { return bytes.Compare(w.key, w.cuts[i]) < 0 }), true
	default:
		part = int(hashOf(1, w.key)&0x7fffffff) % parts
	}
	return part, w.key, label
}

// record returns the line of a record, borrowed until the next call, and its reduce.
func (w *wire) record(key, value []byte) (line []byte, part int) {
	part, escaped, label := w.part(key, w.reduces)
	line = append(w.line[:0], escaped...)
	if w.inOrder {
		line = append(append(line, 0), w.position...)
		line = appendHex(line, w.seq)
		w.seq++
	}
	if label && !w.blocks {
		line = appendLabel(append(line, 0), part, w.reduces)
	}
	w.line = w.appendValue(line, value)
	return w.line, part
}

// appendValue appends TAB, value and newline. It leaves out TAB before an empty value, because
// Hadoop adds it.
func (w *wire) appendValue(line, value []byte) []byte {
	switch {
	case w.sums:
		line = strconv.AppendUint(append(line, '\t'), jobs.Uint64(value), 10)
	case len(value) > 0:
		line = appendEscaped(append(line, '\t'), value)
	}
	return append(line, '\n')
}

// keyOf returns the key without position and label, still escaped.
func keyOf(whole []byte) []byte {
	key, _, _ := bytes.Cut(whole, []byte{0})
	return key
}

// appendValueOf appends the value of a record to dst, in the form that user code gets. value is
// the form on the wire. It fails if value is in another form.
func (w *wire) appendValueOf(dst, value []byte) ([]byte, error) {
	if !w.sums {
		return appendUnescaped(dst, value)
	}
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return dst, fmt.Errorf("%w: its value %q is not a count", errWire, value)
	}
	return jobs.AppendUint64(dst, n), nil
}

// pathOf returns the path of the file in a position.
func pathOf(position []byte) (string, error) {
	if len(position) < 2*hexDigits+1 {
		return "", errWire
	}
	path, err := appendUnescaped(nil, position[hexDigits:len(position)-1-hexDigits])
	return string(path), err
}

// hexDigits is the number of digits that appendHex appends.
const hexDigits = 16

// appendHex appends n as hexDigits hexadecimal digits. Their byte order is that of the numbers.
func appendHex(dst []byte, n uint64) []byte {
	var room [8]byte
	return hex.AppendEncode(dst, binary.BigEndian.AppendUint64(room[:0], n))
}

// These are the counters of a child. Hadoop adds up those of all children of a job.
const (
	mapInputBytes = iota
	mapOutputRecords
	combineInputRecords
	combineOutputRecords
	mapInputRecords
	reduceInputGroups
	reduceInputRecords
	reduceOutputRecords
	counters
)

// CounterGroup is the group of a child's counters in Hadoop.
const CounterGroup = "mrlocal"

// writeCounters writes the counters to standard error, as Hadoop Streaming reads them
// (PipeMapRed.MRErrorThread). Outside of a task it writes nothing.
func (c *child) writeCounters() {
	if !c.o.Task.Counts {
		return
	}
	// The names are those of the report, except the first. Hadoop takes MAP_INPUT_BYTES of any group for
	// an old name of its own counter "Bytes Read" (AbstractCounters.findCounter).
	for i, name := range [counters]string{"INPUT_BYTES", "MAP_OUTPUT_RECORDS", "COMBINE_INPUT_RECORDS", "COMBINE_OUTPUT_RECORDS",
		"MAP_INPUT_RECORDS", "REDUCE_INPUT_GROUPS", "REDUCE_INPUT_RECORDS", "REDUCE_OUTPUT_RECORDS"} {
		// Hadoop counts the last four itself.
		if c.counters[i] > 0 && (i < mapInputRecords || c.o.Spark) {
			fmt.Fprintf(c.stderr, "reporter:counter:%s,%s,%d\n", CounterGroup, name, c.counters[i])
		}
	}
}
