package slots

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/internal/order"
	"mrlocal/trace"
)

// Ledger is the bookkeeping of one run: it keeps the state of slots, trackers, jobs and
// tasks, and it alone changes that state. It serves one goroutine. New makes one.
type Ledger struct {
	config    Config
	placement Placement
	stream    *trace.Stream // nil: nothing is recorded

	// The policy, its traits and its optional abilities (nil: it does not have them).
	policy     Policy
	traits     Traits
	observer   Observer
	selective  Selective
	speculator Speculator

	now        time.Duration // of the latest fact or Assign
	heard      time.Duration // of the latest AssignAll, before which a driver may report progress
	blacklists clusterFailures
	slots      []ledgerSlot
	trackers   []tracker
	jobs       []*ledgerJob
	pools      []*ledgerPool
	poolID     map[string]PoolID // by name
	userLimits map[string]*limit // of users with a limit; never iterated, because the order is random
	homeSlots  int32             // of the first tracker

	total   totals
	changed []JobID                         // since the policy asked last
	told    []JobID                         // the answer to its last question
	free    [slotLists]order.Set[TrackerID] // trackers that can start something on a free slot of the list
	seq     int64                           // grants so far
	dirty   bool                            // something has changed since the last AssignAll
	last    TrackerID                       // the last tracker on which AssignAll granted something; -1: none
	wake    time.Duration                   // earliest time that the policy asked for; negative: none

	// The deadlock guard.
	mapFirst   bool  // no waiting reduce may take a map-capable slot before a map has started
	idleVisits int32 // visits since anything changed
	vainWakes  int32 // wake-ups of the policy since anything changed

	// The Assign that is going on, and its answer.
	assigning bool
	visited   TrackerID
	kills     []kill // ordered since the last Assign
	advances  []AttemptID
	orders    Orders
	decision  Decision
	view      *View
	decisions []trace.Event // to be recorded behind the Assign

	digest     trace.Digest // of all facts so far
	unobserved []Fact       // facts that the observer has not got yet
	explaining *explaining  // nil: explanations are off

	stats   Stats // Moves, Refused and Stale
	meter   slotMeter
	refused Refusal // the first that only a bug in the policy causes
	steps   int64   // facts and visits, counted in checked builds
}

// kill is the order to end an attempt, and the rule that led to it.
type kill struct {
	attempt AttemptID
	slot    SlotID
	rule    Rule
}

// totals are counts over the whole cluster, kept up to date in place.
type totals struct {
	pending    [2]int32
	running    [2]int32
	cap        [2]int32 // open home slots
	tally      Tally
	reduceRoom int32 // see tracker
	open       int32 // open slots
	draining   int32 // draining slots, all busy
	active     int32 // jobs that have not ended

	mapCapable  int32 // open slots that a map may use
	freeCapable int32 // map-capable slots that are free
	heldWaiting int32 // map-capable slots that hold a waiting reduce
	killing     int32 // attempts with an order to end
	lent        int32 // busy slots that are lent
	waiting     int32 // waiting reduces: running ones whose job has unfinished maps
}

// freeSlots returns how many open slots are free. Draining slots are busy.
func (t *totals) freeSlots() int32 { return t.open + t.draining - t.running[Map] - t.running[Reduce] }

