package stream

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"mrlocal/jobs"
)

// A record on the wire is a line:
//
//	key [NUL position] [NUL label] [TAB value]
//
// Key and value are escaped: a byte below 14 becomes the byte 1 and the byte plus '0'. So
// neither TAB, newline nor carriage return is left, which Hadoop takes for ends of fields and
// records. Escaped keys have the order of the keys. All escapes begin with 1, the second byte
// orders them, and all other bytes are above. NUL ends a key: it is less than any byte of a
// longer key.
//
// The value of a sum is in decimal. The position is that of the record in the input, where the
// order of values counts. The label leads the record to its reduce.
const (
	escape   = 1
	escaped  = 14  // bytes below it are escaped
	escapeAt = '0' // is added to them
)

// appendEscaped appends p in its form on the wire.
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

// errWire is the error of a line that no map of this package writes.
var errWire = errors.New("not a record of mrlocal stream map")

// appendUnescaped appends what appendEscaped has escaped.
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
	sums     bool // values are those of jobs.Sum
	inOrder  bool // keys have positions
	reduces  int
	cuts     [][]byte // escaped
	target   func(key []byte, parts int) int
	ordered  bool
	position []byte // of the split
	seq      uint64 // of records in the split

	line []byte // reused
}

// newWire makes the wire of a job.
func newWire(job *jobs.Job, o Options) wire {
	w := wire{reduces: o.Reduces, inOrder: o.InOrder && job.NewReducer != nil, target: job.Partition, ordered: job.Ordered && job.NewReducer != nil}
	if job.NewFolder != nil {
		switch job.NewFolder().(type) {
		case jobs.Sum, jobs.Summer:
			w.sums = true
		}
	}
	for _, cut := range o.Cuts {
		w.cuts = append(w.cuts, appendEscaped(nil, cut))
	}
	w.position = appendPosition(nil, o.Inputs, o.Task.InputFile, o.Task.InputStart)
	return w
}

// record returns the line of a record, borrowed until the next call.
func (w *wire) record(key, value []byte) []byte {
	line := appendEscaped(w.line[:0], key)
	end := len(line)
	if w.inOrder {
		line = append(append(line, 0), w.position...)
		line = appendHex(line, w.seq)
		w.seq++
	}
	if w.reduces > 1 {
		switch {
		case w.target != nil:
			line = appendLabel(append(line, 0), w.target(key, w.reduces), w.reduces)
		case w.ordered:
			line = appendLabel(append(line, 0), w.rangeOf(line[:end]), w.reduces)
		}
	}
	w.line = w.appendValue(line, value)
	return w.line
}

// appendValue appends TAB, value and newline. An empty value has no TAB, and Hadoop adds it.
func (w *wire) appendValue(line, value []byte) []byte {
	switch {
	case w.sums:
		line = strconv.AppendUint(append(line, '\t'), jobs.Uint64(value), 10)
	case len(value) > 0:
		line = appendEscaped(append(line, '\t'), value)
	}
	return append(line, '\n')
}

// rangeOf returns the reduce of an escaped key in a total order: a key that equals a cut belongs
// to the range behind it.
func (w *wire) rangeOf(key []byte) int {
	return sort.Search(len(w.cuts), func(i int) bool { return bytes.Compare(key, w.cuts[i]) < 0 })
}

// cutLine divides a line without its newline. whole is the key with position and label.
func cutLine(line []byte) (whole, value []byte) {
	whole, value, _ = bytes.Cut(line, []byte{'\t'})
	return whole, value
}

// keyOf returns the escaped key alone.
func keyOf(whole []byte) []byte {
	key, _, _ := bytes.Cut(whole, []byte{0})
	return key
}

// appendValueOf appends the value that appendValue wrote.
func (w *wire) appendValueOf(dst, value []byte) ([]byte, error) {
	if !w.sums {
		return appendUnescaped(dst, value)
	}
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return dst, fmt.Errorf("%w: its value %q is no count", errWire, value)
	}
	return jobs.AppendUint64(dst, n), nil
}

// appendPosition appends the place of a split in the input: the number of the input, the path of
// the file, and the start of the split.
func appendPosition(dst []byte, inputs []string, file string, start int64) []byte {
	// The longest name that leads to the file is that of its input.
	number, longest := 0, -1
	for i, in := range inputs {
		if len(in) > longest && (file == in || strings.HasPrefix(file, strings.TrimSuffix(in, "/")+"/")) {
			number, longest = i, len(in)
		}
	}
	dst = appendHex(dst, uint64(number))
	dst = append(appendEscaped(dst, []byte(file)), 0)
	return appendHex(dst, uint64(start))
}

// pathOf returns the path of the file in a position.
func pathOf(position []byte) (string, error) {
	if len(position) < 2*hexDigits+1 {
		return "", errWire
	}
	path, err := appendUnescaped(nil, position[hexDigits:len(position)-1-hexDigits])
	return string(path), err
}

// hexDigits is what appendHex appends.
const hexDigits = 16

// appendHex appends n in hexDigits digits, which sort as numbers do.
func appendHex(dst []byte, n uint64) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[n>>shift&15])
	}
	return dst
}

// Counters of a child, which Hadoop adds up over all of them.
const (
	mapInputBytes = iota
	mapOutputRecords
	combineInputRecords
	combineOutputRecords
	counters
)

// CounterGroup is the group of these counters in Hadoop.
const CounterGroup = "mrlocal"

// counterNames has the names of the counters in their order. They are those of the report, but for
// the first: Hadoop takes MAP_INPUT_BYTES of any group for an old name of its own "Bytes Read", and
// adds to that (AbstractCounters.findCounter).
func counterNames() [counters]string {
	return [counters]string{"INPUT_BYTES", "MAP_OUTPUT_RECORDS", "COMBINE_INPUT_RECORDS", "COMBINE_OUTPUT_RECORDS"}
}

// tellCounters writes the counters as Hadoop Streaming reads them (PipeMapRed, "reporter:").
func (c *child) tellCounters() {
	if !c.o.Task.Counts {
		return
	}
	for i, name := range counterNames() {
		if c.counters[i] > 0 {
			fmt.Fprintf(c.stderr, "reporter:counter:%s,%s,%d\n", CounterGroup, name, c.counters[i])
		}
	}
}
