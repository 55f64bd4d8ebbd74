package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/trace"
)

// Wanted is how many tasks of a kind run or could start, and how many slots of that home kind are open.
type Wanted struct {
	Waiting int32 `json:"waiting"` // of Tasks, those that wait
	Tasks   int32 `json:"tasks"`
	Slots   int32 `json:"slots"`
}

// WantedBefore returns what was wanted just before the event with number seq, by kind.
func (m *Model) WantedBefore(seq uint64) (all [trace.Kinds]Wanted) {
	s := newSweep(m, &Curves{Step: 1})
	s.before = seq
	s.pass(func(time.Duration) {})
	for k := range trace.Kinds {
		for i := range s.jobs { // tasks, of which one may have two attempts
			j := &s.jobs[i]
			all[k].Waiting += j.pending[k]
			all[k].Tasks += j.pending[k] + j.tasks[k]
		}
		all[k].Slots = s.slots[k]
	}
	return all
}

// Sentence tells the decision with event number seq: who got which slot for what, and how many tasks wanted slots
// then (WantedBefore). It is empty if the decision is neither a start nor a kill.
func (m *Model) Sentence(seq uint64, wanted [trace.Kinds]Wanted) string {
	i, ok := slices.BinarySearchFunc(m.Decisions, seq, func(d Decision, seq uint64) int { return cmp.Compare(d.Seq, seq) })
	if !ok || m.Decisions[i].Bar < 0 {
		return ""
	}
	d := &m.Decisions[i]
	b := &m.Bars[d.Bar]
	job, task := m.Jobs[b.Job].Name, fmt.Sprintf("%v %d", b.Kind, b.Task)
	if b.Speculative {
		task = "a copy of " + task
	}
	home := b.Kind
	switch {
	case d.Op == trace.OpKill:
		return fmt.Sprintf("The attempt of %s of %s on slot %d was killed, %s after its start.", task, job, b.Slot, Words(d.At-b.From))
	case d.Op != trace.OpStart:
		return ""
	case b.Lent:
		home = home.Other()
		return fmt.Sprintf("%s borrowed %v slot %d for %s: %s, and %s.", job, home, b.Slot, task, waited(wanted[home], home), want(wanted[b.Kind], b.Kind))
	}
	return fmt.Sprintf("%s got %v slot %d for %s: %s.", job, home, b.Slot, task, want(wanted[b.Kind], b.Kind))
}

// waited says how many tasks of kind k waited.
func waited(w Wanted, k trace.Kind) string {
	if w.Waiting == 0 {
		return fmt.Sprintf("no %v waited", k)
	}
	return errs.Counted(w.Waiting, k.String()) + " waited"
}

// want says how many tasks of kind k wanted how many slots.
func want(w Wanted, k trace.Kind) string {
	return fmt.Sprintf("%s wanted %s", errs.Counted(w.Tasks, k.String()), errs.Counted(w.Slots, k.String()+" slot"))
}
