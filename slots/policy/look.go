package policy

import (
	"cmp"
	"slices"
	"time"

	"mrlocal/slots"
)

// Look finds the candidates anew: the slow tasks that have run long enough and whose
// copy pays. Those with the longest time left come first; there are as many as
// copies may still run. A look costs O(slots), and is due looksATask times in the
// time that a task takes.
func (s *Speculation) Look(v *slots.View) {
	s.gather(v)
	s.judgeTrackers(v)
	s.list, s.due, s.at = s.list[:0], -1, v.Now()
	most := mostCopies(v.Capacity(slots.Map)+v.Capacity(slots.Reduce)) - int32(len(s.copied))
	if most <= 0 {
		return // the end of a copy makes a look due
	}
	for rest := s.running; len(rest) > 0; {
		a := rest[0].Attempt
		n := slices.IndexFunc(rest, func(r slots.SlotView) bool { return r.Attempt.Job != a.Job || r.Attempt.Kind != a.Kind })
		if n < 0 {
			n = len(rest)
		}
		s.judge(v, rest[:n])
		rest = rest[n:]
	}
	slices.SortStableFunc(s.list, func(a, b Candidate) int { return cmp.Compare(b.Left, a.Left) })
	s.list = s.list[:min(len(s.list), int(most))]
}

// gather collects the running attempts, those of a job and kind together, and the
// tasks that have a copy already.
func (s *Speculation) gather(v *slots.View) {
	s.running = s.running[:0]
	clear(s.copied)
	s.made = append(s.made[:0], s.done...)
	for range v.Trackers() - len(s.made) {
		s.made = append(s.made, 0)
	}
	for id := range slots.SlotID(v.Slots()) {
		r := v.Slot(id)
		if !r.Busy || int(id) >= len(s.places) {
			continue
		}
		s.made[r.Tracker] += int64(r.Progress)
		if r.Speculative {
			s.copied[of(r.Attempt)] = true
		}
		if !r.Killing {
			s.running = append(s.running, r)
		}
	}
	slices.SortStableFunc(s.running, func(a, b slots.SlotView) int {
		return cmp.Or(cmp.Compare(a.Attempt.Job, b.Attempt.Job), cmp.Compare(a.Attempt.Kind, b.Attempt.Kind))
	})
}

// judgeTrackers finds the progress below which a tracker is slow.
func (s *Speculation) judgeTrackers(v *slots.View) {
	s.sorted = s.sorted[:0]
	for t := range slots.TrackerID(v.Trackers()) {
		if v.CapacityAt(t, slots.Map)+v.CapacityAt(t, slots.Reduce) > 0 { // else it is lost
			s.sorted = append(s.sorted, s.made[t])
		}
	}
	if s.slow = 0; len(s.sorted) > 0 {
		s.slow = slowNodeBelow(s.sorted)
	}
}

// judge adds the candidates among the running attempts of one job and kind.
func (s *Speculation) judge(v *slots.View, running []slots.SlotView) {
	kind := running[0].Attempt.Kind
	m := s.of(running[0].Attempt.Job)
	k := &m.kinds[kind]
	if !enough(k.ended, k.tasks) || kind == slots.Reduce && m.mapsDone < 0 {
		return
	}
	s.totals = append(s.totals[:0], k.times...)
	slices.Sort(s.totals)
	k.usual = median(s.totals)
	for i := range running {
		if elapsed := s.elapsed(v, m, &running[i]); longEnough(elapsed, k.usual, s.least) {
			s.totals = append(s.totals, total(elapsed, running[i].Progress))
		}
	}
	slowest := slowestQuarter(s.totals)
	for i := range running {
		r := &running[i]
		if s.copied[of(r.Attempt)] {
			continue
		}
		if next := v.Now() + k.every(); s.due < 0 || next < s.due {
			s.due = next
		}
		elapsed := s.elapsed(v, m, r)
		c := Candidate{
			Attempt: r.Attempt, Tracker: r.Tracker,
			Total: total(elapsed, r.Progress), Left: timeLeft(elapsed, r.Progress), Usual: k.usual, Slowest: slowest,
		}
		if longEnough(elapsed, k.usual, s.least) && c.Total >= slowest && pays(c.Left, k.usual) {
			s.list = append(s.list, c)
		}
	}
}

func (s *Speculation) elapsed(v *slots.View, m *measured, r *slots.SlotView) time.Duration {
	return v.Now() - m.since(r.Attempt.Kind, s.places[r.ID].began)
}

func of(a slots.AttemptID) taskOf { return taskOf{a.Job, a.Kind, a.Task} }
