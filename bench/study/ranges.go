package study

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/ppm"
)

// mostValues is the largest number of values of a range or list.
const mostValues = 1000

// ParseSet parses PATH=RANGE, the value of --set. RANGE is as in Values.
func ParseSet(text string) (Swept, error) {
	path, values, ok := strings.Cut(text, "=")
	if !ok || path == "" || values == "" {
		return Swept{}, fmt.Errorf("%s: not PATH=RANGE; write pools.adhoc.weight=1..8*2 or pools.adhoc.mode=fair,fifo", text)
	}
	s := Swept{Name: path, InFile: true}
	var err error
	s.Values, err = Values(values, false)
	return s, err
}

// Values parses the values of a setting: a list (1,2,4 or fair,fifo), FROM..TO in steps of 1,
// FROM..TO/STEP, or FROM..TO*FACTOR. Ends and steps are numbers, times or sizes. A comma within
// brackets does not separate values. It fails for an empty value, for equal values, for more than mostValues,
// and for a range of shares without a step.
func Values(text string, share bool) (values []string, err error) {
	bad := func(format string, args ...any) ([]string, error) {
		return nil, fmt.Errorf("%s: %s", text, fmt.Sprintf(format, args...))
	}
	if text == "" {
		return nil, errors.New("the value is empty")
	}
	if from, rest, ranged := strings.Cut(text, ".."); ranged {
		var problem string
		if share && !strings.ContainsAny(rest, "/*") {
			return bad("a range without a step; write 0..1/0.1")
		}
		if values, problem = steps(from, rest); problem != "" {
			return bad("%s", problem)
		}
	} else {
		depth, start := 0, 0 // open brackets; where the value begins
		for i, c := range text + "," {
			// The comma after the last value, which the loop adds, ends this value too.
			switch {
			case c == '[' || c == '{':
				depth++
			case c == ']' || c == '}':
				depth--
			case c == ',' && depth <= 0:
				values = append(values, strings.TrimSpace(text[start:i]))
				start = i + 1
			}
		}
	}
	if len(values) > mostValues {
		return bad("too many values; at most %d", mostValues)
	}
	// With equal values, a sweep would run the same configuration twice.
	seen := map[string]bool{}
	for _, v := range values {
		switch plain := normal(v); {
		case v == "":
			return bad("has an empty value")
		case seen[plain]:
			return bad("has %s twice", v)
		default:
			seen[plain] = true
		}
	}
	return values, nil
}

// normal returns a value in the form that equal values share, as 0.5 for 0.50.
func normal(value string) string {
	for _, u := range units() {
		if x, ok := u.read(value); ok {
			return u.word(x)
		}
	}
	return value
}

// steps returns the values of a range, or what is wrong with it. from is the text before "..", and rest
// that after it. There may be one more than mostValues.
func steps(from, rest string) (values []string, problem string) {
	// by is the text of the step or the factor, or "".
	to, by, factor := strings.Cut(rest, "*")
	if !factor {
		to, by, _ = strings.Cut(rest, "/")
	}
	// The range has the first unit that can read both ends.
	for _, u := range units() {
		a, ok1 := u.read(from)
		b, ok2 := u.read(to)
		if !ok1 || !ok2 {
			continue
		}
		step, ok := u.one, by == ""
		if factor {
			step, ok = decimal(by)
		} else if by != "" {
			step, ok = u.read(by)
		}
		switch {
		case !ok || !factor && step <= 0 || factor && step <= 1:
			return nil, "not a step above 0, or a factor above 1"
		case b < a || factor && a <= 0:
			return nil, "ends before it begins, or a factor of 0"
		}
		// The margin keeps rounding errors from dropping the end. Adding n*step avoids that they
		// add up.
		for x, n := a, 0; x <= b*(1+1e-9) && n <= mostValues; n++ {
			values = append(values, u.word(x))
			if x *= step; !factor {
				x = a + float64(n+1)*step
			}
		}
		return values, ""
	}
	return nil, "not a range of numbers, times or sizes; write 1..8, 1..8*2 or 10s..60s/10s"
}

// unit converts values of one kind between texts and numbers.
type unit struct {
	read func(text string) (float64, bool) // false: the text has another unit
	word func(x float64) string            // the reverse of read
	one  float64                           // the default step of a range; 0: none
}

// units returns the units in the order in which a text is tried: plain numbers, times in
// nanoseconds, sizes in bytes.
func units() []unit {
	return []unit{
		{decimal, number, 1},
		{func(text string) (float64, bool) {
			d, err := time.ParseDuration(text)
			return float64(d), err == nil && d >= 0
		}, func(x float64) string { return time.Duration(math.Round(x)).String() }, 0},
		{func(text string) (float64, bool) {
			n, problem := ppm.ParseBytes(text)
			return float64(n), problem == ""
		}, func(x float64) string { return ppm.FormatBytes(int64(math.Round(x))) }, 0},
	}
}

// decimal parses a decimal number from 0 on, without sign and exponent.
func decimal(text string) (float64, bool) {
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && x >= 0 && strings.Trim(text, "0123456789.") == ""
}

// coordinate returns the place of a value of --set on an axis: its number, its seconds or its
// bytes. ok is false for any other text.
func coordinate(value string) (x float64, ok bool) {
	for i, u := range units() {
		if x, ok := u.read(value); ok {
			if i == 1 { // times are in nanoseconds
				x /= float64(time.Second)
			}
			return x, true
		}
	}
	return 0, false
}
