// Package tools holds the commands that work as GNU tools do: mrlocal sort, and
// others beside it. Each of them does with the engine what a tool of the shell
// does. It reads standard input if no file is named, and writes nothing but its
// result and its errors. mrlocal run has the same jobs with the meaning of
// MapReduce.
//
// A tool is a value of type Tool, in a file of its own. runTool
// reads the command line, writes the help and maps errors to exit codes.
//
// Exit codes: what Tool.Run returns; 2 for every error; 128 plus the number of the
// signal when interrupted. There is no 3.
package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/jobs"
	"mrlocal/slots/policy"
)

// exitTrouble is the exit code of every error, as GNU tools have it.
const exitTrouble = 2

// Tool is a command that works as a GNU tool.
type Tool struct {
	Name  string
	Usage string      // one line, for the list of commands
	Help  string      // one screen, without the flags of the engine
	Flags []argv.Spec // a flag of the engine with the same name is hidden

	// Rewrite replaces obsolete words before the flags are read; it may be nil.
	Rewrite func(args []string) ([]string, error)

	// Run does the work. Its code is the exit code if it returns no error.
	Run func(ctx context.Context, c *Call) (code int, err error)
}

// Call is one call of a tool: its streams, and its flags, which the Reader reads.
type Call struct {
	argv.Reader
	command.Env
	Options mrlocal.Options // those of the flags of the engine; Run completes them

	name        string      // of the tool, for messages
	complaining *sync.Mutex // guards Stderr while the engine runs
}

// Count counts lines.
func Count() command.Command { return countTool().command() }

// Grep searches files.
func Grep() command.Command { return grepTool().command() }

// Sort sorts lines.
func Sort() command.Command { return sortTool().command() }

// command returns the tool as a command, with all its flags.
func (t Tool) command() command.Command {
	return command.Command{Usage: t.Usage, Flags: append(t.Flags, engineFlags()...), Tool: true,
		Raw: func(ctx context.Context, args []string, e command.Env) (int, bool) {
			return runTool(ctx, t, args, e, engineOptions), true
		}}
}

// runTool runs a tool with the words behind its name; options reads engineFlags. It writes every error in one
// line and returns the exit code.
func runTool(ctx context.Context, t Tool, args []string, e command.Env, options func(argv.Line) (mrlocal.Options, error)) (code int) {
	defer func() { // user code never panics here: the engine catches that inside attempts
		if r := recover(); r != nil {
			code = fail(ctx, t, e, fmt.Errorf("a bug in mrlocal: %v", r))
		}
	}()
	// An error means that code is not valid; fail chooses the code.
	code, err := t.main(ctx, args, e, options)
	if err != nil {
		return fail(ctx, t, e, err)
	}
	return code
}

// fail writes err in one line and returns its exit code.
func fail(ctx context.Context, t Tool, e command.Env, err error) int {
	code := exitTrouble
	// A signal hides the error that it causes. The exit code is then 128 plus the number of the
	// signal.
	var s process.Interrupted
	if errors.As(context.Cause(ctx), &s) {
		err, code = s, s.ExitCode()
	}
	fmt.Fprint(e.Stderr, argv.ErrorLine(t.Name, err))
	return code
}

// main reads the command line and runs the tool.
func (t Tool) main(ctx context.Context, args []string, e command.Env, options func(argv.Line) (mrlocal.Options, error)) (int, error) {
	if t.Rewrite != nil {
		var err error
		if args, err = t.Rewrite(args); err != nil {
			return 0, err
		}
	}
	// A flag of the tool wins over a flag of the engine with the same name or letter: GNU's
	// meaning comes first.
	own := append([]argv.Spec{{Flag: argv.Flag{Name: "help-all"}, Help: "this help, with the flags of the engine"}}, t.Flags...)
	engine := without(engineFlags(), own)
	line, err := argv.ParseTool(t.Name, args, argv.Flags(append(own, engine...)))
	switch {
	// The help appears even if the line has mistakes. A line with a mistake gets no
	// --help-all.
	case line.Help || err == nil && line.Has("help-all"):
		return 0, t.help(e.Stdout, engine, !line.Help)
	case err != nil:
		return 0, err
	}
	c := &Call{name: t.Name, Reader: argv.Reader{Line: line}, Env: e, complaining: &sync.Mutex{}}
	// The options of the engine come before Run, so that Run can raise or replace them by its
	// own flags.
	if c.Options, err = options(line); err != nil {
		return 0, err
	}
	return t.Run(ctx, c)
}

