package sim

import (
	"cmp"
	"io"
	"math"
	"slices"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/sim/cost"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// Options say how a workload file is run. The zero value means cost L0, heartbeat 0,
// FIFO, and the file's own cluster.
type Options struct {
	// The fields of Config replace those of the file. MapSlots defaults to 2 and ReduceSlots
	// to 1.
	setup.Config

	Policy slots.Policy // nil: FIFO; it serves this run until Run returns

	// Heartbeat is the time between the heartbeats of a tracker, at least 1 ms. 0: the driver
	// asks the Ledger at once, whenever something has happened.
	Heartbeat time.Duration

	Cost string // "l0" (default), "l1", "l2" or "measured"

	// Measured has the times of the jobs under the cost measured; nil: those of the file.
	// Sizes returns the size of a stage of a job, and false to use the measured size; nil: all
	// sizes are as measured.
	Measured *workload.Measured
	Sizes    func(job string, stage int) (workload.Size, bool)
	NoPin    bool // slots are bound to no core, under the cost measured

	// The kvbuffer of maps under cost l2. 0 or "": as in the file.
	SortBufferBytes int64  // size at the start
	TaskMemoryBytes int64  // memory of a map's process, which bounds growth
	BufferGrowth    string // "on" or "off"

	Events io.Writer           // gets the event file; nil: none is written. Run does not close it
	Watch  func(*trace.Stream) // called before the first event, to attach readers; nil: none
	Note   func(string)        // gets warnings, one line each; nil: they are dropped

	// Alone: Run also runs each job by itself, to compute its slowdown. That takes about as
	// long again.
	Alone bool

	level      *level // of Cost; nil: Cost is unknown
	first      int    // the number of the file's first job, for drawn times (runAlone)
	mostEvents int64  // see bounds; 0: by the size of the run
}

// Fields returns the settings of o, without those of Config.
func (o *Options) Fields() []setting.Setting {
	return append(setting.In("SIMULATION", []setting.Setting{
		setting.Of("heartbeat", "Heartbeat", "`TIME` between the heartbeats of a tracker; 0: the policy is asked whenever something has happened", "0", setting.OrZero(&o.Heartbeat, setting.Time(&o.Heartbeat, leastHeartbeat))),
		setting.Of("cost", "Cost", "what takes time, `l0|l1|l2|measured`. l0: the times of the tasks. l1: also copying over the network. l2: also sharing the CPU, disk and network of a tracker. measured: what mrlocal profile has measured of real jobs on this machine", "l0", setting.Choice(&o.Cost, "l0", "l1", "l2", "measured")).InShortHelp(),
		setting.Of("alone", "Alone", "also run each job by itself, and report by how much the others slow it down (mean_slowdown)", "", setting.Toggle(&o.Alone)),
	}), setting.In("MEMORY", []setting.Setting{
		setting.Of("sort-buffer", "SortBufferBytes", "`SIZE` of the kvbuffer of a map at its start, under --cost l2", "the file's kvbuffer, else maps write their output once", setting.Size(&o.SortBufferBytes, leastBuffer, math.MaxInt64)),
		setting.Of("task-memory", "TaskMemoryBytes", "`SIZE` of a map's memory, which bounds the growth of its kvbuffer", "the file's", setting.Size(&o.TaskMemoryBytes, leastBuffer, math.MaxInt64)),
		setting.Of("buffer-growth", "BufferGrowth", "let kvbuffers grow (Dynamic Split): `on|off`", "the file's", setting.Choice(&o.BufferGrowth, "on", "off")),
	})...)
}

// leastBuffer is the least SortBufferBytes and TaskMemoryBytes.
const leastBuffer = 1 << 10

// withDefaults returns o with defaults for Cost and Note. ready sets those of the
// cluster later, because the file goes before them.
func (o Options) withDefaults() Options {
	all := levels()
	o.Cost = cmp.Or(o.Cost, all[0].name)
	if i := slices.IndexFunc(all, func(l level) bool { return l.name == o.Cost }); i >= 0 {
		o.level = &all[i]
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	return o
}

// Cluster returns the Config of a run of f, with its defaults.
func (o *Options) Cluster(f *workload.File) setup.Config {
	return o.Config.Or(f.Config).WithDefaults(2, 1)
}

// leastHeartbeat bounds the number of heartbeats per second of virtual time.
const leastHeartbeat = time.Millisecond

// validate checks the options that do not depend on the file. Its errors are of kind
// errs.BadOptions.
func (o *Options) validate() error {
	if err := setting.Check(o.Fields()); err != nil {
		return err
	}
	if o.Cost != "l2" && (o.SortBufferBytes > 0 || o.TaskMemoryBytes > 0 || o.BufferGrowth != "") {
		return errs.Fieldf("Options.SortBufferBytes, Options.TaskMemoryBytes, Options.BufferGrowth", "need %s l2, under which kvbuffers take time", errs.Field("Options.Cost"))
	}
	return nil
}

// check fails if f cannot be run under o, whose Config has its defaults. For example, a job has
// tasks of a kind that no slot may run. Then no home slot is of that kind, and the policy does
// not lend.
func check(f *workload.File, o *Options) error {
	if len(f.Jobs) == 0 {
		return errs.Inputf(f.Name, "has no jobs")
	}
	if err := cmp.Or(f.CheckTrackers(o.Trackers), o.Config.Check(len(f.Jobs))); err != nil {
		return err
	}
	if err := f.CheckSimulated(); err != nil {
		return err
	}
	if err := checkBuffers(f); err != nil {
		return err
	}
	if !o.level.machine { // a file with measured tasks does not give their numbers, so runAll notes such faults
		for i, x := range o.Faults {
			if x.Tracker >= 0 {
				continue
			}
			j := &f.Jobs[x.Job]
			for _, unknown := range setup.UnknownTasks(o.Faults[i:i+1], x.Job, j.Maps, j.Reduces) {
				return f.Errorf(j.Pos, "job "+j.Name, "%s", unknown)
			}
		}
	}
	if err := checkSize(f, o); err != nil {
		return err
	}
	home := [2]bool{slots.Map: o.MapSlots > 0, slots.Reduce: o.ReduceSlots > 0}
	lends := o.Policy.Traits().Lends
	for i := range f.Jobs {
		j := &f.Jobs[i]
		for k, n := range [2]int{slots.Map: j.Maps, slots.Reduce: j.Reduces} {
			kind := slots.Kind(k)
			if n > 0 && !home[kind] && !(lends && home[kind.Other()]) {
				return f.Errorf(j.Pos, "job "+j.Name, "has %s tasks, and there is no %s slot that could run them under %s", kind, kind, o.Policy.Traits().Name)
			}
		}
		if o.level.network && f.Cluster.NetBytes <= 0 && j.MapOutputBytes > 0 && j.Reduces > 0 {
			return f.Errorf(j.Pos, "job "+j.Name, "has map_output, and the cluster no net bandwidth to copy it over under cost %s; give cluster: {net: 125MB}", o.Cost)
		}
	}
	return nil
}

// predicted returns f with measured times for its jobs under the cost measured, and f itself
// under other costs. It fails if there are no measured times.
func (o *Options) predicted(f *workload.File) (*workload.File, error) {
	if !o.level.machine {
		return f, nil
	}
	m, sizes := cmp.Or(o.Measured, f.Measured), o.Sizes
	if m == nil {
		return nil, errs.Inputf(f.Name, "has no section measured, which the cost measured needs; make it with mrlocal profile %s -o FILE", f.Name)
	}
	if sizes == nil {
		sizes = func(string, int) (workload.Size, bool) { return workload.Size{}, false }
	}
	return f.Predicted(m, sizes)
}

// withBuffer returns f with the kvbuffer of the options. It copies f if it has to change it.
func (o *Options) withBuffer(f *workload.File) *workload.File {
	if o.SortBufferBytes == 0 && o.TaskMemoryBytes == 0 && o.BufferGrowth == "" {
		return f
	}
	changed := *f
	b := &changed.Cluster.Buffer
	b.StartBytes, b.MemoryBytes = cmp.Or(o.SortBufferBytes, b.StartBytes), cmp.Or(o.TaskMemoryBytes, b.MemoryBytes)
	if o.BufferGrowth != "" {
		b.Growth = o.BufferGrowth == "on"
	}
	return &changed
}

// checkBuffers fails if the kvbuffer of the file lacks a size that it needs, or if a map would
// spill more than cost.MostSpills times.
func checkBuffers(f *workload.File) error {
	b := &f.Cluster.Buffer
	switch {
	case b.StartBytes == 0 && (b.Growth || b.MemoryBytes > 0):
		return f.Errorf(workload.Pos{Line: 1, Column: 1}, "kvbuffer", "its size at the start is not given; write cluster: {kvbuffer: {start: 100MiB}}")
	case b.Growth && b.MemoryBytes == 0:
		return f.Errorf(workload.Pos{Line: 1, Column: 1}, "kvbuffer", "grows by the memory of a map, which is not given; write cluster: {kvbuffer: {memory: 512MiB}}")
	}
	for i := range f.Jobs {
		if n := cost.FillingOf(f, i).Spills; n > cost.MostSpills {
			return f.Errorf(f.Jobs[i].Pos, "job "+f.Jobs[i].Name, "a map spills %d times; at most %d", n, cost.MostSpills)
		}
	}
	return nil
}

// mostReplicas bounds the replicas of all map inputs together: Hadoop's three for each of the tasks
// that a file may have. The Ledger lists the maps of each tracker, and takes 4 GB for that many.
const mostReplicas = 120_000_000

// checkSize fails if the inputs of all maps together have too many replicas, or if nobody could read
// the events of that many tasks.
func checkSize(f *workload.File, o *Options) error {
	each := int64(min(o.Replicas, o.Trackers))
	var replicas, tasks int64
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if replicas += int64(j.Maps) * each; replicas > mostReplicas {
			return errs.Fieldf("Options.Replicas", "%d: with job %s the inputs have %d replicas; at most %d", o.Replicas, j.Name, replicas, mostReplicas)
		}
		tasks += int64(j.Maps) + int64(j.Reduces)
		if o.Events != nil && (tasks > trace.MaxTasks || tasks*trace.TaskBytes+int64(i+1)*trace.JobBytes > trace.MaxBytes) {
			return errs.Fieldf("Options.Events", "with job %s there are %d jobs and %d tasks; readers of events keep %dMiB and %d tasks at most; run without events",
				j.Name, i+1, tasks, trace.MaxBytes>>20, trace.MaxTasks)
		}
	}
	return nil
}

// Settings are what a user sets by name for a simulation: the cluster, the simulator and the policies.
// Experiments, the page and lessons read them from texts.
type Settings struct {
	Options  // without Policy
	Policies policy.Options
}

// NewSettings returns the settings of a user who has set none.
func NewSettings() Settings { return Settings{Policies: policy.DefaultOptions()} }

// Fields returns all settings. They have the names of the flags of mrlocal sim.
func (s *Settings) Fields() []setting.Setting {
	return slices.Concat(s.Config.Fields(setup.Simulated()), s.Options.Fields(), s.Policies.Fields())
}

// For returns the options of a run of f under a new policy of that name. It fails if there is no such
// policy, or if the policy refuses its options.
func (s Settings) For(f *workload.File, name string) (o Options, err error) {
	if !s.Policies.SlotWeights.Bound() {
		s.Policies.SlotWeights = f.SlotWeights()
	}
	s.LocalityDelay = s.Policies.LocalityDelay // both need it
	s.Policy, err = registry.New(name, s.Policies)
	return s.Options, err
}
