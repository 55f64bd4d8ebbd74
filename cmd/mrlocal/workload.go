package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/workload"
	"mrlocal/workload/source"
)

// makeWorkload returns mrlocal workload, which makes workload files. Its subcommands are generate and
// import.
func makeWorkload(e Env) *flags.Command {
	return &flags.Command{Usage: "make a workload file: generate one at random, or import a trace", Args: "COMMAND [FLAGS] [FILE…]", Long: helpText("workload"), Sub: []flags.Entry{
		{Name: "generate", Make: func() *flags.Command { return generateOf(e) }},
		{Name: "import", Make: func() *flags.Command { return importOf(e) }},
	}}
}

// outputFile returns --output-file of a command whose result is what.
func outputFile(p *string, what string) setting.Setting {
	return setting.In("INPUT AND OUTPUT", []setting.Setting{setting.Of("output-file", "", what+" to `FILE`", "standard output", setting.Text(p)).Letter("o").InShortHelp()})[0]
}

// generateCommand has the options of mrlocal workload generate.
type generateCommand struct {
	Env
	source.Options
	path string // of --output-file
}

func generateOf(e Env) *flags.Command {
	c := &generateCommand{Env: e}
	return &flags.Command{Usage: "draw the jobs of a workload at random", Long: helpText("workload"), Run: c.run, Settings: append(c.Fields(), outputFile(&c.path, "write the workload"))}
}

// run draws the jobs and writes their file.
func (c *generateCommand) run(_ context.Context, line *flags.Line) (int, error) {
	if len(line.Words) > 0 {
		return 0, errs.Optionf(errs.Quote(line.Words[0]), "one word too many; generate reads no file")
	}
	return writeWorkload(c.Env, c.path, nil, func() ([]byte, error) {
		s, err := source.Generate(c.Options)
		if err != nil {
			return nil, err
		}
		s.Notes = slices.Concat([]string{madeBy(line)}, s.Notes, []string{c.Tasks.Note()})
		return workloadText(s, c.Cluster, c.Tasks)
	})
}

// format is a format of traces. Its flag names a file.
type format struct {
	flag, usage string
	read        source.Reader
}

// formats returns the formats of traces.
func formats() []format {
	return []format{
		{"swim", "a trace of SWIM: tabs between name, submission, gap, map input, shuffle and reduce output", source.SWIM},
		{"sls", "a load of YARN's Scheduler Load Simulator", source.SLS},
		{"rumen", "a job trace of Rumen, as for SLS, Gridmix and Mumak", source.Rumen},
		{"history", "a job history of Hadoop (.jhist)", source.History},
		{"history1", "a job history of Hadoop 1.x, or a log file of Rumen with several", source.History1},
	}
}

// importCommand has the options of mrlocal workload import.
type importCommand struct {
	Env
	files   map[string]*[]string // by the flag of their format
	reading source.Reading
	by      source.Scaling
	cluster source.Cluster
	tasks   source.Tasks
	path    string // of --output-file
}

func importOf(e Env) *flags.Command {
	c := &importCommand{Env: e, files: map[string]*[]string{}}
	var all []setting.Setting
	for _, f := range formats() {
		c.files[f.flag] = new([]string)
		all = append(all, setting.Of(f.flag, "", "read `FILE`, "+f.usage+"; may be repeated, and plain FILEs are read too", "", setting.List(c.files[f.flag])))
	}
	all = append(all, setting.Of("skip-failed", "", "leave out jobs that failed and jobs that cannot be read, and count them", "", setting.Toggle(&c.reading.SkipFailed)))
	return &flags.Command{Usage: "make a workload of a trace of SWIM, SLS, Rumen or Hadoop", Args: "[FILE…]", Long: helpText("workload"), Run: c.run,
		Settings: append(slices.Concat(all, c.by.Fields(), c.cluster.Fields(), c.tasks.Fields()), outputFile(&c.path, "write the workload"))}
}