// without returns the specs that share no name with those of own, and without the
// letters of own.
func without(specs, own []argv.Spec) []argv.Spec {
	names, letters := map[string]bool{}, map[string]bool{}
	for _, f := range own {
		names[f.Name], letters[f.Short] = true, true
	}
	var rest []argv.Spec
	for _, f := range specs {
		if names[f.Name] {
			continue
		}
		// The tool needs the letter. The flag of the engine keeps its long name.
		if letters[f.Short] {
			f.Short = ""
		}
		f.Whole = true // else --buffer would not mean --buffer-size
		rest = append(rest, f)
	}
	return rest
}

// help writes the one screen and, if all is set, the flags of the engine.
func (t Tool) help(w io.Writer, engine []argv.Spec, all bool) error {
	if _, err := io.WriteString(w, t.Help); err != nil || !all {
		return err
	}
	fmt.Fprint(w, "\nFlags of the engine:\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range engine {
		name, help := "--"+f.Name, strings.ReplaceAll(f.Help, "`", "")
		// The help of a flag names its value in backquotes. A tool prints that name behind the
		// flag.
		if f.Value {
			_, rest, _ := strings.Cut(f.Help, "`")
			metavar, _, _ := strings.Cut(rest, "`")
			name += " " + metavar
		}
		if f.Default != "" {
			help += " (default: " + f.Default + ")"
		}
		fmt.Fprintf(table, "  %s\t%s\n", name, help)
	}
	return table.Flush()
}

// RunChain runs the chain with c.Options. Its result goes to c.Stdout unless the
// options name a file. Nothing else is written, except a line of progress on a
// terminal when the run takes long.
func (c *Call) RunChain(ctx context.Context, chain jobs.Chain) (*mrlocal.Report, error) {
	o := c.Options
	screen := show.NewQuietScreen(c.Stderr, c.Getenv("TERM") == "dumb")
	defer screen.Stop()
	o.Stdin = c.Stdin
	if o.OutputFile == "" {
		o.Stdout = screen.Results(c.Stdout)
	}
	screen.Attach(ctx, &o)
	o.Uncounted = true // a tool shows no counters
	// A GNU tool is silent about what it did. Notes such as skipped names would break scripts.
	o.Note = nil
	o.Warn = func(text string) { c.complain(errors.New(text)) }
	return process.RunChain(ctx, chain, o)
}

// complain writes an error and goes on. The walk, the readers and the output do it on goroutines of
// their own.
func (c *Call) complain(err error) {
	c.complaining.Lock()
	defer c.complaining.Unlock()
	_, _ = io.WriteString(c.Stderr, argv.ErrorLine(c.name, err))
}

// engineFlags are the flags of the engine that tools take.
func engineFlags() []argv.Spec {
	// A tool shows progress on its own terms, so --progress is left out.
	flags := slices.DeleteFunc(command.EngineFlags(), func(f argv.Spec) bool { return f.Name == "progress" })
	return append(flags, command.CompressOutputFlag(),
		argv.ValueSpec("decode", "decode compressed inputs and refuse other archives, or read all bytes as they are: `auto|none`", "auto"),
		argv.ValueSpec("sched", "slot policy `NAME`; mrlocal policies lists them", mrlocal.DefaultPolicy),
		argv.ValueSpec("map-slots", "`N` home map slots", "the cores minus the reduce slots"),
		argv.ValueSpec("reduce-slots", "`N` home reduce slots", "a sixth of the cores, at least 1"),
		argv.ValueSpec("block-size", "`SIZE` of a split, at least 1KiB", "64MiB, less for small inputs"))
}

// engineOptions reads engineFlags. The slots of a tool are those of a run.
func engineOptions(line argv.Line) (mrlocal.Options, error) {
	r := command.NewReader(line)
	// The scheduling flags of a run are not read here: sort has a --seed with another meaning.
	// The error of a bad policy stays in r.Err, as those of all flags.
	o := mrlocal.Options{Policy: r.Policy(&command.Scheduling{PolicyOptions: policy.DefaultOptions()})}
	// 0 slots stand for the default of a run.
	o.MapSlots, o.ReduceSlots = r.Count("map-slots", 1, command.MostSlots), r.Count("reduce-slots", 1, command.MostSlots)
	o.CompressOutput = r.Compression()
	o.NoDecode = r.Choice("decode", "auto", "none") == "none"
	o.BlockBytes = r.Size("block-size", command.LeastBlock)
	command.ReadEngine(&r.Reader, &o)
	return o, r.Err
}
