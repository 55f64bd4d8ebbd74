package sort

import (
	"bytes"
	"encoding/binary"

	"mrlocal/jobs/internal/lines"
)

// AppendKey appends the sort key of line to dst and returns the result. Comparing keys byte by
// byte gives the order of the lines. line must have passed Check. Several goroutines may call
// AppendKey.
func (o *Order) AppendKey(dst, line []byte) []byte {
	// The last component needs no end, because nothing follows it.
	dst = o.appendFields(dst, line, !o.whole)
	if !o.whole {
		return dst
	}
	// The line is the last component, so it needs no end.
	if !o.reverse {
		return append(dst, line...)
	}
	// In descending order a longer line comes before its own prefix. So the line gets an end,
	// which is inverted with it.
	start := len(dst)
	dst = appendText(dst, line, false, false)
	invert(dst[start:])
	return dst
}

// appendFields appends the components of all fields. open says that the last component needs no
// end.
func (o *Order) appendFields(dst, line []byte, open bool) []byte {
	for i := range o.fields {
		f := &o.fields[i]
		// A descending component is built in ascending form and then inverted in place. Its end
		// must be inverted too, so it always gets one.
		start := len(dst)
		dst = o.appendField(dst, f, o.text(f, line), open && i == len(o.fields)-1 && !f.has(reverse))
		if f.has(reverse) {
			invert(dst[start:])
		}
	}
	return dst
}

// Line is a line for Compare, with its key from Order.Key.
type Line struct{ Text, Key []byte }

// Key returns the key of the fields of line, for Compare. It lies in line or in *memory, to
// which Key appends it. It is valid as long as both are not overwritten.
func (o *Order) Key(memory *[]byte, line []byte) []byte {
	switch {
	case len(o.fields) == 0:
		return nil
	// One field of text is its own key.
	case len(o.fields) == 1 && !o.json && o.fields[0].isPlain() && !o.fields[0].has(fold|reverse):
		return o.text(&o.fields[0], line)
	}
	start := len(*memory)
	*memory = o.appendFields(*memory, line, true)
	return (*memory)[start:]
}

// Compare compares two lines in the order of their sort keys (AppendKey). The result is
// negative if a comes first, and 0 if they are equal.
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

// text returns the part of line that a field compares. It lies in line, except for values of
// CSV and JSON with escapes, which are new.
func (o *Order) text(f *field, line []byte) []byte {
	switch {
	case o.csv && !f.line:
		text := csvColumn(line, f.column, byte(o.separator))
		// -b skips blanks at the start of the value, inside its quotes.
		if f.has(blanks) {
			text = text[skipBlanks(text, 0):]
		}
		return text
	case !o.json || f.line:
		return f.cut(line, o.separator)
	// Without rules, the type of a value counts. So appendJSON gets the value with its quotes.
	case f.isPlain() && !f.has(fold):
		return jsonValue(line, f.path)
	}
	return jsonText(jsonValue(line, f.path))
}

// appendField appends the component of one field. text is the result of Order.text. open is as
// for appendText.
func (o *Order) appendField(dst []byte, f *field, text []byte, open bool) []byte {
	switch {
	case o.json && f.isPlain() && !f.has(fold) && !f.line:
		return appendJSON(dst, text, open)
	case f.has(numeric):
		return appendNumber(dst, text)
	case f.isPlain():
		return appendText(dst, text, f.has(fold), open)
	case f.has(general):
		return appendGeneral(dst, text)
	case f.has(month):
		return appendMonth(dst, text)
	}
	// The other rules compare kept bytes. These lie at the end of dst for a while, so no second
	// buffer is needed. At the end the component moves to their place.
	start := len(dst)
	dst = f.appendKept(dst, text)
	key := len(dst)
	text = dst[start:key]
	switch {
	case f.has(human):
		dst = appendHuman(dst, text)
	case f.has(random):
		dst = appendRandom(dst, text, &o.salt, open)
	case f.has(version):
		dst = appendVersion(dst, text)
	default:
		dst = appendText(dst, text, false, open)
	}
	return append(dst[:start], dst[key:]...)
}

// isBlank reports whether c is a blank of GNU sort in the C locale. A newline is one too,
// because records may contain newlines with -z and CSV.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// skipBlanks returns the offset of the first byte from at on that is not a blank, or len(line).
func skipBlanks(line []byte, at int) int {
	for at < len(line) && isBlank(line[at]) {
		at++
	}
	return at
}

// skipNonBlanks returns the offset of the first blank from at on, or len(line).
func skipNonBlanks(line []byte, at int) int {
	for at < len(line) && !isBlank(line[at]) {
		at++
	}
	return at
}

// cut returns the part of line that the field compares, as in GNU sort. It is empty if the end
// lies before the beginning.
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

// begin returns the offset at which the field begins (begfield of GNU sort). Without a
// separator, the blanks before a field belong to it. So a byte position counts them, unless b
// is given.
func (f *field) begin(line []byte, separator int) int {
	at := 0
	if !f.line {
		for n := f.startField; n > 0 && at < len(line); n-- {
			// A separator belongs to neither of its fields.
			if at = fieldEnd(line, at, separator); separator >= 0 && at < len(line) {
				at++
			}
		}
	}
	if f.has(blanks) {
		at = skipBlanks(line, at)
	}
	return advance(line, at, f.startByte)
}

