package workload

import (
	"fmt"
	"strconv"
)

// quote shows a word of the file in a message of one line, shortened.
func quote(word string) string {
	const most = 60
	if r := []rune(word); len(r) > most {
		word = string(r[:most]) + "…"
	}
	return strconv.Quote(word)
}

// didYouMean is "; did you mean x?" with the name nearest to word, or what
// names there are where none is near.
func didYouMean(word string, names []string) string {
	best, least := "", len(word)/3+2
	for _, name := range names {
		if len(name)-len(word) >= least || len(word)-len(name) >= least {
			continue
		}
		if d := distance(word, name); d < least {
			best, least = name, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %s?", plain(best))
	}
	const most = 12
	if len(names) == 0 || len(names) > most {
		return ""
	}
	text := "; there "
	if len(names) == 1 {
		text += "is "
	} else {
		text += "are "
	}
	for i, name := range names {
		switch {
		case i > 0 && i == len(names)-1:
			text += " and "
		case i > 0:
			text += ", "
		}
		text += plain(name)
	}
	return text
}

// plain is a name as it stands, or quoted where that would not be one word.
func plain(name string) string {
	for _, r := range name {
		if r <= ' ' || !strconv.IsPrint(r) {
			return quote(name)
		}
	}
	return name
}

// distance counts the single-byte edits between two words; neighbours that
// changed places are one.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
