// Package sort is a job that sorts lines as GNU sort does in the C locale.
//
// The mapper only finds the ends of lines, and passes the whole block to the kvbuffer (jobs.Taker).
// So each line is copied once. Without keys, the line is its own sort key. Otherwise the options are
// compiled once to an Order. The Order makes a sort key for each line. Comparing these keys byte by
// byte gives the wanted order, so the engine only compares bytes.
//
// A key has one component for each -k. The whole line follows (the last resort of GNU sort), unless
// -s or -u is given. No component is a prefix of another one, so the next component is compared only
// if this one is equal. Descending components are inverted bit by bit, including their end.
//
// Numbers, numbers with units, floats, months, versions and digests each have an encoding of their
// own (appendNumber, appendHuman, appendGeneral, appendMonth, appendVersion, appendRandom). A
// component comes from a part of the line, from a column of CSV or from a value of JSON.
//
// Two details are not the same in all releases of GNU sort. Release 9.1 has another order of names
// such as .a under -V than the other releases. The order of several NaNs is not reliable in any.
//
// With Top, a mapper leaves out what comes behind Top other lines of its split. One reducer writes the result.
//
// Memory: a mapper keeps the spans of one block, eight bytes for each line, and reuses them. With Top, it has 1 MiB of
// keys, too.
package sort

