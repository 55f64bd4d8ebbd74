// Package tools holds the commands that work as GNU tools do: mrlocal sort, mrlocal grep and mrlocal
// count. A tool has the flags, the results and the exit codes of its model, and runs on the engine.
// It reads standard input if no file is named, and writes only its result and its errors. mrlocal run
// has similar jobs with the flags and the output directories of MapReduce.
//
// A tool is a value of type Tool, in a file of its own. Its text of --help is help/NAME.txt, one screen: a
// line of usage, then what it does. --help-all adds the flags of the engine. runTool parses the command line, writes the
// help and turns errors into exit codes.
//
// The exit code is that of Tool.Run if there is no error. It is 2 for every error, also for a failed
// job. After a signal it is 128 plus the number of the signal.
package tools

import (
	"context"
	"embed"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/jobs"
	"mrlocal/slots/policy"
)

// exitTrouble is the exit code of every error, as in GNU sort and GNU grep.
const exitTrouble = 2

// Tool is a command that works as a GNU tool.
type Tool struct {
	Name  string
	Usage string      // one line, for the list of commands
	Flags []argv.Spec // they win over flags of the engine with the same name or letter

	// Forms replaces an old form of a flag, which args begin with, by words that package argv parses. used is
	// the number of args that it replaces; 0: there is no old form. nil: the tool has none.
	Forms func(args []string) (words []string, used int, err error)

	// Run does the work. If it returns no error, its code is the exit code.
	Run func(ctx context.Context, c *Call) (code int, err error)
}

// helps has the texts of --help.
//
//go:embed help
var helps embed.FS

// text returns the text of --help.
func (t Tool) text() string {
	text, _ := helps.ReadFile("help/" + t.Name + ".txt") // it is embedded, so this cannot fail
	return string(text)
}

// specs returns flags like the given one. Each name is "long" or "long,letter".
func specs(like argv.Flag, names ...string) (all []argv.Spec) {
	for _, n := range names {
		like.Name, like.Short, _ = strings.Cut(n, ",")
		all = append(all, argv.Spec{Flag: like})
	}
	return all
}

// Call is one call of a tool: its streams, its flags with the Reader that reads them, and the options
// of the engine.
type Call struct {
	argv.Reader
	command.Env
	Options mrlocal.Options // as the flags of the engine set them; Run adds the rest

	name        string       // of the tool, for messages
	complaining *sync.Mutex  // guards Env.Stderr while the engine runs, and screen
	screen      *show.Screen // of RunChain; nil: it was not called
}

// Count returns mrlocal count, which counts equal lines, words or fields as sort | uniq -c does.
func Count() command.Command { return countTool().command() }

// Grep returns mrlocal grep, which prints the lines of files that match a pattern.
func Grep() command.Command { return grepTool().command() }

// Sort returns mrlocal sort, which sorts lines, and checks or merges sorted files.
func Sort() command.Command { return sortTool().command() }

// command returns the tool as a command of package main.
func (t Tool) command() command.Command {
	usage, _, _ := strings.Cut(t.text(), "\n")
	_, words, _ := strings.Cut(usage, " [FLAG]... ")
	return command.Command{Usage: t.Usage, Args: words, Help: t.text(), Rewrite: t.rewrite, Tool: true,
		// A flag of the tool wins over a flag of the engine with the same name or letter. A user of
		// GNU tools expects GNU's meaning.
		Flags: append(slices.Clone(t.Flags), without(engineFlags(), append([]argv.Spec{{Flag: argv.Flag{Name: "help"}}, {Flag: argv.Flag{Name: "version"}}}, t.Flags...))...),
		Run: func(ctx context.Context, e command.Env, line argv.Line) (int, error) {
			return t.call(ctx, line, e, engineOptions)
		}}
}

// call runs the tool. options reads engineFlags; tests replace it.
func (t Tool) call(ctx context.Context, line argv.Line, e command.Env, options func(argv.Line) (mrlocal.Options, error)) (code int, err error) {
	c := &Call{name: t.Name, Reader: argv.Reader{Line: line}, Env: e, complaining: &sync.Mutex{}}
	// Run gets the options of the engine, because flags of the tool may raise or replace them.
	if c.Options, err = options(line); err != nil {
		return 0, err
	}
	return t.Run(ctx, c)
}

// rewrite replaces the old forms among args. The value of a flag stays as it is, and so do all words after
// --.
func (t Tool) rewrite(args []string) (words []string, err error) {
	if t.Forms == nil {
		return args, nil
	}
	flags := append(t.Flags[:len(t.Flags):len(t.Flags)], engineFlags()...)
	for len(args) > 0 && args[0] != "--" {
		plain, used, err := t.Forms(args)
		if err != nil {
			return nil, err
		}
		if used == 0 {
			plain, used = args[:1], 1
		}
		if len(args) > used && takesNext(plain[len(plain)-1], flags) {
			plain, used = append(plain[:len(plain):len(plain)], args[used]), used+1
		}
		words, args = append(words, plain...), args[used:]
	}
	return append(words, args...), nil
}

