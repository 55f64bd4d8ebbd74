// Package argv turns the words of a command line, written the way GNU tools
// take them, into the plain form that a flag library reads, and reads the
// values: sizes, shares, times, counts.
//
// What a library of one-form flags cannot read is resolved here: flags after
// positional words, "--" that ends them, bundles (-rn), attached values
// (-k2,3n, -t:, -m5), flags that take the next word whatever it looks like
// (-e), and a letter that means different things to different commands (-o).
// Every mistake is a *errs.Error that names the nearest flag or word.
//
// The package is pure: it looks at words, not at files.
package argv

import (
	"strings"
	"unicode/utf8"

	"mrlocal/errs"
)

// Flag is what normalising has to know of a flag.
type Flag struct {
	Name   string // long name, without dashes
	Short  string // one letter, or ""
	Value  bool   // takes a value
	Any    bool   // the value is the next word even where that is a flag's name
	Repeat bool   // may be given more than once with different values
}

// Spec is a flag as a command lists it: what normalising has to know, and what
// the help says.
type Spec struct {
	Flag
	Help    string // a value's name in `backquotes`
	Default string // in words
}

// ValueSpec is a flag that takes a value.
func ValueSpec(name, help, otherwise string) Spec {
	return Spec{Flag: Flag{Name: name, Value: true}, Help: help, Default: otherwise}
}

// Command is a leaf of the command tree: the words that name it and its flags.
type Command struct {
	Path  []string
	Flags []Flag
}

// Line is a command line in plain form.
type Line struct {
	Path  []string  // of the command
	Flags []Setting // in the order given
	Words []string  // positional words after the path
	Help  bool      // --help or -h was among the flags
}

// Setting is one flag as it was given.
type Setting struct {
	Flag  *Flag
	Value string
}

// Value is the last value given to a flag, and whether there was one.
func (l Line) Value(flag string) (value string, given bool) {
	for _, s := range l.Flags {
		if s.Flag.Name == flag {
			value, given = s.Value, true
		}
	}
	return value, given
}

// Values are all values given to a flag.
func (l Line) Values(flag string) []string {
	var values []string
	for _, s := range l.Flags {
		if s.Flag.Name == flag {
			values = append(values, s.Value)
		}
	}
	return values
}

// Has reports whether the flag was given.
func (l Line) Has(flag string) bool {
	_, given := l.Value(flag)
	return given
}

// Parse finds the command that args name and puts them into plain form. Flags
// may stand anywhere, also before the command's own words, so every command is
// tried with its own flags; the one whose path the positional words begin with
// is meant.
func Parse(args []string, commands []Command) (Line, error) {
	var found []Line
	var failed error
	for i := range commands {
		c := &commands[i]
		s := scan(args, c.Flags)
		if !s.begins(c.Path) {
			continue
		}
		if s.help || s.err == nil {
			found = append(found, s.line(c.Path))
		} else if failed == nil {
			failed = at(c.Path, s.err)
		}
	}
	switch {
	case len(found) == 1 || len(found) > 1 && found[0].Help:
		return found[0], nil
	case len(found) > 1:
		a, b := strings.Join(found[0].Path, " "), strings.Join(found[1].Path, " ")
		return Line{}, errs.Optionf(strings.Join(args, " "), "can be read as %s and as %s; put the command's name first", a, b)
	case failed != nil:
		return Line{}, failed
	}
	return Line{}, diagnose(args, commands)
}

// scanned is args read with one set of flags.
type scanned struct {
	flags []Setting
	words []string
	help  bool
	err   error // the first mistake
}

func (s *scanned) begins(path []string) bool {
	if len(s.words) < len(path) {
		return false
	}
	for i, p := range path {
		if s.words[i] != p {
			return false
		}
	}
	return true
}

func (s *scanned) line(path []string) Line {
	return Line{Path: path, Flags: s.flags, Words: s.words[len(path):], Help: s.help}
}

func (s *scanned) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

func scan(args []string, flags []Flag) *scanned {
	s := &scanned{}
	given := map[string]string{}
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--":
			s.words = append(s.words, args[i+1:]...)
			return s
		case word == "--help" || word == "-h":
			s.help = true
		case strings.HasPrefix(word, "--"):
			i += s.long(word, args[i+1:], flags, given)
		case len(word) > 1 && word[0] == '-':
			i += s.short(word, args[i+1:], flags, given)
		default:
			s.words = append(s.words, word)
		}
	}
	return s
}

// long reads --name, --name=value or --name value, and returns how many of the
// words that follow it used.
func (s *scanned) long(word string, rest []string, flags []Flag, given map[string]string) int {
	name, value, attached := strings.Cut(word[2:], "=")
	f := byName(flags, name)
	switch {
	case f == nil:
		s.fail(unknownLong(name, flags))
		return 0
	case !f.Value && attached:
		s.fail(errs.Optionf("--"+name, "takes no value"))
		return 0
	case !f.Value:
		s.flags = append(s.flags, Setting{Flag: f})
		return 0
	case attached:
		s.set(f, value, given)
		return 0
	}
	return s.next(f, "--"+name, rest, flags, given)
}

// short reads a bundle of one-letter flags, of which the last may take a
// value: what is left of the word, else the next word.
func (s *scanned) short(word string, rest []string, flags []Flag, given map[string]string) int {
	for i := 1; i < len(word); {
		_, n := utf8.DecodeRuneInString(word[i:])
		letter := word[i : i+n]
		i += n
		f := byShort(flags, letter)
		if f == nil {
			s.fail(unknownShort(word, letter, flags))
			return 0
		}
		if !f.Value {
			s.flags = append(s.flags, Setting{Flag: f})
			continue
		}
		if i < len(word) {
			s.set(f, word[i:], given)
			return 0
		}
		return s.next(f, "-"+letter, rest, flags, given)
	}
	return 0
}

// next takes the value from the word after the flag.
func (s *scanned) next(f *Flag, as string, rest []string, flags []Flag, given map[string]string) int {
	if len(rest) == 0 {
		s.fail(errs.Optionf(as, "needs a value"))
		return 0
	}
	value := rest[0]
	if name, isLong := strings.CutPrefix(value, "--"); isLong && !f.Any {
		name, _, _ = strings.Cut(name, "=")
		if name == "help" || byName(flags, name) != nil {
			s.fail(errs.Optionf(as, "needs a value, but the flag --%s follows; if that is the value, write --%s=%s", name, f.Name, Quote(value)))
			return 0
		}
	}
	s.set(f, value, given)
	return 1
}

func (s *scanned) set(f *Flag, value string, given map[string]string) {
	if before, ok := given[f.Name]; ok && !f.Repeat && before != value {
		s.fail(errs.Optionf("--"+f.Name, "given twice, with %s and with %s", Quote(before), Quote(value)))
	}
	given[f.Name] = value
	s.flags = append(s.flags, Setting{f, value})
}
