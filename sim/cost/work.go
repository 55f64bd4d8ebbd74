package cost

import (
	"math"
	"math/bits"
	"time"

	"mrlocal/internal/ppm"
)

// This file has the arithmetic of the cost models of the simulator, in which attempts share a
// resource. It has amounts of work and rates, in fixed point.
//
// The package is pure, and its values are plain numbers.

// Scaled is ppm.Scaled for times.
func Scaled(n, num, den int64) time.Duration { return time.Duration(ppm.Scaled(n, num, den)) }

// Later returns at + d, or the largest time if the sum does not fit. d must not be negative.
func Later(at, d time.Duration) time.Duration {
	if at > math.MaxInt64-d {
		return math.MaxInt64
	}
	return at + d
}

// Amount is an amount of work, or a moment of the virtual time in which a resource serves work.
// The unit is the work of a task alone on its tracker in 2^-63 ns, and the value has 128 bits. The
// product of a time and a rate is exact, so no work is lost however often rates change. Only rates
// are rounded down, to 63 bits.
type Amount struct{ Hi, Lo uint64 }

// Rate is a speed between 0 and Whole; Whole is the speed of a task alone.
type Rate uint64

// Whole is the speed of a task alone.
const Whole Rate = 1 << 63

// Crumb is an amount of work that is too small to count: 2^-12 ns. Errors by rounded rates
// stay below it for weeks of virtual time. So an end on a whole nanosecond is not taken
// for an end just after it.
func Crumb() Amount { return Amount{0, 1 << 51} }

// AmountOf returns the work that a task alone does in d, which is not negative.
func AmountOf(d time.Duration) Amount { return Amount{uint64(d) >> 1, uint64(d) << 63} }

// During returns the work that is done in d at rate r.
func (r Rate) During(d time.Duration) Amount {
	hi, lo := bits.Mul64(uint64(d), uint64(r))
	return Amount{hi, lo}
}

// Less reports whether w < o.
func (w Amount) Less(o Amount) bool { return w.Hi < o.Hi || w.Hi == o.Hi && w.Lo < o.Lo }

// Plus returns w + o, or Most if the sum does not fit.
func (w Amount) Plus(o Amount) Amount {
	lo, carry := bits.Add64(w.Lo, o.Lo, 0)
	hi, over := bits.Add64(w.Hi, o.Hi, carry)
	if over > 0 {
		return Most()
	}
	return Amount{hi, lo}
}

// Most returns the largest amount of work.
func Most() Amount { return Amount{math.MaxUint64, math.MaxUint64} }

// Minus returns w − o, or nothing if o is more.
func (w Amount) Minus(o Amount) Amount {
	if w.Less(o) {
		return Amount{}
	}
	lo, borrow := bits.Sub64(w.Lo, o.Lo, 0)
	hi, _ := bits.Sub64(w.Hi, o.Hi, borrow)
	return Amount{hi, lo}
}

// Times returns w·n, or Most if the product does not fit.
func (w Amount) Times(n uint64) Amount {
	carry, lo := bits.Mul64(w.Lo, n)
	over, hi := bits.Mul64(w.Hi, n)
	hi, c := bits.Add64(hi, carry, 0)
	if over > 0 || c > 0 {
		return Most()
	}
	return Amount{hi, lo}
}

// Among returns w divided by n, rounded down. n must be above 0.
func (w Amount) Among(n uint64) Amount {
	hi, rest := w.Hi/n, w.Hi%n
	lo, _ := bits.Div64(rest, w.Lo, n)
	return Amount{hi, lo}
}

// Floor returns the time that w takes alone, in whole nanoseconds, rounded down.
func (w Amount) Floor() time.Duration {
	if w.Hi >= 1<<62 {
		return math.MaxInt64
	}
	return time.Duration(w.Hi<<1 | w.Lo>>63)
}

// Ceil returns the first whole nanosecond at which no more than a crumb of w is left.
func (w Amount) Ceil() time.Duration { return w.Lasts(Whole) }

// Lasts returns how long w takes at rate r until no more than a crumb is left, in whole
// nanoseconds, rounded up.
func (w Amount) Lasts(r Rate) time.Duration {
	w = w.Minus(Crumb())
	if w.Hi >= uint64(r) {
		if w.Hi == 0 && w.Lo == 0 {
			return 0
		}
		return math.MaxInt64
	}
	q, rest := bits.Div64(w.Hi, w.Lo, uint64(r))
	if rest > 0 {
		q++
	}
	return time.Duration(min(q, math.MaxInt64))
}

// Fraction returns num/den as a rate, at most Whole.
func Fraction(num, den uint64) Rate {
	if num >= den {
		return Whole
	}
	q, _ := bits.Div64(num>>1, num<<63, den)
	return Rate(q)
}

// Of returns the product of the rates r and s: the rate r on a resource that runs at speed s.
func (r Rate) Of(s Rate) Rate {
	if s == Whole {
		return r
	}
	hi, lo := bits.Mul64(uint64(r), uint64(s))
	return Rate(hi<<1 | lo>>63)
}

// Nanoseconds returns the time that w takes alone, in nanoseconds.
func (w Amount) Nanoseconds() float64 { return float64(float64(w.Hi)*2) + float64(w.Lo)/(1<<63) }
