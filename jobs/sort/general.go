package sort

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// The first byte of a key of -g. GNU sort puts text that is not a number first, then NaNs, then
// numbers.
const (
	notNumber = iota
	notANumber
	negative
	zeroNumber
	positive
)

const (
	// The limits bound the cost of parsing but keep it exact. An 80-bit float has about 19
	// significant digits; only ties need more of them.
	exponentBias    = 16383  // of an 80-bit float
	mostExponent    = 0x7fff // the exponent field of infinity
	mostDecimal     = 5000   // 1e5000 is infinite, and 1e-5000 is zero
	mostDigits      = 20_000 // digits beyond these only count as "not zero" when a number is rounded
	exactPowers     = 28     // powers of 5 below this exponent fit in a word: 5**27 has 63 bits
	digitsOfUint64  = 19
	mostExponentLit = 1 << 30 // larger exponents in the text are cut to this, so that sums do not overflow
)

// appendGeneral appends a key for the number at the start of text. It reads the text as strtold
// does: decimal or hexadecimal, with an exponent, inf or nan. Numbers have the precision of GNU
// sort on x86, 64 bits of mantissa and 15 of exponent, so that the same numbers are equal.
//
// A key has one byte for the class. Numbers other than zero have ten bytes more: the exponent
// and the mantissa. A NaN has nine more: its payload and its sign.
func appendGeneral(dst, text []byte) []byte {
	at := 0
	for at < len(text) && (text[at] == ' ' || text[at]-'\t' < 5) { // isspace of C
		at++
	}
	// strtold accepts a plus sign; -n does not.
	minus := at < len(text) && text[at] == '-'
	if minus || at < len(text) && text[at] == '+' {
		at++
	}
	text = text[at:]
	switch {
	// The word may go on, as in "infinity". That does not change the value.
	case hasFold(text, "inf"):
		return appendFloat(dst, minus, mostExponent, 1<<63)
	case hasFold(text, "nan"):
		dst = binary.LittleEndian.AppendUint64(append(dst, notANumber), payload(text[3:]))
		if minus {
			return append(dst, 1)
		}
		return append(dst, 0)
	}
	// 0x without a digit is the number 0, which parseDecimal reads.
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		if exponent, mantissa, ok := parseHex(text[2:]); ok {
			return appendFloat(dst, minus, exponent, mantissa)
		}
	}
	exponent, mantissa, ok := parseDecimal(text)
	if !ok {
		return append(dst, notNumber)
	}
	return appendFloat(dst, minus, exponent, mantissa)
}

// payload returns the number in parentheses behind nan, as glibc reads it; 0 if there is none.
// GNU sort orders NaNs by their bytes in memory: first those of the payload, the lowest first,
// and then the sign. So appendGeneral writes the payload in little-endian order, as x86 does.
func payload(text []byte) uint64 {
	// ParseUint would accept underscores and binary or octal prefixes; glibc does not.
	end := bytes.IndexByte(text, ')')
	if end < 2 || text[0] != '(' || bytes.IndexByte(text[:end], '_') >= 0 || text[1] == '0' && end > 2 && strings.IndexByte("bBoO", text[2]) >= 0 {
		return 0
	}
	n, err := strconv.ParseUint(string(text[1:end]), 0, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	// The two highest bits of the mantissa are the same in all quiet NaNs.
	return n & (1<<62 - 1)
}

// hasFold reports whether text begins with word in any case. word has only small letters.
func hasFold(text []byte, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		if text[i]|0x20 != word[i] {
			return false
		}
	}
	return true
}

// appendFloat appends the class and the bits of a float, the highest first. So positive floats
// sort by their bits. The bits of negative floats are inverted. Zero has no sign, because -0
// and 0 are equal.
func appendFloat(dst []byte, minus bool, exponent uint16, mantissa uint64) []byte {
	if mantissa == 0 {
		return append(dst, zeroNumber)
	}
	class := byte(positive)
	if minus {
		class = negative
		exponent = ^exponent
		mantissa = ^mantissa
	}
	dst = append(dst, class)
	dst = binary.BigEndian.AppendUint16(dst, exponent)
	return binary.BigEndian.AppendUint64(dst, mantissa)
}

// round returns the 80-bit float nearest to n·2**e2, where n has the 128 bits hi and lo. If two
// floats are equally near, it returns the even one. sticky says that bits other than zero
// follow behind lo.
//
// The mantissa includes its highest bit, which 80-bit floats store. Exponent 0 stands for zero
// and for denormal numbers.
func round(hi, lo uint64, sticky bool, e2 int) (exponent uint16, mantissa uint64) {
	if hi == 0 {
		hi, lo, e2 = lo, 0, e2-64
	}
	if hi == 0 {
		return 0, 0
	}
	// The highest bit moves to the top of hi. From here on hi is the mantissa, and lo is
	// rounded away.
	s := bits.LeadingZeros64(hi)
	hi, lo, e2 = hi<<s|lo>>(64-s), lo<<s, e2-s
	biased := e2 + 64 + 63 + exponentBias
	for ; biased < 1 && (hi != 0 || lo != 0); biased++ { // a denormal number
		sticky = sticky || lo&1 != 0
		hi, lo = hi>>1, lo>>1|hi<<63
	}
	half, rest := lo>>63 != 0, lo<<1 != 0 || sticky
	// If rounding up overflows the mantissa, it becomes a power of two.
	if half && (rest || hi&1 != 0) {
		if hi++; hi == 0 {
			hi, biased = 1<<63, biased+1
		}
	}
	switch {
	case biased >= mostExponent:
		return mostExponent, 1 << 63
	case hi>>63 == 0:
		return 0, hi
	}
	return uint16(biased), hi
}

