package workloads

import (
	"context"
	"errors"
	"io"
	"syscall"

	"mrlocal/bench/study"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/internal/errs"
	"mrlocal/internal/paths"
)

// sweepFiles holds the paths of the files that a sweep writes next to its table, which goes to standard
// output. readSweepFiles makes it.
type sweepFiles struct {
	csv, svg, html, json, results string // paths; "": no such file
	y                             string // the value of -y: the metric of the chart; "": the default
}

// sweepFileFlags returns the flags that readSweepFiles reads, and --set, which the command reads.
func sweepFileFlags() []argv.Spec {
	y := argv.ValueSpec("y", "what --svg draws: `makespan|speedup|utilisation|moves`, mean-job, missed, tardiness or any figure of --csv", "speedup over shares, else makespan")
	y.Short = y.Name // a flag of one letter is its own short form, so the help shows -y
	set := argv.ValueSpec("set", "sweep a value of the file, `PATH=RANGE`: a list, FROM..TO, FROM..TO/STEP or FROM..TO*FACTOR; may be repeated", "")
	set.Repeat = true
	return []argv.Spec{set,
		argv.ValueSpec("results", "append a row of CSV for each job of each run to `FILE`, and go on with what it has", ""),
		argv.ValueSpec("json", "write means, intervals and differences to `FILE` as JSON", ""),
		argv.ValueSpec("csv", "write the figures to `FILE` as CSV", ""), show.HTMLFlag(),
		argv.ValueSpec("svg", "draw the figures into `FILE`, one line for each policy", ""),
		y,
	}
}

// readSweepFiles reads the flags of the files.
func readSweepFiles(r *argv.Reader) *sweepFiles {
	y := r.Choice("y", append([]string{""}, study.Ys()...)...)
	return &sweepFiles{csv: r.Path("csv"), svg: r.Path("svg"), html: r.Path("html"), json: r.Path("json"), results: r.Path("results"), y: y}
}

// open checks the paths of all files before the first run, so that a long sweep does not fail at its end. It
// creates no file. files has an entry for each flag, which is nil if the flag is missing. web is nil without
// --html.
func (s *sweepFiles) open(w process.Work) (files map[string]*process.AuxFile, web *show.Table, err error) {
	files = map[string]*process.AuxFile{}
	all := [][2]string{{"csv", s.csv}, {"svg", s.svg}, {"json", s.json}, {"results", s.results}}
	for i, f := range all {
		for _, before := range all[:i] {
			if f[1] != "" && before[1] != "" && paths.Locate(f[1]) == paths.Locate(before[1]) {
				return nil, nil, errs.Optionf("--"+before[0]+", --"+f[0], "%s: name two different files", f[1])
			}
		}
		if files[f[0]], err = w.Open(f[0], f[1]); err != nil {
			return nil, nil, err
		}
	}
	if s.results == "-" || process.Device(s.results) {
		return nil, nil, errs.Optionf("--results", "%s: is not a file that a sweep can go on with", s.results)
	}
	web, err = show.HTML(s.html, w)
	return files, web, err
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
func (s *sweepFiles) write(ctx context.Context, o *sweep, w process.Work, stderr io.Writer, note func(string)) (failed bool, err error) {
	files, web, err := s.open(w)
	if err != nil {
		return false, err
	}
	var results *study.Results
	if s.results != "" {
		if results, err = o.plan.OpenResults(s.results, o.key, o.jobs); err != nil {
			return false, err
		}
	}
	done, err := o.plan.Study(ctx, o.workers, results, o.simulate, note, nil)
	if err = errors.Join(err, results.Close()); err != nil {
		return false, err
	}
	stdout := w.Stdout
	if web.OnStdout() || files["csv"].OnStdout() || files["svg"].OnStdout() || files["json"].OnStdout() {
		stdout = stderr
	}
	// The table comes first, so that a file that cannot be written does not hide it. All files are tried.
	if _, err := stdout.Write(done.Table()); err != nil && !errors.Is(err, syscall.EPIPE) {
		return false, err
	}
	csv, chart := done.CSV(), done.Chart(o.name, s.y)
	for name, write := range map[string]func(io.Writer) error{
		"csv": func(w io.Writer) error { _, err := w.Write(csv); return err },
		"svg": chart.WriteSVG, "json": func(w io.Writer) error { return done.WriteJSON(w, o.name) },
	} {
		if out := files[name]; out != nil {
			err = errors.Join(err, write(out), out.Close())
		}
	}
	return done.Failed(), errors.Join(err, web.Write("Sweep of "+o.name, csv, false, chart.WriteSVG))
}
