package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/paths"
)

// localStage is a stage on this machine. It has the final name if that name is free and Spec.Kept is
// not set. Otherwise it lies next to the final name. The stage is locked (flock) while it is written, so
// that other runs see that it is in use.
type localStage struct {
	name     string // as the user gave it
	path     string // absolute, without links
	replaces bool   // a directory of that name exists and will be replaced
	kept     string // Spec.Kept

	parents []string // directories above path that make has made, the deepest first

	stage string // "": not made, or removed
	lock  *disk.File
	old   string // where publish has put the old directory; "": nothing was replaced
}

// make is stage.make. It makes the missing directories above the stage. Then it makes, locks and marks the stage.
func (d *localStage) make() (err error) {
	if d.parents, err = disk.MakeParents(d.path); err != nil {
		return refuse(d.name, err)
	}
	if d.beside() {
		if err := claim(d.name, d.path, d.makeAt); err != nil {
			return err
		}
	} else if err := d.makeAt(d.path); errors.Is(err, fs.ErrExist) {
		return errExists(d.name)
	} else if err != nil {
		return refuse(d.name, err)
	}
	temp := d.below(tempName)
	if err := disk.MakeDir(temp, 0o777); err != nil {
		return refuse(d.name, err)
	}
	if err := mark(temp); err != nil {
		return refuse(d.name, errors.Join(err, disk.Remove(temp)))
	}
	return nil
}

// makeAt makes and locks the stage. If two runs start at once, mkdir succeeds for only one
// of them.
func (d *localStage) makeAt(stage string) error {
	if err := disk.MakeDir(stage, disk.NoMore(d.path, 0o777)); err != nil {
		return err
	}
	f, err := disk.OpenRead(stage)
	switch {
	case d.beside() && errors.Is(err, fs.ErrNotExist): // another run has removed it as a leftover
		return disk.ErrLocked
	case err != nil:
		return errors.Join(err, disk.Remove(stage))
	}
	// With its final name the stage cannot be taken for a leftover, so a failed lock does no
	// harm.
	if err := lockMade(f, stage); err != nil && d.beside() {
		return errors.Join(err, f.Close())
	}
	d.stage, d.lock = stage, f
	return nil
}

// unlock releases the lock of the stage. The lock belongs to the open directory, so a rename
// does not affect it.
func (d *localStage) unlock() {
	if d.lock != nil {
		_ = d.lock.Close()
		d.lock = nil
	}
}

// errExists returns the options error for a directory that exists and may not be replaced.
func errExists(path string) error {
	return wrong(path, "exists already; give another name, or set %s to replace what mrlocal made", errs.Field("Options.Overwrite"))
}

// below returns the path of an entry of the stage.
func (d *localStage) below(path string) string { return filepath.Join(d.stage, path) }

// create implements files. The file is as private as the one that it replaces.
func (d *localStage) create(path string) (file, error) {
	path = d.below(path)
	if err := disk.MakeDir(filepath.Dir(path), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("output: %w", err)
	}
	mode := disk.NoMore(filepath.Join(d.path, filepath.Base(path)), 0o666)
	f, err := disk.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, mode)
	return localFile{fileSink(f)}, errs.About("output", err)
}

// move implements files.
func (d *localStage) move(from, to string) error {
	return errs.About("output", disk.Move(d.below(from), d.below(to)))
}

// remove implements files.
func (d *localStage) remove(path string) error { return disk.RemoveAll(d.below(path)) }

// clear is stage.clear. `_temporary` stays with its mark, which allows a later run to replace the
// directory after a crash. The parts must be durable before `_SUCCESS` says that they are complete.
func (d *localStage) clear() error {
	if err := emptyTemp(d.below(tempName)); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return syncDir(d.stage)
}

// publish is stage.publish. It gives the stage its name, in the place of the old directory if there is
// one. It checks again that the old directory has only files of mrlocal, because the run may have taken
// hours.
func (d *localStage) publish() error {
	if err := syncDir(d.stage); err != nil {
		return err
	}
	// The result is complete. If this fails, `_temporary` stays, and no program reads it.
	_ = removeTemp(d.below(tempName))
	if !d.beside() {
		return nil
	}
	old, err := "", disk.NotePublished(d.kept, d.stage, d.path)
	switch {
	case err != nil:
	case !d.replaces: // a directory that another program has made meanwhile stays, unless it is empty
		err = disk.Move(d.stage, d.path)
	default:
		if err = replaceable(d.path); err == nil {
			old, err = swap(d.stage, d.path)
		}
	}
	if err == nil {
		d.stage, d.old = d.path, old
	}
	return err
}

// beside reports whether the stage lies next to the final name.
func (d *localStage) beside() bool { return d.replaces || d.kept != "" }

// swap gives stage the name path, and returns the new name of the directory that had it. On
// Linux the exchange is atomic. Elsewhere the name is free for a moment. If swap fails, the old
// directory has its name again, unless the error also reports a failed rename back.
func swap(stage, path string) (old string, err error) {
	if disk.Exchange(stage, path) == nil {
		return stage, nil
	}
	// This file system cannot exchange names.
	old = paths.Beside(path)
	if err := disk.Move(path, old); err != nil {
		return "", fmt.Errorf("output: %w", err)
	}
	if err := disk.Move(stage, path); err != nil {
		return "", errors.Join(fmt.Errorf("output: %w", err), disk.Move(old, path))
	}
	return old, nil
}

// settle is stage.settle. It makes the name durable and then removes the directory that was
// replaced. In this order a crash leaves at least one of the two.
func (d *localStage) settle() error {
	defer d.unlock()
	for _, path := range append([]string{d.path}, d.parents...) {
		if err := syncDir(filepath.Dir(path)); err != nil {
			return d.takeBack(err)
		}
	}
	if d.old != "" {
		return removeMade(d.old)
	}
	return nil
}

// takeBack removes the result, because cause prevents that it becomes durable. If the result
// has replaced a directory, that directory gets its name back. takeBack always returns an
// error.
func (d *localStage) takeBack(cause error) (err error) {
	made, back := d.path, ""
	if d.old != "" {
		if made, err = swap(d.old, d.path); err != nil {
			return fmt.Errorf("output %s: has replaced the directory that was there, but could not be made durable: %w",
				quoteName(d.name), errors.Join(errs.Cause(cause), err))
		}
		back = ", and the directory that was there is back"
	}
	return fmt.Errorf("output %s: was removed, because it could not be made durable%s: %w", quoteName(d.name), back, errors.Join(errs.Cause(cause), removeMade(made)))
}

// drop is stage.drop. It removes `_temporary` with the files of attempts, and parts that may have
// moved up. Files of other programs stay.
func (d *localStage) drop() error {
	defer disk.RemoveEmpty(d.parents)
	if d.stage == "" {
		return nil
	}
	err := removeMade(d.stage)
	d.stage = ""
	d.unlock()
	return err
}

// localFile is a file of a localStage. It is also a sink, from which a failed attempt can be dropped.
type localFile struct{ *sink }

// Close implements file.
func (f localFile) Close() error {
	return errs.About("output", errs.Cause(errors.Join(disk.SyncFile(f.file), f.file.Close())))
}

// Abort implements file. It also removes the directory of the attempt, with its last file. If that
// fails, the removal of `_temporary` does it.
func (f localFile) Abort() {
	_ = f.file.Close() // the content is dropped
	_ = disk.Remove(f.file.Name())
	_ = disk.Remove(filepath.Dir(f.file.Name()))
}

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
