package count

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// decimal is an exact number: digits × 10^-scale. It is a value that no function changes.
type decimal struct {
	digits int64
	large  *big.Int // in place of digits, if they do not fit; nil: they do
	scale  uint16
}

// mostDigits bounds the digits of a number, with the zeros that its exponent stands for.
const mostDigits = 4096

// smallDigits is one more than the digits that surely fit in 64 bits.
const smallDigits = 19

// parseDecimal reads a number such as -12, .5 or 1.5e3. text is not empty. ok is false if it is something else, or too
// long.
func parseDecimal(text []byte) (d decimal, ok bool) {
	rest := text
	if text[0] == '-' || text[0] == '+' {
		rest = text[1:]
	}
	if len(rest) > mostDigits {
		return d, false
	}
	at, seen, point := 0, 0, -1
	for ; at < len(rest); at++ {
		switch c := rest[at]; {
		case c >= '0' && c <= '9':
			if seen++; seen < smallDigits {
				d.digits = 10*d.digits + int64(c-'0')
			}
			continue
		case c == '.' && point < 0:
			point = at
			continue
		}
		break
	}
	scale := 0
	if point >= 0 {
		scale = at - point - 1
	}
	if seen >= smallDigits {
		d.large, _ = new(big.Int).SetString(string(bytes.Replace(rest[:at], []byte("."), nil, 1)), 10)
	}
	if at < len(rest) {
		e, err := strconv.Atoi(string(rest[at+1:]))
		if rest[at]|0x20 != 'e' || err != nil || e > mostDigits || e < -mostDigits {
			return d, false
		}
		scale -= e
	}
	if seen == 0 || scale > mostDigits || scale < -mostDigits {
		return d, false
	}
	if text[0] == '-' {
		d.digits = -d.digits
		if d.large != nil {
			d.large.Neg(d.large)
		}
	}
	if scale < 0 {
		return d.times(-scale), true
	}
	d.scale = uint16(scale)
	return d, true
}

// times returns d with its digits times 10^n.
func (d decimal) times(n int) decimal {
	for ; n > 0 && d.large == nil && d.digits <= math.MaxInt64/10 && d.digits >= math.MinInt64/10; n-- {
		d.digits *= 10
	}
	if n > 0 {
		d.large = new(big.Int).Mul(d.whole(), ten(n))
	}
	return d
}

// ten returns 10^n.
func ten(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// whole returns the digits as a large number, which the caller must not change.
func (d decimal) whole() *big.Int {
	if d.large != nil {
		return d.large
	}
	return big.NewInt(d.digits)
}

// sameScale returns both numbers with the larger scale of the two.
func sameScale(a, b decimal) (decimal, decimal) {
	switch {
	case a.scale < b.scale:
		a, a.scale = a.times(int(b.scale-a.scale)), b.scale
	case b.scale < a.scale:
		b, b.scale = b.times(int(a.scale-b.scale)), a.scale
	}
	return a, b
}

// plus returns a + b.
func (a decimal) plus(b decimal) decimal {
	a, b = sameScale(a, b)
	if a.large == nil && b.large == nil {
		if sum := a.digits + b.digits; (sum > a.digits) == (b.digits > 0) {
			return decimal{digits: sum, scale: a.scale}
		}
	}
	return decimal{large: new(big.Int).Add(a.whole(), b.whole()), scale: a.scale}
}

// less reports whether a < b.
func (a decimal) less(b decimal) bool {
	a, b = sameScale(a, b)
	if a.large == nil && b.large == nil {
		return a.digits < b.digits
	}
	return a.whole().Cmp(b.whole()) < 0
}

// appendOver appends a / n as the nearest number of 64 bits. A number beyond these gets 17 digits.
func (a decimal) appendOver(dst []byte, n uint64) []byte {
	r := new(big.Rat).SetFrac(a.whole(), new(big.Int).Mul(ten(int(a.scale)), new(big.Int).SetUint64(n)))
	f, _ := r.Float64()
	if text, err := json.Marshal(f); err == nil {
		return append(dst, text...)
	}
	return new(big.Float).SetRat(r).Append(dst, 'e', 16)
}

// appendText appends the number with all its digits, without zeros at the end of a fraction.
func (a decimal) appendText(dst []byte) []byte {
	digits, negative := strings.CutPrefix(a.whole().String(), "-")
	if negative {
		dst = append(dst, '-')
	}
	scale := int(a.scale)
	digits = strings.Repeat("0", max(0, scale+1-len(digits))) + digits
	at := len(digits) - scale
	dst = append(dst, digits[:at]...)
	if fraction := strings.TrimRight(digits[at:], "0"); fraction != "" {
		dst = append(append(dst, '.'), fraction...)
	}
	return dst
}

// append appends the number in the form that cutDecimal reads: scale, length of the digits, and the digits. The length
// is 0 for the 8 bytes of a small number.
func (a decimal) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, a.scale)
	if a.large == nil {
		return binary.LittleEndian.AppendUint64(append(dst, 0, 0), uint64(a.digits))
	}
	digits, _ := a.large.GobEncode() // never fails
	return append(binary.LittleEndian.AppendUint16(dst, uint16(len(digits))), digits...)
}

// cutDecimal reads the number at the start of p.
func cutDecimal(p []byte) (d decimal, rest []byte) {
	d.scale = binary.LittleEndian.Uint16(p)
	n := int(binary.LittleEndian.Uint16(p[2:]))
	if p = p[4:]; n == 0 {
		d.digits = int64(binary.LittleEndian.Uint64(p))
		return d, p[8:]
	}
	d.large = new(big.Int)
	_ = d.large.GobDecode(p[:n]) // append has written it
	return d, p[n:]
}
