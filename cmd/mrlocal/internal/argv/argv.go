// Package argv reads a command line that is written as for GNU tools, and the
// values of its flags: sizes, shares, times, counts. It also words errors as the
// one line that a user sees.
//
// It reads flags before and after positional words, and "--" that ends the flags. It reads
// bundles (-rn) and attached values (-k2,3n, -t:, -m5). Some flags take the next word whatever
// it looks like (-e). A letter may mean different things to different commands (-o).
// docs/adr/0001 compares it with flag libraries. Every mistake is an *errs.Error that names
// the nearest flag or word.
//
// The package is pure: it looks at words, not at files.
package argv

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mrlocal/errs"
)

// Flag describes a flag to the parser.
type Flag struct {
	Name   string // long name, without dashes
	Short  string // one letter, or ""
	Value  bool   // takes a value
	Maybe  bool   // without Value: may take one behind an equals sign, as --name=value
	Any    bool   // the value is the next word even if that is the name of a flag
	Repeat bool   // may occur more than once with different values
	Whole  bool   // with ParseTool: the name is never shortened
}

// Spec is a flag with its help.
type Spec struct {
	Flag
	Help    string // a value's name in `backquotes`
	Default string // in words
}

// ValueSpec returns a flag that takes a value.
func ValueSpec(name, help, otherwise string) Spec {
	return Spec{Flag: Flag{Name: name, Value: true}, Help: help, Default: otherwise}
}

// ToggleSpec returns a flag without a value; short is its letter, or "".
func ToggleSpec(name, short, help string) Spec {
	return Spec{Flag: Flag{Name: name, Short: short}, Help: help}
}

// Flags returns what the parser needs to know of the flags.
func Flags(specs []Spec) []Flag {
	flags := make([]Flag, len(specs))
	for i := range specs {
		flags[i] = specs[i].Flag
	}
	return flags
}

// Named finds a flag by its long name or its letter.
func Named(name string, specs []Spec) *Spec {
	for i := range specs {
		if name == specs[i].Name || name != "" && name == specs[i].Short {
			return &specs[i]
		}
	}
	return nil
}

// Command is a leaf of the tree of commands: the words that name it, and its
// flags.
type Command struct {
	Path  []string
	Flags []Flag
}

// Line is a command line that has been read.
type Line struct {
	Path  []string  // of the command
	Flags []Setting // in the order given
	Words []string  // positional words after the path
	Help  bool      // --help, or -h of a command that is no job, was among the flags
	// HelpAll stands for --help-all of a command that is no tool; Help is set then too.
	HelpAll bool
}

// Setting is one flag of a command line with its value.
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

// Except returns the settings of a line but those of the given flags, as --name=value. A
// switch has an empty value.
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

// Parse finds the command that args name and reads its flags. Flags may stand
// before the name of the command, but the command defines which of them take a
// value. So Parse reads args with the flags of each command in turn, and
// chooses the command whose path the positional words begin with.
func Parse(args []string, commands []Command) (Line, error) {
	var found []Line
	var failed error
	for i := range commands {
		// Only a command below a job gives -h to the job. A path of one word has no such flag.
		c, m := &commands[i], ofJob
		if len(c.Path) == 1 {
			m = ofCommand
		}
		s := scan(args, c.Flags, m)
		if !s.begins(c.Path) || s.deeper(c.Path, commands) {
			continue
		}
		// Help is shown even if the flags have mistakes.
		if s.help || s.err == nil {
			found = append(found, s.line(c.Path))
		} else if failed == nil {
			failed = at(c.Path, s.err)
		}
	}
	switch {
	// Help is the same wherever the line belongs, so two readings are no problem.
	case len(found) == 1 || len(found) > 1 && found[0].Help:
		return found[0], nil
	case len(found) > 1:
		// Two commands accept the line with different words as values, so neither is a safe
		// guess.
		a, b := strings.Join(found[0].Path, " "), strings.Join(found[1].Path, " ")
		return Line{}, errs.Optionf(strings.Join(args, " "), "can be read as %s and as %s; put the command's name first", a, b)
	case failed != nil:
		return Line{}, failed
	}
	return Line{}, diagnose(args, commands)
}

// scanned holds args after they were read with the flags of one command.
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

