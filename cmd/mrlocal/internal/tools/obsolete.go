package tools

import (
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/jobs/sort"
)

// obsoleteFlag is the flag that sortForms puts in place of an obsolete key. Its value is that of -k.
const obsoleteFlag = "obsolete-key"

// sortForms is Tool.Forms of mrlocal sort. One old form is --check=WORD, whose value may be missing. The
// other is the obsolete keys +F.C and -F.C, which count from 0.
func sortForms(args []string) (words []string, used int, err error) {
	word := args[0]
	switch {
	// As in GNU sort, the name and the value may be shortened.
	case strings.HasPrefix(word, "--ch") && strings.Contains(word, "="):
		letter, err := checkLetter(word)
		return []string{letter}, 1, err
	// A word that begins with a plus sign and a digit is an obsolete key. With any other character
	// after the plus sign it is a file. If the next word is -F.C, it is the end of the key.
	case len(word) > 1 && word[0] == '+' && isDigit(word[1]):
		end := ""
		if len(args) > 1 && len(args[1]) > 1 && args[1][0] == '-' && isDigit(args[1][1]) {
			end = args[1][1:]
			used++
		}
		key, err := sort.ObsoleteKey(word[1:], end)
		return []string{"--" + obsoleteFlag + "=" + key}, used + 1, err
	}
	return nil, 0, nil
}

// checkLetter returns the letter for the flag --check=WORD.
func checkLetter(flag string) (string, error) {
	name, value, _ := strings.Cut(flag, "=")
	switch {
	case !strings.HasPrefix("--check", name) || value == "":
	case strings.HasPrefix("quiet", value), strings.HasPrefix("silent", value):
		return "-C", nil
	case strings.HasPrefix("diagnose-first", value):
		return "-c", nil
	}
	return "", errs.Optionf(flag, "one of --check=quiet, silent, diagnose-first")
}

// isDigit reports whether c is an ASCII digit. For a byte below '0' the difference wraps around and
// becomes large.
func isDigit(c byte) bool { return c-'0' < 10 }
