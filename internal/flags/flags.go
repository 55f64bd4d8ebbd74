// Package flags reads the command line. A command has a table of settings. normalise puts the words of a GNU command
// line into plain form. The flag library (urfave/cli/v2) then parses this form and sets the values. help.go makes help,
// which errs.Fit lays out, manual pages and completion.
package flags

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
)

// Command is a command of mrlocal, or a subcommand, such as a job of run.
type Command struct {
	Name     string
	Usage    string // one line
	Args     string // the positional words in the help, as in "JOB [FLAGS] [PATH…]"
	Long     string // the paragraphs of help below the usage
	Group    string // heading in the list of commands
	Examples []string
	Settings []setting.Setting // they keep what the line sets
	Sub      []Entry           // subcommands
	Noun     string            // what they are, as job; "": the first word of Args

	// Tool: long names may be shortened, and the word after a flag is always its value, as in GNU tools.
	Tool bool
	// OldWords reads the first of args, which has no dash. It returns the flag that it stands for, as --name=value, and
	// how many of args the flag takes; 0: it is not a flag. OldLetters does the same for letters of a bundle that no
	// flag has. nil: there are no old forms.
	OldWords   func(args []string) (flag string, used int, err error)
	OldLetters func(letters string) (flag string, used int)
	Help       string // the text of --help of a tool for errs.Fit, one screen; "": the library lists the flags

	// Raw stands in place of Run for a command that parses its arguments itself; nil: none does.
	Raw func(ctx context.Context, args []string) (code int, err error)

	// Run does the work, after the settings are set. nil: the command needs a subcommand.
	Run func(ctx context.Context, line *Line) (code int, err error)
}

// Entry is a command by name. Make makes it. A start makes only the command that it needs, because
// the settings of all commands take more than a millisecond.
type Entry struct {
	Name string
	Make func() *Command
}

// Line is a parsed command line.
type Line struct {
	Command *Command
	Path    []string // the names of the command, as "run", "sort"
	Given   []Given  // the flags in the order given
	Words   []string // the others
}

// Given is a flag of a line with the text of its value; "true" for a flag without one.
type Given struct{ Name, Text string }

// Has reports whether the line has the flag of that name. It panics if the command has no such flag.
func (l *Line) Has(name string) bool {
	if setting.Named(l.Command.Settings, name) == nil {
		panic("no flag --" + name)
	}
	return slices.ContainsFunc(l.Given, func(g Given) bool { return g.Name == name })
}

// Own returns the flags of the line that all has, in their order, as --NAME=VALUE, or as --NAME if they take no value.
func (l *Line) Own(all []setting.Setting) (words []string) {
	for _, g := range l.Given {
		switch s := setting.Named(all, g.Name); {
		case s == nil:
		case s.Toggle():
			words = append(words, "--"+g.Name)
		default:
			words = append(words, "--"+g.Name+"="+g.Text)
		}
	}
	return words
}

// NoWords returns an options error if the line has words that are not flags.
func (l *Line) NoWords() error {
	if len(l.Words) > 0 {
		return errs.Optionf(errs.Quote(l.Words[0]), "one word too many")
	}
	return nil
}

// Program is the program with its commands.
type Program struct {
	Name, Usage, Version string
	About                string // the paragraphs of mrlocal --help
	Commands             []Entry
	Write                func(text []byte) error // gets help, version and completions
	Width                func() int              // returns the number of columns of the help
}

// Run runs the command that args name, or writes the help or the version. It returns the exit code of
// the command. line names the command, also with an error; nil: there is none.
func (p *Program) Run(ctx context.Context, args []string) (line *Line, code int, err error) {
	if len(args) == 0 || args[0] == "" && len(args) == 1 {
		return nil, 0, errs.Optionf("", "name a command: mrlocal --help lists them, mrlocal demo shows what mrlocal does")
	}
	if last := len(args) - 1; args[last] == completing {
		return nil, 0, p.complete(args[:last])
	}
	switch args[0] {
	case "help", "--help", "-h", "--help-all":
		args = append(slices.Clone(args[1:]), "--help")
	case "--version", "-v":
		return nil, 0, p.print(p.Version + "\n")
	}
	if args[0] == "--help" {
		return nil, 0, p.print(p.page().text(p.Width()))
	}
	line, args, err = p.find(args)
	if err != nil {
		return line, 0, err
	}
	c := line.Command
	if c.Raw != nil {
		if len(args) == 1 && args[0] == "--help" {
			return line, 0, p.helpOf(line, false)
		}
		code, err = c.Raw(ctx, args)
		return line, code, err
	}
	plain, err := c.normal(args, len(line.Path) == 1 && !c.Tool)
	all := slices.Contains(plain.flags, "--help-all")
	switch { // help and version win over mistakes
	case slices.Contains(plain.flags, "--help") || all || slices.Contains(args, "--help") && err != nil:
		return line, 0, p.helpOf(line, all)
	case slices.Contains(plain.flags, "--version"):
		return line, 0, p.print(p.Version + "\n")
	case c.Run == nil:
		err = c.needsSub(args)
	}
	if err == nil {
		err = line.parse(plain, p)
	}
	if err != nil {
		return line, 0, err
	}
	code, err = c.Run(ctx, line)
	return line, code, err
}

