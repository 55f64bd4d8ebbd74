package study

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/report"
)

// fastest returns the run with the shortest makespan, and of equal ones the first. There is at
// least one run.
func fastest(runs []*report.Report) *report.Report {
	return slices.MinFunc(runs, func(a, b *report.Report) int { return cmp.Compare(a.MakespanSeconds, b.MakespanSeconds) })
}

// tracker is the capacity of one tracker.
type tracker struct {
	cores       int
	memoryBytes int64 // 0: unknown
	diskBytes   int64 // a second; 0: unknown
}

// trackerOf returns the capacity of each tracker in run r. cpus is the number of CPUs of the machine.
func trackerOf(r *report.Report, cpus int) tracker {
	// The trackers share cores and memory equally. --disk-bw already is for each tracker.
	n := max(r.Config.Trackers, 1)
	t := tracker{cores: max(1, cpus/n), diskBytes: r.Config.DiskBytesPerSecond}
	// Only the report of a real run has a data plane. A simulation has no bound of memory.
	if r.Config.DataPlane != nil {
		t.memoryBytes = r.Config.MemoryBytes / int64(n)
	}
	return t
}

// profile returns the demand of the tasks of a job in shares of t. phases has what all tasks of the job
// used in each phase. copies is the number of map outputs that a reduce has copied at a time.
func (t tracker) profile(phases []report.Usage, copies int) report.JobProfile {
	shuffle := t.demand(phases, "copy")
	// The measured I/O is that of all copies of a reduce. The profile has that of one copy
	// [RAS11, section 3.6].
	shuffle.IO /= float64(copies)
	return report.JobProfile{Map: t.demand(phases, "none", "compute", "io"), Shuffle: shuffle, Reduce: t.demand(phases, "sort", "reduce")}
}

// demand returns the demand of a task in the named phases, as shares of t. CPU and I/O are averages
// over the time of these phases, and memory is the peak. A share is 0 if the capacity is unknown.
func (t tracker) demand(phases []report.Usage, names ...string) (d report.Demand) {
	var sum report.Usage
	for i := range phases {
		for _, name := range names {
			if phases[i].Phase == name {
				sum.Add(&phases[i])
			}
		}
	}
	// If no task had these phases, their time is 0.
	if sum.WallS > 0 {
		d.CPU = sum.CPUS / sum.WallS / float64(t.cores)
		if t.diskBytes > 0 {
			d.IO = float64(sum.ReadBytes+sum.WrittenBytes) / sum.WallS / float64(t.diskBytes)
		}
	}
	if t.memoryBytes > 0 {
		d.Memory = float64(sum.PeakBytes) / float64(t.memoryBytes)
	}
	return d
}

// profileText returns the text that mrlocal profile prints, in the form of a workload file. It begins
// with comments that have the makespans of all runs. The profile of each job of the chain follows,
// from the fastest run.
func profileText(runs []*report.Report, cpus int) []byte {
	var b bytes.Buffer
	best := fastest(runs)
	for _, r := range runs {
		mark := ""
		if r == best {
			mark = "  the fastest"
		}
		fmt.Fprintf(&b, "# %s: %.3f s%s\n", errs.Counted(r.Config.MapSlots, "map slot"), r.MakespanSeconds, mark)
	}
	t := trackerOf(best, cpus)
	disk := "I/O is not measured: --disk-bw says what a tracker's disk gives"
	if t.diskBytes > 0 {
		disk = fmt.Sprintf("%d bytes of I/O a second", t.diskBytes)
	}
	for i := range best.Jobs {
		// If the job has fewer maps, there are fewer outputs to copy.
		copies := cmp.Or(best.Config.ParallelCopies, slots.DefaultParallelCopies)
		p := t.profile(best.Jobs[i].Phases, max(1, min(copies, best.Jobs[i].Maps)))
		fmt.Fprintf(&b, "# %s: shares of %d cores and %d bytes; %s\nprofile: {map: %s, shuffle: %s, reduce: %s}\n",
			best.Jobs[i].Name, t.cores, t.memoryBytes, disk, shares(p.Map), shares(p.Shuffle), shares(p.Reduce))
	}
	return b.Bytes()
}

// shares writes a demand as shares of a tracker from 0 to 1, with at most six decimals.
func shares(d report.Demand) string {
	share := func(x float64) slots.PPM { return slots.PPM(max(0, min(x, 1))*float64(slots.One) + 0.5) }
	return fmt.Sprintf("{cpu: %v, io: %v, mem: %v}", share(d.CPU), share(d.IO), share(d.Memory))
}
