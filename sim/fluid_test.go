package sim_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// cluster is a slow model of L2 for a whole run. It gets the starts and kills of a run, and steps
// from one change to the next. At each step it computes the rate of every attempt. Times are in
// seconds. Its ends and changes of phase must be those of the run.
type cluster struct {
	file     *workload.File
	seed     uint64
	now      float64
	attempts []*literal
	outputs  map[int]int     // of a job, that are there
	done     map[[2]int]bool // maps of jobs, whose outputs these are
	reported map[string]float64
}

// literal is one attempt.
type literal struct {
	Kind    slots.Kind
	Task    slots.TaskID
	name    string // in reported
	job     int    // of the file
	tracker int
	copying bool
	copied  float64 // seconds alone, as all here
	cpu, io float64 // left
	phase   slots.Phase
	rate    float64
}

const almost = 1e-9

// need is a job's cap of a resource and its memory, by docs/workloads.md.
func (c *cluster) need(a *literal) (cpu, disk, memory float64) {
	j, k := &c.file.Jobs[a.job], &c.file.Cluster
	cpu = 1
	var p slots.Vector
	if j.Profile != nil {
		if p = j.Profile.Map; a.Kind == slots.Reduce {
			p = j.Profile.Reduce
		}
		if memory = float64(p.Memory) / 1e6; a.copying {
			memory = float64(j.Profile.Shuffle.Memory) / 1e6
		}
	}
	if j.CPU > 0 {
		cpu = float64(j.CPU) / 1e6
	}
	disk = float64(j.DiskBytes)
	if both := float64(p.CPU+p.IO) / 1e6; j.CPU == 0 && j.DiskBytes == 0 && both > 0 {
		cpu, disk = both*float64(k.Cores), math.Floor(both*float64(k.DiskBytes))
	}
	if k.Cores > 0 {
		cpu = min(cpu, float64(k.Cores))
	}
	if k.DiskBytes > 0 {
		disk = min(disk, float64(k.DiskBytes))
	}
	return cpu, disk, memory
}

// begin gives an attempt the work that it has after its copy.
func (c *cluster) begin(a *literal) {
	j := &c.file.Jobs[a.job]
	times, bytes := j.MapTime, float64(j.MapOutputBytes)
	var p slots.Vector
	if j.Profile != nil {
		p = j.Profile.Map
	}
	if a.Kind == slots.Reduce {
		times, bytes = j.ReduceTime, c.part(a.job, j.Maps)
		if j.Profile != nil {
			p = j.Profile.Reduce
		}
	}
	took := times.At(c.seed, a.job, a.Kind == slots.Reduce, int(a.Task)).Seconds()
	if _, disk, _ := c.need(a); j.DiskBytes > 0 {
		a.io = min(took, bytes/disk)
	} else if j.CPU == 0 && p.CPU+p.IO > 0 {
		a.io = took * float64(p.IO) / float64(p.CPU+p.IO)
	}
	a.io = whole(a.io)
	for _, s := range c.file.Slow {
		if s.Tracker == a.tracker && took > 0 {
			slow := whole(took / float64(s.Factor) * 1e6)
			took, a.io = slow, whole(a.io/took*slow)
		}
	}
	a.cpu = took - a.io
}

// whole rounds a time down to whole nanoseconds, like all times of tasks. A fraction of a
// nanosecond of work matters, because attempts may share a tenth of a core.
func whole(s float64) float64 { return math.Floor(s*1e9+1e-4) / 1e9 }

// part is the bytes of n outputs of a job that are for one reduce.
func (c *cluster) part(job, n int) float64 {
	j := &c.file.Jobs[job]
	if j.Reduces == 0 {
		return 0
	}
	return math.Floor(float64(n) * float64(j.MapOutputBytes) / float64(j.Reduces))
}

// has returns the capacity of a tracker's cores, disk and memory; 0: always enough.
func (c *cluster) has(tracker int) [3]float64 {
	has := [3]float64{float64(c.file.Cluster.Cores), float64(c.file.Cluster.DiskBytes), 1}
	for _, own := range c.file.Capacities {
		if int(own.Tracker) == tracker {
			for i, share := range []slots.PPM{own.CPU, own.IO, own.Memory} {
				has[i] *= float64(share) / 1e6
			}
		}
	}
	return has
}

// wanted returns the sum of what the attempts would use of a resource, each alone.
func wanted(all []*literal, there float64, limit func(*literal) float64) (sum float64) {
	for _, a := range all {
		sum += min(limit(a), there)
	}
	return sum
}

// beyond returns the speed of a resource with too much demand. Demand that exceeds the capacity by
// the whole capacity costs the given loss.
func beyond(wanted, there float64, loss slots.PPM) float64 {
	if there == 0 || wanted <= there {
		return 1
	}
	return 1 / (1 + float64(loss)/1e6*(wanted/there-1))
}

