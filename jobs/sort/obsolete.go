package sort

import (
	"strconv"
	"strings"

	"mrlocal/internal/errs"
)

// ObsoleteKey returns the KEYDEF of -k that means the same as the words +begin -end. end is "" if the
// key goes to the end of the line.
func ObsoleteKey(begin, end string) (string, error) {
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
	// 62 bits leave room for the 1 that ObsoleteKey adds.
	field, err = strconv.ParseUint(fieldText, 10, 62)
	if err == nil && charText != "" {
		char, err = strconv.ParseUint(charText, 10, 62)
	}
	letters = text[end:]
	if err != nil || strings.Trim(letters, keyLetters) != "" {
		return 0, 0, "", errs.Optionf(text, "invalid field specification")
	}
	return field, char, letters, nil
}
