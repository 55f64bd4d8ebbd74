package workload

import (
	"fmt"
	"strconv"

	"mrlocal/internal/nearest"
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
	if best := nearest.Name(word, names); best != "" {
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
