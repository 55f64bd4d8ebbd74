package grep

import "strconv"

// decimal is a number and its digits. Line numbers mostly grow by little, so
// that only the last digits change.
type decimal struct {
	value  int64
	digits []byte
}

// set sets the number to n, which must not be negative, and returns its digits,
// borrowed until the next call.
func (d *decimal) set(n int64) []byte {
	step := n - d.value
	d.value = n
	if step < 0 || step > 9 || len(d.digits) == 0 {
		d.digits = strconv.AppendInt(d.digits[:0], n, 10)
		return d.digits
	}
	i := len(d.digits) - 1
	d.digits[i] += byte(step)
	if d.digits[i] <= '9' {
		return d.digits
	}
	d.digits[i] -= 10
	for i--; i >= 0; i-- {
		if d.digits[i] < '9' {
			d.digits[i]++
			return d.digits
		}
		d.digits[i] = '0'
	}
	d.digits = strconv.AppendInt(d.digits[:0], n, 10) // there is one more digit
	return d.digits
}
