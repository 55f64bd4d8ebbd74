package engine_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mrlocal/engine"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/spill"
)

// copier is FIFO that copies every attempt which has run for so long, once, to an
// idle slot.
type copier struct {
	*fifo.FIFO
	after  time.Duration
	copies int
	saw    map[slots.Progress]bool // progress of the attempts that it has seen
}

func newCopier(after time.Duration) *copier {
	return &copier{FIFO: fifo.New(), after: after, saw: map[slots.Progress]bool{}}
}

func (*copier) Speculates(*slots.View, slots.Kind) bool { return true }

func (p *copier) Decide(v *slots.View, d *slots.Decision) {
	p.FIFO.Decide(v, d)
	copied := map[slots.AttemptID]bool{}
	task := func(a slots.AttemptID) slots.AttemptID { a.N = 0; return a }
	for id := range slots.SlotID(v.Slots()) {
		if s := v.Slot(id); s.Busy && (s.Killing || s.Speculative) {
			copied[task(s.Attempt)] = true
		}
	}
	for id := range slots.SlotID(v.Slots()) {
		s := v.Slot(id)
		if !s.Busy || copied[task(s.Attempt)] || v.Job(s.Attempt.Job).Ended() {
			continue
		}
		done, _ := v.Progress(id)
		p.saw[done] = true
		if due := s.Started + p.after; v.Now() < due {
			d.WakeAt(due)
			d.Probe(due)
			continue
		}
		a := s.Attempt
		if v.FreeHome(v.Tracker(), a.Kind) > 0 && d.Grant(slots.Grant{Slot: slots.NoSlot, Job: a.Job, Kind: a.Kind, Task: a.Task, Speculative: true, Rule: "speculative"}) {
			p.copies++
		}
	}
}

func TestACopyOfAStragglerEndsTheJobSooner(t *testing.T) {
	run := func(p slots.Policy) (j *report.JobReport) {
		synctest.Test(t, func(t *testing.T) {
			_, r := must(t, sleeping(t, secs(1, 1, 1, 1), secs(1, 1)), engine.Options{
				Policy: p, Config: setup.Config{Trackers: 2, MapSlots: 2, ReduceSlots: 1, Slow: []setup.Slow{{Tracker: 1, Factor: slots.One / 10}}}, NoPin: true, MemoryBytes: 64 << 20,
			})
			j = &r.Jobs[0]
		})
		return j
	}
	alone, p := run(nil), newCopier(1500*time.Millisecond)
	beside := run(p)
	if alone.FinishS != 20 || alone.Counters.SpeculativeMaps != 0 {
		t.Errorf("without copies: %+v", alone)
	}
	// The copies of two maps and of a reduce start after 1.5 s and take 1 s.
	if beside.FinishS != 2.5+2.5 || beside.Counters.SpeculativeMaps != 2 || beside.Counters.KilledMaps != 2 || beside.Counters.KilledReduces != 1 {
		t.Errorf("with copies: %+v", beside)
	}
	if beside.Counters.MapInputRecords != alone.Counters.MapInputRecords || beside.Counters.FailedMaps+beside.Counters.FailedReduces != 0 {
		t.Errorf("counters of attempts that lost are added: %+v, want %+v", beside.Counters, alone.Counters)
	}
}

