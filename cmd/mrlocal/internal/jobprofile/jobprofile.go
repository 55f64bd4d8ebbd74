// Package jobprofile makes a job's profile, what one of its tasks needs of a
// tracker, out of runs of the job alone (mrlocal profile; RAS, SPEC 4.4 R12): of the
// run that was fastest, because there tasks compete for what is scarce, and do not
// hinder one another yet.
//
// It is pure. Neighbours: cmd/mrlocal runs the job, workload files take the profile.
package jobprofile

import (
	"bytes"
	"fmt"

	"mrlocal/report"
	"mrlocal/slots"
)

// parallelCopies is how many outputs a reduce copies at a time; the profile's
// shuffle is for one of them.
const parallelCopies = 5

// Fastest is the run with the least makespan, the first of equals.
func Fastest(runs []*report.Report) *report.Report {
	best := runs[0]
	for _, r := range runs {
		if r.MakespanSeconds < best.MakespanSeconds {
			best = r
		}
	}
	return best
}

// Tracker is what a tracker has; DiskBytes 0: nobody knows.
type Tracker struct {
	Cores                  int
	MemoryBytes, DiskBytes int64
}

// Of is what each tracker of a run had, of so many CPUs.
func Of(r *report.Report, cpus int) Tracker {
	n := max(r.Config.Trackers, 1)
	t := Tracker{Cores: max(1, cpus/n), DiskBytes: r.Config.DiskBytesPerSecond}
	if r.Config.DataPlane != nil {
		t.MemoryBytes = r.Config.MemoryBytes / int64(n)
	}
	return t
}

// Measured is the profile that a job's phases show.
func Measured(phases []report.Usage, t Tracker) report.Profile {
	shuffle := t.demand(phases, "copy")
	shuffle.IO /= parallelCopies
	return report.Profile{Map: t.demand(phases, "none", "compute", "io"), Shuffle: shuffle, Reduce: t.demand(phases, "sort", "reduce")}
}

// demand is what a task needs in some of its phases, on average over their time; of
// memory, what the one with the most had.
func (t Tracker) demand(phases []report.Usage, names ...string) (d report.Demand) {
	var sum report.Usage
	for i := range phases {
		for _, name := range names {
			if phases[i].Phase == name {
				sum.Add(&phases[i])
			}
		}
	}
	if sum.WallS > 0 {
		d.CPU = sum.CPUS / sum.WallS / float64(t.Cores)
		if t.DiskBytes > 0 {
			d.IO = float64(sum.ReadBytes+sum.WrittenBytes) / sum.WallS / float64(t.DiskBytes)
		}
	}
	if t.MemoryBytes > 0 {
		d.Memory = float64(sum.PeakBytes) / float64(t.MemoryBytes)
	}
	return d
}

// Text is the profile as a workload file has it, below what it rests on.
func Text(runs []*report.Report, cpus int) []byte {
	var b bytes.Buffer
	best := Fastest(runs)
	for _, r := range runs {
		mark := ""
		if r == best {
			mark = "  the fastest"
		}
		fmt.Fprintf(&b, "# %d map slots: %.3f s%s\n", r.Config.MapSlots, r.MakespanSeconds, mark)
	}
	t := Of(best, cpus)
	disk := "I/O is not measured: --disk-bw says what a tracker's disk gives"
	if t.DiskBytes > 0 {
		disk = fmt.Sprintf("%d bytes of I/O a second", t.DiskBytes)
	}
	for i := range best.Jobs {
		p := Measured(best.Jobs[i].Phases, t)
		fmt.Fprintf(&b, "# %s: shares of %d cores and %d bytes; %s\nprofile: {map: %s, shuffle: %s, reduce: %s}\n",
			best.Jobs[i].Name, t.Cores, t.MemoryBytes, disk, shares(p.Map), shares(p.Shuffle), shares(p.Reduce))
	}
	return b.Bytes()
}

// shares writes a demand, in parts per million and never more than the whole.
func shares(d report.Demand) string {
	share := func(x float64) slots.PPM { return slots.PPM(max(0, min(x, 1))*float64(slots.One) + 0.5) }
	return fmt.Sprintf("{cpu: %v, io: %v, mem: %v}", share(d.CPU), share(d.IO), share(d.Memory))
}
