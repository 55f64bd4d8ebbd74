package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/usage"
)

// flagSpec is a flag: what argv has to know, and what the help says.
type flagSpec struct {
	argv.Flag
	help string // a value's name in `backquotes`
	def  string // the default, where help names one
}

// command is a leaf of the tree, or with subcommands an inner node.
type command struct {
	name  string
	usage string
	args  string // what follows the flags
	long  string // more help
	flags []flagSpec
	sub   []command
	run   func(ctx context.Context, e env, g *given) (code int, err error)
}

// given is what the user wrote for a command.
type given struct {
	values map[string][]string // of flags with values
	on     map[string]bool     // flags without
	words  []string
}

// text is the value of a flag and whether it was given.
func (g *given) text(flag string) (string, bool) {
	v := g.values[flag]
	if len(v) == 0 {
		return "", false
	}
	return v[len(v)-1], true
}

func commands() []command {
	return []command{runCommand(), genCommand(), demoCommand(), policiesCommand(), versionCommand()}
}

// later are the commands of CLI.md that this version does not have.
func later() []string {
	return []string{"batch", "sim", "explain", "replay", "sweep", "reproduce", "profile", "tune"}
}

func join(path []string) string { return strings.Join(path, " ") }

// leaves lists the commands that can be run, for argv.
func leaves(tree []command) []argv.Command {
	var all []argv.Command
	for _, c := range tree {
		if len(c.sub) == 0 {
			all = append(all, argv.Command{Path: []string{c.name}, Flags: argvFlags(c.flags)})
		}
		for _, s := range c.sub {
			all = append(all, argv.Command{Path: []string{c.name, s.name}, Flags: argvFlags(s.flags)})
		}
	}
	return all
}

func argvFlags(specs []flagSpec) []argv.Flag {
	flags := make([]argv.Flag, len(specs))
	for i := range specs {
		flags[i] = specs[i].Flag
	}
	return flags
}

// shortcut answers what names no leaf: help, --version, nothing at all, and
// the commands that are yet to come.
func shortcut(args []string, e env) (code int, done bool) {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case first == "":
		fmt.Fprint(e.stderr, argv.ErrorLine("", usage.Errorf("", "no command named; mrlocal --help lists them, mrlocal demo shows what this is")))
		return exitUsage, true
	case first == "--version" || first == "-v":
		return printVersion(e), true
	case first == "help" || (first == "--help" || first == "-h") && len(args) == 1:
		return help(args[1:], e), true
	case first == "run" && len(args) == 2 && (args[1] == "--help" || args[1] == "-h"):
		return help(args[:1], e), true
	}
	for _, name := range later() {
		if first == name {
			fmt.Fprint(e.stderr, argv.ErrorLine("", usage.Errorf(name, "not built yet; this version has run, gen, demo, policies and version")))
			return exitUsage, true
		}
	}
	return 0, false
}

// help shows the help of the command that path names.
func help(path []string, e env) int {
	if _, err := dispatch(context.Background(), commands(), append(append([]string(nil), path...), "--help"), e); err != nil {
		fmt.Fprint(e.stderr, argv.ErrorLine("help", err))
		return exitUsage
	}
	return exitDone
}

// dispatch lets the flag library take args, which are in plain form, to the
// command they name.
func dispatch(ctx context.Context, tree []command, args []string, e env) (code int, err error) {
	app := &cli.App{
		Name: "mrlocal", HelpName: "mrlocal",
		Usage:       "MapReduce on the files and cores of one machine",
		UsageText:   "mrlocal COMMAND [FLAGS] [PATH…]",
		Description: appHelp,
		Writer:      e.stdout, ErrWriter: e.stderr,
		HideHelpCommand: true, HideVersion: true, DisableSliceFlagSeparator: true,
		ExitErrHandler:  func(*cli.Context, error) {},
		CommandNotFound: func(_ *cli.Context, name string) { err = usage.Errorf(argv.Quote(name), "no such command") },
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return usage.Errorf("", "%v", err) },
	}
	for i := range tree {
		app.Commands = append(app.Commands, tree[i].lower(e, &code))
	}
	if runErr := app.RunContext(ctx, append([]string{"mrlocal"}, args...)); runErr != nil {
		err = runErr
	}
	return code, err
}

const appHelp = `Results go to standard output, everything else to standard error.

Exit codes: 0 done; 1 nothing matched (run grep); 2 wrong usage or input, nothing was started; 3 the job failed; 128 + the signal's number when interrupted.

Sizes: 64MiB, 100MB (decimal), K M G T (binary). Times: 250ms, 20s. Shares: 0.5. Flags may stand anywhere; -- ends them.`

// lower makes the flag library's command of c.
func (c *command) lower(e env, code *int) *cli.Command {
	l := &cli.Command{Name: c.name, Usage: c.usage, ArgsUsage: c.args, Description: c.long, HideHelpCommand: true,
		OnUsageError: func(_ *cli.Context, err error, _ bool) error { return usage.Errorf("", "%v", err) }}
	for i := range c.sub {
		l.Subcommands = append(l.Subcommands, c.sub[i].lower(e, code))
	}
	if c.run == nil {
		return l
	}
	g := &given{values: map[string][]string{}, on: map[string]bool{}}
	for _, f := range c.flags {
		l.Flags = append(l.Flags, f.lower(g))
	}
	l.Action = func(ctx *cli.Context) (err error) {
		for _, f := range c.flags {
			if !f.Value && ctx.Bool(f.Name) {
				g.on[f.Name] = true
			}
		}
		g.words = ctx.Args().Slice()
		*code, err = c.run(ctx.Context, e, g)
		return err
	}
	return l
}

func (f *flagSpec) lower(g *given) cli.Flag {
	var aliases []string
	if f.Short != "" {
		aliases = []string{f.Short}
	}
	if !f.Value {
		return &cli.BoolFlag{Name: f.Name, Aliases: aliases, Usage: f.help}
	}
	return &cli.GenericFlag{Name: f.Name, Aliases: aliases, Usage: f.help, DefaultText: f.def, Value: &rawValue{g: g, name: f.Name}}
}

// rawValue keeps a flag's texts as they were written: they are read by argv,
// whose errors name the flag and what to write.
type rawValue struct {
	g    *given
	name string
}

func (v *rawValue) Set(text string) error {
	v.g.values[v.name] = append(v.g.values[v.name], text)
	return nil
}

func (v *rawValue) String() string { return "" }
