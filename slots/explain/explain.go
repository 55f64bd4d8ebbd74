// Package explain tells a recorded run in plain sentences: what was decided, by
// which rule of which policy, which numbers the decision rested on and which
// candidates it beat; who held which slot at a moment; what became of a task; why
// a slot stayed idle.
//
// Nothing of this is recorded. An event file holds the facts and the decisions;
// the facts are replayed through a fresh Ledger (replay.With), which makes
// each decision once more and says why. A file whose decisions this program
// would not make is told so rather than explained.
//
// Memory: what the Ledger needs, and a few sentences; the file is read once,
// front to back.
//
// Neighbours: slots has the Ledger, its replay and the words of an Explanation;
// slots/policy makes the policy that the file names, and its policies say what
// they rest on; cmd/mrlocal prints what comes out.
package explain

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"mrlocal/errs"
	"mrlocal/slots"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/replay"
	"mrlocal/trace"
)

// Options say what to tell. With WhyIdle -1 and nothing else set it is every
// decision, in order.
type Options struct {
	// HasAt: the state at time At (since the run's start) and the last decision
	// before it. With Task or WhyIdle: the story ends there.
	At    time.Duration
	HasAt bool

	// Task, as J01/m/7 (job, m or r, number of the task), tells that task's
	// story. The job is named, or numbered from 0 in the order of submission.
	Task string

	// WhyIdle is a slot: why nothing ran on it, at At, or in its longest idle
	// stretch. -1: not asked.
	WhyIdle int

	FirstLent bool   // only the first decision that lent a slot
	Limit     int    // at most so many decisions; 0: all
	Name      string // names the file in errors; "": events
}

// Sentences reads an event file and writes what o asks for. An error for which
// errs.IsUsage holds is wrong input: a file that is cut short, changed or none of
// ours, a task or a slot that the run does not have. Decisions are written as
// they are read, so that a file cut short is explained up to there; all else is
// written at the end, or not at all.
func Sentences(w io.Writer, r io.Reader, o Options) error {
	if o.Name == "" {
		o.Name = "events"
	}
	t := &teller{w: bufio.NewWriter(w), o: o, worded: map[slots.Rule]bool{}, asked: slots.AllTrackers}
	if err := t.choose(); err != nil {
		return err
	}
	newPolicy := func(c slots.Config) (slots.Policy, error) {
		p, err := registry.ForReplay(c)
		if err == nil {
			t.traits = p.Traits()
		}
		return p, err
	}
	diff, err := replay.With(r, newPolicy, replay.Options{Begin: t.begin, Explain: t.explained, Event: t.event})
	switch {
	case t.err != nil:
		return t.err
	case err != nil:
		err = t.broken(err)
	case diff != nil:
		err = errs.Inputf(o.Name, "line %d: this program decides otherwise than the run did: recorded %s, replayed %s",
			diff.Line, orNothing(diff.Recorded), orNothing(diff.Replayed))
	default:
		t.settle()
		t.welcome()
		err = t.mode.end()
	}
	if flushed := t.w.Flush(); flushed != nil && t.err == nil {
		return fmt.Errorf("write sentences: %w", flushed)
	}
	return err
}

