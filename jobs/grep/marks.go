package grep

import (
	"strconv"

	"mrlocal/jobs/internal/lines"
)

// GNU grep's default colours.
const (
	colorMatch     = "01;31"
	colorPath      = "35"
	colorNumber    = "32"
	colorSeparator = "36"
)

// mostMarkBytes is the most bytes that appendNumber adds to the digits.
const mostMarkBytes = 64

// paint appends text in a colour. Like GNU grep, it also erases to the end of the terminal's
// line at each change of colour.
func paint(dst []byte, color string, text []byte) []byte {
	// "\x1b[" begins an escape sequence of terminals: m sets the colour, K erases to the end of
	// the line.
	dst = append(append(append(dst, "\x1b["...), color...), "m\x1b[K"...)
	return append(append(dst, text...), "\x1b[m\x1b[K"...)
}

// appendSeparator appends the byte behind a path or a number: a colon for a selected line, a
// hyphen for a line around one.
func (f *form) appendSeparator(dst []byte, separator byte) []byte {
	if f.color {
		return paint(dst, colorSeparator, []byte{separator})
	}
	return append(dst, separator)
}

// appendPath appends a path and the separator behind it.
func (f *form) appendPath(dst []byte, path string, separator byte) []byte {
	if f.color {
		dst = paint(dst, colorPath, []byte(path))
	} else {
		dst = append(dst, path...)
	}
	if f.nulNames {
		return append(dst, 0)
	}
	return f.appendSeparator(dst, separator)
}

// appendName appends a path that is a line of its own.
func (f *form) appendName(dst []byte, path string) []byte {
	if f.color {
		dst = paint(dst, colorPath, []byte(path))
	} else {
		dst = append(dst, path...)
	}
	if f.nulNames {
		return append(dst, 0)
	}
	return append(dst, '\n')
}

// appendNumber appends a line number and its separator.
func (f *form) appendNumber(dst, digits []byte, separator byte) []byte {
	if !f.color {
		return append(append(dst, digits...), separator)
	}
	return f.appendSeparator(paint(dst, colorNumber, digits), separator)
}

// painted returns a line with its matches in colour, borrowed until the next call of a method
// that writes m.shown.
func (m *lineMapper) painted(line []byte) []byte {
	m.shown = m.shown[:0]
	m.inner.begin(line)
	m.walker.reset(m.inner, line)
	// m.shown has line[:at] already.
	at := 0
	for start, end := m.walker.next(); start != none; start, end = m.walker.next() {
		m.shown = m.appendOriginal(m.shown, line[at:start])
		// restore changes only the text, not the escape sequences: they have neither NUL nor
		// newline.
		from := len(m.shown)
		m.shown = paint(m.shown, colorMatch, line[start:end])
		m.restore(m.shown[from:])
		at = end
	}
	m.shown = m.appendOriginal(m.shown, line[at:])
	return m.shown
}

// part returns one match in its output form, borrowed until the next call of a method that
// writes m.shown.
func (m *lineMapper) part(match []byte) []byte {
	if !m.color {
		return m.original(match)
	}
	m.shown = paint(m.shown[:0], colorMatch, match)
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
