package lines

import (
	"cmp"
	"encoding/binary"
	"regexp/syntax"
	"slices"
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
		re.Rune = exchangedClass(re.Rune)
	}
}

// exchangedClass returns a class, as pairs of first and last runes in order, with NUL and newline exchanged.
func exchangedClass(class []rune) []rune {
	has := func(r rune) (found bool) {
		for i := 0; i < len(class); i += 2 {
			found = found || class[i] <= r && r <= class[i+1]
		}
		return found
	}
	gone, come := rune(0), '\n'
	switch null := has(0); {
	case null == has('\n'):
		return class
	case !null:
		gone, come = come, gone
	}
	ranges := [][2]rune{{come, come}}
	for i := 0; i < len(class); i += 2 {
		ranges = append(ranges, [2]rune{class[i], min(class[i+1], gone-1)}, [2]rune{max(class[i], gone+1), class[i+1]})
	}
	slices.SortFunc(ranges, func(a, b [2]rune) int { return cmp.Compare(a[0], b[0]) })
	var all []rune
	for _, r := range ranges {
		switch n := len(all); {
		case r[0] > r[1]: // there is none on this side of the rune that is gone
		case n > 0 && all[n-1]+1 == r[0]: // ranges that touch must be one range
			all[n-1] = r[1]
		default:
			all = append(all, r[0], r[1])
		}
	}
	return all
}
