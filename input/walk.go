package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/paths"
)

// walker finds files and adds them to a plan. All its errors are of kind errs.BadInput.
type walker struct {
	plan   *Plan
	o      Options
	euid   int32    // effective user of the process
	hidden int      // names left out because of their first letter
	pipes  int      // FIFOs found in directories, and left out
	loops  []string // links and directories that lead back to a directory above them, and are left out
	empty  []string // notes on directories that the user named and that have no file

	stdinNamed bool // standard input is among the files
}

// stat holds the attributes of a path that the walk needs.
type stat struct {
	bytes      int64
	id         identity
	ctimeNanos int64       // of the last change of content or attributes; 0 if it is not known
	mode       fs.FileMode // only the type
	owner      int32       // user number; -1 if it is not known
	ownerReads bool        // the mode lets the owner read
	readable   bool        // the system was asked, and the process may read it
}

// named adds the files of one path that the user named.
func (w *walker) named(path string) error {
	switch path {
	case "":
		return errs.Inputf("", "an empty path names no input")
	case "-":
		return w.stdin()
	}
	if hdfs.Is(path) {
		return w.remote(path)
	}
	st, err := statPath(path)
	if err == nil {
		return w.visit(path, st, true)
	}
	// A link whose target is missing is a mistake, and no glob.
	if _, lerr := disk.Lstat(path); lerr == nil {
		return dangling(path, err)
	}
	if errors.Is(err, fs.ErrNotExist) && paths.HasWildcard(path) {
		return w.glob(path)
	}
	return errs.Inputf(shown(path), "%w", errs.Cause(err))
}

// stdin adds standard input. If it is a regular file, what lies behind its offset can be divided.
// Otherwise it is a stream.
func (w *walker) stdin() error {
	if w.o.Stdin == nil {
		return errs.Inputf("-", "there is no standard input")
	}
	f := File{Path: "(standard input)", Stream: true, kind: stdin, named: true, spent: w.stdinNamed}
	// If the user names it again, it counts as read to its end, even if it is a regular file. Other
	// readers, terminals, pipes and sockets stay streams.
	if file, ok := w.o.Stdin.(*os.File); ok && !w.stdinNamed {
		fi, err := file.Stat()
		if err != nil {
			return errs.Inputf("-", "standard input: %w", errs.Cause(err))
		}
		if fi.IsDir() {
			return errs.Inputf("-", "standard input is a directory")
		}
		if fi.Mode().IsRegular() {
			f.id, f.ctimeNanos = identityOf(fi), ctimeNanos(fi)
			// A size of 0 means nothing in /proc, so such a file stays a stream.
			if at, err := file.Seek(0, io.SeekCurrent); err == nil && at < fi.Size() {
				f.Bytes = fi.Size() - at
				f.Stream = false
				f.Rereadable = true
				f.kind = regularStdin
				w.plan.stdinAt = at
				if w.o.OnStdin != nil {
					w.o.OnStdin(file, at, f.Bytes, w.plan.first+int32(len(w.plan.Files)))
				}
			}
		}
	}
	w.stdinNamed = true
	w.plan.Files = append(w.plan.Files, f)
	return nil
}

// visit adds the files of a path that exists. named reports whether the user named it; if not, it
// was found in a directory or by a glob. visit may also only count a file that is left out.
func (w *walker) visit(path string, st stat, named bool) error {
	switch st.mode.Type() {
	case fs.ModeDir:
		return w.gather(path, named)
	case 0:
		// If mayRead is false, the plan asks the system later, which knows groups and ACLs.
		mayRead := st.readable || st.ownerReads && st.owner == w.euid
		w.plan.Files = append(w.plan.Files, File{Path: path, Bytes: st.bytes, id: st.id, ctimeNanos: st.ctimeNanos, Rereadable: true, mayRead: mayRead, named: named})
		return nil
	case fs.ModeNamedPipe:
		// A FIFO without a writer would block the run. So only one that the user names is read.
		if !named {
			w.pipes++
			return nil
		}
		if err := disk.MayRead(path); err != nil {
			return errs.Inputf(shown(path), "%w", errs.Cause(err))
		}
		w.plan.Files = append(w.plan.Files, File{Path: path, id: st.id, Stream: true, kind: fifo})
		return nil
	case fs.ModeSocket:
		return errs.Inputf(shown(path), "is a socket, not a file")
	}
	if st.mode&fs.ModeDevice != 0 {
		// /dev/zero has no end, and reading a device may change it.
		return errs.Inputf(shown(path), "is a device, not a file; use - for standard input")
	}
	return errs.Inputf(shown(path), "is neither a file nor a directory")
}

