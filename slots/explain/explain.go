// Package explain answers questions about a recorded run in sentences. Sentences says for
// each decision by which rule it was made, with which numbers, and which candidates were
// passed over. It also says which attempt held a slot at a moment, what happened to a
// task, and why a slot stayed idle. Why and Reasons return reasons as values, for pictures.
// Compare says how two runs differ. Releases plots OMO's estimate of the release rate.
//
// An event file has only facts and decisions, no reasons. This package replays the facts
// (slots/explain): a fresh Ledger makes each decision again, and the policy gives its
// reasons. If a replayed decision differs from the recorded one, the answer is an error.
//
// Memory: the Ledger and a few sentences. The file is read once, from front to back.
// Compare reads its files several times and keeps more; its comment has the numbers.
package explain

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
)

// Options are a question. If WhyIdle is -1 and nothing else is set, the answer is every
// decision, in order. In the zero value WhyIdle is slot 0, so callers of Sentences set it.
type Options struct {
	// If HasAt is set, the answer is the state at time At and the last decision before
	// that time. At counts from the start of the run. With Task or WhyIdle the answer
	// ends at At.
	At    time.Duration
	HasAt bool

	// Task is a task such as J01/m/7: job, m or r, number of the task. The answer is
	// what happened to the task. The job is a name, or a number from 0 in the order of
	// submission. "": no task.
	Task string

	// WhyIdle is the id of a slot. The answer is why nothing ran on the slot, at time At
	// or in the longest stretch in which the slot was idle. -1: no slot.
	WhyIdle int

	// If HasSlot is set, the answer is every decision about slot Slot. With HasAt, the
	// answer is what the slot held at time At and the decisions that led there, or why
	// the slot was idle.
	Slot    int
	HasSlot bool

	// Job restricts the answer to decisions about one job. It is a name or a number, as in
	// Task. Lent restricts the answer to decisions that lent a slot, one line each. Job,
	// Lent and Slot may be set together: each restricts the answer further. With HasAt the
	// answer ends at At.
	Job  string
	Lent bool

	Open      bool   // the run goes on: a file without its last line is not an error
	FirstLent bool   // the answer is the first decision that lent a slot
	Limit     int    // the largest number of decisions; 0: all
	Width     int    // of the lines, in columns; 0: 80
	Name      string // of the file, for errors; "": events

	// Policy makes the policy of a recorded configuration..
	Policy NewPolicy
}

// Sentences reads an event file from r and writes the answer to w. It fails if the file is
// cut short, was changed or is not an event file. It also fails if the run has no such task,
// slot or job. errs.IsUsage is true for these errors, and false for an error of w. The list
// of all decisions is written while the file is read, so it covers a file that is cut short
// up to its end. Other answers are written only if there is no error.
func Sentences(w io.Writer, r io.Reader, o Options) error {
	t := newExplainer(w, o)
	if err := t.choose(); err != nil {
		return err
	}
	return t.run(r)
}

// newExplainer returns an explainer without a mode. The caller sets the mode before run.
func newExplainer(w io.Writer, o Options) *explainer {
	o.Name = cmp.Or(o.Name, "events")
	return &explainer{w: bufio.NewWriter(w), o: o, worded: map[slots.Rule]bool{}, reclaims: map[slots.SlotID]slots.Why{}, asked: slots.AllTrackers, newest: slots.NoJob}
}

// run replays the events of r and lets the mode complete its answer. It writes what the mode
// has printed, also after an error of the replay. A cut file is not an error if Options.Open is set.
func (t *explainer) run(r io.Reader) error {
	diff, err := Replay(r, t.o.Policy, ReplayOptions{Begin: t.begin, Explain: t.explained, Ahead: t.ahead, Wants: t.wants, Event: t.event})
	switch {
	// The writer or the mode has failed. The buffered text is not flushed then.
	case t.err != nil:
		return t.err
	case err != nil && !(t.o.Open && errors.Is(err, trace.ErrCut)):
		err = errs.Inputf(t.o.Name, "%v", err)
	case diff != nil:
		err = errs.Inputf(t.o.Name, "line %d: this program does not decide as the run did: recorded %s, replayed %s", diff.Line, diff.Recorded, diff.Replayed)
	default:
		t.endAssign()
		t.announce()
		err = t.mode.end()
	}
	if flushed := t.w.Flush(); flushed != nil && t.err == nil {
		return fmt.Errorf("write sentences: %w", flushed)
	}
	return err
}

