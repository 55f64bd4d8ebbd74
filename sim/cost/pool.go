package cost

import (
	"container/heap"
	"math"
	"math/bits"
	"slices"
	"time"
)

// pool is a resource of one tracker, its CPU or its disk, shared by the tasks that need
// it (max-min fairness with caps). Each task gets the same part, but none more than its cap;
// the part that a task does not need goes to the others. So there is a level L, and a task
// with cap c runs at min(c, L). Alone it runs at c, and its work is measured in the time that
// this takes.
//
// All tasks with the same cap have the same rate at all times. They form a class with a
// virtual time of its own: the work that each of them has been served. A task ends when the
// virtual time has grown by the task's work. A heap of these ends finds the next one. A task
// that comes or goes changes the level for all. That costs O(log n) in its own class and O(1)
// for each other class. The number of classes is that of kinds of jobs on the tracker, not
// that of tasks.
//
// A pool pushes no events. Time must not run backwards.
type pool struct {
	capacity uint64        // in the unit of caps; 0: there is always enough
	speed    Rate          // of the resource as a whole (node.pressure)
	at       time.Duration // the time until which runTo has run
	sharers  int           // number of tasks
	wanted   uint64        // sum of the caps of all tasks, each at most capacity
	classes  []class       // with tasks, by cap; the spare capacity behind them has heaps to reuse
}

// class holds the tasks of one cap.
type class struct {
	cap    uint64
	rate   Rate
	served Amount // work that each task was served since the class has tasks
	ends   endings
}

// ending is the end of a task's work, in the virtual time of its class.
type ending struct {
	when  Amount
	id    int32
	place *int32 // its index in the heap, for leave; it belongs to the task
}

// mostCapacityBits keeps the product of a cap and the number of tasks of a tracker within 64
// bits, for up to ten million tasks.
const mostCapacityBits = 40

// capacities scales a capacity and a cap so that both have at most mostCapacityBits. The cap is
// at most the capacity and at least 1.
func capacities(capacity, cap uint64) (uint64, uint64) {
	shift := max(0, bits.Len64(capacity)-mostCapacityBits)
	return capacity >> shift, max(1, min(capacity, cap)>>shift)
}

// join lets task id share the pool from now on. takes is its work, in the time that it takes
// alone. *place belongs to the pool until leave, or until due has reported the task's end. Then
// it is negative.
//
// hot: once a period of an attempt.
func (p *pool) join(now time.Duration, cap uint64, takes time.Duration, id int32, place *int32) {
	p.runTo(now)
	if p.capacity == 0 { // without a capacity all tasks run at full speed, in one class
		cap = 1
	}
	c := p.class(cap)
	c.ends.add(ending{c.served.Plus(AmountOf(takes)), id, place})
	p.count(cap, 1)
	p.setRates()
}

// leave takes a task out before its end.
func (p *pool) leave(now time.Duration, cap uint64, place *int32) {
	p.runTo(now)
	i, _ := p.find(cap)
	c := &p.classes[i]
	c.ends.remove(int(*place))
	p.count(cap, -1)
	if len(c.ends) == 0 {
		p.drop(i)
	}
	p.setRates()
}

// due takes out all tasks whose work is done by now, and calls each with their ids.
func (p *pool) due(now time.Duration, each func(id int32)) {
	p.runTo(now)
	before := p.sharers
	for i := 0; i < len(p.classes); i++ {
		c := &p.classes[i]
		for len(c.ends) > 0 && c.ends[0].when.Minus(c.served).Lasts(Whole) == 0 {
			id := c.ends[0].id
			c.ends.remove(0)
			p.count(c.cap, -1)
			each(id)
		}
		if len(c.ends) == 0 {
			p.drop(i)
			i--
		}
	}
	if p.sharers < before {
		p.setRates()
	}
}

// count counts a task that comes (1) or goes (-1).
func (p *pool) count(cap uint64, n int) {
	p.sharers += n
	p.wanted += uint64(n) * min(cap, p.capacity)
}

// next returns the time at which the first task ends its work, if no task comes or goes.
func (p *pool) next() time.Duration {
	least := time.Duration(math.MaxInt64)
	for i := range p.classes {
		c := &p.classes[i]
		least = min(least, c.ends[0].when.Minus(c.served).Lasts(c.rate))
	}
	return Later(p.at, least)
}

