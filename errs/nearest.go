package errs

import "strings"

// mostLetters is the longest word, in bytes, that counts as a misspelling of a name.
const mostLetters = 64

// Nearest returns the name that is nearest to word, or "" if none is near. It compares
// without regard to case, by edit distance, in which a swap of neighbours counts one. A
// third of the letters may be wrong. A name that starts with word has distance 1. Of
// equally near names the first one counts.
func Nearest(word string, names []string) string {
	if len(word) == 0 || len(word) > mostLetters {
		return ""
	}
	best, least := "", len(word)/3+2
	if len(word) < 3 {
		least = 2
	}
	word = strings.ToLower(word)
	for _, name := range names {
		lower := strings.ToLower(name)
		begins := len(word) >= 3 && len(lower) > len(word) && strings.HasPrefix(lower, word)
		switch {
		case begins && least > 1:
			best, least = name, 1
		case begins, len(lower)-len(word) >= least, len(word)-len(lower) >= least:
		default:
			if d := distance(word, lower); d < least {
				best, least = name, d
			}
		}
	}
	return best
}

// distance returns the restricted Damerau-Levenshtein distance of two words, in bytes.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			wrong := 1
			if a[i-1] == b[j-1] {
				wrong = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
