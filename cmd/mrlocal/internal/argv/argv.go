// Package argv parses a command line that is written as for GNU tools, and the values of its flags:
// sizes, shares, times, counts. It also formats errors as the one line that a user sees.
//
// Flags may stand before and after positional words, and "--" ends them. The parser knows bundles
// (-rn) and attached values (-k2,3n, -t:, -m5). Some flags take the next word even if it looks like a
// flag (-e). A letter may mean different things in different commands (-o). docs/adr/0001 compares
// the parser with flag libraries. Each mistake is an *errs.Error, which names the nearest flag or word
// if there is one.
//
// The package has no state. Only Reader.Directories looks at the file system.
package argv

import (
	"slices"
)

// Flag describes a flag to the parser.
type Flag struct {
	Name   string // long name, without dashes
	Short  string // one letter, or ""
	Value  bool   // takes a value
	Maybe  bool   // without Value: may take a value after an equals sign, as --name=value
	Any    bool   // the next word is the value even if it is the name of a flag
	Repeat bool   // may occur more than once with different values
	Whole  bool   // with ParseTool: the name must not be shortened
}

// Spec is a flag with its help.
type Spec struct {
	Flag
	Help    string // has the name of the value in `backquotes`
	Default string // describes the default for the help; "" if there is none
}

// ValueSpec returns a flag that takes a value. otherwise describes its default.
func ValueSpec(name, help, otherwise string) Spec {
	return Spec{Flag: Flag{Name: name, Value: true}, Help: help, Default: otherwise}
}

// ToggleSpec returns a flag without a value; short is its letter, or "".
func ToggleSpec(name, short, help string) Spec {
	return Spec{Flag: Flag{Name: name, Short: short}, Help: help}
}

// Named returns the flag of specs with that long name or letter, or nil. It points into specs.
func Named(name string, specs []Spec) *Spec {
	for i := range specs {
		if name == specs[i].Name || name != "" && name == specs[i].Short {
			return &specs[i]
		}
	}
	return nil
}

// Line is a parsed command line.
type Line struct {
	Path  []string  // of the command
	Flags []Setting // in the order given
	Words []string  // positional words after the path
}

// Setting is one flag of a command line with its value. The value of a flag without one is "".
type Setting struct {
	Flag  *Flag
	Value string
}

// Value returns the last value of a flag, and whether the line has the flag.
func (l Line) Value(flag string) (value string, given bool) {
	for _, s := range l.Flags {
		if s.Flag.Name == flag {
			value, given = s.Value, true
		}
	}
	return value, given
}

// Except returns all settings of the line, as --name=value, except those of the given flags. A flag
// without a value has an empty one.
func (l Line) Except(flags []Spec) []string {
	var settings []string
	for _, s := range l.Flags {
		if !slices.ContainsFunc(flags, func(f Spec) bool { return f.Name == s.Flag.Name }) {
			settings = append(settings, "--"+s.Flag.Name+"="+s.Value)
		}
	}
	return settings
}

// Values returns all values of a flag, in order.
func (l Line) Values(flag string) []string {
	var values []string
	for _, s := range l.Flags {
		if s.Flag.Name == flag {
			values = append(values, s.Value)
		}
	}
	return values
}

// Has reports whether the line has the flag.
func (l Line) Has(flag string) bool {
	_, given := l.Value(flag)
	return given
}
