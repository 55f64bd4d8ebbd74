package measure

import (
	"bytes"
	"fmt"

	"mrlocal/report"
	"mrlocal/slots"
)

// parallelCopies is the number of map outputs that a reduce copies at a time
// (Hadoop 1.0.3, mapred.reduce.parallel.copies). The shuffle of a profile is for
// one copy.
const parallelCopies = 5

// fastest returns the run with the least makespan, the first of equals.
func fastest(runs []*report.Report) *report.Report {
	best := runs[0]
	for _, r := range runs {
		if r.MakespanSeconds < best.MakespanSeconds {
			best = r
		}
	}
	return best
}

// tracker is the capacity of one tracker.
type tracker struct {
	cores       int
	memoryBytes int64 // 0: not known
	diskBytes   int64 // a second; 0: not known
}

// trackerOf returns what each tracker of a run had on a machine with so many CPUs.
func trackerOf(r *report.Report, cpus int) tracker {
	// The trackers share cores and memory equally. The bandwidth of --disk-bw is that of each
	// tracker.
	n := max(r.Config.Trackers, 1)
	t := tracker{cores: max(1, cpus/n), diskBytes: r.Config.DiskBytesPerSecond}
	// Only a real run has a data plane with a memory bound.
	if r.Config.DataPlane != nil {
		t.memoryBytes = r.Config.MemoryBytes / int64(n)
	}
	return t
}

// profile returns what a task of a job needs, from what its phases used.
func (t tracker) profile(phases []report.Usage) report.JobProfile {
	shuffle := t.demand(phases, "copy")
	// The workload file wants the I/O of one copy; the measured one is that of all copies of a
	// reduce.
	shuffle.IO /= parallelCopies
	return report.JobProfile{Map: t.demand(phases, "none", "compute", "io"), Shuffle: shuffle, Reduce: t.demand(phases, "sort", "reduce")}
}

// demand returns what a task needs in some of its phases: CPU and I/O on average
// over their time, memory at the peak.
func (t tracker) demand(phases []report.Usage, names ...string) (d report.Demand) {
	var sum report.Usage
	for i := range phases {
		for _, name := range names {
			if phases[i].Phase == name {
				sum.Add(&phases[i])
			}
		}
	}
	// A phase that never ran needs nothing.
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

// profileText returns the profile of the fastest run as a workload file has it,
// below comments with the times of all runs.
func profileText(runs []*report.Report, cpus int) []byte {
	var b bytes.Buffer
	best := fastest(runs)
	for _, r := range runs {
		mark := ""
		if r == best {
			mark = "  the fastest"
		}
		fmt.Fprintf(&b, "# %s: %.3f s%s\n", count(r.Config.MapSlots, "map slot"), r.MakespanSeconds, mark)
	}
	t := trackerOf(best, cpus)
	disk := "I/O is not measured: --disk-bw says what a tracker's disk gives"
	if t.diskBytes > 0 {
		disk = fmt.Sprintf("%d bytes of I/O a second", t.diskBytes)
	}
	// Each job of a chain has a profile of its own.
	for i := range best.Jobs {
		p := t.profile(best.Jobs[i].Phases)
		fmt.Fprintf(&b, "# %s: shares of %d cores and %d bytes; %s\nprofile: {map: %s, shuffle: %s, reduce: %s}\n",
			best.Jobs[i].Name, t.cores, t.memoryBytes, disk, shares(p.Map), shares(p.Shuffle), shares(p.Reduce))
	}
	return b.Bytes()
}

// shares writes a demand as shares of a tracker, at most 1, with six digits.
func shares(d report.Demand) string {
	share := func(x float64) slots.PPM { return slots.PPM(max(0, min(x, 1))*float64(slots.One) + 0.5) }
	return fmt.Sprintf("{cpu: %v, io: %v, mem: %v}", share(d.CPU), share(d.IO), share(d.Memory))
}
