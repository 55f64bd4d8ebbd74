package workloads

import (
	"context"
	"errors"
	"io"
	"slices"
	"syscall"

	"mrlocal/bench/study"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/internal/errs"
	"mrlocal/internal/paths"
	"mrlocal/slots/report"
	"mrlocal/view/svg"
)

// sweepFiles holds the paths of the files that a sweep writes next to its table, which goes to standard
// output. readSweepFiles makes it.
type sweepFiles struct {
	csv, svg, html, json, results string // paths; "": no such file
	y                             string // the value of -y: the metric of the chart; "": the default
}

// sweptFlags returns the flags that take lists and ranges in a sweep. Other commands have flags of
// the same names that take single values.
func sweptFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("map-slots", "home map slots per tracker, `N`, a list or a range", "the file's"),
		argv.ValueSpec("reduce-slots", "home reduce slots per tracker, `N`, a list or a range", "the file's"),
		argv.ValueSpec("borrow-map", "`SHARE` of the map slots that reduces may borrow, a list or a range", "1"),
		argv.ValueSpec("borrow-reduce", "`SHARE` of the reduce slots that maps may borrow, a list or a range", "1"),
	}
}

// sweepFileFlags returns the flags that readSweepFiles reads, and --set, which the command reads.
func sweepFileFlags() []argv.Spec {
	y := argv.ValueSpec("y", "what --svg draws: `makespan|speedup|utilisation|moves`; with --seeds or --set also mean-job, jain, missed, tardiness and any column of --csv", "speedup over shares, else makespan")
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

// readSweepFiles reads the flags of the files. study is true for a sweep with seeds or --set, whose
// -y has more values.
func readSweepFiles(r *argv.Reader, study bool) *sweepFiles {
	ys := []string{"", "makespan", "speedup", "utilisation", "moves"}
	if study {
		ys = append(ys, "mean-job", "missed", "tardiness")
		for _, m := range report.Metrics() {
			if !slices.Contains(ys, m.Name) {
				ys = append(ys, m.Name)
			}
		}
	}
	return &sweepFiles{csv: r.Path("csv"), svg: r.Path("svg"), html: r.Path("html"), json: r.Path("json"), results: r.Path("results"), y: r.Choice("y", ys...)}
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

// Table calls runs, which makes all runs of p, and writes the table to w.Stdout, and the files. If
// a file is standard output, the table goes to stderr. name is that of the workload file, for
// titles. failed reports whether jobs of a run did not succeed.
func (s *sweepFiles) Table(p *study.Plan, name string, w process.Work, stderr io.Writer, runs func() ([]study.SweepRow, error)) (failed bool, err error) {
	files, web, err := s.open(w)
	if err != nil {
		return false, err
	}
	// No row can be written before the last run, because the columns align.
	rows, err := runs()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(rows, study.SweepRow.Failed), s.write(files, web, "Sweep of "+name, p.Table(rows), p.CSV(rows), p.Chart(name, s.y, rows), w.Stdout, stderr)
}

// Study makes the runs of a sweep with seeds or --set, and writes its table and files as Table
// does. jobs is the number of jobs of each run. key is that of Files.Key. simulate and note are as
// in Plan.Study. failed is as in Table, with the runs that the file of --results had.
func (s *sweepFiles) Study(ctx context.Context, p *study.Plan, name, key string, jobs int, w process.Work, stderr io.Writer, simulate study.Simulate, note func(string)) (failed bool, err error) {
	files, web, err := s.open(w)
	if err != nil {
		return false, err
	}
	var results *study.Results
	if s.results != "" {
		if results, err = p.OpenResults(s.results, key, jobs); err != nil {
			return false, err
		}
	}
	done, err := p.Study(ctx, results, simulate, note, nil)
	if err = errors.Join(err, results.Close()); err != nil {
		return false, err
	}
	err = s.write(files, web, "Sweep of "+name, done.Table(), done.CSV(), done.Chart(name, s.y), w.Stdout, stderr)
	if out := files["json"]; out != nil {
		err = errors.Join(err, done.WriteJSON(out, name), out.Close())
	}
	return done.Failed(), err
}

// write writes the table, then the files, so that a file that cannot be written does not hide the
// table. It goes on after the error of a file and returns all of them. A closed pipe on stdout is
// no error.
func (s *sweepFiles) write(files map[string]*process.AuxFile, web *show.Table, title string, table, csv []byte, c *svg.Chart, stdout, stderr io.Writer) (err error) {
	if web.OnStdout() || files["csv"].OnStdout() || files["svg"].OnStdout() || files["json"].OnStdout() {
		stdout = stderr
	}
	if _, err := stdout.Write(table); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	if out := files["csv"]; out != nil {
		_, err = out.Write(csv)
		err = errors.Join(err, out.Close())
	}
	if out := files["svg"]; out != nil {
		err = errors.Join(err, c.WriteSVG(out), out.Close())
	}
	return errors.Join(err, web.Write(title, csv, false, c.WriteSVG))
}
