package setup

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/order"
	"mrlocal/slots"
	"mrlocal/slots/policy/fifo"
)

// This file takes a user's policy into a run. It refuses a policy that serves another run,
// because each run would change what the other one decides. It turns a panic of the policy into
// an error of the run, so that the driver ends the run as after any other failure.
//
// ClaimOf takes the policy, and Release gives it back. The driver hands Claim.Policy to its Ledger, and
// looks at Claim.Err after each call of the Ledger. A policy that has panicked is not called again.
//
// A Claim belongs to the goroutine that calls the Ledger. Runs on other goroutines may claim other
// policies at the same time.

// Claim is a policy that serves a run.
type Claim struct {
	// Policy is the policy as the Ledger gets it. Its calls do not panic.
	Policy slots.Policy
	// Inner is the policy as the user gave it. It shows which optional abilities the policy has.
	Inner slots.Policy

	guarded *guarded
	held    []uintptr
}

// serving has the addresses of all policies that serve a run of this process. Two runs share
// nothing but the policy that they were given, so no run can know of the other.
var serving = &sync.Map{}

// ClaimOf takes p for a run, until Release is called; nil stands for FIFO. It fails with an error of kind
// errs.BadOptions if p serves another run, and with one of kind errs.JobFailed if p.Traits panics.
//
// A policy with state is a pointer. ClaimOf takes the pointer, and the policies that its fields or
// embedded fields hold, also in slices and arrays. It does not look for policies in maps, in structs
// that are not policies, or in what functions refer to. A policy without a pointer and an empty struct
// have no state. ClaimOf takes nothing of them, so they may serve several runs at once.
//
// A policy must not end its goroutine (runtime.Goexit, t.Fatal of a test). The goroutine is that of
// the run's caller, and the Ledger is in the middle of its work.
func ClaimOf(p slots.Policy) (*Claim, error) {
	if p == nil {
		p = fifo.New()
	}
	g := &guarded{inner: p, name: fmt.Sprintf("%T", p)}
	c := &Claim{Policy: g, Inner: p, guarded: g}
	if o, ok := p.(slots.Observer); ok {
		c.Policy = &observing{guarded: g, observer: o}
	}
	if !c.claim(reflect.ValueOf(p)) {
		c.Release()
		return nil, errs.Fieldf("Options.Policy", "serves another run that is going on; give each run a policy of its own")
	}
	if g.Traits(); g.err != nil {
		c.Release()
		return nil, g.err
	}
	return c, nil
}

// Release gives the policy back at the end of the run.
func (c *Claim) Release() {
	for _, address := range c.held {
		serving.Delete(address)
	}
	c.held = nil
}

// Err returns the first panic of the policy as an error of kind errs.JobFailed; nil: it has not
// panicked. It wraps a guard.Error, which has the stack of the panic.
func (c *Claim) Err() error { return c.guarded.err }

// Stalled returns an error of kind errs.JobFailed if a run cannot go on. Then some job is left, the
// policy holds all attempts in the copy phase of reduces, and it is not asked again. attempts is the
// number of attempts of the driver, because l does not know of those on lost trackers. wake is that
// of the last orders of l, which has got no fact since then.
//
// A driver that expects a fact, such as a further job, must not end the run.
func (c *Claim) Stalled(l *slots.Ledger, wake time.Duration, attempts int) error {
	if wake >= 0 || l.Active() == 0 {
		return nil
	}
	v, held := l.View(), 0
	for id := range slots.SlotID(v.Slots()) {
		if s := v.Slot(id); s.Busy {
			if s.Phase != slots.PhaseHeld || s.Advanced || s.Killing {
				return nil
			}
			held++
		}
	}
	if held != attempts || held == 0 && v.Pending(slots.Map)+v.Pending(slots.Reduce) == 0 {
		return nil // some attempt will end, or nothing waits for the policy
	}
	// More maps of a job may become known, or may start later. A driver does not look for maps of a job
	// that waits for a limit on running jobs.
	for id := range slots.JobID(l.Jobs()) {
		j := v.Job(id)
		if !j.Ended() && j.Runnable() && (!j.Sealed() || j.Pending(slots.Map) < j.Total(slots.Map)-j.Done(slots.Map)) {
			return nil
		}
	}
	does := "starts no task, while nothing runs"
	if held > 0 {
		does = fmt.Sprintf("holds %d reduces in their copy phase, while nothing else runs", held)
	}
	return &errs.Error{Kind: errs.JobFailed, Object: "Options.Policy", Fields: true, Cause: fmt.Errorf("%s: %s and it has asked for no wake-up", c.guarded.name, does)}
}