// normal returns the plain form of args, the words after the name of the command. With ask, -h asks for
// help; below a job and in a tool it is a flag of their own.
func (c *Command) normal(args []string, ask bool) (plain, error) {
	p := plain{of: *c, rest: args}
	if c.Tool { // their names may be shortened, too
		p.of.Settings = append(slices.Clone(c.Settings), setting.Of("help", "", "", "", setting.Call(func() {})), setting.Of("version", "", "", "", setting.Call(func() {})))
	}
	err := p.normalise(ask)
	return p, err
}

// Parse sets the settings of the command by args, the words after its name.
func (c *Command) Parse(args []string) (*Line, error) {
	line := &Line{Command: c, Path: []string{c.Name}}
	p, err := c.normal(args, false)
	if err == nil {
		err = line.parse(p, &Program{})
	}
	return line, err
}

// print writes text with p.Write.
func (p *Program) print(text string) error { return p.Write([]byte(text)) }

// find returns the command that args begin with, and the words after its names.
func (p *Program) find(args []string) (*Line, []string, error) {
	line := &Line{}
	below := p.Commands
	for len(args) > 0 && len(below) > 0 {
		i := slices.IndexFunc(below, func(e Entry) bool { return e.Name == args[0] })
		if i < 0 {
			break
		}
		line.Path, line.Command = append(line.Path, below[i].Name), below[i].Make()
		line.Command.Name = below[i].Name
		below, args = line.Command.Sub, args[1:]
	}
	switch {
	case line.Command != nil:
		return line, args, nil
	case strings.HasPrefix(args[0], "-"):
		return nil, nil, errs.Optionf(args[0], "flags stand after the name of the command; mrlocal --help lists the commands")
	}
	for _, e := range p.Commands {
		if slices.Contains(names(e.Make().Sub), args[0]) {
			return nil, nil, errs.Optionf(errs.Quote(args[0]), "no such command; did you mean %s %s?", e.Name, args[0])
		}
	}
	return nil, nil, unknownCommand("command", args[0], p.Commands)
}

// needsSub returns the error of a command that needs a subcommand. args are the words after its name.
func (c *Command) needsSub(args []string) error {
	what := c.noun()
	switch {
	case len(args) == 0:
		return errs.Optionf("", "no %s named; one of %s", what, strings.Join(names(c.Sub), ", "))
	case strings.HasPrefix(args[0], "-"):
		return errs.Optionf(args[0], "flags stand after the name of the %s", what)
	}
	return unknownCommand(what, args[0], c.Sub)
}

// noun returns what the subcommands are.
func (c *Command) noun() string {
	first, _, _ := strings.Cut(strings.ToLower(c.Args), " ")
	return cmp.Or(c.Noun, first)
}

// names returns the names of commands.
func names(all []Entry) (words []string) {
	for _, e := range all {
		words = append(words, e.Name)
	}
	return words
}

// unknownCommand returns the error for a word that is none of known. what says what they are.
func unknownCommand(what, word string, known []Entry) error {
	if n := errs.Nearest(word, names(known)); n != "" {
		return errs.Optionf(errs.Quote(word), "no such %s; did you mean %s?", what, n)
	}
	return errs.Optionf(errs.Quote(word), "no such %s; --help lists them", what)
}

