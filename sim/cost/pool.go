package cost

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// pool is a resource of one tracker, its CPU or its disk, shared by the tasks
// that need it (L2): each gets the same part, but none more than its cap, and
// what one does not need goes to the others. With the water level at L a task
// of cap c runs at min(c, L); alone it runs at c, and its work is measured in
// the time that this takes.
//
// So all tasks of one cap have the same rate at all times. They are a class
// with a virtual time of its own, what each of them has been served; a task
// ends when that has come to where it stood when the task began, plus the
// task's work. A heap of these moments says who is next. Who comes or goes
// changes the level for all and is dealt with in O(log n) of the class and
// O(1) of each other cap, of which there are as many as there are kinds of
// jobs on the tracker, not as many as there are tasks.
//
// It is pure: it pushes no event. Time must not run backwards.
type pool struct {
	capacity uint64 // in the unit of caps; 0: there is always enough
	speed    rate   // of the resource as a whole
	at       time.Duration
	sharers  int
	wanted   uint64  // by all of them, each alone
	classes  []class // with sharers, by cap; behind them, in the spare capacity, heaps to reuse
}

// class is the tasks of one cap.
type class struct {
	cap    uint64
	rate   rate
	served work     // by each of them, since there was the first
	ends   []ending // a 4-ary min-heap
}

// ending is when a task will have been served, in its class's virtual time.
type ending struct {
	when  work
	id    int32
	place *int32 // where it stands in the heap, for leave; the task's own
}

// mostCapacityBits keeps the product of a cap and of the tasks that a tracker
// can have, ten million, within 64 bits.
const mostCapacityBits = 40

// capacities scales a capacity and a cap under it to numbers that can be
// counted with.
func capacities(capacity, cap uint64) (uint64, uint64) {
	shift := max(0, bits.Len64(capacity)-mostCapacityBits)
	return capacity >> shift, max(1, min(capacity, cap)>>shift)
}

// join lets a task of some work share the pool from now on. *place is the
// pool's until leave, or until due has reported its end; then it is negative.
// hot: once a period of an attempt.
func (p *pool) join(now time.Duration, cap uint64, takes time.Duration, id int32, place *int32) {
	p.settle(now)
	if p.capacity == 0 {
		cap = 1
	}
	c := p.class(cap)
	c.push(ending{c.served.plus(alone(takes)), id, place})
	p.count(cap, 1)
	p.fill()
}

// leave takes a task out before its end.
func (p *pool) leave(now time.Duration, cap uint64, place *int32) {
	p.settle(now)
	if p.capacity == 0 {
		cap = 1
	}
	i, _ := p.find(cap)
	c := &p.classes[i]
	c.remove(int(*place))
	*place = -1
	p.count(cap, -1)
	if len(c.ends) == 0 {
		p.drop(i)
	}
	p.fill()
}

// due takes out all tasks that have been served, and tells of each.
func (p *pool) due(now time.Duration, each func(id int32)) {
	p.settle(now)
	before := p.sharers
	for i := 0; i < len(p.classes); i++ {
		c := &p.classes[i]
		for len(c.ends) > 0 && c.ends[0].when.minus(c.served).lasts(whole) == 0 {
			e := c.ends[0]
			c.remove(0)
			*e.place = -1
			p.count(c.cap, -1)
			each(e.id)
		}
		if len(c.ends) == 0 {
			p.drop(i)
			i--
		}
	}
	if p.sharers < before {
		p.fill()
	}
}

// count books a task that comes (1) or goes (-1).
func (p *pool) count(cap uint64, n int) {
	p.sharers += n
	p.wanted += uint64(n) * min(cap, p.capacity)
}

// next is when the first task will have been served, if nobody comes or goes.
func (p *pool) next() time.Duration {
	least := time.Duration(math.MaxInt64)
	for i := range p.classes {
		c := &p.classes[i]
		least = min(least, c.ends[0].when.minus(c.served).lasts(c.rate))
	}
	return Later(p.at, least)
}

// run sets the speed of the resource as a whole.
func (p *pool) run(now time.Duration, speed rate) {
	p.settle(now)
	p.speed = speed
	p.fill()
}

// settle serves everybody until now.
func (p *pool) settle(now time.Duration) {
	took := now - p.at
	p.at = now
	if took == 0 {
		return
	}
	for i := range p.classes {
		c := &p.classes[i]
		c.served = c.served.plus(c.rate.during(took))
	}
}

// fill finds the level: from the least cap on, who needs no more than an even
// part of what is left gets what it needs.
func (p *pool) fill() {
	rest, left := p.capacity, uint64(p.sharers)
	for i := range p.classes {
		c := &p.classes[i]
		if p.capacity == 0 || c.cap*left <= rest {
			c.rate = p.speed
			rest -= min(rest, c.cap*uint64(len(c.ends)))
			left -= uint64(len(c.ends))
			continue
		}
		c.rate = fraction(rest, c.cap*left).of(p.speed)
	}
}

func (p *pool) find(cap uint64) (i int, there bool) {
	for i = range p.classes {
		if p.classes[i].cap >= cap {
			return i, p.classes[i].cap == cap
		}
	}
	return len(p.classes), false
}

// class is the class of a cap, a new one where nobody has it.
func (p *pool) class(cap uint64) *class {
	i, there := p.find(cap)
	if there {
		return &p.classes[i]
	}
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

// push adds an end.
func (c *class) push(e ending) {
	c.ends = append(c.ends, e)
	c.up(len(c.ends)-1, e)
}

// remove takes the end at i out.
func (c *class) remove(i int) {
	n := len(c.ends) - 1
	last := c.ends[n]
	c.ends[n] = ending{}
	c.ends = c.ends[:n]
	if i == n {
		return
	}
	if i > 0 && last.when.less(c.ends[(i-1)/4].when) {
		c.up(i, last)
		return
	}
	c.down(i, last)
}

func (c *class) put(i int, e ending) {
	c.ends[i] = e
	*e.place = int32(i)
}

// up puts e at i or above it.
func (c *class) up(i int, e ending) {
	for i > 0 {
		above := (i - 1) / 4
		if !e.when.less(c.ends[above].when) {
			break
		}
		c.put(i, c.ends[above])
		i = above
	}
	c.put(i, e)
}

// down puts e at i or below it.
func (c *class) down(i int, e ending) {
	for {
		low := 4*i + 1
		if low >= len(c.ends) {
			break
		}
		for k := low + 1; k < min(4*i+5, len(c.ends)); k++ {
			if c.ends[k].when.less(c.ends[low].when) {
				low = k
			}
		}
		if !c.ends[low].when.less(e.when) {
			break
		}
		c.put(i, c.ends[low])
		i = low
	}
	c.put(i, e)
}

// left is the work of a task that is to come, in the time that it takes alone.
func (p *pool) left(now time.Duration, cap uint64, place int32) time.Duration {
	p.settle(now)
	if p.capacity == 0 {
		cap = 1
	}
	i, _ := p.find(cap)
	c := &p.classes[i]
	return c.ends[place].when.minus(c.served).floor()
}
