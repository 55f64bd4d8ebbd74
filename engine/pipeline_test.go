package engine_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"mrlocal/engine"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/setup"
	"mrlocal/spill"
	"mrlocal/trace"
)

// opener is FIFO with an extra map slot on a tracker for each map that is in its I/O
// period there, up to a limit.
type opener struct {
	*fifo.FIFO
	extra int
	most  int32 // extra slots that were open
}

var _ slots.Opener = (*opener)(nil)

func (p *opener) Extra(_ [2]int32, most int) int { return min(p.extra, most) }
func (*opener) Observe(slots.Fact)               {}

func (p *opener) Decide(v *slots.View, d *slots.Decision) {
	t := v.Tracker()
	if n := min(int32(p.extra), v.InPhase(t, slots.PhaseIO)); n != v.OpenExtra(t) {
		d.Resize(t, 1<<20, 1<<20, int(n))
	}
	p.most = max(p.most, v.OpenExtra(t))
	p.FIFO.Decide(v, d)
	for v.FreeAt(t) > v.FreeHome(t, slots.Map)+v.FreeHome(t, slots.Reduce) && v.Pending(slots.Map) > 0 {
		if !d.Grant(slots.Grant{Slot: slots.NoSlot, Job: 0, Kind: slots.Map, Task: slots.NoTask, Rule: "fifo"}) {
			return
		}
	}
}

func TestAMapInItsIOPeriodLetsAnotherOneCompute(t *testing.T) {
	const computes = time.Second // of each map
	data := text(171, 2<<20)
	lines := int64(bytes.Count(data, []byte("\n")))
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: data}})
	run := func(extra int) (seconds float64, p *opener, r *engine.Report) {
		p = &opener{FIFO: fifo.New(), extra: extra}
		synctest.Test(t, func(t *testing.T) {
			chain := failing(func(b jobs.Block, out jobs.Emitter) error {
				time.Sleep(computes * time.Duration(len(b.Data)) / (512 << 10))
				for line := range b.Lines() {
					out.Emit(line, nil)
				}
				return nil
			}, func() error { return nil })
			_, r = must(t, chain, engine.Options{
				Policy: p, JobOptions: engine.JobOptions{Inputs: []string{dir}, BlockBytes: 128 << 10}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, NoPin: true, MemoryBytes: 64 << 20,
				SortBufferBytes: 64 << 10, KVBuffer: spill.KVBuffer{NoGrowth: true, Codec: shuffle.None}, DiskBytesPerSecond: 1 << 20, TempDirs: []string{t.TempDir()},
			})
			seconds = r.Jobs[0].MapsDoneS
		})
		return seconds, p, r
	}
	alone, _, plain := run(0)
	overlapped, p, r := run(1)
	if p.most != 1 || overlapped > alone*0.9 {
		t.Errorf("maps took %.2f s with an extra slot and %.2f s without; %d were open", overlapped, alone, p.most)
	}
	if len(plain.Slots) != 2 || len(r.Slots) != 3 || r.Slots[2].BusyS == 0 {
		t.Errorf("slots: %+v, then %+v", plain.Slots, r.Slots)
	}
	if plain.Jobs[0].Counters.MapOutputRecords != lines || r.Jobs[0].Counters.MapOutputRecords != lines {
		t.Error("records are lost")
	}
}

// A map whose output stays in memory has no I/O period. Another map at the same time would only
// take its core.
func TestAMapThatWritesNothingHasNoIOPeriod(t *testing.T) {
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: text(172, 2<<20)}})
	for name, o := range map[string]engine.Options{
		"what fits":         {MemoryBytes: 64 << 20},
		"what is spilled":   {MemoryBytes: 64 << 20, SortBufferBytes: 64 << 10, KVBuffer: spill.KVBuffer{NoGrowth: true}},
		"what does not fit": {MemoryBytes: 24 << 20, JobOptions: engine.JobOptions{Inputs: []string{dir, dir, dir, dir, dir, dir, dir, dir}}},
	} {
		var log policytest.Log
		if o.Inputs == nil {
			o.Inputs = []string{dir}
		}
		o.MapSlots, o.ReduceSlots, o.BlockBytes, o.TempDirs, o.Watch = 1, 1, 512<<10, []string{t.TempDir()}, func(s *trace.Stream) { s.Attach(&log) }
		_, r := must(t, chains(t)["sort"](), o)
		periods := 0
		for _, e := range log.Events {
			if e.Op == trace.OpPhase && e.Phase == slots.PhaseIO {
				periods++
			}
		}
		want := r.Jobs[0].Maps
		if name == "what fits" {
			want = 0
		}
		if periods != want {
			t.Errorf("%s: %d I/O periods of %d maps", name, periods, r.Jobs[0].Maps)
		}
	}
}

