// Package ppm is the arithmetic of shares. A share is an integer in parts per million,
// so that floors and ceilings of capacities are exact on every processor
// [DHFS13, "borrow allowance"]: the ceiling of a floating-point 1.0000001 would be one
// slot too many.
//
// Neighbours: package slots calls the type PPM; workload files and flags are read into
// it. The package owns no memory.
package ppm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Share is a share in parts per million.
type Share int64

// One is the share of 100 %.
const One Share = 1_000_000

// Parse reads a decimal number such as 0.25, exactly. It fails if text is not one, or has
// more than six decimals that matter.
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

// Near returns the share that is nearest to x. It rounds halves away from 0.
func Near(x float64) Share { return Share(math.Round(x * float64(One))) }

// String returns the share as a decimal number, such as 0.25.
func (p Share) String() string {
	return strconv.FormatFloat(float64(p)/float64(One), 'f', -1, 64)
}

// Of returns floor(n·p).
func (p Share) Of(n int32) int32 { return int32(int64(n) * int64(p) / int64(One)) }

// CeilOf returns ceil(n·p).
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
