// Package errs holds the error type of all packages of mrlocal. An error of
// this type has a kind, and errors.Is finds the kind:
//
//	if errors.Is(err, errs.BadInput) { ... }
//
// By the kind a caller decides what to do next: correct the options, correct the
// input, examine the job, or nothing. Package mrlocal exports the kinds to users
// of the module. The command has an exit code for each.
//
// A library names fields of its options in errors (Fieldf, Field). Word replaces them by the names that a user knows:
// flags, keys of a file, or settings of the page.
//
// Nearest returns the name that a misspelt word most likely means, for "did you mean".
// OneLine makes any text fit for a message of one line. Cause returns an error of package
// os without its path.
//
// The package imports nothing of the module, so that every layer may use it.
package errs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hbollon/go-edlib"
)

// Kind is a class of errors. A Kind is an error itself, so that errors.Is can
// look for it.
type Kind string

const (
	BadOptions  Kind = "bad options" // an option or the definition of a job is wrong
	BadInput    Kind = "bad input"   // an input is missing, or is known to be unreadable before the start
	JobFailed   Kind = "job failed"  // the work failed; a damaged input is known only while it is read
	Interrupted Kind = "interrupted" // the context of the run ended first
)

// Error returns the kind in words.
func (k Kind) Error() string { return string(k) }

// Error is an error of a known kind. Its Object never holds a value of a field; the cause has it.
// The Object is one of these:
//
//   - the fields that are wrong, as the caller writes them: "Options.MemoryBytes",
//     "Options.CSV, Options.Words" or "Submission.After";
//   - a path: "notes/a.txt";
//   - something else that has a name, behind a word that says what it is: "job count",
//     "output out/count", "policy fiar".
//
// It is empty where a run as a whole has failed or was interrupted. The error of a run of several
// jobs wraps one error for each job that has failed, with the job as its Object.
type Error struct {
	Kind   Kind
	Object string // what is wrong; empty if the cause says it all
	Fields bool   // the Object names fields; else its words may be those of a user
	Cause  error  // why, and what to do about it unless that is plain
	Place  Place  // in a workload file; the zero value: none
}

// Place is a place in a file. Lines and columns count from 1; Line 0: the whole file.
type Place struct {
	File         string
	Line, Column int
}

// Error returns "place: object: cause" without the parts that e lacks. The text is one line (OneLine),
// whatever user code, readers and names of files have put into it.
func (e *Error) Error() string { return OneLine(e.where(e.Object) + e.Cause.Error()) }

// where returns the text before that of the cause: "place: object: ", "object: " or "".
func (e *Error) where(object string) (text string) {
	switch at := e.Place; {
	case at.Line > 0:
		text = fmt.Sprintf("%s:%d:%d: ", at.File, at.Line, at.Column)
	case at.File != "":
		text = at.File + ": "
	}
	if object != "" {
		text += object + ": "
	}
	return text
}

// Is reports whether target is the error's kind. errors.Is calls it.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Optionf returns an error of kind BadOptions. The cause is formatted as by
// fmt.Errorf, so %w works.
func Optionf(object, format string, args ...any) error {
	return &Error{Kind: BadOptions, Object: object, Cause: Errorf(format, args...)}
}

// Fieldf is Optionf for an error about fields, as "Options.OutputDir, Options.OutputFile".
func Fieldf(fields, format string, args ...any) error {
	return &Error{Kind: BadOptions, Object: fields, Fields: true, Cause: Errorf(format, args...)}
}

// Inputf returns an error of kind BadInput. The cause is formatted as by
// fmt.Errorf, so %w works.
func Inputf(object, format string, args ...any) error {
	return &Error{Kind: BadInput, Object: object, Cause: Errorf(format, args...)}
}

// Is reports whether err, or an error that it wraps, is an E.
func Is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// IsUsage reports whether err is of kind BadOptions or BadInput. The same call would fail again: the
// caller must correct it. The outermost kind counts: a batch has failed if one of its jobs has met a
// bad input.
func IsUsage(err error) bool {
	kind := KindOf(err)
	return kind == BadOptions || kind == BadInput
}

// KindOf returns the outermost kind of err, or JobFailed if it has none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return JobFailed
}

// Typed returns the error of a run under ctx with a kind. An error which says that ctx has ended gets
// Interrupted, also if it blames an input or option. Any other error with a kind keeps it, and one
// without gets JobFailed.
func Typed(ctx context.Context, err error) error {
	_, is := err.(*Error)
	switch {
	case err == nil:
		return nil
	// A job that fails for another reason while ctx ends keeps that reason.
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) && (!is || IsUsage(err)):
		return &Error{Kind: Interrupted, Cause: err}
	case is || IsUsage(err):
		return err
	}
	return &Error{Kind: JobFailed, Cause: err}
}

// Several returns the error of a run of the given number of jobs of which some have failed; nil if none has. It is
// of kind JobFailed, and wraps the errors of the jobs. Its text has the first three.
func Several(jobs int, failed []error) error {
	if len(failed) == 0 {
		return nil
	}
	return &Error{Kind: JobFailed, Cause: &several{jobs, failed}}
}

// several are the errors of some of the jobs of a run, with one text.
type several struct {
	jobs int
	all  []error
}

func (s *several) Error() string   { return s.word(error.Error) }
func (s *several) Unwrap() []error { return s.all }

// word returns the text, in which text words an error.
func (s *several) word(text func(error) string) string {
	const mostNamed = 3
	var texts []string
	for _, err := range s.all[:min(len(s.all), mostNamed)] {
		texts = append(texts, OneLine(strings.TrimPrefix(text(err), "job ")))
	}
	if more := len(s.all) - mostNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%d of %s failed: %s", len(s.all), Counted(s.jobs, "job"), strings.Join(texts, "; "))
}

// Cause returns err without the operation and the paths that package os adds, for
// messages that have the path already.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}

// About returns err with what was done, or to what, before it. It returns nil for nil.
func About(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// mostLetters is the most bytes of a word that can be a misspelt name.
const mostLetters = 64

// Nearest returns the name that is nearest to word; "": none is near. Upper and lower case count as
// equal. The distance is the edit distance of letters, where a swap of neighbours counts 1. About a third of the
// letters may be wrong. A longer name that begins with word has distance 1. Of equally near names,
// Nearest returns the first one.
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
			if d := edlib.OSADamerauLevenshteinDistance(word, lower); d < least {
				best, least = name, d
			}
		}
	}
	return best
}

// OneLine returns text with Go's escapes instead of characters that cannot be printed and bytes
// that are not UTF-8. So the text cannot end a line or change the state of a terminal.
func OneLine(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		part := text[:n]
		switch {
		case unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
		case n == 1 && !strings.Contains("\n\t\r", part):
			part = fmt.Sprintf(`\x%02x`, part)
		default:
			part = strings.Trim(strconv.Quote(part), `"`)
		}
		b.WriteString(part)
		text = text[n:]
	}
	return b.String()
}

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
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || Is[*json.SyntaxError](err) && strings.HasPrefix(err.Error(), "unexpected end"):
		return "the JSON is cut short"
	case Is[*json.SyntaxError](err):
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