// mode is one kind of answer. accepts reports whether the answer uses a paragraph about a.
// The explainer words a paragraph, and the policy gives its reasons, only if accepts returns
// true, because both take time. Then add gets the paragraph. end is called once, at the end of the file or at the time
// in the question, and completes the answer. It is not called after an error of the replay.
//
// The order of the calls around an Assign is:
//
//  1. event gets the Assign.
//  2. The Ledger decides, and the policy gives its reasons (explainer.explained).
//  3. For each decision, add gets a paragraph and event gets the decision.
//  4. passes is called before the first event at a later time.
type mode interface {
	begin() error // the Ledger is ready, and has no fact yet
	accepts(a about) bool
	add(p paragraph)
	event(e *trace.Event, texts []string) // if e is a fact, the Ledger does not have it yet
	passes()                              // all events up to explainer.now are known, and time passes
	end() error

	plain() bool        // the answer has only the first sentence of each start
	usesDeclined() bool // the answer may use what the present visit declines
}

// silent has the methods of a mode that has nothing to do in them.
type silent struct{}

func (silent) begin() error                 { return nil }
func (silent) event(*trace.Event, []string) {}
func (silent) passes()                      {}
func (silent) end() error                   { return nil }
func (silent) plain() bool                  { return false }
func (silent) usesDeclined() bool           { return false }

// about says what a paragraph is about. A mode accepts or rejects a paragraph by its about
// alone, before the paragraph has a text.
type about struct {
	topic   topic
	job     slots.JobID // or slots.NoJob
	task    bool        // the paragraph is about the task of attempt
	attempt slots.AttemptID
	slot    slots.SlotID // of a start, a kill or a change
	lent    bool         // the start lends the slot
	seq     uint64       // number of the event of a start or a kill
	rule    slots.Rule   // of a start, a kill or a change
}

// topic is the kind of a paragraph. Only start and kill count towards Options.Limit.
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

// paragraph is a few sentences about one thing. Its text ends with a newline.
type paragraph struct {
	about
	text string
	why  slots.Why // of a start or a kill
}

// explainer replays one run and words it. It serves one goroutine. It reads the Ledger
// through v and never changes the Ledger.
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

	jobs       []jobInfo       // by id
	active     []slots.JobID   // jobs that have not ended, by id
	newest     slots.JobID     // a submitted job that has no paragraph yet; or NoJob
	now        time.Duration   // of the latest event
	lost       int             // number of lost trackers
	heartbeats bool            // the driver asks for one tracker at a time
	asked      slots.TrackerID // the tracker of the latest Assign; or AllTrackers

	terse  bool                // the words of a rule are written only once
	worded map[slots.Rule]bool // rules whose words were written; never iterated

	// Answers of the policy during an Assign. grants and reclaims wait for the start and
	// kill events that confirm them; endAssign empties both. The end of a visit moves
	// refused to visits.
	starts   []about                    // the recorded starts of the Assign, in order
	kills    bool                       // the mode accepts one of its kills
	grants   []paragraph                // one for each grant that was applied, in order
	reclaims map[slots.SlotID]slots.Why // by slot whose attempt the policy had killed: why; never iterated
	refused  []slots.Explanation        // grants that the Ledger did not apply; only Grant and Refused are set

	visits      []visit         // the latest visit of each tracker, by tracker id
	last        slots.TrackerID // the tracker that was visited last
	asks        int             // Assigns so far
	decidedAsks int             // Assigns whose decisions are all known: asks, or one less
}

// jobInfo holds the facts about a job that a View does not show.
type jobInfo struct {
	name, pool, user string
	gate             bool // open
	sealed           bool // the number of its maps is final
}

// visit lists what the policy declined on a tracker, and the grants that the Ledger refused
// there. The next visit of the tracker overwrites the slices.
type visit struct {
	ask      int // number of the Assign, from 1; 0: the tracker was never visited
	declined []slots.Declined
	refused  []slots.Explanation // as explainer.refused
}

