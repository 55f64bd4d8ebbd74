package sort

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"sync/atomic"
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
	// A float of x86 has 64 bits of mantissa and a value below 2**mostExponent. No value but zero is below
	// 2**(leastExponent-1).
	bitsOfMantissa = 64
	mostExponent   = 16384
	leastExponent  = -16444
	infinite       = 0xffff // in the place of an exponent

	mostDecimal     = 5000 // 1e5000 is infinite, and 1e-5000 is zero
	exactPowers     = 28   // powers of 5 below this exponent fit in a word: 5**27 has 63 bits
	digitsOfUint64  = 19
	mostDigits      = 60      // digits behind these have no effect. A mantissa has 19 or 20; only ties need more.
	mostExponentLit = 1 << 30 // larger exponents in the text are cut to this, so that sums do not overflow
)

// appendGeneral appends a key for the number at the start of text. It reads the text as strtold
// does: decimal or hexadecimal, with an exponent, inf or nan. Numbers have the precision of GNU
// sort on x86, so that the same numbers are equal. Only numbers below 1e-4932 have more.
//
// A key has one byte for the class. Numbers other than zero have ten bytes more: the exponent
// and the mantissa. All NaNs are equal.
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
		return appendFloat(dst, minus, infinite, 1<<63)
	case hasFold(text, "nan"):
		return append(dst, notANumber)
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

// round returns the exponent and the mantissa of the float nearest to n·2**e2, where n has the 128 bits hi
// and lo and is not zero. If two floats are equally near, it returns the even one. sticky says that bits
// other than zero follow behind lo. The float is within the limits of x86.
func round(hi, lo uint64, sticky bool, e2 int) (exponent uint16, mantissa uint64) {
	if hi == 0 {
		hi, lo, e2 = lo, 0, e2-64
	}
	// The highest bit moves to the top of hi. From here on hi is the mantissa, and lo is
	// rounded away.
	s := bits.LeadingZeros64(hi)
	hi, lo, e2 = hi<<s|lo>>(64-s), lo<<s, e2-s
	half, rest := lo>>63 != 0, lo<<1 != 0 || sticky
	// If rounding up overflows the mantissa, it becomes a power of two.
	if half && (rest || hi&1 != 0) {
		if hi++; hi == 0 {
			hi, e2 = 1<<63, e2+1
		}
	}
	return uint16(e2 + 2*bitsOfMantissa - leastExponent), hi
}

// parts returns the exponent and the mantissa of a float that is not negative.
func parts(f *big.Float) (exponent uint16, mantissa uint64) {
	e2 := f.MantExp(nil)
	switch {
	case f.IsInf(), e2 > mostExponent:
		return infinite, 1 << 63
	case f.Sign() == 0, e2 < leastExponent:
		return 0, 0
	}
	mantissa, _ = f.SetMantExp(f, bitsOfMantissa-e2).Uint64()
	return uint16(e2 - leastExponent), mantissa
}

// parseHex reads hexadecimal digits, a point, and p with an exponent, behind 0x. ok is false if there is no
// digit.
func parseHex(text []byte) (exponent uint16, mantissa uint64, ok bool) {
	rest := bytes.TrimLeft(text, hexDigits)
	if bytes.HasPrefix(rest, []byte(".")) {
		rest = bytes.TrimLeft(rest[1:], hexDigits)
	}
	f, _, err := big.ParseFloat(string(text[:len(text)-len(rest)]), 16, bitsOfMantissa, big.ToNearestEven)
	if err != nil {
		return 0, 0, false
	}
	exponent, mantissa = parts(f.SetMantExp(f, parseExponent(rest, 'p')))
	return exponent, mantissa, true
}

const hexDigits = "0123456789abcdefABCDEF"

