package argv

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/errs"
)

// unitLetters are the units of sizes. KiB and K are 1024 bytes (K as in GNU), KB
// is 1000 bytes.
const unitLetters = "KMGTPE"

// Size reads a number of bytes: 4096, 64MiB, 100MB (decimal), 1.5G (binary). As
// in all functions of this file, flag is the name of the flag, for the error.
func Size(flag, text string, least int64) (int64, error) {
	number, unit := cutNumber(text)
	scale, ok := sizeUnit(strings.TrimPrefix(unit, " "))
	if number == "" || !ok {
		return 0, bad(flag, text, "not a size; write 64MiB, 100MB or 1G")
	}
	n, err := scaled(number, scale)
	if err != "" {
		return 0, bad(flag, text, err)
	}
	if n < least {
		return 0, bad(flag, text, "too small; at least "+FormatSize(least))
	}
	return n, nil
}

// FormatSize writes n so that Size reads it back.
func FormatSize(n int64) string {
	// The largest unit that divides n gives the shortest text.
	for i := len(unitLetters) - 1; i >= 0; i-- {
		if unit := int64(1) << (10 * (i + 1)); n >= unit && n%unit == 0 {
			return strconv.FormatInt(n/unit, 10) + unitLetters[i:i+1] + "iB"
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// cutNumber splits "1.5GiB" into "1.5" and "GiB".
func cutNumber(text string) (number, unit string) {
	i := 0
	for i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] == '.') {
		i++
	}
	return text[:i], text[i:]
}

// sizeUnit returns the bytes of a unit.
func sizeUnit(unit string) (scale int64, ok bool) {
	// Units are read in any case: 64mib is 64MiB.
	u := strings.ToUpper(unit)
	if u == "" || u == "B" {
		return 1, true
	}
	// The power of the base grows along unitLetters: K is 1, E is 6.
	power := strings.IndexByte(unitLetters, u[0]) + 1
	if power == 0 {
		return 0, false
	}
	base := int64(1024)
	switch u[1:] {
	case "", "IB", "I":
	case "B":
		base = 1000
	default:
		return 0, false
	}
	scale = 1
	for range power {
		scale *= base
	}
	return scale, true
}

// scaled multiplies a decimal number by scale and rounds down. It computes with
// integers, so that the result is exact.
func scaled(number string, scale int64) (n int64, problem string) {
	whole, fraction, dotted := strings.Cut(number, ".")
	if whole == "" && fraction == "" || strings.Contains(fraction, ".") || dotted && fraction == "" {
		return 0, "not a number"
	}
	var w uint64
	if whole != "" {
		var err error
		if w, err = strconv.ParseUint(whole, 10, 64); err != nil {
			return 0, "too large"
		}
	}
	// The product has 128 bits, so an overflow is seen and never wraps.
	hi, lo := bits.Mul64(w, uint64(scale))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, "too large"
	}
	// 18 digits fit into 64 bits. Digits behind them are worth two bytes at most.
	if fraction = fraction[:min(len(fraction), 18)]; fraction != "" {
		f, _ := strconv.ParseUint(fraction, 10, 64) // 18 digits fit into 64 bits
		ten := uint64(1)
		for range fraction {
			ten *= 10
		}
		hi, low := bits.Mul64(f, uint64(scale))
		part, _ := bits.Div64(hi, low, ten) // cannot overflow: f < ten, so part < scale
		lo += part
	}
	if lo > math.MaxInt64 {
		return 0, "too large"
	}
	return int64(lo), ""
}

// Share reads a decimal from 0 to 1 and returns it in parts per million.
func Share(flag, text string) (partsPerMillion int64, err error) {
	const form = "not a share; write a decimal from 0 to 1, such as 0.5"
	number, unit := cutNumber(text)
	if number == "" || unit != "" {
		return 0, bad(flag, text, form)
	}
	whole, fraction, dotted := strings.Cut(number, ".")
	if strings.Contains(fraction, ".") || dotted && fraction == "" {
		return 0, bad(flag, text, form)
	}
	// Zeros at the end are no precision: 0.5000000 is fine.
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > 6 {
		return 0, bad(flag, text, "too fine; at most six decimals")
	}
	// With six decimals the digits are the number of millionths.
	n, convErr := strconv.ParseInt(whole+fraction+strings.Repeat("0", 6-len(fraction)), 10, 64)
	if convErr != nil || n > 1_000_000 {
		return 0, bad(flag, text, "more than 1; write a decimal from 0 to 1, such as 0.5")
	}
	return n, nil
}

// Count reads a whole number from least to most.
func Count(flag, text string, least, most int) (int, error) {
	digits := strings.TrimPrefix(text, "-")
	// Atoi alone would accept a plus sign and say less about the mistake.
	for i := 0; i < len(digits); i++ {
		if digits[i] < '0' || digits[i] > '9' {
			digits = ""
		}
	}
	if digits == "" {
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
	if _, unit := cutNumber(text); unit == "" && text != "" {
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
