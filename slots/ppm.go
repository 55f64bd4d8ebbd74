package slots

import (
	"fmt"
	"strconv"
	"strings"
)

// PPM is a share in parts per million, so that capacity arithmetic stays in
// integers (SPEC A6: a ceiling of 1.0000001 would be a slot too many).
type PPM int64

// One is the whole.
const One PPM = 1_000_000

// ParsePPM reads a decimal such as 0.25, exactly; digits beyond the millionth
// are refused unless they are zero.
func ParsePPM(text string) (PPM, error) {
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
	return PPM(n), nil
}

func (p PPM) String() string {
	return strconv.FormatFloat(float64(p)/float64(One), 'f', -1, 64)
}

// Of is floor(n·p).
func (p PPM) Of(n int32) int32 { return int32(int64(n) * int64(p) / int64(One)) }

// CeilOf is ceil(n·p).
func (p PPM) CeilOf(n int32) int32 {
	return int32((int64(n)*int64(p) + int64(One) - 1) / int64(One))
}
