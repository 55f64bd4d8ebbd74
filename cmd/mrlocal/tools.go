package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"mrlocal"
	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/machine"
	"mrlocal/internal/setting"
	"mrlocal/internal/term"
	"mrlocal/jobs"
	"mrlocal/jobs/sort"
	"mrlocal/output"
)

// helps has the texts of --help: of tools and streaming all of it, of other commands the paragraphs below
// the usage. The text of streaming has the form of the help of StreamJob. run.txt is also that of other
// commands that run a job.
//
//go:embed help
var helps embed.FS

// helpText returns the text of --help of a command for errs.Fit, with the end of its last line. In the file, a tab
// stands for errs.Beside.
func helpText(name string) string {
	text, _ := helps.ReadFile("help/" + name + ".txt") // it is embedded, so this cannot fail
	return strings.ReplaceAll(string(text), "\t", errs.Beside)
}

// tool is what the tools share: streams, the options of the engine, and the output.
type tool struct {
	Env
	name     string            // for messages
	engine   mrlocal.Options   // as the flags set them; a tool adds the rest
	policies Scheduling        // only --sched
	shown    shown             // not Verbose
	output   string            // of -o; "": none is given
	settings []setting.Setting // all flags; messages name them

	complaining sync.Mutex   // guards Env.Stderr while the engine runs, and screen
	screen      *term.Screen // of runChain; nil: it was not called
}

// makeCount returns mrlocal count, which counts equal lines, words or fields as sort | uniq -c does.
func makeCount(e Env) *flags.Command { return countTool(e, mrlocal.Options{}) }

// makeGrep returns mrlocal grep, which prints the lines of files that match a pattern.
func makeGrep(e Env) *flags.Command { return grepTool(e, mrlocal.Options{}) }

// makeSort returns mrlocal sort, which sorts lines, and checks or merges sorted files.
func makeSort(e Env) *flags.Command { return sortTool(e, mrlocal.Options{}) }

// command returns the tool as a command with its own flags and those of the engine. run does the work.
func (t *tool) command(usage string, own []setting.Setting, run func(context.Context, *flags.Line) (int, error)) *flags.Command {
	help := helpText(t.name)
	first, _, _ := strings.Cut(help, "\n")
	_, args, _ := strings.Cut(first, " [FLAG]... ")
	t.settings = append(own, t.engineSettings(own)...)
	return &flags.Command{Usage: usage, Args: args, Help: help, Tool: true, Settings: t.settings,
		Run: func(ctx context.Context, line *flags.Line) (code int, err error) {
			t.engine.TempAtNeed = len(t.engine.TempDirs) == 0 // the system's may be missing, and few runs need it
			if t.engine.Policy, err = t.policies.NewPolicy(t.policies.Names[0]); err != nil {
				return 0, err
			}
			return run(ctx, line)
		}}
}

// engineFlags are the flags of the engine that tools take.
const engineFlags = " sched map-slots reduce-slots decode compress-output block-size pin memory sort-buffer spill-percent buffer-growth growth-threshold merge-factor compress tmp max-temp task-timeout progress quiet "

// engineSettings returns the settings of engineFlags. A user of GNU tools expects GNU's meaning of
// a name, so a flag of the tool wins over one of the same name.
func (t *tool) engineSettings(own []setting.Setting) (all []setting.Setting) {
	t.policies = newScheduling()
	bounds := mrlocal.Bounds()
	bounds.Reduces = 1
	o := &t.engine
	for _, s := range slices.Concat(t.policies.Settings(bounds, false)[:1], o.Config.Fields(bounds), o.JobOptions.Fields(), o.Fields(), t.shown.Settings()) {
		if strings.Contains(engineFlags, " "+s.Name+" ") && setting.Named(own, s.Name) == nil {
			// GNU tools accept the beginning of a long name. Flags of the engine must be whole, or else
			// --buffer could mean --buffer-growth and not only --buffer-size.
			s.Whole = true
			all = append(all, s)
		}
	}
	return all
}

// own returns a flag of a tool. names has its name, its letter, and the field of the job's options that the flag
// sets, with commas between. The last ones may be missing.
func own(names string, v setting.Value) setting.Setting {
	part := append(strings.Split(names, ","), "", "")
	return setting.Of(part[0], part[2], "", "", v).Letter(part[1])
}

// bareFlag returns a flag of a tool that sets *p.
func bareFlag(names string, p *bool) setting.Setting { return own(names, setting.Toggle(p)) }

// does returns a flag of a tool for which f is called.
func does(names string, f func()) setting.Setting { return own(names, setting.Call(f)) }

// reads returns a flag of a tool whose value f reads.
func reads(names string, f func(text string) error) setting.Setting {
	return own(names, setting.Func(f))
}

