package view

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
)

// collector is the part of a Model that turns events into rows. It keeps the current state of
// slots and tasks, because an event has only what changes.
type collector struct {
	mostRows, rows int
	open           []int32                // by slot: the bar that runs there; None: no bar
	base, home     []trace.Kind           // by slot: the home kind at the start, and now
	spillFrom      []time.Duration        // by slot: the start of the spill that is being written; Never: none
	killing        []bool                 // by slot: the Ledger has killed the attempt, and its end has not come
	tasks          [][trace.Kinds]taskSet // by job: finished tasks
	attempts       map[taskKey]int8       // the number of running attempts of each running task
	rules          map[string]int32       // indexes into Model.Rules
	pools          map[string]int32       // indexes into Model.Pools
	users          map[string]int32       // limits on running jobs; 0: no limit
	changes        []change               // a table like those of the Model, for Curves only
}

// taskKey identifies a task of a run.
type taskKey struct {
	job, task int32
	kind      trace.Kind
}

// taskSet is a set of task numbers from 0 up to trace.MaxTasks. It takes one bit for each, because a job
// may have millions of tasks.
type taskSet []uint64

// add adds a task. It reports whether the task is new.
func (s *taskSet) add(task int32) bool {
	word, bit := int(task)>>6, uint64(1)<<(task&63)
	for len(*s) <= word {
		*s = append(*s, 0)
	}
	isNew := (*s)[word]&bit == 0
	(*s)[word] |= bit
	return isNew
}

// remove removes a task. It reports whether the set had the task.
func (s taskSet) remove(task int32) bool {
	word, bit := int(task)>>6, uint64(1)<<(task&63)
	if word >= len(s) || s[word]&bit == 0 {
		return false
	}
	s[word] &^= bit
	return true
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
func New(o Options) *Model {
	m := &Model{Rules: []string{""}}
	m.collector = collector{mostRows: cmp.Or(o.MostRows, defaultMostRows), attempts: map[taskKey]int8{}, rules: map[string]int32{}, pools: map[string]int32{}, users: map[string]int32{}}
	return m
}

// Load returns the model of an event file. If the file is cut short or was changed, Load returns
// both the model of the events before that place, and the error of trace.Decoder. The model is nil
// if r has no valid header of an event file.
func Load(r io.Reader, o Options) (*Model, error) {
	d, err := trace.NewDecoder(r)
	if err != nil {
		return nil, err
	}
	d.Share(MostBytes)
	m := New(o)
	if err := m.Open(d.Header()); err != nil {
		return nil, err
	}
	for {
		e, err := d.Next()
		switch {
		case errors.Is(err, io.EOF):
			return m, m.Close()
		case err != nil:
			return m, err
		}
		m.Add(&e, d.Texts(e.Ref))
	}
}

// Open takes the header of a run, as a trace.Sink. It fails if the configuration is not valid JSON, or
// a slot is not at the index of its number. The Model keeps no reference to h.
func (m *Model) Open(h *trace.Header) error {
	m.Policy, m.Seed = h.Policy, h.Seed
	var c slots.Config
	if len(h.Config) > 0 {
		if err := json.Unmarshal(h.Config, &c); err != nil {
			return fmt.Errorf("recorded configuration: %s", errs.OfJSON(err))
		}
	}
	// Pools of the configuration come first, even if no job uses them.
	for i := range c.Pools {
		p := &c.Pools[i]
		m.Pools[m.pool(p.Name)] = DrawnPool{
			Name: p.Name, WeightPPM: int64(cmp.Or(p.Weight, slots.One)), MinMaps: p.MinMaps, MinReduces: p.MinReduces, mostMaps: p.MaxMaps, mostReduces: p.MaxReduces, mostJobs: p.MaxRunning,
		}
	}
	for i := range c.Users {
		m.users[c.Users[i].Name] = c.Users[i].MaxRunning
	}
	for i, s := range h.Slots {
		if s.ID != int32(i) {
			return fmt.Errorf("view: slot %d is at index %d of the header", s.ID, i)
		}
		m.Lanes = append(m.Lanes, Lane{Slot: s.ID, Tracker: s.Tracker, Core: s.Core, Home: s.Home, Extra: s.Extra})
		m.base, m.home = append(m.base, s.Home), append(m.home, s.Home)
	}
	n := len(h.Slots)
	m.open = slices.Repeat([]int32{None}, n)
	m.killing = make([]bool, n)
	m.spillFrom = slices.Repeat([]time.Duration{Never}, n)
	// Lanes are in the order of the rows of a picture. All lists by slot are in the order of numbers.
	slices.SortStableFunc(m.Lanes, func(a, b Lane) int {
		return cmp.Or(cmp.Compare(a.Tracker, b.Tracker), cmp.Compare(a.Core, b.Core), cmp.Compare(a.Slot, b.Slot))
	})
	return nil
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
	// A run numbers its events without gaps. So a gap means events that a slow reader has missed.
	if e.Seq > m.Seq+1 {
		m.Lost += e.Seq - m.Seq - 1
	}
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
		if m.room() {
			m.Losses = append(m.Losses, Loss{e.Seq, e.At, int32(e.A)})
		}
		m.lostTracker(int32(e.A), e)
		return
	case trace.OpOpen, trace.OpDrain, trace.OpClose, trace.OpHome:
		if m.knownSlot(e.Slot) {
			m.slotChanged(e, texts)
		}
		return
	case trace.OpUsage:
		if m.room() {
			m.Usages = append(m.Usages, Usage{e.Seq, e.At, time.Duration(e.A), e.B, e.C})
		}
		return
	case trace.OpAssign, trace.OpNone:
		return
	}
	if e.Job < 0 || int(e.Job) >= len(m.Jobs) {
		return
	}
	if !m.jobEvent(e) && m.knownSlot(e.Slot) {
		m.attemptEvent(e, texts)
	}
}

