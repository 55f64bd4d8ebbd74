package engine

import (
	"time"

	"mrlocal/engine/task"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/report"
	"mrlocal/slots"
)

// The report's types, as those who run jobs name them.
type (
	Report     = report.Report
	JobReport  = report.Job
	SlotReport = report.Slot
	Counters   = report.Counters
)

// report gathers the outcome of the run; err is how it ended.
func (r *run) report(err error) *Report {
	if r.coordinator == nil {
		return nil
	}
	ledger := r.coordinator.ledger
	rep := report.FromLedger(r.kind, ledger)
	rep.MakespanSeconds, rep.PeakRSSBytes = seconds(r.now()), machine.PeakRSSBytes()
	rep.AbandonedThreads, rep.Notes = r.abandoned, r.notes
	r.settings(&rep.Config)
	for i := range rep.Slots {
		if r.coordinator.ledger.SlotTimes(slots.SlotID(i)).Starts > 0 || i < r.o.slotCount() { // of extra ones that were never opened there is no thread
			rep.Slots[i].Core = r.pool.Core(i)
		}
	}
	for id := range r.coordinator.jobs {
		r.coordinator.jobs[id].report(rep, slots.JobID(id))
	}
	for _, ch := range r.chains {
		rep.ReaderGone = rep.ReaderGone || ch.readerGone
		if ch.lastID < 0 && !r.single() {
			rep.Jobs = append(rep.Jobs, ch.report())
		}
	}
	if err != nil {
		rep.Error = err.Error()
	}
	return rep
}

// use adds what an attempt has used.
func (j *runningJob) use(usage []report.Usage) {
	if j.usage == nil {
		j.usage = make([]report.Usage, len(usage))
	}
	for phase := range usage {
		j.usage[phase].Add(&usage[phase])
	}
}

// submitted is a job of the Ledger. What is not in its runningJob is what stays of
// it when it is over: of very many jobs little may.
type submitted struct {
	*runningJob // nil: it is over
	chain       *chain
	step        int
	counters    Counters
	usage       []report.Usage
}

// over lets go of a job that is over.
func (s *submitted) over() {
	s.counters, s.usage = s.runningJob.counters, s.runningJob.usage
	if counter, ok := s.releaser.(jobs.RecordCounter); ok {
		s.counters.ReduceOutputRecords = counter.Records()
	}
	s.runningJob = nil
}

// report adds what the work and the data plane know to the job's share of the
// report.
func (s *submitted) report(r *Report, id slots.JobID) {
	if s.runningJob != nil {
		s.over()
	}
	ch, rep := s.chain, &r.Jobs[id]
	spec := ch.spec(s.step, rep.Reduces)
	r.Describe(id, &spec)
	rep.Counters.Add(&s.counters)
	for phase, u := range s.usage {
		if u.Attempts > 0 {
			u.Phase = slots.Phase(phase).String()
			rep.Phases = append(rep.Phases, u)
		}
	}
	if s.step > 0 && !ch.run.single() {
		rep.StepOf = ch.name()
	}
	if ch.err == nil || ch.lastID != id {
		return
	}
	if !ch.killed {
		// The Ledger ends a job that cannot go on as it ends one that is
		// cancelled, and does not know of its result; the run does.
		rep.State = slots.Failed.String()
	}
	if !ch.run.single() {
		rep.Error = task.OneLine(ch.err.Error())
	}
}

// report is of a job that never was submitted.
func (ch *chain) report() JobReport {
	spec := ch.spec(0, 0)
	rep := JobReport{Name: spec.Name, Pool: spec.Pool, User: spec.User, State: slots.Killed.String(), SubmitS: -1, StartS: -1, MapsDoneS: -1, FinishS: -1}
	if ch.err != nil {
		rep.Error = task.OneLine(ch.err.Error())
		if !ch.killed {
			rep.State = slots.Failed.String()
		}
	}
	return rep
}

// settings adds what the engine was told to the Ledger's configuration.
func (r *run) settings(c *report.Config) {
	o := &r.o
	c.Trackers, c.MapSlots, c.ReduceSlots, c.MaxSlots = o.Trackers, o.MapSlots, o.ReduceSlots, o.MaxSlots
	c.TaskTimeoutS = seconds(o.TaskTimeout)
	c.ShuffleBytesPerSecond, c.DiskBytesPerSecond = o.ShuffleBytesPerSecond, o.DiskBytesPerSecond
	if o.RemotePenalty != slots.One {
		c.RemotePenalty = report.Share(o.RemotePenalty)
	}
	for _, s := range o.Slow {
		c.Slow = append(c.Slow, report.Slow{Tracker: s.Tracker, Factor: report.Share(s.Factor)})
	}
	c.DataPlane = &report.DataPlane{
		Pin: !o.NoPin, BlockBytes: r.blockBytes, MemoryBytes: o.MemoryBytes, SortBufferBytes: r.env.SortBufferBytes, SpillPercent: o.SpillPercent,
		BufferGrowth: !o.NoGrowth, GrowthThreshold: o.GrowthThreshold, MergeFactor: o.MergeFactor, Compress: o.Codec.String(),
	}
}

func seconds(d time.Duration) float64 { return d.Seconds() }
