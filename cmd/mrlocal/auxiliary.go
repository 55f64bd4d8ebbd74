package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/paths"
	"mrlocal/output"
)

// auxFile is an auxiliary file of a command, or standard output. Work.Open makes it. A nil *auxFile
// stands for a flag that is not set; Close and OnStdout accept it. One goroutine uses it at a time.
type auxFile struct {
	path   string
	parent bool // the first write makes the directory of the file
	format output.Format
	f      *os.File           // nil: not created yet
	pack   *output.Compressor // compresses into f; nil: plain text
	stdout io.Writer          // nil: a file is written
	err    error              // that Write has returned; Close does not return it again
}

// stdout is the path of standard output.
const stdout = "-"

// checkBelow checks that path can be written after the missing directories above it are created. It
// creates nothing. flag is the name of the flag, for its options error.
func checkBelow(flag, path string) error {
	// at becomes path or the nearest directory above it that exists.
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
		err = disk.MayWrite(at)
	}
	if err != nil {
		return errs.Optionf("--"+flag, "%s: %v", at, errs.Cause(err))
	}
	return nil
}

// unlessGone returns err, or nil if the file is standard output and err says that the reader of its
// pipe has closed it. A run must not fail because the reader of its events has ended.
func (s *auxFile) unlessGone(err error) error {
	if errors.Is(err, syscall.EPIPE) && (s.stdout != nil || isOpen("/dev/stdout", s.f)) {
		return nil
	}
	return err
}

// Write writes p to the file, which the first call creates or truncates. If the pipe of standard
// output is closed, Write drops p and returns no error.
func (s *auxFile) Write(p []byte) (int, error) {
	if s.stdout != nil {
		if n, err := s.stdout.Write(p); s.unlessGone(err) != nil {
			return n, err
		}
		return len(p), nil
	}
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.write(p)
	if s.err = s.unlessGone(err); s.err != nil {
		return n, s.err
	}
	return len(p), nil
}

// write is Write for a file.
func (s *auxFile) write(p []byte) (int, error) {
	if s.f == nil {
		if s.parent {
			if err := os.MkdirAll(filepath.Dir(s.path), 0o777); err != nil {
				return 0, err
			}
		}
		f, err := create(s.path)
		if err != nil {
			return 0, err
		}
		s.f = f
		if s.format != output.None {
			if s.pack, err = output.NewCompressor(s.format, f); err != nil {
				return 0, err
			}
		}
	}
	if s.pack != nil {
		return s.pack.Write(p)
	}
	return s.f.Write(p)
}

// Close completes and closes the file if it was created. It returns no error that Write has
// returned.
func (s *auxFile) Close() error {
	if s == nil || s.f == nil {
		return nil
	}
	if s.pack == nil || s.err != nil {
		return s.f.Close()
	}
	return errors.Join(s.unlessGone(s.pack.Close()), s.f.Close())
}

// work lists what a command reads and writes. An auxiliary file must not be one of these, or lie
// within one.
type work struct {
	Inputs  []string // files, directories, globs
	Outputs []string // files, directories; "" is none

	// Stdout is the standard output for auxiliary files. nil: the result goes there, and the path - is
	// refused.
	Stdout io.Writer

	taken map[string]target // what flags write to, by place
}

// target is what a flag writes to.
type target struct {
	flag      string
	directory bool
}

