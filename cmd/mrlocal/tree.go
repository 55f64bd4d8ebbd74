package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/errs"
)

// commands makes the commands of these names, or all of them.
func commands(names ...string) (made []command.Command) {
	for _, e := range table() {
		if len(names) == 0 || slices.Contains(names, e.name) {
			c := e.make()
			c.Name = e.name
			made = append(made, c)
		}
	}
	return made
}

// meant returns the commands that a line with these arguments can mean. They are those that it
// names first, or all if it does not begin with names.
func meant(args []string) []command.Command {
	tree := commands(args[0])
	if len(tree) == 0 {
		return all()
	}
	if len(args) > 1 {
		if i := slices.IndexFunc(tree[0].Sub, func(c command.Command) bool { return c.Name == args[1] }); i >= 0 {
			tree[0].Sub = tree[0].Sub[i : i+1]
		}
	}
	return tree
}

// all makes all commands.
func all() []command.Command { return commands() }

// raw returns the command that reads its own arguments, and these; nil for any other line.
func raw(args []string) (*command.Command, []string) {
	if len(args) == 0 {
		return nil, nil
	}
	asked := len(args) == 2 && (args[0] == "help" || args[0] == "--help")
	if asked { // "mrlocal help sort" is the same as "mrlocal sort --help"
		args = []string{args[1], "--help"}
	}
	if c := commands(args[0]); len(c) == 1 && args[0] != "" && c[0].Raw != nil && (c[0].Tool || !asked) {
		return &c[0], args[1:]
	}
	return nil, nil
}

// join returns the name of a command as the user writes it.
func join(path []string) string { return strings.Join(path, " ") }

// leaves lists the commands that run, with their flags, for argv.
func leaves(tree []command.Command) []argv.Command {
	var all []argv.Command
	for _, c := range tree {
		// The tree has two levels at most: a command, and a job below it. profile takes a job or a
		// file.
		if c.Run != nil {
			all = append(all, argv.Command{Path: []string{c.Name}, Flags: argv.Flags(c.AllFlags())})
		}
		if c.Raw != nil { // it reads its flags by itself
			all = append(all, argv.Command{Path: []string{c.Name}})
		}
		// The path of a job has two words: the command and the job.
		for _, s := range c.Sub {
			all = append(all, argv.Command{Path: []string{c.Name, s.Name}, Flags: argv.Flags(s.AllFlags())})
		}
	}
	return all
}

// shortcut handles command lines that name no leaf: help, --version, and the
// empty one. It reports whether it did.
func shortcut(args []string, e command.Env) (code int, done bool) {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	// An empty word is treated as none. The message is the first thing that a new user reads.
	case first == "":
		fmt.Fprint(e.Stderr, argv.ErrorLine("", errs.Optionf("", "name a command: mrlocal --help lists them, mrlocal demo shows what mrlocal does")))
		return command.Usage, true
	case first == "--version" || first == "-v":
		if _, err := printVersion(e, nil); err != nil {
			return fail(context.Background(), e, "version", err), true
		}
		return command.Done, true
	case first == "help" || command.IsHelp(first) && len(args) == 1:
		// The path behind help may name an inner command or a leaf.
		return help(args[1:], e), true
	// A leaf answers --help by itself, after its flags have been read.
	case len(args) == 2 && isInner(first) && command.IsHelp(args[1]):
		return help(args[:1], e), true
	case len(args) == 2 && command.IsHelp(first) && isInner(args[1]):
		return help(args[1:], e), true
	}
	return 0, false
}

// isInner reports whether the command of that name has subcommands.
func isInner(name string) bool {
	return slices.ContainsFunc(commands(), func(c command.Command) bool { return c.Name == name && len(c.Sub) > 0 })
}

// help writes the help of the command at path.
func help(path []string, e command.Env) int {
	if _, err := dispatch(context.Background(), commands(), argv.Line{Path: path, Help: true}, e); err != nil {
		fmt.Fprint(e.Stderr, argv.ErrorLine("help", err))
		return command.Usage
	}
	return command.Done
}

// dispatch calls the command that line names, or writes its help. The flag
// library finds the command and lays out the help. It sees no flag: line has the
// values already (docs/adr/0001).
func dispatch(ctx context.Context, tree []command.Command, line argv.Line, e command.Env) (code int, err error) {
	app := newApp(tree, line, e, &code)
	app.CommandNotFound = func(_ *cli.Context, name string) { err = errs.Optionf(argv.Quote(name), "no such command") }
	// err may be set by CommandNotFound without an error of RunContext.
	if runErr := app.RunContext(ctx, append([]string{"mrlocal"}, libraryArgs(line)...)); runErr != nil {
		err = runErr
	}
	return code, err
}