// parseHex reads hexadecimal digits, a point, and p with an exponent, behind 0x. ok is false if there is no
// digit.
func parseHex(text []byte) (exponent uint16, mantissa uint64, ok bool) {
	var fraction []byte
	whole, rest := hexDigits(text)
	if len(rest) > 0 && rest[0] == '.' {
		fraction, rest = hexDigits(rest[1:])
	}
	n, ok := new(big.Int).SetString(string(whole)+string(fraction), 16)
	if !ok {
		return 0, 0, false
	}
	e2 := parseExponent(rest, 'p') - 4*len(fraction)
	exponent, mantissa = roundBig(n, false, max(-mostExponentLit, min(e2, mostExponentLit)))
	return exponent, mantissa, true
}

// hexDigits returns the hexadecimal digits at the start of text, and the rest.
func hexDigits(text []byte) (digits, rest []byte) {
	rest = bytes.TrimLeft(text, "0123456789abcdefABCDEF")
	return text[:len(text)-len(rest)], rest
}

// parseExponent reads letter, a sign and digits, and returns the exponent. It returns 0 if text
// does not begin with them. Larger exponents are cut to mostExponentLit.
func parseExponent(text []byte, letter byte) int {
	if len(text) < 2 || text[0]|0x20 != letter {
		return 0
	}
	text = text[1:]
	minus := text[0] == '-'
	if minus || text[0] == '+' {
		text = text[1:]
	}
	n := 0
	for i := 0; i < len(text) && text[i]-'0' < 10; i++ {
		n = min(n*10+int(text[i]-'0'), mostExponentLit)
	}
	if minus {
		return -n
	}
	return n
}

// parseDecimal reads digits, a point, and e with an exponent. ok is false if there is no digit.
// Numbers of up to 19 digits with a small exponent are scaled with machine words. Others need
// big integers, which are exact but slow.
func parseDecimal(text []byte) (exponent uint16, mantissa uint64, ok bool) {
	whole, at := digits(text, 0)
	var fraction []byte
	if at < len(text) && text[at] == '.' {
		fraction, at = digits(text, at+1)
	}
	if len(whole)+len(fraction) == 0 {
		return 0, 0, false
	}
	e10 := parseExponent(text[at:], 'e')
	var n uint64
	count := 0 // significant digits so far
	last := 0  // number of significant digits without the zeros at the end
	first := 0 // number of zeros before the first significant digit
	for _, part := range [2][]byte{whole, fraction} {
		for _, c := range part {
			if c == '0' && count == 0 {
				first++
				continue
			}
			if count++; c != '0' {
				last = count
			}
			if count <= digitsOfUint64 {
				n = n*10 + uint64(c-'0')
			}
		}
	}
	if last == 0 {
		return 0, 0, true
	}
	// The number is 0.d1d2d3… · 10**point. Beyond the range of the format, the digits do not
	// matter.
	point := e10 + len(whole) - first
	switch {
	case point > mostDecimal:
		return mostExponent, 1 << 63, true
	case point < -mostDecimal:
		return 0, 0, true
	}
	if scale := point - min(count, digitsOfUint64); last <= digitsOfUint64 && scale < exactPowers && scale > -exactPowers {
		exponent, mantissa = scaleExactly(n, scale)
		return exponent, mantissa, true
	}
	exponent, mantissa = scaleBig(significant(whole, fraction, first, min(last, mostDigits)), last > mostDigits, point)
	return exponent, mantissa, true
}

// significant returns count significant digits of a number, without its first zeros and without
// the point.
func significant(whole, fraction []byte, first, count int) []byte {
	all := make([]byte, 0, len(whole)+len(fraction))
	all = append(append(all, whole...), fraction...)
	return all[first : first+count]
}

// scaleExactly returns n·10**scale, for a scale between -exactPowers and exactPowers. The
// factor 2**scale only changes the exponent of the float. So only 5**scale needs arithmetic.
func scaleExactly(n uint64, scale int) (exponent uint16, mantissa uint64) {
	power := uint64(1)
	for range max(scale, -scale) {
		power *= 5
	}
	if scale >= 0 {
		hi, lo := bits.Mul64(n, power)
		return round(hi, lo, false, scale)
	}
	// With both shifted to 64 bits, the quotient lies between a half and two.
	s, t := bits.LeadingZeros64(n), bits.LeadingZeros64(power)
	n, power = n<<s, power<<t
	// Div64 requires that the dividend is less than the divisor.
	over := uint64(0)
	if n >= power {
		over, n = 1, n-power
	}
	q, r := bits.Div64(n, 0, power)
	q2, r := bits.Div64(r, 0, power)
	sticky, e2 := r != 0, scale-s+t-128
	// The quotient has 129 bits; its last bit only counts for sticky.
	if over != 0 {
		sticky = sticky || q2&1 != 0
		q, q2, e2 = 1<<63|q>>1, q<<63|q2>>1, e2+1
	}
	return round(q, q2, sticky, e2)
}

