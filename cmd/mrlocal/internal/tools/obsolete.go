package tools

import (
	"slices"
	"strconv"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/errs"
)

// obsoleteFlag is the flag that rewriteSort puts in place of an obsolete key. Its value is that of -k.
const obsoleteFlag = "obsolete-key"

// rewriteSort is Tool.Rewrite of mrlocal sort. It replaces two forms that package argv cannot parse.
// One is --check=WORD, whose value may be missing. The other is the obsolete keys +F.C and -F.C,
// which count from 0. It fails if such a word is wrong.
func rewriteSort(args []string) ([]string, error) {
	var words []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		// All words after -- are files.
		case word == "--":
			return append(words, args[i:]...), nil
		// The value of a flag stays as it is, even if it begins with a plus sign.
		case takesNext(word) && i+1 < len(args):
			words = append(words, word, args[i+1])
			i++
		// As in GNU sort, the name and the value may be shortened.
		case strings.HasPrefix(word, "--ch") && strings.Contains(word, "="):
			letter, err := checkLetter(word)
			if err != nil {
				return nil, err
			}
			words = append(words, letter)
		// A word that begins with a plus sign and a digit is an obsolete key. With any other character
		// after the plus sign it is a file. If the next word is -F.C, it is the end of the key.
		case len(word) > 1 && word[0] == '+' && isDigit(word[1]):
			end := ""
			if i+1 < len(args) && len(args[i+1]) > 1 && args[i+1][0] == '-' && isDigit(args[i+1][1]) {
				i++
				end = args[i][1:]
			}
			key, err := obsoleteKey(word[1:], end)
			if err != nil {
				return nil, err
			}
			words = append(words, "--"+obsoleteFlag+"="+key)
		default:
			words = append(words, word)
		}
	}
	return words, nil
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

// takesNext reports whether the value of the flag word is the next word. word may be a long flag, or a
// bundle of letters.
func takesNext(word string) bool {
	flags := sortFlags()
	if name, long := strings.CutPrefix(word, "--"); long {
		return slices.ContainsFunc(flags, func(f argv.Spec) bool { return f.Value && f.Name == name })
	}
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	// The first letter that takes a value ends the bundle. If more text follows the letter, as in
	// -rk2, this text is the value. Otherwise, as in -rk, the value is the next word.
	for i := 1; i < len(word); i++ {
		if slices.ContainsFunc(flags, func(f argv.Spec) bool { return f.Value && f.Short == word[i:i+1] }) {
			return i == len(word)-1
		}
	}
	return false
}

// obsoleteKey returns the KEYDEF of -k that means the same as the words +begin -end. end is "" if the
// key goes to the end of the line.
func obsoleteKey(begin, end string) (string, error) {
	field, char, letters, err := obsoletePosition(begin)
	if err != nil {
		return "", err
	}
	// The old form counts fields and characters from 0, -k counts from 1.
	key := strconv.FormatUint(field+1, 10)
	if char > 0 {
		key += "." + strconv.FormatUint(char+1, 10)
	}
	key += letters
	if end == "" {
		return key, nil
	}
	if field, char, letters, err = obsoletePosition(end); err != nil {
		return "", err
	}
	// The old end is the first character after the key, counted from 0. The end of -k is the last
	// character of the key, counted from 1. The two numbers of the character are equal. If the old
	// number is 0, the key ends with the field before.
	if char > 0 {
		return key + "," + strconv.FormatUint(field+1, 10) + "." + strconv.FormatUint(char, 10) + letters, nil
	}
	return key + "," + strconv.FormatUint(max(field, 1), 10) + letters, nil
}

// obsoletePosition parses a position F[.C][OPTS] of an obsolete key. field and char count from 0. A
// missing C is 0. letters are the OPTS.
func obsoletePosition(text string) (field, char uint64, letters string, err error) {
	end := len(text) - len(strings.TrimLeft(text, "0123456789."))
	fieldText, charText, _ := strings.Cut(text[:end], ".")
	// 62 bits leave room for the 1 that obsoleteKey adds.
	field, err = strconv.ParseUint(fieldText, 10, 62)
	if err == nil && charText != "" {
		char, err = strconv.ParseUint(charText, 10, 62)
	}
	letters = text[end:]
	if err != nil || strings.Trim(letters, "bdfghiMnRrV") != "" {
		return 0, 0, "", errs.Optionf(text, "invalid field specification")
	}
	return field, char, letters, nil
}