// whole returns flags whose names must not be shortened. A script may shorten the name of a flag of a GNU tool
// as long as that tool has only one that begins so.
func whole(all ...setting.Setting) []setting.Setting {
	for i := range all {
		all[i].Whole = true
	}
	return all
}

// runChain runs the chain with t.engine and the standard input of t. Its result goes to t.Stdout
// unless the options name a file. Standard error gets warnings and, on a terminal during a long run,
// a line of progress.
func (t *tool) runChain(ctx context.Context, chain jobs.Chain) (*mrlocal.Report, error) {
	o := t.engine
	var screen *term.Screen
	if t.shown.Quiet || cmp.Or(t.shown.Mode, "auto") != "auto" {
		screen = t.shown.Screen(t.Env, nil)
	} else {
		screen = term.NewQuietScreen(t.Stderr, t.Getenv("TERM") == "dumb", noteLine)
	}
	defer screen.Stop()
	o.Stdin = t.Stdin
	if o.OutputFile == "" || output.NamesStdout(o.OutputFile) {
		o.Stdout = screen.Results(t.Stdout)
	}
	o.PipeMayClose = true
	attach(ctx, screen, &o)
	t.complaining.Lock()
	t.screen = screen
	t.complaining.Unlock()
	o.Uncounted = true // a tool shows no counters
	// GNU tools write no notes, such as those about skipped names. A script may take any line of
	// standard error for an error.
	o.Note = nil
	o.Warn = func(text string) { t.complain(errors.New(text)) }
	return runChain(ctx, chain, o)
}

// complain writes an error that does not end the run. Several goroutines may call it: those that
// walk directories, read inputs and write the output.
func (t *tool) complain(err error) {
	t.complaining.Lock()
	defer t.complaining.Unlock()
	text := errorLine(t.name, err, t.settings...)
	if t.screen != nil { // it may show a line of progress, which the text must not join
		t.screen.Write(text)
		return
	}
	_, _ = io.WriteString(t.Stderr, text)
}

// readOutput reads -o. As in GNU sort, it may be given again only with the same file.
func (t *tool) readOutput(path string) error {
	switch {
	case path == "":
		return errors.New("the path is empty")
	case t.output != "" && path != t.output:
		return fmt.Errorf("given twice, with %s and with %s", errs.Quote(t.output), errs.Quote(path))
	}
	t.output = path
	return nil
}

// setOutput puts the output into the options of the engine. The path - is standard output. The suffix of the
// file chooses the compression unless --compress-output does.
func (t *tool) setOutput() (err error) {
	if t.output != "-" {
		t.engine.OutputFile = t.output
	}
	t.engine.CompressOutput, err = t.engine.CompressOutput.Of(t.engine.OutputFile)
	return err
}

// textOptions says how to read a file that the tool reads itself.
func (t *tool) textOptions() input.TextOptions {
	// Outside of the engine no budget has the memory of a decoder.
	return input.TextOptions{Stdin: t.Stdin, NoDecode: t.engine.NoDecode, Warn: t.complain, WindowBytes: cmp.Or(t.engine.MemoryBytes, machine.MemoryBytes()/4)}
}

// resultSpec returns the output that t.engine names.
func (t *tool) resultSpec() output.Spec {
	o := &t.engine
	return output.Spec{File: o.OutputFile, Overwrite: true, Stdout: t.Stdout, PipeMayClose: true, Compress: o.CompressOutput}
}

// runFiles runs the chain on files, where "-" is standard input, and writes the result to the output of
// t.engine.
func (t *tool) runFiles(ctx context.Context, chain jobs.Chain, files []string) error {
	o := &t.engine
	// If all files are null devices, no input is left. The job then runs on an empty text, so that it
	// still makes the file of -o.
	if o.Inputs = engineInputs(files); len(o.Inputs) == 0 {
		o.Inputs, t.Stdin = []string{"-"}, strings.NewReader("")
	}
	// The output may be one of the inputs. The engine replaces it only at the end.
	o.Overwrite = o.OutputFile != ""
	_, err := t.runChain(ctx, chain)
	return err
}

// namedFiles returns the files that a line names, or standard input if it names none. It returns an error for the
// first file that does not exist or is a directory, so that a user learns of a wrong name before a long run. A file
// that exists but cannot be read is found when it is opened.
func namedFiles(files []string) ([]string, error) {
	for _, name := range files {
		if name == "-" {
			continue
		}
		info, err := disk.Stat(name)
		if err == nil && info.IsDir() {
			return nil, errs.Inputf(errs.Quote(name), "is a directory")
		}
		if err != nil {
			return nil, errs.Inputf(errs.Quote(name), "cannot read: %w", errs.Cause(err))
		}
	}
	if len(files) == 0 {
		return []string{"-"}, nil
	}
	return files, nil
}

