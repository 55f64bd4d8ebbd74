// Package nearest finds the name that was most likely meant by a word that is
// none, for the "did you mean" of errors: of flags, jobs, policies, keys and
// names of a workload file. It is a leaf that every layer may use, and keeps
// nothing of what it is given.
package nearest

import "strings"

// mostLetters bounds the words that are looked at: a longer one is no slip of
// the hand.
const mostLetters = 64

// Name is the name that word was most likely meant to be, or "". Names are
// compared by edit distance (a swap of neighbours counts one), whatever their case; a
// third of the letters may be wrong, and a name that word is the beginning of is
// near. Of equally near ones it is the first.
func Name(word string, names []string) string {
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

// distance counts the single-byte edits between two words, the restricted
// Damerau-Levenshtein distance.
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
