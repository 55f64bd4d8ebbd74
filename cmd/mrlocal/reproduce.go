package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"mrlocal/bench"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/workload"
)

// reproduceCommand has the options of mrlocal reproduce.
type reproduceCommand struct {
	Env
	list, file bool
	format     string // text, csv or json
	htmlPath   string
	html       *auxFile // of --html; nil: none
	seeds      int      // the largest number of seeds of each experiment; 0: the number in its file
}

// makeReproduce returns mrlocal reproduce, which runs the experiments of the papers. It uses only the
// simulator, so its results do not depend on the machine.
func makeReproduce(e Env) *flags.Command {
	c := &reproduceCommand{Env: e, format: "text"}
	return &flags.Command{Usage: "run the experiments of the papers and compare", Args: "[FILE…] [NAME…]", Long: helpText("reproduce"), Run: c.run,
		Examples: []string{"mrlocal reproduce fig4", "mrlocal reproduce --format csv"},
		Settings: []setting.Setting{
			setting.Of("list", "", "list the experiments, run none", "", setting.Toggle(&c.list)),
			setting.Of("file", "", "print the workload files of the named experiments, run none", "", setting.Toggle(&c.file)),
			setting.Of("format", "", "print the figures as `text|csv|json`", "text", setting.Choice(&c.format, "text", "csv", "json")),
			htmlSetting(&c.htmlPath),
			setting.Of("seeds", "", "run at most `N` seeds of each experiment", "", setting.Count(&c.seeds, 1, mostSeeds)),
		}}
}

// run lists, prints or runs the experiments that the line names. A figure outside of its band is a
// result and not a failure, so the exit code is 0.
func (c *reproduceCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	all, names, own, err := findExperiments(line.Words, c.Workload)
	if err != nil {
		return 0, err
	}
	some, err := bench.Named(all, names) // without names, all experiments
	switch {
	case err != nil:
		return 0, err
	case own && c.file:
		return 0, errs.Optionf("--file", "prints files of the binary; leave out your own")
	case c.file:
		text, err := bench.Files(some)
		return Done, errors.Join(err, c.Write(text))
	case c.list:
		return Done, c.Print(bench.List(some))
	}
	if c.html, err = (&work{Stdout: c.Stdout}).Open("html", c.htmlPath); err != nil {
		return 0, err
	}
	if err := bench.Prepare(some); err != nil {
		return 0, err
	}
	return Done, c.runAll(ctx, some)
}

// mostSeeds is the largest --seeds of reproduce.
const mostSeeds = 1000

// findExperiments divides words into files and names. A word with a slash or a suffix of YAML is a
// file, and - is standard input. The other words are names of experiments. It returns the
// experiments of all files, which it reads with read. If there is no file, it returns those of the
// papers, and own is false.
func findExperiments(words []string, read func(name string) (*workload.File, error)) (all []*bench.Experiment, names []string, own bool, err error) {
	for _, word := range words {
		// No experiment has a name that could be a file here, so each word has one meaning.
		if suffix := filepath.Ext(word); word != "-" && suffix != ".yaml" && suffix != ".yml" && !strings.Contains(word, "/") {
			names = append(names, word)
			continue
		}
		own = true
		f, err := read(word)
		if err != nil {
			return nil, nil, own, err
		}
		of, err := bench.Of(f)
		if err != nil {
			return nil, nil, own, err
		}
		all = append(all, of...)
	}
	if !own {
		all, err = bench.All()
	}
	return all, names, own, err
}

// runAll runs the experiments one after the other. In the format text, it writes each result as soon
// as it has it, and the counts of verdicts at the end. It writes other formats at the end.
func (c *reproduceCommand) runAll(ctx context.Context, all []*bench.Experiment) error {
	var results []*bench.Result
	for _, x := range all {
		r, err := x.Run(ctx, c.seeds)
		// Isolate runs figures again with single changes, to find why a figure is outside of its band.
		if err == nil {
			err = r.Isolate(ctx)
		}
		if err != nil {
			return err
		}
		results = append(results, r)
		if c.format == "text" {
			if err := c.Print(append(r.Text(), '\n')); err != nil {
				return err
			}
		}
	}
	text, err := bench.Written(results, c.format)
	if err != nil {
		return err
	}
	charts, err := bench.Charts(results)
	write := c.Write
	if c.format == "text" {
		write = c.Print
	}
	return errors.Join(err, write(text), c.html.saveTable("The papers' figures and ours", bench.CSV(results), true, charts))
}