// holder is FIFO that lets a reduce go on a fixed time after it has its data.
type holder struct {
	*fifo.FIFO
	wait time.Duration
	held map[slots.SlotID]time.Duration
}

func (*holder) HoldsCopy() bool    { return true }
func (*holder) Observe(slots.Fact) {}

func (p *holder) Decide(v *slots.View, d *slots.Decision) {
	p.FIFO.Decide(v, d)
	for id := range slots.SlotID(v.Slots()) {
		s := v.Slot(id)
		if !s.Busy || s.Phase != slots.PhaseHeld || s.Advanced {
			continue
		}
		if _, seen := p.held[id]; !seen {
			p.held[id] = v.Now()
		}
		if due := p.held[id] + p.wait; v.Now() >= due {
			d.Advance(id)
		} else {
			d.WakeAt(due)
		}
	}
}

func TestAReduceIsHeldUntilThePolicyLetsItGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &holder{fifo.New(), 3 * time.Second, map[slots.SlotID]time.Duration{}}
		var log policytest.Log
		_, r := must(t, sleeping(t, secs(2, 2), secs(1, 1)), engine.Options{
			Policy: p, Config: setup.Config{MapSlots: 2, ReduceSlots: 2}, NoPin: true, MemoryBytes: 64 << 20, Watch: func(s *trace.Stream) { s.Attach(&log) },
		})
		if r.Jobs[0].FinishS != 2+3+1 || len(p.held) != 2 {
			t.Errorf("the job ended after %v s, %d reduces were held", r.Jobs[0].FinishS, len(p.held))
		}
		advanced := 0
		for _, e := range log.Events {
			if e.Op == trace.OpAdvance {
				advanced++
			}
		}
		if advanced != 2 {
			t.Errorf("%d reduces were let go on", advanced)
		}
	})
}

func TestAHeldReduceIsKilledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &holder{fifo.New(), time.Second, map[slots.SlotID]time.Duration{}}
		_, r := must(t, sleeping(t, secs(2, 2), secs(1)), engine.Options{
			Policy: p, Config: setup.Config{Trackers: 2, MapSlots: 1, ReduceSlots: 1, Faults: []setup.Fault{{Tracker: 0, At: 2500 * time.Millisecond}}}, NoPin: true, MemoryBytes: 64 << 20,
		})
		if j := &r.Jobs[0]; j.State != "succeeded" || j.Counters.KilledReduces != 1 {
			t.Errorf("%+v", j)
		}
	})
}

// The input of a map is two thirds of its progress. While the map sorts and spills, its progress stays
// at two thirds, so that it differs from a map that is about to end.
func TestAMapIsNotDoneWhenItsInputIsRead(t *testing.T) {
	const read = 2 * (slots.One / 3)
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: text(172, 1<<20)}})
	var log policytest.Log
	synctest.Test(t, func(t *testing.T) {
		chain := failing(func(b jobs.Block, out jobs.Emitter) error {
			for line := range b.Lines() {
				out.Emit(line, nil)
			}
			return nil
		}, func() error { return nil })
		must(t, chain, engine.Options{
			Policy: fifo.New(), JobOptions: engine.JobOptions{Inputs: []string{dir}, BlockBytes: 512 << 10}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, NoPin: true, MemoryBytes: 64 << 20,
			SortBufferBytes: 64 << 10, KVBuffer: spill.KVBuffer{NoGrowth: true, Codec: shuffle.None}, DiskBytesPerSecond: 512 << 10, TempDirs: []string{t.TempDir()},
			Watch: func(s *trace.Stream) { s.Attach(&log) },
		})
	})
	waits := 0
	for _, e := range log.Events {
		switch {
		case e.Op != trace.OpSeen || e.Kind != slots.Map:
		case slots.PPM(e.A) > read:
			t.Errorf("at %v map %d is at %v", e.At, e.Task, slots.PPM(e.A))
		case slots.PPM(e.A) == read:
			waits++
		}
	}
	if waits == 0 {
		t.Error("no map was seen with its input read and its output not yet written")
	}
}
