package auxiliary

import (
	"errors"
	"io"
	"slices"

	"mrlocal/errs"
	"mrlocal/internal/paths"
)

// Work lists what a command reads and writes. Auxiliary files must lie outside.
type Work struct {
	Inputs  []string // files, directories, globs
	Outputs []string // directories
	Files   []string // outputs of one file
}

// Set holds the auxiliary files of one run, or of several runs, one for each
// policy.
type Set struct {
	events []*File
	report *File
}

// OpenSet checks the --events file of each run and the --report file of all. A
// single run writes its events to eventsPath; several runs write to
// eventsPath.NAME. Both paths may be empty.
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

// open checks one auxiliary file; path may be empty.
func (w *Work) open(flag, path string) (*File, error) {
	for _, file := range w.Files {
		if path != "" && paths.Locate(path) == paths.Locate(file) {
			return nil, errs.Optionf("--output-file", "%s: is the --events or --report file too", path)
		}
	}
	return Open(flag, path, w.Inputs, w.Outputs)
}

// CheckDirectory refuses a directory that is, or lies inside, an input or output
// of the command.
func (w *Work) CheckDirectory(flag, path string) error {
	for _, out := range slices.Concat(w.Files, w.Outputs) { // outputs need not exist yet
		if paths.Locate(path) == paths.Locate(out) {
			return errs.Optionf("--"+flag, "%s: is the output too; name another", path)
		}
	}
	return apart(flag, path, w.Inputs, w.Outputs)
}

// Events returns the writer for the events of run i, or nil.
func (s *Set) Events(i int) io.Writer {
	if s.events[i] == nil {
		return nil
	}
	return s.events[i]
}

// CloseEvents closes the events file of run i.
func (s *Set) CloseEvents(i int) error { return s.events[i].Close() }

// HasReport reports whether a --report file is wanted.
func (s *Set) HasReport() bool { return s.report != nil }

// Report calls write with the --report file, and closes the file.
func (s *Set) Report(write func(io.Writer) error) error {
	return errors.Join(write(s.report), s.report.Close())
}
