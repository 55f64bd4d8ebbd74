package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/guide"
	"mrlocal/cmd/mrlocal/internal/page"
	"mrlocal/errs"
)

// flagSpec is a flag with its help, for the parser and for the flag library.
type flagSpec = argv.Spec

// command is a node of the tree of commands: a leaf that runs, or an inner node
// with subcommands.
type command struct {
	name  string
	usage string // one line of help
	args  string // the words behind the flags, for the help
	long  string // more help
	flags []flagSpec
	sub   []command
	run   func(ctx context.Context, e env, line argv.Line) (code int, err error)
}

// commands returns the tree of commands, in the order of the help. To make it costs
// less than a millisecond; run makes it once.
func commands() []command {
	return append(append(append(toolCommands(), runCommand(), namedFirst("streaming", "run a job of Hadoop Streaming with the arguments of hadoop-streaming", "[FLAGS OF run] ARGS…"), namedFirst("lint", "say what of a streaming job will differ on a cluster", "streaming [--no-run] ARGS…"), batchCommand()), clusterCommands()...), simCommand(), sweepCommand(), workloadCommand(), profileCommand(), tuneCommand(), reproduceCommand(), replayCommand(), explainCommand(), compareCommand(), validateCommand(), convertCommand(), uiCommand(), genCommand(), cleanCommand(), demoCommand(), policiesCommand(), completionCommand(), manCommand(), versionCommand())
}

// join returns the name of a command as the user writes it.
func join(path []string) string { return strings.Join(path, " ") }

// leaves lists the commands that run, with their flags, for argv.
func leaves(tree []command) []argv.Command {
	var all []argv.Command
	for _, c := range tree {
		// The tree has two levels at most: a command, and a job below it. profile takes a job or a
		// file.
		if c.run != nil {
			all = append(all, argv.Command{Path: []string{c.name}, Flags: argvFlags(c.flags)})
		}
		// The path of a job has two words: the command and the job.
		for _, s := range c.sub {
			all = append(all, argv.Command{Path: []string{c.name, s.name}, Flags: argvFlags(s.flags)})
		}
	}
	return all
}

// argvFlags returns what the parser needs to know of the flags.
func argvFlags(specs []flagSpec) []argv.Flag {
	flags := make([]argv.Flag, len(specs))
	for i := range specs {
		flags[i] = specs[i].Flag
	}
	return flags
}

// shortcut handles command lines that name no leaf: help, --version, and the
// empty one. It reports whether it did.
func shortcut(args []string, e env) (code int, done bool) {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	// An empty word is treated as none. The message is the first thing that a new user reads.
	case first == "":
		fmt.Fprint(e.stderr, argv.ErrorLine("", errs.Optionf("", "name a command: mrlocal --help lists them, mrlocal demo shows what mrlocal does")))
		return exitUsage, true
	case first == "--version" || first == "-v":
		if _, err := printVersion(e, nil); err != nil {
			return fail(context.Background(), e, "version", err), true
		}
		return exitDone, true
	case first == "help" || isHelp(first) && len(args) == 1:
		// The path behind help may name an inner command or a leaf.
		return help(args[1:], e), true
	// A leaf answers --help by itself, after its flags have been read.
	case len(args) == 2 && isInner(first) && isHelp(args[1]):
		return help(args[:1], e), true
	case len(args) == 2 && isHelp(first) && isInner(args[1]):
		return help(args[1:], e), true
	}
	return 0, false
}

// isInner reports whether the command of that name has subcommands.
func isInner(name string) bool {
	return slices.ContainsFunc(commands(), func(c command) bool { return c.name == name && len(c.sub) > 0 })
}

// isHelp reports whether word asks for help.
func isHelp(word string) bool { return word == "--help" || word == "-h" }

// help writes the help of the command at path.
func help(path []string, e env) int {
	if _, err := dispatch(context.Background(), commands(), argv.Line{Path: path, Help: true}, e); err != nil {
		fmt.Fprint(e.stderr, argv.ErrorLine("help", err))
		return exitUsage
	}
	return exitDone
}

// dispatch calls the command that line names, or writes its help. The flag
// library finds the command and lays out the help. It sees no flag: line has the
// values already (docs/adr/0001).
func dispatch(ctx context.Context, tree []command, line argv.Line, e env) (code int, err error) {
	app := newApp(tree, line, e, &code)
	app.CommandNotFound = func(_ *cli.Context, name string) { err = errs.Optionf(argv.Quote(name), "no such command") }
	// err may be set by CommandNotFound without an error of RunContext.
	if runErr := app.RunContext(ctx, append([]string{"mrlocal"}, libraryArgs(line)...)); runErr != nil {
		err = runErr
	}
	return code, err
}

// newApp lowers the tree for the flag library. The exit code of the command goes to code.
func newApp(tree []command, line argv.Line, e env, code *int) *cli.App {
	cli.HelpFlag = &cli.BoolFlag{Name: "help", Usage: "show help", DefaultText: "off"} // the library's own takes -h too
	// The library gets fresh commands with each call, so it keeps no state between calls of the
	// tests.
	app := &cli.App{
		Name: "mrlocal", HelpName: "mrlocal",
		Usage:       "MapReduce on the files and cores of one machine",
		UsageText:   "mrlocal COMMAND [FLAGS] [PATH…]",
		Description: appHelp,
		Writer:      e.stdout, ErrWriter: e.stderr,
		// The library's own help command and version flag are hidden: shortcut does their work.
		HideHelpCommand: true, HideVersion: true, DisableSliceFlagSeparator: true,
		// The library would call os.Exit. Errors are worded in one place instead, by fail.
		ExitErrHandler: func(*cli.Context, error) {},
	}
	for i := range tree {
		app.Commands = append(app.Commands, tree[i].lower(nil, line, e, code))
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
func (c *command) lower(above []string, line argv.Line, e env, code *int) *cli.Command {
	l := &cli.Command{Name: c.name, Usage: c.usage, ArgsUsage: c.args, Description: c.long, HideHelpCommand: true}
	for i := range c.sub {
		l.Subcommands = append(l.Subcommands, c.sub[i].lower([]string{c.name}, line, e, code))
	}
	// The library knows texts and flags for the help only; each start would pay for them.
	if line.Help {
		c.explain(append(slices.Clone(above), c.name), line.HelpAll, l)
	}
	// An inner node has no action; the library prints its help.
	if c.run != nil {
		l.Action = func(ctx *cli.Context) (err error) {
			*code, err = page.With(ctx.Context, line, e.stderr, func(p *page.Page) (int, error) {
				e.page = p // nil without --ui
				return c.run(ctx.Context, e, line)
			})
			return err
		}
	}
	return l
}

// explain adds to l what the help shows of the command at path; all takes all flags.
func (c *command) explain(path []string, all bool, l *cli.Command) {
	if len(c.sub) == 0 && guide.Short(c.flags) && !all {
		l.Description += "\n\n--help-all shows all flags, in groups."
	}
	if len(guide.Examples(path)) > 0 {
		l.CustomHelpTemplate = cli.CommandHelpTemplate + "\nEXAMPLES:\n   " + strings.Join(guide.Examples(path), "\n   ") + "\n"
	}
	for _, f := range guide.Shown(c.flags, all) {
		l.Flags = append(l.Flags, lowerFlag(&f, guide.Heading(f.Name, c.flags)))
	}
}

// lowerFlag turns f into a flag of the flag library, for the help alone. It stands below
// heading.
func lowerFlag(f *flagSpec, heading string) cli.Flag {
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
