package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/internal/errs"
)

// commands makes the commands of these names. Without names it makes all commands. An unknown name
// makes none.
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

// meant returns the commands that args, which are not empty, can mean. If args begin with the name
// of a command, it is this command. If the name of a subcommand follows, it keeps only this
// subcommand. Otherwise these are all commands.
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

// raw returns the command that args name, if it parses its arguments itself, and these arguments.
// For any other line it returns nil.
func raw(args []string) (*command.Command, []string) {
	if len(args) == 0 {
		return nil, nil
	}
	asked := len(args) == 2 && (args[0] == "help" || args[0] == "--help")
	if asked { // "mrlocal help sort" means "mrlocal sort --help"
		args = []string{args[1], "--help"}
	}
	if c := commands(args[0]); len(c) == 1 && args[0] != "" && c[0].Raw != nil && (c[0].Tool || !asked) {
		return &c[0], args[1:]
	}
	return nil, nil
}

// join returns the name of the command at path, as the user writes it: "run sort".
func join(path []string) string { return strings.Join(path, " ") }

// leaves returns the commands of the tree that do work, with their flags, for argv.Parse.
func leaves(tree []command.Command) []argv.Command {
	var all []argv.Command
	for _, c := range tree {
		// The tree has at most two levels: commands, and subcommands such as the jobs of run.
		// profile has a Run and subcommands.
		if c.Run != nil {
			all = append(all, argv.Command{Path: []string{c.Name}, Flags: argv.Flags(c.AllFlags())})
		}
		if c.Raw != nil { // the command parses its flags itself
			all = append(all, argv.Command{Path: []string{c.Name}})
		}
		for _, s := range c.Sub {
			all = append(all, argv.Command{Path: []string{c.Name, s.Name}, Flags: argv.Flags(s.AllFlags())})
		}
	}
	return all
}

// shortcut handles command lines that name no leaf: help, --version, and an empty line. For any
// other line it returns done as false.
func shortcut(args []string, e command.Env) (code int, done bool) {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	// An empty first word counts as an empty line.
	case first == "":
		fmt.Fprint(e.Stderr, argv.ErrorLine("", errs.Optionf("", "name a command: mrlocal --help lists them, mrlocal demo shows what mrlocal does")))
		return command.Usage, true
	case first == "--version" || first == "-v":
		if _, err := printVersion(e, nil); err != nil {
			return fail(context.Background(), e, "version", err), true
		}
		return command.Done, true
	case first == "help" || command.IsHelp(first) && len(args) == 1:
		// The words after help may name an inner command or a leaf.
		return help(args[1:], e), true
	// For the --help of a leaf, the parser must read the whole line first. That of an inner command
	// needs no parser.
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

// help writes the help of the command at path to standard output, and returns the exit code. With
// an empty path it is the help of mrlocal.
func help(path []string, e command.Env) int {
	if _, err := dispatch(context.Background(), commands(), argv.Line{Path: path, Help: true}, e); err != nil {
		return fail(context.Background(), e, "help", err)
	}
	return command.Done
}

// dispatch calls the command of tree that line names, or writes its help. It returns the exit code
// or the error of the command. The flag library finds the command and formats the help. The library
// gets no flags of the line, because package argv has already parsed them (docs/adr/0001).
func dispatch(ctx context.Context, tree []command.Command, line argv.Line, e command.Env) (code int, err error) {
	app := newApp(tree, line, e, &code)
	app.CommandNotFound = func(_ *cli.Context, name string) { err = errs.Optionf(errs.Quote(name), "no such command") }
	var help bytes.Buffer // the library ignores errors of its writer
	app.Writer = &help
	// CommandNotFound may have set err although RunContext returns none.
	if runErr := app.RunContext(ctx, append([]string{"mrlocal"}, libraryArgs(line)...)); runErr != nil {
		err = runErr
	}
	if err == nil && help.Len() > 0 {
		err = e.Write(help.Bytes())
	}
	return code, err
}

// newApp returns the tree as an application of the flag library. The action of a command sets *code
// to its exit code.
func newApp(tree []command.Command, line argv.Line, e command.Env, code *int) *cli.App {
	// By default the help flag of the library is also -h, which jobs need for themselves.
	cli.HelpFlag = &cli.BoolFlag{Name: "help", Usage: "show help", DefaultText: "off"}
	// Each call makes new commands, because the library keeps state in them.
	app := &cli.App{
		Name: "mrlocal", HelpName: "mrlocal",
		Usage:       "MapReduce on the files and cores of one machine",
		UsageText:   "mrlocal COMMAND [FLAGS] [PATH…]",
		Description: appHelp,
		Writer:      e.Stdout, ErrWriter: e.Stderr,
		// shortcut does the work of the help command and of the version flag of the library.
		HideHelpCommand: true, HideVersion: true, DisableSliceFlagSeparator: true,
		// By default the library calls os.Exit after an error. Here fail writes the error.
		ExitErrHandler: func(*cli.Context, error) {},
	}
	for i := range tree {
		app.Commands = append(app.Commands, lower(&tree[i], nil, line, e, code))
	}
	return app
}

// appHelp is the description in mrlocal --help and in the manual page of mrlocal.
const appHelp = `Results go to standard output, everything else to standard error.

Exit codes: 0 done; 1 nothing matched (grep, run grep), out of order (sort -c), or a difference (replay, compare, sim --compare, lint); 2 wrong usage or input, nothing was started; 3 the job failed; 128 plus the number of the signal when interrupted.

Sizes: 64MiB, 100MB (decimal), K M G T (binary). Times: 250ms, 20s. Shares: 0.5. Flags may stand anywhere; -- ends them.`

// libraryArgs returns the words for the flag library: the path of the command and, if the line asks
// for help, --help. There are no positional words, because the library would take a file with the
// name help for a command.
func libraryArgs(line argv.Line) []string {
	args := append([]string(nil), line.Path...)
	if line.Help {
		args = append(args, "--help")
	}
	return args
}

// lower returns c as a command of the flag library. Its action calls c.Run with line and sets *code
// to the exit code. above is the path of the command above c.
func lower(c *command.Command, above []string, line argv.Line, e command.Env, code *int) *cli.Command {
	path := append(slices.Clone(above), c.Name)
	usage := "mrlocal " + strings.Join(path, " ") + " " + synopsis(c.Args)
	l := &cli.Command{Name: c.Name, Usage: c.Usage, UsageText: usage, Description: c.Long, HideHelpCommand: true}
	for i := range c.Sub {
		l.Subcommands = append(l.Subcommands, lower(&c.Sub[i], []string{c.Name}, line, e, code))
	}
	// The library needs examples and flags only for the help. Making them takes time, so other
	// starts skip them.
	if line.Help && c.Raw == nil {
		addHelp(c, path, line.HelpAll, l)
	}
	if c.Raw != nil {
		l.Action = func(*cli.Context) error { return errs.Optionf(c.Name, "the name stands first: mrlocal %s", c.Name) }
	}
	// An inner node has no action, and the library prints its help.
	if c.Run != nil {
		l.Action = func(ctx *cli.Context) (err error) {
			*code, err = show.WithPage(ctx.Context, line, e.Stderr, func(p *show.Page) (int, error) {
				e.Page = p // nil without --ui
				return c.Run(ctx.Context, e, line)
			})
			return err
		}
	}
	return l
}

// addHelp adds the flags and the examples of c to l, for the help. path is that of c. all is true
// for --help-all.
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

// lowerFlag returns f as a flag of the flag library, for the help below heading.
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
