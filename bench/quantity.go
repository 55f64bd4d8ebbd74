package bench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// quantity is a number of the paper, or a range, as it is printed.
type quantity struct {
	least, most float64
	decimals    int
	percent     bool
	unit        string // with the space before it, or ""
}

// parseQuantity reads a number or a range with its unit, such as 29 %, 32..55 % or 1319 s.
// Percentages become fractions.
func parseQuantity(text string) (q quantity, err error) {
	digits := text
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '.' && r != '-' && !unicode.IsDigit(r) }); i >= 0 {
		digits, q.unit = text[:i], text[i:]
	}
	// A number alone is a range of one value.
	from, to, several := strings.Cut(digits, "..")
	if !several {
		to = from
	}
	q.least, err = strconv.ParseFloat(from, 64)
	if err == nil {
		q.most, err = strconv.ParseFloat(to, 64)
	}
	if err != nil {
		return q, fmt.Errorf("%q is no number; write 29 %%, 32..55 %% or 1319 s, or compare in ours", text)
	}
	_, decimals, _ := strings.Cut(to, ".")
	// The digits behind the point say how exactly the paper prints the figure.
	q.decimals = len(decimals)
	if strings.TrimSpace(q.unit) == "%" {
		q.percent = true
		// Runs give fractions, so percentages are compared as fractions.
		q.least, q.most = q.least/100, q.most/100
	}
	return q, nil
}

// half returns half a unit of the last digit.
func (q *quantity) half() float64 {
	h := 0.5 * math.Pow10(-q.decimals)
	if q.percent {
		h /= 100
	}
	return h
}

// widest returns the widest band that a figure may have: the range that the paper prints,
// or a quarter of its number on each side.
func (q *quantity) widest() (least, most float64) {
	if q.least != q.most {
		return q.least, q.most
	}
	quarter := math.Abs(q.least) / 4
	return q.least - quarter, q.least + quarter
}

// digits writes a number with the paper's digits, without the unit; whole numbers below
// 100 and percentages get one digit more.
func (q *quantity) digits(n float64) string {
	decimals := q.decimals
	if q.percent {
		n *= 100
		decimals = max(decimals, 1)
	}
	if decimals == 0 && n != math.Trunc(n) && math.Abs(n) < 100 {
		decimals = 1
	}
	return strconv.FormatFloat(n, 'f', decimals, 64)
}

// bound writes an end of a band without the unit, with all digits that it needs.
func (q *quantity) bound(n float64) string {
	if q.percent {
		n *= 100
	}
	return strconv.FormatFloat(math.Round(n*1e6)/1e6, 'f', -1, 64)
}