// readAll returns the bytes of a file that a flag names. The name - is standard input, which is at its end
// after this.
func (t *tool) readAll(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(t.Stdin)
	}
	return disk.ReadFile(name)
}

// engineInputs returns the files as the engine takes them. It replaces the device names of a standard
// input that is a stream by "-", keeps only the first of several, and drops null devices. A regular file
// is read from its beginning by such a name, as open does on Linux.
func engineInputs(files []string) (inputs []string) {
	seen := false
	// Scripts often name the null device. It adds no line, and the engine would refuse it as a
	// device.
	null, nullErr := os.Stat(os.DevNull)
	for _, name := range files {
		info, err := disk.Stat(name)
		switch {
		// A stream can be read only once. In GNU sort too, the second time adds no line.
		case name == "-", (name == "/dev/stdin" || name == "/dev/fd/0") && (err != nil || !info.Mode().IsRegular()):
			if !seen {
				inputs, seen = append(inputs, "-"), true
			}
		case err == nil && nullErr == nil && os.SameFile(info, null):
		default:
			inputs = append(inputs, name)
		}
	}
	return inputs
}

// delimiter returns the byte that ends a line. zero says whether it is NUL.
func delimiter(zero bool) byte {
	if zero {
		return 0
	}
	return '\n'
}

// csvFlags are the flags of --csv that tools share.
type csvFlags struct{ noHeader, lenient bool }

// check refuses flags that only --csv has, and a separator that CSV cannot have: a quote, NUL or the end of a line.
// Quotes and ends of lines have a meaning in CSV, and the reader ends records with NUL. flag is that of the separator.
func (f csvFlags) check(csv bool, flag, separator string) error {
	switch {
	case f.noHeader && !csv:
		return errs.Optionf("--no-header", "is for --csv")
	case f.lenient && !csv:
		return errs.Optionf("--lenient", "is for --csv")
	case csv && slices.Contains([]string{`"`, `\0`, "\x00", "\n", "\r"}, separator):
		return errs.Optionf(flag, "CSV has no such separator")
	}
	return nil
}

// headed returns a reader of files with headers of the given number of records. csv is nil for lines.
func (t *tool) headed(files []string, records int, csv *input.CSV, delim byte) *input.Headed {
	how := t.textOptions() // runHeaded replaces the standard input of t
	open := func(path string) (*input.TextFile, error) { return input.OpenTextFile(path, how) }
	return &input.Headed{Files: files, Open: open, CSV: csv, Records: records, Delim: delim}
}

// headedCSV returns a reader of records of CSV. By default a comma stands between values.
func (t *tool) headedCSV(files []string, f csvFlags, separator string) *input.Headed {
	form, records := &input.CSV{Separator: ',', Lenient: f.lenient}, 1
	if separator != "" {
		form.Separator = separator[0]
	}
	if f.noHeader {
		records = 0
	}
	return t.headed(files, records, form, 0)
}

// columns returns the names of the columns of CSV, from the header; nil: there is none.
func columns(h *input.Headed) []string {
	if record := h.HeaderRecord(); record != nil {
		return sort.CSVHeader(record, h.CSV.Separator)
	}
	return nil
}

// runHeaded runs the chain on the records of files. It writes header, then the result of the chain. It
// replaces the streams of t.
func (t *tool) runHeaded(ctx context.Context, chain jobs.Chain, files *input.Headed, header []byte) error {
	result, err := output.OpenSingle(t.resultSpec())
	if err != nil {
		return err
	}
	if _, err = result.Write(header); err == nil {
		// The job reads the records of all files as its standard input, and its output goes to result.
		// The reader has decoded the files, so the engine must not decode again.
		t.Stdin, t.Stdout = files, result
		if files.CSV != nil {
			t.Stdout = csvWriter{result}
		}
		t.engine.Inputs = []string{"-"}
		t.engine.OutputFile = ""
		t.engine.NoDecode = true
		t.engine.CompressOutput = output.None // result compresses
		_, err = t.runChain(ctx, chain)
		err = input.HeadedError(err)
	}
	return result.End(err)
}

// csvWriter passes records to w with a newline in place of the NUL at their end.
type csvWriter struct{ w io.Writer }

// Write writes p with each NUL replaced by a newline. The reader has refused all other NUL bytes.
func (c csvWriter) Write(p []byte) (int, error) {
	return c.w.Write(bytes.ReplaceAll(p, []byte{0}, []byte("\n"))) // a copy: a Writer must not change p
}
