package sim

import (
	"math"
	"math/bits"
	"time"

	"mrlocal/slots"
)

// flow is the shuffle of one job (SPEC 6, L1): when has a reduce copied all map
// outputs? Outputs become available one after the other; a reduce that started
// at s copies them in that order at B bytes per second, waiting where the next
// one is not there yet. It is done at
//
//	max(s + D/B, max over outputs e of t_e + (D - D_before_e)/B)
//
// where t_e is when e became available, D is what one reduce copies in all and
// D_before_e what became available before e. The second term does not depend on
// the reduce, and
//
//	t_e + (D - D_before_e)/B = (t_e - D_before_e/B) + D/B
//
// so that one number, the latest of t_e - D_before_e/B, answers for any reduce
// in O(1) and takes an output in in O(1).
//
// A lost output leaves its place in the order, and those behind it move up;
// only that costs as much as the job has outputs. It comes back as the newest.
// Outputs of no bytes (L0) need no places.
type flow struct {
	maps      int32 // outputs the job has when it is complete
	there     int32 // of them, available now
	mapBytes  int64 // what one map puts out, for all reduces together
	reduces   int64
	perSecond int64         // B in bytes
	latest    time.Duration // of t_e - D_before_e/B; of the first output it is t_e, so 0 is none
	byPlace   []available   // where mapBytes > 0
}

// available is an output and where it is.
type available struct {
	at      time.Duration
	task    slots.TaskID
	tracker slots.TrackerID
}

// copying is how long a reduce copies its part of n outputs.
func (f *flow) copying(n int32) time.Duration {
	if f.mapBytes == 0 || n == 0 {
		return 0
	}
	return scaled(f.bytes(n), int64(time.Second), f.perSecond)
}

// bytes is the part of n outputs that is for one reduce, evenly divided.
func (f *flow) bytes(n int32) int64 {
	if f.reduces == 0 {
		return 0
	}
	return int64(scaled(int64(n), f.mapBytes, f.reduces))
}

// add takes in an output that became available.
func (f *flow) add(at time.Duration, task slots.TaskID, t slots.TrackerID) {
	f.latest = max(f.latest, at-f.copying(f.there))
	f.there++
	if f.mapBytes > 0 {
		f.byPlace = append(f.byPlace, available{at, task, t})
	}
}

// drop takes out the outputs for which lost says so; left are there now.
func (f *flow) drop(left int32, lost func(a *available) bool) {
	if f.mapBytes == 0 {
		f.there = left
		return
	}
	kept := f.byPlace
	f.byPlace, f.there, f.latest = f.byPlace[:0], 0, 0
	for i := range kept {
		if a := kept[i]; !lost(&a) {
			f.add(a.at, a.task, a.tracker)
		}
	}
}

// complete: every output is there.
func (f *flow) complete() bool { return f.there == f.maps }

// copied is when a reduce that started at s has copied everything, where the
// flow is complete.
func (f *flow) copied(s time.Duration) time.Duration {
	all := f.copying(f.maps)
	if f.maps == 0 {
		return s
	}
	return max(later(s, all), later(f.latest, all))
}

// scaled is floor(n·num/den) for numbers that are not negative, den > 0, and
// the largest time there is where it does not fit.
func scaled(n, num, den int64) time.Duration {
	hi, lo := bits.Mul64(uint64(n), uint64(num))
	if hi >= uint64(den) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(den))
	return time.Duration(min(q, math.MaxInt64))
}

// later is at + d, or the largest time there is; d is not negative.
func later(at, d time.Duration) time.Duration {
	if at > math.MaxInt64-d {
		return math.MaxInt64
	}
	return at + d
}

// reached is how much a reduce that started at s and had the network for itself
// has copied now of what is there, in the time that it takes.
func (f *flow) reached(s, now time.Duration) time.Duration {
	all := f.copying(f.there)
	return max(0, all-max(0, later(max(s, f.latest), all)-now))
}
