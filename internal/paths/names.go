package paths

// Names that mrlocal makes for results, and that others do not have: those of part files and of named outputs,
// of what attempts make, and hidden ones beside a result that is being written. Package output
// makes and removes the files.

import (
	"crypto/rand"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A hidden name is a dot, the name beside which it stands, besideMark and random hex
// digits.
const (
	besideMark  = ".mrlocal-"
	randomBytes = 8

	// besideBaseBytes of the name are kept, because file systems limit names to 255 bytes.
	besideBaseBytes = 200
)

// Beside returns a new hidden name in the directory of path, so that a rename can put it in
// the place of path.
// 64 random bits make two runs with one name practically impossible.
func Beside(path string) string {
	var b [randomBytes]byte
	rand.Read(b[:]) // never fails, says its documentation
	return BesidePrefix(path) + hex.EncodeToString(b[:])
}

// Claim returns the one hidden name beside path that all runs try first.
func Claim(path string) string { return BesidePrefix(path) + strings.Repeat("0", 2*randomBytes) }

// BesidePrefix returns what all hidden names beside path begin with.
// A long name is cut at the start of a character.
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

// IsBeside reports whether Beside may have made a name.
// A file of the user with a similar name then stays.
func IsBeside(name string) bool {
	at := strings.LastIndex(name, besideMark)
	if at < 1 || name[0] != '.' {
		return false
	}
	random := name[at+len(besideMark):]
	return len(random) == 2*randomBytes && strings.Trim(random, "0123456789abcdef") == ""
}

// PartName matches the names of part files, and of the files of named outputs.
// Task numbers have at least five digits, as in Hadoop. Compressed parts have a suffix, and
// plain names no letter.
func PartName() *regexp.Regexp {
	return regexp.MustCompile(`^(part-|[0-9A-Za-z]{1,64}-[mr]-)[0-9]{5,}(\.gz|\.zst)?$`)
}

// WorkName matches the names of the directories that attempts make in `_temporary`.
func WorkName() *regexp.Regexp {
	return regexp.MustCompile(`^(attempt_[mr]_[0-9]{6,}_[0-9]+|task_[mr]_[0-9]{6,})$`)
}

// KindLetter returns what stands for the kind of task in Hadoop's names of files.
func KindLetter(mapOnly bool) string {
	if mapOnly {
		return "m"
	}
	return "r"
}