// setSpeed sets the speed of the resource as a whole, from now on.
func (p *pool) setSpeed(now time.Duration, speed Rate) {
	p.runTo(now)
	p.speed = speed
	p.setRates()
}

// runTo serves all tasks until now.
func (p *pool) runTo(now time.Duration) {
	took := now - p.at
	p.at = now
	if took == 0 {
		return
	}
	for i := range p.classes {
		c := &p.classes[i]
		c.served = c.served.Plus(c.rate.During(took))
	}
}

// setRates sets the rates of all classes. In ascending order of caps, a class whose cap is at
// most an even part of the rest runs at its cap. The first other cap and all caps after it are
// above the level.
func (p *pool) setRates() {
	rest, left := p.capacity, uint64(p.sharers)
	for i := range p.classes {
		c := &p.classes[i]
		if p.capacity == 0 || c.cap*left <= rest {
			c.rate = p.speed
			rest -= min(rest, c.cap*uint64(len(c.ends)))
			left -= uint64(len(c.ends))
			continue
		}
		c.rate = Fraction(rest, c.cap*left).Of(p.speed)
	}
}

// perSecond returns how much of the resource is used per second now, in the unit of caps, or 0 if
// there is always enough.
func (p *pool) perSecond() (used float64) {
	if p.capacity == 0 {
		return 0
	}
	for i := range p.classes {
		c := &p.classes[i]
		used += float64(c.cap) * float64(c.rate) / float64(Whole) * float64(len(c.ends))
	}
	return used
}

// find returns the index at which the class of a cap is or belongs, and whether it is there.
// Without a capacity there is only one. There are few classes, so the search is linear.
func (p *pool) find(cap uint64) (i int, there bool) {
	for i = range p.classes {
		if c := p.classes[i].cap; c >= cap || p.capacity == 0 {
			return i, c == cap || p.capacity == 0
		}
	}
	return len(p.classes), false
}

// class returns the class of a cap, which is new if no task has that cap.
func (p *pool) class(cap uint64) *class {
	i, there := p.find(cap)
	if there {
		return &p.classes[i]
	}
	// The new class takes the heap of the first spare one, so that no heap is allocated.
	n := len(p.classes)
	p.classes = slices.Grow(p.classes, 1)[:n+1]
	heap := p.classes[n].ends
	copy(p.classes[i+1:], p.classes[i:n])
	p.classes[i] = class{cap: cap, ends: heap[:0]}
	return &p.classes[i]
}

// drop takes out a class without tasks, and keeps its heap for the next one.
func (p *pool) drop(i int) {
	gone := p.classes[i]
	n := copy(p.classes[i:], p.classes[i+1:])
	p.classes[i+n] = gone
	p.classes = p.classes[:i+n]
}

// endings is a heap.Interface: a binary min-heap by when. It keeps the places of the tasks.
type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, k int) bool { return e[i].when.Less(e[k].when) }

func (e endings) Swap(i, k int) {
	e[i], e[k] = e[k], e[i]
	*e[i].place, *e[k].place = int32(i), int32(k)
}

// Push and Pop are there for heap.Interface only: add and remove need no allocation.
func (endings) Push(any) {}
func (endings) Pop() any { return nil }

// add puts an end into the heap.
func (e *endings) add(end ending) {
	*end.place = int32(len(*e))
	*e = append(*e, end)
	heap.Fix(e, len(*e)-1)
}

// remove takes the end at index i out of the heap. The place of its task is negative then.
func (e *endings) remove(i int) {
	last := len(*e) - 1
	e.Swap(i, last)
	*(*e)[last].place = -1
	(*e)[last] = ending{}
	if *e = (*e)[:last]; i < last {
		heap.Fix(e, i)
	}
}

// left returns the work that a task in the pool still has to do, in the time that it takes alone.
func (p *pool) left(now time.Duration, cap uint64, place int32) time.Duration {
	p.runTo(now)
	i, _ := p.find(cap)
	c := &p.classes[i]
	return c.ends[place].when.Minus(c.served).Floor()
}
