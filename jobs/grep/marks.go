package grep

import (
	"strconv"
	"strings"

	"mrlocal/jobs/internal/lines"
)

// mostMarkBytes is the most bytes that appendNumber adds to the digits, in default colours.
const mostMarkBytes = 64

// appendSeparator appends the byte behind a path or a number: a colon for a selected line, a
// hyphen for a line around one.
func (f *form) appendSeparator(dst []byte, separator byte) []byte {
	return f.colors.Paint(dst, Separator, []byte{separator})
}

// appendPath appends a path and what stands behind it: a separator, or a newline in a list of files.
func (f *form) appendPath(dst []byte, path string, separator byte) []byte {
	dst = f.colors.Paint(dst, Path, []byte(path))
	switch {
	case f.NULNames:
		return append(dst, 0)
	case separator == '\n':
		return append(dst, '\n')
	}
	return f.appendSeparator(dst, separator)
}

// appendNumber appends a line number and its separator.
func (f *form) appendNumber(dst, digits []byte, separator byte) []byte {
	if f.colors == nil {
		return append(append(dst, digits...), separator)
	}
	return f.appendSeparator(f.colors.Paint(dst, Number, digits), separator)
}

// appendLead appends what stands directly before the text of a line: its offset in the file (-b), and a
// tab (-T). text says that the line has text.
func (f *form) appendLead(dst []byte, at int64, separator byte, text bool) []byte {
	if f.Offsets {
		var digits [20]byte
		dst = f.appendSeparator(f.colors.Paint(dst, Offset, strconv.AppendInt(digits[:0], at, 10)), separator)
	}
	if f.Tab && text && (f.names || f.LineNumbers || f.Offsets) {
		dst = append(dst, '\t')
	}
	return dst
}

// painted returns the line data[low:stop] in colours, borrowed until the next call of a method that writes m.shown. The
// lines around selected ones have their own.
func (m *lineMapper) painted(data []byte, low, stop int, selected bool) []byte {
	line := data[low:stop]
	whole, match := ContextLine, ContextMatch
	if selected {
		match = SelectedMatch
	}
	if selected != (m.Invert && m.colors.Reverse) {
		whole = SelectedLine
	}
	m.shown = m.shown[:0]
	// m.shown has line[:at] already.
	at := 0
	if selected != m.Invert && m.colors.Has(match) { // with -v, the lines around selected ones have the matches
		for h := range m.hits(data, low, stop) {
			if h.start == h.end {
				continue
			}
			m.shown = m.colors.Begin(m.shown, whole)
			m.shown = append(m.shown, line[at:h.start]...)
			m.shown = m.colors.Paint(m.shown, match, line[h.start:h.end])
			at = h.end
		}
	}
	// As in GNU grep, a carriage return at the end of the line has no colour.
	tail := len(line)
	if tail > at && line[tail-1] == '\r' {
		tail--
	}
	if tail > at {
		m.shown = m.colors.Paint(m.shown, whole, line[at:tail])
	}
	m.shown = append(m.shown, line[tail:]...)
	m.restore(m.shown) // the escape sequences have neither NUL nor newline
	return m.shown
}

// part returns one match in its output form, borrowed until the next call of a method that
// writes m.shown.
func (m *lineMapper) part(match []byte) []byte {
	if m.colors == nil {
		return m.original(match)
	}
	m.shown = m.colors.Paint(m.shown[:0], SelectedMatch, match)
	m.restore(m.shown)
	return m.shown
}

// restore undoes lines.Exchange in text, if the block was exchanged.
func (m *lineMapper) restore(text []byte) {
	if m.eol == 0 {
		lines.Exchange(text)
	}
}

// appendOriginal appends text of the block in its original form.
func (m *lineMapper) appendOriginal(dst, text []byte) []byte {
	from := len(dst)
	dst = append(dst, text...)
	m.restore(dst[from:])
	return dst
}

