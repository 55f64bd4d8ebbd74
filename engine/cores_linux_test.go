package engine_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"mrlocal/engine"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/jobs/sleep"
	"mrlocal/slots/setup"
)

// TestCoresOfARealRunAreReported: the report has the shares of user, sys, iowait and idle of
// all cores, for the run and its map phase. The events have them for every second.
func TestCoresOfARealRunAreReported(t *testing.T) {
	wait := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	chain, err := sleep.New(sleep.Options{Maps: 2, Reduces: 1, MapTime: wait(700 * time.Millisecond), ReduceTime: wait(500 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	var events bytes.Buffer
	_, r := must(t, jobs.Chain(chain), engine.Options{Policy: newPolicy(t, "fair"), Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 64 << 20, Events: &events})
	if r.CPU == nil || r.CPU.Source != "/proc/stat" || r.CPU.Cores < 1 {
		t.Fatalf("%+v, notes %q", r.CPU, r.Notes)
	}
	for name, s := range map[string]struct{ sum, idle float64 }{
		"run":       {r.CPU.Run.User + r.CPU.Run.System + r.CPU.Run.IOWait + r.CPU.Run.Idle, r.CPU.Run.Idle},
		"map phase": {r.CPU.MapPhase.User + r.CPU.MapPhase.System + r.CPU.MapPhase.IOWait + r.CPU.MapPhase.Idle, r.CPU.MapPhase.Idle},
	} {
		if math.Abs(s.sum-1) > 1e-9 || s.idle < 0 || s.idle > 1 {
			t.Errorf("%s: %+v of %+v", name, s, r.CPU)
		}
	}
	var all float64
	for line := range bytes.Lines(events.Bytes()) {
		var raw map[string]any
		if json.Unmarshal(line, &raw) != nil || raw["op"] != "cores" {
			continue
		}
		for _, name := range []string{"user_ns", "sys_ns", "iowait_ns", "idle_ns"} {
			n, _ := raw[name].(float64)
			all += n
		}
	}
	if seconds := all / 1e9 / float64(r.CPU.Cores); seconds < 0.5 || seconds > 5 {
		t.Errorf("events of %v s on %d cores, of a run of %v s\n%s", seconds, r.CPU.Cores, r.MakespanSeconds, events.String())
	}
}

// coresReader notes the cores on which the thread that reads it may run.
type coresReader struct {
	data  *bytes.Reader
	cores []int
}

func (r *coresReader) Read(p []byte) (int, error) {
	r.cores, _ = machine.AllowedCores()
	return r.data.Read(p)
}

// TestAStreamIsReadOnTheCoresOfAllSlots: a decoder that shared the core of a slot would wait for
// its maps while another core is idle.
func TestAStreamIsReadOnTheCoresOfAllSlots(t *testing.T) {
	all := machine.Cores()
	if len(all) < 2 {
		t.Skip("one core: there is no other one")
	}
	for _, c := range []struct {
		config setup.Config
		want   []int
	}{
		{setup.Config{MapSlots: 1, ReduceSlots: 1}, all[:2]},
		{setup.Config{MapSlots: 2, ReduceSlots: 2}, all[:min(4, len(all))]},
	} {
		// More than a piece: the first one is read before the slots are known.
		in := &coresReader{data: bytes.NewReader(bytes.Repeat([]byte("a line\n"), 1<<20))}
		must(t, chains(t)["wordcount"](), engine.Options{
			JobOptions: engine.JobOptions{Inputs: []string{"-"}, Stdin: in}, Policy: newPolicy(t, "pi-dhfs"),
			Config: c.config, MemoryBytes: 32 << 20,
		})
		if !slices.Equal(in.cores, c.want) {
			t.Errorf("%+v: read on cores %v, want %v", c.config, in.cores, c.want)
		}
	}
}
