package errs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Field is the name of a field in the text of an error, such as Options.MemoryBytes. It is an argument of Errorf and
// of the functions that format as it does. Word puts another name there.
type Field string

// Errorf is fmt.Errorf for texts that may name fields.
func Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if slices.ContainsFunc(args, func(a any) bool { _, is := a.(Field); return is }) {
		return &worded{err, format, args}
	}
	return err
}

// worded is an error whose text names fields. Its arguments do not change.
type worded struct {
	error
	format string
	args   []any
}

func (w *worded) Unwrap() error { return w.error }

// Name returns the Object with the names that spell has for fields.
func (e *Error) Name(spell func(field string) string) string {
	if !e.Fields {
		return e.Object
	}
	fields := strings.Split(e.Object, ", ")
	for i, f := range fields {
		fields[i] = spell(f)
	}
	return strings.Join(fields, ", ")
}

// Word returns the text of err with the names that spell has for fields. It replaces only what the library has marked
// as a field, so words of a user that look like one stay. Joined errors follow one another, with semicolons between.
func Word(err error, spell func(field string) string) string {
	var inner []error
	switch e := err.(type) {
	case *Error:
		return e.where(e.Name(spell)) + Word(e.Cause, spell)
	case *worded:
		args := slices.Clone(e.args)
		for i, arg := range args {
			switch arg := arg.(type) {
			case Field:
				args[i] = spell(string(arg))
			case error:
				args[i] = Word(arg, spell)
			}
		}
		return fmt.Sprintf(strings.ReplaceAll(e.format, "%w", "%v"), args...)
	case *several:
		return e.word(func(err error) string { return Word(err, spell) })
	case interface{ Unwrap() error }:
		if wrapped := e.Unwrap(); wrapped != nil {
			inner = []error{wrapped}
		}
	case interface{ Unwrap() []error }:
		if inner = e.Unwrap(); errors.Join(inner...).Error() == err.Error() {
			var texts []string
			for _, part := range inner {
				texts = append(texts, Word(part, spell))
			}
			return strings.Join(texts, "; ")
		}
	}
	// An error that wraps others mostly ends with their texts.
	text := err.Error()
	for _, part := range inner {
		was := part.Error()
		if at := strings.LastIndex(text, was); at >= 0 {
			text = text[:at] + Word(part, spell) + text[at+len(was):]
		}
	}
	return text
}

// OfJSON returns an error of package json in words that do not name types of Go. It returns the text of
// any other error.
func OfJSON(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &syntax) && strings.HasPrefix(err.Error(), "unexpected end"):
		return "the JSON is cut short"
	case errors.As(err, &syntax):
		return "is not valid JSON"
	case errors.As(err, &kind):
		words := map[string]string{"struct": "an object", "map": "an object", "object": "an object", "slice": "a list", "array": "a list", "string": "a text", "bool": "true or false"}
		expected, got := cmp.Or(words[kind.Type.Kind().String()], "a number"), cmp.Or(words[kind.Value], "the "+shortened(kind.Value))
		where := ""
		if kind.Field != "" {
			where = "field " + shortened(kind.Field) + ": "
		}
		return fmt.Sprintf("%s%s is expected, not %s", where, expected, got)
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "the field " + shortened(field) + " is unknown"
	}
	return err.Error()
}

// shortened returns a text in one line, cut after 40 characters.
func shortened(text string) string { return fmt.Sprintf("%.40s", OneLine(text)) }

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
