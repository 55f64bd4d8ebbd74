package flags

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
)

// mostShown is the largest number of flags that --help shows in full. A command with more flags shows
// the common ones and its own, those without a group.
const mostShown = 16

// common are the flags of a group that --help of a long command shows, too.
const common = " input output output-file overwrite sched map-slots reduce-slots memory gantt events cost "

// shown returns the settings that the help has. all is true for --help-all.
func (c *Command) shown(all bool) []setting.Setting {
	// The text of Help describes the flags of a tool that have no help.
	described := slices.DeleteFunc(slices.Clone(c.Settings), func(s setting.Setting) bool { return c.Tool && s.Help == "" })
	if all || len(described) <= mostShown {
		return described
	}
	return slices.DeleteFunc(described, func(s setting.Setting) bool {
		return s.Group != "" && !strings.Contains(common, " "+s.Name+" ")
	})
}

// library returns the command for the library, with its flags but without an action. path has the names
// of the command.
func (c *Command) library(path []string, all bool) *cli.Command {
	usage := c.Args
	if !strings.Contains(usage, "FLAG") {
		usage = strings.TrimSpace("[FLAGS] " + usage)
	}
	name := strings.Join(path, " ")
	l := &cli.Command{Name: c.Name, HelpName: "mrlocal " + name, Usage: c.Usage, UsageText: "mrlocal " + name + " " + usage, Description: c.Long, HideHelp: true}
	for _, s := range c.shown(all) {
		var letters []string
		if s.Short != "" && s.Short != s.Name {
			letters = []string{s.Short}
		}
		heading := ""
		if len(c.Settings) > mostShown && (all || s.Group == "") {
			heading = cmp.Or(s.Group, "OF THIS COMMAND")
		}
		if s.Toggle() {
			l.Flags = append(l.Flags, &cli.BoolFlag{Name: s.Name, Aliases: letters, Usage: s.Help, DefaultText: s.Default, DisableDefaultText: s.Default == "", Category: heading})
		} else {
			l.Flags = append(l.Flags, &cli.StringFlag{Name: s.Name, Aliases: letters, Usage: s.Help, DefaultText: s.Default, Category: heading})
		}
	}
	for _, e := range c.Sub {
		sub := e.Make()
		l.Subcommands = append(l.Subcommands, &cli.Command{Name: e.Name, Usage: sub.Usage, Category: sub.Group})
	}
	if !all && len(l.Flags) < len(c.shown(true)) {
		l.Description += "\n\n--help-all shows all flags, in groups."
	}
	if len(c.Examples) > 0 {
		l.Description += "\n\nExamples:\n  " + strings.Join(c.Examples, "\n  ")
	}
	return l
}

// helpOf writes the help of the command that line names.
func (p *Program) helpOf(line *Line, all bool) error {
	c := line.Command
	if c.Help != "" && !all {
		return p.print(c.Help)
	}
	var b bytes.Buffer // the library ignores errors of its writer
	l, template := c.library(line.Path, all), cli.CommandHelpTemplate
	if len(c.Sub) > 0 && c.Run == nil {
		template = cli.SubcommandHelpTemplate
	}
	cli.HelpPrinter(&b, template, l)
	return p.print(c.Help + b.String())
}

// app returns the program for the library, with the names of its commands.
func (p *Program) app() *cli.App {
	app := &cli.App{Name: p.Name, HelpName: p.Name, Usage: p.Usage, UsageText: p.Name + " COMMAND [FLAGS] [PATH…]", Description: p.About, HideHelp: true, HideVersion: true}
	for _, e := range p.Commands {
		c := e.Make()
		app.Commands = append(app.Commands, &cli.Command{Name: e.Name, Usage: c.Usage, Category: c.Group})
	}
	app.Setup()
	return app
}

// help writes the help of the program.
func (p *Program) help() error {
	var b bytes.Buffer
	cli.HelpPrinter(&b, cli.AppHelpTemplate, p.app())
	return p.print(b.String())
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
		return page(p.app())
	}
	line, rest, err := p.find(path)
	switch {
	case err != nil:
		return "", err
	case len(rest) > 0:
		return "", unknownCommand("subcommand", rest[0], line.Command.Sub)
	}
	l := line.Command.library(line.Path, true)
	about := strings.TrimSpace(l.Description)
	if line.Command.Help != "" { // a screen that is laid out by itself
		about = "```\n" + line.Command.Help + "```\n\n" + about
	}
	app := &cli.App{Name: p.Name + "-" + strings.Join(path, "-"), Usage: l.Usage, UsageText: l.UsageText, Description: about, Flags: l.Flags, HideHelp: true, HideVersion: true}
	return page(app)
}

// page returns the manual page of app, in ASCII.
func page(app *cli.App) (string, error) {
	text, err := app.ToManWithSection(1)
	return strings.ReplaceAll(text, "…", "..."), err
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
	var words []string
	for _, e := range below {
		words = append(words, e.Name)
	}
	if c != nil && len(before) > 0 {
		last, isFlag := strings.CutPrefix(before[len(before)-1], "--")
		if s := setting.Named(c.Settings, last); isFlag && s != nil && !s.Toggle() {
			words = s.Choices()
		} else if strings.HasPrefix(typed, "-") {
			for _, s := range c.Settings {
				words = append(words, "--"+s.Name)
			}
			words = append(words, "--help")
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
