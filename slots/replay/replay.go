// Package replay decides a recorded run again: it feeds the facts of an event
// file to a fresh slots.Ledger and compares every decision with the recorded one.
// Explanations, and the proof that a policy is deterministic, rest on it.
//
// Memory: one event and the decisions of one Assign at a time, beside the
// Ledger. Neighbours: package slots is what decides, trace reads the file,
// slots/explain words what a replay tells.
package replay

import (
	"errors"
	"fmt"
	"io"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/trace"
)

// Difference is the first decision in which a replay and a recorded run differ.
type Difference struct {
	Line     int    // of the event file
	Decision int64  // how many decisions came before it
	Recorded string // as it stands in the file; "": none there
	Replayed string // as this slots.Ledger decides; "": none

	// FactsLine is the line of the first Assign that rested on other facts than
	// the recorded one did, or 0: then facts were dropped, swapped or changed
	// before it, else the policy or the slots.Ledger is another.
	FactsLine int
}

func (d *Difference) String() string {
	text := fmt.Sprintf("line %d, decision %d: recorded %s, replayed %s", d.Line, d.Decision+1, orNone(d.Recorded), orNone(d.Replayed))
	if d.FactsLine > 0 {
		text += fmt.Sprintf(" (the facts before line %d are not the run's)", d.FactsLine)
	}
	return text
}

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// Run feeds the facts of an event file to a fresh slots.Ledger and compares every
// decision. It returns nil where all are the same. An error means that the file
// cannot be read, is cut short or was changed without changing a decision.
func Run(r io.Reader, newPolicy func(c slots.Config) (slots.Policy, error)) (*Difference, error) {
	return With(r, newPolicy, Options{})
}

// Options are what a replay tells while it goes on. The zero value tells
// nothing.
type Options struct {
	// Begin is called once, with the fresh slots.Ledger, before the first event. The
	// slots.Ledger may be looked at until the replay returns, and afterwards as it
	// stood at the end.
	Begin func(l *slots.Ledger)

	// Explain is told why each decision is made (Ledger.Explain), while it is
	// made: before Event has it.
	Explain func(e *slots.Explanation)

	// Event is called with every event of the file: a fact or an Assign before
	// the slots.Ledger has it, a decision once it was found to be the same. e and its
	// texts are valid during the call. False ends the replay there, before e is
	// told, and without a difference.
	Event func(e *trace.Event, texts []string) bool
}

// With is Run, and tells what o asks for.
func With(r io.Reader, newPolicy func(c slots.Config) (slots.Policy, error), o Options) (*Difference, error) {
	d, err := trace.NewDecoder(r)
	if err != nil {
		return nil, err
	}
	c, err := slots.ConfigOf(d.Header())
	if err != nil {
		return nil, err
	}
	p, err := newPolicy(c)
	if err != nil {
		return nil, err
	}
	l, err := slots.New(c, p)
	if err != nil {
		return nil, err
	}
	rp := &replay{decoder: d, ledger: l, event: o.Event}
	s := trace.NewStream()
	s.Attach(rp)
	l.SetStream(s)
	l.Explain(o.Explain)
	if o.Begin != nil {
		o.Begin(l)
	}
	diff, err := rp.run()
	if err != nil {
		err = fmt.Errorf("replay: %w", err)
	}
	return diff, err
}

// replay is also the sink of the fresh Ledger's stream: made holds what it
// decided and the file has not confirmed yet.
type replay struct {
	decoder   *trace.Decoder
	ledger    *slots.Ledger
	event     func(e *trace.Event, texts []string) bool
	made      []trace.Event
	at        int // first unconfirmed of made
	decisions int64
	factsLine int
}

// Record implements trace.Sink.
func (r *replay) Record(_ *trace.Stream, e *trace.Event) error {
	if e.Op.Class() == trace.Decision || e.Op.Class() == trace.Ask {
		if r.at == len(r.made) {
			r.made, r.at = r.made[:0], 0
		}
		r.made = append(r.made, *e)
	}
	return nil
}