// scaleBig returns 0.DIGITS·10**point for any number of digits. sticky says that digits other
// than zero follow. 128 bits of the quotient and sticky decide how it is rounded.
func scaleBig(decimal []byte, sticky bool, point int) (exponent uint16, mantissa uint64) {
	n, _ := new(big.Int).SetString(string(decimal), 10) // decimal has only digits, so this cannot fail
	scale, e2 := point-len(decimal), 0
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil)
	if scale >= 0 {
		n.Mul(n, power)
	} else {
		// The shift makes the quotient at least 128 bits long.
		if shift := power.BitLen() - n.BitLen() + 130; shift > 0 {
			n.Lsh(n, uint(shift))
			e2 = -shift
		}
		rest := new(big.Int)
		n.QuoRem(n, power, rest)
		sticky = sticky || rest.Sign() != 0
	}
	return roundBig(n, sticky, e2)
}

// roundBig is round for a number of any length.
func roundBig(n *big.Int, sticky bool, e2 int) (exponent uint16, mantissa uint64) {
	if shift := n.BitLen() - 128; shift > 0 {
		sticky = sticky || n.TrailingZeroBits() < uint(shift)
		n.Rsh(n, uint(shift))
		e2 += shift
	}
	var buf [16]byte
	n.FillBytes(buf[:])
	return round(binary.BigEndian.Uint64(buf[:8]), binary.BigEndian.Uint64(buf[8:]), sticky, e2)
}

// appendNumber appends a key for the number at the start of text, behind blanks. It reads
// numbers as GNU sort -n does: an optional minus, digits, and a fraction behind a point. There
// is neither a plus nor an exponent. Text without a number counts as zero. There may be any number of
// digits.
//
// The first byte holds the sign and the number n of integer digits: 80 for zero, 81+n for
// positive numbers, 7F−n for negative ones. If n is 7E or more, the byte is FF (00 if
// negative), and n follows in eight bytes.
//
// The digits follow, without zeros at the start and the end. Each byte holds two digits, each
// as 1 to 10. A 0 ends the key. The point needs no mark, because digits are compared only if n
// is equal. Negative numbers are inverted bit by bit.
func appendNumber(dst, text []byte) []byte {
	text = text[skipBlanks(text, 0):]
	// Most lines without a number end here.
	if len(text) == 0 || text[0]-'0' >= 10 && text[0] != '-' && text[0] != '.' {
		return append(dst, 0x80)
	}
	negative, whole, fraction, _ := decimal(text)
	// Zeros without effect would make equal numbers differ.
	whole = bytes.TrimLeft(whole, "0")
	fraction = bytes.TrimRight(fraction, "0")
	if len(whole)+len(fraction) == 0 {
		return append(dst, 0x80)
	}
	start := len(dst)
	// More integer digits mean a larger number, because the first one is not zero.
	if n := len(whole); n < 0x7e {
		dst = append(dst, 0x81+byte(n))
	} else {
		dst = append(dst, 0xff)
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	dst = appendDigits(dst, whole, fraction)
	if negative {
		invert(dst[start:])
	}
	return dst
}

// decimal reads a minus sign, digits, a point and digits at the start of text. Each of them may
// be missing. whole and fraction lie in text. end is the offset behind them.
func decimal(text []byte) (minus bool, whole, fraction []byte, end int) {
	if minus = len(text) > 0 && text[0] == '-'; minus {
		end = 1
	}
	whole, end = digits(text, end)
	if end < len(text) && text[end] == '.' {
		fraction, end = digits(text, end+1)
	}
	return minus, whole, fraction, end
}

// digits returns the digits in text from at on, which lie in text, and the offset behind them.
func digits(text []byte, at int) ([]byte, int) {
	begin := at
	for at < len(text) && text[at]-'0' < 10 {
		at++
	}
	return text[begin:at], at
}

// appendDigits appends two digits in each byte, each as 1 to 10. The end is a half byte or a
// byte of 0. It is below every digit, so 1.2 comes before 1.23.
func appendDigits(dst, whole, fraction []byte) []byte {
	var high byte
	half := false
	for _, part := range [2][]byte{whole, fraction} {
		for _, c := range part {
			if d := c - '0' + 1; half {
				dst = append(dst, high|d)
			} else {
				high = d << 4
			}
			half = !half
		}
	}
	if half {
		// The free half of the last byte is the end.
		return append(dst, high)
	}
	return append(dst, 0)
}
