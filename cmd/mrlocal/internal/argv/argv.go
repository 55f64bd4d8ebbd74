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
	"strings"
	"unicode/utf8"

	"mrlocal/internal/errs"
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

// Flags returns the flags of specs, for the parser.
func Flags(specs []Spec) []Flag {
	flags := make([]Flag, len(specs))
	for i := range specs {
		flags[i] = specs[i].Flag
	}
	return flags
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

// Command describes a leaf of the tree of commands to the parser.
type Command struct {
	Path  []string // the words that name it, as "run", "sort"
	Flags []Flag
}

// Line is a parsed command line.
type Line struct {
	Path  []string  // of the command
	Flags []Setting // in the order given
	Words []string  // positional words after the path
	Help  bool      // the line has --help, or -h where this is not a flag of a job or a tool
	// HelpAll is true if the line has --help-all. Then Help is true too. For a tool, --help-all is an
	// ordinary flag, and HelpAll stays false.
	HelpAll bool
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

// Parse finds the command that args name and reads its flags. It fails with an options error for the
// first mistake, or if two commands could be meant.
//
// Flags may stand before the name of the command, but only the command says which of them take a value.
// So Parse reads args with the flags of each command in turn. It chooses the command whose path is the
// beginning of the positional words.
func Parse(args []string, commands []Command) (Line, error) {
	var found []Line
	var failed error
	for i := range commands {
		// The command of a job has a path of two words, and its -h is a flag of the job.
		c, m := &commands[i], ofJob
		if len(c.Path) == 1 {
			m = ofCommand
		}
		s := scan(args, c.Flags, m)
		if !s.begins(c.Path) || s.deeper(c.Path, commands) {
			continue
		}
		// Help wins over mistakes in the flags.
		if s.help || s.err == nil {
			found = append(found, s.line(c.Path))
		} else if failed == nil {
			failed = at(c.Path, s.err)
		}
	}
	switch {
	// If the line asks for help, the help of any command that it may name is a good answer.
	case len(found) == 1 || len(found) > 1 && found[0].Help:
		return found[0], nil
	case len(found) > 1:
		// Two commands accept the line, with different words as values of flags.
		a, b := strings.Join(found[0].Path, " "), strings.Join(found[1].Path, " ")
		return Line{}, errs.Optionf(strings.Join(args, " "), "can be read as %s and as %s; put the command's name first", a, b)
	case failed != nil:
		return Line{}, failed
	}
	return Line{}, diagnose(args, commands)
}

// scanned is the result of reading args with the flags of one command.
type scanned struct {
	flags []Setting
	words []string
	help  bool
	all   bool  // --help-all
	err   error // the first mistake
}

// begins reports whether the positional words begin with path.
func (s *scanned) begins(path []string) bool {
	return len(s.words) >= len(path) && slices.Equal(s.words[:len(path)], path)
}

// deeper reports whether the words name a command below path. Then the user means that command.
func (s *scanned) deeper(path []string, commands []Command) bool {
	return slices.ContainsFunc(commands, func(c Command) bool {
		return len(c.Path) > len(path) && slices.Equal(c.Path[:len(path)], path) && s.begins(c.Path)
	})
}

// line returns the result as a Line of the command at path. The words must begin with path.
func (s *scanned) line(path []string) Line {
	return Line{Path: path, Flags: s.flags, Words: s.words[len(path):], Help: s.help, HelpAll: s.all}
}

// fail keeps the first mistake.
func (s *scanned) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// manner says whose command line is parsed.
type manner uint8

const (
	ofJob     manner = iota // -h is the job's own flag
	ofCommand               // -h asks for help
	ofTool                  // as in GNU tools, -h is the tool's own flag, and long names may be shortened
)

// scan reads args with the given flags. It goes on after a mistake, because later words show which
// command is meant, and may ask for help.
func scan(args []string, flags []Flag, m manner) *scanned {
	s := &scanned{}
	given := map[string]string{} // the last value of each flag, by its long name
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		// All words after -- are positional.
		case word == "--":
			s.words = append(s.words, args[i+1:]...)
			return s
		case word == "--help" || word == "-h" && m == ofCommand:
			s.help = true
		case word == "--help-all" && m != ofTool:
			s.help, s.all = true, true
		case strings.HasPrefix(word, "--"):
			if m == ofTool {
				full, err := complete(word, flags)
				if err != nil {
					s.fail(err)
					continue
				}
				word = full
			}
			if s.help = s.help || word == "--help"; word != "--help" {
				i += s.long(word, args[i+1:], flags, given)
			}
		// A dash alone is positional: it stands for standard input.
		case len(word) > 1 && word[0] == '-':
			i += s.short(word, args[i+1:], flags, given)
		default:
			s.words = append(s.words, word)
		}
	}
	return s
}

