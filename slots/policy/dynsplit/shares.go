package dynsplit

import (
	"math"

	"mrlocal/slots"
	"mrlocal/trace"
)

// These are the formulas of [Split11, dynamic resource allocation]. Each product and
// quotient is rounded by itself (float64), so that all processors get the same results.

// reduceWeight returns w_r(x) = (e^{6x} - 1) / (e^6 - 1), where x = finished maps / maps
// [Split11, dynamic resource allocation]. It grows late: 4.7 % at x = 0.5, 54.8 % at 0.9
// [Split11, "late weight"].
func reduceWeight(finished, maps int32) float64 {
	if maps == 0 {
		return 1 // reduces wait for nothing
	}
	x := float64(finished) / float64(maps)
	return (exp(float64(6*x)) - 1) / (exp(6) - 1)
}

// mapWeight returns w_m = 1 - w_r [Split11, dynamic resource allocation].
func mapWeight(reduceWeight float64) float64 { return 1 - reduceWeight }

// exp returns e^y for y from 0 to 6 by its series, which has the full precision after 48 terms.
// The results of math.Exp differ between processors.
func exp(y float64) float64 {
	sum, term := 1.0, 1.0
	for n := 1.0; n <= 48; n++ {
		term = float64(term*y) / n
		sum += term
	}
	return sum
}

// want is the demand of a job in an allocation.
type want struct {
	weight       float64              // w_i
	reduceWeight float64              // w_r
	demand       [trace.Kinds]float64 // in slots
}

// share is R_im and R_ir of a job, in slots.
type share [trace.Kinds]float64

// jobShare returns R_i = w_i / Σ_j w_j · R. all is the sum of weights, slots is R. The slides
// sum over i [Split11, "index of weights"].
func jobShare(weight, all, slots float64) float64 { return float64(weight*slots) / all }

// split returns R_im = w_m · R_i and R_ir = w_r · R_i, each capped by its demand. The part of R_i
// above one cap goes to the other kind [Split11, "redistribution"]. r is R_i.
func split(r float64, w *want) share {
	reduces := float64(w.reduceWeight * r)
	s := share{slots.Map: r - reduces, slots.Reduce: reduces}
	for k := range slots.Kind(trace.Kinds) {
		if spare := s[k] - w.demand[k]; spare > 0 {
			s[k] = w.demand[k]
			s[k.Other()] += spare
		}
	}
	for k := range s { // the part above both caps is lost to the job
		s[k] = min(s[k], w.demand[k])
	}
	return s
}

// fill appends to dst the shares of all jobs in the given number of slots, by weight and capped
// by demand [Split11, "redistribution"]. The rest of a capped share goes to the job's other
// kind first, then to the other jobs by weight. All slots are divided unless all demands are
// met.
func fill(dst []share, wants []want, slots float64) []share {
	first := len(dst)
	var weights float64
	for i := range wants {
		weights += wants[i].weight
		dst = append(dst, share{-1, -1})
	}
	left := dst[first:]
	// Jobs whose whole demand is met leave the division, which raises the shares of the others.
	// A share of -1 is not known yet.
	for again := true; again; {
		again = false
		rest, all := slots, weights
		for i := range wants {
			w := &wants[i]
			both := w.demand[0] + w.demand[1]
			if left[i][0] < 0 && both <= jobShare(w.weight, all, rest) {
				left[i] = share(w.demand)
				slots -= both
				weights -= w.weight
				again = true
			}
		}
	}
	for i := range wants {
		if left[i][0] < 0 {
			left[i] = split(jobShare(wants[i].weight, weights, slots), &wants[i])
		}
	}
	return dst
}

// totals returns R_M = Σ R_im and R_R = Σ R_ir [Split11, dynamic resource allocation].
func totals(shares []share) (r share) {
	for _, s := range shares {
		r[slots.Map] += s[slots.Map]
		r[slots.Reduce] += s[slots.Reduce]
	}
	return r
}

// below returns how far a kind of a job is below its share plus its carried remainder, in slots.
// Each slot goes to the kind of a job that is farthest below. So shares are rounded by the
// largest-remainder method: whole slots first, then the largest fractions [Split11, "largest
// remainder"].
func below(share, carried float64, running int32) float64 { return share + carried - float64(running) }

// carry returns the remainder of a share for the next allocation, between -1 and 1. Remainders add
// up, so a job with a share below one slot also gets a slot from time to time [Split11,
// "largest remainder"].
func carry(share, carried float64, running int32) float64 {
	return min(max(below(share, carried, running), -1), 1)
}

// earlyReduces returns the demand of a job for reduce slots while its maps are not all done. It is
// its share, or w_r of all its reduces if that is more. Without this cap the slots that maps leave
// unused would go to reduces that hold them and wait [Split11, reduce slot hoarding problem].
// The demand is rounded down to whole slots. With exact it is not, as the slides print it: then a
// fraction of a slot is enough to start one more reduce.
func earlyReduces(reduceWeight, jobShare float64, reduces int32, exact bool) float64 {
	early := max(float64(reduceWeight*jobShare), float64(reduceWeight*float64(reduces)))
	if exact {
		return early
	}
	return math.Floor(early)
}

