package cost

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
)

// fluid is a slow, exact model of a pool: it computes every task by itself, in fractions, and the
// level again at every step.
type fluid struct {
	capacity int64
	speed    *big.Rat
	at       time.Duration
	tasks    []*fluidTask
}

type fluidTask struct {
	id, cap int64
	left    *big.Rat // ns alone
	rate    *big.Rat
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// crumbs is crumb as a fraction of a nanosecond.
func crumbs() *big.Rat { return big.NewRat(1, 1<<12) }

// exactly is w as a fraction of nanoseconds.
func exactly(w Amount) *big.Rat {
	n := new(big.Int).Lsh(new(big.Int).SetUint64(w.Hi), 64)
	n.Or(n, new(big.Int).SetUint64(w.Lo))
	return new(big.Rat).SetFrac(n, new(big.Int).Lsh(big.NewInt(1), 63))
}

// level computes the level: an even part of the rest, task by task in ascending order of caps.
func (f *fluid) level() {
	byCap := slices.Clone(f.tasks)
	slices.SortStableFunc(byCap, func(a, b *fluidTask) int { return int(a.cap - b.cap) })
	rest := rat(f.capacity)
	for i, t := range byCap {
		got := new(big.Rat).Quo(rest, rat(int64(len(byCap)-i)))
		if f.capacity == 0 || got.Cmp(rat(t.cap)) > 0 {
			got = rat(t.cap)
		}
		rest.Sub(rest, got)
		t.rate = got.Quo(got, rat(t.cap))
		t.rate.Mul(t.rate, f.speed)
	}
}

func (f *fluid) runTo(now time.Duration) {
	f.level()
	for _, t := range f.tasks {
		t.left.Sub(t.left, new(big.Rat).Mul(t.rate, rat(int64(now-f.at))))
	}
	f.at = now
}

func (f *fluid) due() (ids []int64) {
	f.tasks = slices.DeleteFunc(f.tasks, func(t *fluidTask) bool {
		over := t.left.Cmp(crumbs()) <= 0
		if over {
			ids = append(ids, t.id)
		}
		return over
	})
	slices.Sort(ids)
	return ids
}

func (f *fluid) next() time.Duration {
	f.level()
	least := int64(math.MaxInt64)
	for _, t := range f.tasks {
		d := new(big.Rat).Sub(t.left, crumbs())
		d.Quo(d, t.rate)
		n := new(big.Int).Add(d.Num(), d.Denom())
		n.Sub(n, big.NewInt(1))
		n.Quo(n, d.Denom())
		least = min(least, max(0, n.Int64()))
	}
	return f.at + time.Duration(least)
}

// TestAPoolIsTheFluidThatItStandsFor compares a pool with a fluid. Tasks of a few caps come, end
// and are taken out, and the resource slows down and recovers. Both give the same ends at every
// step. The sum of rates never exceeds the capacity, and reaches it as long as tasks can use it.
func TestAPoolIsTheFluidThatItStandsFor(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		capacity := rapid.Int64Range(0, 30).Draw(rt, "capacity")
		p := pool{capacity: uint64(capacity), speed: Whole}
		f := fluid{capacity: capacity, speed: rat(1)}
		caps := rapid.SliceOfN(rapid.Int64Range(1, 12), 1, 4).Draw(rt, "caps")
		var now time.Duration
		places := make([]int32, 200)
		for id := range int64(rapid.IntRange(1, 60).Draw(rt, "steps")) {
			switch op := rapid.IntRange(0, 9).Draw(rt, "op"); {
			case op == 0 && len(f.tasks) > 0:
				i := rapid.IntRange(0, len(f.tasks)-1).Draw(rt, "leaves")
				gone := f.tasks[i]
				p.leave(now, uint64(gone.cap), &places[gone.id])
				f.tasks = slices.Delete(f.tasks, i, i+1)
			case op == 1:
				half := rapid.Bool().Draw(rt, "half speed")
				if p.speed, f.speed = Whole, rat(1); half {
					p.speed, f.speed = Whole/2, big.NewRat(1, 2)
				}
				p.setSpeed(now, p.speed)
			case op < 6 || len(f.tasks) == 0:
				limit := rapid.SampledFrom(caps).Draw(rt, "cap")
				if capacity > 0 {
					limit = min(limit, capacity)
				}
				takes := rapid.Int64Range(1, 1000).Draw(rt, "takes")
				p.join(now, uint64(limit), time.Duration(takes), int32(id), &places[id])
				f.tasks = append(f.tasks, &fluidTask{id: id, cap: limit, left: rat(takes)})
			default:
				next := f.next()
				if got := p.next(); got != next {
					rt.Fatalf("at %d: next at %d, want %d", now, got, next)
				}
				if early := rapid.IntRange(0, 3).Draw(rt, "early"); early == 0 {
					next = now + (next-now)/2
				}
				now = next
				f.runTo(now)
				var got []int64
				p.due(now, func(id int32) { got = append(got, int64(id)) })
				slices.Sort(got)
				if want := f.due(); !slices.Equal(got, want) {
					rt.Fatalf("at %d: %v end, want %v", now, got, want)
				}
			}
			f.level()
			conserves(rt, &p, &f)
		}
	})
}

