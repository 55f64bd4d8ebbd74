package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// collector is the part of a Model that turns events into rows.
type collector struct {
	mostRows, rows int
	attempts       trace.Attempts
	spillFrom      []time.Duration  // by slot: the start of the spill that is being written; Never: none
	rules          map[string]int32 // indexes into Model.Rules
	pools          map[string]int32 // indexes into Model.Pools
	users          map[string]int32 // limits on running jobs; 0: no limit
	signs          [SignCount]bool  // those that a picture needs
	config         columns          // slots.Config in JSON
	ownSlowstart   bool             // the policy ignores the slowstart that is set
	changes        []change         // a table like those of the Model, for Curves only
}

// change is a change of the tasks that a job could run, or of the open slots.
type change struct {
	seq  uint64
	at   time.Duration
	id   int32 // the slot for changeSlot, else the job
	n    int32 // see changeKind
	what changeKind
	kind trace.Kind
}

// changeKind says what a change is about and what its n means.
type changeKind uint8

const (
	changeReady changeKind = iota // n maps of the job may start, including those that have started
	changeDone                    // n tasks of the job are done without an attempt; n < 0: they are undone
	changeGate                    // the reduces of the job may start (n = 1), or not (n = 0)
	changeAdmit                   // the job waits for admission no longer
	changeEnd                     // the job has ended
	changeSlot                    // n slots of a kind were opened; n < 0: closed
)

// MostBytes bounds what a Model keeps of an event file, as trace.Decoder counts it. An attempt takes four
// times as much as in a replay.
const MostBytes = trace.MaxBytes / 4

// New returns a model without events. The caller calls Open first, and then Add or Record.
func New() *Model {
	m := &Model{Rules: []string{""}}
	m.collector = collector{mostRows: mostRows, config: columns("{}"), rules: map[string]int32{}, pools: map[string]int32{}, users: map[string]int32{}}
	return m
}

// Load returns the model of an event file. If the file is cut short or was changed, Load returns
// both the model of the events before that place, and the error of trace.Decoder. The model is nil
// if r has no valid header of an event file. line gets the events, too; nil: there is none.
func Load(r io.Reader, line *trace.Timeline) (*Model, error) {
	d, err := trace.NewDecoder(r)
	if err != nil {
		return nil, err
	}
	d.Share(MostBytes)
	m := New()
	if err := m.Open(d.Header()); err != nil {
		return nil, err
	}
	if line != nil {
		if err := line.Open(d.Header()); err != nil {
			return nil, err
		}
	}
	for e, err := range d.All() {
		if err != nil {
			return m, err
		}
		texts := d.Texts(e.Ref)
		if m.Add(e, texts); line != nil {
			line.Add(e, texts)
		}
	}
	return m, m.Close()
}

// Open takes the header of a run, as a trace.Sink. It fails if the configuration is not valid JSON, or
// a slot is not at the index of its number. The Model keeps the slots of h.
func (m *Model) Open(h *trace.Header) error {
	m.Policy, m.Seed = h.Policy, h.Seed
	var c slots.Config
	if len(h.Config) > 0 {
		if err := json.Unmarshal(h.Config, &c); err != nil {
			return fmt.Errorf("recorded configuration: %s", errs.OfJSON(err))
		}
	}
	c.PolicyName = h.Policy
	if p, err := registry.ForReplay(c); err == nil { // a policy of the user has no entry there
		m.Sharing, m.ownSlowstart = p.Traits().Sharing, p.Traits().OwnSlowstart
	}
	// Pools of the configuration come first, even if no job uses them.
	for i := range c.Pools {
		p := &c.Pools[i]
		p.Weight = cmp.Or(p.Weight, slots.One)
		m.Pools[m.pool(p.Name)] = *p
	}
	m.config, _ = json.Marshal(c) // never fails: it has been read from JSON
	for i := range c.Users {
		m.users[c.Users[i].Name] = c.Users[i].MaxRunning
	}
	for i, s := range h.Slots {
		if s.ID != int32(i) {
			return fmt.Errorf("view: slot %d is at index %d of the header", s.ID, i)
		}
	}
	m.Slots, m.Lanes = h.Slots, slices.Clone(h.Slots)
	m.spillFrom = slices.Repeat([]time.Duration{Never}, len(h.Slots))
	// Lanes are in the order of the rows of a picture. All lists by slot are in the order of numbers.
	slices.SortStableFunc(m.Lanes, func(a, b trace.Slot) int {
		return cmp.Or(cmp.Compare(a.Tracker, b.Tracker), cmp.Compare(a.Core, b.Core), cmp.Compare(a.ID, b.ID))
	})
	return m.attempts.Open(h)
}

