// Package ppm is the arithmetic of shares. A share is an integer in parts per million,
// so that floors and ceilings of capacities are exact on every processor [DHFS13,
// "borrow allowance"]. The ceiling of a floating-point 1.0000001 would be one slot too
// many. ParseBytes parses sizes, which are decimal numbers with a unit, without rounding
// errors.
package ppm

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Share is a share in parts per million.
type Share int64

// One is the share of 100 %.
const One Share = 1_000_000

// Parse returns the share of a decimal number such as 0.25, exactly. It fails if text is not such a
// number, is too large, or has more than six decimals without the zeros at its end.
func Parse(text string) (Share, error) {
	whole, frac, _ := strings.Cut(text, ".")
	if len(whole)+len(frac) == 0 || strings.Trim(whole+frac, "0123456789") != "" {
		return 0, fmt.Errorf("share %q: not a decimal number", text)
	}
	frac = strings.TrimRight(frac, "0")
	if len(frac) > 6 {
		return 0, fmt.Errorf("share %q: more than six decimals", text)
	}
	digits := whole + frac + "000000"[len(frac):]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("share %q: too large", text)
	}
	return Share(n), nil
}

// Scaled returns floor(n·num/den), or the largest number if the result does not fit or den is 0. None of the
// numbers may be negative.
func Scaled(n, num, den int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(num))
	if hi >= uint64(den) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(den))
	return int64(min(q, math.MaxInt64))
}

// Near returns the share that is nearest to x. It rounds halves away from 0.
func Near(x float64) Share { return Share(math.Round(x * float64(One))) }

// String returns the share as a decimal number, such as 0.25.
func (p Share) String() string {
	return strconv.FormatFloat(float64(p)/float64(One), 'f', -1, 64)
}

// Of returns floor(n·p). The result must fit into an int32.
func (p Share) Of(n int32) int32 { return int32(int64(n) * int64(p) / int64(One)) }

// CeilOf returns ceil(n·p). The result must fit into an int32.
func (p Share) CeilOf(n int32) int32 {
	return int32((int64(n)*int64(p) + int64(One) - 1) / int64(One))
}

// GCD returns the greatest common divisor; GCD(a, 0) is a.
func GCD(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// UnitLetters has the letters of the units of sizes, in ascending order.
const UnitLetters = "KMGTPE"

// ParseBytes parses a number of bytes: 4096, 64MiB, 100MB (decimal), 1.5G (binary). A unit
// without B, or with iB, is a power of 1024; KB, MB and so on are powers of 1000. The
// case of letters does not count. A fraction of a byte is rounded down. problem describes what is
// wrong with text; "": nothing.
func ParseBytes(text string) (bytes int64, problem string) {
	unit := strings.TrimLeft(text, "0123456789.")
	number := strings.TrimSuffix(text, unit)
	scale, ok := sizeUnit(strings.ToUpper(strings.TrimPrefix(unit, " ")))
	if number == "" || !ok {
		return 0, "not a size; write 64MiB, 100MB or 1G"
	}
	whole, fraction, dotted := strings.Cut(number, ".")
	if strings.Contains(fraction, ".") || dotted && fraction == "" {
		return 0, "not a number"
	}
	w, err := strconv.ParseUint("0"+whole, 10, 64)
	// The product has 128 bits, so an overflow shows in hi.
	hi, lo := bits.Mul64(w, scale)
	if err != nil || hi != 0 || lo > math.MaxInt64 {
		return 0, "too large"
	}
	// 18 digits fit into 64 bits. Further digits make at most two bytes, and are dropped.
	fraction = fraction[:min(len(fraction), 18)]
	f, _ := strconv.ParseUint("0"+fraction, 10, 64)
	ten := uint64(1)
	for range fraction {
		ten *= 10
	}
	hi, low := bits.Mul64(f, scale)
	part, _ := bits.Div64(hi, low, ten) // cannot overflow: f < ten, so part < scale
	if lo += part; lo > math.MaxInt64 {
		return 0, "too large"
	}
	return int64(lo), ""
}

// FormatBytes formats n so that ParseBytes parses it back, as 64MiB.
func FormatBytes(n int64) string {
	// The largest unit that divides n gives the shortest text.
	for i := len(UnitLetters) - 1; i >= 0; i-- {
		if unit := int64(1) << (10 * (i + 1)); n >= unit && n%unit == 0 {
			return strconv.FormatInt(n/unit, 10) + UnitLetters[i:i+1] + "iB"
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// sizeUnit returns the number of bytes of a unit in upper case; false: there is no such unit.
func sizeUnit(unit string) (scale uint64, ok bool) {
	if unit == "" || unit == "B" {
		return 1, true
	}
	// The power of the base grows along UnitLetters: K is 1, E is 6.
	power, base := strings.IndexByte(UnitLetters, unit[0])+1, uint64(1024)
	switch unit[1:] {
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
	return scale, power > 0
}

// Number is a number with a name. It is the integer Num if Den is 0, and the ratio Num/Den
// otherwise. If Den is 1,000,000, it is a share in parts per million.
type Number struct {
	Name     string
	Num, Den int64
}

// Value returns the number without its name: 42, or 3.56 (320/90). A share is only a decimal: 0.25.
// A ratio whose denominator is a multiple of 1,000,000 is reduced first: 3.33 (10/3).
func (n Number) Value() string {
	if n.Den == int64(One) {
		return Share(n.Num).String()
	}
	if n.Den > 0 && n.Den%int64(One) == 0 {
		d := int64(GCD(uint64(max(n.Num, 0)), uint64(n.Den)))
		n.Num, n.Den = n.Num/d, n.Den/d
	}
	if n.Den == 0 || n.Den == 1 {
		return strconv.FormatInt(n.Num, 10)
	}
	return fmt.Sprintf("%.2f (%d/%d)", float64(n.Num)/float64(n.Den), n.Num, n.Den)
}

func (n Number) String() string { return n.Name + " = " + n.Value() }