// Open checks that the auxiliary file of that path can be written, and that the command does not
// read or write it otherwise. It does not create the file. A file whose name ends in .gz or .zst is
// compressed. flag is the name of the flag, for its options error. The path - is standard output. Open
// returns nil if path is "".
func (w *work) Open(flag, path string) (*auxFile, error) {
	if path == "" {
		return nil, nil
	}
	if err := w.writesTo(flag, path, false); err != nil {
		return nil, err
	}
	if path == stdout {
		if w.Stdout == nil {
			return nil, errs.Optionf("--"+flag, "-: standard output has the result; name a file for one of them")
		}
		return &auxFile{path: path, stdout: w.Stdout}, nil
	}
	if err := w.checkOutputs(flag, path); err != nil {
		return nil, err
	}
	format, err := output.BySuffix.Of(path)
	if err != nil {
		return nil, errs.Optionf("--"+flag, "%s: is not written as %s; end the name in .gz or .zst, or in something else", path, filepath.Ext(path))
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil, errs.Optionf("--"+flag, "%s: is a directory; name a file", path)
	}
	// A device or pipe, such as /dev/null, cannot be destroyed, so it may also be an input or an
	// output.
	if err != nil || info.Mode().IsRegular() {
		if err := w.checkApart(flag, path); err != nil {
			return nil, err
		}
	}
	at := path
	if errors.Is(err, fs.ErrNotExist) { // the first write creates the file, so its directory must exist now
		at = filepath.Dir(path)
		if info, err = os.Stat(at); err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
	}
	if err == nil {
		err = disk.MayWrite(at)
	}
	if err != nil {
		return nil, errs.Optionf("--"+flag, "%s: %v", at, errs.Cause(err))
	}
	return &auxFile{path: path, format: format}, nil
}

// CheckDirectory returns an options error if the directory path is an input or an output of the
// command, or lies within one, or if another flag writes to a file of those names in it.
func (w *work) CheckDirectory(flag, path string, names []string) error {
	err := cmp.Or(w.writesTo(flag, path, true), w.checkOutputs(flag, path), w.checkApart(flag, path))
	for _, name := range names {
		err = cmp.Or(err, w.writesTo(flag, filepath.Join(path, name), false))
	}
	return err
}

// writesTo notes that a flag writes to path. Several flags may name one directory, or one device.
func (w *work) writesTo(flag, path string, directory bool) error {
	at := path
	if path != stdout {
		at = paths.Locate(path) // one place for two names of a file, by links or by relative paths
	}
	if other, ok := w.taken[at]; ok && !(other.directory && directory) && !device(path) {
		return errs.Optionf("--"+other.flag+", --"+flag, "%s: name two different files", path)
	}
	if w.taken == nil {
		w.taken = map[string]target{}
	}
	w.taken[at] = target{flag, directory}
	return nil
}

// checkApart returns an options error if path is an input or an output of the run, or lies within one.
func (w *work) checkApart(flag, path string) error {
	place := paths.Locate(path)
	// Expand turns globs among the inputs into paths.
	if in, ok := paths.Enclosing(place, paths.Expand(w.Inputs)); ok {
		if other, err := os.Stat(in); err == nil && !other.IsDir() {
			return errs.Optionf("--"+flag, "%s: is an input of the run", path)
		}
		return errs.Optionf("--"+flag, "%s: lies inside the input %s; give a name outside", path, in)
	}
	if out, ok := paths.Enclosing(place, w.Outputs); ok {
		return errs.Optionf("--"+flag, "%s: lies inside the output %s; give a name outside", path, out)
	}
	return nil
}

// checkOutputs returns an options error if path is an output, which may not exist yet.
func (w *work) checkOutputs(flag, path string) error {
	for _, out := range w.Outputs {
		if out != "" && paths.Locate(path) == paths.Locate(out) {
			return errs.Optionf("--"+flag, "%s: is the output too; name another", path)
		}
	}
	return nil
}

// OnStdout reports whether the file is standard output.
func (s *auxFile) OnStdout() bool { return s != nil && s.stdout != nil }

// withSuffix returns path with suffix at the end of its last name. It returns "", "-" and the path of a
// device as they are. So with --events /dev/null, the device gets the events of all runs.
func withSuffix(path, suffix string) string {
	if path == "" || path == stdout || suffix == "" || device(path) {
		return path
	}
	return filepath.Clean(path) + suffix
}

// device reports whether path exists and is neither a directory nor a regular file.
func device(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && !info.Mode().IsRegular()
}

