package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/paths"
)

// openDirectory checks Spec.Dir and returns its place. It creates nothing.
func openDirectory(spec Spec) (place, error) {
	path, info, err := paths.Resolve(spec.Dir)
	switch base := filepath.Base(spec.Dir); {
	case errors.Is(err, fs.ErrNotExist) && base != "." && base != "..":
		path = paths.Locate(spec.Dir) // the directories above it are made, too
	case err != nil:
		return nil, unresolved(spec.Dir, err)
	case info != nil && !info.IsDir():
		return nil, wrong(spec.Dir, "exists and is not a directory")
	}
	// checkPlace comes before checkReplace, so that the error names a wrong parent first.
	if err = checkPlace(spec, spec.Dir, path, info); err == nil && info != nil {
		err = checkReplace(spec, path, info)
	}
	if err != nil {
		return nil, err
	}
	d := &localStage{name: spec.Dir, path: path, replaces: info != nil, kept: spec.Kept}
	return newCommitter(spec, stage{d, d.make, d.clear, d.publish, d.settle, d.drop}), nil
}

// checkReplace refuses a directory that exists, unless the user allows Overwrite and a rename
// can replace it.
func checkReplace(spec Spec, path string, info fs.FileInfo) error {
	// The lock is checked first. A locked directory is being written, so its run was not
	// interrupted.
	if disk.Locked(path) {
		return errTaken(spec.Dir)
	}
	if !spec.Overwrite && !disk.WasPublished(spec.Kept, path, info) {
		// A killed run leaves `_temporary`; publish would have removed it.
		if isUnfinished(path) {
			return wrong(spec.Dir, "exists already, left by a run that was interrupted; set %s to replace it", errs.Field("Options.Overwrite"))
		}
		return errExists(spec.Dir)
	}
	if err := replaceable(path); err != nil {
		return err
	}
	// A rename cannot replace a mount point. Without this check it would fail after all work
	// was done.
	if parent, err := os.Stat(filepath.Dir(path)); err == nil && disk.IsMount(info, parent) {
		return wrong(spec.Dir, "is a mount point and cannot be replaced; give another name")
	}
	if name, inside := paths.Inside(info, spec.Files); inside {
		return wrong(spec.Dir, "holds the input %s and would be replaced; give another name", quoteName(name))
	}
	return nil
}

// checkPlace refuses a result if the directory above it that exists is not writable. It also
// refuses a result that is one of the inputs or lies inside one. info is nil if the result does
// not exist yet.
func checkPlace(spec Spec, name, path string, info fs.FileInfo) error {
	parent := filepath.Dir(path)
	parentInfo, err := os.Stat(parent)
	for errors.Is(err, fs.ErrNotExist) && parent != filepath.Dir(parent) {
		parent = filepath.Dir(parent)
		parentInfo, err = os.Stat(parent)
	}
	switch {
	case err != nil:
		return refuseParent(name, parent, err)
	case !parentInfo.IsDir():
		return wrong(name, "its parent %s is not a directory", quoteName(parent))
	}
	// A file that is there can be written in place.
	if err := disk.MayMakeIn(parent); err != nil && (spec.File == "" || info == nil) {
		return refuseParent(name, parent, err)
	}
	// A result inside an input would be found and read as input, and grow without end.
	roots := paths.Expand(spec.Inputs)
	// Found knows the files that the plan reads. roots are the inputs as the user named them. A
	// directory among the inputs is only in roots.
	if info != nil && !(spec.File != "" && spec.Overwrite) {
		if in, same := sameAsInput(spec, info); same {
			return wrong(name, "is the input %s; give another name", quoteName(in))
		}
		if in, same := paths.Same(info, roots); same {
			return wrong(name, "is the input %s; give another name", quoteName(in))
		}
	}
	in, inside := paths.Enclosing(parent, roots)
	// Globs and links lead to directories that are not in roots.
	for _, above := range paths.Above(parent) {
		if !inside && spec.Found != nil {
			in, inside = spec.Found.Directory(above)
		}
	}
	if inside {
		return wrong(name, "lies inside the input %s; give a name outside", quoteName(in))
	}
	return nil
}

// unresolved returns the error for an output that paths.Resolve refuses with err.
func unresolved(name string, err error) error {
	if parent := new(paths.ParentError); errors.As(err, &parent) {
		return refuseParent(name, parent.Dir, parent.Err)
	}
	return refuse(name, err)
}

// refuseParent returns the options error for a parent directory that cannot be used.
func refuseParent(name, parent string, err error) error {
	cause := errs.Cause(err)
	if errors.Is(cause, fs.ErrNotExist) {
		return wrong(name, "the directory %s does not exist; make it first", quoteName(parent))
	}
	return wrong(name, "the directory %s cannot be written to: %v", quoteName(parent), cause)
}

// sameAsInput returns the name of the input file that is the same file as info.
func sameAsInput(spec Spec, info fs.FileInfo) (string, bool) {
	// Standard input may be redirected from the output file.
	if f, ok := spec.Stdin.(*os.File); ok && slices.Contains(spec.Inputs, "-") {
		if in, err := f.Stat(); err == nil && os.SameFile(info, in) {
			return "(standard input)", true
		}
	}
	if spec.Found == nil {
		return "", false
	}
	return spec.Found.File(info)
}
