package view

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// collector is the part of a Model that turns events into rows. It knows the present
// state of slots and tasks, because an event names only what changes.
type collector struct {
	mostRows, rows int
	open           []int32                // by slot: the bar that runs there; -1: none
	base, home     []trace.Kind           // by slot: its home kind at the start, and now
	spillFrom      []time.Duration        // by slot: start of the spill that is written; Never: none
	killing        []bool                 // by slot: the end of its attempt was ordered
	tasks          [][trace.Kinds]taskSet // by job
	attempts       map[taskKey]int8       // running attempts of each task that runs
	rules          map[string]int32
	pools          map[string]int32
	changes        []change
}

type taskKey struct {
	job, task int32
	kind      trace.Kind
}

// taskSet is a set of tasks, a bit each: a job may have millions. The number of a task is
// at least 0 and below mostTasks.
type taskSet []uint64

// add reports whether the task is new.
func (s *taskSet) add(task int32) bool {
	word, bit := int(task)>>6, uint64(1)<<(task&63)
	for len(*s) <= word {
		*s = append(*s, 0)
	}
	isNew := (*s)[word]&bit == 0
	(*s)[word] |= bit
	return isNew
}

// remove reports whether the task was there.
func (s taskSet) remove(task int32) bool {
	word, bit := int(task)>>6, uint64(1)<<(task&63)
	if word >= len(s) || s[word]&bit == 0 {
		return false
	}
	s[word] &^= bit
	return true
}

// change is a change of what a job could run, or of the slots. Curves reads the changes.
type change struct {
	seq  uint64
	at   time.Duration
	id   int32 // the job, or the slot
	n    int32 // of changeReady: maps that may start; of changeDone: tasks; of changeSlot: slots
	what changeKind
	kind trace.Kind
}

type changeKind uint8

const (
	changeReady changeKind = iota // maps of a job may start
	changeDone                    // tasks of a job are done (n > 0) or undone (n < 0), apart from ends of bars
	changeGate                    // the reduces of a job may start (n = 1), or not (n = 0)
	changeAdmit                   // a job that waited may run
	changeEnd                     // a job has ended
	changeSlot                    // there are n more slots of a kind
)

// New returns a model of no events.
func New(o Options) *Model {
	m := &Model{Rules: []string{""}}
	m.collector = collector{mostRows: cmp.Or(o.MostRows, defaultMostRows), attempts: map[taskKey]int8{}, rules: map[string]int32{}, pools: map[string]int32{}}
	return m
}