// broken words an error of the file itself: no event file, one that was cut short
// or changed, one of a policy that is not there any more.
func (t *teller) broken(err error) error {
	return errs.Inputf(t.o.Name, "%s", strings.TrimPrefix(err.Error(), "replay: "))
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// mode is what is done with a run as it is replayed.
type mode interface {
	begin() error                     // the Ledger is there
	meet(id slots.JobID, name string) // a job is being submitted
	follow(e *trace.Event)            // an event, a fact before the Ledger has it
	wants(a about) bool               // asked before a paragraph is worded
	take(p paragraph)                 // a paragraph that it wants
	look()                            // all that was decided at an Assign is known
	end() error                       // the file, or the time asked for, is at its end
}

// quiet is a mode's part that does nothing.
type quiet struct{}

func (quiet) begin() error             { return nil }
func (quiet) meet(slots.JobID, string) {}
func (quiet) follow(*trace.Event)      {}
func (quiet) look()                    {}

// about is what a paragraph is about.
type about struct {
	what    what
	job     slots.JobID // slots.NoJob: none
	task    bool        // attempt says which
	attempt slots.AttemptID
	slot    slots.SlotID // of a start
	lent    bool
}

// what is how much of a story a paragraph is.
type what uint8

const (
	start what = iota // a task was started
	kill              // an attempt was killed
	other             // another decision, or what follows from a fact: an admission, a job's end
	gate              // a job's reduces may start, or not any more
	fact              // something that others told the Ledger
)

// decision reports whether somebody decided it.
func (w what) decision() bool { return w == start || w == kill }

// paragraph is a few sentences about one thing.
type paragraph struct {
	about
	text string
}

// teller replays a run and words it.
type teller struct {
	w    *bufio.Writer
	o    Options
	mode mode
	err  error // ends the replay
	stop bool  // so does this, without harm

	l *slots.Ledger
	v *slots.View
	c slots.Config

	traits slots.Traits // of the policy

	jobs       []jobInfo
	active     []slots.JobID // not ended, by id
	newest     slots.JobID   // submitted, and not told yet; or NoJob
	now        time.Duration
	heartbeats bool            // the driver asks for one tracker at a time
	asked      slots.TrackerID // for which it asked the last time

	terse  bool                // rules are put in words once
	worded map[slots.Rule]bool // looked up only

	grants   []paragraph     // worded when they were made, until the file confirms them
	reclaims []reclaim       // the same of kills by the policy
	refused  []refusal       // on the visit that goes on
	visits   []visit         // the last one of each tracker
	last     slots.TrackerID // visited last
	asks     int             // Assigns so far
	looked   int             // of these, settled
}

// jobInfo is what a View does not say of a job.
type jobInfo struct {
	name, pool, user string
	gate             bool // open
	sealed           bool // the number of its maps is final
}

// reclaim is an attempt that the policy had killed, and why.
type reclaim struct {
	slot slots.SlotID
	why  slots.Why
}

// refusal is a grant that the Ledger did not apply.
type refusal struct {
	grant  slots.Grant
	reason slots.Refusal
}

// visit is what a policy left undone on a tracker.
type visit struct {
	ask      int // during which Assign, from 1; 0: never
	at       time.Duration
	declined []slots.Declined
	refused  []refusal
}

// choose picks the mode.
func (t *teller) choose() error {
	t.newest = slots.NoJob
	switch {
	case t.o.HasAt && t.o.At < 0:
		return errs.Optionf("time "+seconds(t.o.At), "before the run's start")
	case t.o.Task != "":
		id, err := parseTask(t.o.Task)
		if err != nil {
			return err
		}
		t.mode = &story{t: t, id: id, job: slots.NoJob, doneOn: -1}
	case t.o.WhyIdle >= 0:
		t.mode = &idle{t: t, slot: slots.SlotID(t.o.WhyIdle)}
	case t.o.HasAt && !t.o.FirstLent:
		t.mode = &moment{t: t}
	default:
		t.mode = &everything{t: t}
	}
	return nil
}

func (t *teller) begin(l *slots.Ledger) {
	t.l, t.v, t.c = l, l.View(), l.Config()
	t.visits = make([]visit, t.v.Trackers())
	t.err = t.mode.begin()
}

// print writes text; a writer that fails ends the replay.
func (t *teller) print(text string) {
	if _, err := t.w.WriteString(text); err != nil && t.err == nil {
		t.err = fmt.Errorf("write sentences: %w", err)
	}
}

// explained takes what the Ledger says while it decides.
func (t *teller) explained(e *slots.Explanation) {
	switch {
	case e.EndOfVisit():
		v := &t.visits[e.Tracker]
		v.ask, v.at = t.asks, e.Now
		v.declined = append(v.declined[:0], e.Declined...)
		v.refused = append(v.refused[:0], t.refused...)
		t.refused = t.refused[:0]
		t.last = e.Tracker
	case e.Reclaimed != slots.NoSlot:
		t.reclaims = append(t.reclaims, reclaim{e.Reclaimed, e.Why})
	case e.Refused != slots.Granted:
		t.refused = append(t.refused, refusal{e.Grant, e.Refused})
	default:
		a := about{what: start, job: e.Grant.Job, task: true, attempt: e.Start.Attempt, slot: e.Start.Slot, lent: e.Start.Lent}
		p := paragraph{about: a}
		if t.mode.wants(a) {
			p.text = t.granted(e)
		}
		t.grants = append(t.grants, p)
	}
}

// event takes an event of the file: a fact before the Ledger has it, a decision
// after.
func (t *teller) event(e *trace.Event, texts []string) bool {
	if t.err != nil || t.stop || t.o.HasAt && e.At > t.o.At {
		return false
	}
	if class := e.Op.Class(); class == trace.Fact || class == trace.Ask {
		t.settle()
	}
	t.now = e.At
	t.welcome()
	if t.known(e) {
		t.word(e, texts)
	}
	return t.err == nil
}

// known reports whether what a fact is about exists. Where it does not, the
// Ledger's turn to refuse it comes next.
func (t *teller) known(e *trace.Event) bool {
	if e.Op.Class() != trace.Fact {
		return true
	}
	switch e.Op {
	case trace.OpSubmit:
		return int(e.Job) == len(t.jobs)
	case trace.OpLostTracker:
		return e.A >= 0 && e.A < int64(t.v.Trackers())
	}
	return e.Job >= 0 && int(e.Job) < len(t.jobs) && int(e.Slot) < len(t.c.Slots)
}

// settle is called when all that was decided at an Assign has been read.
func (t *teller) settle() {
	if t.looked == t.asks {
		return
	}
	t.looked = t.asks
	t.grants, t.reclaims = t.grants[:0], t.reclaims[:0]
	t.mode.look()
}

// tell gives the mode a paragraph, if it wants one.
func (t *teller) tell(a about, text func() string) {
	if t.mode.wants(a) {
		t.mode.take(paragraph{a, text()})
	}
}

// everything tells all decisions, and the facts between them; or the first lent
// slot alone.
type everything struct {
	quiet
	t    *teller
	told int
}

func (m *everything) begin() error {
	if !m.t.o.FirstLent {
		m.t.terse = true
		m.t.print(m.t.opening())
	}
	return nil
}

func (m *everything) wants(a about) bool {
	if m.t.o.FirstLent {
		return a.lent && a.what == start && m.told == 0
	}
	return true
}

func (m *everything) take(p paragraph) {
	m.t.print(p.text)
	if !p.what.decision() {
		return
	}
	m.told++
	m.t.stop = m.t.o.FirstLent || m.told == m.t.o.Limit
}

func (m *everything) end() error {
	switch {
	case m.t.o.FirstLent && m.told == 0:
		m.t.print("No slot was lent: every task ran on a slot of its own kind.\n")
	case m.t.stop && !m.t.o.FirstLent:
		m.t.print(fmt.Sprintf("(Here it stops, after %s.)\n", counted(m.told, "decision")))
	case !m.t.o.FirstLent && m.told == 0:
		m.t.print("Nothing was decided.\n")
	}
	return nil
}