// knownSlot reports whether the header of the run has the slot.
func (m *Model) knownSlot(slot int32) bool { return slot >= 0 && int(slot) < len(m.open) }

// room reports whether the model may have one more row. It counts the row, or counts it as dropped.
func (m *Model) room() bool {
	if m.rows >= m.mostRows {
		m.Dropped++
		return false
	}
	m.rows++
	return true
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
		m.Pools, m.pools[name] = append(m.Pools, DrawnPool{Name: name, WeightPPM: int64(slots.One)}), i
	}
	return i
}

// submit adds a job. It ignores a job whose number is not the next one: an event was lost, or the
// file is broken.
func (m *Model) submit(e *trace.Event, texts []string) {
	if int(e.Job) != len(m.Jobs) || len(texts) < 3 {
		return
	}
	pool := cmp.Or(texts[1], texts[0])
	deadline := time.Duration(e.F)
	deadline = cmp.Or(deadline, Never) // an event has 0 for no deadline
	m.Jobs = append(m.Jobs, DrawnJob{
		Name: texts[0], User: texts[2], Pool: m.pool(pool), Submit: e.At, Start: Never, MapsDone: Never, Finish: Never, Deadline: deadline, Admit: Never,
		Maps: int32(e.A), Reduces: int32(e.B), Changed: e.Seq,
	})
	m.tasks = append(m.tasks, [trace.Kinds]taskSet{})
	m.change(e, e.Job, changeReady, trace.Map, int32(e.C))
}

// change adds a row to m.changes, for Curves.
func (m *Model) change(e *trace.Event, id int32, what changeKind, kind trace.Kind, n int32) {
	if m.room() {
		m.changes = append(m.changes, change{seq: e.Seq, at: e.At, id: id, n: n, what: what, kind: kind})
	}
}

// jobEvent adds an event about a job. It reports false if the event is about an attempt.
func (m *Model) jobEvent(e *trace.Event) bool {
	j := &m.Jobs[e.Job]
	switch e.Op {
	case trace.OpReady:
		j.Maps = int32(e.B)
		m.change(e, e.Job, changeReady, trace.Map, int32(e.A))
	case trace.OpRestore, trace.OpDrop:
		m.taskDone(e, j, 1)
	case trace.OpLostOutput:
		m.taskDone(e, j, -1)
	case trace.OpGate:
		j.GateOpen = e.Has(trace.OK)
		n := int32(0)
		if j.GateOpen {
			n = 1
		}
		m.change(e, e.Job, changeGate, trace.Reduce, n)
		m.decide(Decision{e.Seq, e.At, e.Op, e.Job, None, None, 0})
	case trace.OpAdmit:
		j.Admit = e.At
		m.change(e, e.Job, changeAdmit, trace.Map, 0)
		m.decide(Decision{e.Seq, e.At, e.Op, e.Job, None, None, 0})
	case trace.OpMapsDone:
		j.MapsDone = e.At
		m.decide(Decision{e.Seq, e.At, e.Op, e.Job, None, None, 0})
	case trace.OpJobEnd:
		j.Finish, j.State = e.At, JobState(e.A)
		m.change(e, e.Job, changeEnd, trace.Map, 0)
		m.decide(Decision{e.Seq, e.At, e.Op, e.Job, None, None, 0})
	case trace.OpAbort, trace.OpDemand, trace.OpPlace, trace.OpSample:
	default:
		return false
	}
	j.Changed = e.Seq
	return true
}

