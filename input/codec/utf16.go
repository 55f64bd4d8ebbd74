package codec

import (
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// IsUTF16 reports whether head, the first bytes of a text, begins with a byte-order mark of UTF-16.
func IsUTF16(head []byte) bool {
	return len(head) >= 2 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff)
}

// utf16Buffer is the length of the buffer of a UTF16Reader, in bytes.
const utf16Buffer = 16 << 10

// UTF16Reader decodes a text that begins with a byte-order mark of UTF-16 to UTF-8. The mark is left
// out. Any other text stays as it is. U+FFFD stands for half a surrogate pair, and for the rest of a
// text that ends within a character. The zero value reads nothing; Reset comes first.
type UTF16Reader struct {
	src    io.Reader
	err    error // with which src ended; nil: it has not ended
	stored int64 // bytes that were read from src
	begun  bool
	marked bool              // the text is UTF-16
	high   int               // index of the high byte in a unit
	buf    []byte            // for raw
	raw    []byte            // bytes of src that were not decoded yet
	char   [utf8.UTFMax]byte // for rest
	rest   []byte            // of a character that did not fit in the buffer of Read
}

// Reset begins another text.
func (u *UTF16Reader) Reset(src io.Reader) {
	if u.buf == nil {
		u.buf = make([]byte, utf16Buffer)
	}
	*u = UTF16Reader{src: src, buf: u.buf}
}

// Stored returns the length in src of the text that was read, with its mark. The text that was read
// must end with a whole character.
func (u *UTF16Reader) Stored() int64 { return u.stored - int64(len(u.raw)) }

// Ready reports whether the next Read returns text without a read from src.
func (u *UTF16Reader) Ready() bool {
	if len(u.raw) == 0 || !u.marked {
		return len(u.rest)+len(u.raw) > 0
	}
	_, bytes := u.next()
	return len(u.rest) > 0 || bytes > 0
}

// Read implements io.Reader.
func (u *UTF16Reader) Read(p []byte) (int, error) {
	// The first byte is mostly no part of a mark. Then the writer of a pipe is not waited for.
	for !u.begun {
		u.fill()
		u.marked = IsUTF16(u.raw)
		u.begun = u.err != nil || len(u.raw) >= 2 || len(u.raw) == 1 && u.raw[0] < 0xfe
		if u.marked {
			if u.raw[0] == 0xff {
				u.high = 1
			}
			u.raw = u.raw[2:]
		}
	}
	for {
		n := 0
		switch {
		case u.marked:
			n = u.decode(p)
		case len(u.raw) > 0:
			n = copy(p, u.raw)
			u.raw = u.raw[n:]
		case u.err == nil:
			n, u.err = u.src.Read(p)
			u.stored += int64(n)
		}
		if n > 0 || len(p) == 0 {
			return n, nil
		}
		if u.err != nil {
			return 0, u.err
		}
		if u.marked {
			u.fill()
		}
	}
}

// fill reads more bytes behind raw, which has less than a character.
func (u *UTF16Reader) fill() {
	kept := copy(u.buf, u.raw)
	n, err := u.src.Read(u.buf[kept:])
	u.raw = u.buf[:kept+n]
	u.err = err
	u.stored += int64(n)
}

// decode decodes whole characters of raw to p, and returns the bytes in p.
func (u *UTF16Reader) decode(p []byte) int {
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	for n < len(p) {
		raw, at := u.raw, 0
		for at+1 < len(raw) && n < len(p) && raw[at+u.high] == 0 && raw[at+1-u.high] < utf8.RuneSelf {
			p[n] = raw[at+1-u.high]
			n++
			at += 2
		}
		u.raw = raw[at:]
		r, bytes := u.next()
		if bytes == 0 || n == len(p) {
			break
		}
		u.raw = u.raw[bytes:]
		char := utf8.AppendRune(u.char[:0], r)
		more := copy(p[n:], char)
		n, u.rest = n+more, char[more:]
	}
	return n
}

// next returns the first character of raw and its length in bytes. The length is 0 if raw has no
// whole character and src may have more.
func (u *UTF16Reader) next() (rune, int) {
	unit := func(at int) rune { return rune(u.raw[at+u.high])<<8 | rune(u.raw[at+1-u.high]) }
	switch {
	case len(u.raw) >= 2 && !utf16.IsSurrogate(unit(0)):
		return unit(0), 2
	case len(u.raw) >= 4:
		if r := utf16.DecodeRune(unit(0), unit(2)); r != utf8.RuneError {
			return r, 4
		}
		return utf8.RuneError, 2
	case len(u.raw) >= 2 && unit(0) >= 0xdc00:
		return utf8.RuneError, 2
	case u.err == io.EOF:
		return utf8.RuneError, len(u.raw)
	}
	return 0, 0
}
