package sort

import (
	"bytes"
	"crypto/md5"
	"strings"
)

// appendHuman appends a key for a number with a unit, such as 2K or 1.5G. Sign and
// unit decide first, so that 1G lies behind 1030M, and then the number. As in GNU
// sort, a unit counts directly behind the number, and zero has none.
func appendHuman(dst, text []byte) []byte {
	text = text[skipBlanks(text, 0):]
	minus, whole, fraction, at := decimal(text)
	// The index of the letter is the power of 1000 or 1024. GNU sort does not compare
	// 1000K with 1M by value.
	order := byte(0)
	if at < len(text) && len(bytes.Trim(whole, "0"))+len(bytes.Trim(fraction, "0")) > 0 {
		// IndexByte returns -1 for another letter, which is FF as a byte.
		if order = byte(strings.IndexByte(" KMGTPEZYRQ", text[at])); text[at] == 'k' {
			order = 1
		}
		if order == 0xff { // none of them
			order = 0
		}
	}
	// A negative number with a greater unit is smaller.
	if minus {
		order = -order
	}
	// 80 is the middle, so that negative orders lie before it.
	return appendNumber(append(dst, 0x80+order), text)
}

// appendMonth appends 1 to 12 for text that begins with the English name of a month
// in three letters, and 0 for all other text. Blanks before the name, and its case,
// do not matter. Bytes behind the third letter do not count: March and Mar are
// equal.
func appendMonth(dst, text []byte) []byte {
	text = text[skipBlanks(text, 0):]
	if len(text) >= 3 {
		// The list has a space behind each name, so a name never begins inside of another
		// one. The check for letters below keeps out bytes that |0x20 turns into letters.
		name := [3]byte{text[0] | 0x20, text[1] | 0x20, text[2] | 0x20}
		if at := strings.Index("jan feb mar apr may jun jul aug sep oct nov dec", string(name[:])); at >= 0 && isLetter(text[0]) && isLetter(text[1]) && isLetter(text[2]) {
			return append(dst, byte(at/4)+1)
		}
	}
	return append(dst, 0)
}

// appendRandom appends the digest of the salt and text, and then the text, which
// decides between texts with one digest. With the bytes of a random source as salt,
// the order is that of GNU sort (compare_random).
// Texts with equal bytes have equal digests, so -R keeps equal keys together.
func appendRandom(dst, text []byte, salt *[SaltBytes]byte, open bool) []byte {
	start := len(dst)
	dst = append(append(dst, salt[:]...), text...)
	// MD5 is what GNU sort uses. It protects nothing here.
	digest := md5.Sum(dst[start:])
	dst = append(dst[:start], digest[:]...)
	return appendText(dst, text, false, open)
}

// appendKept appends the bytes of text that the rules keep (-d, -i), in capitals if
// they say so (-f).
func (r *rules) appendKept(dst, text []byte) []byte {
	start := len(dst)
	for _, c := range text {
		switch {
		// -d wins over -i, as in GNU sort.
		case r.dictionary && !isLetter(c) && !isDigit(c) && !isBlank(c):
		case r.printing && !r.dictionary && (c < ' ' || c > '~'):
		default:
			dst = append(dst, c)
		}
	}
	if r.fold {
		upper(dst[start:])
	}
	return dst
}
