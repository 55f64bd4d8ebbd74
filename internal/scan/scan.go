// Package scan marks places in text, 64 of them in one word of bits. A Needle
// marks where a literal lies, and a Set where one of several literals lies.
// Newlines marks where lines end, and Ends which lines hold a mark. Bit i of
// word w stands for place 64w+i.
//
// Words of marks make the search of lines fast. A step of the loop takes the
// same time whether it finds no place or a place in each line. So common literals
// are found as fast as rare ones. A hit takes no call and no mispredicted branch.
// One addition finds the lines of 64 places (Ends).
//
// Bytes.Edges works in another way. It lists the places at which runs of bytes begin and
// end. A caller that splits text into words needs all of them.
//
// The kernels are in assembly for amd64, unless the build tag safe is set. At run time
// they need AVX2. Their twins in plain Go serve all other builds and
// processors, and define the right result.
//
// Memory: a kernel reads only the data that it is given, and nothing keeps data. A Needle
// or a Set belongs to one goroutine at a time.
package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"
)

// ByteOrderMark is the first character of UTF-8 texts that some programs write, such as spreadsheets.
const ByteOrderMark = "\ufeff"

// Marker marks the places at which a literal, or one of several literals, begins.
type Marker interface {
	// Mark sets hits[w] to the marks of the 64 places of data from 64w on, and
	// reports whether there is any. data may be longer than 64*len(hits): a literal
	// that begins at the last places may end behind them.
	Mark(hits []uint64, data []byte) (found bool)
	// Tune makes the search fast for text like sample.
	Tune(sample []byte)
}

// Literal is a string to search for. It is not empty. If Fold is true, its ASCII
// letters must be lower case, and match in either case.
type Literal struct {
	Text string
	Fold bool
}

// mask returns the bit in which the two cases of byte i differ; 0: the byte matches in one case
// only.
func (l Literal) mask(i int) byte {
	if c := l.Text[i]; l.Fold && 'a' <= c && c <= 'z' {
		return 0x20
	}
	return 0
}

// Begins reports whether data begins with l.
func (l Literal) Begins(data []byte) bool {
	if len(data) < len(l.Text) {
		return false
	}
	if !l.Fold {
		return string(data[:len(l.Text)]) == l.Text
	}
	for i := range len(l.Text) {
		if data[i]|l.mask(i) != l.Text[i] {
			return false
		}
	}
	return true
}

// Frequency returns an estimate of the share of a byte in text, which is English prose with markup.
func Frequency(c byte) float64 {
	const letters = "\x41\x0c\x18\x1f\x66\x0f\x0f\x21\x38\x01\x07\x21\x13\x39\x3e\x11\x01\x36\x35\x4a\x16\x08\x0b\x02\x0f\x01" // a to z, thousandths
	switch {
	case 'a' <= c && c <= 'z':
		return float64(letters[c-'a']) / 1000
	case 'A' <= c && c <= 'Z':
		return float64(letters[c-'A']) / 20000
	case c == ' ':
		return 0.15
	case c == '\n' || c == ',' || c == '.':
		return 0.01
	case '0' <= c && c <= '9':
		return 0.005
	case c < ' ':
		return 0.0001
	case c >= utf8.RuneSelf:
		return 0.002
	}
	return 0.003
}

// Frequency returns an estimate of the share of byte i of l in text, in both cases if it folds.
func (l Literal) Frequency(i int) float64 {
	f := Frequency(l.Text[i])
	if l.mask(i) != 0 {
		f += Frequency(l.Text[i] &^ 0x20)
	}
	return f
}

// weigh returns a weight for byte i of a literal: how often the byte occurs, by the counts of a
// sample. Between equal counts the general frequencies decide.
func (l Literal) weigh(i int, counts *[256]int) float64 {
	c, m := l.Text[i], l.mask(i)
	n := counts[c]
	if m != 0 {
		n += counts[c&^m]
	}
	return 1000*float64(n) + l.Frequency(i)
}

// countBytes returns how often each byte value occurs.
func countBytes(sample []byte) *[256]int {
	var counts [256]int
	for _, c := range sample {
		counts[c]++
	}
	return &counts
}

