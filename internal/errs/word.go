package errs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
