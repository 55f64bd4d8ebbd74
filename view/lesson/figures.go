package lesson

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/trace"
	"mrlocal/view"
)

// Outcome is a claim with the values of its figures. Times are in seconds.
type Outcome struct {
	Claim
	Left  float64 `json:"left"`  // the value of Less
	Right float64 `json:"right"` // the value of Than
	Holds bool    `json:"holds"`
}

// Outcomes returns the outcomes of all claims. models has a model for each run. Outcomes fails with
// errs.BadInput if a claim names a figure or run that does not exist.
func (l *Lesson) Outcomes(models []*view.Model) ([]Outcome, error) {
	all := make([]Outcome, 0, len(l.Claims))
	for _, c := range l.Claims {
		o := Outcome{Claim: c}
		o.By = cmp.Or(o.By, 1)
		var err error
		if o.Left, err = figure(c.Less, models); err != nil {
			return nil, err
		}
		if o.Right, err = figure(c.Than, models); err != nil {
			return nil, err
		}
		o.Holds = o.Left*o.By < o.Right
		all = append(all, o)
	}
	return all, nil
}

// figure returns the value of a figure. text is a number, or "NAME [ARGUMENT] @RUN", where RUN is the
// index of a run:
//
//	makespan       seconds until the last job has ended
//	maps JOB       seconds of the map phase of the job
//	finish JOB     seconds until the job has ended
//	took JOB       seconds from the submission of the job to its end
//	deadline JOB   the job's deadline, in seconds
//	lent           slot-seconds of loans
//	copies         number of speculative attempts
//	spills         number of spills of all maps
//	growth         number of times that a kvbuffer grew
//	slots JOB      slots that the job uses on average while all jobs run
//	waiting        slot-seconds in which reduces wait for maps
func figure(text string, models []*view.Model) (float64, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n, nil
	}
	words := strings.Fields(text)
	run := -1
	if len(words) > 0 {
		if n, err := strconv.Atoi(strings.TrimPrefix(words[len(words)-1], "@")); err == nil && n < len(models) {
			run = n
		}
	}
	if run < 0 {
		return 0, errs.Inputf("claim", "%q names no run", text)
	}
	m := models[run]
	if value := figures()[words[0]]; value != nil && len(words) == 2 {
		return value(m), nil
	}
	if value := figuresOfJobs()[words[0]]; value != nil && len(words) == 3 {
		if job := slices.IndexFunc(m.Jobs, func(j view.DrawnJob) bool { return j.Name == words[1] }); job >= 0 {
			return value(m, job), nil
		}
	}
	return 0, errs.Inputf("claim", "%q is not a figure", text)
}

// figures returns the figures of a run by name.
func figures() map[string]func(m *view.Model) float64 {
	return map[string]func(m *view.Model) float64{
		"makespan": func(m *view.Model) float64 { return m.Makespan().Seconds() },
		"lent":     func(m *view.Model) float64 { return m.Totals().LentTime.Seconds() },
		"copies":   func(m *view.Model) float64 { return float64(m.Totals().Speculative) },
		"spills":   func(m *view.Model) float64 { return float64(len(m.Spills)) },
		"growth":   growth,
		"waiting":  waiting,
	}
}

// figuresOfJobs returns the figures of a job by name.
func figuresOfJobs() map[string]func(m *view.Model, job int) float64 {
	return map[string]func(m *view.Model, job int) float64{
		"maps":     func(m *view.Model, job int) float64 { return (m.Jobs[job].MapsDone - m.Jobs[job].Start).Seconds() },
		"finish":   func(m *view.Model, job int) float64 { return m.Jobs[job].Finish.Seconds() },
		"took":     func(m *view.Model, job int) float64 { return (m.Jobs[job].Finish - m.Jobs[job].Submit).Seconds() },
		"deadline": func(m *view.Model, job int) float64 { return m.Jobs[job].Deadline.Seconds() },
		"slots":    slotsOf,
	}
}

// growth returns the number of times that a kvbuffer grew.
func growth(m *view.Model) (steps float64) {
	for i := range m.Buffers {
		if m.Buffers[i].Step == view.BufferGrow {
			steps++
		}
	}
	return steps
}

// slotsOf returns the slots that a job uses on average in the time in which all jobs run; 0: there is
// no such time.
func slotsOf(m *view.Model, job int) float64 {
	from, to := time.Duration(0), m.Makespan()
	for i := range m.Jobs {
		from, to = max(from, m.Jobs[i].Start), min(to, m.Jobs[i].Finish)
	}
	if to <= from {
		return 0
	}
	var used time.Duration
	for i := range m.Bars {
		if b := &m.Bars[i]; int(b.Job) == job {
			used += max(0, min(m.Until(b), to)-max(b.From, from))
		}
	}
	return float64(used) / float64(to-from)
}

// waiting returns the slot-seconds of reduces before the last map of their job is done.
func waiting(m *view.Model) float64 {
	var sum time.Duration
	for i := range m.Bars {
		b := &m.Bars[i]
		if done := m.Jobs[b.Job].MapsDone; b.Kind == trace.Reduce && done >= 0 {
			sum += max(0, min(done, m.Until(b))-b.From)
		}
	}
	return sum.Seconds()
}
