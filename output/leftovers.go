package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/paths"
)

const sweepEntries = 1024 // directory entries that one call reads

// claimTries is the number of attempts to make the pending file while other runs begin too.
const claimTries = 16

// claim makes the file or directory in which a run builds the result for path. Its name is the
// same in all runs, so that only one run at a time can have it. make creates pending, which
// must not exist, and locks it. make returns disk.ErrLocked if another run was faster. claim
// then refuses name.
//
// If nothing can be locked, or another program has that name, the pending name is random. Then
// the run that renames last wins. If locks work and other runs were faster each time, claim refuses
// name, because one of them has it.
func claim(name, path string, make func(pending string) error) error {
	sweepBeside(path)
	pending, contended := paths.Claim(path), false
	for try := range claimTries {
		err := make(pending)
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, disk.ErrLocked) {
			return refuse(name, err)
		}
		contended = contended || errors.Is(err, disk.ErrLocked)
		info, err := os.Lstat(pending)
		if err == nil && (info.Mode().IsRegular() || info.IsDir()) && disk.Locked(pending) {
			return errTaken(name)
		}
		if disk.RemoveUnlocked(pending, disk.Remove) { // it removes a directory only if it is empty
			contended = true
		}
		// Runs that begin together may remove what another one has made and not locked yet. They
		// try again at different times, so that one of them gets ahead.
		time.Sleep(rand.N(time.Duration(try+1) * time.Millisecond))
	}
	if contended {
		return errTaken(name)
	}
	return refuse(name, make(paths.Beside(path)))
}

// lockMade locks f, which the run has just made at path, so that no other run removes it as a
// leftover. It returns disk.ErrLocked if another run has locked or removed it before. If this
// file system has no locks, it does nothing: then no run removes leftovers.
func lockMade(f *disk.File, path string) error {
	if err := disk.TryLock(f); errors.Is(err, disk.ErrLocked) {
		return err
	}
	made, err := f.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Lstat(path); err != nil || !os.SameFile(made, now) {
		return disk.ErrLocked
	}
	return nil // locked, or there are no locks here
}

// errTaken returns the options error for a place that another run is writing.
func errTaken(name string) error {
	return wrong(name, "is being written by another run; give another name")
}

// sweepBeside removes what killed runs have left next to path: files and directories with names
// of paths.Beside, of this user, that no run has locked. It ignores errors. If it is not sure
// who made something, it leaves it.
func sweepBeside(path string) {
	_ = eachLeft(filepath.Dir(path), filepath.Base(paths.BesidePrefix(path)), func(path string, remove func(string) error) {
		disk.RemoveUnlocked(path, remove)
	})
}

// Clean finds what killed runs of this user have left next to their results in dir. Unless dry
// is set, it removes them; Leftover.Err has the error of each. If itself is set and dir is an
// unfinished result, Clean only finds dir. It fails if dir cannot be read.
func Clean(dir string, dry, itself bool) (found []disk.Leftover, err error) {
	take := func(path string, remove func(string) error) {
		l := disk.Leftover{Path: path, Bytes: disk.BytesBelow(path)}
		if disk.RemoveUnlocked(path, func(path string) error {
			if !dry {
				l.Err = remove(path)
			}
			return nil
		}) {
			found = append(found, l)
		}
	}
	if itself && isUnfinished(dir) {
		if dir, err = filepath.Abs(dir); err != nil { // rmdir does not remove "."
			return nil, err
		}
		take(dir, removeMade)
		return found, nil
	}
	return found, eachLeft(dir, "", take)
}

// isUnfinished reports whether dir is a result that its run has not published.
func isUnfinished(dir string) bool {
	temp, err := os.Lstat(filepath.Join(dir, tempName))
	_, done := os.Lstat(filepath.Join(dir, successName))
	return err == nil && temp.IsDir() && errors.Is(done, fs.ErrNotExist) && replaceable(dir) == nil
}

