package sort

import "bytes"

// AppendKey appends the sort key of line to dst. Keys are compared byte by byte.
// Several goroutines may call it.
func (o *Order) AppendKey(dst, line []byte) []byte {
	for i := range o.fields {
		f := &o.fields[i]
		start := len(dst)
		last := i == len(o.fields)-1 && !o.whole
		dst = o.appendField(dst, f, o.text(f, line), last && !f.reverse)
		if f.reverse {
			invert(dst[start:])
		}
	}
	if !o.whole {
		return dst
	}
	if !o.reverse {
		return append(dst, line...)
	}
	start := len(dst)
	dst = appendText(dst, line, false, false)
	invert(dst[start:])
	return dst
}

// text returns what a field compares.
func (o *Order) text(f *field, line []byte) []byte {
	switch {
	case o.csv && !f.line:
		text := csvColumn(line, f.column, byte(o.separator))
		if f.skipStart {
			text = text[skipBlanks(text, 0):]
		}
		return text
	case !o.json || f.line:
		return f.cut(line, o.separator)
	case f.isPlain() && !f.fold:
		return jsonValue(line, f.path)
	}
	return jsonText(jsonValue(line, f.path))
}

// appendField appends the component of one field. open is as for appendText.
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

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

func skipBlanks(line []byte, at int) int {
	for at < len(line) && isBlank(line[at]) {
		at++
	}
	return at
}

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

func (f *field) begin(line []byte, separator int) int {
	at := 0
	if !f.line {
		for n := f.startField; n > 0 && at < len(line); n-- {
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

func (f *field) end(line []byte, separator int) int {
	fields := f.endField
	if f.endByte != 0 {
		fields--
	}
	at := 0
	for n := fields; n > 0 && at < len(line); n-- {
		at = fieldEnd(line, at, separator)
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
func advance(line []byte, at int, n uint64) int {
	if n > uint64(len(line)-at) {
		return len(line)
	}
	return at + int(n)
}

// appendText appends text so that no result is a prefix of another: NUL becomes
// 00 FF, and the end becomes 00 00. open leaves both out; it is set for the
// last component of a key.
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
	if fold {
		upper(dst[start:])
	}
	if !open {
		dst = append(dst, 0, 0)
	}
	return dst
}

func upper(p []byte) {
	for i, c := range p {
		if c-'a' < 26 {
			p[i] = c - ('a' - 'A')
		}
	}
}

func invert(p []byte) {
	for i := range p {
		p[i] = ^p[i]
	}
}