// deeper reports whether the words name a command below path, which then is meant.
func (s *scanned) deeper(path []string, commands []Command) bool {
	return slices.ContainsFunc(commands, func(c Command) bool {
		return len(c.Path) > len(path) && slices.Equal(c.Path[:len(path)], path) && s.begins(c.Path)
	})
}

// line returns the command line of the command at path.
func (s *scanned) line(path []string) Line {
	return Line{Path: path, Flags: s.flags, Words: s.words[len(path):], Help: s.help, HelpAll: s.all}
}

// fail keeps the first mistake.
func (s *scanned) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// manner says whose command line is read.
type manner uint8

const (
	ofJob     manner = iota // -h is the job's own flag
	ofCommand               // -h asks for help
	ofTool                  // as GNU tools: -h is the tool's own flag, and long names may be shortened
)

// scan reads args with the given flags. It goes on after a mistake, because the
// words behind it show which command was meant, and may ask for help.
func scan(args []string, flags []Flag, m manner) *scanned {
	s := &scanned{}
	given := map[string]string{} // the last value of each flag, by its long name
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		// All words behind -- are positional.
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
			i += s.long(word, args[i+1:], flags, given)
		// A dash alone is positional: it stands for standard input.
		case len(word) > 1 && word[0] == '-':
			i += s.short(word, args[i+1:], flags, given)
		default:
			s.words = append(s.words, word)
		}
	}
	return s
}

// long reads --name, --name=value or --name value. It returns how many words of
// rest belong to the flag.
func (s *scanned) long(word string, rest []string, flags []Flag, given map[string]string) int {
	name, value, attached := strings.Cut(word[2:], "=")
	f := byName(flags, name)
	switch {
	case f == nil:
		s.fail(unknownLong(name, flags))
		return 0
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

// short reads a bundle of one-letter flags. The last one may take a value: the
// rest of the word, or the next word. short returns how many words of rest belong
// to the bundle.
func (s *scanned) short(word string, rest []string, flags []Flag, given map[string]string) int {
	for i := 1; i < len(word); {
		// A letter may have several bytes in a mistyped word. No flag has such a letter, and the
		// message shows it whole.
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

// next takes the value of the flag f, written as as, from the next word. A word
// that is the name of a flag is refused: the user probably forgot the value.
func (s *scanned) next(f *Flag, as string, rest []string, flags []Flag, given map[string]string) int {
	if len(rest) == 0 {
		s.fail(errs.Optionf(as, "needs a value"))
		return 0
	}
	// A word with one dash is a value: it may be a negative number, or standard input.
	value := rest[0]
	if name, isLong := strings.CutPrefix(value, "--"); isLong && !f.Any {
		name, _, _ = strings.Cut(name, "=")
		// The hint shows how to give such a value all the same: with an equals sign.
		if name == "help" || byName(flags, name) != nil {
			s.fail(errs.Optionf(as, "needs a value, but the flag --%s follows; if that is the value, write --%s=%s", name, f.Name, Quote(value)))
			return 0
		}
	}
	s.set(f, value, given)
	return 1
}

// set records the value of a flag. given holds the last value of each flag.
func (s *scanned) set(f *Flag, value string, given map[string]string) {
	// The same value twice is harmless, as when a script adds a flag that is there already.
	if before, ok := given[f.Name]; ok && !f.Repeat && before != value {
		s.fail(errs.Optionf("--"+f.Name, "given twice, with %s and with %s", Quote(before), Quote(value)))
	}
	given[f.Name] = value
	s.flags = append(s.flags, Setting{f, value})
}

// ParseTool reads args, the words behind the name of a tool, as GNU tools read
// theirs. It differs from Parse in four points. A flag may be given again, and
// may be shortened to the letters that only its long name begins with, unless it
// is Whole. The word
// behind a flag that takes a value is the value, whatever it looks like. -h is a
// flag of the tool; Line.Help stands for --help alone.
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

// complete returns --name or --name=value with the whole name of the flag that
// begins with it. It fails if several flags do.
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
		return word, nil // long says what is wrong
	// The value keeps its equals sign.
	case attached:
		return "--" + found[0] + "=" + value, nil
	}
	return "--" + found[0], nil
}
