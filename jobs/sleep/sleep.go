// Package sleep is a job whose tasks only take time, like Hadoop's SleepJob. Its maps read nothing,
// and all tasks sleep for given times. So it shows how slots are assigned, on few cores and without
// data. It also allows comparing a real run with a simulated one.
//
// Memory: one key for each reduce.
package sleep

import (
	"context"
	"encoding/binary"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// Options say how many tasks there are and how long each of them takes. A nil function means no
// time. Several goroutines call the functions.
type Options struct {
	Maps, Reduces       int // Reduces 0: the job has no reducers
	MapTime, ReduceTime func(task int) time.Duration
}

// New makes the job. It fails with an options error (package errs) if a number of tasks is out
// of range.
func New(o Options) (jobs.Chain, error) {
	if o.Maps < 1 {
		return nil, errs.Fieldf("Options.Maps", "%d: must be at least 1", o.Maps)
	}
	if o.Reduces < 0 {
		return nil, errs.Fieldf("Options.Reduces", "%d: must be at least 0", o.Reduces)
	}
	job := jobs.Job{
		Name: "sleep", NoInput: true, Maps: o.Maps, Reduces: o.Reduces, BuiltIn: true, Timed: true,
		NewMapper: func() jobs.Mapper { return &mapper{reduces: o.Reduces, time: o.MapTime} },
	}
	if o.Reduces > 0 {
		job.NewReducer = func() jobs.Reducer { return &reducer{time: o.ReduceTime} }
		job.Partition = func(key []byte, parts int) int { return int(binary.BigEndian.Uint32(key)) % parts }
	}
	return jobs.Chain{job}, nil
}

// mapper sleeps. reduces is the number of reduces.
type mapper struct {
	sleeper
	reduces int
	time    func(task int) time.Duration
}

// Map sleeps. The first map also emits one key for each reduce. Without a group, Reduce would
// not be called, and the reduce would not sleep.
func (m *mapper) Map(_ jobs.Block, out jobs.Emitter) error {
	if m.attempt.Task == 0 {
		for r := range m.reduces {
			out.Emit(binary.BigEndian.AppendUint32(nil, uint32(r)), nil)
		}
	}
	return m.sleep(m.time)
}

type reducer struct {
	sleeper
	time func(task int) time.Duration
}

// Reduce sleeps.
func (r *reducer) Reduce([]byte, *jobs.Values, jobs.Emitter) error { return r.sleep(r.time) }

// sleeper sleeps for one task. A kill of the attempt ends the sleep.
type sleeper struct{ attempt jobs.OwnAttempt }

// Begin implements jobs.Attempter.
func (s *sleeper) Begin(a jobs.OwnAttempt) { s.attempt = a }

// aliveEvery is the time between two reports of progress, which show that the attempt is alive.
const aliveEvery = 10 * time.Second

// sleep sleeps for the time of the task. Reports of progress do not make it longer. If the
// attempt is killed, it returns the cause at once.
func (s *sleeper) sleep(of func(task int) time.Duration) error {
	if of == nil {
		return nil
	}
	total := of(s.attempt.Task)
	end := time.Now().Add(total)
	if s.attempt.Lasts != nil {
		s.attempt.Lasts(total)
	}
	timer := time.NewTimer(min(total, aliveEvery))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-s.attempt.Context.Done():
			return context.Cause(s.attempt.Context)
		}
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		s.attempt.Progress(int64(total-left), int64(total))
		timer.Reset(min(left, aliveEvery))
	}
}
