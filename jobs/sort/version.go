package sort

import (
	"bytes"
	"encoding/binary"
)

// The codes that a version key is made of. Letters stand between versionEnd and all
// other bytes.
const (
	// A tilde lies before the end of the text, so that 1.0~rc1 comes before 1.0. Capitals
	// lie before small letters.
	versionTilde   = 1
	versionEnd     = 2 // also the beginning of a number
	versionLetters = 3
	versionOthers  = versionLetters + 52
)

// The first byte of a version key. The first three stand alone.
const (
	// The order is that of filevercmp: the empty text, then . and .., then hidden files.
	versionEmpty = iota
	versionDot
	versionDotDot
	versionHidden // begins with a dot
	versionOther
)

// appendVersion appends a key that orders text as filevercmp of Gnulib does. The
// text is divided into a name and file suffixes such as .tar.gz. The name is
// compared first, and then, if names are equal, all of the text.
//
// A part is a sequence of runs, by turns of bytes that are no digits and of
// digits. A run of bytes becomes one code for each byte. Then come versionEnd
// and the number: how many digits it has without zeros at its start, and these
// digits. The end of a part counts as the number zero, so that a and a0 are equal;
// behind it stands one more versionEnd.
// Texts that differ only in zeros before numbers get the same key. The whole line
// decides between them.
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
	// Here the names are equal. What follows tells them apart as the whole text does:
	// a0.b has a number in front of the suffix, and a.b has none.
	if isDigit(name[len(name)-1]) || len(suffix) == 0 {
		dst = append(dst, versionEnd)
	}
	if len(suffix) == 0 {
		return append(dst, versionEnd)
	}
	return appendVersionPart(dst, suffix)
}

// versionName returns the length of text, which is not empty, without the file
// suffixes at its end. Suffixes are any number of a dot, a letter or tilde, and
// more letters, digits or tildes. The first byte is never part of a suffix. The
// loop looks for the last place behind which nothing but suffixes follows.
func versionName(text []byte) int {
	name := 0
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

// appendVersionPart appends the runs of a name or of suffixes, as appendVersion
// describes. A length of FF or more digits takes nine bytes.
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

// versionCode returns the code of a byte that is no digit: tilde, letters, then all
// others in the order of their bytes.
// Codes have no gaps, so the largest fits into one byte.
func versionCode(c byte) byte {
	switch {
	case c == '~':
		return versionTilde
	case c >= 'a' && c <= 'z':
		return versionLetters + 26 + c - 'a'
	case c >= 'A' && c <= 'Z':
		return versionLetters + c - 'A'
	}
	before := byte(0) // digits, letters and the tilde, whose codes lie elsewhere
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

// isDigit and isLetter know ASCII alone, as the C locale does. A byte below the first
// digit wraps to a large number.
func isDigit(c byte) bool  { return c-'0' < 10 }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
