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

	"mrlocal/internal/errs"
)

// Value reads the value of a setting from text, and keeps it where its maker has said. It is the
// interface of the values of package flag.
type Value interface {
	// Set reads text. It fails if text has another form or is out of range. The error does not have
	// the name of the setting.
	Set(text string) error
	String() string // text that Set reads; "" if the zero value is there, which stands for the default
}

// Setting is one thing that a user can set.
type Setting struct {
	Name    string // of the flag, without dashes; the key of a file has underscores for its dashes
	Field   string // of the options struct; "": none
	Help    string // one sentence or more; has the name of the value, or its choices, in `backquotes`
	Default string // describes the default, for the help; "": there is none
	Value   Value

	Group string // heading of the help; "": the flag belongs to one command
	Short string // letter of the flag, or ""
	// Literal: the word after the flag is its value, even if it looks like a flag. Maybe: the flag may
	// stand without a value. Its value follows an equals sign. Whole: the name must not be shortened where a tool allows it.
	Literal, Maybe, Whole bool
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

// In returns the settings with this heading in the help.
func In(group string, all []Setting) []Setting {
	for i := range all {
		all[i].Group = group
	}
	return all
}

// Key returns the name as a key of a workload file.
func (s *Setting) Key() string { return strings.ReplaceAll(s.Name, "-", "_") }

// Toggle reports whether the flag takes no value.
func (s *Setting) Toggle() bool {
	b, ok := s.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

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

// Choices returns the words that the setting takes, the default first; nil: it takes others.
func (s *Setting) Choices() []string {
	if c, ok := s.Value.(interface{ Choices() []string }); ok {
		return c.Choices()
	}
	return nil
}

// Named returns the setting of that name, or nil. It points into all.
func Named(all []Setting, name string) *Setting {
	if i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Without returns all settings that do not have one of these names.
func Without(all []Setting, names ...string) []Setting {
	return slices.DeleteFunc(slices.Clone(all), func(s Setting) bool { return slices.Contains(names, s.Name) })
}

// Check returns an error of kind errs.BadOptions for the first value that is out of range. A zero value
// stands for the default, and is always in range. The error names the field.
func Check(all []Setting) error {
	for i := range all {
		if err := Valid(all[i].Value); err != nil {
			return errs.Optionf("Options."+all[i].Field, "%w", err)
		}
	}
	return nil
}

// Valid says what is wrong with the value that is there; nil: nothing.
func Valid(v Value) error {
	if c, ok := v.(interface{ Check() error }); ok {
		return c.Check()
	}
	return nil
}

// Fields returns what replaces the names of fields in a text by the flags that set them, as
// Options.MapSlots by --map-slots. The names of other fields lose only "Options.".
func Fields(all []Setting) *strings.Replacer {
	var pairs []string
	for i := range all {
		if all[i].Field != "" {
			pairs = append(pairs, "Options."+all[i].Field, "--"+all[i].Name)
		}
	}
	// A replacer takes the first pair that matches, so a longer name comes before its beginning.
	byLength := make([]int, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		byLength = append(byLength, i)
	}
	slices.SortStableFunc(byLength, func(a, b int) int { return len(pairs[b]) - len(pairs[a]) })
	var sorted []string
	for _, i := range byLength {
		sorted = append(sorted, pairs[i], pairs[i+1])
	}
	return strings.NewReplacer(append(sorted, "Options.", "")...)
}

// wrong returns the error for the value text: what is wrong with it.
func wrong(text, format string, args ...any) error {
	cause := fmt.Sprintf(format, args...)
	if text == "" {
		return fmt.Errorf("the value is empty; %s", cause)
	}
	return fmt.Errorf("%s: %s", errs.Quote(text), cause)
}