// Record adds an event, as a trace.Sink. It never fails.
func (m *Model) Record(s *trace.Stream, e *trace.Event) error {
	m.Add(e, s.Texts(e.Ref))
	return nil
}

// Close sets Ended, as a trace.Sink. It never fails.
func (m *Model) Close() error {
	m.Ended = true
	return nil
}

// mostTime is the latest time of a model, 73 years.
const mostTime = time.Duration(1 << 61)

// Add adds an event. texts are the texts that e.Ref refers to. Add ignores an event that names an
// unknown job or slot, as in a broken file. It keeps neither e nor texts, only the strings in texts.
func (m *Model) Add(e *trace.Event, texts []string) {
	if e.At < 0 || e.At > mostTime { // only in a hostile file; sums of such times overflow
		bounded := *e
		bounded.At = min(max(e.At, 0), mostTime)
		e = &bounded
	}
	m.Seq, m.Last = e.Seq, max(m.Last, e.At)
	switch e.Op {
	case trace.OpSubmit:
		m.submit(e, texts)
		return
	case trace.OpLostTracker:
		add(m, &m.Losses, Loss{e.Seq, e.At, int32(e.A)})
		m.occurs(SignLost)
		m.apply(e, texts)
		return
	case trace.OpOpen, trace.OpDrain, trace.OpClose, trace.OpHome:
		if m.knownSlot(e.Slot) {
			m.slotChanged(e, texts)
		}
		return
	case trace.OpUsage:
		add(m, &m.Usages, Usage{e.Seq, e.At, time.Duration(e.A), e.B, e.C, e.D})
		return
	case trace.OpAssign, trace.OpNone:
		return
	}
	if e.Job < 0 || int(e.Job) >= len(m.Jobs) {
		return
	}
	about := m.attempts.Runs(e)
	m.apply(e, texts)
	if !m.jobEvent(e) && about != nil && int(about.Row) < len(m.Bars) {
		m.attemptEvent(e, about.Row, texts)
	}
}

// knownSlot reports whether the header of the run has the slot.
func (m *Model) knownSlot(slot int32) bool { return slot >= 0 && int(slot) < len(m.Lanes) }

// room reports whether the model may have one more row. It counts the row, or counts it as dropped.
func (m *Model) room() bool {
	if m.rows >= m.mostRows {
		m.Dropped++
		return false
	}
	m.rows++
	return true
}

// add adds a row to a table of m, unless there is no room.
func add[R any](m *Model, rows *[]R, row R) {
	if m.room() {
		*rows = append(*rows, row)
	}
}

// rule returns the index in Rules of the rule in texts. It adds a new rule to Rules.
func (m *Model) rule(texts []string) int32 {
	text := string(trace.RuleOf(texts))
	if text == "" {
		return 0
	}
	i, ok := m.rules[text]
	if !ok {
		i = int32(len(m.Rules))
		m.Rules, m.rules[text] = append(m.Rules, text), i
	}
	return i
}

// pool returns the index of a pool in Pools. It adds a pool with weight 1 if there is none.
func (m *Model) pool(name string) int32 {
	i, ok := m.pools[name]
	if !ok {
		i = int32(len(m.Pools))
		m.Pools, m.pools[name] = append(m.Pools, slots.Pool{Name: name, Weight: slots.One}), i
	}
	return i
}

