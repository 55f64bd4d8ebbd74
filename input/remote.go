package input

import (
	"errors"
	"io/fs"

	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/paths"
)

// hdfsDevice is the device number in identities of files of HDFS. No local file has it.
const hdfsDevice = 1<<64 - 1

// remoteIdentity returns the identity of a file of HDFS.
func remoteIdentity(f hdfs.File) identity {
	return identity{dev: hdfsDevice, ino: f.ID, mtimeNanos: f.Modified.UnixNano()}
}

// remote adds the files of a path of HDFS that the user named.
func (w *walker) remote(path string) error {
	w.plan.hdfs = w.o.HDFS
	f, err := w.plan.hdfs.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && paths.HasWildcard(path):
		return errs.Inputf(shown(path), "no such file; globs are not expanded on HDFS: name the directory, or each file")
	case errors.Is(err, fs.ErrNotExist):
		return errs.Inputf(shown(path), "no such file or directory")
	case err != nil:
		return errs.Inputf(shown(path), "%w", err)
	case !f.Dir:
		w.visitRemote(path, f, true)
		return nil
	}
	files, hidden, err := w.plan.hdfs.Walk(path, w.o.All)
	if err != nil {
		return errs.Inputf(shown(path), "%w", err)
	}
	for _, f := range files {
		w.visitRemote(f.Name, f, false)
	}
	if w.hidden += hidden; len(files) == 0 {
		w.noFiles(path, hidden)
	}
	return nil
}

// visitRemote adds a file of HDFS. named reports whether the user named it.
func (w *walker) visitRemote(path string, f hdfs.File, named bool) {
	w.plan.Files = append(w.plan.Files, File{Path: path, Bytes: f.Bytes, id: remoteIdentity(f), Rereadable: true, mayRead: true, named: named, kind: inHDFS, blockBytes: f.BlockBytes})
}