// takesNext reports whether the value of the flag word is the next word. word may be a long flag, whose name
// may be shortened, or a bundle of letters.
func takesNext(word string, flags []argv.Spec) bool {
	if name, long := strings.CutPrefix(word, "--"); long {
		if f := argv.Named(name, flags); f != nil {
			return f.Value
		}
		// A shortened name means one flag, or the parser refuses it.
		return slices.ContainsFunc(flags, func(f argv.Spec) bool { return f.Value && !f.Whole && strings.HasPrefix(f.Name, name) })
	}
	// The first letter that takes a value ends the bundle. Text behind the letter, as in -rk2, is the value.
	for i := 1; i < len(word) && word[0] == '-'; i++ {
		if f := argv.Named(word[i:i+1], flags); f != nil && f.Value {
			return i == len(word)-1
		}
	}
	return false
}

// without returns copies of those specs whose names are not in own. A copy loses its letter if own
// has the same letter.
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
		if letters[f.Short] {
			f.Short = ""
		}
		// GNU tools accept the beginning of a long name. Flags of the engine must be whole, or else
		// --buffer could mean --buffer-growth and not only --buffer-size.
		f.Whole = true
		rest = append(rest, f)
	}
	return rest
}

// RunChain runs the chain with c.Options and the standard input of c. Its result goes to c.Stdout
// unless the options name a file. Standard error gets warnings and, on a terminal during a long run,
// a line of progress.
func (c *Call) RunChain(ctx context.Context, chain jobs.Chain) (*mrlocal.Report, error) {
	o := c.Options
	screen := show.NewQuietScreen(c.Stderr, c.Getenv("TERM") == "dumb")
	defer screen.Stop()
	o.Stdin = c.Stdin
	o.Stdout, o.PipeMayClose = screen.Results(c.Stdout), true // OutputFile may be /dev/stdout
	screen.Attach(ctx, &o)
	c.complaining.Lock()
	c.screen = screen
	c.complaining.Unlock()
	o.Uncounted = true // a tool shows no counters
	// GNU tools write no notes, such as those about skipped names. A script may take any line of
	// standard error for an error.
	o.Note = nil
	o.Warn = func(text string) { c.complain(errors.New(text)) }
	return process.RunChain(ctx, chain, o)
}

// complain writes an error that does not end the run. Several goroutines may call it: those that
// walk directories, read inputs and write the output.
func (c *Call) complain(err error) {
	c.complaining.Lock()
	defer c.complaining.Unlock()
	text := argv.ErrorLine(c.name, err)
	if c.screen != nil { // it may show a line of progress, which the text must not join
		c.screen.Write(text)
		return
	}
	_, _ = io.WriteString(c.Stderr, text)
}

// engineFlags returns the flags of the engine that tools take. engineOptions reads them.
func engineFlags() []argv.Spec {
	// RunChain decides whether a tool shows progress, so --progress is left out.
	flags := slices.DeleteFunc(command.EngineFlags(), func(f argv.Spec) bool { return f.Name == "progress" })
	return append(flags, command.CompressOutputFlag(),
		argv.ValueSpec("decode", "decode compressed inputs and refuse zip, 7z, rar and the like, or read all bytes as they are: `auto|none`", "auto"),
		argv.ValueSpec("sched", "slot policy `NAME`; mrlocal policies lists them", mrlocal.DefaultPolicy),
		argv.ValueSpec("map-slots", "`N` home map slots", "the cores minus the reduce slots"),
		argv.ValueSpec("reduce-slots", "`N` home reduce slots", "a sixth of the cores, at least 1"),
		argv.ValueSpec("block-size", "`SIZE` of a split, at least 1KiB", "64MiB, less for small inputs"))
}

// engineOptions reads engineFlags. A tool has the same default slots and policy as mrlocal run.
func engineOptions(line argv.Line) (mrlocal.Options, error) {
	r := command.NewReader(line)
	// Reader.Scheduling would read --seed, which has another meaning in mrlocal sort. So the policy
	// gets its default options.
	o := mrlocal.Options{Policy: r.Policy(&command.Scheduling{PolicyOptions: policy.DefaultOptions()})}
	// In the options, 0 slots stand for the default.
	o.MapSlots, o.ReduceSlots = r.Count("map-slots", 1, command.MostSlots), r.Count("reduce-slots", 1, command.MostSlots)
	o.CompressOutput = r.Compression()
	o.NoDecode = r.Choice("decode", "auto", "none") == "none"
	o.BlockBytes = r.Size("block-size", command.LeastBlock)
	command.ReadEngine(&r.Reader, &o)
	return o, r.Err
}
