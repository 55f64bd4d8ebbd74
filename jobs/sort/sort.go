// Package sort orders lines as GNU sort does in the C locale.
//
// The mapper only finds the line ends and hands the block over (jobs.Taker):
// a line is copied once, when it is written. Plain sort has the line as its
// key. Everything else is put into the key: what -k, -n, -f, -b and -r mean is
// compiled once into an appender that turns a line into bytes whose plain order
// is the order asked for, so the engine compares nothing but bytes.
//
// A key is the concatenation of one component per -k and, unless -s or -u is
// given, the whole line (GNU's last resort). Components never are a prefix of
// one another, so that the next one is reached only where they are equal;
// descending ones are inverted bit by bit, their end included.
//
// Memory: the spans of a block, eight bytes a line, reused.
package sort

import (
	"bytes"
	"errors"

	"mrlocal/jobs"
)

// Options are GNU sort's, by their letters. The zero value sorts lines.
type Options struct {
	Keys      []string // -k POS1[,POS2], with options n, r, f, b after either
	Separator string   // -t: one byte, or \0; empty: fields begin with blanks
	Numeric   bool     // -n
	Reverse   bool     // -r
	Unique    bool     // -u: the first of equal lines
	Stable    bool     // -s: no last resort
	FoldCase  bool     // -f: a to z as A to Z
	Blanks    bool     // -b: leading blanks do not count
	ZeroEnded bool     // -z: lines end with NUL
}

// New makes the job; a wrong key or separator is a errs.Error.
func New(o Options) (jobs.Chain, error) {
	order, err := compile(o)
	if err != nil {
		return nil, err
	}
	job := jobs.Job{
		Name:    "sort",
		Ordered: true,
		BuiltIn: true,
	}
	if o.ZeroEnded {
		job.Delim = jobs.NUL
	}
	delim := job.Delim
	job.NewMapper = func() jobs.Mapper { return &mapper{delim: delim.Byte(), unique: o.Unique} }
	identity := jobs.Identity{Out: jobs.KeyColumn, Unique: o.Unique}
	if order.needsKey() {
		job.AppendKey = order.appendKey
		identity.Out = jobs.ValueColumn
	}
	job.NewReducer = func() jobs.Reducer { return identity }
	return jobs.Chain{job}, nil
}

type mapper struct {
	delim  byte
	unique bool
	lines  []jobs.Span
}

func (m *mapper) Map(b jobs.Block, out jobs.Emitter) error {
	if len(b.Data) == 0 {
		return nil
	}
	taker, ok := out.(jobs.Taker)
	if !ok {
		return errors.New("sort: lines are handed over in blocks, which this Emitter cannot take")
	}
	m.lines = appendLines(m.lines[:0], b.Data, m.delim)
	if m.unique {
		m.lines = withoutRepeats(m.lines, b.Data)
	}
	taker.Take(b, m.lines)
	return nil
}

// appendLines appends the spans of the lines of data without their delimiter,
// which the last one may lack.
//
// hot: every line passes; IndexByte does the searching.
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

// withoutRepeats leaves out, in place, each line that is the one before it once
// more: of equal lines the first is kept, so it need not even be collected.
//
// hot: every line of -u passes; lengths mostly decide.
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