// New returns a Ledger without jobs that asks policy p. The Ledger keeps p, and the slices of
// c except Pools. The caller must not change them. New fails if a value of c is wrong or
// contradicts another, or if p borrows and does not lend. It also fails if the weights of p
// are wrong, or if its options cannot be written as JSON.
func New(c Config, p Policy) (*Ledger, error) {
	c = c.withDefaults()
	p.Reset()
	t := p.Traits()
	if t.Borrows {
		c.BorrowMap, c.BorrowReduce = t.BorrowMap, t.BorrowReduce
	}
	if t.Borrows && !t.Lends && (t.BorrowMap > 0 || t.BorrowReduce > 0) {
		return nil, fmt.Errorf("slots: policy %s borrows slots (Traits.Borrows) but lends none: set Traits.Lends, or no task starts on a slot of the other kind", t.Name)
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
	c.PolicyName = cmp.Or(c.PolicyName, t.Name)
	if err := c.validate(); err != nil {
		return nil, err
	}
	if !t.Weights.Valid() {
		return nil, fmt.Errorf("slots: weights %+v: each is from 1 to %d", t.Weights, MostWeight)
	}
	if t.Weights.Bound() {
		c.Slots = weighed(c.Slots, t.Weights)
	}
	l := &Ledger{config: c, policy: p, traits: t, poolID: map[string]PoolID{}, userLimits: map[string]*limit{}, wake: -1, last: -1, visited: -1}
	l.observer, _ = p.(Observer)
	l.selective, _ = p.(Selective)
	l.speculator, _ = p.(Speculator)
	l.view, l.decision = &View{l: l}, Decision{l: l}
	for _, pc := range c.Pools {
		l.addPool(pc)
	}
	for _, u := range c.Users {
		if u.MaxRunning > 0 {
			l.userLimits[u.Name] = new(newLimit(u.MaxRunning))
		}
	}
	l.layOut()
	return l, nil
}

// weighed returns a copy of slots with the weights of the home slots filled in.
func weighed(all []Slot, w Weights) []Slot {
	// The slots belong to the caller, who may make another Ledger with them.
	all = slices.Clone(all)
	for i := range all {
		if all[i].Weight = 0; !all[i].Extra {
			all[i].Weight = PPM(w.Of(all[i].Home)) * One
		}
	}
	return all
}

// layOut makes the slots and trackers, and opens the home slots. Extra slots stay closed
// until the policy opens them.
func (l *Ledger) layOut() {
	l.slots = make([]ledgerSlot, len(l.config.Slots))
	for i, s := range l.config.Slots {
		for int(s.Tracker) >= len(l.trackers) {
			l.trackers = append(l.trackers, tracker{id: TrackerID(len(l.trackers))})
		}
		l.slots[i] = ledgerSlot{SlotView: SlotView{Slot: s, State: SlotClosed}, next: NoSlot}
		l.trackers[s.Tracker].slots = append(l.trackers[s.Tracker].slots, s.ID)
		if !s.Extra {
			if s.Tracker == 0 {
				l.homeSlots++
			}
			l.openSlot(&l.slots[i])
		}
	}
	l.placement = Placement{Seed: l.config.Seed, Trackers: int32(len(l.trackers)), Replicas: l.config.Replicas, GroupTrackers: l.config.GroupTrackers}
}

// SetStream makes the Ledger append every fact and decision to s, and opens s with the
// configuration. It is called at most once, before the first fact. The caller still owns s
// and closes it.
func (l *Ledger) SetStream(s *trace.Stream) {
	h, err := l.config.header()
	invariant.Check(err == nil, "%v", err)
	l.stream = s
	s.Open(h)
}

// Config returns the configuration, with defaults and the policy's traits filled in.
func (l *Ledger) Config() Config { return l.config }

// Traits returns the traits of the policy.
func (l *Ledger) Traits() Traits { return l.traits }

// Now returns the time of the latest fact or Assign.
func (l *Ledger) Now() time.Duration { return l.now }

// HoldsCopy reports whether reduces have to wait in their copy phase for
// Orders.Advances.
func (l *Ledger) HoldsCopy() bool {
	g, ok := l.policy.(PhaseGate)
	return ok && g.HoldsCopy()
}

// Assign is one heartbeat of tracker t at time now. The orders are valid until the next
// Assign.
func (l *Ledger) Assign(now time.Duration, t TrackerID) *Orders {
	invariant.Check(t >= 0 && int(t) < len(l.trackers), "slots: Assign: tracker %d of %d", t, len(l.trackers))
	l.begin(now)
	l.trackers[t].heard = now
	l.visit(t)
	return l.end(t)
}

// AssignAll visits all trackers in the order of ids, until a whole round grants nothing. It
// begins after the last tracker on which it granted something. It always visits the first
// tracker, so that every call reaches the policy. It visits others only if they have a free
// slot for a pending task. It returns at once if nothing has changed since the last call and
// no wake-up is due. The orders are valid until the next Assign.
func (l *Ledger) AssignAll(now time.Duration) *Orders {
	if !l.Due(now) {
		l.orders.clear()
		l.orders.Wake = l.wake
		return &l.orders
	}
	l.begin(now)
	l.heard = now
	n := TrackerID(len(l.trackers))
	first := (l.last + 1) % n
	// A lost tracker is not visited, so the next one is the first.
	for i := n; l.out(&l.trackers[first]) && i > 0; i-- {
		first = (first + 1) % n
	}
	l.serve(first)
	// A grant may let the policy start something on trackers that it has passed: it may have
	// opened a slot, or a demand has changed.
	for granted := true; granted; {
		from := (l.last + 1) % n
		granted = l.serveFrom(from, n)
		granted = l.serveFrom(0, from) || granted
	}
	l.dirty = false
	l.idleVisits = int32(len(l.trackers)) // trackers that were skipped would have got nothing (guard.go)
	return l.end(AllTrackers)
}

// Due reports whether AssignAll would ask the policy at time now: something has changed
// since the last time, or a wake-up is due. A driver answers a Probe only if Due is true.
// So the moment at which a driver looks at progress never leads to a decision.
func (l *Ledger) Due(now time.Duration) bool { return l.dirty || l.wake >= 0 && now >= l.wake }

// AllTrackers is the tracker in the event of an AssignAll.
const AllTrackers TrackerID = -1

// serveFrom visits the trackers in [from, to) that could get something. It reports whether
// one of them did.
func (l *Ledger) serveFrom(from, to TrackerID) (granted bool) {
	for t := l.servable(from); t >= 0 && t < to; t = l.servable(t + 1) {
		granted = l.serve(t) || granted
	}
	return granted
}

// servable returns the first tracker from t on that the policy does not skip and that can
// start something. Such a tracker has a free slot for a kind of task that may start. It
// returns -1 if there is none.
func (l *Ledger) servable(t TrackerID) TrackerID {
	if l.total.freeSlots() == 0 {
		return -1 // the usual answer in a busy cluster, without a look at trackers or tasks
	}
	m, r := l.mayStart(Map), l.mayStart(Reduce)
	if !m && !r {
		return -1
	}
	for {
		t = l.nextFree(t, [slotLists]bool{Map: m || l.traits.Lends, Reduce: r || l.traits.Lends, homeExtra: true})
		if t < 0 || l.selective == nil {
			return t
		}
		next := l.selective.NextVisit(l.view, t)
		if next < 0 || next == t {
			return next
		}
		t = next
	}
}

// nextFree returns the first tracker from t on that can start something on a free slot of
// one of the lists; -1: there is none.
func (l *Ledger) nextFree(t TrackerID, lists [slotLists]bool) TrackerID {
	first := TrackerID(-1)
	for list, may := range lists {
		if !may {
			continue
		}
		if next := l.free[list].Next(t); next >= 0 && (first < 0 || next < first) {
			first = next
		}
	}
	return first
}

// mayStart reports whether a task of kind k is pending, or worth a speculative attempt.
func (l *Ledger) mayStart(k Kind) bool {
	return l.total.pending[k] > 0 || l.speculator != nil && l.speculator.Speculates(l.view, k)
}

// serve visits t and reports whether anything was granted. If so, it sets l.last.
func (l *Ledger) serve(t TrackerID) bool {
	if !l.visit(t) {
		return false
	}
	l.last = t
	return true
}

// visit lets the policy decide for tracker t and reports whether it granted anything.
func (l *Ledger) visit(t TrackerID) bool {
	if l.out(&l.trackers[t]) {
		return false
	}
	before := len(l.orders.Starts)
	l.visited = t
	l.idleVisits++
	l.policy.Decide(l.view, &l.decision)
	if x := l.explaining; x != nil {
		l.explain(func(e *Explanation) { e.Declined = x.declined })
		x.declined = x.declined[:0]
	}
	if invariant.Enabled { // a policy that keeps its view then fails
		l.view.l = nil
		l.view = &View{l: l}
	}
	l.checked()
	return len(l.orders.Starts) > before
}

// begin starts an Assign.
func (l *Ledger) begin(now time.Duration) {
	l.advance(now)
	l.orders.clear()
	l.assigning = true
	if l.wake >= 0 && now >= l.wake {
		l.wake = -1
		l.vainWakes++
	}
}

// end completes the orders and records the Assign, then its decisions.
func (l *Ledger) end(t TrackerID) *Orders {
	// The guard comes last, because it depends on the grants of the policy. It may add a kill.
	l.guard()
	o := &l.orders
	for _, k := range l.kills {
		o.Kills = append(o.Kills, k.attempt)
		l.recordDecision(attemptEvent(trace.OpKill, k.attempt, k.slot), k.rule)
	}
	o.Advances = append(o.Advances, l.advances...)
	l.kills, l.advances = l.kills[:0], l.advances[:0]
	o.Wake = l.wake
	l.assigning = false
	if l.stream != nil {
		l.stream.Append(trace.Event{
			At: l.now, Op: trace.OpAssign,
			// The digest of all facts lets a replay notice the first fact that differs.
			A: int64(t), B: int64(len(o.Starts) + len(o.Kills) + len(o.Advances)), C: int64(o.Wake), D: l.digest.Sum(),
		})
		for i := range l.decisions {
			l.stream.Append(l.decisions[i])
		}
		l.decisions = l.decisions[:0]
	}
	return o
}

// clear empties o. In checked builds it overwrites the old slices and does not use them
// again, so that a driver that keeps them fails.
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
	o.Starts = o.Starts[:0]
	o.Kills = o.Kills[:0]
	o.Advances = o.Advances[:0]
	o.Probe = -1
}