// toCopy returns what a reduce could copy now, and what it has to copy in all, in seconds alone.
func (c *cluster) toCopy(a *literal) (now, all float64) {
	job := a.job
	if c.part(job, 1) == 0 && c.part(job, c.file.Jobs[job].Maps) == 0 {
		return 0, 0
	}
	net := float64(c.file.Cluster.NetBytes)
	return c.part(job, c.outputs[job]) / net, c.part(job, c.file.Jobs[job].Maps) / net
}

// rates sets the rate of each attempt, and returns the time until the first of them ends its
// period.
func (c *cluster) rates() (next float64) {
	next = math.Inf(1)
	byTracker := map[int][]*literal{}
	for _, a := range c.attempts {
		byTracker[a.tracker] = append(byTracker[a.tracker], a)
	}
	for _, all := range byTracker {
		var onCPU, onDisk []*literal
		memory, copying := 0.0, 0.0
		for _, a := range all {
			_, _, m := c.need(a)
			memory += m
			there, _ := c.toCopy(a)
			switch a.rate = 0; {
			case a.copying:
				if there > a.copied+almost {
					copying++
				}
			case a.computes():
				onCPU = append(onCPU, a)
			default:
				onDisk = append(onDisk, a)
			}
		}
		has, lost := c.has(all[0].tracker), &c.file.Cluster.Overcommit
		speed := beyond(memory, has[2], lost.Memory)
		if memory > has[2] && len(onCPU) > 0 && len(onDisk) > 0 {
			speed *= (1 + has[2]/memory) / 2
		}
		cpu := func(a *literal) float64 { cpu, _, _ := c.need(a); return cpu }
		disk := func(a *literal) float64 { _, disk, _ := c.need(a); return disk }
		fill(onCPU, has[0], speed*beyond(wanted(onCPU, has[0], cpu), has[0], lost.CPU), cpu)
		fill(onDisk, has[1], speed*beyond(wanted(onDisk, has[1], disk), has[1], lost.IO), disk)
		for _, a := range all {
			left := a.io
			if a.computes() {
				left = a.cpu
			}
			if a.copying {
				there, _ := c.toCopy(a)
				if left = there - a.copied; left <= almost {
					continue
				}
				a.rate = 1 / copying
			}
			next = min(next, left/a.rate)
		}
	}
	return next
}

func (a *literal) computes() bool {
	return a.cpu > almost && (a.Kind == slots.Map || a.io <= almost)
}

