package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/output"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/export"
	"mrlocal/view/html"
	"mrlocal/view/svg"
)

// This file shows runs outside of the terminal: in files and on a page.
//
// Files writes the pictures and tables of --svg, --trace, --csv, --metrics and --html. A model of package
// view watches each run of run, batch and sim; mrlocal show reads it from an event file. The files are
// written when the run has ended, even if it has failed. The model of a long run takes hundreds of MiB.
// It is kept until the files are written.
//
// Page is the page of package web for --ui of run, batch and sim, and of ui and demo (page.go). The address is printed
// on standard error.

// outputs are the files of one or more runs that a user asks for; "": not this one.
type outputs struct {
	Events, Report, Profile        string
	SVG, Trace, CSV, Metrics, HTML string
	CDF, Usage, Title              string
}

// eachOf ends the help of files that each run has. runs says what the runs are, as policies; "": there
// is one run.
func eachOf(runs, text string) string {
	if runs == "" {
		return ""
	}
	return "; with several " + runs + ", " + text
}

// Settings returns --events, --report and --profile. runs says what several runs are, as policies; "": the
// command makes one. otherwise is the default of --report.
func (o *outputs) Settings(runs, otherwise string) []setting.Setting {
	return setting.In("INPUT AND OUTPUT", []setting.Setting{
		setting.Of("events", "Events", "write every fact and decision to `FILE`, one JSON object per line"+eachOf(runs, "to FILE.POLICY")+"; compressed if FILE ends in .gz or .zst", "", setting.Text(&o.Events)).InShortHelp(),
		setting.Of("report", "", "write the report to `FILE` as JSON"+eachOf(runs, "as an array"), otherwise, setting.Text(&o.Report)),
		setting.Of("profile", "", "write cpu.pprof, heap.pprof, allocs.pprof and trace.out, labelled by slot and phase, into `DIR`"+eachOf(runs, "into DIR.POLICY"), "", setting.Text(&o.Profile)),
	})
}

// Pictures returns the flags of pictures and tables of runs.
func (o *outputs) Pictures() []setting.Setting {
	return setting.In("INPUT AND OUTPUT", []setting.Setting{
		setting.Of("svg", "", "draw which job used which slot when, and which slots were lent, into `FILE`; all policies in one. With several policies or runs, --trace and --metrics write into FILE.POLICY.SUFFIX, --csv into DIR.POLICY", "", setting.Text(&o.SVG)),
		setting.Of("cdf", "", "draw the distribution of the response times of jobs into `FILE`; a table if FILE ends in .csv; all policies in one", "", setting.Text(&o.CDF)),
		setting.Of("usage", "", "draw the slots that each pool uses over time into `FILE`; a table if FILE ends in .csv; all policies in one", "", setting.Text(&o.Usage)),
		setting.Of("title", "", "`TEXT` above --svg, --cdf, --usage and --html", "", setting.Text(&o.Title)),
		setting.Of("trace", "", "write `FILE` for Perfetto or chrome://tracing: one track per slot, arrows from maps to reduces, counters", "", setting.Text(&o.Trace)),
		setting.Of("csv", "", "write tables of tasks, slots, decisions and counters into `DIR`", "", setting.Text(&o.CSV)),
		setting.Of("metrics", "", "write the figures of the run into `FILE` as Prometheus text", "", setting.Text(&o.Metrics)),
		setting.Of("html", "", "write a report as one `FILE` for a browser, without scripts: slots, shares, jobs, loans with their reasons, and the events inside; all policies in one", "", setting.Text(&o.HTML)),
	})
}

// htmlSetting returns --html of a command whose result is a table. It keeps the path for HTML.
func htmlSetting(path *string) setting.Setting {
	return setting.Of("html", "", "write table and chart as one `FILE` for a browser, without scripts", "", setting.Text(path))
}

// drawing is a picture or table that a flag asks for, of one run or of all runs that have ended.
type drawing[T any] struct {
	out   *auxFile
	write func(w io.Writer, of T) error
}