// eachLeft calls visit for each leftover in parent whose name begins with prefix and is one of
// paths.Beside. It also passes the function that removes the leftover.
func eachLeft(parent, prefix string, visit func(path string, remove func(path string) error)) error {
	dir, err := disk.OpenRead(parent)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		// A fixed number at a time bounds the memory for a directory of any size.
		entries, err := dir.ReadDir(sweepEntries)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), prefix) || !paths.IsBeside(e.Name()) {
				continue
			}
			left := filepath.Join(parent, e.Name())
			switch {
			case e.Type().IsRegular():
				visit(left, disk.Remove)
			case e.IsDir() && (replaceable(left) == nil || isBare(left)):
				visit(left, removeMade)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// content is what a directory of a result holds, apart from what is in its `_temporary`.
type content struct {
	own     []string // names of part files, and _SUCCESS
	done    bool     // it has _SUCCESS
	temp    bool     // it has `_temporary`
	foreign string   // the first name that mrlocal did not make; "": there is none
}

// look reads a directory of a result.
func look(path string) (c content, err error) {
	entries, err := disk.ReadDir(path)
	isPart := paths.PartName()
	for _, e := range entries {
		switch name := e.Name(); {
		case name == tempName && e.IsDir():
			c.temp = true
		case e.Type().IsRegular() && (name == successName || isPart.MatchString(name)):
			c.own = append(c.own, name)
			c.done = c.done || name == successName
		default:
			c.foreign = cmp.Or(c.foreign, name)
		}
	}
	return c, err
}

// isBare reports whether a directory holds at most part files and an empty `_temporary`. A run
// leaves such a directory if it was killed before it marked `_temporary`, or in the middle of
// removeMade. The caller has checked that its name is one of paths.Beside. Under another name,
// Hadoop may be about to use the directory.
func isBare(path string) bool {
	c, err := look(path)
	if err != nil || c.foreign != "" || c.done {
		return false
	}
	below, err := disk.ReadDir(filepath.Join(path, tempName))
	return !c.temp || err == nil && len(below) == 0
}

// mark writes into a directory `_temporary` that mrlocal made it. Hadoop and Spark make
// directories of the same name.
func mark(temp string) error {
	f, err := disk.Create(filepath.Join(temp, markName))
	if err != nil {
		return err
	}
	return f.Close()
}

// lookTemp reads a directory `_temporary`. marked reports whether mrlocal has marked it. works
// are the directories of attempts in it that mrlocal has made. foreign is the name of an entry
// that mrlocal did not make; "" if there is none.
func lookTemp(temp string) (marked bool, works []string, foreign string, err error) {
	entries, err := disk.ReadDir(temp)
	isWork, isPart := paths.WorkName(), paths.PartName()
	for _, e := range entries {
		switch {
		case e.Name() == markName && e.Type().IsRegular():
			marked = true
			continue
		case !e.IsDir() || !isWork.MatchString(e.Name()):
			foreign = e.Name()
			continue
		}
		parts, readErr := disk.ReadDir(filepath.Join(temp, e.Name()))
		err = errors.Join(err, readErr)
		at := len(works)
		works = append(works, e.Name())
		for _, p := range parts {
			if (!p.Type().IsRegular() || !isPart.MatchString(p.Name())) && !(p.IsDir() && p.Name() == filesName) {
				foreign, works = filepath.Join(e.Name(), p.Name()), works[:at]
			}
		}
	}
	return marked, works, foreign, err
}

// emptyTemp removes the directories of attempts from a directory `_temporary`. The mark stays.
// It fails if there is anything else.
func emptyTemp(temp string) error {
	_, works, foreign, err := lookTemp(temp)
	problems := []error{err}
	for _, name := range works {
		problems = append(problems, disk.RemoveAll(filepath.Join(temp, name)))
	}
	if foreign != "" {
		problems = append(problems, fmt.Errorf("output: %s stays: it holds %s, which mrlocal did not make", temp, quoteName(foreign)))
	}
	return errors.Join(problems...)
}

// removeTemp removes a directory `_temporary` that is empty except for its mark. If the
// directory stays, the mark is restored.
func removeTemp(temp string) error {
	if err := disk.Remove(filepath.Join(temp, markName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := disk.Remove(temp)
	if err != nil {
		_ = mark(temp)
	}
	return err
}

// replaceable returns nil if Options.Overwrite may replace the directory at path. Otherwise it
// returns an options error with the reason. The directory must have `_SUCCESS` or a marked
// `_temporary`, and apart from these only part files.
func replaceable(path string) error {
	c, err := look(path)
	switch {
	case err != nil:
		return refuse(path, err)
	case c.foreign != "":
		return holdsForeign(path, c.foreign)
	case !c.done && !c.temp:
		return wrong(path, "has neither %s nor %s, so mrlocal did not make it; remove it yourself or give another name", successName, tempName)
	case !c.temp:
		return nil
	}
	marked, works, foreign, err := lookTemp(filepath.Join(path, tempName))
	switch {
	case err != nil:
		return refuse(path, err)
	case foreign != "":
		return holdsForeign(path, filepath.Join(tempName, foreign))
	case !marked && !(c.done && len(works) == 0):
		return wrong(path, "holds %s of another program; remove the directory yourself or give another name", tempName)
	}
	return nil
}

// holdsForeign returns the options error for a directory with an entry that mrlocal did not make.
func holdsForeign(path, entry string) error {
	return wrong(path, "holds %s, which mrlocal did not make; remove the directory yourself or give another name", quoteName(entry))
}

// removeMade removes a directory that mrlocal has made: its files by name, and then the
// directory. If it holds anything else, removeMade leaves that and the directory, and fails. It
// is not an error if the directory is gone.
func removeMade(path string) error {
	c, err := look(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	temp := filepath.Join(path, tempName)
	if c.temp {
		err = errors.Join(err, emptyTemp(temp))
	}
	for _, name := range c.own {
		err = errors.Join(err, disk.Remove(filepath.Join(path, name)))
	}
	// The mark goes last, so that a later run can remove the directory after an error.
	if err == nil && c.temp {
		err = removeTemp(temp)
	}
	switch {
	case err != nil:
		return err
	case c.foreign != "":
		return fmt.Errorf("output: %s stays: it holds %s, which mrlocal did not make", path, quoteName(c.foreign))
	}
	return disk.Remove(path)
}

// wrong returns an options error about the output that the user has called name.
func wrong(name, format string, args ...any) error {
	return errs.Optionf("output "+quoteName(name), format, args...)
}

// refuse turns err into an options error if the path is the cause. A full disk, for example, is
// not. It returns nil for nil.
func refuse(path string, err error) error {
	if err == nil || errs.IsUsage(err) {
		return err
	}
	cause := errs.Cause(err)
	if isUsage(cause) {
		return wrong(path, "%v", cause)
	}
	return fmt.Errorf("output %s: %w", quoteName(path), cause)
}

// quoteName returns a file name as it is, or quoted if it has characters that are not
// printable.
func quoteName(name string) string {
	if q := fmt.Sprintf("%q", name); len(q) != len(name)+2 {
		return q
	}
	return name
}