// claim takes the address of a policy, and then the policies in its fields. It returns false if one
// of them serves another run.
func (c *Claim) claim(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface:
		return c.claim(v.Elem())
	case reflect.Pointer:
		// A field at the start of a struct has the address of the struct.
		if v.IsNil() || v.Type().Elem().Size() == 0 || slices.Contains(c.held, v.Pointer()) {
			return true
		}
		if _, taken := serving.LoadOrStore(v.Pointer(), nil); taken {
			return false // the other run may change the fields at this moment
		}
		c.held = append(c.held, v.Pointer())
		return c.claim(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); holds(f.Type()) && !c.claim(f) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !c.claim(v.Index(i)) {
				return false
			}
		}
	}
	return true
}

// holds reports whether a field of type t holds policies: one, or a slice or an array of them.
func holds(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[slots.Policy]()) || (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && holds(t.Elem())
}

// guarded calls a policy, and keeps its first panic. It has all optional abilities but Observer: where
// the policy lacks one, guarded answers as if it were not there.
type guarded struct {
	inner slots.Policy

	name string // in messages
	err  error
}

// do calls ask, which asks the policy, unless the policy has panicked before. It keeps a panic of ask.
func (g *guarded) do(ask func()) {
	if g.err != nil {
		return
	}
	if err := guard.Run(g.name, func() error { ask(); return nil }); err != nil {
		g.err = &errs.Error{Kind: errs.JobFailed, Object: "Options.Policy", Fields: true, Cause: err}
	}
}

func (g *guarded) Traits() (t slots.Traits) {
	g.do(func() {
		t = g.inner.Traits()
		g.name = t.Name
	})
	return t
}

func (g *guarded) Reset() { g.do(g.inner.Reset) }

func (g *guarded) Decide(v *slots.View, d *slots.Decision) { g.do(func() { g.inner.Decide(v, d) }) }

func (g *guarded) NextVisit(v *slots.View, t slots.TrackerID) slots.TrackerID {
	if p, ok := g.inner.(slots.Selective); ok && g.err == nil {
		next := slots.TrackerID(-1) // after a panic
		g.do(func() { next = p.NextVisit(v, t) })
		return next
	}
	return t
}

func (g *guarded) Speculates(v *slots.View, k slots.Kind) (yes bool) {
	if p, ok := g.inner.(slots.Speculator); ok {
		g.do(func() { yes = p.Speculates(v, k) })
	}
	return yes
}

func (g *guarded) HoldsCopy() (yes bool) {
	if p, ok := g.inner.(slots.PhaseGate); ok {
		g.do(func() { yes = p.HoldsCopy() })
	}
	return yes
}

func (g *guarded) Extra(home [2]int32, most int) (n int) {
	if p, ok := g.inner.(slots.Opener); ok {
		g.do(func() { n = p.Extra(home, most) })
	}
	return n
}

// observing is guarded for a policy that is an Observer. The Ledger keeps facts for observers
// only.
type observing struct {
	*guarded
	observer slots.Observer
}

func (o *observing) Observe(f slots.Fact) { o.do(func() { o.observer.Observe(f) }) }

