package process

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"mrlocal/errs"
	"mrlocal/internal/paths"
	"mrlocal/output/compress"
)

// AuxFile is an auxiliary file, or standard output. A nil AuxFile stands for a flag that
// is not set; Close accepts it.
type AuxFile struct {
	path   string
	format compress.Format
	f      *os.File
	pack   *compress.Writer // of f; nil: plain text
	stdout io.Writer        // nil: a file is written
}

// stdout is the path that stands for standard output.
const stdout = "-"

// openAuxFile checks that the file can be written and is neither an input nor an
// output of the run; it does not create the file. The flag is for messages. A path that ends
// in .gz or .zst is that of a compressed file. openAuxFile returns nil if path is empty.
func openAuxFile(flag, path string, inputs, outputs []string) (*AuxFile, error) {
	if path == "" {
		return nil, nil
	}
	format, err := compress.BySuffix.Of(path)
	if err != nil {
		return nil, errs.Optionf("--"+flag, "%s: is not written as %s; end the name in .gz or .zst, or in something else", path, filepath.Ext(path))
	}
	// Devices and pipes, such as /dev/null, are neither inputs nor outputs that could be
	// destroyed.
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil, errs.Optionf("--"+flag, "%s: is a directory; name a file", path)
	}
	if err != nil || info.Mode().IsRegular() {
		if err := apart(flag, path, inputs, outputs); err != nil {
			return nil, err
		}
	}
	switch {
	case err == nil:
		// The check comes before the run: a wrong path must not cost hours of work.
		if err := writable(path); err != nil {
			return nil, errs.Optionf("--"+flag, "%s: %v", path, errs.Cause(err))
		}
	case errors.Is(err, fs.ErrNotExist):
		// The file will be made at the first write. Its directory has to be there already.
		parent := filepath.Dir(path)
		if info, err := os.Stat(parent); err != nil {
			return nil, errs.Optionf("--"+flag, "%s: %v", parent, errs.Cause(err))
		} else if !info.IsDir() {
			return nil, errs.Optionf("--"+flag, "%s: not a directory", parent)
		}
		if err := writable(parent); err != nil {
			return nil, errs.Optionf("--"+flag, "%s: cannot be made: %v", path, errs.Cause(err))
		}
	default:
		return nil, errs.Optionf("--"+flag, "%s: %v", path, errs.Cause(err))
	}
	return &AuxFile{path: path, format: format}, nil
}

// CheckBelow checks that path can be written once the directories above it are
// made. It makes nothing.
func CheckBelow(flag, path string) error {
	// at goes up to the nearest directory that exists.
	at := path
	info, err := os.Stat(at)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at {
		at = filepath.Dir(at)
		info, err = os.Stat(at)
	}
	switch {
	case err != nil:
	case at == path && info.IsDir():
		err = syscall.EISDIR
	case at != path && !info.IsDir():
		err = syscall.ENOTDIR
	default:
		err = writable(at)
	}
	if err != nil {
		return errs.Optionf("--"+flag, "%s: %v", at, errs.Cause(err))
	}
	return nil
}

// apart refuses a path that is, or lies inside, an input or output of the run.
func apart(flag, path string, inputs, outputs []string) error {
	place := paths.Locate(path)
	// Inputs may be globs.
	if in, ok := paths.Enclosing(place, paths.Expand(inputs)); ok {
		if other, err := os.Stat(in); err == nil && !other.IsDir() {
			return errs.Optionf("--"+flag, "%s: is an input of the run", path)
		}
		return errs.Optionf("--"+flag, "%s: lies inside the input %s; give a name outside", path, in)
	}
	if out, ok := paths.Enclosing(place, outputs); ok {
		return errs.Optionf("--"+flag, "%s: lies inside the output %s; give a name outside", path, out)
	}
	return nil
}

// Write creates the file at the first call. If the reader of standard output has gone,
// that is no error.
func (s *AuxFile) Write(p []byte) (int, error) {
	if s.stdout != nil {
		// The run goes on without a reader of its events: its result matters more.
		if _, err := s.stdout.Write(p); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.ErrClosedPipe) {
			return 0, err
		}
		return len(p), nil
	}
	if s.f == nil {
		f, err := create(s.path)
		if err != nil {
			return 0, err
		}
		s.f = f
		if s.format != compress.None {
			if s.pack, err = compress.NewWriter(s.format, f); err != nil {
				return 0, err
			}
		}
	}
	if s.pack != nil {
		return s.pack.Write(p)
	}
	return s.f.Write(p)
}

// Close closes the file if it was created.
func (s *AuxFile) Close() error {
	if s == nil || s.f == nil {
		return nil
	}
	if s.pack == nil {
		return s.f.Close()
	}
	return errors.Join(s.pack.Close(), s.f.Close())
}

// Work lists what a command reads and writes. Auxiliary files must lie outside.
type Work struct {
	Inputs  []string // files, directories, globs
	Outputs []string // directories
	Files   []string // outputs of one file

	// Stdout is where the path - writes; nil: the result goes there, and - is refused.
	Stdout io.Writer
}

// AuxFiles holds the auxiliary files of one run, or of several runs, one for each
// policy.
type AuxFiles struct {
	events []*AuxFile
	report *AuxFile
}

