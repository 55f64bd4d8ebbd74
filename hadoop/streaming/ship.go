package streaming

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal/internal/disk"
)

// shipped holds the archives that the job has unpacked, and the files that lie in directories
// of their own. The first attempt that needs them unpacks them for all. Work.Close removes them.
type shipped struct {
	unpack func() error       // Work.unpack, once
	places map[Shipped]string // the directory of an archive, or the path of a file's copy
	temp   *disk.TempRoot     // holds all places; nil: nothing was unpacked
}

// checkShipped checks the names that shipped files have in the working directory. It refuses
// one that is a path, and warns of two files with one name.
func (w *Work) checkShipped() error {
	links := map[string]string{} // from the name to the path of the file
	for _, f := range w.args.Files {
		if strings.ContainsRune(f.Link, '/') || f.Link == "." || f.Link == ".." {
			return refuse(1, "-files : %s is not a name in the working directory", f.Link)
		}
		if before, ok := links[f.Link]; ok && before != f.Path {
			w.o.Warn(fmt.Sprintf("%s and %s have the same name %s in the working directory; the first one counts", before, f.Path, f.Link))
			continue
		}
		links[f.Link] = f.Path
	}
	return nil
}

// workDir makes the working directory of attempt n at a task, with a link for each file that
// the job ships. The caller closes temp, which removes the directory. Without shipped files
// dir is "" and temp is nil: the command runs in the directory of this process, as with
// Hadoop's local runner. After a kill of this process, package disk removes the directory.
func (w *Work) workDir(id taskID, n int) (dir string, temp *disk.TempRoot, err error) {
	if len(w.args.Files) == 0 {
		return "", nil, nil
	}
	if err := w.ship.unpack(); err != nil {
		return "", nil, err
	}
	temp = disk.NewTempRoot([]string{w.o.TempDir}, 0)
	defer func() {
		if err != nil {
			err = errors.Join(err, temp.Close())
		}
	}()
	if dir, err = temp.Dir(); err == nil {
		dir = filepath.Join(dir, attemptName(id, n))
		err = os.Mkdir(dir, 0o777)
	}
	if err != nil {
		return "", nil, err
	}
	for _, f := range w.args.Files {
		target := f.Path
		if place, ok := w.ship.places[f]; ok {
			target = place
		}
		err := w.link(f, target, filepath.Join(dir, f.Link))
		// Of two files with one name the first one counts; checkShipped has warned.
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", nil, err
		}
	}
	return dir, temp, nil
}

// link makes the shipped file f appear at the path at, as a link to target. A program that is
// not executable is copied instead, because Hadoop makes its copy executable.
func (w *Work) link(f Shipped, target, at string) error {
	if w.mustBecomeExecutable(f, target) {
		return copyFile(target, at, 0o755)
	}
	return os.Symlink(target, at)
}

// mustBecomeExecutable reports whether a shipped file, which lies at path, is the program of a
// command and is not executable.
func (w *Work) mustBecomeExecutable(f Shipped, path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 == 0 && w.isProgram(f.Link)
}

// putAlone puts a file of -files into the empty directory dir, as Hadoop does, and returns its
// path. A program that looks for others next to its own file, as Python looks for modules, then
// finds none. A file that cannot be linked, such as one on another disk, is copied.
func (w *Work) putAlone(f Shipped, dir string) (string, error) {
	at := filepath.Join(dir, filepath.Base(f.Path))
	from, err := filepath.EvalSymlinks(f.Path)
	switch {
	case err != nil:
		return "", err
	case w.mustBecomeExecutable(f, from):
		return at, copyFile(from, at, 0o755)
	}
	if os.Link(from, at) == nil {
		return at, nil
	}
	info, err := os.Stat(from)
	if err != nil {
		return "", err
	}
	return at, copyFile(from, at, info.Mode().Perm())
}

// isProgram reports whether name, in the working directory, is the program of a command.
func (w *Work) isProgram(name string) bool {
	return slices.ContainsFunc([]*stage{&w.mapper, &w.combiner, &w.reducer}, func(s *stage) bool {
		return len(s.words) > 0 && filepath.Clean(s.words[0]) == name
	})
}

// copyFile copies the file from to the path to. It fails if to exists.
func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// unpack unpacks the archives of the job, and fills in w.ship.places. In a strict run, or with
// Options.SeparateFiles, it also puts each file of -files into a directory of its own, as a cluster does.
func (w *Work) unpack() error {
	w.ship.places = map[Shipped]string{}
	w.ship.temp = disk.NewTempRoot([]string{w.o.TempDir}, 0)
	for _, f := range w.args.Files {
		info, err := os.Stat(f.Path)
		apart := (!w.o.Friendly || w.o.SeparateFiles) && !f.Packed && err == nil && info.Mode().IsRegular()
		if _, done := w.ship.places[f]; !f.Archive && !apart || done {
			continue
		}
		dir, err := w.ship.temp.Dir()
		if err == nil {
			dir, err = os.MkdirTemp(dir, "shipped_")
		}
		if err != nil {
			return err
		}
		if !f.Archive {
			if w.ship.places[f], err = w.putAlone(f, dir); err != nil {
				return fmt.Errorf("-files: %s: %w", f.Path, err)
			}
			continue
		}
		if err := unpackTo(dir, f.Path); err != nil {
			return fmt.Errorf("-archives: %s: %w", f.Path, err)
		}
		w.ship.places[f] = dir
	}
	return nil
}

// unpackTo unpacks the archive at path into dir. The suffix of path gives its format. It fails
// if a name in the archive leads out of dir.
func unpackTo(dir, path string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	name := strings.ToLower(path)
	switch {
	case strings.HasSuffix(name, ".zip") || strings.HasSuffix(name, ".jar"):
		return unzip(root, path)
	case strings.HasSuffix(name, ".tar") || strings.HasSuffix(name, ".tgz") || strings.HasSuffix(name, ".tar.gz"):
		return untar(root, path, !strings.HasSuffix(name, ".tar"))
	}
	// A file with another suffix is copied as it is, as Hadoop does.
	return copyFile(path, filepath.Join(dir, filepath.Base(path)), 0o755)
}

// unzip unpacks the zip archive at path into root.
func unzip(root *os.Root, path string) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if err := place(root, f.Name, f.Mode(), f.Open); err != nil {
			return err
		}
	}
	return nil
}

// untar unpacks the tar archive at path into root. packed says that gzip compresses it.
func untar(root *os.Root, path string, packed bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	if packed {
		if r, err = gzip.NewReader(f); err != nil {
			return err
		}
	}
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir, tar.TypeReg:
			err = place(root, h.Name, h.FileInfo().Mode(), func() (io.ReadCloser, error) { return io.NopCloser(t), nil })
		// A link may lead out of root. os.Root does not follow it when a later file is written.
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, filepath.Clean(h.Name))
		}
		if err != nil {
			return err
		}
	}
}

// place makes a directory of an archive, or writes a file of it, which open opens, and makes the directories
// above it. It fails if name leads out of root, or if the file exists already.
func place(root *os.Root, name string, mode fs.FileMode, open func() (io.ReadCloser, error)) error {
	name = filepath.Clean(name)
	if mode.IsDir() {
		return root.MkdirAll(name, 0o755)
	}
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode.Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
