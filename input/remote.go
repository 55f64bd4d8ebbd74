package input

import (
	"errors"
	"io/fs"

	"mrlocal/errs"
	"mrlocal/hdfs"
	"mrlocal/internal/paths"
)

// hdfsDevice stands for HDFS in identities, where local files have the number of their device.
const hdfsDevice = 1<<64 - 1

// remoteStat takes the attributes of the file that has the path of r now.
func remoteStat(r *hdfs.Reader) (stat, error) {
	f, err := r.Stat()
	return stat{bytes: f.Bytes, id: remoteIdentity(f)}, err
}

func remoteIdentity(f hdfs.File) identity {
	return identity{dev: hdfsDevice, ino: f.ID, mtimeNanos: f.Modified.UnixNano()}
}

// remote adds the files of a path of HDFS that the user named.
func (w *walker) remote(path string) error {
	if w.plan.hdfs == nil {
		w.plan.hdfs = hdfs.New(w.o.HDFS)
	}
	f, err := w.plan.hdfs.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && paths.HasWildcard(path):
		return errs.Inputf(shown(path), "no such file; globs are not expanded on HDFS: name the directory, or each file")
	case errors.Is(err, fs.ErrNotExist):
		return errs.Inputf(shown(path), "no such file or directory")
	case err != nil:
		return errs.Inputf(shown(path), "%w", err)
	case !f.Dir:
		w.takeRemote(path, f, true)
		return nil
	}
	files, hidden, err := w.plan.hdfs.Walk(path, w.o.All)
	if err != nil {
		return errs.Inputf(shown(path), "%w", err)
	}
	for _, f := range files {
		w.takeRemote(f.Name, f, false)
	}
	if w.hidden += hidden; len(files) == 0 {
		w.empty = append(w.empty, path)
	}
	return nil
}

// takeRemote adds a file of HDFS.
func (w *walker) takeRemote(path string, f hdfs.File, named bool) {
	w.plan.Files = append(w.plan.Files, File{Path: path, Bytes: f.Bytes, id: remoteIdentity(f), Rereadable: true, mayRead: true, named: named, kind: inHDFS, blockBytes: f.BlockBytes})
}