func fill(all []*literal, capacity, speed float64, limit func(*literal) float64) {
	slices.SortStableFunc(all, func(a, b *literal) int {
		switch x, y := limit(a), limit(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	rest := capacity
	for i, a := range all {
		got := limit(a)
		if capacity > 0 {
			got = min(got, rest/float64(len(all)-i))
		}
		rest -= got
		if a.rate = speed; limit(a) > 0 {
			a.rate = got / limit(a) * speed
		}
	}
}

// changes begins the next period of each attempt that has ended one.
func (c *cluster) changes() (changed bool) {
	for _, a := range slices.Clone(c.attempts) {
		if there, all := c.toCopy(a); a.copying && c.outputs[a.job] == c.file.Jobs[a.job].Maps && a.copied >= min(there, all)-almost {
			a.copying = false
			c.begin(a)
			changed = true
		}
		if a.copying {
			continue
		}
		phase := slots.PhaseNone
		switch computes := a.computes(); {
		case computes && a.Kind == slots.Map:
			phase = slots.PhaseCompute
		case computes:
			phase = slots.PhaseReduce
		case a.io > almost && a.Kind == slots.Map:
			phase = slots.PhaseIO
		case a.io > almost:
			phase = slots.PhaseSort
		}
		if phase == slots.PhaseNone {
			c.reported[a.name+" ends"] = c.now
			c.attempts = slices.DeleteFunc(c.attempts, func(o *literal) bool { return o == a })
			if task := [2]int{a.job, int(a.Task)}; a.Kind == slots.Map && !c.done[task] { // else a copy has lost the race
				c.done[task] = true
				c.outputs[a.job]++
			}
			changed = true
		} else if phase != a.phase {
			a.phase = phase
			c.reported[fmt.Sprintf("%s %v", a.name, phase)] = c.now
			changed = true
		}
	}
	return changed
}

// until lets time pass.
func (c *cluster) until(end float64) {
	for c.changes() {
	}
	for c.now < end-almost {
		took := min(c.rates(), end-c.now)
		c.now += took
		for _, a := range c.attempts {
			switch done := took * a.rate; {
			case a.copying:
				a.copied += done
			case a.computes():
				a.cpu -= done
			default:
				a.io -= done
			}
		}
		for c.changes() {
		}
	}
}

// agrees runs the literal cluster with a run's starts and kills, and compares its
// ends and changes of phase with the run's, to the microsecond. Where overcommitment costs
// speed, an end that is a nanosecond late makes other ends later still. There it compares
// only the first 100 s, and not as closely. The file has no faults and no input with a
// place.
func agrees(t tester, f *workload.File, seed uint64, perTracker, fileJob []int, events []trace.Event) {
	t.Helper()
	c := cluster{file: f, seed: seed, outputs: map[int]int{}, done: map[[2]int]bool{}, reported: map[string]float64{}}
	name := func(e *trace.Event) string { return fmt.Sprintf("%d/%v/%d/%d", e.Job, e.Kind, e.Task, e.N) }
	for i := range events {
		e := &events[i]
		switch {
		case e.Op == trace.OpStart:
			c.until(e.At.Seconds())
			a := &literal{tracker: perTracker[e.Slot], name: name(e)}
			a.job, a.Kind, a.Task = fileJob[e.Job], e.Kind, slots.TaskID(e.Task)
			if a.copying = e.Kind == slots.Reduce; !a.copying {
				c.begin(a)
			}
			c.attempts = append(c.attempts, a)
		case e.Op == trace.OpFinish && e.Has(trace.Killed):
			c.until(e.At.Seconds())
			c.attempts = slices.DeleteFunc(c.attempts, func(o *literal) bool { return o.name == name(e) })
		}
	}
	c.until(events[len(events)-1].At.Seconds() + 1)
	near, until := 1e-6, time.Duration(math.MaxInt64)
	if f.Cluster.Overcommit != (workload.Overcommit{}) {
		near, until = 1e-4, 100*time.Second
	}
	for i := range events {
		e := &events[i]
		if e.At > until {
			break
		}
		what := name(e) + " ends"
		switch {
		case e.Op == trace.OpPhase && e.Phase != slots.PhaseCopy:
			what = fmt.Sprintf("%s %v", name(e), e.Phase)
		case e.Op != trace.OpFinish || e.Has(trace.Killed):
			continue
		}
		at, ok := c.reported[what]
		if e.Op == trace.OpPhase && e.Phase == slots.PhaseReduce && !ok {
			continue // it reduces in no time
		}
		if !ok || math.Abs(at-e.At.Seconds()) > near {
			t.Fatalf("%s at %v, want %v s (%v)", what, e.At, at, ok)
		}
	}
}

// TestARunIsTheFluidThatItStandsFor draws clusters and jobs, slow trackers and killed tasks.
// Under every policy without a gate, all periods begin and end at the times of the literal
// cluster.
func TestARunIsTheFluidThatItStandsFor(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		f := parse(rt, drawWorkload(rt, false)...)
		f.Replicas = 0
		slowstart := rapid.SampledFrom([]slots.PPM{0, slots.One / 2, slots.One}).Draw(rt, "slowstart")
		for _, name := range policies() {
			if g, ok := named(rt, name).(slots.PhaseGate); ok && g.HoldsCopy() {
				continue // the cluster does not know when reduces may leave their copy phase
			}
			fluidly(rt, f, sim.Options{Policy: named(rt, name), Config: setup.Config{Slowstart: &slowstart}, Cost: "l2"})
		}
	})
}

// fluidly runs f and compares.
func fluidly(t tester, f *workload.File, o sim.Options) (r *report.Report, events []trace.Event) {
	t.Helper()
	log := &policytest.Log{}
	o.Watch = func(s *trace.Stream) { s.Attach(log) }
	r = run(t, f, o)
	perTracker := make([]int, len(r.Slots))
	for i, s := range r.Slots {
		perTracker[i] = s.Tracker
	}
	fileJob := make([]int, len(r.Jobs))
	for i, j := range r.Jobs {
		fileJob[i] = slices.IndexFunc(f.Jobs, func(o workload.ListedJob) bool { return o.Name == j.Name })
	}
	agrees(t, f, 1, perTracker, fileJob, log.Events)
	return r, log.Events
}

// reaper starts all tasks. After a given time it kills one attempt in a given phase.
type reaper struct {
	fifo.FIFO
	at     time.Duration
	phase  slots.Phase
	reaped bool
}

func (p *reaper) Decide(v *slots.View, d *slots.Decision) {
	p.FIFO.Decide(v, d)
	if v.Now() < p.at {
		d.WakeAt(p.at)
		return
	}
	for id := range slots.SlotID(v.Slots()) {
		if s := v.Slot(id); !p.reaped && s.Busy && s.Phase == p.phase {
			d.Reclaim(id)
			p.reaped = true
		}
	}
}

// TestAKilledTaskLeavesItsPartInEachPeriod: undisturbed, two maps compute until 12 s and write
// until 20 s. Two reduces copy until 28 s, sort until 36 s and reduce until 40 s. One is killed,
// and its work begins anew along with the other's.
func TestAKilledTaskLeavesItsPartInEachPeriod(t *testing.T) {
	f := parse(t, "cluster: {trackers: 1, map_slots: 2, reduce_slots: 2, cores: 1, disk: 10MB, net: 10MB}",
		"jobs: [{name: J, maps: 2, reduces: 2, map_time: 10s, reduce_time: 6s, map_output: 40MB, disk: 10MB}]")
	for _, c := range []struct {
		phase slots.Phase
		at    time.Duration
	}{
		{slots.PhaseCompute, 6 * time.Second}, {slots.PhaseIO, 16 * time.Second},
		{slots.PhaseCopy, 24 * time.Second}, {slots.PhaseSort, 32 * time.Second}, {slots.PhaseReduce, 38 * time.Second},
	} {
		r, events := fluidly(t, f, sim.Options{Policy: &reaper{FIFO: *fifo.New(), at: c.at, phase: c.phase}, Cost: "l2"})
		killed := slices.ContainsFunc(events, func(e trace.Event) bool { return e.Op == trace.OpFinish && e.Has(trace.Killed) && e.At == c.at })
		if !killed || r.Jobs[0].State != "succeeded" {
			t.Errorf("%v at %v: killed %v, %v s", c.phase, c.at, killed, seconds(r))
		}
	}
}

// TestWithoutContentionL2IsL1 has enough cores and disk for all tasks, and a network for
// each reduce. Every attempt starts and ends as under L1, to the nanosecond. With outputs
// of no bytes, it does so as under L0. Only L2 reports I/O periods, and without heartbeats
// it asks at their ends too:
//
//   - dynsplit opens its additional map slots in them. It is compared without such slots.
//   - omo and its parts close a window of releases and bring deficits up to date. late and
//     dynamicmr look at running tasks, and ras places tasks anew. Each does so at the first
//     question after it is due. They are compared with heartbeats, where both levels ask at the
//     same instants.
//   - The others that learn (fresh) do so from facts alone.
func TestWithoutContentionL2IsL1(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		f := parse(rt, drawWorkload(rt, true)...)
		f.Cluster.Cores, f.Cluster.DiskBytes = 1000, 1<<40
		o := sim.Options{
			Config:    setup.Config{Slowstart: rapid.SampledFrom([]*slots.PPM{nil, new(slots.PPM)}).Draw(rt, "slowstart"), RemotePenalty: rapid.SampledFrom([]slots.PPM{0, 3 * slots.One}).Draw(rt, "penalty")},
			Heartbeat: rapid.SampledFrom([]time.Duration{0, 0, 2 * time.Second}).Draw(rt, "heartbeat"),
		}
		names := policies()
		cost := rapid.SampledFrom([]string{"l0", "l1"}).Draw(rt, "cost")
		if cost == "l1" {
			names = []string{"fifo", "fair"} // others put reduces on map slots as well
			o.ReduceSlots = 1
		}
		for i := range f.Jobs {
			if cost == "l0" {
				f.Jobs[i].MapOutputBytes = 0
			}
			if p := f.Jobs[i].Profile; p != nil {
				all := *p
				all.Map, all.Reduce = slots.Vector{CPU: 9, IO: 20}, slots.Vector{CPU: 3, IO: 70}
				f.Jobs[i].Profile = &all
			}
		}
		for _, name := range names {
			o.Policy = named(rt, name)
			switch name {
			case "dynsplit":
				o.Policy = withoutAdditionalSlots(rt)
			case "fair-containers", "lazy-start", "batch-finish", "omo", "late", "dynamicmr", "ras":
				if o.Heartbeat == 0 {
					continue
				}
			}
			o.Cost = cost
			_, want, _ := recorded(rt, f, o)
			o.Cost = "l2"
			_, got, _ := recorded(rt, f, o)
			if a, b := startsAndEnds(want), startsAndEnds(got); !slices.Equal(a, b) {
				rt.Fatalf("%s: %s:\n%v\nl2:\n%v", name, cost, a, b)
			}
		}
	})
}

func withoutAdditionalSlots(t tester) slots.Policy {
	o := policy.DefaultOptions()
	o.AdditionalMapSlots = 0
	p, err := registry.New("dynsplit", o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// startsAndEnds are the facts and starts of a run, without what only L2 reports.
func startsAndEnds(events []trace.Event) (lines []string) {
	for _, e := range events {
		if e.Op == trace.OpStart || e.Op == trace.OpFinish || e.Op == trace.OpJobEnd || e.Op == trace.OpKill {
			lines = append(lines, fmt.Sprintf("%v %v %d/%v/%d/%d on %d %d %d\n", e.At, e.Op, e.Job, e.Kind, e.Task, e.N, e.Slot, e.Flags, e.A))
		}
	}
	return lines
}
