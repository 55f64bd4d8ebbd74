package grep

import (
	"bytes"
	"math"
	"math/bits"
)

// none is the place of what is not there.
const none = math.MaxInt

// border is what must lie around a literal for it to be a match.
type border uint8

const (
	anywhere  border = iota
	wordEnds         // -w: no word byte on either side
	wholeLine        // -x: the ends of the line on both sides
)

// needle finds one literal: it stops at the literal's rarest byte, of which
// the standard library's wide IndexByte passes the others at memory speed,
// and compares there. The literal's two stop bytes are equal unless it folds.
type needle struct {
	text   []byte
	mask   []byte // 0x20 for folded letters, else 0
	folds  bool
	border border

	rare, check int     // offsets in text
	stops       [2]byte // the rare byte in both cases
	ahead       [2]int  // where the next of each lies, at or after what was last asked for
}

func newNeedle(l literal, b border) *needle {
	n := &needle{text: []byte(l.text), mask: make([]byte, len(l.text)), border: b}
	for i, c := range n.text {
		n.folds = n.folds || l.fold
		if l.fold && 'a' <= c && c <= 'z' {
			n.mask[i] = 0x20
		}
	}
	n.tune(nil)
	return n
}

// tune chooses the stop byte by the frequencies in a sample of the text to
// come, with the general ones as tie-breakers.
func (n *needle) tune(counts *[256]int) {
	weight := func(i int) float64 {
		c := n.text[i]
		w := frequency(c)
		if n.mask[i] != 0 {
			w += frequency(c &^ 0x20)
		}
		if counts != nil {
			w += 1000 * float64(counts[c])
			if n.mask[i] != 0 {
				w += 1000 * float64(counts[c&^0x20])
			}
		}
		return w
	}
	n.rare = 0
	for i := range n.text {
		if weight(i) < weight(n.rare) {
			n.rare = i
		}
	}
	n.check = (n.rare + 1) % len(n.text)
	for i := range n.text {
		if i != n.rare && weight(i) < weight(n.check) {
			n.check = i
		}
	}
	c := n.text[n.rare]
	n.stops = [2]byte{c, c &^ n.mask[n.rare]}
}

// reset begins a new text.
func (n *needle) reset() { n.ahead = [2]int{-1, -1} }

// find is where the literal lies next in data at or after from, or none.
//
// hot: a stop byte a turn.
func (n *needle) find(data []byte, from int) int {
	text, rare := n.text, n.rare
	lastStop := len(data) - len(text) + rare
	for at := from + rare; at <= lastStop; at++ {
		if n.stops[0] == n.stops[1] {
			k := bytes.IndexByte(data[at:lastStop+1], n.stops[0])
			if k < 0 {
				return none
			}
			at += k
		} else if at = n.nextStop(data, at); at > lastStop {
			return none
		}
		start := at - rare
		if data[start+n.check]|n.mask[n.check] == text[n.check] && n.equal(data[start:start+len(text)]) && n.bordered(data, start) {
			return start
		}
	}
	return none
}

// nextStop is the next stop byte of either case. The places are kept: the
// rarer of the two is not searched for again until it is passed.
func (n *needle) nextStop(data []byte, at int) int {
	for i, c := range n.stops {
		if n.ahead[i] < at {
			if k := bytes.IndexByte(data[at:], c); k >= 0 {
				n.ahead[i] = at + k
			} else {
				n.ahead[i] = none
			}
		}
	}
	return min(n.ahead[0], n.ahead[1])
}

func (n *needle) equal(p []byte) bool {
	if !n.folds {
		return string(p) == string(n.text)
	}
	for i, c := range p {
		if c|n.mask[i] != n.text[i] {
			return false
		}
	}
	return true
}

func (n *needle) bordered(data []byte, start int) bool {
	end := start + len(n.text)
	switch n.border {
	case wordEnds:
		return (start == 0 || !isWord(data[start-1])) && (end == len(data) || !isWord(data[end]))
	case wholeLine:
		return (start == 0 || data[start-1] == '\n') && (end == len(data) || data[end] == '\n')
	}
	return true
}

func isWord(c byte) bool {
	return c-'a' < 26 || c-'A' < 26 || c-'0' < 10 || c == '_'
}

// finder finds a set of literals in one text after the other: the leftmost,
// and where several begin, the first of the set.
type finder struct {
	needles []*needle
	next    []int // of each needle, at or after what was last asked for
}

func newFinder(set []literal, b border) *finder {
	f := &finder{next: make([]int, len(set))}
	for _, l := range set {
		f.needles = append(f.needles, newNeedle(l, b))
	}
	return f
}

// reset begins a new text.
func (f *finder) reset() {
	for i, n := range f.needles {
		f.next[i] = -1
		n.reset()
	}
}

// tune chooses the stop bytes by a sample of the text.
func (f *finder) tune(sample []byte) {
	var counts [256]int
	for _, c := range sample {
		counts[c]++
	}
	for _, n := range f.needles {
		n.tune(&counts)
	}
}

// find is the next literal in data at or after from: start is none
// when there is none. from must not decrease until reset.
func (f *finder) find(data []byte, from int) (start, end int) {
	if len(f.needles) == 1 {
		if start = f.needles[0].find(data, from); start == none {
			return none, none
		}
		return start, start + len(f.needles[0].text)
	}
	start = none
	first := 0
	for i, n := range f.needles {
		if f.next[i] < from {
			f.next[i] = n.find(data, from)
		}
		if f.next[i] < start {
			start, first = f.next[i], i
		}
	}
	if start == none {
		return none, none
	}
	return start, start + len(f.needles[first].text)
}

// lineStart is where the line begins that at lies in; from is known to be the
// start of a line at or before it. It goes back eight bytes at a time.
func lineStart(data []byte, from, at int) int {
	const lows, highs = 0x0101010101010101, 0x8080808080808080
	for at-from >= 8 {
		p := data[at-8 : at]
		v := uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16 | uint64(p[3])<<24 |
			uint64(p[4])<<32 | uint64(p[5])<<40 | uint64(p[6])<<48 | uint64(p[7])<<56
		v ^= '\n' * lows
		// Exact for every byte: the high bit stays clear only in zero bytes.
		if zero := ^((v&^highs + ^uint64(highs)) | v) & highs; zero != 0 {
			return at - bits.LeadingZeros64(zero)/8
		}
		at -= 8
	}
	for at > from && data[at-1] != '\n' {
		at--
	}
	return at
}

// lineEnd is where the line ends that at lies in: its newline or the data's
// end.
func lineEnd(data []byte, at int) int {
	if k := bytes.IndexByte(data[at:], '\n'); k >= 0 {
		return at + k
	}
	return len(data)
}