// parse makes the flag library parse the plain line. The library sets the values of the settings. of has the other
// commands, for messages.
func (l *Line) parse(p plain, of *Program) error {
	l.Words = p.words
	c := &cli.Command{Name: l.Command.Name, HideHelp: true, Action: func(*cli.Context) error { return nil }}
	var mistake error
	// The library takes 10 µs for a flag, so it gets those of the line.
	given := map[string]bool{}
	for _, f := range p.flags {
		name, _, _ := strings.Cut(strings.TrimPrefix(f, "--"), "=")
		if s := setting.Named(l.Command.Settings, name); s != nil && !given[name] {
			given[name] = true
			c.Flags = append(c.Flags, l.flag(s, &mistake))
		}
	}
	c.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return of.unknownFlag(l.Command.Settings, err) }
	app := &cli.App{Name: "mrlocal", HideHelp: true, HideVersion: true, Commands: []*cli.Command{c}, ExitErrHandler: func(*cli.Context, error) {}, Writer: io.Discard, ErrWriter: io.Discard}
	// The words stay out, because the library could take one for a subcommand.
	err := app.Run(append([]string{"mrlocal", c.Name}, p.flags...))
	if mistake != nil {
		return mistake
	}
	return err
}

// kept is the value of a flag for the library. It sets the setting, and keeps text and mistakes.
type kept struct {
	setting.Value
	set func(text string) error
}

// Set implements flag.Value.
func (k kept) Set(text string) error { return k.set(text) }

// IsBoolFlag makes the library take the flag without a value.
func (k kept) IsBoolFlag() bool { return (&setting.Setting{Value: k.Value}).Toggle() }

// flag returns a setting as a flag of the library. It keeps the first mistake.
func (l *Line) flag(s *setting.Setting, mistake *error) cli.Flag {
	set := func(text string) error {
		err := s.Value.Set(text)
		if err != nil && *mistake == nil {
			*mistake = errs.Optionf("--"+s.Name, "%w", err)
		}
		l.Given = append(l.Given, Given{s.Name, text})
		return err
	}
	return &cli.GenericFlag{Name: s.Name, Value: kept{s.Value, set}}
}

// unknownFlag returns the error for what the library says about a flag. It names the few commands that have the flag,
// or else suggests the nearest one.
func (p *Program) unknownFlag(all []setting.Setting, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown { // such as "bad flag syntax: ---all"
		return errs.Optionf(errs.Quote(err.Error()[strings.LastIndex(err.Error(), " ")+1:]), "no such flag; --help lists them")
	}
	if all := p.owners(name); len(all) > 0 && len(all) <= mostOwners {
		return errs.Optionf("--"+name, "no such flag here; it belongs to mrlocal %s", strings.Join(all, ", "))
	}
	if n := errs.Nearest(name, setting.Names(all)); n != "" {
		return errs.Optionf("--"+name, "no such flag; did you mean --%s?", n)
	}
	return errs.Optionf("--"+name, "no such flag; --help lists them")
}

// mostOwners is the largest number of commands that the message about a flag of other commands names.
const mostOwners = 3

// owners returns the commands that have the flag of that name, as "run JOB" for a subcommand of run.
func (p *Program) owners(flag string) (all []string) {
	for _, e := range p.Commands {
		c := e.Make()
		if setting.Named(c.Settings, flag) != nil {
			all = append(all, e.Name)
		} else if slices.ContainsFunc(c.Sub, func(e Entry) bool { return setting.Named(e.Make().Settings, flag) != nil }) {
			all = append(all, e.Name+" "+strings.ToUpper(c.noun()))
		}
	}
	return all
}

// unknownLetter returns the error for a letter of word that is not the letter of a flag.
func unknownLetter(all []setting.Setting, word, letter string) error {
	name, _, _ := strings.Cut(word[1:], "=")
	if len(name) > 1 && setting.Named(all, name) != nil {
		return errs.Optionf(word, "no such flag; did you mean --%s?", name)
	}
	if letter == "h" {
		return errs.Optionf("-h", "this job has no such flag; help is --help")
	}
	in := ""
	if "-"+letter != word {
		in = " (in " + errs.Quote(word) + ")"
	}
	return errs.Optionf("-"+letter, "no such flag%s; --help lists them; a file of that name is given after --", in)
}

// plain is a command line as the flag library takes it, while normalise reads the line of a user.
type plain struct {
	of    Command  // has --help and --version among its settings if it is a tool
	rest  []string // of the user's line, not yet read
	flags []string // as --name=value, or --name, in the order given
	words []string // the others
}