// The rest is the resource usage pipeline. It decides which tasks a tracker may run in addition
// to its running ones. Each rule is a function of the tracker's counts.

// Observe implements slots.Observer. It notes the slots on which an attempt has changed phase or
// ended. The next visit updates the pipelines of their trackers, whichever tracker it is for.
func (s *Split) Observe(f slots.Fact) {
	if f.Slot >= 0 && (f.Op == trace.OpPhase || f.Op == trace.OpFinish) {
		s.moved = append(s.moved, slots.SlotID(f.Slot))
	}
}

// pipeline opens and closes additional map slots, and lets reduces leave their copy phase, on
// the trackers of the slots that Observe has noted.
func (s *Split) pipeline(v *slots.View, d *slots.Decision) {
	for _, id := range s.moved {
		t := v.Slot(id).Tracker
		s.openAdditional(v, d, t)
		s.advance(v, d, t)
	}
	s.moved = s.moved[:0]
}

// additional returns how many additional map slots a tracker has now [Split11, "additional map
// slots"]. There is one for each map in its I/O period, up to the option, because such a map
// does not use the CPU.
func (s *Split) additional(v *slots.View, t slots.TrackerID) int32 {
	return min(s.options.AdditionalMapSlots, v.InPhase(t, slots.PhaseIO))
}

// openAdditional opens extra slots up to the number of additional map slots, or closes those
// above it. A busy slot closes when its attempt ends.
func (s *Split) openAdditional(v *slots.View, d *slots.Decision, t slots.TrackerID) {
	if n := s.additional(v, t); n != v.OpenExtra(t) {
		d.Resize(t, math.MaxInt32, math.MaxInt32, int(n))
	}
}

// room returns how many more tasks a tracker may run. A tracker runs at most as many as it has
// normal and additional slots [Split11, dynamic slot request of map task]. room counts tasks,
// whichever slots they are on. So when the map in its I/O period ends, the additional map
// counts as one on a normal slot.
func (s *Split) room(v *slots.View, t slots.TrackerID) int32 {
	running := v.RunningAt(t, slots.Map) + v.RunningAt(t, slots.Reduce)
	return v.CapacityAt(t, slots.Map) + v.CapacityAt(t, slots.Reduce) + s.additional(v, t) - running
}

// mapFits reports whether the tracker may run one more map, on any slot.
func (s *Split) mapFits(v *slots.View, t slots.TrackerID) bool { return s.room(v, t) > 0 }

// normalSlots returns how many home slots of a tracker are free. They take maps and reduces.
func normalSlots(v *slots.View, t slots.TrackerID) int32 {
	return v.FreeHome(t, slots.Map) + v.FreeHome(t, slots.Reduce)
}

// reduceFits reports whether the tracker may run one more reduce, which begins by copying
// [Split11, dynamic slot request of reduce task]. The bounds are
// mapred.tasktracker.reduce.total.tasks and reduce.shuffle.tasks. The reduce needs a normal
// slot. An additional slot closes when the map has written, and a reduce that waits for maps
// there would take the room of these maps.
func (s *Split) reduceFits(v *slots.View, t slots.TrackerID) bool {
	return s.room(v, t) > 0 && normalSlots(v, t) > 0 &&
		within(v.RunningAt(t, slots.Reduce), s.options.ReduceTotal) &&
		within(copying(v, t), s.options.ReduceShuffle)
}

// within reports whether there may be one more than n under the bound most; 0: no bound.
func within(n, most int32) bool { return most == 0 || n < most }

// copying returns how many reduces of a tracker are in their copy phase.
func copying(v *slots.View, t slots.TrackerID) int32 {
	return v.RunningAt(t, slots.Reduce) - v.InPhase(t, slots.PhaseHeld) - v.InPhase(t, slots.PhaseSort) - v.InPhase(t, slots.PhaseReduce)
}

// Extra implements slots.Opener. It returns the number of additional map slots.
func (s *Split) Extra(_ [2]int32, most int) int { return min(int(s.options.AdditionalMapSlots), most) }

// HoldsCopy implements slots.PhaseGate. If an option bounds the reduces that sort
// and compute, reduces wait in their copy phase.
func (s *Split) HoldsCopy() bool { return s.options.ReduceCompute > 0 }

// advance lets held reduces of a tracker sort and compute, in the order of their starts
// [Split11, dynamic slot request of reduce task]. At most
// mapred.tasktracker.reduce.compute.tasks do so at a time. Only held reduces are advanced, so
// a reduce that waits for maps never uses up the bound.
func (s *Split) advance(v *slots.View, d *slots.Decision, t slots.TrackerID) {
	for s.HoldsCopy() && v.InPhase(t, slots.PhaseHeld) > 0 {
		computing, next := int32(0), slots.NoSlot
		for _, id := range v.SlotsOf(t) {
			switch r := v.Slot(id); {
			case !r.Busy || r.Attempt.Kind != slots.Reduce:
			case r.Advanced:
				computing++
			case r.Phase == slots.PhaseHeld && (next == slots.NoSlot || r.Started < v.Slot(next).Started):
				next = id
			}
		}
		if next == slots.NoSlot || !within(computing, s.options.ReduceCompute) {
			return
		}
		d.Advance(next)
	}
}