// files are the auxiliary files of one or more runs: events, the report, and the pictures of each
// run. One goroutine uses it. Runs are numbered from 0, in the order of the names that Open gets.
type files struct {
	names    []string                 // of the runs: the policies, or the job
	work     work                     // what the command reads and writes
	toStdout bool                     // a file is standard output
	events   []*auxFile               // by run; nil: not wanted
	report   *auxFile                 // of all runs; nil: not wanted
	drawings [][]drawing[*view.Model] // by run
	joint    []drawing[[]view.Named]  // of all runs
	ended    []view.Named             // the runs for joint
	models   []*view.Model            // by run; nil: no picture is wanted, or the pictures are written
	html     *webReport               // of all runs; nil: not wanted
}

// Open checks the auxiliary files of all runs, and creates none of them. names has the names of the
// runs, w what the command reads and writes. A single run writes its events to o.Events. Several
// runs write to o.Events.NAME, or all to o.Events if it is a device. Open fails with an options error
// if a file cannot be written, or if two flags name the same file.
func (o *outputs) Open(names []string, w work) (*files, error) {
	f := &files{names: names, work: w, events: make([]*auxFile, len(names)), drawings: make([][]drawing[*view.Model], len(names)), models: make([]*view.Model, len(names))}
	err := f.openEvents(o.Events, o.Profile)
	if err == nil {
		f.report, err = f.open("report", o.Report, 1)
	}
	switch {
	case err != nil:
	case o.SVG != "" && len(names) > svg.MostRuns:
		err = errs.Optionf("--svg", "draws at most %d runs, and there are %d", svg.MostRuns, len(names))
	case o.HTML != "":
		f.html = &webReport{events: newPacker()}
	}
	figure := func(path string, table func(io.Writer, []view.Named) error, picture func(io.Writer, []view.Named, string) error) func(io.Writer, []view.Named) error {
		if strings.HasPrefix(suffixOf(path), ".csv") {
			return table
		}
		return func(w io.Writer, runs []view.Named) error { return picture(w, runs, o.Title) }
	}
	err = cmp.Or(err,
		f.drawAll("svg", o.SVG, func(w io.Writer, runs []view.Named) error { return svg.Write(w, runs, svg.Options{Title: o.Title}) }),
		f.drawAll("cdf", o.CDF, figure(o.CDF, export.ResponseTable, svg.Responses)),
		f.drawAll("usage", o.Usage, figure(o.Usage, export.UsageTable, svg.Usage)),
		f.draw("trace", o.Trace, export.Chrome), f.draw("metrics", o.Metrics, export.Metrics),
		f.openTables(o.CSV),
		f.drawAll("html", o.HTML, func(w io.Writer, runs []view.Named) error {
			return f.html.write(w, cmp.Or(o.Title, "Runs of mrlocal"), runs)
		}))
	if *o != (outputs{Events: o.Events, Report: o.Report, Profile: o.Profile, Title: o.Title}) { // a picture is wanted
		for i := range f.models {
			f.models[i] = view.New()
		}
	}
	return f, err
}

// open checks one of several files of a flag, which no other flag may name. It returns nil if path is "".
func (f *files) open(flag, path string, several int) (*auxFile, error) {
	if path == "-" && several > 1 {
		return nil, errs.Optionf("--"+flag, "-: standard output takes the file of one run, and there are %d", several)
	}
	out, err := f.work.Open(flag, path)
	f.toStdout = f.toStdout || out.OnStdout()
	return out, err
}

// openEvents opens the event file of each run. profile is the directory of --profile; "": none.
func (f *files) openEvents(path, profile string) error {
	for i := range f.names {
		if profile != "" {
			if err := f.work.CheckDirectory("profile", f.pathOf(i, profile), profileNames()); err != nil {
				return err
			}
		}
		out, err := f.open("events", f.pathOf(i, path), len(f.names))
		if err != nil {
			return err
		}
		if f.events[i] = out; out != nil {
			// The end of the name that the user gave sets the compression.
			if out.format, err = output.BySuffix.Of(path); err != nil {
				return errs.Optionf("--events", "%s: end the name in .gz or .zst, or in something else", path)
			}
		}
	}
	return nil
}

// draw adds the picture of a flag of each run, which write draws; "" adds nothing.
func (f *files) draw(flag, path string, write func(w io.Writer, m *view.Model) error) error {
	for i := range f.names {
		out, err := f.open(flag, f.pictureOf(i, path), len(f.names))
		if err != nil || out == nil {
			return err
		}
		f.drawings[i] = append(f.drawings[i], drawing[*view.Model]{out, write})
	}
	return nil
}