// end returns the offset at which the field ends (limfield of GNU sort). An end position
// without a byte includes the whole last field.
func (f *field) end(line []byte, separator int) int {
	fields := f.endField
	// A byte position counts from the start of the last field, so that field is not skipped.
	if f.endByte != 0 {
		fields--
	}
	at := 0
	for n := fields; n > 0 && at < len(line); n-- {
		at = fieldEnd(line, at, separator)
		// The separator behind the last field does not belong to it.
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

// fieldEnd returns the end of the field that begins at at: the offset of the separator, or of
// the blank behind it.
func fieldEnd(line []byte, at, separator int) int {
	if separator < 0 {
		return skipNonBlanks(line, skipBlanks(line, at))
	}
	if n := bytes.IndexByte(line[at:], byte(separator)); n >= 0 {
		return at + n
	}
	return len(line)
}

// advance returns at + n, but at most len(line). n may be the largest 64-bit number, so it must
// not be added.
func advance(line []byte, at int, n uint64) int {
	if n > uint64(len(line)-at) {
		return len(line)
	}
	return at + int(n)
}

// appendText appends text so that no result is a prefix of another one: NUL becomes 00 FF, and
// the end becomes 00 00. open leaves out both; it is set for the last component of a key,
// unless that component is inverted. fold turns a to z into capitals.
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
	// Case is folded in dst, because line must not change.
	if fold {
		lines.Upper(dst[start:])
	}
	if !open {
		dst = append(dst, 0, 0)
	}
	return dst
}

// invert reverses the order of a component in place: it inverts every bit.
func invert(p []byte) {
	for i := range p {
		p[i] = ^p[i]
	}
}

// The codes in a version key. Letters come after versionEnd and before all other bytes.
const (
	// A tilde comes before the end of the text, so that 1.0~rc1 comes before 1.0. Capitals come
	// before small letters.
	versionTilde   = 1
	versionEnd     = 2 // also begins a number
	versionLetters = 3
	versionOthers  = versionLetters + 52
)

// The first byte of a version key. For the first three, it is the whole key.
const (
	// The order is that of filevercmp: the empty text, then . and .., then hidden files.
	versionEmpty = iota
	versionDot
	versionDotDot
	versionHidden // begins with a dot
	versionOther
)

// appendVersion appends a key that orders text as filevercmp of Gnulib does. The text is
// divided into a name and file suffixes such as .tar.gz. Names are compared first. If they are
// equal, the whole texts are compared.
//
// A part, a name or suffixes, consists of runs: a run of bytes that are not digits, then a run
// of digits, and so on. A run of bytes becomes one code for each byte. versionEnd and the
// number follow. The number has the count of its digits without zeros at its start, and these
// digits. The end of a part counts as the number zero, so that a and a0 are equal. Another
// versionEnd follows it.
//
// Texts that differ only in zeros before numbers get the same key.
func appendVersion(dst, text []byte) []byte {
	switch {
	case len(text) == 0:
		return append(dst, versionEmpty)
	case string(text) == ".":
		return append(dst, versionDot)
	case string(text) == "..":
		return append(dst, versionDotDot)
	case text[0] == '.':
		dst = append(dst, versionHidden)
	default:
		dst = append(dst, versionOther)
	}
	name := text[:versionName(text)]
	dst = appendVersionPart(dst, name)
	suffix := text[len(name):]
	// The names are equal. As in the whole texts, a number in front of the suffix tells a0.b
	// from a.b.
	if isDigit(name[len(name)-1]) || len(suffix) == 0 {
		dst = append(dst, versionEnd)
	}
	if len(suffix) == 0 {
		return append(dst, versionEnd)
	}
	return appendVersionPart(dst, suffix)
}

// versionName returns the length of text without the file suffixes at its end. text is not
// empty. Suffixes are any number of a dot, a letter or tilde, and more letters, digits or
// tildes. The first byte is never part of a suffix. The loop finds the last offset behind which
// there are only suffixes.
func versionName(text []byte) (name int) {
	for i := 0; i < len(text); {
		i++
		name = i
		for i+1 < len(text) && text[i] == '.' && (isLetter(text[i+1]) || text[i+1] == '~') {
			for i += 2; i < len(text) && (isLetter(text[i]) || isDigit(text[i]) || text[i] == '~'); i++ {
			}
		}
	}
	return name
}

// appendVersionPart appends the runs of a name or of suffixes (appendVersion). The count of
// digits is one byte, or nine bytes if it is FF or more.
func appendVersionPart(dst, text []byte) []byte {
	for {
		for len(text) > 0 && !isDigit(text[0]) {
			dst = append(dst, versionCode(text[0]))
			text = text[1:]
		}
		number, n := digits(text, 0)
		text = text[n:]
		number = bytes.TrimLeft(number, "0")
		dst = append(dst, versionEnd)
		if len(number) < 0xff {
			dst = append(dst, byte(len(number)))
		} else {
			dst = binary.BigEndian.AppendUint64(append(dst, 0xff), uint64(len(number)))
		}
		dst = append(dst, number...)
		if len(text) == 0 {
			return append(dst, versionEnd)
		}
	}
}

// versionCode returns the code of a byte that is not a digit. Codes put the tilde first, then
// letters, then all others in the order of their bytes. Codes have no gaps, so the largest one
// fits in a byte.
func versionCode(c byte) byte {
	switch {
	case c == '~':
		return versionTilde
	case c >= 'a' && c <= 'z':
		return versionLetters + 26 + c - 'a'
	case c >= 'A' && c <= 'Z':
		return versionLetters + c - 'A'
	}
	before := byte(0) // number of lower bytes that are digits, letters or the tilde
	if c > '9' {
		before += 10
	}
	if c > 'Z' {
		before += 26
	}
	if c > 'z' {
		before += 26
	}
	if c > '~' {
		before++
	}
	return versionOthers + c - before
}

// isDigit and isLetter know only ASCII, as the C locale does. Bytes below '0' wrap around to
// large numbers.
func isDigit(c byte) bool  { return c-'0' < 10 }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