// Load returns the model of an event file. If the file is cut short or was changed, it
// returns the model of the events before the error, and the error of trace.Decoder. The
// model is nil if r is no event file.
func Load(r io.Reader, o Options) (*Model, error) {
	d, err := trace.NewDecoder(r)
	if err != nil {
		return nil, err
	}
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

// Open takes the header of a run, as a trace.Sink. It fails if the header is not one that
// the Ledger writes.
func (m *Model) Open(h *trace.Header) error {
	m.Policy, m.Seed = h.Policy, h.Seed
	var c slots.Config
	if len(h.Config) > 0 {
		if err := json.Unmarshal(h.Config, &c); err != nil {
			return fmt.Errorf("view: recorded configuration: %w", err)
		}
	}
	// Pools of the configuration come first, even if no job uses them.
	for i := range c.Pools {
		p := &c.Pools[i]
		m.Pools[m.pool(p.Name)] = DrawnPool{
			Name: p.Name, WeightPPM: int64(cmp.Or(p.Weight, slots.One)), MinMaps: p.MinMaps, MinReduces: p.MinReduces, mostMaps: p.MaxMaps, mostReduces: p.MaxReduces,
		}
	}
	for i, s := range h.Slots {
		if s.ID != int32(i) {
			return fmt.Errorf("view: slot %d is at index %d of the header", s.ID, i)
		}
		m.Lanes = append(m.Lanes, Lane{Slot: s.ID, Tracker: s.Tracker, Core: s.Core, Home: s.Home, Extra: s.Extra})
		m.base, m.home = append(m.base, s.Home), append(m.home, s.Home)
	}
	n := len(h.Slots)
	m.open, m.killing, m.spillFrom = slices.Repeat([]int32{None}, n), make([]bool, n), slices.Repeat([]time.Duration{Never}, n)
	// Lanes are in the order of the picture. Tables by slot have the order of numbers.
	slices.SortStableFunc(m.Lanes, func(a, b Lane) int {
		return cmp.Or(cmp.Compare(a.Tracker, b.Tracker), cmp.Compare(a.Core, b.Core), cmp.Compare(a.Slot, b.Slot))
	})
	return nil
}

// Record adds an event, as a trace.Sink.
func (m *Model) Record(s *trace.Stream, e *trace.Event) error {
	m.Add(e, s.Texts(e.Ref))
	return nil
}

// Close says that there are no more events.
func (m *Model) Close() error {
	m.Ended = true
	return nil
}

// mostTime is the latest time of a model, 73 years.
const mostTime = time.Duration(1 << 61)

// Add adds an event whose Ref refers to texts. Events of a broken file that name unknown
// jobs or slots are ignored.
func (m *Model) Add(e *trace.Event, texts []string) {
	// Numbers of events have no gaps, so a gap is what a lossy reader missed.
	if e.Seq > m.Seq+1 {
		m.Lost += e.Seq - m.Seq - 1
	}
	if e.At < 0 || e.At > mostTime { // of a hostile file: sums of such times overflow
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

func (m *Model) knownSlot(slot int32) bool { return slot >= 0 && int(slot) < len(m.open) }

// room reports whether there is room for one more row, and counts the row.
func (m *Model) room() bool {
	if m.rows >= m.mostRows {
		m.Dropped++
		return false
	}
	m.rows++
	return true
}

// rule returns the index of a rule in Rules, and adds a rule that is new. A row then
// takes 4 bytes for a text that thousands of rows share.
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

// pool returns the index of a pool in Pools, and adds one with weight 1 if there is none.
func (m *Model) pool(name string) int32 {
	i, ok := m.pools[name]
	if !ok {
		i = int32(len(m.Pools))
		m.Pools, m.pools[name] = append(m.Pools, DrawnPool{Name: name, WeightPPM: int64(slots.One)}), i
	}
	return i
}

// mostTasks bounds the numbers of tasks whose state is kept, so that a broken file cannot
// take all memory.
const mostTasks = 1 << 24

// submit adds a job. Jobs have the numbers of their order.
func (m *Model) submit(e *trace.Event, texts []string) {
	if int(e.Job) != len(m.Jobs) || len(texts) < 3 {
		return
	}
	pool := cmp.Or(texts[1], texts[0])
	deadline := time.Duration(e.F)
	deadline = cmp.Or(deadline, Never)
	m.Jobs = append(m.Jobs, DrawnJob{
		Name: texts[0], User: texts[2], Pool: m.pool(pool), Submit: e.At, Start: Never, MapsDone: Never, Finish: Never, Deadline: deadline, Admit: Never,
		Maps: int32(e.A), Reduces: int32(e.B), Changed: e.Seq,
	})
	m.tasks = append(m.tasks, [trace.Kinds]taskSet{})
	m.change(e, e.Job, changeReady, trace.Map, int32(e.C))
}

// change keeps a change for Curves.
func (m *Model) change(e *trace.Event, id int32, what changeKind, kind trace.Kind, n int32) {
	if m.room() {
		m.changes = append(m.changes, change{seq: e.Seq, at: e.At, id: id, n: n, what: what, kind: kind})
	}
}

// jobEvent adds an event about a job, and reports whether it is one.
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

// taskDone counts a task that is done without an attempt, or whose output is lost.
func (m *Model) taskDone(e *trace.Event, j *DrawnJob, n int32) {
	if e.Task < 0 || e.Task >= mostTasks {
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

// slotChanged keeps which slots are open, and of which home kind. A change of the home
// kind is recorded as one slot less of the old kind and one more of the new.
func (m *Model) slotChanged(e *trace.Event, texts []string) {
	m.decide(Decision{e.Seq, e.At, e.Op, None, e.Slot, None, m.rule(texts)})
	switch e.Op {
	case trace.OpOpen:
		m.change(e, e.Slot, changeSlot, m.home[e.Slot], 1)
	case trace.OpClose:
		// A slot whose tracker is lost closes under its attempt.
		m.endBar(e, LostWithTracker)
		m.change(e, e.Slot, changeSlot, m.home[e.Slot], -1)
	case trace.OpHome:
		m.change(e, e.Slot, changeSlot, m.home[e.Slot], -1)
		m.home[e.Slot] = e.Kind
		m.change(e, e.Slot, changeSlot, m.home[e.Slot], 1)
	}
}

// lostTracker undoes the maps whose outputs were on a tracker that is lost, in jobs that
// still need them, as the Ledger does.
func (m *Model) lostTracker(tracker int32, e *trace.Event) {
	on := make([]bool, len(m.open))
	for _, l := range m.Lanes {
		on[l.Slot] = l.Tracker == tracker
	}
	done := map[taskKey]bool{} // maps whose last committed attempt ran there
	// Ends are in the order of time, so a later attempt elsewhere takes a map out again.
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
	// Go gives keys of a map in random order, and changes must have the same order each time.
	for key := range done {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b taskKey) int { return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.task, b.task)) })
	for _, key := range keys {
		if j := &m.Jobs[key.job]; j.State == JobRunning && j.Reduces > 0 {
			undone := *e
			undone.Job, undone.Kind, undone.Task = key.job, key.kind, key.task
			m.taskDone(&undone, j, -1)
			j.Changed = e.Seq
		}
	}
}

// attemptEvent adds an event about an attempt. Its job and slot are known.
func (m *Model) attemptEvent(e *trace.Event, texts []string) {
	if e.Op == trace.OpStart {
		m.start(e, texts)
		return
	}
	at := m.open[e.Slot]
	// An attempt that was abandoned may report something after its end.
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
	m.endBar(e, LostWithTracker) // only in a broken file
	// Bars go on a while when other rows do not, because they are the picture.
	if m.rows >= m.mostRows+m.mostRows/2 || e.Task < 0 || e.Task >= mostTasks {
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
	m.open[e.Slot], m.killing[e.Slot], m.spillFrom[e.Slot] = at, false, Never
	m.decide(Decision{e.Seq, e.At, e.Op, e.Job, e.Slot, at, rule})
	j := &m.Jobs[e.Job]
	if j.Start < 0 {
		j.Start = e.At
	}
	*j.running(e.Kind)++
	j.Changed = e.Seq
}

// running returns the number of running attempts of a kind.
func (j *DrawnJob) running(k trace.Kind) *int32 {
	if k == trace.Map {
		return &j.RunningMaps
	}
	return &j.RunningReduces
}

// finish ends the bar of an attempt that tells its end.
func (m *Model) finish(e *trace.Event) {
	b := &m.Bars[m.open[e.Slot]]
	b.InBytes, b.OutBytes, b.CPU, b.CopyBytes = e.A, e.B, time.Duration(e.C), e.D
	// An attempt that was to be killed may end with an error of its own. It counts as killed.
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
	// Only tasks that run are kept, so the map does not grow with the run.
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
	m.rows++ // a bar without its end would be wrong
	m.Ends = append(m.Ends, end)
}
