package output

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"mrlocal/errs"
	"mrlocal/internal/tempdir"
)

// What mrlocal makes, and how it is told from what others made.

const (
	besideMark  = ".mrlocal-"
	randomBytes = 8

	sweepEntries = 1024 // read at once

	// The name beside must fit where names end at 255 bytes.
	besideBaseBytes = 200
)

// beside is a fresh hidden name in the same directory, so that a rename can
// put it in the place of path.
func beside(path string) string {
	var b [randomBytes]byte
	rand.Read(b[:]) // never fails, says its documentation
	return besidePrefix(path) + hex.EncodeToString(b[:])
}

func besidePrefix(path string) string {
	base := filepath.Base(path)
	if len(base) > besideBaseBytes {
		cut := besideBaseBytes
		for cut > besideBaseBytes-utf8.UTFMax && !utf8.RuneStart(base[cut]) {
			cut--
		}
		base = base[:cut]
	}
	return filepath.Join(filepath.Dir(path), "."+base+besideMark)
}

// sweepBeside removes what killed runs left beside path: files and directories
// of our naming, of this user, whose lock is free.
func sweepBeside(path string) {
	parent, prefix := filepath.Dir(path), filepath.Base(besidePrefix(path))
	dir, err := os.Open(parent)
	if err != nil {
		return
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(sweepEntries)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), prefix) || !isRandom(e.Name()[len(prefix):]) {
				continue
			}
			left := filepath.Join(parent, e.Name())
			switch {
			case e.Type().IsRegular():
				tempdir.RemoveUnlocked(left, os.Remove)
			case e.IsDir() && replaceable(left) == nil:
				tempdir.RemoveUnlocked(left, removeMade)
			}
		}
		if err != nil {
			return
		}
	}
}

func isRandom(s string) bool {
	return len(s) == 2*randomBytes && strings.Trim(s, "0123456789abcdef") == ""
}

func partName() *regexp.Regexp { return regexp.MustCompile(`^part-[mr]-[0-9]{5,}$`) }

// replaceable reports, as wrong usage, why --overwrite may not replace a
// directory: it must hold `_SUCCESS` or `_temporary`, and besides those only
// part files.
func replaceable(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return refuse(path, err)
	}
	marked, isPart := false, partName()
	for _, e := range entries {
		switch {
		case e.Name() == successName && e.Type().IsRegular(), e.Name() == tempName && e.IsDir():
			marked = true
		case e.Type().IsRegular() && isPart.MatchString(e.Name()):
		default:
			return wrong(path, "holds %s, which mrlocal did not make; remove the directory yourself or give another name", quoteName(e.Name()))
		}
	}
	if !marked {
		return wrong(path, "has neither %s nor %s, so mrlocal did not make it; remove it yourself or give another name", successName, tempName)
	}
	return nil
}

// removeMade removes a directory as mrlocal makes them, by name. Where there
// is anything else in it, that and the directory stay.
func removeMade(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	problems := []error{err}
	isPart, foreign := partName(), ""
	for _, e := range entries {
		switch {
		case e.Name() == tempName && e.IsDir():
			problems = append(problems, os.RemoveAll(filepath.Join(path, tempName)))
		case e.Type().IsRegular() && (e.Name() == successName || isPart.MatchString(e.Name())):
			problems = append(problems, os.Remove(filepath.Join(path, e.Name())))
		default:
			foreign = e.Name()
		}
	}
	if foreign != "" {
		problems = append(problems, fmt.Errorf("output: %s stays: it holds %s, which mrlocal did not make", path, quoteName(foreign)))
	} else {
		problems = append(problems, os.Remove(path))
	}
	return errors.Join(problems...)
}

// wrong is an error of wrong usage about the output that the user named.
func wrong(name, format string, args ...any) error {
	return errs.Optionf("output "+quoteName(name), format, args...)
}

// refuse turns an error about a path into wrong usage, where it is the path's
// fault; a full disk, for one, is not.
func refuse(path string, err error) error {
	if errs.IsUsage(err) {
		return err
	}
	cause := bare(err)
	if isUsage(cause) {
		return wrong(path, "%v", cause)
	}
	return fmt.Errorf("output %s: %w", quoteName(path), cause)
}

// quoteName shows a file's name on one line.
func quoteName(name string) string {
	if q := fmt.Sprintf("%q", name); len(q) != len(name)+2 {
		return q
	}
	return name
}