// decide adds a row to Decisions.
func (m *Model) decide(d Decision) {
	if m.room() {
		m.Decisions = append(m.Decisions, d)
	}
}

// taskDone counts a task as done (n = 1), because it needs no attempt. With n = -1 it counts the task
// as not done, because its output is lost. It changes nothing if the task counts so already.
func (m *Model) taskDone(e *trace.Event, j *DrawnJob, n int32) {
	if e.Task < 0 || e.Task >= trace.MaxTasks {
		return
	}
	set := &m.tasks[e.Job][e.Kind]
	if n > 0 && !set.add(e.Task) || n < 0 && !set.remove(e.Task) {
		return
	}
	finished := &j.MapsFinished
	if e.Kind == trace.Reduce {
		finished = &j.ReducesFinished
	}
	*finished += n
	m.change(e, e.Job, changeDone, e.Kind, n)
}

// slotChanged adds an event about a slot itself. A change of the home kind becomes two changes: one
// slot less of the old kind, and one more of the new.
func (m *Model) slotChanged(e *trace.Event, texts []string) {
	m.decide(Decision{e.Seq, e.At, e.Op, None, e.Slot, None, m.rule(texts)})
	switch e.Op {
	case trace.OpOpen:
		m.change(e, e.Slot, changeSlot, m.home[e.Slot], 1)
	case trace.OpClose:
		// If the tracker is lost, the slot closes while its attempt runs.
		m.endBar(e, LostWithTracker)
		m.change(e, e.Slot, changeSlot, m.home[e.Slot], -1)
	case trace.OpHome:
		m.change(e, e.Slot, changeSlot, m.home[e.Slot], -1)
		m.home[e.Slot] = e.Kind
		m.change(e, e.Slot, changeSlot, m.home[e.Slot], 1)
	}
}

// lostTracker counts the maps whose outputs were on a lost tracker as not done, if their jobs still
// need these outputs. The Ledger does the same without an event for each map.
func (m *Model) lostTracker(tracker int32, e *trace.Event) {
	on := make([]bool, len(m.open))
	for _, l := range m.Lanes {
		on[l.Slot] = l.Tracker == tracker
	}
	done := map[taskKey]bool{} // maps whose last committed attempt ran on the lost tracker
	// Ends are in the order of time. So a later attempt on another tracker removes a map again.
	for i := range m.Ends {
		b := &m.Bars[m.Ends[i].Bar]
		if m.Ends[i].first && b.Kind == trace.Map {
			key := taskKey{b.Job, b.Task, b.Kind}
			if on[b.Slot] {
				done[key] = true
			} else {
				delete(done, key)
			}
		}
	}
	keys := make([]taskKey, 0, len(done))
	// Go's maps have a random order. The order of changes must be the same in each run.
	for key := range done {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b taskKey) int { return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.task, b.task)) })
	for _, key := range keys {
		if j := &m.Jobs[key.job]; j.State == JobRunning && j.Reduces > 0 {
			undone := *e
			undone.Job = key.job
			undone.Kind = key.kind
			undone.Task = key.task
			m.taskDone(&undone, j, -1)
			j.Changed = e.Seq
		}
	}
}

// attemptEvent adds an event about an attempt. The caller has checked its job and slot.
func (m *Model) attemptEvent(e *trace.Event, texts []string) {
	if e.Op == trace.OpStart {
		m.start(e, texts)
		return
	}
	at := m.open[e.Slot]
	// An attempt that the engine has abandoned may report something after its end.
	if at < 0 || m.Bars[at].Job != e.Job || m.Bars[at].Task != e.Task || m.Bars[at].N != e.N || m.Bars[at].Kind != e.Kind {
		return
	}
	switch e.Op {
	case trace.OpFinish:
		m.finish(e)
	case trace.OpPhase:
		if m.room() {
			m.Phases = append(m.Phases, PhaseStart{e.Seq, e.At, at, e.Phase})
		}
	case trace.OpKill:
		m.killing[e.Slot] = true
		m.decide(Decision{e.Seq, e.At, e.Op, e.Job, e.Slot, at, m.rule(texts)})
	case trace.OpAdvance:
		m.decide(Decision{e.Seq, e.At, e.Op, e.Job, e.Slot, at, m.rule(texts)})
	case trace.OpSpillStart:
		m.spillFrom[e.Slot] = e.At
	case trace.OpSpillEnd:
		from := m.spillFrom[e.Slot]
		if from < 0 {
			from = e.At
		}
		m.spillFrom[e.Slot] = Never
		if m.room() {
			m.Spills = append(m.Spills, Spill{e.Seq, from, e.At, at, e.A, e.B})
		}
	case trace.OpBuffer:
		m.buffer(Buffer{e.Seq, e.At, at, BufferBegin, e.A, e.B})
	case trace.OpGrow:
		m.buffer(Buffer{e.Seq, e.At, at, BufferGrow, e.A, e.B})
	case trace.OpRefuse:
		m.buffer(Buffer{e.Seq, e.At, at, BufferRefuse, e.A, e.B})
	case trace.OpEvict:
		m.buffer(Buffer{e.Seq, e.At, at, BufferEvict, e.A, e.B})
	case trace.OpFetch:
		if m.room() {
			m.Fetches = append(m.Fetches, Fetch{e.Seq, e.At, at, int32(e.A), int32(e.B), e.C})
		}
	case trace.OpStatus:
		if m.room() && len(texts) > 0 {
			m.Statuses = append(m.Statuses, Status{e.Seq, e.At, at, texts[0]})
		}
	}
}

