package argv

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
)

// Size parses a number of bytes, at least least: 4096, 64MiB, 100MB (decimal), 1.5G (binary). In
// all functions of this file, flag is the name of the flag without dashes, for the options error
// that they return.
func Size(flag, text string, least int64) (int64, error) {
	n, problem := ppm.ParseBytes(text)
	switch {
	case problem != "":
		return 0, bad(flag, text, problem)
	case n < least:
		return 0, bad(flag, text, "too small; at least "+ppm.FormatBytes(least))
	}
	return n, nil
}

// Share parses a decimal from 0 to 1, with at most six decimals.
func Share(flag, text string) (ppm.Share, error) {
	_, fraction, dotted := strings.Cut(text, ".")
	if strings.Trim(text, "0123456789.") != "" || text == "" || strings.Contains(fraction, ".") || dotted && fraction == "" {
		return 0, bad(flag, text, "not a share; write a decimal from 0 to 1, such as 0.5")
	}
	// Zeros at the end do not count, so 0.5000000 is valid.
	if len(strings.TrimRight(fraction, "0")) > 6 {
		return 0, bad(flag, text, "too fine; at most six decimals")
	}
	p, err := ppm.Parse(text)
	if err != nil || p > ppm.One {
		return 0, bad(flag, text, "more than 1; write a decimal from 0 to 1, such as 0.5")
	}
	return p, nil
}

// Multiple parses a decimal after a prefix, as in auto:1.75. It is above 0 and at most most.
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

// Count parses a whole number from least to most.
func Count(flag, text string, least, most int) (int, error) {
	digits := strings.TrimPrefix(text, "-")
	// Atoi would accept a plus sign, and its errors do not fit a user.
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, bad(flag, text, "not a whole number")
	}
	n, err := strconv.Atoi(text)
	switch {
	// A negative number may be too long for an int. Then err is set, but the number is too small.
	case text[0] == '-' || err == nil && n < least:
		return 0, bad(flag, text, "too small; at least "+strconv.Itoa(least))
	case err != nil || n > most:
		return 0, bad(flag, text, "too large; at most "+strconv.Itoa(most))
	}
	return n, nil
}

// Limit parses a bound as GNU tools do. For a negative number, which means no bound, it returns
// nil. It lowers a number that is too large to the largest int64.
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

// Seed parses any unsigned whole number of 64 bits.
func Seed(flag, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, bad(flag, text, "not a whole number up to 18446744073709551615")
	}
	return n, nil
}

// Time parses a duration above 0: 250ms, 20s, 1m30s.
func Time(flag, text string) (time.Duration, error) {
	// Without a unit a number could mean seconds or milliseconds.
	if text != "" && strings.Trim(text, "0123456789.") == "" {
		return 0, bad(flag, text, "no unit; write 20s or 250ms")
	}
	d, err := time.ParseDuration(text)
	switch {
	// The text has only characters of durations, so a wrong unit or an overflow is the likely mistake.
	case err != nil && strings.TrimLeft(text, "0123456789.hmsuµn") == "" && text != "":
		return 0, bad(flag, text, "not a time, or too long; write 20s or 250ms")
	case err != nil:
		return 0, bad(flag, text, "not a time; write 20s or 250ms")
	case d <= 0:
		return 0, bad(flag, text, "must be more than 0s")
	}
	return d, nil
}

// Choice returns text if it is one of names. Otherwise its error suggests the nearest name, or
// lists all names if several are equally near. An empty name is the default of a flag, which is not
// listed.
func Choice(flag, text string, names ...string) (string, error) {
	if slices.Contains(names, text) {
		return text, nil
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
	// Nearest returns the first of several equally near names. With the reversed list it returns
	// another one if there is a tie.
	backwards := slices.Clone(names)
	slices.Reverse(backwards)
	if n := errs.Nearest(text, names); n != "" && n == errs.Nearest(text, backwards) {
		return "", bad(flag, text, "no such choice; did you mean "+n+"?")
	}
	return "", bad(flag, text, "no such choice; one of "+strings.Join(names, ", "))
}

// NonEmpty returns text, such as a path. An empty text is an error.
func NonEmpty(flag, text string) (string, error) {
	if text == "" {
		return "", errs.Optionf("--"+flag, "the value is empty")
	}
	return text, nil
}

// bad returns the options error for the value text of a flag.
func bad(flag, text, cause string) error {
	if text == "" {
		return errs.Optionf("--"+flag, "the value is empty; %s", cause)
	}
	return errs.Optionf("--"+flag, "%s: %s", errs.Quote(text), cause)
}
