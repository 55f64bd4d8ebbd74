package command

import (
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/errs"
	"mrlocal/sim"
)

// VirtualFlags returns the flags that only simulations have: the heartbeat, the cost level, the seed
// and --alone. ReadVirtual reads them, except --seed, which Reader.Scheduling reads.
func VirtualFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("heartbeat", "`TIME` between the heartbeats of a tracker; 0: the policy is asked whenever something has happened", "0"),
		argv.ValueSpec("cost", "what takes time, `l0|l1|l2|measured`. l0: the times of the tasks. l1: also copying over the network. l2: also sharing the CPU, disk and network of a tracker. measured: what mrlocal profile has measured of real jobs on this machine", "l0"),
		argv.ValueSpec("seed", "seed `N` of drawn times and of the placement", "1"),
		argv.ToggleSpec("alone", "", "also run each job by itself, and report by how much the others slow it down (mean_slowdown)"),
	}
}

// BufferFlags returns the flags of simulated kvbuffers. A command that also makes real runs takes
// EngineFlags instead. Those have flags of the same names.
func BufferFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("sort-buffer", "`SIZE` of the kvbuffer of a map at its start, under --cost l2", "the file's kvbuffer, else maps write their output once"),
		argv.ValueSpec("task-memory", "`SIZE` of a map's memory, which bounds the growth of its kvbuffer", "the file's"),
		argv.ValueSpec("buffer-growth", "let kvbuffers grow (Dynamic Split): `on|off`", "the file's"),
	}
}

// ReadVirtual reads VirtualFlags, except --seed.
func ReadVirtual(r *argv.Reader) sim.Options {
	return sim.Options{Heartbeat: r.Time("heartbeat", true), Cost: r.Choice("cost", "l0", "l1", "l2", "measured"), Alone: r.Line.Has("alone")}
}

// ReadBuffers reads BufferFlags into o. It refuses them unless o.Cost, which ReadVirtual sets, is l2.
// A flag that was not given leaves the value of the workload file in force.
func ReadBuffers(r *argv.Reader, o *sim.Options) {
	const leastBytes = 1 << 10
	o.SortBufferBytes, o.TaskMemoryBytes = r.Size("sort-buffer", leastBytes), r.Size("task-memory", leastBytes)
	if r.Line.Has("buffer-growth") {
		o.BufferGrowth = r.Choice("buffer-growth", "on", "off")
	}
	if o.Cost != "l2" && (o.SortBufferBytes > 0 || o.TaskMemoryBytes > 0 || o.BufferGrowth != "") {
		r.Keep(errs.Optionf("--sort-buffer, --task-memory, --buffer-growth", "need --cost l2, under which kvbuffers take time"))
	}
}