func (r *replay) run() (*Difference, error) {
	for {
		e, err := r.decoder.Next()
		if err != nil {
			return r.end(err)
		}
		class := e.Op.Class()
		if class == trace.Decision {
			if diff := r.compare(&e); diff != nil {
				return diff, nil
			}
		} else if class != trace.Detail && r.at < len(r.made) {
			return r.differ("", r.text(&r.made[r.at])), nil
		}
		if r.event != nil && !r.event(&e, r.decoder.Texts(e.Ref)) {
			return nil, nil
		}
		if class == trace.Fact || class == trace.Ask {
			if diff, err := r.tell(&e); diff != nil || err != nil {
				return diff, err
			}
		}
	}
}

// tell gives the slots.Ledger a recorded fact or Assign, and compares what an Assign
// asks for.
func (r *replay) tell(e *trace.Event) (*Difference, error) {
	if e.At < r.ledger.Now() {
		return r.differ(r.text(e), "a time that never goes back from "+r.ledger.Now().String()), nil
	}
	if err := r.apply(e); err != nil {
		return nil, &trace.SyntaxError{Line: r.decoder.Line(), Err: err}
	}
	if e.Op.Class() == trace.Ask {
		return r.compareAsk(e), nil
	}
	return nil, nil
}

// end is what a whole replay says: the file's own end, then facts that differ
// without a decision that does. In a file that is cut short the last decisions
// may be missing; that is no difference.
func (r *replay) end(err error) (*Difference, error) {
	if errors.Is(err, trace.ErrCut) {
		return nil, err
	}
	if r.at < len(r.made) {
		return r.differ("", r.text(&r.made[r.at])), nil
	}
	if r.factsLine > 0 {
		return nil, fmt.Errorf("the facts before line %d are not the run's, though no decision differs", r.factsLine)
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return nil, nil
}

// compare takes a recorded decision and the next one that was made.
func (r *replay) compare(e *trace.Event) *Difference {
	if r.at == len(r.made) {
		return r.differ(r.text(e), "")
	}
	got := r.made[r.at]
	r.at++
	if !same(got, *e) {
		return r.differ(r.text(e), r.text(&got))
	}
	r.decisions++
	return nil
}

// compareAsk takes a recorded Assign and the one just made: the wake-up it asked
// for is a decision; the digest tells whether it rested on the same facts.
func (r *replay) compareAsk(e *trace.Event) *Difference {
	if r.at == len(r.made) { // nothing was left to ask for
		return r.differ(r.text(e), "")
	}
	got := r.made[r.at]
	r.at++
	if got.D != e.D && r.factsLine == 0 {
		r.factsLine = r.decoder.Line()
	}
	if got.C != e.C {
		return r.differ(r.text(e), r.text(&got))
	}
	return nil
}

func same(a, b trace.Event) bool {
	a.Seq, b.Seq = 0, 0
	return a == b
}

func (r *replay) text(e *trace.Event) string {
	c := *e
	c.Seq = 0
	return string(trace.AppendJSON(nil, &c, nil))
}

func (r *replay) differ(recorded, replayed string) *Difference {
	return &Difference{Line: r.decoder.Line(), Decision: r.decisions, Recorded: recorded, Replayed: replayed, FactsLine: r.factsLine}
}

// apply tells the slots.Ledger a recorded fact, or asks it.
func (r *replay) apply(e *trace.Event) error {
	l, j := r.ledger, slots.JobID(e.Job)
	if e.Op != trace.OpSubmit && e.Op != trace.OpAssign && e.Op != trace.OpLostTracker && (j < 0 || int(j) >= l.Jobs()) {
		return fmt.Errorf("%v of job %d, which was not submitted", e.Op, e.Job)
	}
	a := slots.AttemptID{Job: j, Kind: e.Kind, Task: slots.TaskID(e.Task), N: e.N}
	switch e.Op {
	case trace.OpSubmit:
		return r.submit(e)
	case trace.OpReady:
		return r.ready(e)
	case trace.OpDrop:
		if t := l.View().Job(j); !t.Ended() && (e.Task < 0 || e.Task >= t.Total(e.Kind) && (t.Sealed() || e.Kind == slots.Reduce)) {
			return fmt.Errorf("job %d has no %v %d to drop", e.Job, e.Kind, e.Task)
		}
		if e.Task >= maxDrop {
			return fmt.Errorf("drop of %v %d", e.Kind, e.Task)
		}
		l.Drop(e.At, j, e.Kind, a.Task)
	case trace.OpPhase:
		l.Phase(e.At, a, e.Phase)
	case trace.OpProgress:
		l.Progress(e.At, a, slots.PPM(e.A))
	case trace.OpFinish:
		l.Finish(e.At, a, outcomeOf(e))
	case trace.OpLostOutput:
		l.LostOutput(e.At, j, a.Task)
	case trace.OpLostTracker:
		if e.A < 0 || e.A >= int64(l.View().Trackers()) {
			return fmt.Errorf("tracker %d of %d is lost", e.A, l.View().Trackers())
		}
		l.LostTracker(e.At, slots.TrackerID(e.A))
	case trace.OpAbort:
		l.Abort(e.At, j)
	case trace.OpDemand:
		if min(e.A, e.B, e.C) < 0 || max(e.A, e.B, e.C) > maxDemand {
			return fmt.Errorf("job %d needs %d, %d and %d", e.Job, e.A, e.B, e.C)
		}
		l.Demand(e.At, j, e.Phase, demand.Vector{CPU: slots.PPM(e.A), IO: slots.PPM(e.B), Memory: slots.PPM(e.C)})
	case trace.OpAssign:
		if e.A < -1 || e.A >= int64(l.View().Trackers()) {
			return fmt.Errorf("assign to tracker %d of %d", e.A, l.View().Trackers())
		}
		if slots.TrackerID(e.A) == slots.AllTrackers {
			l.AssignAll(e.At)
		} else {
			l.Assign(e.At, slots.TrackerID(e.A))
		}
	}
	return nil
}

func (r *replay) submit(e *trace.Event) error {
	texts := r.decoder.Texts(e.Ref)
	s := slots.JobSpec{
		Name: texts[0], Pool: texts[1], User: texts[2], Maps: int32(e.A), Reduces: int32(e.B), ReadyMaps: int32(e.C),
		Priority: slots.Priority(e.D), Weight: slots.PPM(e.E), MapsSealed: e.Has(trace.Sealed),
		Deadline: time.Duration(e.F), Unplaced: e.Has(trace.Unplaced), Single: e.Has(trace.Single),
	}
	if min(e.A, e.B, e.C, e.F) < 0 || max(e.A, e.B) > maxTasks || e.C > e.A || e.E < 1 {
		return fmt.Errorf("submit of %d maps, %d ready, %d reduces, weight %d, deadline %d", e.A, e.C, e.B, e.E, e.F)
	}
	if id := r.ledger.Submit(e.At, s); int32(id) != e.Job {
		return fmt.Errorf("job %d is submitted out of turn, as job %d", e.Job, id)
	}
	return nil
}

// maxDemand bounds what a broken file can have a task need: what a workload file
// can.
const maxDemand = 1_000_000 * int64(slots.One)

// maxTasks bounds what a broken file can make a replay count.
const maxTasks = 1 << 30

// maxDrop bounds the task that a broken file can drop, which is kept.
const maxDrop = 1 << 24

func (r *replay) ready(e *trace.Event) error {
	j := r.ledger.View().Job(slots.JobID(e.Job))
	if e.A < 0 || e.A > e.B || e.B > maxTasks || j.Sealed() && !j.Ended() && int32(e.B) > j.Total(slots.Map) {
		return fmt.Errorf("job %d: %d of %d maps are ready", e.Job, e.A, e.B)
	}
	r.ledger.Ready(e.At, j.ID(), slots.Readiness{Maps: int32(e.A), Total: int32(e.B), Sealed: e.Has(trace.Sealed)})
	return nil
}

func outcomeOf(e *trace.Event) slots.Outcome {
	return slots.Outcome{
		OK: e.Has(trace.OK), Killed: e.Has(trace.Killed), InBytes: e.A, OutBytes: e.B,
		CPU: time.Duration(e.C), CopyBytes: e.D, CopyTime: time.Duration(e.E),
	}
}
