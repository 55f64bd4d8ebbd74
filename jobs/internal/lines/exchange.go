package lines

import (
	"encoding/binary"
	"regexp/syntax"
)

// Exchange exchanges NUL and newline in place. So a search for lines that end with newlines
// also finds lines that end with NUL. A newline inside such a line is then an ordinary byte.
// The two bytes are 0 and 10, so XOR with 10 turns each into the other. Exchange handles eight
// bytes at a time.
func Exchange(data []byte) {
	const ones = 0x0101010101010101
	for ; len(data) >= 8; data = data[8:] {
		w := binary.LittleEndian.Uint64(data)
		found := zeroBytes(w) | zeroBytes(w^'\n'*ones)
		binary.LittleEndian.PutUint64(data, w^found>>7*'\n')
	}
	for i, c := range data {
		if c == 0 || c == '\n' {
			data[i] = c ^ '\n'
		}
	}
}

// zeroBytes returns a word with 0x80 in each byte that is 0 in w, and 0 in the others.
func zeroBytes(w uint64) uint64 {
	const low = 0x7f7f7f7f7f7f7f7f
	return ^((w&low + low) | w | low)
}

// ExchangeRunes exchanges NUL and newline in the literals and classes of a pattern. In
// exchanged text, the pattern then finds what it found in the original text. It changes re.
func ExchangeRunes(re *syntax.Regexp) {
	for _, sub := range re.Sub {
		ExchangeRunes(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		for i, r := range re.Rune {
			if r == 0 || r == '\n' {
				re.Rune[i] = r ^ '\n'
			}
		}
	case syntax.OpCharClass:
		// Ranges are pairs: the first and the last rune.
		var ranges []rune // the class without NUL and newline
		null, newline := false, false
		for i := 0; i+1 < len(re.Rune); i += 2 {
			low, high := re.Rune[i], re.Rune[i+1]
			// The ranges are in order, so only the first one can have NUL.
			if low == 0 {
				null, low = true, 1
			}
			if low <= '\n' && high >= '\n' {
				newline = true
				if low < '\n' {
					ranges = append(ranges, low, '\n'-1)
				}
				low = '\n' + 1
			}
			if low <= high {
				ranges = append(ranges, low, high)
			}
		}
		// A class with NUL gets the newline, and a class with the newline gets NUL.
		re.Rune = classWith(ranges, newline, null)
	}
}

// classWith returns the ranges of a class, which are in order and have neither NUL nor newline,
// with them added if wanted.
func classWith(ranges []rune, null, newline bool) []rune {
	var all []rune
	add := func(low, high rune) { // ranges that touch must be one range
		if n := len(all); n > 0 && all[n-1]+1 == low {
			all[n-1] = high
			return
		}
		all = append(all, low, high)
	}
	if null {
		add(0, 0)
	}
	for i := 0; i < len(ranges); i += 2 {
		if newline && ranges[i] > '\n' {
			add('\n', '\n')
			newline = false
		}
		add(ranges[i], ranges[i+1])
	}
	if newline {
		add('\n', '\n')
	}
	return all
}
