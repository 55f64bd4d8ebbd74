// Package scan marks places in text, 64 of them a word: where a literal lies
// (Needle), where one of a set does (Set), where lines end (Newlines), and
// which lines hold a mark (Ends). Bit i of word w stands for place 64w+i.
//
// Words of marks are what the search of lines wants: a turn of the loop costs
// the same whether it finds nothing or a place in every line, so common
// literals cost what rare ones do; no call is made and no branch mispredicted
// for a hit; and the lines of 64 places are told with one addition.
//
// Bytes.Edges instead lists where runs of some bytes begin and end: for words,
// of which every one is wanted.
//
// The kernels are in assembly for amd64 with AVX2, which is looked for at run
// time, unless the tag safe is set; their twins in plain Go (portable.go) serve
// everything else and say what is right. A kernel reads only the data it is
// given. Nothing here keeps data; a Needle or a Set belongs to one caller at
// a time.
//
// mrlocal/jobs/grep and mrlocal/jobs.Words decide what to look for.
package scan

import "unicode/utf8"

// Marker marks the places where something begins.
type Marker interface {
	// Mark sets each of hits to the marks of its 64 places of data, and says
	// whether there is one. Data may be longer than hits and is then looked
	// at beyond, for what begins before.
	Mark(hits []uint64, data []byte) (found bool)
	// Tune fits the search to a sample of the text to come.
	Tune(sample []byte)
}

// Literal is a string to look for, not empty. With Fold its ASCII letters,
// which are lower case, match in either case.
type Literal struct {
	Text string
	Fold bool
}

// mask has the bit that tells the cases apart where byte i of l folds.
func (l Literal) mask(i int) byte {
	if c := l.Text[i]; l.Fold && 'a' <= c && c <= 'z' {
		return 0x20
	}
	return 0
}

// Begins reports whether l lies at the start of data.
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

// Frequency is a rough share of a byte in text: prose with markup.
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

// Frequency is that of byte i of l in a text.
func (l Literal) Frequency(i int) float64 {
	f := Frequency(l.Text[i])
	if l.mask(i) != 0 {
		f += Frequency(l.Text[i] &^ 0x20)
	}
	return f
}

// weigh says how often byte i of a literal is expected, given what a sample
// holds: the general frequencies only break ties.
func (l Literal) weigh(i int, counts *[256]int) float64 {
	c, m := l.Text[i], l.mask(i)
	n := counts[c]
	if m != 0 {
		n += counts[c&^m]
	}
	return 1000*float64(n) + l.Frequency(i)
}

func countBytes(sample []byte) *[256]int {
	var counts [256]int
	for _, c := range sample {
		counts[c]++
	}
	return &counts
}
