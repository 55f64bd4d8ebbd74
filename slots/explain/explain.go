// Package explain answers questions about a recorded run in sentences. It says what was
// decided, by which rule of which policy, with which numbers, and which candidates were
// passed over. It also says which attempt held a slot at a moment, what happened to a
// task, and why a slot stayed idle. Compare says how two runs differ.
//
// An event file has only facts and decisions, no reasons. This package replays the facts
// (slots/replay): a fresh Ledger makes each decision again, and the policy says why. If
// the Ledger decides otherwise than the file, the answer is an error.
//
// Memory: the Ledger and a few sentences. The file is read once, from front to back.
//
// Neighbours: package slots has the Ledger and the type Explanation, slots/policy/registry
// makes the policy that the file names, and the policies give reasons and numbers.
// cmd/mrlocal prints the sentences.
package explain

import (
	"bufio"
	"cmp"
	"errors"
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

// Options are a question. If WhyIdle is -1 and nothing else is set, the answer is every
// decision, in order.
type Options struct {
	// HasAt: the answer is the state at time At, from the start of the run, and the
	// last decision before it. With Task or WhyIdle the answer ends at At.
	At    time.Duration
	HasAt bool

	// Task, such as J01/m/7 (job, m or r, number of the task): the answer is what
	// happened to the task. The job is a name, or a number from 0 in the order of
	// submission.
	Task string

	// WhyIdle is a slot: the answer is why nothing ran on it, at time At or in the
	// longest stretch in which it was idle. -1: not asked.
	WhyIdle int

	// Slot with HasSlot: the answer is every decision about the slot; with HasAt, what the
	// slot held at time At and the decision that led to it, or why it was idle.
	Slot    int
	HasSlot bool

	// Job, a name or a number as in Task, restricts the answer to decisions about that
	// job. Lent restricts it to decisions that lent a slot, one line each. Job, Lent and
	// Slot may be set together: each restricts the answer further. With HasAt the answer
	// ends at At.
	Job  string
	Lent bool

	Open      bool   // the run goes on: a file without its last line is no error
	FirstLent bool   // only the first decision that lent a slot
	Limit     int    // the largest number of decisions; 0: all
	Name      string // of the file, for errors; "": events

	// Policy makes the policy of a recorded configuration. nil: a policy of the registry.
	Policy func(c slots.Config) (slots.Policy, error)
}

// Sentences reads an event file from r and writes the answer to w. It fails if the file
// is cut short, was changed or is no event file, or if the run has no such task or slot.
// errs.IsUsage is true for such an error. Decisions are written as they are read, so a
// file that is cut short is explained up to its end. Other answers are written only if
// there is no error.
func Sentences(w io.Writer, r io.Reader, o Options) error {
	t := newExplainer(w, o)
	if err := t.choose(); err != nil {
		return err
	}
	return t.run(r)
}

// newExplainer returns an explainer without a mode.
func newExplainer(w io.Writer, o Options) *explainer {
	o.Name = cmp.Or(o.Name, "events")
	if o.Policy == nil {
		o.Policy = registry.ForReplay
	}
	return &explainer{w: bufio.NewWriter(w), o: o, worded: map[slots.Rule]bool{}, asked: slots.AllTrackers, newest: slots.NoJob}
}

// run replays the events of r, and gives the mode what it wants.
func (t *explainer) run(r io.Reader) error {
	diff, err := replay.Run(r, t.o.Policy, replay.Options{Begin: t.begin, Explain: t.explained, Event: t.event})
	switch {
	case t.err != nil:
		return t.err
	case err != nil && !(t.o.Open && errors.Is(err, trace.ErrCut)):
		err = errs.Inputf(t.o.Name, "%s", strings.TrimPrefix(err.Error(), "replay: "))
	case diff != nil:
		err = errs.Inputf(t.o.Name, "line %d: this program does not decide as the run did: recorded %s, replayed %s", diff.Line, diff.Recorded, diff.Replayed)
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

// mode is one kind of answer. While the run is replayed it gets the paragraphs that it
// wants. end comes at the end of the file, or at the time in the question.
type mode interface {
	// Flushed at the end, also after an error.
	wants(a about) bool // asked first, because wording a paragraph takes time
	add(p paragraph)
	end() error
}

// Optional methods of a mode. Around an Assign the order is this. First event gets the
// Assign. Then the Ledger decides, and the policy says why (explainer.explained). For each
// decision, add gets a paragraph and event the decision itself. At last decided comes
// before the next fact. An explainer finds out by a type assertion whether its mode has
// them.
type (
	beginner interface{ begin() error } // the Ledger is ready
	follower interface {
		event(e *trace.Event, texts []string) // if e is a fact, the Ledger does not have it yet
	}
	settler interface{ decided() } // all decisions of an Assign are known
)

// about says what a paragraph is about.
// A mode decides by it alone whether it wants the paragraph.
type about struct {
	topic   topic
	job     slots.JobID // or slots.NoJob
	task    bool        // the paragraph is about the task of attempt
	attempt slots.AttemptID
	slot    slots.SlotID // of a start, a kill or a change
	lent    bool         // the start lends the slot
	rule    slots.Rule   // of a start, a kill or a change
}

// topic is the kind of a paragraph.
// Only start and kill count towards Options.Limit.
type topic uint8

const (
	start  topic = iota // an attempt started
	kill                // an attempt was killed
	change              // a slot opened, closes, closed or changed its home kind
	gate                // the reduces of a job may start, or may not any more
	other               // another decision, or what follows from a fact, such as the end of a job
	fact                // a fact
)

// decision reports whether the topic is a decision about an attempt.
func (t topic) decision() bool { return t == start || t == kill }

// paragraph is a few sentences about one thing.
// It ends with a newline.
type paragraph struct {
	about
	text string
	why  slots.Why // of a start or a kill
}

// explainer replays a run and puts it into sentences.
// One goroutine uses it, and for one run. It reads the Ledger through v and never
// changes it.
type explainer struct {
	w    *bufio.Writer
	o    Options
	mode mode
	err  error // not nil: the replay ends with this error
	stop bool  // the replay ends without an error

	l      *slots.Ledger // of the replay
	v      *slots.View   // of l
	c      slots.Config
	traits slots.Traits // of the policy

	jobs []jobInfo
	// noneReady and alsoPending look at its first ones only.
	active     []slots.JobID   // jobs that have not ended, by id
	newest     slots.JobID     // a submitted job that has no paragraph yet; or NoJob
	now        time.Duration   // of the latest event
	seq        uint64          // of the latest event
	orders     uint64          // of the latest Assign
	heartbeats bool            // the driver asks for one tracker at a time
	asked      slots.TrackerID // the tracker of the latest Assign

	terse  bool                // the words of a rule are written only once
	worded map[slots.Rule]bool // rules that were written; never iterated

	// What the policy says during an Assign, until the file confirms the decisions.
	// Every list is emptied when the decisions of an Assign are known.
	grants   []paragraph
	reclaims []reclaim
	refused  []refusal // during the current visit

	// By tracker id.
	visits  []visit         // the latest visit of each tracker
	last    slots.TrackerID // the tracker that was visited last
	asks    int             // Assigns so far
	settled int             // Assigns whose decisions are all known
}

// jobInfo is what a View does not show of a job.
// Index in explainer.jobs: the id of the job.
type jobInfo struct {
	name, pool, user string
	gate             bool // open
	sealed           bool // the number of its maps is final
}

// reclaim is an attempt that the policy had killed, and why.
// The kill event that follows names the slot, by which the reason is found.
type reclaim struct {
	slot slots.SlotID
	why  slots.Why
}

// refusal is a grant that the Ledger did not apply.
// It explains an idle slot, or a job that was passed over.
type refusal struct {
	grant  slots.Grant
	reason slots.Refusal
}

// visit is what the policy did not do on a tracker, and why.
// Its slices are reused by the next visit of the tracker.
type visit struct {
	ask      int // number of the Assign, from 1; 0: the tracker was never visited
	at       time.Duration
	declined []slots.Declined
	refused  []refusal
}

// choose chooses the mode for the question.
// If several options are set, the first case that fits decides.
func (t *explainer) choose() error {
	switch {
	case t.o.HasAt && t.o.At < 0:
		return errs.Optionf("time "+seconds(t.o.At), "this is before the start of the run")
	case t.o.Task != "":
		id, err := parseTask(t.o.Task)
		if err != nil {
			return err
		}
		t.mode = &story{t: t, id: id, job: slots.NoJob, doneOn: -1}
	case t.o.WhyIdle >= 0:
		t.mode = &idle{t: t, slot: slots.SlotID(t.o.WhyIdle)}
	case t.o.HasSlot && t.o.HasAt && t.o.Job == "" && !t.o.Lent:
		t.mode = &slotMoment{idle: idle{t: t, slot: slots.SlotID(t.o.Slot)}}
	case t.o.HasSlot || t.o.Job != "" || t.o.Lent:
		t.mode = &selection{t: t, job: slots.NoJob}
	case t.o.HasAt && !t.o.FirstLent:
		t.mode = &moment{t: t}
	default:
		t.mode = &everything{t: t}
	}
	return nil
}

// begin gets the fresh Ledger of the replay.
// The configuration stands in the header of the file.
func (t *explainer) begin(l *slots.Ledger) {
	t.l, t.v, t.c, t.traits = l, l.View(), l.Config(), l.Traits()
	t.visits = make([]visit, t.v.Trackers())
	if m, ok := t.mode.(beginner); ok {
		t.err = m.begin()
	}
}

// print writes text. A writer that fails ends the replay.
// The error is kept, because callers are in the middle of a sentence.
func (t *explainer) print(text string) {
	if _, err := t.w.WriteString(text); err != nil && t.err == nil {
		t.err = fmt.Errorf("write sentences: %w", err)
	}
}

// explained gets what the policy says while the Ledger decides.
// e belongs to the Ledger and is valid during the call only, so slices are copied.
func (t *explainer) explained(e *slots.Explanation) {
	switch {
	case e.EndOfVisit(): // what was declined and refused explains idle slots of the tracker
		v := &t.visits[e.Tracker]
		v.ask, v.at = t.asks, e.Now
		v.declined = append(v.declined[:0], e.Declined...)
		v.refused = append(v.refused[:0], t.refused...)
		t.refused = t.refused[:0]
		t.last = e.Tracker
	// A reclaim is worded with its kill, which follows.
	case e.Reclaimed != slots.NoSlot:
		t.reclaims = append(t.reclaims, reclaim{e.Reclaimed, copyOf(e.Why)})
	case e.Refused != slots.Granted:
		t.refused = append(t.refused, refusal{e.Grant, e.Refused})
	// A grant that the mode does not want still takes its place in the list. So starts and
	// paragraphs stay in step.
	default: // the numbers are those of this moment, so the words are made now
		a := about{topic: start, job: e.Grant.Job, task: true, attempt: e.Start.Attempt, slot: e.Start.Slot, lent: e.Start.Lent, rule: e.Grant.Rule}
		p := paragraph{about: a}
		if t.mode.wants(a) {
			p.text, p.why = t.granted(e), copyOf(e.Why)
		}
		t.grants = append(t.grants, p)
	}
}

// event gets each event of the file: a fact before the Ledger has it, a decision after
// the Ledger has made it. It returns false to end the replay.
func (t *explainer) event(e *trace.Event, texts []string) bool {
	if t.err != nil || t.stop {
		return false
	}
	if t.o.HasAt && e.At > t.o.At {
		// The answer about a slot ends with its next decision, which comes later.
		if m, goesOn := t.mode.(*slotMoment); !goesOn || !m.reached() {
			return false
		}
	}
	if class := e.Op.Class(); class == trace.Fact || class == trace.Ask { // the decisions of the last Assign are over
		t.settle()
	}
	t.now, t.seq = e.At, e.Seq
	t.welcome()
	if t.known(e) {
		t.word(e, texts)
	}
	return t.err == nil
}

// known reports whether the job, slot or tracker of a fact exists. If not, the replay
// fails next, with an error about the fact.
// Without the check a damaged file would index beyond a list.
func (t *explainer) known(e *trace.Event) bool {
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

// settle runs once all decisions of an Assign have been read.
// It is called at the next fact or Assign, and at the end of the file.
func (t *explainer) settle() {
	if t.settled == t.asks {
		return
	}
	t.settled = t.asks
	t.grants, t.reclaims = t.grants[:0], t.reclaims[:0]
	if m, ok := t.mode.(settler); ok {
		m.decided()
	}
}

// offer gives the mode a paragraph about a, if it wants one.
// text is called only if the paragraph is wanted.
func (t *explainer) offer(a about, text func() string) {
	if t.mode.wants(a) {
		t.mode.add(paragraph{about: a, text: text()})
	}
}

// everything answers with all decisions and the facts between them, or with the first
// decision that lent a slot.
type everything struct {
	t       *explainer
	written int // decisions so far
}

// begin writes the opening. The first lent slot is shown alone.
func (m *everything) begin() error {
	if !m.t.o.FirstLent {
		m.t.terse = true
		m.t.print(m.t.opening())
	}
	return nil
}

// wants takes all paragraphs, or only the first start on a lent slot.
func (m *everything) wants(a about) bool {
	if m.t.o.FirstLent {
		return a.lent && a.topic == start && m.written == 0
	}
	return true
}

// add writes a paragraph at once. Only decisions count towards the limit.
func (m *everything) add(p paragraph) {
	m.t.print(p.text)
	if !p.topic.decision() {
		return
	}
	m.written++
	m.t.stop = m.t.o.FirstLent || m.written == m.t.o.Limit
}

// end says if the answer is empty or incomplete.
func (m *everything) end() error {
	switch {
	case m.t.o.FirstLent && m.written == 0:
		m.t.print("No slot was lent. Every task ran on a slot of its own kind.\n")
	case m.t.stop && !m.t.o.FirstLent:
		m.t.print(fmt.Sprintf("(The list ends here, after %s.)\n", counted(m.written, "decision")))
	case !m.t.o.FirstLent && m.written == 0:
		m.t.print("Nothing was decided.\n")
	}
	return nil
}
