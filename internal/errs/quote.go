package errs

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Quote returns a word of the command line for a message. It puts the word in quotation marks if
// the word is empty, or has blanks, quotes or characters that cannot be shown. It shortens a long
// word.
func Quote(word string) string {
	// most is the largest number of bytes of a word. A longer word would hide the message.
	const most = 60
	escaped := Shorten(OneLine(word), most)
	if escaped == "" || escaped != word && len(word) <= most || strings.ContainsAny(word, " '\"") {
		return `"` + escaped + `"`
	}
	return escaped
}

// Counted returns a number with its noun, which gets an s unless the number is 1.
func Counted[T int | int32 | int64](n T, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Suggest returns the end of a message about an unknown word: "; did you mean x?" with the Nearest name. If no name is
// near, it lists all names. It returns "" if there are more than 60 of them, or none.
func Suggest(word string, names []string) string {
	const most = 60
	if near := Nearest(word, names); near != "" {
		return "; did you mean " + Quote(near) + "?"
	}
	if len(names) == 0 || len(names) > most {
		return ""
	}
	var all []string
	for _, name := range names {
		all = append(all, Quote(name))
	}
	if len(all) == 1 {
		return "; there is " + all[0]
	}
	return "; there are " + strings.Join(all, ", ")
}

// Shorten replaces the middle of a text by … if the text has more than most bytes. The result is
// valid UTF-8 if the text is.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	// The head is longer than the tail, because the beginning of a text says more.
	head, tail := text[:most*2/3], text[len(text)-most/4:]
	// Both ends of the cut move until no character is cut in two.
	for len(head) > 0 && !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head + "…" + tail
}

// Wrap returns text in lines of at most most characters, but a longer word is not broken. The first line begins with
// first and the others with next. There is no newline at the end. All white space counts as a blank.
func Wrap(text, first, next string, most int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case b.Len() == 0:
			b.WriteString(first)
			column = utf8.RuneCountInString(first)
		case column+1+n > most:
			b.WriteString("\n" + next)
			column = utf8.RuneCountInString(next)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
