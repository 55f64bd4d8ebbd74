package show

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/internal/errs"
	"mrlocal/internal/paths"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/export"
	"mrlocal/view/svg"
)

// This file shows runs outside of the terminal: in files and on a page.
//
// Files writes the pictures and tables of --svg, --trace, --csv, --metrics and --html of run, batch
// and sim. A model of package view watches each run, and the files are written when the run has
// ended, even if it has failed. The model of a long run takes hundreds of MiB. It is kept until the
// files are written.
//
// Page is the page of package web for --ui of run, batch and sim, and ShowPage that of mrlocal ui
// (page.go). The address is printed on standard error.

// Flags returns the flags of the page and of pictures, for a command that runs something. Open and
// WithPage read them.
func Flags() []argv.Spec {
	return append(pageFlags(),
		argv.ValueSpec("svg", "draw which job used which slot when, and which slots were lent, into `FILE`. With several policies, --svg, --trace and --metrics write into FILE.POLICY.SUFFIX, --csv into DIR.POLICY", ""),
		argv.ValueSpec("trace", "write `FILE` for Perfetto or chrome://tracing: one track a slot, arrows from maps to reduces, counters", ""),
		argv.ValueSpec("csv", "write tables of tasks, slots, decisions and counters into `DIR`", ""),
		argv.ValueSpec("metrics", "write the figures of the run into `FILE` as Prometheus text", ""),
		htmlFlag("a report as one `FILE` for a browser, without scripts: slots, shares, jobs, loans with their reasons, and the events inside; all policies in one"),
	)
}

// htmlFlag returns --html. help describes what the file has, after the word "write".
func htmlFlag(help string) argv.Spec { return argv.ValueSpec("html", "write "+help, "") }

// HTMLFlag returns --html of a command whose result is a table. HTML opens its file.
func HTMLFlag() argv.Spec {
	return htmlFlag("table and chart as one `FILE` for a browser, without scripts")
}

// file is a picture or table of one run that a flag asks for.
type file struct {
	path  string                                 // not ""
	out   *process.AuxFile                       // nil: save opens it, because its directory does not exist yet
	write func(w io.Writer, m *view.Model) error // writes the file from the model of the run
}

// Files are the auxiliary files of one or more runs: events, the report, and the pictures of each
// run. One goroutine uses it. Runs are numbered from 0, in the order of the names that Open gets.
type Files struct {
	*process.AuxFiles
	names  []string      // of the runs: the policies, or the job
	files  [][]file      // by run
	models []*view.Model // by run; nil: no picture is wanted, or the pictures are written
	report *webReport    // of --html; nil: none

	toStdout bool // report goes to standard output
}

