package sort

import (
	"bytes"
	"encoding/binary"
)

// AppendKey appends the sort key of line to dst. Keys are compared byte by byte.
// Several goroutines may call it.
func (o *Order) AppendKey(dst, line []byte) []byte {
	// Only the last component may lack its end: nothing follows that could be confused
	// with it.
	dst = o.appendFields(dst, line, !o.whole)
	if !o.whole {
		return dst
	}
	// The line is the last component, so it needs no end.
	if !o.reverse {
		return append(dst, line...)
	}
	// In descending order a longer line must lie before its own prefix. So the end is
	// written, and inverted with the rest.
	start := len(dst)
	dst = appendText(dst, line, false, false)
	invert(dst[start:])
	return dst
}

// appendFields appends the components of all fields. open: the last one may lack its end.
func (o *Order) appendFields(dst, line []byte, open bool) []byte {
	for i := range o.fields {
		f := &o.fields[i]
		// A descending component is built in ascending form first, and then inverted in
		// place. It keeps its end, which must be inverted with it.
		start := len(dst)
		dst = o.appendField(dst, f, o.text(f, line), open && i == len(o.fields)-1 && !f.reverse)
		if f.reverse {
			invert(dst[start:])
		}
	}
	return dst
}

// Line is a line, and the key of its fields.
type Line struct{ Text, Key []byte }

// Key returns the key of the fields of a line, for Compare. It points into the line, or into
// memory, to which it is appended.
func (o *Order) Key(memory *[]byte, line []byte) []byte {
	switch {
	case len(o.fields) == 0:
		return nil
	// One field of text is its own key.
	case len(o.fields) == 1 && !o.json && o.fields[0].isPlain() && !o.fields[0].fold && !o.fields[0].reverse:
		return o.text(&o.fields[0], line)
	}
	start := len(*memory)
	*memory = o.appendFields(*memory, line, true)
	return (*memory)[start:]
}

// Compare compares two lines as AppendKey orders them. It is below 0 if a comes first.
func (o *Order) Compare(a, b *Line) int {
	if len(o.fields) > 0 {
		if c := bytes.Compare(a.Key, b.Key); c != 0 || !o.whole {
			return c
		}
	}
	if o.reverse {
		a, b = b, a
	}
	return bytes.Compare(a.Text, b.Text)
}

// text returns what a field compares.
// The result points into line, except for unescaped values of CSV and JSON, which are
// new.
func (o *Order) text(f *field, line []byte) []byte {
	switch {
	case o.csv && !f.line:
		text := csvColumn(line, f.column, byte(o.separator))
		// -b skips blanks at the start of the value, inside of its quotes.
		if f.skipStart {
			text = text[skipBlanks(text, 0):]
		}
		return text
	case !o.json || f.line:
		return f.cut(line, o.separator)
	// Without rules the type of a value counts, so appendJSON gets the value with its
	// quotes.
	case f.isPlain() && !f.fold:
		return jsonValue(line, f.path)
	}
	return jsonText(jsonValue(line, f.path))
}

// appendField appends the component of one field. open is as for appendText.
// The cases that need no copy of the text come first.
func (o *Order) appendField(dst []byte, f *field, text []byte, open bool) []byte {
	switch {
	case o.json && f.isPlain() && !f.fold && !f.line:
		return appendJSON(dst, text, open)
	case f.numeric:
		return appendNumber(dst, text)
	case f.isPlain():
		return appendText(dst, text, f.fold, open)
	case f.general:
		return appendGeneral(dst, text)
	case f.month:
		return appendMonth(dst, text)
	}
	// What is left compares kept bytes. They stand at the end of dst for a while.
	// Their place is given back by the move below, so dst needs no second buffer.
	start := len(dst)
	dst = f.appendKept(dst, text)
	key := len(dst)
	text = dst[start:key]
	switch {
	case f.human:
		dst = appendHuman(dst, text)
	case f.random:
		dst = appendRandom(dst, text, &o.salt, open)
	case f.version:
		dst = appendVersion(dst, text)
	default:
		dst = appendText(dst, text, false, open)
	}
	return append(dst[:start], dst[key:]...)
}