// long reads word, which is --name or --name=value. rest has the words after it. It returns how
// many words of rest belong to the flag, 0 or 1. given is as in set.
func (s *scanned) long(word string, rest []string, flags []Flag, given map[string]string) int {
	name, value, attached := strings.Cut(word[2:], "=")
	f := byName(flags, name)
	switch {
	case f == nil:
		s.fail(unknownLong(name, flags))
		return 0
	// A flag with Maybe takes a value only after an equals sign, and never the next word.
	case f.Maybe && attached && value != "":
		s.set(f, value, given)
		return 0
	case f.Maybe && attached:
		s.fail(errs.Optionf("--"+name, "the value is empty"))
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

// short reads word, a bundle of one-letter flags. A flag that takes a value ends the bundle: its
// value is the rest of the word or, if nothing is left, the next word. short returns how many words
// of rest belong to the bundle, 0 or 1. given is as in set.
func (s *scanned) short(word string, rest []string, flags []Flag, given map[string]string) int {
	for i := 1; i < len(word); {
		// A mistyped letter may have several bytes, and the message must show it whole.
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
			// The rest of the bundle is the value, as in -k2,3n.
			s.set(f, word[i:], given)
			return 0
		}
		return s.next(f, "-"+letter, rest, flags, given)
	}
	return 0
}

// next takes the value of flag f from the next word. as is the flag as the user wrote it. A next
// word that is the name of a flag is a mistake, because the user most likely forgot the value. next
// returns the number of words that it has taken.
func (s *scanned) next(f *Flag, as string, rest []string, flags []Flag, given map[string]string) int {
	if len(rest) == 0 {
		s.fail(errs.Optionf(as, "needs a value"))
		return 0
	}
	// A word with one dash is a value: it may be a negative number, or standard input.
	value := rest[0]
	if name, isLong := strings.CutPrefix(value, "--"); isLong && !f.Any {
		name, _, _ = strings.Cut(name, "=")
		// With an equals sign, a value may look like a flag.
		if name == "help" || byName(flags, name) != nil {
			s.fail(errs.Optionf(as, "needs a value, but the flag --%s follows; if that is the value, write --%s=%s", name, f.Name, errs.Quote(value)))
			return 0
		}
	}
	s.set(f, value, given)
	return 1
}

// set records the value of a flag. given has the last value of each flag, by its long name. Two
// different values are a mistake unless the flag may be repeated.
func (s *scanned) set(f *Flag, value string, given map[string]string) {
	// The same value twice is not a mistake: a script may add a flag that the line already has.
	if before, ok := given[f.Name]; ok && !f.Repeat && before != value {
		s.fail(errs.Optionf("--"+f.Name, "given twice, with %s and with %s", errs.Quote(before), errs.Quote(value)))
	}
	given[f.Name] = value
	s.flags = append(s.flags, Setting{f, value})
}

// ParseTool parses args as GNU tools parse theirs. args are the words after name, the name of a
// tool. It differs from Parse in four points:
//
//   - A flag may be given again with another value.
//   - A long name may be shortened as long as only one flag begins so. A Whole flag may not.
//   - The word after a flag that takes a value is always the value.
//   - -h is a flag of the tool, and only --help sets Line.Help.
//
// With an error it returns the flags and words that it could read.
func ParseTool(name string, args []string, flags []Flag) (Line, error) {
	like := make([]Flag, len(flags))
	for i, f := range flags {
		f.Any, f.Repeat = true, true
		like[i] = f
	}
	s := scan(args, like, ofTool)
	// Help wins over mistakes.
	if s.help {
		s.err = nil
	}
	return Line{Path: []string{name}, Flags: s.flags, Words: s.words, Help: s.help}, s.err
}

// complete replaces the shortened name in word, --name or --name=value, by the whole name of the
// flag. It fails if several flags begin with the name. A name that no flag begins with stays as it
// is.
func complete(word string, flags []Flag) (string, error) {
	name, value, attached := strings.Cut(word[2:], "=")
	// A whole name wins over longer names that begin with it.
	if byName(flags, name) != nil {
		return word, nil
	}
	var found []string
	for _, f := range flags {
		if !f.Whole && strings.HasPrefix(f.Name, name) {
			found = append(found, f.Name)
		}
	}
	switch {
	case len(found) > 1:
		return "", errs.Optionf("--"+name, "can be --%s", strings.Join(found, " or --"))
	case len(found) == 0:
		return word, nil // long returns the error
	case attached:
		return "--" + found[0] + "=" + value, nil
	}
	return "--" + found[0], nil
}
