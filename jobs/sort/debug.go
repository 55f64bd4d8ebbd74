package sort

import (
	"bytes"
	"regexp"
)

// Debugger shows what an Order compares, as GNU sort --debug does.
type Debugger struct {
	order  *Order
	number *regexp.Regexp // what strtold reads
}

// NewDebugger returns a Debugger of the order.
func NewDebugger(o *Order) *Debugger {
	return &Debugger{o, regexp.MustCompile(`^[ \t\n\v\f\r]*[+-]?(?i:inf(?:inity)?|nan(?:\([0-9a-z_]*\))?|` +
		`0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)`)}
}

// AppendLine appends line, with > for tabs, and below it a line for each key, with _
// below the bytes that the key compares. Where all of the line is compared in the end,
// there is a line for that too.
func (d *Debugger) AppendLine(dst, line []byte) []byte {
	dst = append(append(dst, bytes.ReplaceAll(line, []byte("\t"), []byte(">"))...), '\n')
	for i := range d.order.fields {
		begin, end := d.compared(&d.order.fields[i], line)
		dst = appendMark(dst, line, begin, end)
	}
	if d.order.whole {
		dst = appendMark(dst, line, 0, len(line))
	}
	return dst
}

// compared returns the part of line that a field compares.
// Offsets are in bytes of line. For numbers and months the part ends where the value
// ends.
func (d *Debugger) compared(f *field, line []byte) (begin, end int) {
	end = len(line)
	if !f.line {
		begin = f.begin(line, d.order.separator)
	}
	if !f.toLineEnd {
		end = max(begin, f.end(line, d.order.separator))
	}
	// Only these rules skip blanks by themselves. GNU sort marks what is left.
	numeric := f.numeric || f.general || f.human
	if !numeric && !f.month && !(f.line && f.skipStart) {
		return begin, end
	}
	begin = min(end, skipBlanks(line, begin))
	text := line[begin:end]
	switch {
	// A text that names no month has month 0, and nothing is marked.
	case f.month:
		end = begin + 3*min(1, int(appendMonth(nil, text)[0]))
	case f.general:
		end = begin + len(d.number.Find(text))
	// general is numeric too, but the case above has caught it.
	case numeric:
		end = begin + rawNumber(text, f.human)
	}
	return begin, end
}

// rawNumber returns the length of the number at the start of text, with its unit if human
// is set. It is 0 if there is no digit.
func rawNumber(text []byte, human bool) int {
	_, whole, fraction, at := decimal(text)
	if len(whole)+len(fraction) == 0 {
		return 0
	}
	if human && at < len(text) && bytes.IndexByte([]byte("kKMGTPEZYRQ"), text[at]) >= 0 {
		at++
	}
	return at
}

// appendMark appends a line that marks a part of the line above.
func appendMark(dst, line []byte, begin, end int) []byte {
	dst = append(dst, bytes.Repeat([]byte(" "), columns(line[:begin]))...)
	if begin == end {
		return append(dst, "^ no match for key\n"...)
	}
	return append(append(dst, bytes.Repeat([]byte("_"), columns(line[begin:end]))...), '\n')
}

// columns returns how wide text is on a terminal; control characters have no width.
// A tab counts as one column, because AppendLine shows it as one byte.
func columns(text []byte) int {
	n := 0
	for _, c := range text {
		if c >= ' ' && c != 0x7f || c == '\t' {
			n++
		}
	}
	return n
}
