package engine

import (
	"mrlocal/internal/errs"
	"mrlocal/internal/machine"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
)

// The types of the report, under the names that users of the engine know.
type (
	Report    = report.Report
	JobReport = report.JobReport
	Counters  = report.Counters
)

// report returns the report of the run; nil: nothing was started. err is the error with which
// the run ended. It is called before close, which releases the jobs.
func (r *run) report(err error) *Report {
	if r.coordinator == nil {
		return nil
	}
	ledger := r.coordinator.ledger
	for _, text := range []string{ledger.Refused(), setup.LateFaults(r.now(), len(r.coordinator.faults))} {
		if text != "" {
			r.o.Note(text)
		}
	}
	// A simulation reports the same facts of its Ledger. The rest of this function adds what
	// only the engine knows.
	rep := report.FromLedger(r.kind, ledger)
	rep.MakespanSeconds = r.now().Seconds()
	rep.PeakRSSBytes = machine.PeakRSSBytes()
	rep.AbandonedThreads = r.abandonedThreads
	r.used.Report(rep)
	r.settings(&rep.Config)
	// The Ledger numbers slots as the pool does.
	for i := range rep.Slots {
		// An extra slot that was never opened has no thread.
		if i < r.o.slotCount() || ledger.SlotTimes(slots.SlotID(i)).Starts > 0 {
			rep.Slots[i].Core = r.pool.Core(i)
		}
	}
	for _, j := range r.coordinator.jobs {
		j.report(rep)
	}
	// A chain that was never submitted has no job in the Ledger, and a report of its own.
	for _, ch := range r.chains {
		rep.ReaderGone = rep.ReaderGone || ch.readerGone
		if ch.lastID < 0 && !r.single() {
			rep.Jobs = append(rep.Jobs, ch.report())
		}
	}
	if rep.Notes = r.notes.All(); err != nil {
		rep.Error = err.Error()
	}
	return rep
}

// report adds to the job's entry in the report: its description, counters and phases, and the
// error of its chain.
func (j *job) report(r *Report) {
	j.countRecords()
	ch, rep := j.chain, &r.Jobs[j.id]
	spec := ch.spec(j.step, j.number, rep.Reduces)
	r.Describe(j.id, &spec)
	rep.Counters.Add(&j.counters)
	for phase, u := range j.usage {
		if u.Attempts > 0 {
			u.Phase = slots.Phase(phase).String()
			rep.Phases = append(rep.Phases, u)
		}
	}
	// Not all maps may be known of a job that failed, or of one that reads a stream and stopped early.
	if j.number == 0 && ch.err == nil && j.feeder == nil {
		for _, text := range setup.UnknownTasks(ch.run.o.Faults, ch.index, rep.Maps, rep.Reduces) {
			ch.note(text)
		}
	}
	if j.number > 0 && !ch.run.single() {
		rep.StepOf = ch.name()
	}
	// If a chain fails, its last job that was submitted has failed. The jobs before it succeeded.
	if ch.err == nil || ch.lastID != j.id {
		return
	}
	if !ch.cancelled {
		// The Ledger may have another state: killed if the engine aborted the job, or succeeded
		// if only the result could not be written.
		rep.State = slots.Failed.String()
	}
	if !ch.run.single() {
		rep.Error = errs.OneLine(ch.err.Error())
	}
}

// report returns the report of a chain of which no job was ever submitted.
func (ch *chain) report() JobReport {
	spec := ch.spec(0, 0, 0)
	rep := JobReport{Name: spec.Name, Pool: spec.Pool, User: spec.User, State: slots.Killed.String(), SubmitS: -1, StartS: -1, MapsDoneS: -1, FinishS: -1}
	if ch.err != nil {
		rep.Error = errs.OneLine(ch.err.Error())
		if !ch.cancelled {
			rep.State = slots.Failed.String()
		}
	}
	return rep
}

// settings adds the options of the engine to the configuration that the report shows.
func (r *run) settings(c *report.Config) {
	o := &r.o
	c.Set(&o.Config)
	c.TaskTimeoutS = o.TaskTimeout.Seconds()
	c.ShuffleBytesPerSecond = o.ShuffleBytesPerSecond
	c.DiskBytesPerSecond = o.DiskBytesPerSecond
	c.ParallelCopies = o.Copiers.Parallel
	c.CopyBytesPerSecond = o.Copiers.BytesPerSecond
	c.DataPlane = &report.DataPlane{
		Pin: !o.NoPin, BlockBytes: r.blockBytes, MemoryBytes: o.MemoryBytes, SortBufferBytes: r.sortBufferBytes, SpillPercent: o.SpillPercent,
		BufferGrowth: !o.NoGrowth, GrowthThreshold: o.GrowthThreshold, MergeFactor: o.MergeFactor, Compress: o.Codec.String(),
	}
}
