package engine

import (
	"context"

	"mrlocal/shuffle"
	"mrlocal/shuffle/rule"
	"mrlocal/slots"
)

// This file has what a reduce attempt does if it copies bytes (Options.CopyOutputs). Without the
// option a copy moves a reference, and all reading belongs to the sort and the reduce.

// inputPercent is the share of a slot's memory that copies may take in percent (Hadoop 1.0.3,
// mapred.job.shuffle.input.buffer.percent).
const inputPercent = 70

// newCopies returns what holds the copies of the attempt; nil: it copies references.
func (a *reduceAttempt) newCopies() *shuffle.Copies {
	if !a.run.o.CopyOutputs {
		return nil
	}
	return shuffle.NewCopies(int(a.id.Task), rule.ReduceMerges{
		MemoryBytes: a.run.budget.Limit() / int64(a.run.o.allSlots()) * inputPercent / 100, Factor: a.run.o.MergeFactor,
	})
}

// takeCopy copies the bytes of a map output, once. If the output lies on the tracker's disk, it waits as
// long as the disk needs.
func (a *reduceAttempt) takeCopy(mapTask int, out *shuffle.MapOutput) error {
	if a.copies.Has(mapTask) { // the map has run again, or the attempt has asked for more memory
		return nil
	}
	if out.OnDisk() {
		a.copyRead += out.Part(int(a.id.Task)).Bytes()
	}
	a.readSpills([]*shuffle.MapOutput{out})
	return a.forCopies(func(o shuffle.MergeOptions) error { return a.copies.Add(a.ctx, mapTask, out, o) })
}

// endCopies writes the copies that are still in memory to files, and waits until the disk has them
// (Hadoop 1.0.3, mapred.job.reduce.input.buffer.percent 0).
func (a *reduceAttempt) endCopies() error {
	err := a.forCopies(func(o shuffle.MergeOptions) error { return a.copies.Flush(a.ctx, o) })
	a.awaitDisk()
	if err == nil && a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	return err
}

// forCopies calls work under a lease of its own, because a reduce that waits for maps holds none.
// Meanwhile the budget may evict what the attempt has copied.
func (a *reduceAttempt) forCopies(work func(o shuffle.MergeOptions) error) error {
	if err := a.reserve(); err != nil {
		return err
	}
	defer func() {
		peak := &a.measured.phases[slots.PhaseCopy].PeakBytes
		*peak = max(*peak, a.lease.Peak()+a.copies.MemoryBytes())
		a.lease.Close()
		a.lease = nil
		a.leaveFDs()
	}()
	return work(a.mergeOptions(nil))
}
