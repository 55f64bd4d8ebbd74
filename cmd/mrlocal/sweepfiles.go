package main

import (
	"context"
	"errors"
	"io"
	"syscall"

	"mrlocal/bench/study"
	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
)

// sweepFiles has the paths of the files that a sweep writes next to its table, which goes to standard
// output; "": not this one.
type sweepFiles struct {
	results, json, csv, html, svg string
	y                             string // the metric of the chart; "": the default
}

// settings returns the flags of these files.
func (s *sweepFiles) settings() []setting.Setting {
	return []setting.Setting{
		setting.Of("results", "", "append a row of CSV for each job of each run to `FILE`, and go on with what it has", "", setting.Text(&s.results)),
		setting.Of("json", "", "write means, intervals and differences to `FILE` as JSON", "", setting.Text(&s.json)),
		setting.Of("csv", "", "write the figures to `FILE` as CSV", "", setting.Text(&s.csv)), HTMLSetting(&s.html),
		setting.Of("svg", "", "draw the figures into `FILE`, one line for each policy", "", setting.Text(&s.svg)),
		setting.Of("y", "", "what --svg draws: `makespan|speedup|utilisation|moves`, mean-job, missed, tardiness or any figure of --csv", "speedup over shares, else makespan", setting.Choice(&s.y, study.Ys()...)).Letter("y"),
	}
}

// open checks the paths of all files before the first run, so that a long sweep does not fail at its end. It
// creates no file. files has an entry for each flag, which is nil if the flag is missing.
func (s *sweepFiles) open(w Work) (files map[string]*AuxFile, err error) {
	files = map[string]*AuxFile{}
	for _, f := range [][2]string{{"csv", s.csv}, {"svg", s.svg}, {"json", s.json}, {"results", s.results}, {"html", s.html}} {
		if files[f[0]], err = w.Open(f[0], f[1]); err != nil {
			return nil, err
		}
	}
	if path := s.results; path == "-" || Device(path) {
		return nil, errs.Optionf("--results", "%s: is not a file that a sweep can go on with", path)
	}
	return files, nil
}

// sweep is a sweep whose flags are read and whose runs can begin.
type sweep struct {
	plan     *study.Plan
	name     string // of the workload file, for titles
	key      string // of Files.Key; only for --results
	jobs     int    // of each run
	workers  int    // runs that are made at once
	simulate study.Simulate
}

// write makes the runs of a sweep and writes its table to w.Stdout, and the files. If a file is standard
// output, the table goes to stderr. note gets the notes of the runs. failed reports whether jobs of a run
// did not succeed, in the runs that the file of --results had too.
func (s *sweepFiles) write(ctx context.Context, o *sweep, w Work, stderr io.Writer, note func(string)) (failed bool, err error) {
	files, err := s.open(w)
	if err != nil {
		return false, err
	}
	var results *study.Results
	if path := s.results; path != "" {
		if results, err = o.plan.OpenResults(path, o.key, o.jobs); err != nil {
			return false, err
		}
	}
	done, err := o.plan.Study(ctx, o.workers, results, o.simulate, note, nil)
	if err = errors.Join(err, results.Close()); err != nil {
		return false, err
	}
	stdout := w.Stdout
	for _, f := range files {
		if f.OnStdout() {
			stdout = stderr
		}
	}
	// The table comes first, so that a file that cannot be written does not hide it. All files are tried.
	if _, err := stdout.Write(done.Table()); err != nil && !errors.Is(err, syscall.EPIPE) {
		return false, err
	}
	csv, chart := done.CSV(), done.Chart(o.name, s.y)
	save := func(flag string, write func(io.Writer) error) {
		if out := files[flag]; out != nil {
			err = errors.Join(err, write(out), out.Close())
		}
	}
	save("csv", func(w io.Writer) error { _, err := w.Write(csv); return err })
	save("svg", chart.WriteSVG)
	save("json", func(w io.Writer) error { return done.WriteJSON(w, o.name) })
	return done.Failed(), errors.Join(err, files["html"].saveTable("Sweep of "+o.name, csv, false, chart.WriteSVG))
}
