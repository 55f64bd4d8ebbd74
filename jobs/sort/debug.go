package sort

import (
	"bytes"
	"regexp"
)

// Debugger shows what an Order compares, as GNU sort --debug does.
type Debugger struct {
	order  *Order
	number *regexp.Regexp // matches the text that strtold reads as a number
}

// NewDebugger returns a Debugger of the order.
func NewDebugger(o *Order) *Debugger {
	return &Debugger{o, regexp.MustCompile(`^[ \t\n\v\f\r]*[+-]?(?i:inf(?:inity)?|nan(?:\([0-9a-z_]*\))?|` +
		`0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)`)}
}

// AppendLine appends line, with > for tabs, and below it a line for each key, with _ below the
// bytes that the key compares. If the order compares whole lines in the end, there is a line of
// _ for that too. It returns the result.
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

// compared returns where the part of line begins and ends that a field compares, in bytes. For
// numbers and months it ends where the value ends.
func (d *Debugger) compared(f *field, line []byte) (begin, end int) {
	end = len(line)
	if !f.line {
		begin = f.begin(line, d.order.separator)
	}
	if !f.toLineEnd {
		end = max(begin, f.end(line, d.order.separator))
	}
	// These rules skip blanks by themselves. GNU sort marks only the rest.
	numeric := f.numeric || f.general || f.human
	if !numeric && !f.month && !(f.line && f.skipStart) {
		return begin, end
	}
	begin = min(end, skipBlanks(line, begin))
	text := line[begin:end]
	switch {
	// A text that names no month has month 0, and marks nothing.
	case f.month:
		end = begin + 3*min(1, int(appendMonth(nil, text)[0]))
	case f.general:
		end = begin + len(d.number.Find(text))
	case numeric:
		end = begin + rawNumber(text, f.human)
	}
	return begin, end
}

// rawNumber returns the length of the number at the start of text, including its unit if human
// is set. It returns 0 if there is no digit.
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

// appendMark appends a line with _ below line[begin:end].
func appendMark(dst, line []byte, begin, end int) []byte {
	dst = append(dst, bytes.Repeat([]byte(" "), columns(line[:begin]))...)
	if begin == end {
		return append(dst, "^ no match for key\n"...)
	}
	return append(append(dst, bytes.Repeat([]byte("_"), columns(line[begin:end]))...), '\n')
}

// columns returns the width of text on a terminal. Control characters have no width. A tab
// counts as one column, because AppendLine writes it as >.
func columns(text []byte) int {
	n := 0
	for _, c := range text {
		if c >= ' ' && c != 0x7f || c == '\t' {
			n++
		}
	}
	return n
}
