package paths

// This file has the names that mrlocal gives to part files, named outputs and directories of
// attempts. It also has the hidden names next to a result that is being written. Files of users
// are not likely to have them. Package output makes and removes the files.

import (
	"crypto/rand"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A hidden name is a dot, the name of the result, besideMark and random hex digits.
const (
	besideMark  = ".mrlocal-"
	randomBytes = 8

	// besideBaseBytes is the length to which the name of the result is cut, because file systems
	// limit names to 255 bytes.
	besideBaseBytes = 200
)

// Beside returns a new hidden name in the directory of path, so that a rename can put the file in
// the place of path. With 64 random bits, two runs practically never get the same name.
func Beside(path string) string { return BesidePrefix(path) + Random() }

// Random returns 64 random bits as hexadecimal digits, for a name.
func Random() string {
	var b [randomBytes]byte
	rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}

// Claim returns the hidden name next to path that is the same for all runs.
func Claim(path string) string { return BesidePrefix(path) + strings.Repeat("0", 2*randomBytes) }

// BesidePrefix returns the prefix of all hidden names next to path. It cuts a long name at the start
// of a character.
func BesidePrefix(path string) string {
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

// IsBeside reports whether Beside or Claim may have made a name. It returns false for similar names
// of files of the user.
func IsBeside(name string) bool {
	at := strings.LastIndex(name, besideMark)
	if at < 1 || name[0] != '.' {
		return false
	}
	random := name[at+len(besideMark):]
	return len(random) == 2*randomBytes && strings.Trim(random, "0123456789abcdef") == ""
}

// PartName matches the names of part files, and of the files of named outputs. Task numbers have at
// least five digits, as in Hadoop. Compressed files have a suffix.
func PartName() *regexp.Regexp {
	return regexp.MustCompile(`^(part-|[0-9A-Za-z]{1,64}-[mr]-)[0-9]{5,}(\.gz|\.zst)?$`)
}

// WorkName matches the names of the directories in `_temporary` in which attempts write.
func WorkName() *regexp.Regexp {
	return regexp.MustCompile(`^(attempt_[mr]_[0-9]{6,}_[0-9]+|task_[mr]_[0-9]{6,})$`)
}

// KindLetter returns the letter for the kind of task in Hadoop's names of files.
func KindLetter(mapOnly bool) string {
	if mapOnly {
		return "m"
	}
	return "r"
}