// Newlines sets marks[w] to the marks of the newlines in the 64 bytes of data from 64w on. data may
// end before the last of these places. Places behind its end get no mark.
func Newlines(marks []uint64, data []byte) {
	full := min(len(data)/64, len(marks))
	if full > 0 {
		kernelNewlines(marks[:full], data)
	}
	if full == len(marks) {
		return
	}
	clear(marks[full:])
	for i, c := range data[64*full:] {
		if c == '\n' {
			marks[full] |= 1 << i
		}
	}
}

// LineEnd returns the end of the line that contains offset at: the offset of its newline, or len(data).
func LineEnd(data []byte, at int) int {
	if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(data)
}

// Border says which surroundings a match must have.
type Border uint8

const (
	Anywhere  Border = iota
	WordEnds         // no word character directly before it or behind it
	WholeLine        // it is the whole line
)

// Around reports whether data[start:end] has the border b.
func (b Border) Around(data []byte, start, end int) bool {
	switch b {
	case WordEnds:
		return (start == 0 || !IsWord(data[start-1])) && (end == len(data) || !IsWord(data[end]))
	case WholeLine:
		return (start == 0 || data[start-1] == '\n') && (end == len(data) || data[end] == '\n')
	}
	return true
}

// FoldClass returns r and the runes that differ from it only in case, in ascending order, as a class of
// package syntax: each rune stands twice, as the first and the last one of a range.
func FoldClass(r rune) []rune {
	all := []rune{r, r}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		all = append(all, f, f)
	}
	slices.Sort(all)
	return all
}

// IsWord reports whether c is a word character of grep -w in the C locale. Bytes wrap around, so one
// comparison checks each range.
func IsWord(c byte) bool {
	return c-'a' < 26 || c-'A' < 26 || c-'0' < 10 || c == '_'
}

// Bytes is a set of byte values. Edges finds runs of bytes that belong to it,
// such as words.
type Bytes struct {
	low, high [16]byte   // a byte below 0x80 is listed if the entries of its two nibbles share a bit
	invert    uint64     // all ones: the set has the listed bytes; 0: it has all others
	in        [256]uint8 // 1: the byte is in the set
}

// NewBytes returns the set of the ASCII bytes for which in returns true. If others is
// true, it returns the set of all other bytes, including those above ASCII.
func NewBytes(in func(c byte) bool, others bool) *Bytes {
	s := &Bytes{invert: ^uint64(0)}
	if others {
		s.invert = 0
	}
	var rows []uint16 // for each bit, the low nibbles that it stands for
	for high := range 8 {
		row := uint16(0)
		for low := range 16 {
			if in(byte(high<<4 | low)) {
				row |= 1 << low
			}
		}
		bit := slices.Index(rows, row)
		if row == 0 {
			continue
		} else if bit < 0 {
			bit, rows = len(rows), append(rows, row)
		}
		s.high[high] = 1 << bit
		for low := range 16 {
			s.low[low] |= byte(row>>low&1) << bit
		}
	}
	for c := range s.in {
		if (c < 0x80 && in(byte(c))) != others {
			s.in[c] = 1
		}
	}
	return s
}

// EdgesRoom is the least length of dst for Edges.
const EdgesRoom = 64 + 16

// Edges writes to dst, in turn, the places at which runs of bytes of the set begin and end in data,
// from place at on. It stops at the end of data, or if dst may be too short for the next 64 bytes.
// If data[at-1] is in the set, a run has begun already, and its end comes first. A run that reaches
// the end of data ends there. Edges returns the number of places, and the place next at which the
// caller goes on; len(data): there is no more.
func (s *Bytes) Edges(dst []uint32, data []byte, at int) (n, next int) {
	last := uint64(0)
	if at > 0 {
		last = uint64(s.in[data[at-1]])
	}
	if at+64 <= len(data) {
		n, at, last = s.windows(dst, data, at, last)
	}
	if len(data)-at >= 64 || at < len(data) && len(dst)-n < EdgesRoom {
		return n, at
	}
	// The bits behind the last byte are 0, so a run that reaches the end of data ends there.
	in := s.mask(data[at:])
	return appendEdges(dst, n, at, in^(in<<1|last)), len(data)
}