// drawAll adds the picture of a flag that has all runs, which write draws; "" adds nothing.
func (f *files) drawAll(flag, path string, write func(w io.Writer, runs []view.Named) error) error {
	out, err := f.open(flag, path, 1)
	if err == nil && out != nil {
		f.joint = append(f.joint, drawing[[]view.Named]{out, write})
	}
	return err
}

// openTables adds the files of --csv of each run, which lie in the directory path; "" adds nothing. If
// the directory exists, it checks each file, so that one that cannot be written is reported before the run.
func (f *files) openTables(path string) error {
	switch path {
	case "":
		return nil
	case "-":
		return errs.Optionf("--csv", "-: standard output cannot hold a directory of tables")
	}
	for i := range f.names {
		dir := f.pathOf(i, path)
		if err := f.work.CheckDirectory("csv", dir, nil); err != nil {
			return err
		}
		_, missing := os.Stat(dir)
		for _, t := range export.Tables() {
			out := &auxFile{path: filepath.Join(dir, t.Name), parent: true, format: output.None}
			err := checkBelow("csv", out.path)
			if err == nil && missing == nil {
				out, err = f.open("csv", out.path, len(f.names))
			} else if err == nil {
				err = f.work.writesTo("csv", out.path, false)
			}
			if err != nil {
				return err
			}
			f.drawings[i] = append(f.drawings[i], drawing[*view.Model]{out, t.Write})
		}
	}
	return nil
}

// Events returns the writer for the events of run i, or nil if neither --events nor --html needs them.
func (f *files) Events(i int) io.Writer {
	switch w := f.events[i]; {
	case f.html == nil && w == nil: // a nil *auxFile must not become a non-nil io.Writer
		return nil
	case f.html == nil:
		return w
	case w == nil:
		return f.html.events
	default:
		return io.MultiWriter(w, f.html.events)
	}
}

// pictureOf returns the path of a picture of run i. With several runs, the name of the run stands
// before the suffix, such as in g.fair.svg, because programs know a file by its suffix.
func (f *files) pictureOf(i int, path string) string {
	suffix := suffixOf(path)
	if len(f.names) == 1 || suffix == "" || filepath.Base(path) == suffix || device(path) {
		return f.pathOf(i, path)
	}
	return filepath.Clean(strings.TrimSuffix(path, suffix) + "." + f.names[i] + suffix)
}

// suffixOf returns the suffix of a path, with that of its compression, such as .csv.gz.
func suffixOf(path string) string {
	suffix := filepath.Ext(path)
	if suffix == ".gz" || suffix == ".zst" {
		suffix = filepath.Ext(strings.TrimSuffix(path, suffix)) + suffix
	}
	return suffix
}

// pathOf returns the path of a file of run i. path is the value of the flag. With several runs, the
// name of the run follows it.
func (f *files) pathOf(i int, path string) string {
	return withSuffix(path, suffix(f.names[i], f.names))
}

// watch returns a function for the field Watch of run i. It calls next, which may be nil, and then
// attaches the model of the run to the stream. If no picture is wanted, Watch returns next.
func (f *files) Watch(i int, next func(*trace.Stream)) func(*trace.Stream) {
	if f.models[i] == nil {
		return next
	}
	return func(s *trace.Stream) {
		if next != nil {
			next(s)
		}
		s.Attach(f.models[i])
	}
}

// CloseEvents closes the event file of run i and writes the pictures of the run. It must be called
// after the run, even if the run has failed. It removes a file that it cannot write as a whole. It
// goes on after an error and returns all of them.
func (f *files) CloseEvents(i int) error {
	err := f.events[i].Close()
	if err != nil {
		err = fmt.Errorf("events: %w", err)
	}
	// A run that was refused has no slots, and leaves no file.
	if m := f.models[i]; m != nil && len(m.Lanes) > 0 {
		for _, d := range f.drawings[i] {
			err = errors.Join(err, d.out.Save(func(w io.Writer) error { return d.write(w, m) }))
		}
		err = errors.Join(err, f.writeJoint(i, m))
	}
	if f.html != nil {
		f.html.events = newPacker()
	}
	// A model of a long run takes hundreds of megabytes. Only files of all runs need it further.
	f.models[i] = nil
	return err
}