// Every running attempt is copied at once or a little later, while attempts fail and
// trackers are lost. The result stays the same.
func TestCopiesNeverChangeTheAnswer(t *testing.T) {
	files := []jobtest.File{{Path: "a", Data: text(21, 400_000)}, {Path: "b", Data: text(22, 200_000)}}
	writeFiles(t, files)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	copies, least, names := 0, 50*testkit.Rounds(4)/4, chains(t)
	for i, name := range slices.Sorted(maps.Keys(names)) {
		chain := names[name]
		want, err := jobtest.Reference(chain(), files)
		if err != nil {
			t.Fatal(err)
		}
		for k, where := range []string{"stream", "file", "directory", "nowhere"} {
			if (i+k)%4 >= testkit.Rounds(4) {
				continue
			}
			t.Run(name+"/"+where, func(t *testing.T) {
				p := newCopier(time.Duration(rng.IntN(3)) * 3 * time.Millisecond)
				temp, out := t.TempDir(), t.TempDir()
				o := engine.Options{
					JobOptions: engine.JobOptions{Inputs: []string{files[0].Path, files[1].Path}, Reducers: 1 + rng.IntN(6), BlockBytes: 40 << 10}, Policy: p, Config: setup.Config{Trackers: 3, MapSlots: 2, ReduceSlots: 2, Slow: []setup.Slow{{Tracker: rng.IntN(3), Factor: slots.One / 20}}}, NoPin: rng.IntN(2) == 0, SortBufferBytes: 64<<10 + rng.Int64N(1<<20), KVBuffer: spill.KVBuffer{NoGrowth: rng.IntN(2) == 0},
					MemoryBytes: 12 * engine.LeastBytesPerSlot, TempDirs: []string{temp},
				}
				if rng.IntN(2) == 0 {
					o.Faults = append(o.Faults, setup.Fault{Tracker: rng.IntN(3), At: time.Duration(rng.IntN(20)) * time.Millisecond})
				}
				if rng.IntN(2) == 0 {
					o.Faults = append(o.Faults, setup.Fault{Tracker: -1, Reduce: rng.IntN(2) == 0, Fail: 1})
				}
				switch where {
				case "file":
					o.OutputFile = filepath.Join(out, "result")
				case "directory":
					o.OutputDir = filepath.Join(out, "result")
				}
				var got bytes.Buffer
				if where == "stream" {
					o.Stdout = &got
				}
				r, err := engine.RunChain(t.Context(), chain(), o)
				if err != nil {
					t.Fatal(err)
				}
				if text := resultOf(t, out, got.Bytes()); where != "nowhere" && where != "directory" && !bytes.Equal(want, text) || where == "directory" && len(text) != len(want) {
					t.Errorf("differs from the reference: %d bytes, want %d", len(text), len(want))
				}
				empty(t, temp)
				copies += p.copies
				for _, j := range r.Jobs {
					if in := j.Counters.MapInputRecords; j.StepOf == "" && name != "wordcount --top" && name != "grep" && in != records(files) && name != "grep -c" {
						t.Errorf("%d records were read, of %d", in, records(files))
					}
				}
			})
		}
	}
	if copies < least {
		t.Errorf("%d copies are too few to say anything", copies)
	}
}

// Of three trackers one is slow and one is lost, and the first attempt of a map and
// of a reduce fails.
func TestEveryPolicyGivesTheSameBytesWhateverGoesWrong(t *testing.T) {
	files := []jobtest.File{{Path: "a", Data: text(23, 150_000)}, {Path: "b", Data: text(24, 100_000)}}
	writeFiles(t, files)
	for i, name := range []string{"wordcount", "sort", "grep"} {
		chain := chains(t)[name]
		want, err := jobtest.Reference(chain(), files)
		if err != nil {
			t.Fatal(err)
		}
		for k, info := range registry.All() {
			if (i+k)%3 >= testkit.Rounds(3) { // each policy runs one of the jobs
				continue
			}
			t.Run(name+"/"+info.Name, func(t *testing.T) {
				o := policy.DefaultOptions()
				o.CopyAfter = time.Millisecond
				p, err := registry.New(info.Name, o)
				if err != nil {
					t.Fatal(err)
				}
				early := slots.PPM(50_000)
				got, _ := must(t, chain(), engine.Options{
					JobOptions: engine.JobOptions{Inputs: []string{files[0].Path, files[1].Path}, Reducers: 3, BlockBytes: 16 << 10}, Policy: p, Config: setup.Config{Trackers: 3, MapSlots: 2, ReduceSlots: 1, Slowstart: &early, Slow: []setup.Slow{{Tracker: 2, Factor: slots.One / 5}}, Faults: []setup.Fault{{Tracker: 1, At: 3 * time.Millisecond}, {Tracker: -1, Fail: 1}, {Tracker: -1, Reduce: true, Fail: 1}}}, NoPin: true,
					MemoryBytes: 18 * engine.LeastBytesPerSlot,
				})
				if !bytes.Equal(want, got) {
					t.Errorf("differs from the reference: %d bytes, want %d", len(got), len(want))
				}
			})
		}
	}
}