// submit adds a job. It ignores a job whose number is not the next one: an event was lost, or the
// file is broken.
func (m *Model) submit(e *trace.Event, texts []string) {
	if int(e.Job) != len(m.Jobs) || len(texts) < 3 {
		return
	}
	m.Jobs = append(m.Jobs, DrawnJob{
		Name: texts[0], User: texts[2], Pool: m.pool(cmp.Or(texts[1], texts[0])), Submit: e.At, Start: Never, MapsDone: Never, Finish: Never, Admit: Never,
		Deadline: cmp.Or(time.Duration(e.F), Never), // an event has 0 for no deadline
		Maps:     int32(e.A), Reduces: int32(e.B), Priority: e.D, Weight: e.E, Sealed: e.Has(trace.Sealed), Changed: e.Seq,
	})
	m.attempts.Apply(e)
	m.change(e, e.Job, changeReady, trace.Map, int32(e.C))
}

// change adds a row to m.changes, for Curves.
func (m *Model) change(e *trace.Event, id int32, what changeKind, kind trace.Kind, n int32) {
	add(m, &m.changes, change{seq: e.Seq, at: e.At, id: id, n: n, what: what, kind: kind})
}

// jobEvent adds an event about a job. It reports false if the event is about an attempt.
func (m *Model) jobEvent(e *trace.Event) bool {
	j := &m.Jobs[e.Job]
	switch e.Op {
	case trace.OpReady:
		j.Maps, j.Sealed = m.attempts.Job(e.Job).Total[trace.Map], m.attempts.Job(e.Job).Sealed
		m.change(e, e.Job, changeReady, trace.Map, int32(e.A))
	case trace.OpGate:
		j.GateOpen = e.Has(trace.OK)
		m.change(e, e.Job, changeGate, trace.Reduce, int32(Bit(j.GateOpen)))
	case trace.OpAdmit:
		j.Admit = e.At
		m.change(e, e.Job, changeAdmit, trace.Map, 0)
	case trace.OpMapsDone:
		j.MapsDone = e.At
	case trace.OpWait:
		j.After, j.Due = append(j.After, int32(e.A)), time.Duration(e.B)
	case trace.OpJobEnd:
		j.Finish, j.State = e.At, slots.State(e.A)
		m.change(e, e.Job, changeEnd, trace.Map, 0)
	case trace.OpAbort, trace.OpDemand, trace.OpPlace, trace.OpSample, trace.OpRestore, trace.OpDrop, trace.OpLostOutput:
	default:
		return false
	}
	if e.Op.Class() == trace.Decision {
		add(m, &m.Decisions, Decision{e.Seq, e.At, e.Op, e.Job, None, None, 0})
	}
	j.Changed = e.Seq
	return true
}

// apply adds an event to the attempts, and the rows of the attempts that it starts or ends.
func (m *Model) apply(e *trace.Event, texts []string) {
	var done [trace.Kinds]int32 // tasks that the ends of attempts have finished
	for _, a := range m.attempts.Apply(e) {
		switch {
		case int(a.Row) < len(m.Bars):
			b := &m.Bars[a.Row]
			if b.Span = a.Span; a.How == trace.EndNone {
				break
			}
			b.InBytes, b.OutBytes, b.CopyBytes, b.CPU = a.InBytes, a.OutBytes, a.CopyBytes, a.CPU
			m.rows++ // even over the bound: without its end a bar would seem to run
			m.Ends = append(m.Ends, End{e.Seq, e.At, a.Row, a.How})
			switch a.How {
			case trace.EndFailed:
				m.occurs(SignFailed)
			case trace.EndKilled, trace.EndLost:
				m.occurs(SignKilled)
			}
			if a.Done {
				done[a.Kind]++
			}
			m.count(e, a.Job, done)
		case e.Op == trace.OpStart && a.How == trace.EndNone:
			m.start(e, a, texts)
		}
	}
	if e.Op != trace.OpLostTracker {
		m.count(e, e.Job, done)
		return
	}
	// The maps whose outputs were on the tracker are not done any more.
	for job := range m.Jobs {
		m.count(e, int32(job), done)
	}
}

