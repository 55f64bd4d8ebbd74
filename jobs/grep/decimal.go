package grep

import "strconv"

// decimal is a number and its digits. Line numbers mostly grow by little, which
// changes the last digit only.
type decimal struct {
	value  int64
	digits []byte
}

// set makes it n, not negative, and returns the digits, borrowed.
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
	d.digits = strconv.AppendInt(d.digits[:0], n, 10) // a digit more
	return d.digits
}
