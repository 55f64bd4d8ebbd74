package workload

import (
	"fmt"
	"strconv"

	"mrlocal/errs"
)

// quote returns a word of the file as a message shows it: quoted, on one line, and
// shortened.
func quote(word string) string {
	const most = 60
	if r := []rune(word); len(r) > most {
		word = string(r[:most]) + "…"
	}
	return strconv.Quote(word)
}

// didYouMean returns "; did you mean x?" with the name nearest to word. If no name is
// near, it lists the names.
func didYouMean(word string, names []string) string {
	if best := errs.Nearest(word, names); best != "" {
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

// plain returns a name as it is, or quoted if it is not one word.
func plain(name string) string {
	for _, r := range name {
		if r <= ' ' || !strconv.IsPrint(r) {
			return quote(name)
		}
	}
	return name
}