// conserves checks the sum of the rates. It is what the tasks can use, up to the capacity, except
// for the rounding of rates to 63 bits.
func conserves(rt *rapid.T, p *pool, f *fluid) {
	got, want := new(big.Rat), new(big.Rat)
	for i := range p.classes {
		c := &p.classes[i]
		r := exactly(Amount{Lo: uint64(c.rate)})
		got.Add(got, r.Mul(r, rat(int64(c.cap)*int64(len(c.ends)))))
	}
	for _, t := range f.tasks {
		limit := t.cap
		if f.capacity == 0 {
			limit = 1 // as the pool has it: nobody counts
		}
		want.Add(want, rat(limit))
	}
	if f.capacity > 0 && want.Cmp(rat(f.capacity)) > 0 {
		want = rat(f.capacity)
	}
	want.Mul(want, f.speed)
	if short := want.Sub(want, got); short.Sign() < 0 || short.Cmp(big.NewRat(1, 1<<50)) > 0 {
		rt.Fatalf("%v is served too little", short)
	}
}

// TestALongQueueDoesNotDrift: 100,000 tasks of three caps come and go on one core that is never
// idle. The core serves exactly the work of the tasks, except for the rounding of each end to a
// nanosecond.
func TestALongQueueDoesNotDrift(t *testing.T) {
	const tasks, core = 100_000, 1_000_000
	caps := []uint64{core, core * 3 / 4, core * 3 / 5}
	p := pool{capacity: core, speed: Whole}
	places := make([]int32, tasks)
	var now time.Duration
	todo := new(big.Rat) // core-nanoseconds
	for next := 0; ; {
		for ; next < tasks && p.sharers < 50; next++ {
			limit, takes := caps[next%3], int64(1_000_000+next*7919%999_983)
			todo.Add(todo, big.NewRat(takes*int64(limit), core))
			p.join(now, limit, time.Duration(takes), int32(next), &places[next])
		}
		if p.sharers < 2 { // alone it may leave some of the core idle
			break
		}
		now = p.next()
		p.due(now, func(int32) {})
	}
	for _, c := range p.classes {
		for _, e := range c.ends {
			left := exactly(e.when.Minus(c.served))
			todo.Sub(todo, left.Mul(left, big.NewRat(int64(c.cap), core)))
		}
	}
	if over := todo.Sub(rat(int64(now)), todo); over.Sign() < 0 || over.Cmp(rat(tasks)) > 0 {
		t.Errorf("after %v it has served %s ns too little", now, over.FloatString(3))
	} else {
		t.Logf("after %v it has served %s ns too little", now, over.FloatString(3))
	}
}

// TestSharersComeAndGoWithoutAllocations, in the steady state.
func TestSharersComeAndGoWithoutAllocations(t *testing.T) {
	p := pool{capacity: 4_000_000, speed: Whole}
	places := make([]int32, 16)
	var now time.Duration
	if n := testing.AllocsPerRun(100, func() {
		for i := range places {
			p.join(now, uint64(i%3+1)*400_000, time.Duration(i+1), int32(i), &places[i])
		}
		p.leave(now, 400_000, &places[3])
		for p.sharers > 0 {
			now = p.next()
			p.due(now, func(int32) {})
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkPool is one task that comes and one that ends, among many.
func BenchmarkPool(b *testing.B) {
	for name, sharers := range map[string]int{"sharers=10": 10, "sharers=1000": 1000, "sharers=100000": 100_000} {
		b.Run(name, func(b *testing.B) {
			p := pool{capacity: 4_000_000, speed: Whole}
			places := make([]int32, sharers)
			var now time.Duration
			for i := range places {
				p.join(now, uint64(i%4+1)*200_000, time.Duration(1000+i*7919%9973), int32(i), &places[i])
			}
			for b.Loop() {
				now = p.next()
				var ended []int32
				p.due(now, func(id int32) { ended = append(ended, id) })
				for _, id := range ended {
					p.join(now, uint64(id%4+1)*200_000, time.Duration(1000+now%9973), id, &places[id])
				}
			}
		})
	}
}
