package argv

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/errs"
	"mrlocal/internal/ppm"
)

// Size reads a number of bytes: 4096, 64MiB, 100MB (decimal), 1.5G (binary). As
// in all functions of this file, flag is the name of the flag, for the error.
func Size(flag, text string, least int64) (int64, error) {
	n, problem := ppm.ParseBytes(text)
	switch {
	case problem != "":
		return 0, bad(flag, text, problem)
	case n < least:
		return 0, bad(flag, text, "too small; at least "+FormatSize(least))
	}
	return n, nil
}

// FormatSize writes n so that Size reads it back.
func FormatSize(n int64) string {
	// The largest unit that divides n gives the shortest text.
	const letters = ppm.UnitLetters
	for i := len(letters) - 1; i >= 0; i-- {
		if unit := int64(1) << (10 * (i + 1)); n >= unit && n%unit == 0 {
			return strconv.FormatInt(n/unit, 10) + letters[i:i+1] + "iB"
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// Share reads a decimal from 0 to 1.
func Share(flag, text string) (ppm.Share, error) {
	_, fraction, dotted := strings.Cut(text, ".")
	if strings.Trim(text, "0123456789.") != "" || text == "" || strings.Contains(fraction, ".") || dotted && fraction == "" {
		return 0, bad(flag, text, "not a share; write a decimal from 0 to 1, such as 0.5")
	}
	// Zeros at the end are no precision: 0.5000000 is fine.
	if len(strings.TrimRight(fraction, "0")) > 6 {
		return 0, bad(flag, text, "too fine; at most six decimals")
	}
	p, err := ppm.Parse(text)
	if err != nil || p > ppm.One {
		return 0, bad(flag, text, "more than 1; write a decimal from 0 to 1, such as 0.5")
	}
	return p, nil
}

// Multiple reads a decimal above 0 behind a prefix, as in auto:1.75.
func Multiple(flag, text, prefix string, most ppm.Share) (ppm.Share, error) {
	p, err := ppm.Parse(strings.TrimPrefix(text, prefix))
	switch {
	case err != nil:
		return 0, bad(flag, text, "not a multiple; write "+prefix+"X with a decimal X, such as "+prefix+"1.75")
	case p <= 0 || p > most:
		return 0, bad(flag, text, "out of range; more than 0 and at most "+most.String())
	}
	return p, nil
}

// Count reads a whole number from least to most.
func Count(flag, text string, least, most int) (int, error) {
	digits := strings.TrimPrefix(text, "-")
	// Atoi alone would accept a plus sign and say less about the mistake.
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, bad(flag, text, "not a whole number")
	}
	n, err := strconv.Atoi(text)
	switch {
	// A negative number may be too long for an int, and is too small all the same.
	case text[0] == '-' || err == nil && n < least:
		return 0, bad(flag, text, "too small; at least "+strconv.Itoa(least))
	case err != nil || n > most:
		return 0, bad(flag, text, "too large; at most "+strconv.Itoa(most))
	}
	return n, nil
}

// Limit reads a bound as GNU tools do. A negative number is no bound, which nil stands for.
// A number that is too large is lowered to the largest one.
func Limit(flag, text string) (*int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return nil, bad(flag, text, "not a whole number")
	case n < 0:
		return nil, nil
	}
	return &n, nil
}

// Seed reads any whole number of 64 bits.
func Seed(flag, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, bad(flag, text, "not a whole number from 0 to 18446744073709551615")
	}
	return n, nil
}

// Time reads a duration above zero: 250ms, 20s, 1m30s.
func Time(flag, text string) (time.Duration, error) {
	// A number alone is ambiguous: seconds and milliseconds are both usual.
	if text != "" && strings.Trim(text, "0123456789.") == "" {
		return 0, bad(flag, text, "no unit; write 20s or 250ms")
	}
	d, err := time.ParseDuration(text)
	switch {
	// The text looks like a duration, so a bad unit or an overflow is the likely cause.
	case err != nil && strings.TrimLeft(text, "0123456789.hmsuµn") == "" && text != "":
		return 0, bad(flag, text, "not a time, or too long; write 20s or 250ms")
	case err != nil:
		return 0, bad(flag, text, "not a time; write 20s or 250ms")
	case d <= 0:
		return 0, bad(flag, text, "must be more than 0s")
	}
	return d, nil
}

// Choice reads one of a few names. The error names the nearest one, or all of
// them if several are equally near.
func Choice(flag, text string, names ...string) (string, error) {
	if slices.Contains(names, text) {
		return text, nil
	}
	// Nearest returns the first of several equally near names. If the reversed list gives
	// another one, there is a tie.
	backwards := slices.Clone(names)
	slices.Reverse(backwards)
	if n := errs.Nearest(text, names); n != "" && n == errs.Nearest(text, backwards) {
		return "", bad(flag, text, "no such choice; did you mean "+n+"?")
	}
	return "", bad(flag, text, "no such choice; one of "+strings.Join(names, ", "))
}

// NonEmpty reads a text that must not be empty, such as a path.
func NonEmpty(flag, text string) (string, error) {
	if text == "" {
		return "", errs.Optionf("--"+flag, "the value is empty")
	}
	return text, nil
}

// bad returns the error for a value.
func bad(flag, text, cause string) error {
	if text == "" {
		return errs.Optionf("--"+flag, "the value is empty; %s", cause)
	}
	return errs.Optionf("--"+flag, "%s: %s", Quote(text), cause)
}
