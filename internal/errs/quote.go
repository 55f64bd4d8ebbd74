package errs

import (
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
