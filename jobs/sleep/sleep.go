// Package sleep is the job that does nothing but take time, as Hadoop's
// SleepJob: its maps read nothing and its tasks sleep for as long as told. It
// shows how slots are handed out, on few cores and without data, and lets a
// real run be compared with a simulated one.
//
// Memory: none to speak of; one key a reduce. Neighbours: jobs is what it is
// made of, package engine runs it.
package sleep

import (
	"context"
	"encoding/binary"
	"time"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// Options say how many tasks there are and how long each takes. A nil function
// is no time at all. They are called from several goroutines.
type Options struct {
	Maps, Reduces       int // Reduces 0: map-only
	MapTime, ReduceTime func(task int) time.Duration
}

// New makes the job. Its error is wrong usage.
func New(o Options) (jobs.Chain, error) {
	if o.Maps < 1 {
		return nil, errs.Optionf("sleep", "%d maps; at least 1", o.Maps)
	}
	if o.Reduces < 0 {
		return nil, errs.Optionf("sleep", "%d reduces; at least 0", o.Reduces)
	}
	job := jobs.Job{
		Name: "sleep", NoInput: true, Maps: o.Maps, Reduces: o.Reduces, BuiltIn: true,
		NewMapper: func() jobs.Mapper { return &mapper{reduces: o.Reduces, time: o.MapTime} },
	}
	if o.Reduces > 0 {
		job.NewReducer = func() jobs.Reducer { return &reducer{time: o.ReduceTime} }
		job.Partition = func(key []byte, parts int) int { return int(binary.BigEndian.Uint32(key)) % parts }
	}
	return jobs.Chain{job}, nil
}

// mapper sleeps. The first map also gives each reduce its one key: a reduce
// without a group would not be called, and not sleep.
type mapper struct {
	sleeper
	reduces int
	time    func(task int) time.Duration
}

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

func (r *reducer) Reduce([]byte, *jobs.Values, jobs.Emitter) error { return r.sleep(r.time) }

// sleeper knows which task it sleeps for, and is woken by a kill.
type sleeper struct{ attempt jobs.Attempt }

// Begin implements jobs.Attempter.
func (s *sleeper) Begin(a jobs.Attempt) { s.attempt = a }

// aliveEvery is how often a sleeper shows that it lives.
const aliveEvery = 10 * time.Second

// sleep ends exactly when the task's time is over, however often it wakes.
func (s *sleeper) sleep(of func(task int) time.Duration) error {
	if of == nil {
		return nil
	}
	total := of(s.attempt.Task)
	end := time.Now().Add(total)
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
