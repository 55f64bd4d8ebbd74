package cost

import (
	"cmp"
	"time"

	"mrlocal/shuffle/rule"
	"mrlocal/slots"
	"mrlocal/workload"
)

// needs holds the needs of a job's tasks.
type needs struct {
	cpu, disk [2]uint64    // by kind: the caps in the units of a pool
	cpuShare  [2]slots.PPM // by kind: the cap in cores
	io        [2]ioPart    // by kind
	filling   Filling      // of a map
	merged    rule.Merged  // bytes that a reduce merges; zero: it moves its copied bytes once
	copied    int64        // bytes that a reduce copies
	memory    [3]uint64    // of a map, of a reduce while it copies, of a reduce that sorts or reduces; in ppm of a tracker
}

// ioPart says how much of a task's time is its I/O period. It is the fraction part/whole of
// the time, or else most, but at most the whole time.
type ioPart struct {
	most        time.Duration
	part, whole int64 // whole 0: most counts
}

// of returns the length of the I/O period of a task that takes took in total.
func (p *ioPart) of(took time.Duration) time.Duration {
	if p.whole > 0 {
		return Scaled(int64(took), p.part, p.whole)
	}
	return min(took, p.most)
}

// newNeeds returns the needs of a job's tasks. copied is the number of bytes that each reduce
// copies. The needs are the job's cpu and disk. If the job has neither, they follow from its load,
// or else from its profile, whose shares are averages over the whole task. For example, a task needs the share
// c of the CPU and i of the disk on average, one after the other. It computes for c/(c+i) of
// its time and then needs c+i of the CPU. It writes for i/(c+i) of its time and then needs c+i
// of the disk.
func newNeeds(c *workload.Cluster, j *workload.ListedJob, copied int64) (n needs) {
	cores, disk := uint64(c.Cores)*uint64(slots.One), uint64(c.DiskBytes)
	profile := cmp.Or(j.Load, j.Profile, &slots.Profile{})
	n.memory = [3]uint64{uint64(profile.Map.Memory), uint64(profile.Shuffle.Memory), uint64(profile.Reduce.Memory)}
	bytes := [2]int64{slots.Map: j.MapOutputBytes, slots.Reduce: copied}
	for k, needs := range [2]slots.Vector{slots.Map: profile.Map, slots.Reduce: profile.Reduce} {
		cpu := uint64(slots.One)
		io := uint64(0)
		both := uint64(needs.CPU) + uint64(needs.IO)
		switch {
		case j.CPU > 0 || j.DiskBytes > 0 || both == 0:
			if j.CPU > 0 {
				cpu = uint64(j.CPU)
			}
			if io = uint64(j.DiskBytes); io > 0 {
				if disk > 0 {
					io = min(io, disk)
				}
				n.io[k].most = Scaled(bytes[k], int64(time.Second), int64(io))
			}
		default:
			cpu = shareOf(cores, both)
			io = shareOf(disk, both)
			n.io[k].part, n.io[k].whole = int64(needs.IO), int64(both)
		}
		if cores > 0 {
			cpu = min(cpu, cores)
		}
		n.cpuShare[k] = slots.PPM(cpu)
		_, n.cpu[k] = capacities(cores, cpu)
		_, n.disk[k] = capacities(disk, io)
	}
	return n
}

// shareOf returns a share, capped at the whole, of an amount.
func shareOf(amount, share uint64) uint64 {
	if amount == 0 {
		return 0
	}
	return uint64(Scaled(int64(amount), int64(min(share, uint64(slots.One))), int64(slots.One)))
}

// partOf returns a share of a capacity. It is never 0, which would mean no limit.
func partOf(capacity uint64, share slots.PPM) uint64 {
	if capacity == 0 || share == slots.One {
		return capacity
	}
	return max(1, uint64(Scaled(int64(capacity), int64(share), int64(slots.One))))
}