// normalise puts the words of a GNU command line into plain form. Flags may stand between other words,
// and -- ends them. Letters may be bundled (-rn), with a value attached (-k2,3n). The word after a flag
// that takes a value is its value. A flag that the command does not have stays as it is, so that the library
// refuses it. In a tool a long name may be shortened, and the word after a flag is always its value.
// With ask, -h asks for help.
func (p *plain) normalise(ask bool) (err error) {
	for len(p.rest) > 0 && err == nil {
		line, word := p.rest, p.rest[0]
		p.rest = line[1:]
		switch {
		case word == "--":
			p.words, p.rest = append(p.words, p.rest...), nil
		case word == "-h" && ask:
			p.flags = append(p.flags, "--help")
		case strings.HasPrefix(word, "--help="):
			err = errs.Optionf("--help", "takes no value")
		case strings.HasPrefix(word, "--"):
			err = p.long(word)
		case len(word) > 1 && word[0] == '-': // a dash alone is standard input
			err = p.bundle(word)
		default:
			err = p.word(line)
		}
	}
	return err
}

// word reads the first of args, which has no dash, and those that belong to it.
func (p *plain) word(args []string) error {
	if p.of.OldWords != nil {
		if flag, used, err := p.of.OldWords(args); used > 0 || err != nil {
			p.flags, p.rest = append(p.flags, flag), args[used:]
			return err
		}
	}
	p.words = append(p.words, args[0])
	return nil
}

// long reads word, which begins with two dashes.
func (p *plain) long(word string) error {
	name, value, attached := strings.Cut(word[2:], "=")
	s, err := p.named(name)
	if s != nil {
		return p.flag(s, "--"+name, value, attached)
	}
	p.flags = append(p.flags, word)
	return err
}

// bundle reads word, letters of flags. The value of the last one may be attached, or is the next word.
func (p *plain) bundle(word string) error {
	for left := word[1:]; left != ""; {
		_, n := utf8.DecodeRuneInString(left)
		letter := left[:n]
		i := slices.IndexFunc(p.of.Settings, func(s setting.Setting) bool { return s.Short == letter || s.Name == letter })
		if i < 0 && p.of.OldLetters != nil {
			if flag, used := p.of.OldLetters(left); used > 0 {
				p.flags, left = append(p.flags, flag), left[used:]
				continue
			}
		}
		if i < 0 {
			return unknownLetter(p.of.Settings, word, letter)
		}
		left = left[n:]
		attached := left != "" && !p.of.Settings[i].Toggle()
		if err := p.flag(&p.of.Settings[i], "-"+letter, left, attached); err != nil || attached {
			return err
		}
	}
	return nil
}

// flag adds s. Its value, if it takes one, is the next word unless it is attached. as is the flag as the user wrote it.
func (p *plain) flag(s *setting.Setting, as, value string, attached bool) error {
	switch {
	case attached && value == "true" && s.Toggle(): // the library takes it for a flag without a value
		return errs.Optionf("--"+s.Name, "true: no such value")
	case attached:
	case s.Toggle():
		p.flags = append(p.flags, "--"+s.Name)
		return nil
	case len(p.rest) == 0:
		return errs.Optionf(as, "needs a value")
	default:
		value, p.rest = p.rest[0], p.rest[1:]
		// If the next word is the name of a flag, the user most likely forgot the value.
		name, _, _ := strings.Cut(strings.TrimPrefix(value, "--"), "=")
		if strings.HasPrefix(value, "--") && !s.Literal && !p.of.Tool && (name == "help" || setting.Named(p.of.Settings, name) != nil) {
			return errs.Optionf(as, "needs a value, but the flag --%s follows; if that is the value, write --%s=%s", name, s.Name, errs.Quote(value))
		}
	}
	p.flags = append(p.flags, "--"+s.Name+"="+value)
	return nil
}

// named returns the setting of that name, or nil. In a tool, the name may be the beginning of one name that is
// not Whole.
func (p *plain) named(name string) (*setting.Setting, error) {
	s, found := setting.Named(p.of.Settings, name), []string{}
	for i := range p.of.Settings {
		if other := &p.of.Settings[i]; s == nil && p.of.Tool && !other.Whole && strings.HasPrefix(other.Name, name) {
			found = append(found, other.Name)
		}
	}
	if len(found) > 1 {
		return nil, errs.Optionf("--"+name, "can be --%s", strings.Join(found, " or --"))
	}
	return cmp.Or(s, setting.Named(p.of.Settings, strings.Join(found, ""))), nil
}
