package cost

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/slots"
)

// wire is a slow, exact model of a link: it computes every reduce by itself, in fractions.
type wire struct {
	at      *big.Rat
	readers []*wireReader
}

type wireReader struct {
	slot         slots.SlotID
	f            *Flow
	started      time.Duration
	done, waited *big.Rat
	whole        time.Duration // when it had copied everything; negative: it has not
}

// there is what a reader can copy at r.
func (r *wireReader) there(at *big.Rat) *big.Rat {
	n := int32(0)
	for n < int32(len(r.f.Outputs)) && rat(int64(r.f.Outputs[n].At)).Cmp(at) <= 0 {
		n++
	}
	return rat(int64(r.f.Copying(n)))
}

// runTo steps from one moment at which something changes to the next.
func (w *wire) runTo(now time.Duration) {
	for end := rat(int64(now)); ; {
		until, active := end, int64(0)
		for _, r := range w.readers {
			if r.there(w.at).Cmp(r.done) > 0 {
				active++
			}
			for i := range r.f.Outputs {
				if at := rat(int64(r.f.Outputs[i].At)); at.Cmp(w.at) > 0 && at.Cmp(until) < 0 {
					until = at
				}
			}
		}
		for _, r := range w.readers {
			if left := new(big.Rat).Sub(r.there(w.at), r.done); left.Sign() > 0 {
				if at := left.Mul(left, rat(active)).Add(left, w.at); at.Cmp(until) < 0 {
					until = at
				}
			}
		}
		took := new(big.Rat).Sub(until, w.at)
		for _, r := range w.readers {
			if r.there(w.at).Cmp(r.done) > 0 {
				r.done.Add(r.done, new(big.Rat).Quo(took, rat(active)))
			} else {
				r.waited.Add(r.waited, took)
			}
		}
		w.at = until
		for _, r := range w.readers {
			if r.whole < 0 && r.f.Complete() && r.done.Cmp(rat(int64(r.f.Copying(r.f.Maps)))) >= 0 {
				at := new(big.Rat).Sub(until, crumbs())
				n := new(big.Int).Add(at.Num(), new(big.Int).Sub(at.Denom(), big.NewInt(1)))
				r.whole = time.Duration(max(0, n.Quo(n, at.Denom()).Int64()))
			}
		}
		if until.Cmp(end) >= 0 {
			return
		}
	}
}

// TestALinkIsTheFluidThatItStandsFor compares a link with a wire. Outputs of three jobs come and
// are lost; reduces begin, are taken out and end. For each reduce the link gives the end of the
// copy and the time of waiting to the nanosecond.
func TestALinkIsTheFluidThatItStandsFor(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		draw := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
		flows := make([]Flow, draw("jobs", 1, 3))
		for i := range flows {
			flows[i] = Flow{Maps: int32(draw("maps", 1, 6)), Reduces: 1, MapBytes: int64(draw("bytes", 1, 40)), PerSecond: int64(time.Second) / 10}
		}
		x := linkTest{rt: rt, wire: wire{at: rat(0)}, reported: map[slots.SlotID]time.Duration{}}
		for id := range slots.SlotID(draw("steps", 1, 60)) {
			i := draw("job", 0, len(flows)-1)
			f := &flows[i]
			switch op := draw("op", 0, 12); {
			case op < 3:
				x.until(x.now + time.Duration(draw("pause", 0, 300)))
			case op < 6 && f.There < f.Maps:
				f.Add(x.now, slots.TaskID(id), 0)
				x.runTo()
			case op < 9:
				x.link.join(x.now, int32(i), f, id)
				x.wire.readers = append(x.wire.readers, &wireReader{slot: id, f: f, started: x.now, done: rat(0), waited: rat(0), whole: -1})
				x.runTo()
			case len(x.wire.readers) > 0 && draw("leaves", 0, 1) == 0:
				x.leave(x.wire.readers[draw("who", 0, len(x.wire.readers)-1)], flows)
			case f.There > 0 && !f.Complete():
				x.lose(int32(i), f, f.Outputs[draw("gone", 0, int(f.There)-1)].Task)
			}
		}
		for i := range flows {
			for flows[i].There < flows[i].Maps {
				flows[i].Add(x.now, 0, 0)
			}
		}
		x.runTo()
		x.until(x.now + time.Minute)
		for len(x.wire.readers) > 0 {
			x.leave(x.wire.readers[0], flows)
		}
		if x.link.copying != 0 || len(x.link.jobs) != 0 {
			rt.Fatalf("%d copy in the end, of %d jobs", x.link.copying, len(x.link.jobs))
		}
	})
}

// linkTest drives a link as the simulator does, and its wire along with it.
type linkTest struct {
	rt       *rapid.T
	link     link
	wire     wire
	now      time.Duration
	reported map[slots.SlotID]time.Duration
}

// runTo is an operation at this instant.
func (x *linkTest) runTo() {
	x.link.runTo(x.now)
	x.wire.runTo(x.now)
	for _, id := range x.link.done {
		x.reported[id] = x.now
	}
	x.link.done = x.link.done[:0]
}

// until lets time pass, and handles the Looks of the link.
func (x *linkTest) until(t time.Duration) {
	for looks := 0; ; looks++ {
		next := x.link.next()
		if next < x.now || looks > 10_000 {
			x.rt.Fatalf("at %d the next look is at %d", x.now, next)
		}
		x.now = min(t, next)
		x.runTo()
		if next >= t {
			return
		}
	}
}

func (x *linkTest) leave(r *wireReader, flows []Flow) {
	i := int32(0)
	for &flows[i] != r.f {
		i++
	}
	if r.f.Complete() {
		reported, ok := x.reported[r.slot]
		if there := x.link.complete(i, r.slot); there != (r.whole >= 0 && r.whole <= x.now) {
			x.rt.Fatalf("reduce %d at %d: complete %v, but it was at %d", r.slot, x.now, there, r.whole)
		} else if there && ok && reported != r.whole {
			x.rt.Fatalf("reduce %d has copied at %d, want %d", r.slot, reported, r.whole)
		}
	}
	waited := x.link.leave(x.now, i, r.slot)
	want, _ := r.waited.Float64()
	if math.Abs(float64(waited)-want) > 1 {
		x.rt.Fatalf("reduce %d has waited %d, want %v", r.slot, waited, want)
	}
	for k, o := range x.wire.readers {
		if o == r {
			x.wire.readers = append(x.wire.readers[:k], x.wire.readers[k+1:]...)
			return
		}
	}
}

// lose loses an output. A reduce that copied it, or outputs after it, keeps at most as much as it
// could have copied of the others.
func (x *linkTest) lose(i int32, f *Flow, task slots.TaskID) {
	started := map[slots.SlotID]time.Duration{}
	x.runTo()
	f.Drop(f.There-1, func(a *Available) bool { return a.Task == task })
	for _, r := range x.wire.readers {
		started[r.slot] = r.started
		if r.f != f {
			continue
		}
		alone := wire{at: rat(int64(r.started)), readers: []*wireReader{{f: f, done: rat(0), waited: rat(0), whole: -1}}}
		alone.runTo(x.now)
		if done := alone.readers[0].done; done.Cmp(r.done) < 0 {
			r.done = done
		}
	}
	x.link.cut(x.now, i, func(id slots.SlotID) time.Duration { return started[id] })
	x.runTo()
}
