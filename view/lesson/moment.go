package lesson

import (
	"cmp"
	"slices"
	"strconv"
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
	// Original says that the right answers to the question are those of the earlier attempts of the task. Without it
	// they are those of the attempts that match.
	Original bool `json:"original"`
}

// Item is a note whose moment has come in a run. Slots are those of all matching events at the same time.
type Item struct {
	Note  int           `json:"note"` // index into Lesson.Notes
	Run   int           `json:"run"`  // index into Lesson.Runs
	At    time.Duration `json:"at"`   // from the start of the run
	Seq   uint64        `json:"seq"`  // number of the event
	Slots []int32       `json:"slots"`
	Ask   string        `json:"ask"`
	Text  string        `json:"text"`

	Answer  string   `json:"answer"`  // what the question asks for, as Note.Answer
	Choices []string `json:"choices"` // of a question: the answers to choose from
	Right   []string `json:"right"`   // the right ones
}

// Titled returns an answer in words, such as "slot 2".
func (x *Item) Titled(choice string) string {
	if x.Answer == "count" {
		return choice
	}
	return x.Answer + " " + choice
}

// ask sets what the question needs. bars are the attempts of the right answers.
func (x *Item) ask(m *view.Model, answer string, bars []int32) {
	x.Answer = cmp.Or(answer, "slot")
	slots := 0
	for _, l := range m.Lanes {
		if !l.Extra || slices.ContainsFunc(m.Bars, func(b view.Bar) bool { return b.Slot == l.ID }) {
			slots = max(slots, int(l.ID)+1)
		}
	}
	number := func(n int32) string { return strconv.Itoa(int(n)) }
	add := func(to *[]string, choice string) {
		if !slices.Contains(*to, choice) {
			*to = append(*to, choice)
		}
	}
	for i, l := range m.Lanes[:slots] {
		switch x.Answer {
		case "tracker":
			add(&x.Choices, number(l.Tracker))
		case "job":
		default: // numbers of slots from 0, or counts from 1
			if x.Answer == "count" {
				i++
			}
			add(&x.Choices, number(int32(i)))
		}
	}
	for _, bar := range bars {
		b := &m.Bars[bar]
		switch x.Answer {
		case "slot":
			add(&x.Right, number(b.Slot))
		case "tracker":
			add(&x.Right, number(m.Lanes[b.Slot].Tracker))
		case "job":
			add(&x.Right, m.Jobs[b.Job].Name)
		}
	}
	switch x.Answer {
	case "job":
		for i := range m.Jobs {
			add(&x.Choices, m.Jobs[i].Name)
		}
	case "count":
		add(&x.Right, number(int32(len(bars))))
	}
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
			x := Item{Note: i, Run: n.Run, At: e.at, Seq: e.seq, Ask: n.Ask, Text: n.Text}
			m := models[n.Run]
			for _, bar := range e.bars {
				x.Slots = append(x.Slots, m.Bars[bar].Slot)
			}
			if n.Ask != "" {
				x.ask(m, n.Answer, e.bars)
			}
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(a, b Item) int { return cmp.Compare(a.At, b.At) })
	return all
}

// event is the event that a Moment describes, with the attempts that answer the question.
type event struct {
	seq  uint64
	at   time.Duration
	bars []int32
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
			found.bars = w.answers(m, found.bars, bar)
		default:
			if left--; left == 0 {
				ok, found = true, event{seq: seq, at: at, bars: w.answers(m, nil, bar)}
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

// answers appends the attempts of the right answers for the event of a bar. bar is -1 if the event has none.
func (w *Moment) answers(m *view.Model, answers []int32, bar int32) []int32 {
	if bar < 0 {
		return answers
	}
	b := &m.Bars[bar]
	if !w.Original {
		return append(answers, bar)
	}
	for i := range m.Bars[:bar] {
		if o := &m.Bars[i]; o.Job == b.Job && o.Kind == b.Kind && o.Task == b.Task {
			answers = append(answers, int32(i))
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
