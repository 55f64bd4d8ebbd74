package flags

import (
	"bytes"
	"cmp"
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/urfave/cli/v2"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
)

// mostShown is the largest number of flags that --help shows in full. A command with more flags shows
// the common ones and its own, those without a group.
const mostShown = 16

// shown returns the settings that the help has. all is true for --help-all.
func (c *Command) shown(all bool) []setting.Setting {
	// The text of Help describes the flags of a tool that have no help.
	described := slices.DeleteFunc(slices.Clone(c.Settings), func(s setting.Setting) bool { return c.Tool && s.Help == "" })
	if all || len(described) <= mostShown {
		return described
	}
	return slices.DeleteFunc(described, func(s setting.Setting) bool {
		return s.Group != "" && !s.Common
	})
}

// page is the help of the program or of a command.
type page struct {
	Name, Usage, Line string // Line: the command line
	About, After      string // paragraphs before and after the lists
	Examples          []string
	Lists             []list // of commands, then of flags
}

// list is a part of a page: commands or flags with one text each.
type list struct {
	Heading string
	Rows    [][2]string
}

// add adds a row below a heading.
func (p *page) add(heading, name, text string) {
	i := slices.IndexFunc(p.Lists, func(l list) bool { return l.Heading == heading })
	if i < 0 {
		i, p.Lists = len(p.Lists), append(p.Lists, list{Heading: heading})
	}
	p.Lists[i].Rows = append(p.Lists[i].Rows, [2]string{name, text})
}

// groups are the headings of flags, in the order of the help; others follow.
func groups() []string {
	return []string{"", "INPUT AND OUTPUT", "SLOTS", "POLICIES", "SIMULATION", "MEMORY", "FAULTS AND EFFECTS", "PAGE"}
}

// page returns the help of the command with these names. all is true for --help-all.
func (c *Command) page(path []string, all bool) *page {
	usage := c.Args
	if !strings.Contains(usage, "FLAG") {
		usage = strings.TrimSpace("[FLAGS] " + usage)
	}
	name := "mrlocal " + strings.Join(path, " ")
	p := &page{Name: name, Usage: c.Usage, Line: name + " " + usage, About: strings.TrimSpace(c.Long), Examples: c.Examples}
	for _, e := range c.Sub {
		p.add(strings.ToUpper(strings.Trim(c.noun(), "[]"))+"S", e.Name, e.Make().Usage)
	}
	shown := c.shown(all)
	rank := func(s setting.Setting) int { return (slices.Index(groups(), s.Group) + 99) % 99 } // another group comes last
	slices.SortStableFunc(shown, func(a, b setting.Setting) int { return rank(a) - rank(b) })
	for _, s := range shown {
		heading := "OPTIONS"
		switch {
		case len(c.Settings) <= mostShown:
		case s.Group == "":
			heading = "OPTIONS OF THIS COMMAND"
		case all:
			heading = s.Group
		default:
			heading = "COMMON OPTIONS"
		}
		names := s.Flag()
		if s.Short != "" && s.Short != s.Name {
			names = "-" + s.Short + ", " + names
		}
		if !s.Toggle() {
			names += " " + s.Metavar()
		}
		text := strings.ReplaceAll(s.Help, "`", "")
		if s.Default != "" {
			text += " (default: " + s.Default + ")"
		}
		p.add(heading, names, text)
	}
	if len(shown) < len(c.shown(true)) {
		p.After = "--help-all shows all flags, in groups."
	}
	return p
}

// page returns the help of the program, with the names of its commands.
func (p *Program) page() *page {
	h := &page{Name: p.Name, Usage: p.Usage, Line: p.Name + " COMMAND [FLAGS] [PATH…]", After: p.About}
	for _, e := range p.Commands {
		c := e.Make()
		h.add(cmp.Or(c.Group, "MORE"), e.Name, c.Usage)
	}
	return h
}

//go:embed help.tmpl
var helpLayout string

// text returns the page for a terminal of that width.
func (p *page) text(width int) string {
	var b bytes.Buffer // the library ignores errors of its writer
	cli.HelpPrinterCustom(&b, helpLayout, p, map[string]any{
		"command": func(line string) string { return errs.Command + line },
		"row":     func(row [2]string) string { return choices(row[0] + errs.Beside + row[1]) },
		"indented": func(blanks int, text string) string {
			begins := strings.Repeat(" ", blanks) + errs.Beside
			return begins + strings.ReplaceAll(choices(text), "\n", "\n"+begins)
		},
	})
	return errs.Fit(b.String(), width)
}

// choices returns text in which errs.Fit may break a long a|b|c.
func choices(text string) string { return strings.ReplaceAll(text, "|", "|"+errs.Choice) }

//go:embed manual.tmpl
var manualLayout string

// manual returns the manual page, in ASCII. The library's own layout lists all flags in the synopsis.
func (p *page) manual() string {
	var b bytes.Buffer
	cli.HelpPrinterCustom(&b, manualLayout, p, map[string]any{"text": markdown, "command": commandOfManual, "title": func() string { return strings.ReplaceAll(p.Name, " ", "-") }})
	return strings.ReplaceAll(string(md2man.Render(b.Bytes())), "…", "...")
}