// Save calls write with the file, and closes it. If the file cannot be written as a whole, Save removes it, unless it
// is a device.
func (s *auxFile) Save(write func(io.Writer) error) error {
	err := write(s)
	if err = cmp.Or(err, s.Close()); err == nil {
		return nil
	}
	if info, stat := os.Stat(s.path); s.stdout == nil && stat == nil && info.Mode().IsRegular() {
		if removed := os.Remove(s.path); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return fmt.Errorf("%s: %w", errs.Quote(s.path), err)
}

// Replace writes text as the whole file, and closes it. It completes a temporary file first, so that an
// existing file stays as it is after an error. It writes a device, a pipe and a compressed file directly.
func (s *auxFile) Replace(text []byte) error {
	if s.stdout != nil || device(s.path) || s.format != output.None {
		_, err := s.Write(text)
		return errors.Join(err, s.Close())
	}
	f, err := disk.Beside(s.path)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return disk.Publish(disk.Of(f), s.path)
}

// eventFile reads a recorded run or a trace from a file or from standard input. It decodes a
// compressed one, which it detects by its first bytes. One goroutine uses it.
type eventFile struct {
	name     string // for messages
	ctx      context.Context
	from     io.Reader
	file     *os.File // is from; nil: standard input
	decoders codec.Decoders
	text     io.Reader // the decoded events; nil: nothing was read yet
	at       int64     // decoded bytes that were read
}

// OpenEvents opens the event file of that path, or takes stdin if the path is -. It fails with an input error, also
// if the path is that of a directory. Once ctx has ended, Read fails with its cause; a Read that waits is not
// interrupted. The caller closes the result.
func OpenEvents(ctx context.Context, path string, stdin io.Reader) (*eventFile, error) {
	if path == stdout { // the path - is standard input here
		return &eventFile{name: errs.Quote("standard input"), ctx: ctx, from: stdin}, nil
	}
	name := errs.Quote(path)
	f, err := os.Open(path)
	if err != nil {
		return nil, errs.Inputf(name, "%v", errs.Cause(err))
	}
	// The error of reading a directory would be less clear.
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, errs.Inputf(name, "is a directory; name a file")
	}
	return &eventFile{name: name, ctx: ctx, from: f, file: f}, nil
}

// openEvents opens the event file that the only word names, or standard input for -, as OpenEvents does.
func openEvents(ctx context.Context, e Env, words []string) (*eventFile, error) {
	if len(words) != 1 {
		return nil, errs.Inputf("", "name one EVENTS file; --events FILE of run, batch and sim writes one")
	}
	return OpenEvents(ctx, words[0], e.Stdin)
}

// Read reads decoded text. The error of a corrupt file has the place of the error in the decoded text.
func (e *eventFile) Read(p []byte) (n int, err error) {
	if e.ctx.Err() != nil {
		return 0, context.Cause(e.ctx)
	}
	if e.text == nil {
		if e.text, err = e.decoders.Open(e.from, false); err != nil {
			return 0, e.decoders.Explain(err, e.at)
		}
	}
	n, err = e.text.Read(p)
	if e.at += int64(n); err != nil && err != io.EOF {
		err = e.decoders.Explain(err, e.at)
	}
	return n, err
}

// Seekable returns the events as a reader that can be read again from its start. It is e itself for
// a regular file. Otherwise Seekable reads all events into memory, and fails
// if they are more than mostInMemory.
func (e *eventFile) Seekable() (io.ReadSeeker, error) {
	// Only a regular file can be read from its start again.
	if e.file != nil {
		if info, err := e.file.Stat(); err == nil && info.Mode().IsRegular() {
			return e, nil
		}
	}
	text, err := io.ReadAll(io.LimitReader(e, mostInMemory+1))
	if len(text) > mostInMemory {
		err = fmt.Errorf("more than %d MiB of events that can be read only once; name a file", mostInMemory>>20)
	}
	if err != nil {
		return nil, errs.Inputf(e.name, "%v", err)
	}
	return bytes.NewReader(text), nil
}

// mostInMemory bounds the events that are kept in memory, in bytes.
const mostInMemory = 256 << 20

// Seek goes back to the start of a regular file. Any other seek is an error.
func (e *eventFile) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart || e.file == nil {
		return 0, errors.New("events are read from their start only")
	}
	e.decoders.Close()
	e.decoders, e.text, e.at = codec.Decoders{}, nil, 0
	return e.file.Seek(0, io.SeekStart)
}

// Close closes the file. Standard input stays open.
func (e *eventFile) Close() error {
	e.decoders.Close()
	if e.file == nil {
		return nil
	}
	return e.file.Close()
}