func records(files []jobtest.File) (n int64) {
	for _, f := range files {
		n += int64(bytes.Count(f.Data, []byte("\n")))
	}
	return n
}

// resultOf returns the result of a run. It fails if there is any file but whole parts.
func resultOf(t *testing.T, out string, streamed []byte) []byte {
	t.Helper()
	all := append([]byte(nil), streamed...)
	err := filepath.WalkDir(out, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "_SUCCESS" {
			return err
		}
		if name := e.Name(); name != "result" && name[:5] != "part-" {
			return fmt.Errorf("left behind: %s", path)
		}
		data, err := os.ReadFile(path)
		all = append(all, data...)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all
}

// A copy writes the part while its tracker is lost. The attempt that it copies ends
// next, and a second copy after that. The input counts once.
func TestWhatWasWrittenByALostCopyCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := text(194, 10_000)
		var calls atomic.Int32
		chain := failing(func(b jobs.Block, out jobs.Emitter) error {
			time.Sleep([]time.Duration{0, 2000, 100, 2000}[calls.Add(1)] * time.Millisecond)
			return emitLines(b, out)
		}, nil)
		chain[0].NewReducer = nil
		var out slowWriter
		report, err := engine.RunChain(t.Context(), chain, engine.Options{
			JobOptions: engine.JobOptions{Inputs: []string{writeFiles(t, []jobtest.File{{Path: "a", Data: data}})}, Stdout: &out}, Policy: newCopier(100 * time.Millisecond),
			Config: setup.Config{Trackers: 3, MapSlots: 1, ReduceSlots: 1, Faults: []setup.Fault{{Tracker: 1, At: 500 * time.Millisecond}}}, MemoryBytes: 64 << 20, TempDirs: []string{t.TempDir()},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), data) {
			t.Errorf("%d bytes, want %d", out.Len(), len(data))
		}
		if c := report.Jobs[0].Counters; c.LaunchedMaps != 3 || c.SpeculativeMaps != 2 || c.MapInputBytes != int64(len(data)) || c.OutputBytes != int64(len(data)) {
			t.Errorf("%+v", c)
		}
	})
}

// taker is FIFO that takes back the slot of the first reduce that it starts, in the
// same decision.
type taker struct {
	*fifo.FIFO
	took bool
}

func (p *taker) Decide(v *slots.View, d *slots.Decision) {
	p.FIFO.Decide(v, d)
	for id := range slots.SlotID(v.Slots()) {
		if s := v.Slot(id); !p.took && s.Busy && s.Attempt.Kind == slots.Reduce {
			p.took = true
			d.Reclaim(id)
		}
	}
}

// One set of orders may start and kill the same attempt. The deadlock guard gives such
// orders too.
func TestAKillReachesWhatHasJustBeenStarted(t *testing.T) {
	now := slots.PPM(0)
	synctest.Test(t, func(t *testing.T) {
		_, r := must(t, sleeping(t, secs(1, 1), secs(1)), engine.Options{
			Policy: &taker{FIFO: fifo.New()}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1, Slowstart: &now}, NoPin: true, MemoryBytes: 64 << 20,
		})
		c := r.Jobs[0].Counters
		if c.KilledReduces != 1 || c.LaunchedReduces != 2 || r.Jobs[0].FinishS != 3 {
			t.Errorf("%d reduces of %d were killed, and the job ended after %v s", c.KilledReduces, c.LaunchedReduces, r.Jobs[0].FinishS)
		}
	})
}
