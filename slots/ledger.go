package slots

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/internal/order"
	"mrlocal/slots/demand"
	"mrlocal/slots/locality"
	"mrlocal/trace"
)

// Ledger is the bookkeeping of one run. New makes one.
type Ledger struct {
	config         Config
	placement      locality.Placement
	policy         Policy
	observer       Observer       // the policy, where it learns
	nothingToGrant NothingToGrant // the policy, where it can tell
	speculator     Speculator
	lends          bool
	byDemand       bool
	borrows        bool // the policy has percentages
	weights        demand.Weights
	stream         *trace.Stream

	now       time.Duration
	slots     []ledgerSlot
	trackers  []tracker
	jobs      []*ledgerJob
	pools     []*ledgerPool
	poolID    map[string]PoolID
	homeSlots int32 // of the first tracker

	userLimits map[string]*limit // of users with a limit; looked up, never walked

	total   totals
	changed []JobID // since the policy last asked
	view    *View

	seq       int64 // grants so far
	dirty     bool  // AssignAll has something to look at
	visited   TrackerID
	last      TrackerID // the last tracker that was served
	kills     []kill    // ordered since the last Assign
	advances  []AttemptID
	wake      time.Duration
	guardKill bool  // a map must start before another waiting reduce does
	fruitless int32 // visits since anything changed
	orders    Orders
	decision  Decision
	free      [homes]order.Set[TrackerID] // trackers with a free slot of that list
	asking    bool                        // an Assign is going on
	made      []trace.Event               // its decisions so far
	digest    trace.Digest                // of all facts so far
	seen      []Fact                      // facts to show to the observer

	explaining *explaining // nil: nobody asks why

	stats accruals
	steps int64 // of a checked build
}

// kill is an ordered kill.
type kill struct {
	attempt AttemptID
	slot    SlotID
	rule    Rule
}

// totals are cluster-wide counts, kept in place.
type totals struct {
	pending  [2]int32
	running  [2]int32
	cap      [2]int32
	tally    demand.Tally
	keeps    int32
	open     int32 // open slots
	draining int32 // draining slots, all busy
	active   int32 // running jobs

	mapCapable  int32 // open slots that a map may use
	freeCapable int32 // of these, idle
	heldWaiting int32 // of these, holding a waiting reduce
	killing     int32 // attempts that a kill is ordered for
	lent        int32 // busy lent slots
	waiting     int32 // waiting reduces
}