// count takes the numbers of a job's tasks and attempts. done has the tasks that the ends of attempts have
// finished at this event. Other tasks are done or undone without an attempt, which is a change.
func (m *Model) count(e *trace.Event, job int32, done [trace.Kinds]int32) {
	t := m.attempts.Job(job)
	if t == nil {
		return
	}
	j := &m.Jobs[job]
	if j.Finished == t.Done && j.Running == t.Running {
		return
	}
	for k := range trace.Kinds {
		if n := t.Done[k] - j.Finished[k] - done[k]; n != 0 {
			m.change(e, job, changeDone, trace.Kind(k), n)
		}
	}
	j.Finished, j.Running, j.Changed = t.Done, t.Running, e.Seq
}

// slotChanged adds an event about a slot itself. A change of the home kind becomes two changes: one
// slot less of the old kind, and one more of the new.
func (m *Model) slotChanged(e *trace.Event, texts []string) {
	add(m, &m.Decisions, Decision{e.Seq, e.At, e.Op, None, e.Slot, None, m.rule(texts)})
	home := m.attempts.Home(e.Slot)
	m.apply(e, texts)
	switch e.Op {
	case trace.OpOpen:
		m.change(e, e.Slot, changeSlot, home, 1)
	case trace.OpClose:
		m.change(e, e.Slot, changeSlot, home, -1)
	case trace.OpHome:
		m.change(e, e.Slot, changeSlot, home, -1)
		m.change(e, e.Slot, changeSlot, e.Kind, 1)
	}
}

// attemptEvent adds an event about the attempt of a bar.
func (m *Model) attemptEvent(e *trace.Event, at int32, texts []string) {
	switch e.Op {
	case trace.OpPhase:
		add(m, &m.Phases, PhaseStart{e.Seq, e.At, at, e.Phase})
		m.occurs(PhaseSign(e.Phase))
	case trace.OpKill, trace.OpAdvance:
		add(m, &m.Decisions, Decision{e.Seq, e.At, e.Op, e.Job, e.Slot, at, m.rule(texts)})
	case trace.OpSpillStart:
		m.spillFrom[e.Slot] = e.At
	case trace.OpSpillEnd:
		from := m.spillFrom[e.Slot]
		if from < 0 {
			from = e.At
		}
		m.spillFrom[e.Slot] = Never
		add(m, &m.Spills, Spill{e.Seq, from, e.At, at, e.A, e.B})
		m.occurs(SignSpill)
	case trace.OpBuffer, trace.OpGrow, trace.OpRefuse, trace.OpEvict:
		step := map[trace.Op]BufferStep{trace.OpBuffer: BufferBegin, trace.OpGrow: BufferGrow, trace.OpRefuse: BufferRefuse, trace.OpEvict: BufferEvict}[e.Op]
		add(m, &m.Buffers, Buffer{e.Seq, e.At, at, step, e.A, e.B})
	case trace.OpFetch:
		add(m, &m.Fetches, Fetch{e.Seq, e.At, at, int32(e.A), int32(e.B), e.C})
	case trace.OpStatus:
		if len(texts) > 0 {
			add(m, &m.Statuses, Status{e.Seq, e.At, at, texts[0]})
		}
	}
}

// start adds the bar of an attempt.
func (m *Model) start(e *trace.Event, a *trace.Attempt, texts []string) {
	// Bars may go half over the bound on rows, because a picture needs them most.
	if m.rows >= m.mostRows+m.mostRows/2 {
		m.Dropped++
		return
	}
	m.rows++
	rule := m.rule(texts)
	m.Bars = append(m.Bars, Bar{Span: a.Span, Rule: rule})
	m.occurs(PhaseSign(a.Kind.FirstPhase()))
	if a.Lent {
		m.occurs(LentSign(a.Kind))
	}
	if a.Speculative {
		m.occurs(SignSpeculative)
	}
	m.spillFrom[e.Slot] = Never
	add(m, &m.Decisions, Decision{e.Seq, e.At, e.Op, e.Job, e.Slot, a.Row, rule})
	if j := &m.Jobs[e.Job]; j.Start < 0 {
		j.Start = e.At
	}
}