// Release says which job of a run is submitted next. A job is due at the later of two
// times: its Submit time, and the time at which the last job of its After succeeded.
// Jobs that are due at the same time are in the order of their indexes. A driver calls First,
// submits that job, and calls Remove. It calls Ended when the job ends.
type Release struct {
	jobs []waiting                    // by index
	due  order.Ranking[time.Duration] // jobs whose After has succeeded, by the time at which they are due
}

// waiting is a job and the jobs that wait for it.
type waiting struct {
	submit     time.Duration // the time at which it is due, as far as known
	waits      int32         // number of jobs that it still waits for
	over       bool          // it has ended, or is dropped
	dependents []int32       // indexes of the jobs that wait for it
}

// Dropped is a job that is never submitted, because a job of its After did not
// succeed or was dropped itself.
type Dropped struct{ Job, Because int }

// NewRelease returns the Release of n jobs. job returns each of them; the indexes in
// its After lie in [0, n).
func NewRelease(n int, job func(i int) *Submission) *Release {
	r := &Release{jobs: make([]waiting, n), due: order.Ranking[time.Duration]{Less: func(a, b *time.Duration) bool { return *a < *b }}}
	for i := range n {
		s := job(i)
		r.jobs[i].submit, r.jobs[i].waits = s.Submit, int32(len(s.After))
		if len(s.After) == 0 {
			r.due.Set(int32(i), s.Submit)
		}
		for _, before := range s.After {
			r.jobs[before].dependents = append(r.jobs[before].dependents, int32(i))
		}
	}
	return r
}

// First returns the job that is due next, and the time from the start of the run. ok is false
// if every job that has not been taken waits for other jobs.
func (r *Release) First() (job int, at time.Duration, ok bool) {
	id, ok := r.due.First()
	if !ok {
		return -1, 0, false
	}
	return int(id), r.jobs[id].submit, true
}

// Remove removes the job that First returns, because the driver submits it.
func (r *Release) Remove() {
	id, _ := r.due.First()
	r.due.Remove(id)
}

// Ended records that a job that Remove removed has ended at the time now. If the job
// succeeded, each job that waited only for it becomes due. Otherwise each job that waits for
// it is dropped, and then the jobs that wait for dropped ones. Ended returns the dropped
// jobs. A job comes after the one in its Because.
func (r *Release) Ended(now time.Duration, job int, succeeded bool) (dropped []Dropped) {
	r.jobs[job].over = true
	if succeeded {
		for _, d := range r.jobs[job].dependents {
			if j := &r.jobs[d]; !j.over {
				if j.waits--; j.waits == 0 {
					j.submit = max(j.submit, now)
					r.due.Set(d, j.submit)
				}
			}
		}
		return nil
	}
	for failed := []int{job}; len(failed) > 0; failed = failed[1:] {
		for _, d := range r.jobs[failed[0]].dependents {
			if j := &r.jobs[d]; !j.over {
				j.over = true
				dropped = append(dropped, Dropped{int(d), failed[0]})
				failed = append(failed, int(d))
			}
		}
	}
	return dropped
}

// Cycle returns the indexes of jobs that wait for each other in a circle. Each waits for the
// next one, and the last one waits for the first. It returns nil if there is no circle. n and
// job are as for NewRelease.
func Cycle(n int, job func(i int) *Submission) (circle []int) {
	// Let all jobs run in order. Those that never become due are in a circle or wait for one.
	r := NewRelease(n, job)
	for i, _, ok := r.First(); ok; i, _, ok = r.First() {
		r.Remove()
		r.Ended(0, i, true)
	}
	i := slices.IndexFunc(r.jobs, func(j waiting) bool { return j.waits > 0 })
	if i < 0 {
		return nil
	}
	// Each job that waits has another one that waits in its After. So a path along After
	// comes back to a job that it has passed.
	var path []int
	place := map[int]int{}
	for {
		if from, seen := place[i]; seen {
			return path[from:]
		}
		place[i] = len(path)
		path = append(path, i)
		after := job(i).After
		i = after[slices.IndexFunc(after, func(a int) bool { return r.jobs[a].waits > 0 })]
	}
}