// New returns a Ledger without jobs.
func New(c Config, p Policy) (*Ledger, error) {
	c = c.withDefaults()
	if r, ok := p.(Resetter); ok {
		r.Reset()
	}
	t := p.Traits()
	if t.Borrows {
		c.BorrowMap, c.BorrowReduce = t.BorrowMap, t.BorrowReduce
	}
	if t.OwnSlowstart {
		c.Slowstart = t.Slowstart
	}
	if t.Options != nil {
		text, err := json.Marshal(t.Options)
		if err != nil {
			return nil, fmt.Errorf("slots: options of %s: %w", t.Name, err)
		}
		c.Options = text
	}
	if c.PolicyName == "" {
		c.PolicyName = t.Name
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	if !t.Weights.Valid() {
		return nil, fmt.Errorf("slots: weights %+v: each is from 1 to %d", t.Weights, demand.MostWeight)
	}
	if t.Weights.Bound() {
		c.Slots = weighed(c.Slots, t.Weights)
	}
	l := &Ledger{config: c, policy: p, lends: t.Lends, borrows: t.Borrows, byDemand: t.ByDemand, weights: t.Weights, poolID: map[string]PoolID{}, userLimits: map[string]*limit{}, wake: -1, last: -1, visited: -1}
	l.observer, _ = p.(Observer)
	l.nothingToGrant, _ = p.(NothingToGrant)
	l.speculator, _ = p.(Speculator)
	l.view, l.decision = &View{l: l}, Decision{l: l}
	for _, pc := range c.Pools {
		l.addPool(pc)
	}
	for _, u := range c.Users {
		if u.MaxRunning > 0 {
			m := newLimit(u.MaxRunning)
			l.userLimits[u.Name] = &m
		}
	}
	l.layOut()
	return l, nil
}

// weighed are slots with their weights.
func weighed(all []Slot, w demand.Weights) []Slot {
	all = slices.Clone(all)
	for i := range all {
		if all[i].Weight = 0; !all[i].Extra {
			all[i].Weight = PPM(w.Of(all[i].Home)) * One
		}
	}
	return all
}

// layOut builds slots and trackers.
func (l *Ledger) layOut() {
	l.slots = make([]ledgerSlot, len(l.config.Slots))
	for i, s := range l.config.Slots {
		for int(s.Tracker) >= len(l.trackers) {
			l.trackers = append(l.trackers, tracker{id: TrackerID(len(l.trackers))})
		}
		l.slots[i] = ledgerSlot{Slot: s, state: SlotClosed, next: NoSlot}
		l.trackers[s.Tracker].slots = append(l.trackers[s.Tracker].slots, s.ID)
		if !s.Extra {
			if s.Tracker == 0 {
				l.homeSlots++
			}
			l.openSlot(&l.slots[i])
		}
	}
	l.placement = locality.Placement{Seed: l.config.Seed, Trackers: int32(len(l.trackers)), Replicas: l.config.Replicas, GroupTrackers: l.config.GroupTrackers}
}

// SetStream makes every fact and decision from now on an event of s. It is
// called once, before the first Submit.
func (l *Ledger) SetStream(s *trace.Stream) {
	h, err := l.config.header()
	invariant.Check(err == nil, "%v", err)
	l.stream = s
	s.Open(h)
}

// Config is the effective configuration.
func (l *Ledger) Config() Config { return l.config }

// Now is the time of the latest fact or Assign.
func (l *Ledger) Now() time.Duration { return l.now }

// HoldsCopy reports whether reduces wait for Orders.Advances.
func (l *Ledger) HoldsCopy() bool {
	g, ok := l.policy.(PhaseGate)
	return ok && g.HoldsCopy()
}

// Assign is one heartbeat of tracker t.
func (l *Ledger) Assign(now time.Duration, t TrackerID) *Orders {
	invariant.Check(t >= 0 && int(t) < len(l.trackers), "slots: Assign: tracker %d of %d", t, len(l.trackers))
	l.begin(now)
	l.visit(t)
	return l.end(t)
}

// AssignAll is heartbeat 0: one visit per tracker in id order, going on after
// the last one served, until a full round grants nothing. Trackers without a
// free slot are passed over, but for the first one there is, so that a policy sees
// every call. It returns at once when nothing has happened since the last time and
// no wake-up is due.
func (l *Ledger) AssignAll(now time.Duration) *Orders {
	if !l.dirty && (l.wake < 0 || now < l.wake) {
		l.orders.clear()
		l.orders.Wake = l.wake
		return &l.orders
	}
	l.begin(now)
	n := TrackerID(len(l.trackers))
	first := (l.last + 1) % n
	for i := n; l.trackers[first].lost && i > 0; i-- {
		first = (first + 1) % n
	}
	l.serve(first)
	for granted := true; granted; {
		from := (l.last + 1) % n
		granted = l.serveFrom(from, n)
		granted = l.serveFrom(0, from) || granted
	}
	l.dirty = false
	l.fruitless = int32(len(l.trackers)) // those passed over have no free slot, or none that a pending task may use
	return l.end(AllTrackers)
}

// AllTrackers is what AssignAll records as its tracker.
const AllTrackers TrackerID = -1

// serveFrom visits the trackers in [from, to) that could be given something.
func (l *Ledger) serveFrom(from, to TrackerID) (granted bool) {
	for t := l.servable(from); t >= 0 && t < to; t = l.servable(t + 1) {
		granted = l.serve(t) || granted
	}
	return granted
}

// servable is the first tracker from t on with a free slot on which something
// that is pending could run; -1 where there is none.
func (l *Ledger) servable(t TrackerID) TrackerID {
	m, r := l.wants(Map), l.wants(Reduce)
	if !m && !r || l.nothingToGrant != nil && l.nothingToGrant.NothingToGrant(l.view) {
		return -1
	}
	return order.Next(l.free[:], []bool{m || l.lends, r || l.lends, true}, t)
}

// wants: a task of kind k pends, or the policy has one to copy.
func (l *Ledger) wants(k Kind) bool {
	return l.total.pending[k] > 0 || l.speculator != nil && l.speculator.Speculates(l.view, k)
}

// serve visits t and, where something was granted, remembers it as the last one
// served.
func (l *Ledger) serve(t TrackerID) bool {
	if !l.visit(t) {
		return false
	}
	l.last = t
	return true
}

// visit lets the policy decide for tracker t and reports whether it granted.
func (l *Ledger) visit(t TrackerID) bool {
	if l.trackers[t].lost {
		return false
	}
	before := len(l.orders.Starts)
	l.visited = t
	l.fruitless++
	l.policy.Decide(l.view, &l.decision)
	if l.explaining != nil {
		l.visitExplained()
	}
	if invariant.Enabled { // whoever kept them finds nothing
		l.view.l = nil
		l.view = &View{l: l}
	}
	l.checked()
	return len(l.orders.Starts) > before
}

func (l *Ledger) begin(now time.Duration) {
	l.advance(now)
	l.orders.clear()
	l.asking = true
	if l.wake >= 0 && now >= l.wake {
		l.wake = -1
	}
}

// end completes the orders and records them: the Assign, then its decisions.
func (l *Ledger) end(t TrackerID) *Orders {
	l.guard()
	o := &l.orders
	for _, k := range l.kills {
		o.Kills = append(o.Kills, k.attempt)
		l.decided(attemptEvent(trace.OpKill, k.attempt, k.slot, k.rule))
	}
	o.Advances = append(o.Advances, l.advances...)
	l.kills, l.advances = l.kills[:0], l.advances[:0]
	o.Wake = l.wake
	l.asking = false
	if l.stream != nil {
		l.stream.Append(trace.Event{
			At: l.now, Op: trace.OpAssign,
			A: int64(t), B: int64(len(o.Starts) + len(o.Kills) + len(o.Advances)), C: int64(o.Wake), D: l.digest.Sum(),
		})
		for i := range l.made {
			l.stream.Append(l.made[i])
		}
		l.made = l.made[:0]
	}
	return o
}

// clear empties o; in a checked build with new memory, after spoiling the old,
// so that a driver that kept it is found.
func (o *Orders) clear() {
	if invariant.Enabled {
		for i := range o.Starts {
			o.Starts[i] = Start{Attempt: AttemptID{Job: -1}, Slot: NoSlot}
		}
		for i := range o.Kills {
			o.Kills[i] = AttemptID{Job: -1}
		}
		o.Starts, o.Kills, o.Advances = nil, nil, nil
	}
	o.Starts, o.Kills, o.Advances = o.Starts[:0], o.Kills[:0], o.Advances[:0]
	o.Probe = -1
}