// isBlank reports whether GNU sort takes c for a blank in the C locale. A newline is
// one too, because -z and CSV allow newlines inside of records.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// skipBlanks returns the first place from at on that is no blank, or the end of line.
func skipBlanks(line []byte, at int) int {
	for at < len(line) && isBlank(line[at]) {
		at++
	}
	return at
}

// skipNonBlanks returns the first blank from at on, or the end of line.
func skipNonBlanks(line []byte, at int) int {
	for at < len(line) && !isBlank(line[at]) {
		at++
	}
	return at
}

// cut returns the part of line that the field compares, as between begfield and
// limfield of GNU sort. It is empty if the end lies before the beginning.
func (f *field) cut(line []byte, separator int) []byte {
	begin, end := f.begin(line, separator), len(line)
	if !f.toLineEnd {
		end = f.end(line, separator)
	}
	if end <= begin {
		return nil
	}
	return line[begin:end]
}

// begin returns where the field begins, as begfield of GNU sort. Without a separator,
// the blanks before a field belong to it, so a byte position counts them unless b is
// given.
func (f *field) begin(line []byte, separator int) int {
	at := 0
	if !f.line {
		for n := f.startField; n > 0 && at < len(line); n-- {
			// A separator ends the field before it. It belongs to neither field.
			if at = fieldEnd(line, at, separator); separator >= 0 && at < len(line) {
				at++
			}
		}
	}
	if f.skipStart {
		at = skipBlanks(line, at)
	}
	return advance(line, at, f.startByte)
}

// end returns where the field ends, as limfield of GNU sort. An end without a byte
// position includes all of its last field.
func (f *field) end(line []byte, separator int) int {
	fields := f.endField
	// A byte position counts from the start of its own field, so only the fields before it
	// are skipped.
	if f.endByte != 0 {
		fields--
	}
	at := 0
	for n := fields; n > 0 && at < len(line); n-- {
		at = fieldEnd(line, at, separator)
		// The separator behind the last field stays outside, unless bytes behind it are
		// counted.
		if separator >= 0 && at < len(line) && (n > 1 || f.endByte != 0) {
			at++
		}
	}
	if f.endByte == 0 {
		return at
	}
	if f.skipEnd {
		at = skipBlanks(line, at)
	}
	return advance(line, at, f.endByte)
}

// fieldEnd returns the end of the field that begins at at: the place of the
// separator, or of the blank behind it.
func fieldEnd(line []byte, at, separator int) int {
	if separator < 0 {
		return skipNonBlanks(line, skipBlanks(line, at))
	}
	if n := bytes.IndexByte(line[at:], byte(separator)); n >= 0 {
		return at + n
	}
	return len(line)
}

// advance returns at + n, but at most the end of line.
// The comparison is made without a sum, because n may be the largest 64-bit number.
func advance(line []byte, at int, n uint64) int {
	if n > uint64(len(line)-at) {
		return len(line)
	}
	return at + int(n)
}

// appendText appends text so that no result is a prefix of another: NUL becomes
// 00 FF, and the end becomes 00 00. open leaves both out; it is set for the
// last component of a key.
// A component that is inverted needs its end even if it is the last.
func appendText(dst, text []byte, fold, open bool) []byte {
	start := len(dst)
	if open || bytes.IndexByte(text, 0) < 0 {
		dst = append(dst, text...)
	} else {
		for _, c := range text {
			if dst = append(dst, c); c == 0 {
				dst = append(dst, 0xff)
			}
		}
	}
	// Case is folded in dst, so that the line itself is never changed.
	if fold {
		upper(dst[start:])
	}
	if !open {
		dst = append(dst, 0, 0)
	}
	return dst
}

// upper turns a to z into capitals in place, eight bytes at a time. Other bytes stay, as in the C
// locale.
func upper(p []byte) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; len(p) >= 8; p = p[8:] {
		word := binary.LittleEndian.Uint64(p)
		// Without its high bit no byte carries into the next one.
		low := word &^ high
		fromA, afterZ := low+(0x80-'a')*ones, low+(0x7f-'z')*ones
		binary.LittleEndian.PutUint64(p, word-(fromA^afterZ)&^word&high>>2)
	}
	for i, c := range p {
		if c-'a' < 26 {
			p[i] = c - ('a' - 'A')
		}
	}
}

// invert turns the order of a component around in place: it flips every bit.
func invert(p []byte) {
	for i := range p {
		p[i] = ^p[i]
	}
}