// glob adds the files that match a pattern, in the order of byPath, as for directories.
func (w *walker) glob(pattern string) error {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return errs.Inputf(shown(pattern), "no such file, and as a glob: %w", err)
	}
	var entries []entry
	for _, path := range matches {
		if !w.o.All && hiddenMatch(pattern, path) {
			w.hidden++
			continue
		}
		st, err := statPath(path)
		if err != nil {
			return dangling(path, err)
		}
		entries = append(entries, entry{path: path, stat: st})
	}
	if len(entries) == 0 {
		return errs.Inputf(shown(pattern), "no such file, and no file matches it as a glob")
	}
	slices.SortFunc(entries, func(a, b entry) int { return byPath(&a, &b) })
	for _, e := range entries {
		if err := w.visit(e.path, e.stat, false); err != nil {
			return err
		}
	}
	return nil
}

// notes adds to the plan a note for each kind of name that was left out.
func (w *walker) notes() {
	note := func(format string, args ...any) { w.plan.Notes = append(w.plan.Notes, fmt.Sprintf(format, args...)) }
	if w.hidden > 0 {
		note("skipped %s starting with . or _ (the option all takes them)", errs.Counted(w.hidden, "name"))
	}
	if w.pipes > 0 {
		note("skipped %s found in directories; name one to read it", errs.Counted(w.pipes, "FIFO"))
	}
	for i, path := range w.loops {
		// Three loops are named. The rest is counted, if there are at least two more.
		if i == 3 && len(w.loops) > 4 {
			note("skipped %d more loops of links", len(w.loops)-i)
			break
		}
		note("skipped %s: a link that leads back to itself", shown(path))
	}
	w.plan.Notes = append(w.plan.Notes, w.empty...)
}

// noFiles notes that a named directory has no files. hidden is the number of names that were left out of it. They
// move to this note from that on all names left out.
func (w *walker) noFiles(path string, hidden int) {
	text := "no files in " + shown(path)
	if hidden > 0 {
		text += " but " + errs.Counted(hidden, "name") + " starting with . or _ (the option all takes them)"
	}
	w.hidden -= hidden
	w.empty = append(w.empty, text)
}

// dangling returns the error of a path that exists, but whose attributes cannot be taken. err is
// the error of that.
func dangling(path string, err error) error {
	switch {
	case isLinkLoop(err):
		return errs.Inputf(shown(path), "a link that leads back to itself")
	case errors.Is(err, fs.ErrNotExist):
		target, _ := os.Readlink(path)
		return errs.Inputf(shown(path), "dangling link to %s", shown(target))
	}
	return errs.Inputf(shown(path), "%w", errs.Cause(err))
}

// isLinkLoop reports whether following a link has failed because the link leads back to itself.
func isLinkLoop(err error) bool { return errors.Is(err, syscall.ELOOP) }

// hiddenMatch reports whether a wildcard at the start of a name has matched a dot. In a shell it
// does not match a dot.
func hiddenMatch(pattern, path string) bool {
	// A wildcard does not match a slash, so path has as many names as the pattern.
	pats := strings.FieldsFunc(pattern, isSlash)
	names := strings.FieldsFunc(path, isSlash)
	if len(pats) != len(names) {
		return false
	}
	for i, name := range names {
		if name[0] == '.' && pats[i][0] != '.' && pats[i][0] != '\\' {
			return true
		}
	}
	return false
}

func isSlash(r rune) bool { return r == '/' || r == filepath.Separator }
