package output

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/disk"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/paths"
)

// remoteStage is a stage on HDFS, which makes each step durable. It is the directory of the result
// itself. For a run that goes on after a kill, it lies next to that directory under a hidden name, and
// gets its name at the very end.
type remoteStage struct {
	name  string // of the result, without slashes at its end
	stage string
	kept  string // Spec.Kept
	fs    *hdfs.FS
	last  *hdfs.FS // for drop
	made  bool     // make has made the stage, or may have
	id    uint64   // of the stage, when it is about to get its name; 0: not yet, or not known
}

// openRemote checks Spec.Dir, a name on HDFS, and returns its place. It creates nothing.
func openRemote(spec Spec) (place, error) {
	if spec.Overwrite {
		return nil, wrong(spec.Dir, "a directory on HDFS is not replaced; remove it, or give another name")
	}
	d := &remoteStage{name: strings.TrimRight(spec.Dir, "/"), kept: spec.Kept, fs: spec.HDFS, last: spec.HDFS.Cleanup()}
	if d.stage = d.name; d.kept != "" {
		d.stage = d.beside(path.Base(paths.Beside(path.Base(d.name))))
	}
	for _, in := range spec.Inputs {
		if strings.HasPrefix(d.name+"/", strings.TrimRight(in, "/")+"/") {
			return nil, wrong(spec.Dir, "lies inside the input %s; give a name outside", quoteName(in))
		}
	}
	settle := func() error { return nil } // the NameNode has logged each step
	return newCommitter(spec, stage{d, d.make, d.clear, d.publish, settle, d.drop}), d.refused(d.free())
}

// refused returns the options error for a name that cannot be used because of err.
func (d *remoteStage) refused(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return wrong(d.name, "exists already; give another name")
	}
	return wrong(d.name, "%w", err)
}

// beside returns the path of an entry of the directory that has the result.
func (d *remoteStage) beside(entry string) string {
	return d.name[:strings.LastIndexByte(d.name, '/')+1] + entry
}

// below returns the path of an entry of the stage.
func (d *remoteStage) below(path string) string { return d.stage + "/" + path }

// free returns fs.ErrExist if the name is taken, and nil if it is free. A directory that a killed
// run of the same journal has published leaves the name free.
func (d *remoteStage) free() error {
	switch f, err := d.fs.Stat(d.name); {
	case err == nil && f.ID != 0 && slices.Contains(disk.Noted(d.kept, d.name), strconv.FormatUint(f.ID, 10)):
		return nil
	case err == nil:
		return fs.ErrExist
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// make is stage.make. If two runs start at once, HDFS lets only one of them make the mark.
func (d *remoteStage) make() error {
	err := d.free()
	if err == nil {
		err = d.note()
	}
	if err != nil {
		return d.refused(err)
	}
	w, err := d.fs.Create(d.below(path.Join(tempName, markName)))
	if err == nil {
		err = w.Close()
		// HDFS may have made the mark, unless it refuses to. A broken connection leaves that open.
		d.made = !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrPermission)
	}
	if errors.Is(err, fs.ErrExist) {
		return errTaken(d.name)
	}
	return d.refused(err)
}

// note removes the stages that killed runs of the same journal have left. It then notes the one of
// this run, before anything is there. It does nothing for a run without a journal.
func (d *remoteStage) note() error {
	for _, key := range disk.Noted(d.kept, d.name) {
		if key != path.Base(key) || !paths.IsBeside(key) {
			continue
		}
		if err := d.fs.Remove(d.beside(key)); err != nil {
			return err
		}
	}
	return disk.Note(d.kept, path.Base(d.stage), d.name)
}

// create implements files.
func (d *remoteStage) create(path string) (file, error) {
	w, err := d.fs.Create(d.below(path))
	return w, named(d.name, err)
}

// move implements files.
func (d *remoteStage) move(from, to string) error {
	return named(d.name, d.fs.Rename(d.below(from), d.below(to)))
}

// remove implements files.
func (d *remoteStage) remove(path string) error {
	return named(d.name, d.fs.Remove(d.below(path)))
}

// clear is stage.clear.
func (d *remoteStage) clear() error { return d.remove(tempName) }

// publish is stage.publish. It removes the directory that a killed run of the same journal has
// published under the name, and leaves any other.
func (d *remoteStage) publish() error {
	if d.stage == d.name {
		return nil
	}
	return named(d.name, d.rename())
}

// rename gives the stage the name of the result.
func (d *remoteStage) rename() error {
	st, err := d.fs.Stat(d.stage)
	if err != nil {
		return err
	}
	d.id = st.ID
	// A kill may come between the rename and the end of the journal. The next run then knows the
	// directory.
	if err := disk.Note(d.kept, strconv.FormatUint(st.ID, 10), d.name); err != nil {
		return err
	}
	if err := d.free(); err != nil {
		return err
	}
	if err := d.fs.Remove(d.name); err != nil {
		return err
	}
	if err := d.fs.Rename(d.stage, d.name); err != nil {
		return err
	}
	// If another program has made the directory since, HDFS has moved the stage into it.
	now, err := d.fs.Stat(d.name)
	if err == nil && now.ID != d.id {
		err = errors.Join(fs.ErrExist, d.fs.Remove(d.name+"/"+path.Base(d.stage)))
	}
	return err
}

// drop is stage.drop.
func (d *remoteStage) drop() error {
	if !d.made {
		return nil
	}
	d.made = false
	err := d.last.Remove(d.stage)
	// The rename may have taken place although its answer is lost.
	if d.id != 0 {
		if st, missing := d.last.Stat(d.name); missing == nil && st.ID == d.id {
			err = errors.Join(err, d.last.Remove(d.name))
		}
	}
	return named(d.name, err)
}
