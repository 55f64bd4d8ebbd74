// Package setting describes what a user can set: by a flag, by a key of a file, on the page, or by a
// field of Go. A Setting is one line of a table. It has the names of a field and its help, and reads
// its value. The package that owns an options struct has its table, such as policy.Options.Fields.
// Flags, help, completion, manual pages, workload files, experiments and the page read the tables.
//
// A mistake has the same text everywhere: Set and Check say what is wrong, and the caller adds the
// name under which the user has set the value.
package setting

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"mrlocal/internal/errs"
)

// Setting is one thing that a user can set.
type Setting struct {
	Name    string // of the flag, without dashes; the key of a file has underscores for its dashes
	Field   string // names of fields in errors, with blanks between; the first is the one that Check names. F=V: the flag sets F by its value V. "": none
	Help    string // one sentence or more; has the name of the value, or its choices, in `backquotes`
	Default string // describes the default, for the help; "": there is none
	Value   Value

	Group string // heading of the help; "": the flag belongs to one command
	Short string // letter of the flag, or ""
	// Literal: the word after the flag is its value, even if it looks like a flag. Whole: the name must not be
	// shortened where a tool allows it.
	Literal, Whole bool
	Common         bool // the short help of a long command has the flag, although it has a group
}

// Of returns a setting. otherwise describes its default.
func Of(name, field, help, otherwise string, v Value) Setting {
	return Setting{Name: name, Field: field, Help: help, Default: otherwise, Value: v}
}

// Letter returns s with a letter for its flag.
func (s Setting) Letter(letter string) Setting {
	s.Short = letter
	return s
}

// InShortHelp returns s as a common flag.
func (s Setting) InShortHelp() Setting {
	s.Common = true
	return s
}

// In returns the settings with this heading in the help.
func In(group string, all []Setting) []Setting {
	for i := range all {
		all[i].Group = group
	}
	return all
}

// Object returns the name of the field in errors.
func (s *Setting) Object() string {
	field, _, _ := strings.Cut(strings.ReplaceAll(s.Field, "=", " "), " ")
	return "Options." + field
}

// Key returns the name as a key of a workload file.
func (s *Setting) Key() string { return strings.ReplaceAll(s.Name, "-", "_") }

// Flag returns the name with its dashes.
func (s *Setting) Flag() string {
	if len(s.Name) == 1 {
		return "-" + s.Name
	}
	return "--" + s.Name
}

// Word returns the name, without dashes, as experiments and the page have it.
func (s *Setting) Word() string { return s.Name }

// Toggle reports whether the flag takes no value.
func (s *Setting) Toggle() bool { return s.Value.Bare }

// Metavar returns the name of the value in the help: the part of Help in backquotes.
func (s *Setting) Metavar() string {
	_, rest, _ := strings.Cut(s.Help, "`")
	name, _, _ := strings.Cut(rest, "`")
	return name
}

// Single reports whether the value is one number, share, time, size or word, as the help names it. A sweep
// may change it.
func (s *Setting) Single() bool {
	name := s.Metavar()
	return slices.Contains([]string{"N", "X", "SHARE", "TIME", "SIZE"}, name) || strings.Contains(name, "|")
}

// Named returns the setting of that name, or nil. It points into all.
func Named(all []Setting, name string) *Setting {
	if i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Names returns the names of settings.
func Names(all []Setting) (names []string) {
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names
}

// Set gives text to the setting of that name. Its error is of kind errs.BadOptions and has the name.
func Set(all []Setting, name, text string) error {
	s := Named(all, name)
	if s == nil {
		return errs.Optionf(name, "no such setting%s", errs.Suggest(name, Names(all)))
	}
	if err := s.Value.Set(text); err != nil {
		return errs.Optionf(name, "%w", err)
	}
	return nil
}

// Without returns all settings that do not have one of these names. It panics if a name is that of none:
// a misspelled name would leave the setting in.
func Without(all []Setting, names ...string) []Setting {
	for _, name := range names {
		if Named(all, name) == nil {
			panic("setting: Without: no setting " + name)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s Setting) bool { return slices.Contains(names, s.Name) })
}

// Check returns an error of kind errs.BadOptions for the first value that is out of range. A zero value
// stands for the default, and is always in range. The error names the field.
func Check(all []Setting) error {
	for i := range all {
		if err := all[i].Value.Check(); err != nil {
			return errs.Fieldf(all[i].Object(), "%w", err)
		}
	}
	return nil
}

// Fields returns the names of fields for errs.Word: Options.MapSlots becomes the name of the setting, as --map-slots if
// name is Setting.Flag. A field without a setting becomes a key of a workload file, as Submission.After becomes after.
func Fields(all []Setting, name func(*Setting) string) func(field string) string {
	return func(field string) string {
		own := strings.TrimPrefix(strings.TrimPrefix(field, "Options."), "Submission.")
		if own == field {
			return field
		}
		end := strings.IndexByte(own+"[", '[')
		own, index := own[:end], own[end:]
		for i := range all {
			for f := range strings.FieldsSeq(all[i].Field) {
				if f, value, _ := strings.Cut(f, "="); f == own {
					return strings.TrimSpace(name(&all[i])+" "+value) + index
				}
			}
		}
		return key(own) + index
	}
}

// key returns the name of a field as a key of a workload file: GroupTrackers is group_trackers.
func key(field string) string {
	var b strings.Builder
	for i, r := range field {
		if i > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(field[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// wrong returns the error for the value text: what is wrong with it.
func wrong(text, format string, args ...any) error {
	cause := fmt.Sprintf(format, args...)
	if text == "" {
		return fmt.Errorf("the value is empty; %s", cause)
	}
	return fmt.Errorf("%s: %s", errs.Quote(text), cause)
}