// windowsPortable finds the edges of whole windows of 64 bytes, as long as dst
// has room for the edges of one more. last is 1 if a run has begun before at. inRun is the same for
// next.
//
// hot: it serves processors for which there is no assembly.
func (s *Bytes) windowsPortable(dst []uint32, data []byte, at int, last uint64) (n, next int, inRun uint64) {
	for at+64 <= len(data) && len(dst)-n >= EdgesRoom {
		in := s.mask(data[at : at+64])
		n = appendEdges(dst, n, at, in^(in<<1|last))
		last = in >> 63
		at += 64
	}
	return n, at, last
}

// mask returns a bit for each of up to 64 bytes: 1 if the byte is in the set.
func (s *Bytes) mask(p []byte) (in uint64) {
	for i, c := range p {
		in |= uint64(s.in[c]) << (i & 63)
	}
	return in
}

// appendEdges writes at+i to dst, behind its first n elements, for each bit i of edges that is 1. It
// returns the new number of elements. dst has room for 64 more.
func appendEdges(dst []uint32, n, at int, edges uint64) int {
	for ; edges != 0; edges &= edges - 1 {
		dst[n] = uint32(at + bits.TrailingZeros64(edges))
		n++
	}
	return n
}

// This file has the kernels in plain Go. The caller gives them all the data that they read.
// These are the places of hits, and the bytes up to the largest offset behind the last place.

// portableMark is kernelMark in plain Go. It searches for the byte of the first column, and compares
// the other columns only there.
//
// hot: it serves processors for which there is no assembly.
func portableMark(hits []uint64, data []byte, columns []column) bool {
	clear(hits)
	found := false
	first := &columns[0]
	for _, c := range [2]byte{first.want[0], first.want[0] &^ first.mask[0]} {
		text := data[first.offset : int(first.offset)+64*len(hits)]
		for at := 0; ; at++ {
			k := bytes.IndexByte(text[at:], c)
			if k < 0 {
				break
			}
			at += k
			if columnsAt(data[at:], columns[1:]) {
				hits[at/64] |= 1 << (at % 64)
				found = true
			}
		}
		if first.mask[0] == 0 {
			break
		}
	}
	return found
}

// columnsAt reports whether all columns match at the start of data.
func columnsAt(data []byte, columns []column) bool {
	for i := range columns {
		c := &columns[i]
		if data[c.offset]|c.mask[0] != c.want[0] {
			return false
		}
	}
	return true
}

// portableMarkSet is kernelMarkSet in plain Go.
//
// hot: it serves processors for which there is no assembly.
func portableMarkSet(hits []uint64, data []byte, t *tables) bool {
	found := false
	for w := range hits {
		word := uint64(0)
		for i := range 64 {
			if t.buckets(data[64*w+i:]) != 0 {
				word |= 1 << i
			}
		}
		hits[w] = word
		found = found || word != 0
	}
	return found
}

// portableNewlines is kernelNewlines in plain Go, eight bytes at a time.
//
// hot: it serves processors for which there is no assembly.
func portableNewlines(marks []uint64, data []byte) {
	const lows, highs = 0x0101010101010101, 0x8080808080808080
	for w := range marks {
		word := uint64(0)
		for i := range 8 {
			v := binary.LittleEndian.Uint64(data[64*w+8*i:]) ^ '\n'*lows
			// v has a zero byte for each newline. Exactly those bytes get their high bit set.
			zero := ^((v&^highs + ^uint64(highs)) | v) & highs
			// The highest byte of the product has the eight high bits, one for each byte.
			word |= (zero >> 7 * 0x0102040810204080 >> 56) << (8 * i)
		}
		marks[w] = word
	}
}

// Ends sets ends to the marks of the newlines that end a line with a hit, and returns their
// number. carry is 1 if the line that begins before the first word has a hit
// already. carryOut is the same for the words that follow.
//
// The words of newlines, inverted, have ones between newlines. Adding a hit makes a carry that runs
// through these ones up to the next newline. The carry stops there, because a newline is a zero.
// Further hits of the same line make no second carry into that newline.
//
// hot: one step for 64 bytes.
func Ends(ends, hits, newlines []uint64, carry uint64) (count int, carryOut uint64) {
	hits, newlines = hits[:len(ends)], newlines[:len(ends)]
	for w := range ends {
		var sum uint64
		sum, carry = bits.Add64(^newlines[w], hits[w], carry)
		ends[w] = sum & newlines[w]
		count += bits.OnesCount64(ends[w])
	}
	return count, carry
}
