package dfa

import (
	"iter"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"
)

// classes divides the runes into classes. All runes of a class belong to the same sets.
type classes struct {
	breaks []rune    // runes at which another class begins, ascending; the first one is 0
	class  []uint16  // class of the runes from each break on
	sets   []members // by set
	ascii  [utf8.RuneSelf]uint16
	low    []uint16 // class of each rune below lowRunes; nil if classes do not change there
	some   []rune   // one rune of each class
	broken uint16   // class of U+FFFD
}

// members has the classes that belong to a set: a bit for each, or only one class if bits is nil.
// Most sets are single runes.
type members struct {
	one  uint16
	bits []uint64
}

// has reports whether all runes of a class belong to a set. Otherwise none does.
func (c *classes) has(class uint16, set int) bool {
	m := &c.sets[set]
	if m.bits == nil {
		return m.one == class
	}
	return m.bits[class/64]>>(class%64)&1 != 0
}

// mostClasses bounds the number of classes.
const mostClasses = math.MaxUint16

// lowRunes is above all runes of one or two bytes. In these scripts classes change often,
// because they have spaces, capitals and small letters.
const lowRunes = 0x800

// newClasses divides all runes into classes, so that each set has all runes of a class or none.
// A set has pairs of first and last runes, in order. newClasses returns nil if there would be
// too many classes.
func newClasses(sets [][]rune) *classes {
	// A new interval begins at the first rune of each range, and behind its last rune.
	breaks := []rune{0}
	for _, set := range sets {
		for i := 0; i < len(set); i += 2 {
			breaks = append(breaks, set[i], set[i+1]+1)
		}
	}
	slices.Sort(breaks)
	breaks = slices.Compact(breaks)
	if last := len(breaks) - 1; breaks[last] > unicode.MaxRune {
		breaks = breaks[:last]
	}
	class, n := partition(breaks, sets)
	if n > mostClasses {
		return nil
	}
	c := &classes{sets: make([]members, len(sets))}
	// Neighbouring intervals of one class become one.
	for i, b := range breaks {
		if n := len(c.class); n == 0 || c.class[n-1] != uint16(class[i]) {
			c.breaks, c.class = append(c.breaks, b), append(c.class, uint16(class[i]))
		}
		if class[i] == len(c.some) { // classes are numbered in the order of their first runes
			c.some = append(c.some, b)
		}
	}
	for id, set := range sets {
		c.sets[id] = newMembers(breaks, class, set, n)
	}
	for r := range c.ascii {
		c.ascii[r] = c.class[c.interval(rune(r))]
	}
	// The table pays only if classes change among these runes.
	if at := c.interval(utf8.RuneSelf); at+1 < len(c.breaks) && c.breaks[at+1] < lowRunes {
		c.low = make([]uint16, lowRunes)
		for r := range c.low {
			c.low[r] = c.class[c.interval(rune(r))]
		}
	}
	c.broken = c.class[c.interval(utf8.RuneError)]
	return c
}

// newMembers returns the classes that belong to a set. class has the class of each interval between
// breaks; there are n classes.
func newMembers(breaks []rune, class []int, set []rune, n int) (m members) {
	first := true
	for i := range intervals(breaks, set) {
		if first {
			m.one, first = uint16(class[i]), false
		} else if class[i] != int(m.one) && m.bits == nil {
			m.bits = make([]uint64, n/64+1)
			m.bits[m.one/64] |= 1 << (m.one % 64)
		}
		if m.bits != nil {
			m.bits[class[i]/64] |= 1 << (class[i] % 64)
		}
	}
	return m
}

// intervals returns the indices of the intervals between breaks that lie in a set.
func intervals(breaks, set []rune) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < len(set); i += 2 {
			at, _ := slices.BinarySearch(breaks, set[i])
			for ; at < len(breaks) && breaks[at] <= set[i+1]; at++ {
				if !yield(at) {
					return
				}
			}
		}
	}
}

// partition returns the class of each interval between breaks, and the number of classes. Intervals
// have the same class if they belong to the same sets. Classes are numbered in the order of their
// first intervals.
func partition(breaks []rune, sets [][]rune) (class []int, n int) {
	class = make([]int, len(breaks))
	// Each set takes the intervals inside of it out of their classes.
	type part struct{ class, set int }
	parts := map[part]int{}
	for id, set := range sets {
		for i := range intervals(breaks, set) {
			p := part{class[i], id}
			if parts[p] == 0 {
				parts[p] = len(parts) + 1
			}
			class[i] = parts[p]
		}
	}
	numbers := map[int]int{}
	for i, c := range class {
		if _, ok := numbers[c]; !ok {
			numbers[c] = len(numbers)
		}
		class[i] = numbers[c]
	}
	return class, len(numbers)
}

// interval returns the index in breaks of the interval that contains r.
func (c *classes) interval(r rune) int {
	at, found := slices.BinarySearch(c.breaks, r)
	if !found {
		at--
	}
	return at
}

// of returns the class of a rune, which is its column in the table.
func (c *classes) of(r rune) uint16 {
	if r < utf8.RuneSelf {
		return c.ascii[r]
	}
	return c.class[c.interval(r)]
}

// bytes divides the byte values into classes. Exchanging two bytes of a class in a text changes
// no result. The newline has a class of its own. bytes returns the class of each byte, and one
// byte of each class.
func (c *classes) bytes() (class [256]uint8, some []byte) {
	// cut[b] says that a class begins at byte b. That is so where UTF-8 changes which bytes may
	// follow.
	var cut [257]bool
	for _, b := range []int{0x80, 0x90, 0xa0, 0xc0, 0xc2, 0xe0, 0xe1, 0xed, 0xee, 0xf0, 0xf1, 0xf4, 0xf5} {
		cut[b] = true
	}
	beyond := false // classes change among the runes beyond ASCII
	for _, r := range c.breaks {
		if r > utf8.RuneSelf {
			beyond = true
			cutBefore(&cut, r)
		}
	}
	// A byte below 0x80 is a rune by itself and has the class of that rune.
	first := map[uint16]uint8{}
	for b := range utf8.RuneSelf {
		id, ok := first[c.ascii[b]]
		if !ok || b == '\n' {
			id = uint8(len(some))
			some = append(some, byte(b))
		}
		if b != '\n' {
			first[c.ascii[b]] = id
		}
		class[b] = id
	}
	// The other bytes are parts of runes.
	for b := utf8.RuneSelf; b < 256; b++ {
		switch {
		case b == 0xf5:
			class[b] = class[0xc0] // neither byte occurs in UTF-8
		case b == 0xee && !beyond:
			class[b] = class[0xe1]
		case cut[b]:
			class[b] = uint8(len(some))
			some = append(some, byte(b))
		default:
			class[b] = class[b-1]
		}
	}
	return class, some
}

// cutBefore separates the bytes of runes below r from the bytes of r and higher runes.
func cutBefore(cut *[257]bool, r rune) {
	if 0xd800 <= r && r <= 0xdfff {
		return // 0xed and 0xee are separate anyway
	}
	var text [utf8.UTFMax]byte
	n := utf8.EncodeRune(text[:], r)
	for i, b := range text[:n] {
		cut[b] = true
		if i < n-1 && slices.ContainsFunc(text[i+1:n], func(b byte) bool { return b != 0x80 }) {
			cut[int(b)+1] = true
		}
	}
}