import (
	"bytes"
	"slices"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// Options are options of GNU sort, with their letters. The zero value sorts lines by their
// bytes.
type Options struct {
	Keys       []string // -k POS1[,POS2], each with option letters behind it
	Separator  string   // -t: one byte, or \0; empty: blanks separate fields
	Numeric    bool     // -n: by a decimal number of any length
	General    bool     // -g: by a floating-point number, as on x86
	Human      bool     // -h: by a number with a unit, such as 2K
	Month      bool     // -M: by the name of a month
	Random     bool     // -R: by a digest of Salt and the key
	Version    bool     // -V: by numbers inside of text
	Reverse    bool     // -r
	Unique     bool     // -u: only the first of equal lines
	Stable     bool     // -s: lines with equal keys are not compared as a whole
	FoldCase   bool     // -f: a to z as A to Z
	Blanks     bool     // -b: leading blanks are ignored
	Printing   bool     // -i: only printable ASCII is compared
	Dictionary bool     // -d: only blanks, letters and digits are compared
	Top        int64    // only the first Top lines of the result; 0: all
	ZeroEnded  bool     // -z: lines end with NUL

	// CSV lets Keys name columns: F[OPTS] or NAME[:OPTS]. Header has the names. Records end
	// with NUL, as with ZeroEnded, because a value in quotes may contain newlines. The default
	// Separator is a comma.
	CSV     bool
	Header  []string // nil: there is none
	Lenient bool     // a key may be a column beyond the header

	// JSON has keys of JSON lines, such as user.name, user.age:nr or "first.name". Without OPTS,
	// values are ordered by type: no value, null, false, true, numbers, strings, arrays and objects.
	JSON []string

	Salt [SaltBytes]byte // for Random; each salt gives one order
}

// SaltBytes is the length of the salt of a random order. GNU sort reads as many bytes from its
// random source.
const SaltBytes = 16

// New makes the job. It fails with an options error (package errs) if a key or the separator is
// wrong.
func New(o Options) (jobs.Chain, error) {
	order, err := Compile(o)
	if err != nil {
		return nil, err
	}
	return NewOrdered(o, order), nil
}

// NewOrdered makes the job of an order that Compile has made of o.
func NewOrdered(o Options, order *Order) jobs.Chain {
	job := jobs.Job{
		Name:    "sort",
		Ordered: true,
		BuiltIn: true,
	}
	// The delimiter applies to input and output, as with sort -z.
	if o.ZeroEnded || o.CSV {
		job.Delim = jobs.NUL
	}
	delim := job.Delim
	job.NewMapper = func() jobs.Mapper {
		return &mapper{delim: delim.Byte(), unique: o.Unique, order: order, top: top{n: o.Top, unique: o.Unique}}
	}
	// If the line is the key, the reducer writes keys. Otherwise the line is the value.
	identity := jobs.Identity{Out: jobs.KeyColumn, Unique: o.Unique}
	if order.needsKey() {
		job.AppendKey = order.AppendKey
		identity.Out = jobs.ValueColumn
	}
	job.NewReducer = func() jobs.Reducer { return identity }
	if o.Top > 0 { // one reducer must see all lines
		job.Ordered, job.Reduces = false, 1
		job.Partition = func([]byte, int) int { return 0 }
		job.NewReducer = func() jobs.Reducer { return &head{Identity: identity, left: o.Top} }
	}
	return jobs.Chain{job}
}

// mapper passes on the lines of a block. It belongs to one attempt.
type mapper struct {
	delim  byte
	unique bool
	order  *Order
	top    top
	// Scratch, reused for the next block.
	lines []jobs.Span
}

// Map implements jobs.Mapper. It passes the whole block to the Emitter, which must be a
// jobs.Taker. It fails for a line that is not JSON if the order needs JSON lines.
func (m *mapper) Map(b jobs.Block, out jobs.Emitter) error {
	m.lines = lines.AppendSpans(m.lines[:0], b.Data, m.delim)
	// The check is here because AppendKey cannot fail.
	if m.order.json {
		for _, s := range m.lines {
			if err := m.order.Check(b.Data[s.Off : s.Off+s.Len]); err != nil {
				return errs.Inputf(b.Path, "line at byte %d: %w", b.Offset+int64(s.Off), err)
			}
		}
	}
	// This removes neighbouring repeats only. The reducer removes the others.
	if m.unique {
		m.lines = withoutRepeats(m.lines, b.Data)
	}
	if m.top.n > 0 {
		m.lines = slices.DeleteFunc(m.lines, func(s jobs.Span) bool {
			return m.top.beats(m.order, b.Data[s.Off:s.Off+s.Len])
		})
	}
	return lines.Take("sort", b, m.lines, out)
}

// withoutRepeats removes, in place, each line that equals the one before it. The result keeps
// only the first of equal lines, so the others need not be sorted.
//
// hot: with -u, one iteration for each line; mostly the lengths differ.
func withoutRepeats(all []jobs.Span, data []byte) []jobs.Span {
	if len(all) == 0 {
		return all
	}
	n := 1
	last := data[all[0].Off : all[0].Off+all[0].Len]
	for _, s := range all[1:] {
		line := data[s.Off : s.Off+s.Len]
		if bytes.Equal(line, last) {
			continue
		}
		last = line
		all[n] = s
		n++
	}
	return all[:n]
}

// top knows which lines of a split cannot be among its first n. It belongs to one attempt. With unique, n different
// keys count.
type top struct {
	n      int64 // 0: every line may be
	unique bool
	keys   [][]byte // the least n keys, and some that were added since
	bytes  int      // of keys
	bound  []byte   // the n-th least key of those before; nil: not known
	key    []byte   // scratch
}

const (
	topBatch     = 1024    // number of keys that are added before all are sorted
	mostTopBytes = 1 << 20 // of keys
)

// beats reports whether n lines come before line, which is the next one of the split. If the keys need too much memory,
// no further line is beaten.
func (t *top) beats(order *Order, line []byte) bool {
	if t.n == 0 {
		return false
	}
	key := line
	if order.needsKey() {
		t.key = order.AppendKey(t.key[:0], line)
		key = t.key
	}
	if t.bound != nil && bytes.Compare(key, t.bound) >= 0 {
		return true
	}
	t.keys = append(t.keys, bytes.Clone(key))
	t.bytes += len(key)
	if t.bytes <= mostTopBytes && int64(len(t.keys)) < t.n+topBatch {
		return false
	}
	slices.SortFunc(t.keys, bytes.Compare)
	if t.unique {
		t.keys = slices.CompactFunc(t.keys, bytes.Equal)
	}
	if int64(len(t.keys)) >= t.n {
		t.keys = slices.Delete(t.keys, int(t.n), len(t.keys))
		t.bound = t.keys[t.n-1]
	}
	t.bytes = 0
	for _, key := range t.keys {
		t.bytes += len(key)
	}
	if t.bytes > mostTopBytes/2 { // so that sorting them is rare
		*t = top{}
	}
	return false
}

// head writes the first lines of what Identity writes.
type head struct {
	jobs.Identity
	left int64
}

// Reduce implements jobs.Reducer.
func (h *head) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	for h.left > 0 && vs.Next() {
		h.left--
		if h.Out == jobs.KeyColumn {
			out.Emit(key, nil)
		} else {
			out.Emit(nil, vs.Value())
		}
		if h.Unique {
			break
		}
	}
	return nil
}
