package measure

import (
	"context"
	"errors"
	"io"
	"slices"
	"syscall"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/errs"
	"mrlocal/internal/paths"
	"mrlocal/report"
	"mrlocal/view/svg"
)

// SweepFiles are the auxiliary files of a sweep. Its table goes to standard output.
type SweepFiles struct {
	csv, svg, html, json, results string // paths; "": none
	y                             string
}

// SweptFlags take lists and ranges in a sweep, and single values elsewhere.
func SweptFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("map-slots", "home map slots a tracker, `N`, a list or a range", "the file's"),
		argv.ValueSpec("reduce-slots", "home reduce slots a tracker, `N`, a list or a range", "the file's"),
		argv.ValueSpec("borrow-map", "`SHARE` of the map slots that reduces may borrow, a list or a range", "1"),
		argv.ValueSpec("borrow-reduce", "`SHARE` of the reduce slots that maps may borrow, a list or a range", "1"),
	}
}

// SweepFileFlags returns the flags that ReadSides reads, and --set.
func SweepFileFlags() []argv.Spec {
	y := argv.ValueSpec("y", "what --svg draws: `makespan|speedup|utilisation|moves`; with --seeds or --set also mean-job, jain, missed, tardiness and any column of --csv", "speedup over shares, else makespan")
	y.Short = y.Name // so that the help shows -y
	set := argv.ValueSpec("set", "sweep a value of the file, `PATH=RANGE`: a list, FROM..TO, FROM..TO/STEP or FROM..TO*FACTOR; may be repeated", "")
	set.Repeat = true
	return []argv.Spec{set,
		argv.ValueSpec("results", "append a row of CSV for each job of each run to `FILE`, and go on with what it has", ""),
		argv.ValueSpec("json", "write means, intervals and differences to `FILE` as JSON", ""),
		argv.ValueSpec("csv", "write the figures to `FILE` as CSV", ""), pictures.HTMLFlag(),
		argv.ValueSpec("svg", "draw the figures into `FILE`, one line for each policy", ""),
		y,
	}
}

// ReadSweepFiles reads the flags of these files. study says that the sweep has seeds or settings.
func ReadSweepFiles(r *argv.Reader, study bool) *SweepFiles {
	ys := []string{"", "makespan", "speedup", "utilisation", "moves"}
	if study {
		ys = append(ys, "mean-job", "missed", "tardiness")
		for _, m := range report.Metrics() {
			if !slices.Contains(ys, m.Name) {
				ys = append(ys, m.Name)
			}
		}
	}
	return &SweepFiles{csv: r.Path("csv"), svg: r.Path("svg"), html: r.Path("html"), json: r.Path("json"), results: r.Path("results"), y: r.Choice("y", ys...)}
}

// open checks the places of all files before the runs: a sweep of hours must not end at a
// wrong path. It creates none. Both returned files may be nil.
func (s *SweepFiles) open(w process.Work) (files map[string]*process.AuxFile, web *pictures.Table, err error) {
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
		return nil, nil, errs.Optionf("--results", "%s: is no file that a sweep can go on with", s.results)
	}
	web, err = pictures.HTML(s.html, w)
	return files, web, err
}

// Table makes the runs, and writes the table to w.Stdout and the files. If a file is
// standard output, the table goes to stderr.
func (s *SweepFiles) Table(p *Plan, name string, w process.Work, stderr io.Writer, runs func() ([]SweepRow, error)) error {
	files, web, err := s.open(w)
	if err != nil {
		return err
	}
	// The table needs all rows, because a speedup compares with the first one.
	rows, err := runs()
	if err != nil {
		return err
	}
	return s.write(files, web, "Sweep of "+name, p.Table(rows), p.CSV(rows), p.Chart(name, s.y, rows), w.Stdout, stderr)
}

// Study makes the runs of a study, which has so many jobs in each, and writes its table and
// files. key is that of Files.Key.
func (s *SweepFiles) Study(ctx context.Context, p *Plan, name, key string, jobs int, w process.Work, stderr io.Writer, simulate Simulate, note func(string)) error {
	files, web, err := s.open(w)
	if err != nil {
		return err
	}
	var results *Results
	if s.results != "" {
		if results, err = p.OpenResults(s.results, key, jobs); err != nil {
			return err
		}
	}
	study, err := p.Study(ctx, results, simulate, note, nil)
	if err = errors.Join(err, results.Close()); err != nil {
		return err
	}
	err = s.write(files, web, "Sweep of "+name, study.Table(), study.CSV(), study.Chart(name, s.y), w.Stdout, stderr)
	if out := files["json"]; out != nil {
		err = errors.Join(err, study.WriteJSON(out, name), out.Close())
	}
	return err
}

// write writes the table, then the files. The table is on the screen already when a file
// cannot be written. Errors of the files are joined, so that one does not hide the others.
func (s *SweepFiles) write(files map[string]*process.AuxFile, web *pictures.Table, title string, table, csv []byte, c *svg.Chart, stdout, stderr io.Writer) (err error) {
	if web.OnStdout() || files["csv"].OnStdout() || files["svg"].OnStdout() || files["json"].OnStdout() {
		stdout = stderr
	}
	if _, err := stdout.Write(table); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.ErrClosedPipe) {
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