// original returns text of the block in its original form, borrowed until the next call of a
// method that writes m.shown.
func (m *lineMapper) original(text []byte) []byte {
	if m.eol != 0 {
		return text
	}
	m.shown = m.appendOriginal(m.shown[:0], text)
	return m.shown
}

// decimal is a number and its digits. Line numbers mostly grow by little, so that only the last
// digits change.
type decimal struct {
	value  int64
	digits []byte
}

// set sets the number to n, which must not be negative. It returns the digits, borrowed until
// the next call.
func (d *decimal) set(n int64) []byte {
	step := n - d.value
	d.value = n
	if step < 0 || step > 9 || len(d.digits) == 0 {
		d.digits = strconv.AppendInt(d.digits[:0], n, 10)
		return d.digits
	}
	// The step is at most 9, so the carry is at most 1.
	i := len(d.digits) - 1
	d.digits[i] += byte(step)
	if d.digits[i] <= '9' {
		return d.digits
	}
	d.digits[i] -= 10
	for i--; i >= 0; i-- {
		if d.digits[i] < '9' {
			d.digits[i]++
			return d.digits
		}
		d.digits[i] = '0'
	}
	d.digits = strconv.AppendInt(d.digits[:0], n, 10) // one digit more
	return d.digits
}

// The rest writes text in the colours of GNU grep, as escape sequences of terminals.

// Mark is a part of the output that has a colour of its own.
type Mark uint8

const (
	SelectedMatch Mark = iota // a match in a selected line
	ContextMatch              // a match in a line around others, which -v has
	SelectedLine              // the other text of a selected line
	ContextLine
	Path
	Number
	Offset
	Separator
	marks // their number
)

// Scheme has the colours of GNU grep. Each is the numbers of an escape sequence of terminals; "": none.
type Scheme struct {
	of      [marks]string
	Reverse bool // with -v, lines have the colours of each other
	keeps   bool // no change of colour erases the rest of the terminal's line
}

// New returns GNU grep's default colours with the changes that text describes, in the form of its
// variable GREP_COLORS. As in GNU grep, nothing behind a part that is wrong has an effect.
func NewColors(text string) *Scheme {
	c := &Scheme{of: [marks]string{
		SelectedMatch: "01;31", ContextMatch: "01;31", Path: "35", Number: "32", Offset: "32", Separator: "36",
	}}
	names := map[string]Mark{"ms": SelectedMatch, "mt": SelectedMatch, "mc": ContextMatch, "sl": SelectedLine, "cx": ContextLine,
		"fn": Path, "ln": Number, "bn": Offset, "se": Separator}
	for part := range strings.SplitSeq(text, ":") {
		name, value, given := strings.Cut(part, "=")
		if given && (name == "" || strings.Trim(value, "0123456789;") != "") {
			break
		}
		if m, ok := names[name]; ok && given {
			c.of[m] = value
		}
		switch name {
		case "mt":
			c.of[ContextMatch] = c.of[SelectedMatch]
		case "rv":
			c.Reverse = true
		case "ne":
			c.keeps = true
		}
	}
	return c
}

// Paint appends text in the colour of a mark. c may be nil. Like GNU grep, it also erases to the end of
// the terminal's line at each change of colour.
func (c *Scheme) Paint(dst []byte, m Mark, text []byte) []byte {
	if c == nil || c.of[m] == "" {
		return append(dst, text...)
	}
	dst = append(append(c.Begin(dst, m), text...), "\x1b[m"...)
	if !c.keeps {
		dst = append(dst, "\x1b[K"...)
	}
	return dst
}

// Begin appends the escape sequence that begins the colour of a mark. m sets the colour, and K erases to
// the end of the line.
func (c *Scheme) Begin(dst []byte, m Mark) []byte {
	if c.of[m] == "" {
		return dst
	}
	dst = append(append(append(dst, "\x1b["...), c.of[m]...), 'm')
	if !c.keeps {
		dst = append(dst, "\x1b[K"...)
	}
	return dst
}

// Has reports whether a mark has a colour.
func (c *Scheme) Has(m Mark) bool { return c.of[m] != "" }