// OpenAuxFiles checks the --events file of each run and the --report file of all. A
// single run writes its events to eventsPath; several runs write to
// eventsPath.NAME, or all to eventsPath if it is a device. Both paths may be empty.
func OpenAuxFiles(names []string, eventsPath, reportPath string, w Work) (*AuxFiles, error) {
	// One path a run; "" for none.
	events := make([]string, len(names))
	for i, name := range names {
		switch {
		case eventsPath == "":
		case len(names) == 1:
			events[i] = eventsPath
		case eventsPath == stdout:
			return nil, errs.Optionf("--events", "-: standard output takes the events of one run, and there are %d policies", len(names))
		default:
			events[i] = WithSuffix(eventsPath, "."+name)
		}
	}
	s := &AuxFiles{}
	for _, path := range events {
		f, err := w.Open("events", path)
		if err != nil {
			return nil, err
		}
		// A file of one of several policies is compressed as the name of the user says.
		if f != nil && len(names) > 1 {
			if f.format, err = compress.BySuffix.Of(eventsPath); err != nil {
				return nil, errs.Optionf("--events", "%s: end the name in .gz or .zst, or in something else", eventsPath)
			}
		}
		s.events = append(s.events, f)
	}
	var err error
	s.report, err = w.Open("report", reportPath)
	return s, err
}

// Open checks that an auxiliary file can be written and is neither read nor written by
// the command. It does not create the file. The flag is for messages. The path - is
// standard output. Open returns nil if path is empty.
func (w *Work) Open(flag, path string) (*AuxFile, error) {
	if path == stdout {
		if w.Stdout == nil {
			return nil, errs.Optionf("--"+flag, "-: standard output has the result; name a file for one of them")
		}
		return &AuxFile{path: path, stdout: w.Stdout}, nil
	}
	for _, file := range w.Files {
		if path != "" && paths.Locate(path) == paths.Locate(file) {
			return nil, errs.Optionf("--output-file", "%s: is the --events or --report file too", path)
		}
	}
	for _, dir := range w.Outputs { // they need not exist yet
		if path != "" && dir != "" && paths.Locate(path) == paths.Locate(dir) {
			return nil, errs.Optionf("--"+flag, "%s: is a directory of the run; name another file", path)
		}
	}
	return openAuxFile(flag, path, w.Inputs, w.Outputs)
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
func (s *AuxFiles) Events(i int) io.Writer {
	if s.events[i] == nil {
		return nil
	}
	return s.events[i]
}

// CloseEvents closes the events file of run i.
func (s *AuxFiles) CloseEvents(i int) error { return s.events[i].Close() }

// OnStdout reports whether one of the files is standard output.
func (s *AuxFiles) OnStdout() bool {
	// The bound of the slice makes append copy it.
	return slices.ContainsFunc(append(s.events[:len(s.events):len(s.events)], s.report), (*AuxFile).OnStdout)
}

// OnStdout reports whether the file is standard output.
func (s *AuxFile) OnStdout() bool { return s != nil && s.stdout != nil }

// HasReport reports whether a --report file is wanted.
func (s *AuxFiles) HasReport() bool { return s.report != nil }

// Report calls write with the --report file, and closes the file.
func (s *AuxFiles) Report(write func(io.Writer) error) error {
	// The file is closed after an error too, and both errors count.
	return errors.Join(write(s.report), s.report.Close())
}

// WithSuffix returns path with a suffix at its last name. A device gets no suffix.
func WithSuffix(path, suffix string) string {
	// A suffix would name a file in /dev. As in --events /dev/null: the device takes the output of
	// all runs.
	if path == "" || suffix == "" || Device(path) {
		return path
	}
	return filepath.Clean(path) + suffix
}

// Device reports whether path exists and is neither a directory nor a regular file.
func Device(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && !info.Mode().IsRegular()
}

// Replace writes the whole file at once: beside it first, then by its name. So an existing file
// stays whole if something fails. A device or pipe is written directly.
func (s *AuxFile) Replace(text []byte) error {
	if s.stdout != nil || Device(s.path) || s.format != compress.None {
		_, err := s.Write(text)
		return errors.Join(err, s.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(s.path), "."+filepath.Base(s.path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// MakeParents makes the missing directories above outputs; "" is none. It returns those it
// made, the deepest ones last.
func MakeParents(outputs []string) (made []string, err error) {
	for _, out := range outputs {
		if out == "" {
			continue
		}
		// missing has the deepest directory first, so it is made from the end.
		var missing []string
		for dir := filepath.Dir(filepath.Clean(out)); ; dir = filepath.Dir(dir) {
			// The root is its own parent, so the loop ends there.
			if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
				break
			}
			missing = append(missing, dir)
		}
		for n := len(missing) - 1; n >= 0; n-- {
			// The caller removes what was made, after an error too.
			if err := os.Mkdir(missing[n], 0o777); err != nil {
				return made, errs.Optionf("output "+errs.OneLine(out), "%s: %v", missing[n], errs.Cause(err))
			}
			made = append(made, missing[n])
		}
	}
	return made, nil
}

// RemoveEmpty removes the directories that are empty.
func RemoveEmpty(dirs []string) {
	// The deepest directories come first, because only empty ones can be removed.
	for i := len(dirs) - 1; i >= 0; i-- {
		_ = os.Remove(dirs[i]) // fails if the directory is not empty
	}
}
