package engine

import (
	"time"

	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/report"
	"mrlocal/slots"
	"mrlocal/spill"
)

// The report's types, as those who run jobs name them.
type (
	Report     = report.Report
	JobReport  = report.Job
	SlotReport = report.Slot
	Counters   = report.Counters
)

// addBuffer adds what a kvbuffer counted.
func addBuffer(c *Counters, s spill.Stats) {
	c.MapOutputRecords += s.Records
	c.MapOutputBytes += s.Bytes
	c.CombineInputRecords += s.CombineIn
	c.CombineOutputRecords += s.CombineOut
	c.SpilledRecords += s.SpilledRecords
	c.SpilledBytes += s.SpilledBytes
	c.Spills += s.Spills
	c.KVBufferExpansions += s.Expansions
}

// report gathers the outcome of the run; err is how it ended.
func (r *run) report(err error) *Report {
	if r.coordinator == nil {
		return nil
	}
	ledger := r.coordinator.ledger
	rep := report.FromLedger("run", ledger)
	rep.MakespanSeconds, rep.PeakRSSBytes = seconds(r.now()), machine.PeakRSSBytes()
	rep.AbandonedThreads, rep.Notes = r.abandoned, r.notes
	r.settings(&rep.Config)
	for i := range rep.Slots {
		rep.Slots[i].Core = r.pool.Core(i)
	}
	for _, j := range r.jobs {
		if j.submitted {
			spec := j.spec()
			rep.Describe(j.id, &spec)
			j.report(&rep.Jobs[j.id])
		}
	}
	if err == nil {
		return rep
	}
	rep.Error = err.Error()
	if n := len(rep.Jobs); n > 0 && r.ctx.Err() == nil {
		// The Ledger ends a job that cannot go on as it ends one that is
		// cancelled; the run knows that it failed.
		rep.Jobs[n-1].State = slots.Failed.String()
	}
	return rep
}

// report adds what the data plane counted to the job's share of the report.
func (j *jobRun) report(rep *JobReport) {
	rep.Reduces = j.parts
	rep.Counters.Add(&j.counters)
	if counter, ok := j.releaser.(jobs.RecordCounter); ok {
		rep.Counters.ReduceOutputRecords = counter.Records()
	}
}

// settings adds what the engine was told to the Ledger's configuration.
func (r *run) settings(c *report.Config) {
	o := &r.o
	c.Trackers, c.MapSlots, c.ReduceSlots, c.MaxSlots = o.Trackers, o.MapSlots, o.ReduceSlots, o.MaxSlots
	c.TaskTimeoutS = seconds(o.TaskTimeout)
	c.DataPlane = &report.DataPlane{
		Pin: !o.NoPin, BlockBytes: r.plan.BlockBytes(), MemoryBytes: o.MemoryBytes, SortBufferBytes: r.sortBufferBytes, SpillPercent: o.SpillPercent,
		BufferGrowth: !o.NoGrowth, GrowthThreshold: o.GrowthThreshold, MergeFactor: o.MergeFactor, Compress: o.Codec.String(),
	}
}

func seconds(d time.Duration) float64 { return d.Seconds() }