// Open checks the auxiliary files of all runs, and creates none of them. names has the names of the
// runs, w what the command reads and writes. It fails with an options error if a file cannot be
// written, or if two flags name the same file.
func Open(line argv.Line, names []string, eventsPath, reportPath string, w process.Work) (*Files, error) {
	aux, err := process.OpenAuxFiles(names, eventsPath, reportPath, w)
	if err != nil {
		return nil, err
	}
	f := &Files{AuxFiles: aux, names: names, files: make([][]file, len(names)), models: make([]*view.Model, len(names))}
	r := argv.Reader{Line: line}
	taken := places{}
	for i := range names {
		err = cmp.Or(err, taken.addDirectory("profile", f.pathOf(i, r.Path("profile")), process.ProfileNames()), taken.addFile("events", f.pathOf(i, eventsPath)))
	}
	if err = cmp.Or(err, taken.addFile("report", reportPath)); err != nil {
		return nil, err
	}
	for _, flag := range []string{"svg", "trace", "metrics", "csv"} {
		path := r.Path(flag)
		if path == "" {
			continue
		}
		for i := range names {
			if err := f.add(i, flag, path, taken, &w); err != nil {
				return nil, err
			}
		}
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return f, f.addReport(r.Path("html"), taken, w)
}

// addReport adds the file of --html, which has all runs, if path is not "". It gives each run a
// model. taken has what other flags write to.
func (f *Files) addReport(path string, taken places, w process.Work) error {
	if path == "" {
		return nil
	}
	if err := taken.addFile("html", path); err != nil {
		return err
	}
	if path == "-" && len(f.names) > 1 {
		return errs.Optionf("--html", "-: standard output takes the report of one run, and there are %d policies", len(f.names))
	}
	// This only checks the path. webReport.add opens the file again after each run.
	out, err := w.Open("html", path)
	if err != nil {
		return err
	}
	f.toStdout = out.OnStdout()
	f.report = &webReport{path: path, work: w, title: "Runs of mrlocal", events: newPacker()}
	for i := range f.models {
		if f.models[i] == nil {
			f.models[i] = view.New(view.Options{})
		}
	}
	return nil
}

// Events returns the writer for the events of run i, or nil if neither --events nor --html needs them.
func (f *Files) Events(i int) io.Writer {
	w := f.AuxFiles.Events(i)
	switch {
	case f.report == nil:
		return w
	case w == nil:
		return f.report.events
	}
	return io.MultiWriter(w, f.report.events)
}

// places has what the flags write to, by place, so that no two write to one file.
type places map[string]target

// target is a file of a flag, or a directory, which other flags may use too.
type target struct {
	flag      string
	directory bool
}

// addFile adds the file of a flag; "" adds nothing. Several flags may name one device.
func (p places) addFile(flag, path string) error { return p.add(path, target{flag: flag}) }

// addDirectory adds a directory of a flag, and the files of those names in it; "" adds nothing.
func (p places) addDirectory(flag, dir string, names []string) error {
	err := p.add(dir, target{flag, true})
	for _, name := range names {
		if dir != "" {
			err = cmp.Or(err, p.addFile(flag, filepath.Join(dir, name)))
		}
	}
	return err
}

func (p places) add(path string, t target) error {
	if path == "" {
		return nil
	}
	at := path
	if path != "-" {
		at = paths.Locate(path) // one place for two names of a file, by links or by relative paths
	}
	if other, ok := p[at]; ok && !(other.directory && t.directory) && !process.Device(path) {
		return errs.Optionf("--"+other.flag+", --"+t.flag, "%s: name two different files", path)
	}
	p[at] = t
	return nil
}

// pictureOf returns the path of a picture of run i. With several runs, the name of the run stands
// before the suffix, such as in g.fair.svg, because programs know a file by its suffix.
func (f *Files) pictureOf(i int, path string) string {
	suffix := filepath.Ext(path)
	if suffix == ".gz" || suffix == ".zst" {
		suffix = filepath.Ext(strings.TrimSuffix(path, suffix)) + suffix
	}
	stem := strings.TrimSuffix(path, suffix)
	if len(f.names) == 1 || suffix == "" || filepath.Base(path) == suffix || process.Device(path) {
		return f.pathOf(i, path)
	}
	return filepath.Clean(stem + "." + f.names[i] + suffix)
}

// pathOf returns the path of a file of run i. path is the value of the flag. With several runs, the
// name of the run follows it.
func (f *Files) pathOf(i int, path string) string {
	if len(f.names) > 1 {
		return process.WithSuffix(path, "."+f.names[i])
	}
	return path
}

// add adds the file of run i that a flag asks for, and a model for the run. taken has what other
// flags write to, and gets this one.
func (f *Files) add(i int, flag, path string, taken places, w *process.Work) error {
	if path == "-" && len(f.names) > 1 {
		return errs.Optionf("--"+flag, "-: standard output takes the picture of one run, and there are %d policies", len(f.names))
	}
	if flag == "csv" { // a directory
		return f.addTables(i, f.pathOf(i, path), taken, w)
	}
	path = f.pictureOf(i, path)
	if err := taken.addFile(flag, path); err != nil {
		return err
	}
	write := map[string]func(w io.Writer, m *view.Model) error{
		"svg": func(w io.Writer, m *view.Model) error { return svg.Write(w, m, svg.Options{}) }, "trace": export.Chrome, "metrics": export.Metrics,
	}
	f.models[i] = view.New(view.Options{})
	out, err := w.Open(flag, path)
	f.files[i] = append(f.files[i], file{path, out, write[flag]})
	return err
}

// addTables adds the files of --csv of run i, which lie in the directory dir. If the directory
// exists, it checks each file, so that one that cannot be written is reported before the run.
func (f *Files) addTables(i int, dir string, taken places, w *process.Work) error {
	if dir == "-" {
		return errs.Optionf("--csv", "-: standard output cannot hold a directory of tables")
	}
	var names []string
	for _, t := range export.Tables() {
		names = append(names, t.Name)
	}
	if err := taken.addDirectory("csv", dir, names); err != nil {
		return err
	}
	f.models[i] = view.New(view.Options{})
	if err := w.CheckDirectory("csv", dir); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	for _, t := range export.Tables() {
		path := filepath.Join(dir, t.Name)
		if err := process.CheckBelow("csv", path); err != nil {
			return err
		}
		var out *process.AuxFile // stays nil if the directory does not exist; then save opens the file
		if err == nil && info.IsDir() {
			if out, err = w.Open("csv", path); err != nil {
				return err
			}
		}
		f.files[i] = append(f.files[i], file{path, out, t.Write})
	}
	return nil
}

// OnStdout reports whether one of the files is standard output.
func (f *Files) OnStdout() bool {
	return f.AuxFiles.OnStdout() || f.toStdout || slices.ContainsFunc(slices.Concat(f.files...), func(o file) bool { return o.out.OnStdout() })
}

// Watch returns a function for the field Watch of run i. It calls next, which may be nil, and then
// attaches the model of the run to the stream. If no picture is wanted, Watch returns next.
func (f *Files) Watch(i int, next func(*trace.Stream)) func(*trace.Stream) {
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
func (f *Files) CloseEvents(i int) error {
	err := f.AuxFiles.CloseEvents(i)
	// A run that was refused has no slots, and leaves no file.
	if m := f.models[i]; m != nil && len(m.Lanes) > 0 {
		for _, o := range f.files[i] {
			err = errors.Join(err, o.save(m))
		}
		if f.report != nil {
			err = errors.Join(err, f.report.add(f.names[i], m))
		}
	}
	if f.report != nil {
		f.report.events = newPacker()
	}
	// A model of a long run takes hundreds of megabytes, and the next run makes its own.
	f.models[i] = nil
	return err
}

// save writes the file from model m and closes it. If the file cannot be written as a whole, save
// removes it, unless it is a device. save creates the directory of a table if it does not exist.
func (o *file) save(m *view.Model) error {
	if o.out == nil {
		if err := os.MkdirAll(filepath.Dir(o.path), 0o777); err != nil {
			return err
		}
		var err error
		if o.out, err = new(process.Work).Open("csv", o.path); err != nil {
			return err
		}
	}
	err := o.write(o.out, m)
	if err = cmp.Or(err, o.out.Close()); err == nil {
		return nil
	}
	if info, stat := os.Stat(o.path); stat == nil && info.Mode().IsRegular() {
		if removed := os.Remove(o.path); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return fmt.Errorf("%s: %w", argv.Quote(o.path), err)
}
