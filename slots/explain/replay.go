package explain

import (
	"errors"
	"fmt"
	"io"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// This file repeats the decisions of a recorded run. It gives the facts of an event file
// to a fresh slots.Ledger and compares every decision with the recorded one. A replay yields
// the reasons of decisions, and it proves that a policy is deterministic.
//
// Memory: the Ledger, one event, and the decisions of one Assign.

// Difference is the first decision in which a replay differs from the recorded run.
type Difference struct {
	Line     int    // of the event file, from 1
	Decision int64  // number of decisions before this one
	Recorded string // the decision in the file, or "nothing"
	Replayed string // the decision of this Ledger, or "nothing"

	// FactsLine is the line of the first Assign that had other facts before it than
	// the recorded one: facts were dropped, swapped or changed. 0: the facts are
	// the same, so the policy or the Ledger has changed.
	FactsLine int
}

// nothing stands for a decision that only one side has made.
const nothing = "nothing"

// String returns the difference in one line, for the command. Its decision counts from 1.
func (d *Difference) String() string {
	text := fmt.Sprintf("line %d, decision %d: recorded %s, replayed %s", d.Line, d.Decision+1, d.Recorded, d.Replayed)
	if d.FactsLine > 0 {
		text += fmt.Sprintf(" (the facts before line %d are not those of the run)", d.FactsLine)
	}
	return text
}

// ReplayOptions are callbacks during a replay. The zero value has none.
type ReplayOptions struct {
	// Begin is called once, with the fresh Ledger, before the first event. The
	// caller may read the Ledger until Run returns, and its last state afterwards.
	Begin func(l *slots.Ledger)

	// Explain gets the reason of each decision (Ledger.Explain), while the Ledger
	// makes it and before Event gets the decision.
	Explain func(e *slots.Explanation)

	// Ahead gets the recorded decisions of an Assign, before the Ledger gets the Assign. Then
	// Wants says for which of its starts the reasons are wanted, as in Ledger.Explain. nil:
	// for all. The slice is valid during the call. next is the time of the first start or kill
	// behind these decisions. It is negative if none is among the mostAhead events behind them,
	// or if there is no start and no kill among the decisions.
	Ahead func(decisions []trace.Event, next time.Duration)
	Wants func(start int) bool

	// Event gets every event of the file. It gets a fact or an Assign before the Ledger
	// does, and a decision after the Ledger has made the same one. e and its texts are
	// valid during the call. If Event returns false, the replay ends before e, without a
	// difference.
	Event func(e *trace.Event, texts []string) bool
}

// NewPolicy makes the policy of a recorded configuration, as registry.ForReplay does.
type NewPolicy func(c slots.Config) (slots.Policy, error)

// Replay reads an event file from r, gives its facts to a fresh Ledger and compares each
// decision. Run returns the first difference, and nil if there is none. It fails if the file cannot be read or is cut
// short, or if newPolicy fails. It also fails if the facts were changed and no decision
// differs for that.
func Replay(r io.Reader, newPolicy NewPolicy, o ReplayOptions) (*Difference, error) {
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
	// The replay gets the decisions of the fresh Ledger as a sink of the Ledger's stream.
	s := trace.NewStream()
	rp := &replayer{decoder: d, ledger: l, stream: s, event: o.Event, ahead: o.Ahead}
	s.Attach(rp)
	l.SetStream(s)
	l.Explain(o.Explain, o.Wants)
	if o.Begin != nil {
		o.Begin(l)
	}
	return rp.run()
}

// replayer is a replayer that is going on. It is also the sink of the Ledger's stream.
type replayer struct {
	decoder   *trace.Decoder
	ledger    *slots.Ledger
	stream    *trace.Stream // of the Ledger
	event     func(e *trace.Event, texts []string) bool
	ahead     func(decisions []trace.Event, next time.Duration)
	queue     []read        // events that were read from the file
	taken     int           // of queue: the number that were replayed
	coming    []trace.Event // the decisions for ahead
	line      int           // of the event that is replayed
	decided   []trace.Event // decisions and Assigns of the Ledger, since all before were found
	at        int           // decided[at:] has not been found in the file yet
	decisions int64         // number of decisions found in the file
	factsLine int           // as Difference.FactsLine
}

// Record implements trace.Sink. It keeps decisions and Assigns of the Ledger until run finds
// them in the file, and drops facts, which come from the file anyway.
func (r *replayer) Record(_ *trace.Stream, e *trace.Event) error {
	if e.Op.Class() == trace.Decision || e.Op.Class() == trace.Ask {
		if r.at == len(r.decided) {
			r.decided, r.at = r.decided[:0], 0
		}
		r.decided = append(r.decided, *e)
	}
	return nil
}

// read is an event of the file, or the error in its place.
type read struct {
	event trace.Event
	line  int
	err   error
}

// mostAhead is how many events next reads to find the next start or kill.
const mostAhead = 4096

// next returns the next event of the file. If ahead is set and the event is an Assign, next
// reads the decisions behind it, up to the next fact or Assign, and passes them on.
func (r *replayer) next() (trace.Event, error) {
	if r.taken >= len(r.queue)/2 { // so that the queue does not grow with the file
		r.queue = r.queue[:copy(r.queue, r.queue[r.taken:])]
		r.taken = 0
	}
	first := *r.queued(r.taken)
	r.taken++
	r.line = first.line
	if r.ahead == nil || first.err != nil || first.event.Op.Class() != trace.Ask {
		return first.event, first.err
	}
	r.coming = r.coming[:0]
	at, attempts := r.taken, false
	for ; ; at++ {
		q := r.queued(at)
		if class := q.event.Op.Class(); q.err != nil || class != trace.Decision && class != trace.Detail {
			break
		} else if class == trace.Decision {
			r.coming = append(r.coming, q.event)
			attempts = attempts || startsOrKills(&q.event)
		}
	}
	next := time.Duration(-1)
	for end := at + mostAhead; attempts && next < 0 && at < end; at++ {
		q := r.queued(at)
		if q.err != nil {
			break
		}
		if startsOrKills(&q.event) {
			next = q.event.At
		}
	}
	r.ahead(r.coming, next)
	return first.event, nil
}

// startsOrKills reports whether e is the start or the kill of an attempt.
func startsOrKills(e *trace.Event) bool { return e.Op == trace.OpStart || e.Op == trace.OpKill }

// queued returns an event of the queue, which reads it first if it is the next one of the file.
// The result is valid until the next call.
func (r *replayer) queued(at int) *read {
	if at == len(r.queue) {
		e, err := r.decoder.Next()
		r.queue = append(r.queue, read{e, r.decoder.Line(), err})
	}
	return &r.queue[at]
}

// run reads the file to its end, or to the first difference.
func (r *replayer) run() (*Difference, error) {
	for {
		e, err := r.next()
		if err != nil {
			return r.end(err)
		}
		// In the file, decisions follow the Assign or fact that leads to them. So at the next
		// Assign or fact, all decisions of the Ledger must have been found.
		class := e.Op.Class()
		if class == trace.Decision {
			if diff := r.compare(&e); diff != nil {
				return diff, nil
			}
		} else if class != trace.Detail && r.at < len(r.decided) {
			return r.differ(nothing, r.replayed(&r.decided[r.at])), nil
		}
		if r.event != nil && !r.event(&e, r.decoder.Texts(e.Ref)) {
			return nil, nil
		}
		if class == trace.Fact || class == trace.Ask {
			if diff, err := r.give(&e); diff != nil || err != nil {
				return diff, err
			}
		}
	}
}

// give gives a recorded fact or Assign to the Ledger, and compares the wake-up that an
// Assign asks for.
func (r *replayer) give(e *trace.Event) (*Difference, error) {
	if e.At < r.ledger.Now() { // the Ledger requires that time does not go back
		return r.differ(r.recorded(e), "a time that is not before "+r.ledger.Now().String()), nil
	}
	if err := r.apply(e); err != nil {
		return nil, &trace.SyntaxError{Line: r.line, Err: err}
	}
	if e.Op.Class() == trace.Ask {
		return r.compare(e), nil
	}
	return nil, nil
}

// end returns the result at the end of the file. err is what the decoder returned, io.EOF for
// a whole file. In a file that is cut short, or cannot be read to its end, the last decisions may be
// missing, which is not a difference.
func (r *replayer) end(err error) (*Difference, error) {
	if errors.Is(err, trace.ErrCut) || r.decoder.Failed() {
		return nil, err
	}
	if r.at < len(r.decided) {
		return r.differ(nothing, r.replayed(&r.decided[r.at])), nil
	}
	if r.factsLine > 0 {
		return nil, fmt.Errorf("the facts before line %d are not those of the run, though no decision differs", r.factsLine)
	}
	// A bad line or a wrong hash is reported only if no decision differs, because a decision
	// says more about the cause.
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return nil, nil
}

// compare compares a recorded decision or Assign with the next one of the Ledger. For an Assign a
// wake-up at another time is a difference. A wrong digest of the facts before it only sets factsLine.
func (r *replayer) compare(e *trace.Event) *Difference {
	if r.at == len(r.decided) { // also if AssignAll returned at once, because nothing had changed
		return r.differ(r.recorded(e), nothing)
	}
	got, ask := r.decided[r.at], e.Op.Class() == trace.Ask
	r.at++
	if ask && got.D != e.D && r.factsLine == 0 { // the replay goes on to find a decision that differs
		r.factsLine = r.line
	}
	if ask && got.C != e.C || !ask && !r.same(*e, got) {
		return r.differ(r.recorded(e), r.replayed(&got))
	}
	if !ask {
		r.decisions++
	}
	return nil
}

// same reports whether two decisions are equal. Their sequence numbers do not count, because
// those of the file also number details, which a Ledger does not record. Rules are compared
// by name.
func (r *replayer) same(recorded, replayed trace.Event) bool {
	if trace.RuleOf(r.decoder.Texts(recorded.Ref)) != trace.RuleOf(r.stream.Texts(replayed.Ref)) {
		return false
	}
	recorded.Seq, recorded.Ref = 0, 0
	replayed.Seq, replayed.Ref = 0, 0
	return recorded == replayed
}

// recorded returns the line of an event of the file, without its number.
func (r *replayer) recorded(e *trace.Event) string { return eventLine(*e, r.decoder.Texts(e.Ref)) }

// replayed returns the line of an event of the Ledger, without its number.
func (r *replayer) replayed(e *trace.Event) string { return eventLine(*e, r.stream.Texts(e.Ref)) }

// eventLine returns an event as a eventLine of an event file, without its number.
func eventLine(e trace.Event, texts []string) string {
	e.Seq = 0
	return string(trace.AppendJSON(nil, &e, texts))
}

// differ returns the Difference at the current line of the file.
func (r *replayer) differ(recorded, replayed string) *Difference {
	return &Difference{Line: r.line, Decision: r.decisions, Recorded: recorded, Replayed: replayed, FactsLine: r.factsLine}
}

// apply calls the method of the Ledger for a recorded fact or Assign. It fails if the fact
// contradicts the file so far, or would make the Ledger panic or take too much memory. Only a
// damaged file has such facts.
func (r *replayer) apply(e *trace.Event) error {
	l, j := r.ledger, slots.JobID(e.Job)
	if e.Op != trace.OpSubmit && e.Op != trace.OpAssign && e.Op != trace.OpLostTracker && (j < 0 || int(j) >= l.Jobs()) {
		return fmt.Errorf("%v of job %d, which was not submitted", e.Op, e.Job)
	}
	// For an event without an attempt, a means nothing and is not used.
	a := slots.AttemptID{Job: j, Kind: e.Kind, Task: slots.TaskID(e.Task), N: e.N}
	switch e.Op {
	case trace.OpSubmit:
		return r.submit(e)
	case trace.OpReady:
		return r.ready(e)
	// As long as the number of maps is not final, a map above the known ones is allowed.
	case trace.OpDrop, trace.OpRestore:
		if t := l.View().Job(j); !t.Ended() && (e.Op == trace.OpRestore && e.Kind != slots.Map || e.Task < 0 || e.Task >= t.Total(e.Kind) && (t.Sealed() || e.Kind == slots.Reduce)) {
			return fmt.Errorf("job %d has no %v %d to %v", e.Job, e.Kind, e.Task, e.Op)
		}
		if e.Task >= maxDrop {
			return fmt.Errorf("%v of %v %d", e.Op, e.Kind, e.Task)
		}
		if e.Op == trace.OpRestore {
			l.Restore(e.At, j, a.Task)
		} else {
			l.Drop(e.At, j, e.Kind, a.Task)
		}
	case trace.OpPlace:
		t := l.View().Job(j)
		switch {
		case e.A < 0 || e.A >= int64(l.View().Trackers()):
			return fmt.Errorf("a map has its place on tracker %d of %d", e.A, l.View().Trackers())
		case e.Kind != slots.Map || e.Task < 0 || !t.Ended() && e.Task >= t.Total(e.Kind) || e.Task >= maxDrop:
			return fmt.Errorf("job %d has no %v %d with a place", e.Job, e.Kind, e.Task)
		}
		l.Place(e.At, j, a.Task, slots.TrackerID(e.A))
	case trace.OpPhase:
		// The Ledger ignores an attempt that does not run, here and in the cases below.
		l.Phase(e.At, a, e.Phase)
	case trace.OpProgress:
		l.Progress(e.At, slots.SlotID(e.Slot), a, slots.Progress(e.A)*slots.ProgressUnit+slots.Progress(e.B))
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
		if e.A != 0 {
			l.Fail(e.At, j)
		} else {
			l.Abort(e.At, j)
		}
	case trace.OpDemand:
		if min(e.A, e.B, e.C) < 0 || max(e.A, e.B, e.C) > maxDemand {
			return fmt.Errorf("job %d needs %d, %d and %d", e.Job, e.A, e.B, e.C)
		}
		l.Demand(e.At, j, e.Phase, slots.Vector{CPU: slots.PPM(e.A), IO: slots.PPM(e.B), Memory: slots.PPM(e.C)})
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

// submit submits a recorded job. It fails if a number is out of range, or if the Ledger gives
// the job another id than the file.
func (r *replayer) submit(e *trace.Event) error {
	// The decoder has checked that a submit has all its texts.
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

// maxDemand is the largest demand of a task, in parts per million of a tracker. It is also
// the limit in workload files.
const maxDemand = 1_000_000 * int64(slots.One)

// maxTasks is the largest number of maps or of reduces of a job.
const maxTasks = 1 << 30

// maxDrop bounds the number of a task that a file can drop, restore or place. It is smaller
// than maxTasks, because the Ledger stores all tasks up to that one.
const maxDrop = 1 << 24

// ready reports ready maps to the Ledger. It fails if the counts contradict each other or the
// counts before, as in a damaged file.
func (r *replayer) ready(e *trace.Event) error {
	j := r.ledger.View().Job(slots.JobID(e.Job))
	if e.A < 0 || e.A > e.B || e.B > maxTasks || j.Sealed() && !j.Ended() && int32(e.B) > j.Total(slots.Map) {
		return fmt.Errorf("job %d: %d of %d maps are ready", e.Job, e.A, e.B)
	}
	r.ledger.Ready(e.At, j.ID(), slots.Readiness{Maps: int32(e.A), Total: int32(e.B), Sealed: e.Has(trace.Sealed)})
	return nil
}

// outcomeOf returns the outcome that a finish event records. Ledger.Finish is the inverse.
func outcomeOf(e *trace.Event) slots.Outcome {
	return slots.Outcome{
		OK: e.Has(trace.OK), Killed: e.Has(trace.Killed), InBytes: e.A, OutBytes: e.B,
		CPU: time.Duration(e.C), CopyBytes: e.D, CopyTime: time.Duration(e.E),
	}
}
