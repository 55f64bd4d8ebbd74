package lesson

import (
	"cmp"
	"slices"
	"time"

	"mrlocal/view"
)

// Moment describes an event of a run: the Nth one that matches all fields that are set. Op is one of
//
//	start            an attempt starts
//	killed, failed   an attempt ends
//	spill            a spill starts
//	grow             a kvbuffer grows
//	maps-done        the last map of a job is done
//	job-end          a job ends
//	time             the moment After, which needs no event
type Moment struct {
	Op    string   `json:"op"`
	Job   string   `json:"job"`
	Kind  string   `json:"kind"` // "map" or "reduce"
	Rule  string   `json:"rule"`
	Lent  bool     `json:"lent"`  // on a lent slot
	Copy  bool     `json:"copy"`  // of a speculative attempt
	After Duration `json:"after"` // at this time of the run or later
	Nth   int      `json:"nth"`   // counts from 1; 0: the first
	// Original says that the right answers to the question are the slots of the earlier attempts
	// of the task. Without it they are the slots of the event itself.
	Original bool `json:"original"`
}

// Item is a note whose moment has come in a run. Slots are the right answers to its question: those
// of all matching events at the same time.
type Item struct {
	Note  int           `json:"note"` // index into Lesson.Notes
	Run   int           `json:"run"`  // index into Lesson.Runs
	At    time.Duration `json:"at"`   // from the start of the run
	Seq   uint64        `json:"seq"`  // number of the event
	Slots []int32       `json:"slots"`
	Ask   string        `json:"ask"`
	Text  string        `json:"text"`
}

// Items returns the notes whose moments have come in the runs, in the order of time. models has the
// model of each run. A nil model stands for a run that has not begun.
func (l *Lesson) Items(models []*view.Model) []Item {
	var all []Item
	for i := range l.Notes {
		n := &l.Notes[i]
		if n.Run >= len(models) || models[n.Run] == nil {
			continue
		}
		if e, ok := n.When.find(models[n.Run]); ok {
			all = append(all, Item{Note: i, Run: n.Run, At: e.at, Seq: e.seq, Slots: e.slots, Ask: n.Ask, Text: n.Text})
		}
	}
	slices.SortStableFunc(all, func(a, b Item) int { return cmp.Compare(a.At, b.At) })
	return all
}

// event is the event that a Moment describes, with the slots that answer the question.
type event struct {
	seq   uint64
	at    time.Duration
	slots []int32
}

// find returns the event that the moment describes. ok is false if the event has not happened.
func (w *Moment) find(m *view.Model) (found event, ok bool) {
	if w.Op == "time" {
		return w.passed(m)
	}
	left := max(1, w.Nth)
	w.each(m, func(seq uint64, at time.Duration, bar int32) bool {
		switch {
		case at < time.Duration(w.After):
		case ok && at > found.at:
			return false
		case ok: // another matching event at the same time
			found.slots = w.answers(m, found.slots, bar)
		default:
			if left--; left == 0 {
				ok, found = true, event{seq: seq, at: at, slots: w.answers(m, nil, bar)}
			}
		}
		return true
	})
	return found, ok
}

// passed returns the time After with the last decision up to it. ok is false if the run has not
// reached that time, or has no decision before it.
func (w *Moment) passed(m *view.Model) (found event, ok bool) {
	found.at = time.Duration(w.After)
	for i := range m.Decisions {
		if m.Decisions[i].At > found.at {
			break
		}
		found.seq = m.Decisions[i].Seq
	}
	return found, m.Last >= found.at && found.seq > 0
}

// answers appends the right answers for the event of a bar. bar is -1 if the event has none.
func (w *Moment) answers(m *view.Model, answers []int32, bar int32) []int32 {
	if bar < 0 {
		return answers
	}
	b := &m.Bars[bar]
	if !w.Original {
		return append(answers, b.Slot)
	}
	for i := range m.Bars[:bar] {
		if o := &m.Bars[i]; o.Job == b.Job && o.Kind == b.Kind && o.Task == b.Task {
			answers = append(answers, o.Slot)
		}
	}
	return answers
}

// each calls yield with the events that match all fields except After and Nth, until yield returns
// false. Events come in the order of their times. bar is -1 if the event has none.
func (w *Moment) each(m *view.Model, yield func(seq uint64, at time.Duration, bar int32) bool) {
	switch w.Op {
	case "start":
		for i := range m.Bars {
			if b := &m.Bars[i]; w.agrees(m, int32(i)) && !yield(b.Seq, b.From, int32(i)) {
				return
			}
		}
	case "killed", "failed":
		for i := range m.Ends {
			if e := &m.Ends[i]; e.How.String() == w.Op && w.agrees(m, e.Bar) && !yield(e.Seq, e.At, e.Bar) {
				return
			}
		}
	case "spill":
		// The rows are in the order of the ends.
		spills := slices.Clone(m.Spills)
		slices.SortStableFunc(spills, func(a, b view.Spill) int { return cmp.Compare(a.From, b.From) })
		for i := range spills {
			if s := &spills[i]; w.agrees(m, s.Bar) && !yield(s.Seq, s.From, s.Bar) {
				return
			}
		}
	case "grow":
		for i := range m.Buffers {
			if b := &m.Buffers[i]; b.Step == view.BufferGrow && w.agrees(m, b.Bar) && !yield(b.Seq, b.At, b.Bar) {
				return
			}
		}
	default:
		for i := range m.Decisions {
			if d := &m.Decisions[i]; w.decides(m, d) && !yield(d.Seq, d.At, -1) {
				return
			}
		}
	}
}

// agrees reports whether an attempt matches the fields Job, Kind, Rule, Lent and Copy.
func (w *Moment) agrees(m *view.Model, bar int32) bool {
	if bar < 0 || int(bar) >= len(m.Bars) {
		return false
	}
	b := &m.Bars[bar]
	return (w.Job == "" || m.Jobs[b.Job].Name == w.Job) && (w.Kind == "" || b.Kind.String() == w.Kind) &&
		(w.Rule == "" || m.Rules[b.Rule] == w.Rule) && (!w.Lent || b.Lent) && (!w.Copy || b.Speculative)
}

// decides reports whether a decision matches the fields Op and Job.
func (w *Moment) decides(m *view.Model, d *view.Decision) bool {
	return d.Op.String() == w.Op && (w.Job == "" || d.Job >= 0 && m.Jobs[d.Job].Name == w.Job)
}