// run reads traces of one format and writes a workload file with their jobs. A path - is
// stdin. What was read, dropped and assumed goes to standard error and to the comments of the file.
func (c *importCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	// The flag that names a trace also names its format, so there must be exactly one such flag.
	var chosen format
	for _, f := range formats() {
		switch {
		case len(*c.files[f.flag]) == 0:
		case chosen.flag != "":
			return 0, errs.Optionf("--"+chosen.flag+", --"+f.flag, "one format at a time")
		default:
			chosen = f
		}
	}
	if chosen.flag == "" {
		return 0, errs.Optionf("", "name traces of one format: --swim, --sls, --rumen, --history or --history1 FILE…")
	}
	c.reading.MostTasks = c.tasks.Most
	// Positional words are further files of the same format.
	paths := append(*c.files[chosen.flag], line.Words...)
	var account []string
	code, err := writeWorkload(c.Env, c.path, paths, func() ([]byte, error) {
		var sets []*source.Set
		for _, path := range paths {
			s, err := readTrace(ctx, path, c.Stdin, chosen.read, c.reading)
			if err != nil {
				return nil, hint(err)
			}
			sets = append(sets, s)
		}
		all, err := source.Join(sets)
		if err != nil {
			return nil, err
		}
		account = all.Account(c.cluster, c.tasks)
		all.Notes = slices.Concat([]string{madeBy(line)}, all.Notes, account)
		all.Scale(c.by)
		return workloadText(all, c.cluster, c.tasks)
	})
	for _, text := range account {
		if err == nil {
			_, _ = io.WriteString(c.Stderr, errorLine("workload import", errors.New(text)))
		}
	}
	return code, err
}

// writeWorkload writes what text returns to the file of that path, or to the standard output of e. A file is
// replaced as a whole, or not at all after an error. The inputs cannot be replaced. A closed pipe on stdout is not
// an error.
func writeWorkload(e Env, path string, inputs []string, text func() ([]byte, error)) (int, error) {
	out, err := (&work{Stdout: e.Stdout, Inputs: inputs}).Open("output-file", cmp.Or(path, "-"))
	if err != nil {
		return 0, err
	}
	made, err := text()
	if err != nil {
		return 0, err
	}
	return Done, out.Replace(made)
}

// madeBy returns the first comment of a file: the command that makes the same file again.
func madeBy(line *flags.Line) string {
	text := "made by: mrlocal " + strings.Join(line.Path, " ")
	for _, g := range line.Given {
		switch {
		case g.Name == "output-file":
		case setting.Named(line.Command.Settings, g.Name).Toggle():
			text += " --" + g.Name
		default:
			text += " --" + g.Name + " " + errs.Quote(g.Text)
		}
	}
	for _, w := range line.Words {
		text += " " + errs.Quote(w)
	}
	return text
}

// readTrace reads the trace at path, or standard input for "-". A compressed trace is decoded. A file
// that cannot be read gives an error of kind errs.BadInput.
func readTrace(ctx context.Context, path string, stdin io.Reader, parse source.Reader, o source.Reading) (*source.Set, error) {
	if path == "" {
		return nil, errs.Optionf("FILE", "the name is empty")
	}
	f, err := OpenEvents(ctx, path, stdin)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if path == "-" {
		path = "standard input"
	}
	return parse(path, f, o)
}

// hint adds to a Failure the flags that avoid it.
func hint(err error) error {
	f, failed := errors.AsType[*source.Failure](err)
	placed, ok := errors.AsType[*errs.Error](err)
	switch {
	case !failed || !ok:
		return err
	case f.TooMany:
		return errs.Inputf(placed.Object, "%w; raise --most-tasks, or set --bytes or --jobs", placed.Cause)
	}
	return errs.Inputf(placed.Object, "%w; --skip-failed leaves it out", placed.Cause)
}

// workloadText returns the text of a workload file with the jobs of s. It parses the text again, so that it
// returns only files that mrlocal can read.
func workloadText(s *source.Set, c source.Cluster, t source.Tasks) ([]byte, error) {
	text, err := s.File(c, t)
	if err != nil {
		return nil, hint(err)
	}
	_, err = workload.Parse("the workload that was made", text)
	return text, err
}