// writeJoint writes the files of all runs after run i, with its model m. They are written again after each run, so that
// a later run that fails does not take the earlier ones with it. What cannot be written again has all runs at the end.
func (f *files) writeJoint(i int, m *view.Model) (err error) {
	name := f.names[i]
	if len(f.names) == 1 {
		name = m.Policy
	}
	if f.html != nil {
		err = f.html.add(f.names[i], m)
	}
	if len(f.joint) > 0 { // else nothing needs the model further
		f.ended = append(f.ended, view.Named{Name: name, Model: m})
	}
	for _, d := range f.joint {
		if again := *d.out; i == len(f.names)-1 || again.stdout == nil && !device(again.path) {
			err = errors.Join(err, again.Save(func(w io.Writer) error { return d.write(w, f.ended) }))
		}
	}
	return err
}

// mostEventBytes is the largest size of the compressed events of a run in a report. A report without
// events is still useful, and one of many MiB is slow in a browser.
const mostEventBytes = 16 << 20

// mostReasons is the largest number of loans in a report that have their reasons.
const mostReasons = 200

// webReport is the content of --html, which has all runs.
type webReport struct {
	runs   []html.Run // that have ended
	events *packer    // the events of the current run
}

// packer is a writer that compresses the events of a run in memory. If the result gets larger than
// mostEventBytes, it drops all events. The goroutine of the run uses it, and after the run that of
// CloseEvents.
type packer struct {
	b    bytes.Buffer
	z    *gzip.Writer
	full bool // the events were dropped
}

// newPacker returns a packer for the events of one run.
func newPacker() *packer {
	p := &packer{}
	p.z = gzip.NewWriter(&p.b)
	return p
}

// Write takes the next events. It never fails.
func (p *packer) Write(text []byte) (int, error) {
	if !p.full {
		_, _ = p.z.Write(text) // into memory
		if p.full = p.b.Len() > mostEventBytes; p.full {
			p.b = bytes.Buffer{}
		}
	}
	return len(text), nil
}

// bytes returns the compressed events, or nil if they were dropped. It ends the packer. The caller
// owns the bytes.
func (p *packer) bytes() []byte {
	if p.full || p.z.Close() != nil {
		return nil
	}
	return p.b.Bytes()
}

// add adds a run that has ended, with its model m.
func (r *webReport) add(name string, m *view.Model) error {
	run := html.Run{Model: m, Events: r.events.bytes(), EventFile: "run-" + name + ".jsonl.gz"}
	if run.Events != nil {
		z, err := gzip.NewReader(bytes.NewReader(run.Events))
		if err != nil {
			return err
		}
		loans := 0
		// Reasons come from a replay. If the events cannot be replayed, the report has no reasons.
		_ = explain.Reasons(z, explain.Options{Policy: registry.ForReplay}, func(x *explain.Reason) bool {
			if b := barOf(m, x.Seq); b != nil && b.Lent {
				run.Reasons = append(run.Reasons, x)
				loans++
			}
			return loans < mostReasons
		})
	}
	r.runs = append(r.runs, run)
	return nil
}

// write writes the report of all runs so far. Their picture comes first if it has room for all.
func (r *webReport) write(w io.Writer, title string, runs []view.Named) error {
	d := html.New(w, title)
	if len(runs) > 1 && len(runs) <= svg.MostRuns {
		d.Together(runs)
	}
	for i := range r.runs {
		d.Run(r.runs[i])
	}
	return d.Close()
}

// barOf returns the bar of the attempt whose start has the sequence number seq, or nil.
func barOf(m *view.Model, seq uint64) *view.Bar {
	at, ok := slices.BinarySearchFunc(m.Bars, seq, func(b view.Bar, seq uint64) int { return cmp.Compare(b.Seq, seq) })
	if !ok {
		return nil
	}
	return &m.Bars[at]
}

// saveTable writes the file of --html for a command whose result is a table, such as sweep. It has the text csv as a
// table, and the SVG that each of charts writes. If verdicts is true, it also has pictures that compare
// figures with those of a paper. For a nil file it does nothing.
func (s *auxFile) saveTable(title string, csv []byte, verdicts bool, charts []func(w io.Writer) error) error {
	if s == nil {
		return nil
	}
	return s.Save(func(w io.Writer) error {
		d := html.New(w, title)
		for _, chart := range charts {
			d.Picture("Chart", chart)
		}
		d.CSV("Figures", csv, verdicts)
		return d.Close()
	})
}