// parseExponent reads letter, a sign and digits, and returns the exponent. It returns 0 if text
// does not begin with them. Larger exponents are cut to mostExponentLit.
func parseExponent(text []byte, letter byte) (n int) {
	if len(text) < 2 || text[0]|0x20 != letter {
		return 0
	}
	text = text[1:]
	minus := text[0] == '-'
	if minus || text[0] == '+' {
		text = text[1:]
	}
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
// package big, which is slow.
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
		return infinite, 1 << 63, true
	case point < -mostDecimal:
		return 0, 0, true
	}
	if scale := point - min(count, digitsOfUint64); last <= digitsOfUint64 && scale < exactPowers && scale > -exactPowers {
		exponent, mantissa = scaleExactly(n, scale)
		return exponent, mantissa, true
	}
	significant := slices.Concat(whole, fraction)[first:][:min(last, mostDigits)]
	n10, _ := new(big.Int).SetString(string(significant), 10) // there are only digits, so this cannot fail
	scale := point - len(significant)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil)
	f, x, y := new(big.Float).SetPrec(bitsOfMantissa), new(big.Float).SetInt(n10), new(big.Float).SetInt(power)
	if scale >= 0 {
		f.Mul(x, y)
	} else {
		f.Quo(x, y)
	}
	exponent, mantissa = parts(f)
	return exponent, mantissa, true
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

// mostExact is the largest exponent of a number of JSON that is told from larger ones.
const mostExact = 1<<15 - 1

// appendExact appends a key for a number of JSON. It compares numbers as decimals of any length, so
// that 9007199254740993 is above 9007199254740992, and 1e400 above 1e399.
//
// A number that is not zero is 0.d × 10^e, where d has no zeros at its start and its end. The key has a
// byte for the sign, then e, then d as appendDigits writes it. Negative numbers are inverted bit by bit. An e beyond
// mostExact counts as mostExact.
func appendExact(dst, text []byte) []byte {
	minus, whole, fraction, end := decimal(text)
	var shift int
	if all := bytes.TrimLeft(whole, "0"); len(all) > 0 {
		whole, shift = all, len(all)
		if fraction = bytes.TrimRight(fraction, "0"); len(fraction) == 0 {
			whole = bytes.TrimRight(whole, "0")
		}
	} else {
		all = bytes.TrimLeft(fraction, "0")
		whole, shift = nil, len(all)-len(fraction)
		fraction = bytes.TrimRight(all, "0")
	}
	if len(whole)+len(fraction) == 0 {
		return append(dst, zeroNumber)
	}
	start := len(dst)
	dst = append(dst, positive)
	exponent := int64(shift)
	if end < len(text) { // e or E
		n, _ := strconv.ParseInt(string(text[end+1:]), 10, 32) // a number that is out of range becomes the end of the range
		exponent += n
	}
	exponent = max(-mostExact, min(exponent, mostExact))
	dst = appendDigits(binary.BigEndian.AppendUint16(dst, uint16(mostExact+exponent)), whole, fraction)
	if minus {
		invert(dst[start:])
		dst[start] = negative
	}
	return dst
}

// seen knows which keys of JSON a line has had.
type seen struct {
	lines atomic.Bool   // there was a line
	all   atomic.Bool   // each key was found
	found []atomic.Bool // by the index of the field
}

// look notes the keys that line has.
func (s *seen) look(o *Order, line []byte) {
	if s.all.Load() {
		return
	}
	s.lines.Store(true)
	all := true
	for i := range s.found {
		if !s.found[i].Load() && jsonValue(line, o.fields[i].path) != nil {
			s.found[i].Store(true)
		}
		all = all && s.found[i].Load()
	}
	s.all.Store(all)
}

// Unseen returns the index in Options.JSON of the first key that no line has had; -1: there is none. It
// counts lines of this Order that were checked. Without lines each key counts as seen.
func (o *Order) Unseen() int {
	if o.seen == nil || !o.seen.lines.Load() {
		return -1
	}
	for i := range o.seen.found {
		if !o.seen.found[i].Load() {
			return i
		}
	}
	return -1
}