// buffer adds a row to Buffers.
func (m *Model) buffer(b Buffer) {
	if m.room() {
		m.Buffers = append(m.Buffers, b)
	}
}

// start adds the bar of an attempt.
func (m *Model) start(e *trace.Event, texts []string) {
	m.endBar(e, LostWithTracker) // a bar still runs here only in a broken file
	// Bars may go half over the bound on rows, because a picture needs them most.
	if m.rows >= m.mostRows+m.mostRows/2 || e.Task < 0 || e.Task >= trace.MaxTasks {
		m.Dropped++
		return
	}
	m.rows++
	at, rule := int32(len(m.Bars)), m.rule(texts)
	key := taskKey{e.Job, e.Task, e.Kind}
	m.Bars = append(m.Bars, Bar{
		Seq: e.Seq, From: e.At, To: Never, Slot: e.Slot, Job: e.Job, Task: e.Task, N: e.N, Rule: rule, Kind: e.Kind,
		Lent: e.Has(trace.Lent), Moved: m.base[e.Slot] != m.home[e.Slot], Speculative: e.Has(trace.Speculative), only: m.attempts[key] == 0,
	})
	m.attempts[key]++
	m.open[e.Slot] = at
	m.killing[e.Slot] = false
	m.spillFrom[e.Slot] = Never
	m.decide(Decision{e.Seq, e.At, e.Op, e.Job, e.Slot, at, rule})
	j := &m.Jobs[e.Job]
	if j.Start < 0 {
		j.Start = e.At
	}
	*j.running(e.Kind)++
	j.Changed = e.Seq
}

// running returns a pointer to the job's number of running attempts of a kind.
func (j *DrawnJob) running(k trace.Kind) *int32 {
	if k == trace.Map {
		return &j.RunningMaps
	}
	return &j.RunningReduces
}

// finish ends the bar of an attempt by its own event.
func (m *Model) finish(e *trace.Event) {
	b := &m.Bars[m.open[e.Slot]]
	b.InBytes = e.A
	b.OutBytes = e.B
	b.CPU = time.Duration(e.C)
	b.CopyBytes = e.D
	// After the order to kill it, an attempt may still fail by itself. It counts as killed.
	how := Failed
	switch {
	case e.Has(trace.OK):
		how = Succeeded
	case e.Has(trace.Killed), m.killing[e.Slot]:
		how = Killed
	}
	m.endBar(e, how)
}

// endBar ends the bar on the slot of e, if there is one.
func (m *Model) endBar(e *trace.Event, how How) {
	at := m.open[e.Slot]
	if at < 0 {
		return
	}
	b := &m.Bars[at]
	b.To, b.How = e.At, how
	m.open[e.Slot] = None
	key := taskKey{b.Job, b.Task, b.Kind}
	m.attempts[key]--
	end := End{Seq: e.Seq, At: e.At, Bar: at, How: how, last: m.attempts[key] == 0}
	// attempts has only tasks that run, so that it does not grow with the run.
	if end.last {
		delete(m.attempts, key)
	}
	j := &m.Jobs[b.Job]
	// An attempt that ends after its job commits nothing.
	if how == Succeeded && j.State == JobRunning && m.tasks[b.Job][b.Kind].add(b.Task) {
		end.first = true
		if b.Kind == trace.Map {
			j.MapsFinished++
		} else {
			j.ReducesFinished++
		}
	}
	*j.running(b.Kind)--
	j.Changed = e.Seq
	m.rows++ // even over the bound: without its end a bar would seem to run
	m.Ends = append(m.Ends, end)
}
