package side

import (
	"errors"
	"io"
	"slices"

	"mrlocal/errs"
	"mrlocal/internal/paths"
)

// Work is what a command reads and writes: the files beside it must be none of
// that.
type Work struct {
	Inputs  []string // files, directories, globs
	Outputs []string // directories
	Files   []string // outputs of one file
}

// Set are the files beside one run or several, one a policy.
type Set struct {
	events []*File
	report *File
}

// OpenSet checks the --events files of runs of those names, and the --report
// file of all. The events of one run go to eventsPath, those of several each to
// eventsPath.NAME; either path may be empty.
func OpenSet(names []string, eventsPath, reportPath string, w Work) (*Set, error) {
	events := make([]string, len(names))
	for i, name := range names {
		switch {
		case eventsPath == "":
		case len(names) == 1:
			events[i] = eventsPath
		default:
			events[i] = eventsPath + "." + name
		}
	}
	s := &Set{}
	for _, path := range events {
		if path != "" && reportPath != "" && paths.Locate(path) == paths.Locate(reportPath) {
			return nil, errs.Optionf("--events, --report", "%s: name two different files", path)
		}
		f, err := w.open("events", path)
		if err != nil {
			return nil, err
		}
		s.events = append(s.events, f)
	}
	var err error
	s.report, err = w.open("report", reportPath)
	return s, err
}

func (w *Work) open(flag, path string) (*File, error) {
	for _, file := range w.Files {
		if path != "" && paths.Locate(path) == paths.Locate(file) {
			return nil, errs.Optionf("--output-file", "%s: is the --events or --report file too", path)
		}
	}
	return Open(flag, path, w.Inputs, w.Outputs)
}

// CheckDirectory refuses a directory that is, or lies inside, what the command
// reads or writes.
func (w *Work) CheckDirectory(flag, path string) error {
	for _, out := range slices.Concat(w.Files, w.Outputs) { // which need not be there yet
		if paths.Locate(path) == paths.Locate(out) {
			return errs.Optionf("--"+flag, "%s: is the output too; name another", path)
		}
	}
	return apart(flag, path, w.Inputs, w.Outputs)
}

// Events is where the events of run i go; nil: nowhere.
func (s *Set) Events(i int) io.Writer {
	if s.events[i] == nil {
		return nil
	}
	return s.events[i]
}

// CloseEvents closes the events of run i.
func (s *Set) CloseEvents(i int) error { return s.events[i].Close() }

// HasReport says that a --report file is wanted.
func (s *Set) HasReport() bool { return s.report != nil }

// Report has write write the --report file and closes it.
func (s *Set) Report(write func(io.Writer) error) error {
	return errors.Join(write(s.report), s.report.Close())
}
