// Package sort is a job that sorts lines as GNU sort does in the C locale.
//
// The mapper only finds the ends of lines, and passes the whole block on
// (jobs.Taker), so that each line is copied once. Without keys, the line is its
// own sort key. Otherwise the options are compiled once to an Order, which turns each
// line into bytes whose plain order is the order asked for. The engine compares nothing
// but bytes.
//
// A key has one component for each -k. The whole line follows (the last resort
// of GNU sort), unless -s or -u is given. No component is a prefix of another
// one, so the next component is compared only if this one is equal. Descending
// components are inverted bit by bit, including their end.
//
// Numbers, numbers with units, floats, months, versions and digests each have an
// encoding of their own (appendNumber, appendHuman, appendGeneral, appendMonth,
// appendVersion, appendRandom). A component comes from a part of the line, from a column
// of CSV or from a value of JSON.
//
// Two points differ between releases of GNU sort, or cannot be relied on: the place of
// names such as .a under -V, where 9.1 stands alone, and the order of several NaNs.
//
// Memory: the spans of one block, eight bytes for each line, are kept and reused.
//
// Neighbours: package jobs defines jobs; jobs/jobtest and GNU sort are the
// references of the tests.
package sort

import (
	"bytes"
	"errors"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// Options are those of GNU sort, named with their letters. The zero value sorts
// lines by their bytes.
type Options struct {
	Keys       []string // -k POS1[,POS2], with options n, r, f, b after either
	Separator  string   // -t: one byte, or \0; empty: blanks begin a field
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
	ZeroEnded  bool     // -z: lines end with NUL

	// CSV makes Keys name columns: NAME, NAME:OPTS or F[OPTS]. Header has the names.
	// Records end with NUL, as with ZeroEnded, since a value in quotes may hold
	// newlines. The Separator is a comma unless it is set.
	CSV    bool
	Header []string

	// JSON are keys of JSON lines, as user.name or user.age:nr. Without OPTS,
	// values are ordered by type: nothing, null, false, true, numbers, strings.
	JSON []string

	Salt [SaltBytes]byte // of Random; one salt gives one order
}

// SaltBytes is the length of the salt of a random order. GNU sort takes as many from
// its random source.
const SaltBytes = 16

// New makes the job. It fails if a key or the separator is wrong, with an error
// of kind errs.BadOptions.
func New(o Options) (jobs.Chain, error) {
	order, err := Compile(o)
	if err != nil {
		return nil, err
	}
	job := jobs.Job{
		Name:    "sort",
		Ordered: true,
		BuiltIn: true,
	}
	// The delimiter of the output is the same, as with sort -z.
	if o.ZeroEnded || o.CSV {
		job.Delim = jobs.NUL
	}
	delim := job.Delim
	job.NewMapper = func() jobs.Mapper { return &mapper{delim: delim.Byte(), unique: o.Unique, order: order} }
	// Where the line is the key, the output is the key column and values stay empty.
	// Otherwise the line travels as the value.
	identity := jobs.Identity{Out: jobs.KeyColumn, Unique: o.Unique}
	if order.NeedsKey() {
		job.AppendKey = order.AppendKey
		identity.Out = jobs.ValueColumn
	}
	job.NewReducer = func() jobs.Reducer { return identity }
	return jobs.Chain{job}, nil
}

// mapper passes on the lines of a block. One attempt owns it, so it needs no lock.
type mapper struct {
	delim  byte
	unique bool
	order  *Order
	// Reused for the next block.
	lines []jobs.Span
}

// Map hands the whole block to the engine. It fails for a line that is no JSON, and for
// an Emitter that is no jobs.Taker.
func (m *mapper) Map(b jobs.Block, out jobs.Emitter) error {
	if len(b.Data) == 0 {
		return nil
	}
	taker, ok := out.(jobs.Taker)
	if !ok {
		return errors.New("sort: the Emitter cannot take blocks (jobs.Taker)")
	}
	m.lines = appendLines(m.lines[:0], b.Data, m.delim)
	// The check is here and not in AppendKey, which cannot fail.
	if m.order.json {
		for _, s := range m.lines {
			if err := m.order.Check(b.Data[s.Off : s.Off+s.Len]); err != nil {
				return errs.Inputf(b.Path, "line at byte %d: %w", b.Offset+int64(s.Off), err)
			}
		}
	}
	// Repeats far apart are left to the reducer.
	if m.unique {
		m.lines = withoutRepeats(m.lines, b.Data)
	}
	taker.Take(b, m.lines)
	return nil
}

// appendLines appends the spans of the lines of data, without their delimiter.
// The last line may lack it.
// Offsets have 32 bits, because a block is far smaller than 4 GiB.
//
// hot: it sees each line; IndexByte does the search.
func appendLines(dst []jobs.Span, data []byte, delim byte) []jobs.Span {
	for off := 0; off < len(data); {
		n := bytes.IndexByte(data[off:], delim)
		if n < 0 {
			n = len(data) - off
		}
		dst = append(dst, jobs.Span{Off: uint32(off), Len: uint32(n)})
		off += n + 1
	}
	return dst
}

// withoutRepeats removes, in place, each line that equals the one before it.
// Only the first of equal lines is kept in the end, so the others need not be
// collected.
//
// hot: with -u it sees each line; mostly the length decides.
func withoutRepeats(lines []jobs.Span, data []byte) []jobs.Span {
	if len(lines) == 0 {
		return lines
	}
	n := 1
	last := data[lines[0].Off : lines[0].Off+lines[0].Len]
	for _, s := range lines[1:] {
		line := data[s.Off : s.Off+s.Len]
		if bytes.Equal(line, last) {
			continue
		}
		last = line
		lines[n] = s
		n++
	}
	return lines[:n]
}
