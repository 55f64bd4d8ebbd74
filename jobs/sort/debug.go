package sort

import (
	"bytes"
	"fmt"
	"io"
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

// Warnings returns what GNU sort --debug says about the keys, in the C locale. last says whether lines
// with equal keys are compared as a whole. obsolete has the indices of the keys that were given as +F -F.
func (d *Debugger) Warnings(last bool, obsolete map[int]bool) (texts []string) {
	say := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	o := d.order
	// unused has the global rules that no key has.
	unused, unusedEnd := o.global, o.global.has(blanks)
	var basic, float, basicSpans, floatSpans bool
	for i := range o.fields {
		f := &o.fields[i]
		skipEnd := f.skipEnd || f.line && f.has(blanks)
		number := f.has(numeric | general | human)
		basic, float = basic || number && !f.has(general), float || f.has(general)
		if obsolete[i] {
			before, now := fmt.Sprint("+", f.startField), fmt.Sprint("-k ", f.startField+1)
			if !f.toLineEnd {
				before, now = fmt.Sprint(before, " -", f.endField), fmt.Sprint(now, ",", f.endField)
			}
			say("obsolescent key '%s' used; consider '%s' instead", before, now)
		}
		empty := !f.line && !f.toLineEnd && f.endField < f.startField+1
		if empty {
			say("key %d has zero width and will be ignored", i+1)
		}
		within := !f.toLineEnd && f.endField == 1 && f.endByte != 0 // positions within the first field count from the start of the line
		if !empty && !f.line && o.separator < 0 && !within && (!f.has(blanks) && (!number && !f.has(month) || f.startByte > 0) || !skipEnd && f.endByte > 0) {
			say("leading blanks are significant in key %d; consider also specifying 'b'", i+1)
		}
		if !f.line && number && (f.toLineEnd || f.startField+1 < f.endField) {
			say("key %d is numeric and spans multiple fields", i+1)
			basicSpans, floatSpans = basicSpans || !f.has(general), floatSpans || f.has(general)
		}
		unused = unused.known() &^ f.known()
		unusedEnd = unusedEnd && !skipEnd
	}
	point := true // the decimal point was not mentioned
	switch {
	case !basicSpans && !floatSpans:
	case o.separator == '.':
		say("field separator '.' is treated as a decimal point in numbers")
		point = false
	case o.separator == '-':
		say("field separator '-' is treated as a minus sign in numbers")
	case floatSpans && o.separator == '+':
		say("field separator '+' is treated as a plus sign in numbers")
	}
	switch {
	case !basic && !float || !point:
	case o.separator == '.':
		say("numbers use '.' as a decimal point in this locale")
	default:
		say("note numbers use '.' as a decimal point in this locale")
	}
	backwards := unused.has(reverse)
	if last || len(o.fields) == 0 {
		unused &^= reverse
	}
	if unusedEnd {
		unused |= blanks
	}
	switch letters := unused.letters(); {
	case len(letters) == 1:
		say("option '-%s' is ignored", letters)
	case letters != "":
		say("options '-%s' are ignored", letters)
	}
	if backwards && last && len(o.fields) > 0 {
		say("option '-r' only applies to last-resort comparison")
	}
	return texts
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
	before := false // the key ends before it begins
	if !f.toLineEnd {
		end = f.end(line, d.order.separator)
		before, end = end < begin, max(begin, end)
	}
	// These rules skip blanks by themselves. GNU sort marks only the rest.
	number := f.has(numeric | general | human)
	if !number && !f.has(month) && !(f.line && f.has(blanks)) {
		return begin, end
	}
	if begin = skipBlanks(line, begin); before {
		return begin, begin
	}
	begin = min(end, begin)
	text := line[begin:end]
	switch {
	// A text that names no month has month 0, and marks nothing.
	case f.has(month):
		end = begin + 3*min(1, int(appendMonth(nil, text)[0]))
	case f.has(general):
		end = begin + len(d.number.Find(text))
	case number:
		end = begin + rawNumber(text, f.has(human))
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

// appendMark appends a line with _ below line[begin:end]. A part without width has no match.
func appendMark(dst, line []byte, begin, end int) []byte {
	dst = append(dst, bytes.Repeat([]byte(" "), columns(line[:begin]))...)
	width := columns(line[begin:end])
	if width == 0 {
		return append(dst, "^ no match for key\n"...)
	}
	return append(append(dst, bytes.Repeat([]byte("_"), width)...), '\n')
}

// columns returns the width of text on a terminal. Control characters have no width. A tab
// counts as one column, because AppendLine writes it as >.
func columns(text []byte) (n int) {
	for _, c := range text {
		if c >= ' ' && c != 0x7f || c == '\t' {
			n++
		}
	}
	return n
}

// Writer returns a writer that passes lines to w, each with its marks (AppendLine). delim ends lines.
func (d *Debugger) Writer(w io.Writer, delim byte) io.Writer {
	return &debugWriter{w: w, debugger: d, delim: delim}
}

// debugWriter adds the marks of --debug below each line that it writes to w. They show which parts of
// the line the order compares.
type debugWriter struct {
	w        io.Writer
	debugger *Debugger
	delim    byte
	line     []byte // the beginning of a line whose end no Write has brought yet
	out      []byte // scratch memory of Write
}

// Write writes the whole lines of p, each with its marks, and keeps the rest for the next call. It
// returns len(p) even after an error, because it does not write the bytes of p alone.
func (d *debugWriter) Write(p []byte) (int, error) {
	d.out = d.out[:0]
	for rest := p; len(rest) > 0; {
		n := bytes.IndexByte(rest, d.delim)
		if n < 0 {
			d.line = append(d.line, rest...)
			break
		}
		d.out = d.debugger.AppendLine(d.out, append(d.line, rest[:n]...))
		d.line, rest = d.line[:0], rest[n+1:]
	}
	_, err := d.w.Write(d.out)
	return len(p), err
}
