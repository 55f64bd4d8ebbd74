package ppm

import (
	"fmt"
	"strconv"
)

// Number is a number with a name: the integer Num if Den is 0, the ratio
// Num/Den otherwise.
type Number struct {
	Name     string
	Num, Den int64
}

// Value returns the number without its name: 42, or 3.56 (320/90). A share in parts per
// million is a decimal alone: 0.25. If a share divides, the ratio is reduced:
// 3.33 (10/3).
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
