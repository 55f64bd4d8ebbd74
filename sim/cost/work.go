package cost

import (
	"math"
	"math/bits"
	"time"
)

// Scaled returns floor(n·num/den). n and num must not be negative, den must be above 0. If the
// result does not fit, Scaled returns the largest time.
func Scaled(n, num, den int64) time.Duration {
	hi, lo := bits.Mul64(uint64(n), uint64(num))
	if hi >= uint64(den) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(den))
	return time.Duration(min(q, math.MaxInt64))
}

// Later returns at + d, or the largest time if the sum does not fit. d must not be negative.
func Later(at, d time.Duration) time.Duration {
	if at > math.MaxInt64-d {
		return math.MaxInt64
	}
	return at + d
}

// work is an amount of work, or a moment of the virtual time of a class (pool) or link. The unit
// is the work of a task alone on its tracker in 2^-63 ns, and the value has 128 bits. The product
// of a time and a rate is exact, so no work is lost however often rates change. Only rates are
// rounded down, to 63 bits.
type work struct{ hi, lo uint64 }

// rate is a speed between 0 and whole; whole is the speed of a task alone.
type rate uint64

// whole is the speed of a task alone.
const whole rate = 1 << 63

// crumb is an amount of work that is too small to count: 2^-12 ns. Errors by rounded rates
// stay below it for weeks of virtual time. So an end on a whole nanosecond is not taken
// for an end just after it.
func crumb() work { return work{0, 1 << 51} }

// alone returns the work that a task alone does in d, which is not negative.
func alone(d time.Duration) work { return work{uint64(d) >> 1, uint64(d) << 63} }

// during returns the work that is done in d at rate r.
func (r rate) during(d time.Duration) work {
	hi, lo := bits.Mul64(uint64(d), uint64(r))
	return work{hi, lo}
}

// less reports whether w < o.
func (w work) less(o work) bool { return w.hi < o.hi || w.hi == o.hi && w.lo < o.lo }

// plus returns w + o, or mostWork if the sum does not fit.
func (w work) plus(o work) work {
	lo, carry := bits.Add64(w.lo, o.lo, 0)
	hi, over := bits.Add64(w.hi, o.hi, carry)
	if over > 0 {
		return mostWork()
	}
	return work{hi, lo}
}

// mostWork returns the largest amount of work.
func mostWork() work { return work{math.MaxUint64, math.MaxUint64} }

// minus returns w − o, or nothing if o is more.
func (w work) minus(o work) work {
	if w.less(o) {
		return work{}
	}
	lo, borrow := bits.Sub64(w.lo, o.lo, 0)
	hi, _ := bits.Sub64(w.hi, o.hi, borrow)
	return work{hi, lo}
}

// times returns w·n, or mostWork if the product does not fit.
func (w work) times(n uint64) work {
	carry, lo := bits.Mul64(w.lo, n)
	over, hi := bits.Mul64(w.hi, n)
	hi, c := bits.Add64(hi, carry, 0)
	if over > 0 || c > 0 {
		return mostWork()
	}
	return work{hi, lo}
}

// among returns w divided by n, rounded down. n must be above 0.
func (w work) among(n uint64) work {
	hi, rest := w.hi/n, w.hi%n
	lo, _ := bits.Div64(rest, w.lo, n)
	return work{hi, lo}
}

// floor returns the time that w takes alone, in whole nanoseconds, rounded down.
func (w work) floor() time.Duration {
	if w.hi >= 1<<62 {
		return math.MaxInt64
	}
	return time.Duration(w.hi<<1 | w.lo>>63)
}

// ceil returns the first whole nanosecond at which no more than a crumb of w is left.
func (w work) ceil() time.Duration { return w.lasts(whole) }

// lasts returns how long w takes at rate r until no more than a crumb is left, in whole
// nanoseconds, rounded up.
func (w work) lasts(r rate) time.Duration {
	w = w.minus(crumb())
	if w.hi >= uint64(r) {
		if w.hi == 0 && w.lo == 0 {
			return 0
		}
		return math.MaxInt64
	}
	q, rest := bits.Div64(w.hi, w.lo, uint64(r))
	if rest > 0 {
		q++
	}
	return time.Duration(min(q, math.MaxInt64))
}

// fraction returns num/den as a rate, at most whole.
func fraction(num, den uint64) rate {
	if num >= den {
		return whole
	}
	q, _ := bits.Div64(num>>1, num<<63, den)
	return rate(q)
}

// of returns the product of the rates r and s: the rate r on a resource that runs at speed s.
func (r rate) of(s rate) rate {
	if s == whole {
		return r
	}
	hi, lo := bits.Mul64(uint64(r), uint64(s))
	return rate(hi<<1 | lo>>63)
}
