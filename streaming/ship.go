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
	"strings"
	"sync"

	"mrlocal/internal/disk"
	"mrlocal/streaming/parse"
)

// shipped is where the files of the job lie, unpacked once for all attempts, by the first
// that needs them. Work.Close removes them.
type shipped struct {
	once   sync.Once
	err    error
	places map[parse.Shipped]string // where an archive is unpacked, or a file lies alone
	temp   *disk.TempRoot           // that they are in
}

// files0 checks the files that are shipped; each link needs a name of its own.
func (w *Work) files0() error {
	links := map[string]string{}
	for _, f := range w.args.Files {
		if strings.ContainsRune(f.Link, '/') || f.Link == "." || f.Link == ".." {
			return refuse(1, "-files : %s is no name in the working directory", f.Link)
		}
		if before, ok := links[f.Link]; ok && before != f.Path {
			w.o.Warn(fmt.Sprintf("%s and %s have the same name %s in the working directory; the first one counts", before, f.Path, f.Link))
			continue
		}
		links[f.Link] = f.Path
	}
	return nil
}

// workDir makes the working directory of an attempt, with a link for each file that
// the job ships. Without such files the directory is that of this process, "", as
// with Hadoop's local runner. It goes with the Root, which the caller closes. What a kill
// leaves is known to package disk.
func (w *Work) workDir(id taskID, n int) (dir string, temp *disk.TempRoot, err error) {
	if len(w.args.Files) == 0 {
		return "", nil, nil
	}
	w.ship.once.Do(func() { w.ship.err = w.unpack() })
	if w.ship.err != nil {
		return "", nil, w.ship.err
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
		// Two files of one name: the first one counts, as files0 has warned.
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", nil, err
		}
	}
	return dir, temp, nil
}

// link makes one file appear. A program that may not be executed is copied, because
// Hadoop makes its copy executable.
func (w *Work) link(f parse.Shipped, target, at string) error {
	if w.mustBecomeExecutable(f, target) {
		return copyFile(target, at, 0o755)
	}
	return os.Symlink(target, at)
}

// mustBecomeExecutable reports whether a shipped file is a program that may not be executed.
func (w *Work) mustBecomeExecutable(f parse.Shipped, path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 == 0 && w.runs(f.Link)
}

// alone puts a file of -files into a directory of its own, as Hadoop does: what looks beside its
// own file for others, as Python looks for modules, finds none. A file that cannot be linked is copied.
func (w *Work) alone(f parse.Shipped, dir string) (string, error) {
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

// runs reports whether a command of the job is the program of that name.
func (w *Work) runs(name string) bool {
	for _, s := range []*stage{&w.mapper, &w.combiner, &w.reducer} {
		if len(s.words) > 0 && filepath.Clean(s.words[0]) == name {
			return true
		}
	}
	return false
}

// copyFile copies a file that does not exist yet.
func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeFile(to, in, mode)
}

// writeFile writes a new file.
func writeFile(path string, r io.Reader, mode fs.FileMode) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	return errors.Join(err, out.Close())
}

// unpack unpacks the archives of the job. As on a cluster, it also puts each file of -files into a directory of its own.
func (w *Work) unpack() error {
	w.ship.places = map[parse.Shipped]string{}
	w.ship.temp = disk.NewTempRoot([]string{w.o.TempDir}, 0)
	for _, f := range w.args.Files {
		info, err := os.Stat(f.Path)
		apart := (!w.o.Friendly || w.o.Apart) && !f.Packed && err == nil && info.Mode().IsRegular()
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
			if w.ship.places[f], err = w.alone(f, dir); err != nil {
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

// unpackTo unpacks one archive by its suffix. Names that lead out of dir are refused.
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
	// Any other file stays one, in a directory of its own.
	return copyFile(path, filepath.Join(dir, filepath.Base(path)), 0o755)
}

// unzip unpacks a zip archive.
func unzip(root *os.Root, path string) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if f.FileInfo().IsDir() {
			if err := root.MkdirAll(filepath.Clean(f.Name), 0o755); err != nil {
				return err
			}
			continue
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		err = place(root, f.Name, r, f.Mode())
		_ = r.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// untar unpacks a tar archive.
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
		case tar.TypeDir:
			err = root.MkdirAll(filepath.Clean(h.Name), 0o755)
		case tar.TypeReg:
			err = place(root, h.Name, t, fs.FileMode(h.Mode))
		// A link is made as it is. os.Root does not follow one that leads out when a later file
		// is written.
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, filepath.Clean(h.Name))
		}
		if err != nil {
			return err
		}
	}
}

// place writes a file of an archive, with the directories above it. os.Root refuses a
// name that leads out of the directory. A second file of the same name is an error.
func place(root *os.Root, name string, r io.Reader, mode fs.FileMode) error {
	name = filepath.Clean(name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode.Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	return errors.Join(err, out.Close())
}