// choose sets the mode for the question. If several options are set, the first case that
// fits decides. It fails if the time or the task of the question is malformed.
func (t *explainer) choose() error {
	// A task or an idle slot is the whole question. The other options restrict one another,
	// so a slot at a time gets a slotMoment only if nothing else restricts it.
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

// begin takes the fresh Ledger of the replay. The Ledger has the configuration that the
// header of the file records.
func (t *explainer) begin(l *slots.Ledger) {
	t.l = l
	t.v = l.View()
	t.c = l.Config()
	t.traits = l.Traits()
	t.visits = make([]visit, t.v.Trackers())
	t.err = t.mode.begin()
}

// print writes text in lines of Options.Width. It keeps an error of the writer in t.err, so that its many callers
// need not check it. The error ends the replay at the next event.
func (t *explainer) print(text string) {
	if _, err := t.w.WriteString(errs.Fit(text, t.o.Width)); err != nil && t.err == nil {
		t.err = fmt.Errorf("write sentences: %w", err)
	}
}

// ahead takes the recorded decisions of an Assign before the Ledger makes them again. next is the
// time of the first start or kill behind them, if it is known.
func (t *explainer) ahead(decisions []trace.Event, next time.Duration) {
	if m, ok := t.mode.(*moment); ok {
		m.foresee(decisions, next)
	}
	t.starts, t.kills = t.starts[:0], false
	for i := range decisions {
		e := &decisions[i]
		switch a := aboutOf(e); e.Op {
		case trace.OpStart:
			t.starts = append(t.starts, a)
		case trace.OpKill:
			t.kills = t.kills || t.mode.accepts(a)
		}
	}
}

// wants reports whether the mode uses the reasons of a start of the Assign, or of what the
// policy kills or declines until then.
func (t *explainer) wants(start int) bool {
	return !t.mode.plain() && (t.mode.usesDeclined() || t.kills || start < len(t.starts) && t.mode.accepts(t.starts[start]))
}

// explained takes an answer of the policy while the Ledger decides. e belongs to the Ledger
// and is valid during the call only, so explained copies its slices.
func (t *explainer) explained(e *slots.Explanation) {
	switch {
	case e.EndOfVisit(): // what was declined and refused explains idle slots of the tracker
		v := &t.visits[e.Tracker]
		v.ask = t.asks
		v.declined = append(v.declined[:0], e.Declined...)
		v.refused = append(v.refused[:0], t.refused...)
		t.refused = t.refused[:0]
		t.last = e.Tracker
	// killed words a reclaim later, because the kill event comes at the end of the Assign.
	case e.Reclaimed != slots.NoSlot:
		if _, twice := t.reclaims[e.Reclaimed]; !twice {
			t.reclaims[e.Reclaimed] = copyOf(e.Why)
		}
	case e.Refused != slots.Granted:
		t.refused = append(t.refused, slots.Explanation{Grant: e.Grant, Refused: e.Refused})
	// A grant that the mode rejects still gets an entry, without a text. So the n-th start
	// event of the Assign belongs to the n-th entry.
	default: // the grant is worded now, because the numbers in the Ledger change with the next grant
		p := paragraph{about: about{topic: other}}
		if n := len(t.grants); n < len(t.starts) { // else the replay fails
			p.about = t.starts[n]
			p.rule = e.Grant.Rule
		}
		if t.mode.accepts(p.about) {
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
		// A slotMoment also shows the next decision about the slot, so its replay goes on.
		if m, goesOn := t.mode.(*slotMoment); !goesOn || !m.passed() {
			return false
		}
	}
	if class := e.Op.Class(); class == trace.Fact || class == trace.Ask { // the decisions of the last Assign are over
		t.endAssign()
	}
	// The Ledger has the job of an earlier OpSubmit by now.
	t.announce()
	if e.At > t.now {
		t.mode.passes()
	}
	t.now = e.At
	if t.known(e) {
		t.word(e, texts)
	}
	return t.err == nil
}

// known reports whether the job, slot or tracker of a fact exists. If not, the explainer
// skips the event, and the replay then fails with an error about the fact. The check keeps
// ids of a damaged file from indexing beyond a list.
func (t *explainer) known(e *trace.Event) bool {
	if e.Op.Class() != trace.Fact {
		return true
	}
	switch e.Op {
	case trace.OpSubmit: // ids follow each other without gaps
		return int(e.Job) == len(t.jobs)
	case trace.OpLostTracker:
		return e.A >= 0 && e.A < int64(t.v.Trackers())
	}
	return e.Job >= 0 && int(e.Job) < len(t.jobs) && int(e.Slot) < len(t.c.Slots)
}

// endAssign ends the latest Assign, once all its decisions have been read. event calls it at
// the next fact or Assign, and run at the end of the file. A second call does nothing.
func (t *explainer) endAssign() {
	if t.decidedAsks == t.asks {
		return
	}
	t.decidedAsks = t.asks
	t.grants = t.grants[:0]
	clear(t.reclaims)
}

// offer adds a paragraph about a to the answer if the mode accepts it. It calls text only
// then.
func (t *explainer) offer(a about, text func() string) {
	if t.mode.accepts(a) {
		t.mode.add(paragraph{about: a, text: text()})
	}
}

// everything is the mode that answers with all decisions and the facts between them, or with
// the first decision that lent a slot (Options.FirstLent).
type everything struct {
	silent
	t       *explainer
	written int // decisions so far
}

// begin writes the opening, unless the answer is the first loan alone.
func (m *everything) begin() error {
	if !m.t.o.FirstLent {
		m.t.terse = true
		m.t.print(m.t.opening())
	}
	return nil
}

// accepts accepts all paragraphs, or only the first start on a lent slot.
func (m *everything) accepts(a about) bool {
	return !m.t.o.FirstLent || a.lent && a.topic == start && m.written == 0
}

// add writes a paragraph at once. Decisions about attempts count towards the limit.
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
		m.t.print(fmt.Sprintf("(The list ends here, after %s.)\n", errs.Counted(m.written, "decision")))
	case !m.t.o.FirstLent && m.written == 0:
		m.t.print("Nothing was decided.\n")
	}
	return nil
}
