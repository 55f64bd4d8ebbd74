package sort

import (
	"bytes"
	"encoding/binary"
)

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
