package sim_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal/internal/testkit"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/policytest"
	"mrlocal/trace"
	"mrlocal/workload"
)

// gate is FIFO that lets reduces leave their copy phase from a time on, one per
// visit where oneByOne is set.
type gate struct {
	fifo.FIFO
	from     time.Duration
	oneByOne bool
	kill     bool // what waits for the gate, once, before it opens
	killed   bool
	let      map[slots.SlotID]bool
}

func (*gate) HoldsCopy() bool { return true }

// Observe makes every change of phase a reason to decide.
func (*gate) Observe(slots.Fact) {}

func (g *gate) Decide(v *slots.View, d *slots.Decision) {
	g.FIFO.Decide(v, d)
	if v.Now() < g.from {
		d.WakeAt(g.from)
	}
	for id := range slots.SlotID(v.Slots()) {
		s := v.Slot(id)
		if !s.Busy {
			delete(g.let, id)
		}
		if !s.Busy || s.Phase != slots.PhaseCopy && s.Phase != slots.PhaseHeld {
			continue
		}
		if g.kill && !g.killed && v.Now() >= g.from {
			g.killed = true
			d.Reclaim(id)
			continue
		}
		if v.Now() < g.from || g.let[id] || g.oneByOne && len(g.let) > 0 {
			continue
		}
		g.let[id] = true
		d.Advance(id)
	}
}

// TestAGateLetsReducesLeaveTheirCopyPhase has maps until 10 s. Two reduces then copy for 2
// s each under L1, and for 4 s together under L2. After that they wait for the gate.
func TestAGateLetsReducesLeaveTheirCopyPhase(t *testing.T) {
	f := parse(t, "cluster: {trackers: 1, map_slots: 2, reduce_slots: 2, net: 10MB, cores: 8}", "defaults: {slowstart: 0}",
		"jobs: [{name: J, maps: 2, reduces: 2, map_time: 10s, reduce_time: 5s, map_output: 20MB}]")
	for _, c := range []struct {
		name string
		gate gate
		want map[string]float64
	}{
		{"it is open before anything is copied", gate{}, map[string]float64{"l0": 15, "l1": 17, "l2": 19}},
		{"it opens after all is copied", gate{from: 30 * time.Second}, map[string]float64{"l0": 35, "l1": 35, "l2": 35}},
		{"it lets one through at a time", gate{oneByOne: true}, map[string]float64{"l0": 20, "l1": 22, "l2": 24}},
		{"one that waits for it is killed, copies again and finds it open", gate{from: 30 * time.Second, kill: true}, map[string]float64{"l0": 35, "l1": 37, "l2": 37}},
	} {
		for cost, want := range c.want {
			g := c.gate
			g.FIFO, g.let = *fifo.New(), map[slots.SlotID]bool{}
			log := &policytest.Log{}
			r := run(t, f, sim.Options{Policy: &g, Cost: cost, Watch: func(s *trace.Stream) { s.Attach(log) }})
			if seconds(r) != want {
				t.Errorf("%s, %s: %v s, want %v s\n%s", c.name, cost, seconds(r), want, strings.Join(phases(log.Events), "\n"))
			}
		}
	}
	for _, cost := range []string{"l0", "l1", "l2"} {
		g := gate{FIFO: *fifo.New(), from: 1 << 61}
		if _, err := sim.Run(context.Background(), f, sim.Options{Policy: &g, Cost: cost}); err == nil {
			t.Errorf("%s: a gate that never opens: success", cost)
		}
	}
}

// TestShippedWorkloadsRunUnderL2 runs the files of bench/workloads with every resource
// short, under every policy. It records and replays the runs. A run with little CPU and
// disk must not be faster than one with enough, except by chance. The network of these runs
// is never short. Otherwise chance decides how many reduces come together on one tracker
// and share its network. That changes the makespan by up to a sixth either way (eight
// terasorts of omo-terasort under batch-finish). With a low slowstart the reduces of yarn and
// fair-containers take nearly all containers, and chance decides how few are left for maps. So
// these two start reduces after the maps. A large file runs under a fifth of the policies, the
// next one under another fifth. So all policies meet large files.
func TestShippedWorkloadsRunUnderL2(t *testing.T) {
	names, err := filepath.Glob("../bench/workloads/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for i, name := range names {
		f := shipped(t, filepath.Base(name))
		f.Jobs = slices.DeleteFunc(f.Jobs, func(j workload.ListedJob) bool { return j.Maps == 0 || !j.MapTime.Given() })
		maps := 0
		for k := range f.Jobs {
			j := &f.Jobs[k]
			maps += j.Maps
			j.MapOutputBytes, j.DiskBytes = max(j.MapOutputBytes, 16e6), 40e6
		}
		if len(f.Jobs) == 0 {
			continue // only for real
		}
		net := f.Cluster.NetBytes
		if net == 0 {
			net = 125e6
		}
		for k, p := range policies() {
			if maps > 500 && (i+k)%5 != 0 || (i+k)%8 > 0 && !testkit.Long() {
				continue
			}
			under := func(cores int, disk, net int64) float64 {
				f.Cluster.Cores, f.Cluster.DiskBytes, f.Cluster.NetBytes = cores, disk, net
				o := sim.Options{Policy: named(t, p), Cost: "l2"}
				if p == "yarn" || p == "fair-containers" {
					o.Slowstart = new(slots.PPM)
					*o.Slowstart = slots.One
				}
				return seconds(run(t, f, o))
			}
			if little, enough := under(4, 100e6, 1e12), under(0, 0, 1e12); little < enough*0.95 {
				t.Errorf("%s under %s: %v s with little, %v s with enough", name, p, little, enough)
			}
			f.Cluster.Cores, f.Cluster.DiskBytes, f.Cluster.NetBytes = 4, 100e6, net
			short, _, _ := recorded(t, f, sim.Options{Policy: named(t, p), Cost: "l2"})
			for _, j := range short.Jobs {
				if j.State != "succeeded" {
					t.Errorf("%s under %s: job %s %s", name, p, j.Name, j.State)
				}
			}
		}
	}
}