// manualWidth is the number of columns of the lines in a manual page that man does not fill: examples and lists. With
// its margins, man then shows them in 80 columns.
const manualWidth = 66

// commandOfManual returns a command as lines of a block in Markdown.
func commandOfManual(line string) string {
	return strings.ReplaceAll(errs.Fit(errs.Command+line, manualWidth), "\n", "\n    ")
}

// markdown returns paragraphs in Markdown. A paragraph with a list or indented lines keeps its lines.
func markdown(text string) string {
	all := strings.Split(text, "\n\n")
	for i, paragraph := range all {
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") {
			all[i] = "```\n" + errs.Fit(paragraph, manualWidth) + "\n```"
		} else {
			all[i] = strings.NewReplacer(errs.Beside, "", `\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`, "|", `\|`).Replace(paragraph)
		}
	}
	return strings.Join(all, "\n\n")
}

// helpOf writes the help of the command that line names.
func (p *Program) helpOf(line *Line, all bool) error {
	c := line.Command
	text := errs.Fit(c.Help, p.Width())
	if c.Help == "" || all {
		text += c.page(line.Path, all).text(p.Width())
	}
	return p.print(text)
}

// Each calls f for each command that does work, and for each subcommand, with its names.
func (p *Program) Each(f func(path []string, c *Command)) { each(nil, p.Commands, f) }

func each(above []string, all []Entry, f func([]string, *Command)) {
	for _, e := range all {
		c, path := e.Make(), append(slices.Clone(above), e.Name)
		c.Name = e.Name
		f(path, c)
		each(path, c.Sub, f)
	}
}

// Page returns the manual page of the program for an empty path, and else that of the command at path.
func (p *Program) Page(path []string) (string, error) {
	if len(path) == 0 {
		return p.page().manual(), nil
	}
	line, rest, err := p.find(path)
	switch {
	case err != nil:
		return "", err
	case len(rest) > 0:
		return "", unknownCommand("subcommand", rest[0], line.Command.Sub)
	}
	h := line.Command.page(line.Path, true)
	if line.Command.Help != "" { // a screen of its own
		h.About = strings.TrimSpace(" " + line.Command.Help + "\n\n" + h.About)
	}
	return h.manual(), nil
}

// WritePages writes a manual page for the program and for each command into dir. It creates a missing
// directory, and replaces existing pages.
func (p *Program) WritePages(dir string) error {
	err := os.MkdirAll(dir, 0o777)
	write := func(path []string) {
		var text string
		if err == nil {
			text, err = p.Page(path)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, strings.Join(append([]string{p.Name}, path...), "-")+".1"), []byte(text), 0o666)
		}
	}
	write(nil)
	p.Each(func(path []string, _ *Command) { write(path) })
	if err != nil {
		return errs.Optionf(errs.Quote(dir), "%w", errs.Cause(err))
	}
	return nil
}

// completing is the last word of a line that asks for completions of the word before it.
const completing = "--generate-shell-completion"

// complete writes what may stand in place of the last word of args, a word to a line: commands,
// flags, or choices of the flag before it. Without any the shell completes files.
func (p *Program) complete(args []string) error {
	if len(args) == 0 {
		args = []string{""}
	}
	typed, before := args[len(args)-1], args[:len(args)-1]
	below, c := p.Commands, (*Command)(nil)
	if len(before) > 0 {
		line, rest, err := p.find(before)
		if err != nil {
			return nil
		}
		c, below = line.Command, nil
		if len(rest) == 0 {
			below = c.Sub
		}
	}
	words := names(below)
	if c != nil && len(before) > 0 {
		last, isFlag := strings.CutPrefix(before[len(before)-1], "--")
		if s := setting.Named(c.Settings, last); isFlag && s != nil && !s.Toggle() {
			words = s.Value.Words
		} else if strings.HasPrefix(typed, "-") {
			for _, name := range append(setting.Names(c.Settings), "help") {
				words = append(words, "--"+name)
			}
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, typed) })
	return p.print(strings.Join(append(words, ""), "\n"))
}

// Script returns a script that completes lines of the program in a shell: bash, zsh or fish.
func (p *Program) Script(shell string) (string, error) {
	script := map[string]string{
		"bash": `_NAME() {
	COMPREPLY=($("${COMP_WORDS[@]:0:COMP_CWORD+1}" COMPLETING 2>/dev/null))
	[[ ${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o filenames -F _NAME NAME
`,
		"fish": "complete -c NAME -a '(NAME (commandline -opc)[2..] (commandline -ct) COMPLETING 2>/dev/null)'\n",
	}
	// bashcompinit defines in zsh the functions that the script for bash calls.
	script["zsh"] = "#compdef NAME\nautoload -U +X bashcompinit && bashcompinit\n" + script["bash"]
	text, ok := script[shell]
	switch {
	case shell == "":
		return "", errs.Optionf("", "name a shell: bash, zsh or fish")
	case !ok:
		return "", errs.Optionf(errs.Quote(shell), "no such shell; there are bash, zsh and fish")
	}
	return strings.NewReplacer("NAME", p.Name, "COMPLETING", completing).Replace(text), nil
}