// newApp lowers the tree for the flag library. The exit code of the command goes to code.
func newApp(tree []command.Command, line argv.Line, e command.Env, code *int) *cli.App {
	cli.HelpFlag = &cli.BoolFlag{Name: "help", Usage: "show help", DefaultText: "off"} // the library's own takes -h too
	// The library gets fresh commands with each call, so it keeps no state between calls of the
	// tests.
	app := &cli.App{
		Name: "mrlocal", HelpName: "mrlocal",
		Usage:       "MapReduce on the files and cores of one machine",
		UsageText:   "mrlocal COMMAND [FLAGS] [PATH…]",
		Description: appHelp,
		Writer:      e.Stdout, ErrWriter: e.Stderr,
		// The library's own help command and version flag are hidden: shortcut does their work.
		HideHelpCommand: true, HideVersion: true, DisableSliceFlagSeparator: true,
		// The library would call os.Exit. Errors are worded in one place instead, by fail.
		ExitErrHandler: func(*cli.Context, error) {},
	}
	for i := range tree {
		app.Commands = append(app.Commands, lower(&tree[i], nil, line, e, code))
	}
	return app
}

// appHelp stands at the top of mrlocal --help.
const appHelp = `Results go to standard output, everything else to standard error.

Exit codes: 0 done; 1 nothing matched (run grep); 2 wrong usage or input, nothing was started; 3 the job failed; 128 plus the number of the signal when interrupted.

Sizes: 64MiB, 100MB (decimal), K M G T (binary). Times: 250ms, 20s. Shares: 0.5. Flags may stand anywhere; -- ends them.`

// libraryArgs returns the words that the flag library sees: the path of the
// command, and --help if the user wants it. Positional words are left out,
// because the library would take a file called "help" for a command.
func libraryArgs(line argv.Line) []string {
	// The copy leaves the path of the line as it is.
	args := append([]string(nil), line.Path...)
	if line.Help {
		args = append(args, "--help")
	}
	return args
}

// lower turns c into a command of the flag library. The exit code of c goes to
// code. above is the path of the command above c.
func lower(c *command.Command, above []string, line argv.Line, e command.Env, code *int) *cli.Command {
	l := &cli.Command{Name: c.Name, Usage: c.Usage, ArgsUsage: c.Args, Description: c.Long, HideHelpCommand: true}
	for i := range c.Sub {
		l.Subcommands = append(l.Subcommands, lower(&c.Sub[i], []string{c.Name}, line, e, code))
	}
	// The library knows texts and flags for the help only; each start would pay for them.
	if line.Help && c.Raw == nil {
		addHelp(c, append(slices.Clone(above), c.Name), line.HelpAll, l)
	}
	if c.Raw != nil {
		l.Action = func(*cli.Context) error { return errs.Optionf(c.Name, "the name stands first: mrlocal %s", c.Name) }
	}
	// An inner node has no action; the library prints its help.
	if c.Run != nil {
		l.Action = func(ctx *cli.Context) (err error) {
			*code, err = pictures.WithPage(ctx.Context, line, e.Stderr, func(p *pictures.Page) (int, error) {
				e.Page = p // nil without --ui
				return c.Run(ctx.Context, e, line)
			})
			return err
		}
	}
	return l
}

// addHelp adds to l what the help shows of the command at path; all takes all flags.
func addHelp(c *command.Command, path []string, all bool, l *cli.Command) {
	flags := c.AllFlags()
	if len(c.Sub) == 0 && isLong(flags) && !all {
		l.Description += "\n\n--help-all shows all flags, in groups."
	}
	if len(examplesOf(path)) > 0 {
		l.CustomHelpTemplate = cli.CommandHelpTemplate + "\nEXAMPLES:\n   " + strings.Join(examplesOf(path), "\n   ") + "\n"
	}
	for _, f := range shownFlags(flags, all) {
		l.Flags = append(l.Flags, lowerFlag(&f, headingOf(f.Name, flags)))
	}
}

// lowerFlag turns f into a flag of the flag library, for the help alone. It stands below
// heading.
func lowerFlag(f *argv.Spec, heading string) cli.Flag {
	var aliases []string
	// A flag of one letter is its own short form.
	if f.Short != "" && f.Short != f.Name {
		aliases = []string{f.Short}
	}
	if !f.Value {
		return &cli.BoolFlag{Name: f.Name, Aliases: aliases, Usage: f.Help, DefaultText: "off", Category: heading}
	}
	return &cli.StringFlag{Name: f.Name, Aliases: aliases, Usage: f.Help, DefaultText: f.Default, Category: heading}
}
