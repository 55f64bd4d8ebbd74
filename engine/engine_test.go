package engine_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"mrlocal/engine"
	"mrlocal/internal/errs"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/jobtest"
	"mrlocal/jobs/sort"
	"mrlocal/jobs/wordcount"
	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/spill"
	"mrlocal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testkit.Transitions{M: m}) }

// text makes lines of words from a small vocabulary. A few lines are long.
func text(seed uint64, bytesWanted int) []byte {
	rng := rand.New(rand.NewPCG(seed, 7))
	var b bytes.Buffer
	for b.Len() < bytesWanted {
		words := rng.IntN(12)
		if rng.IntN(400) == 0 {
			words = 3000
		}
		for i := range words {
			if i > 0 {
				b.WriteByte(" \t"[rng.IntN(2)])
			}
			b.WriteString([]string{"the", "Map", "reduce", "slot"}[rng.IntN(4)])
			b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(rng.IntN(1<<rng.IntN(14))), 10))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// writeFiles writes files below a new directory and returns it.
func writeFiles(t testing.TB, files []jobtest.File) string {
	t.Helper()
	dir := t.TempDir()
	for i, f := range files {
		path := filepath.Join(dir, f.Path)
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		files[i].Path = path
	}
	return dir
}

// must runs a chain and returns its output and report.
func must(t testing.TB, chain jobs.Chain, o engine.Options) ([]byte, *engine.Report) {
	t.Helper()
	var out bytes.Buffer
	if o.OutputFile == "" && o.OutputDir == "" {
		o.Stdout = &out
	}
	report, err := engine.RunChain(t.Context(), chain, o)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), report
}

func newPolicy(t testing.TB, name string) slots.Policy {
	t.Helper()
	p, err := registry.New(name, policy.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func build[O any](t testing.TB, f func(O) (jobs.Chain, error), o O) jobs.Chain {
	t.Helper()
	chain, err := f(o)
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

// chains returns every built-in job in its main forms, made anew at each call.
func chains(t testing.TB) map[string]func() jobs.Chain {
	return map[string]func() jobs.Chain{
		"wordcount":       func() jobs.Chain { return build(t, wordcount.New, wordcount.Options{}) },
		"wordcount --top": func() jobs.Chain { return build(t, wordcount.New, wordcount.Options{Top: 10}) },
		"sort":            func() jobs.Chain { return build(t, sort.New, sort.Options{}) },
		"sort -rn":        func() jobs.Chain { return build(t, sort.New, sort.Options{Reverse: true, Numeric: true}) },
		"sort -u":         func() jobs.Chain { return build(t, sort.New, sort.Options{Unique: true}) },
		"sort -s -k2,2": func() jobs.Chain {
			return build(t, sort.New, sort.Options{Stable: true, Keys: []string{"2,2"}})
		},
		"grep": func() jobs.Chain { return build(t, grep.New, grep.Options{Patterns: []string{"slot[0-9]+"}}) },
		"grep --lines": func() jobs.Chain {
			return build(t, grep.New, grep.Options{Patterns: []string{"map|slot7"}, Lines: true, LineNumbers: true})
		},
		"grep -c": func() jobs.Chain { return build(t, grep.New, grep.Options{Patterns: []string{"reduce1"}, Count: true}) },
	}
}

func TestEveryJobEqualsTheReference(t *testing.T) {
	files := []jobtest.File{{Path: "a", Data: text(1, 150_000)}, {Path: "b", Data: nil}, {Path: "c", Data: append(text(2, 100_000), "no newline"...)}, {Path: "d", Data: text(3, 5_000)}}
	writeFiles(t, files)
	var inputs []string
	for _, f := range files {
		inputs = append(inputs, f.Path)
	}
	for name, chain := range chains(t) {
		want, err := jobtest.Reference(chain(), files)
		if err != nil {
			t.Fatal(err)
		}
		for _, sched := range []string{"fifo", "fair", "pi-dhfs"} {
			for _, blockBytes := range []int64{0, 9 << 10} {
				if testing.Short() && (sched == "fair") != (blockBytes == 0) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", name, sched, blockBytes), func(t *testing.T) {
					got, _ := must(t, chain(), engine.Options{JobOptions: engine.JobOptions{Inputs: inputs, BlockBytes: blockBytes}, Policy: newPolicy(t, sched), MemoryBytes: 64 << 20})
					if diff := cmp.Diff(string(want), string(got)); diff != "" {
						t.Errorf("differs from the reference (-want +got):\n%.2000s", diff)
					}
				})
			}
		}
	}
}

func TestOptionsNeverChangeTheAnswer(t *testing.T) {
	size := 100_000
	if testing.Short() {
		size = 30_000
	}
	files := []jobtest.File{{Path: "a", Data: text(11, 7*size)}, {Path: "b", Data: text(12, 3*size)}}
	writeFiles(t, files)
	inputs := []string{files[0].Path, files[1].Path}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for name, chain := range chains(t) {
		want, err := jobtest.Reference(chain(), files)
		if err != nil {
			t.Fatal(err)
		}
		for range testkit.Rounds(4) {
			o := engine.Options{
				JobOptions: engine.JobOptions{Inputs: inputs, Reducers: rng.IntN(18), BlockBytes: 16<<10 + rng.Int64N(1<<20)}, Policy: newPolicy(t, []string{"fifo", "fair", "pi-dhfs"}[rng.IntN(3)]),
				Config: setup.Config{MapSlots: 1 + rng.IntN(3), ReduceSlots: 1 + rng.IntN(2), Trackers: 1 + rng.IntN(2)}, NoPin: rng.IntN(4) == 0, SortBufferBytes: 64<<10 + rng.Int64N(1<<20),
				KVBuffer: spill.KVBuffer{SpillPercent: 0.2 + 0.8*rng.Float64(), NoGrowth: rng.IntN(2) == 0}, MergeFactor: 2 + rng.IntN(10), TempDirs: []string{t.TempDir()},
			}
			o.MemoryBytes = int64(o.Trackers*(o.MapSlots+o.ReduceSlots)) * engine.LeastBytesPerSlot
			half := slots.PPM(rng.IntN(1_000_001))
			o.Slowstart = &half
			t.Run(name, func(t *testing.T) {
				got, _ := must(t, chain(), o)
				if !bytes.Equal(want, got) {
					o.Policy = nil
					t.Errorf("differs from the reference: %d bytes, want %d; options %+v", len(got), len(want), o)
				}
			})
		}
	}
}

func TestStreamsGiveWhatFilesGive(t *testing.T) {
	data := text(21, 250_000)
	var zipped bytes.Buffer
	for half := range 2 { // two members
		w := gzip.NewWriter(&zipped)
		w.Write(data[half*len(data)/2 : (half+1)*len(data)/2])
		w.Close()
	}
	dir := writeFiles(t, []jobtest.File{{Path: "x.gz", Data: zipped.Bytes()}})
	for name, chain := range chains(t) {
		want, err := jobtest.Reference(chain(), []jobtest.File{{Path: "-", Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		if name == "grep -c" { // GNU grep names no file when there is one
			want = bytes.TrimPrefix(want, []byte("-:"))
		}
		t.Run(name+" of standard input", func(t *testing.T) {
			got, _ := must(t, chain(), engine.Options{JobOptions: engine.JobOptions{Inputs: []string{"-"}, Stdin: bytes.NewReader(data)}, MemoryBytes: 32 << 20})
			if !bytes.Equal(want, got) {
				t.Errorf("%d bytes, want %d", len(got), len(want))
			}
		})
		t.Run(name+" of a large gzip file", func(t *testing.T) {
			got, _ := must(t, chain(), engine.Options{JobOptions: engine.JobOptions{Inputs: []string{filepath.Join(dir, "x.gz")}, BlockBytes: 64 << 10}, MemoryBytes: 32 << 20})
			if !bytes.Equal(want, got) {
				t.Errorf("%d bytes, want %d", len(got), len(want))
			}
		})
	}
}

func TestWhatFitsNeverTouchesTheDisk(t *testing.T) {
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: text(31, 500_000)}})
	for name, chain := range chains(t) {
		t.Run(name, func(t *testing.T) {
			// Nothing can be created in /proc.
			must(t, chain(), engine.Options{JobOptions: engine.JobOptions{Inputs: []string{dir}}, TempDirs: []string{"/proc"}, MemoryBytes: 512 << 20})
		})
	}
}

func TestAReportSaysWhatAttemptsUsedInEachPhase(t *testing.T) {
	data := text(181, 2<<20)
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: data}})
	_, r := must(t, chains(t)["sort"](), engine.Options{
		JobOptions: engine.JobOptions{Inputs: []string{dir}, BlockBytes: 512 << 10, Reducers: 2}, Config: setup.Config{MapSlots: 2, ReduceSlots: 1}, MemoryBytes: 64 << 20, SortBufferBytes: 64 << 10, KVBuffer: spill.KVBuffer{NoGrowth: true},
		TempDirs: []string{t.TempDir()},
	})
	j := &r.Jobs[0]
	used := map[string]report.Usage{}
	for _, u := range j.Phases {
		used[u.Phase] = u
		if u.WallS <= 0 || u.PeakBytes < 0 || u.PeakBytes > 64<<20 {
			t.Errorf("%+v", u)
		}
	}
	maps, reduces := int64(j.Maps), int64(j.Reduces)
	if used["compute"].Attempts != maps || used["io"].Attempts != maps || used["copy"].Attempts != reduces || used["sort"].Attempts != reduces || used["reduce"].Attempts != reduces {
		t.Errorf("%d maps and %d reduces: %+v", maps, reduces, j.Phases)
	}
	if used["compute"].ReadBytes != int64(len(data)) || used["reduce"].WrittenBytes != int64(len(data)) || used["copy"].ReadBytes == 0 {
		t.Errorf("of %d bytes: %+v", len(data), j.Phases)
	}
	if written := used["compute"].WrittenBytes + used["io"].WrittenBytes; written == 0 || used["compute"].PeakBytes < 64<<10 || used["reduce"].PeakBytes == 0 {
		t.Errorf("%d bytes spilled: %+v", written, j.Phases)
	}
	var cpu float64
	for _, u := range j.Phases {
		cpu += u.CPUS
	}
	if cpu <= 0 || cpu > 60 {
		t.Errorf("%v s of processor time", cpu)
	}
}

func TestABufferThatMayGrowDoesNotSpill(t *testing.T) {
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: text(41, 3_500_000)}})
	spills := func(noGrowth bool) int64 {
		_, report := must(t, chains(t)["sort"](), engine.Options{
			JobOptions: engine.JobOptions{Inputs: []string{dir}, BlockBytes: 64 << 20}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, SortBufferBytes: 1 << 20,
			KVBuffer: spill.KVBuffer{NoGrowth: noGrowth}, MemoryBytes: 512 << 20, TempDirs: []string{t.TempDir()},
		})
		return report.Jobs[0].Counters.Spills
	}
	if got := spills(true); got < 3 {
		t.Errorf("with growth off: %d spills, want at least 3", got)
	}
	if got := spills(false); got != 0 {
		t.Errorf("with growth on: %d spills, want none", got)
	}
}

func TestARealRunsFactsReplayToTheSameDecisions(t *testing.T) {
	in := writeFiles(t, []jobtest.File{{Path: "a", Data: text(71, 800_000)}, {Path: "b", Data: text(72, 100_000)}})
	for _, sched := range []string{"fifo", "fair", "pi-dhfs"} {
		if testing.Short() && sched == "fair" {
			continue // pi-dhfs decides as fair does, and lends
		}
		for name, chain := range chains(t) {
			t.Run(sched+"/"+name, func(t *testing.T) {
				var events bytes.Buffer
				must(t, chain(), engine.Options{
					JobOptions: engine.JobOptions{Inputs: []string{in}, BlockBytes: 60_000}, Policy: newPolicy(t, sched), Events: &events, Config: setup.Config{MapSlots: 2, ReduceSlots: 1}, MemoryBytes: 64 << 20,
				})
				difference, err := explain.Replay(&events, func(c slots.Config) (slots.Policy, error) {
					return registry.New(sched, policy.Options{BorrowMap: c.BorrowMap, BorrowReduce: c.BorrowReduce})
				}, explain.ReplayOptions{})
				if err != nil || difference != nil {
					t.Errorf("replay: %v, %v", difference, err)
				}
			})
		}
	}
}

func TestUnderPIDHFSMapsBorrowTheReduceSlotAndUnderFairTheyDoNot(t *testing.T) {
	in := writeFiles(t, []jobtest.File{{Path: "a", Data: text(81, 4_000_000)}})
	for sched, borrows := range map[string]bool{"fair": false, "pi-dhfs": true} {
		log := &policytest.Log{}
		_, report := must(t, chains(t)["grep"](), engine.Options{
			JobOptions: engine.JobOptions{Inputs: []string{in}, BlockBytes: 256 << 10}, Policy: newPolicy(t, sched), Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 64 << 20,
			Watch: func(s *trace.Stream) { s.Attach(log) },
		})
		if got := mapsOverlap(log.Events); got != borrows {
			t.Errorf("%s: two maps at a time: %v", sched, got)
		}
		if got := report.Moves > 0; got != borrows {
			t.Errorf("%s: %d moves", sched, report.Moves)
		}
		if got := report.LentSlotSeconds > 0; got != borrows {
			t.Errorf("%s: slots lent for %v s", sched, report.LentSlotSeconds)
		}
	}
}

// mapsOverlap reports whether map attempts ran on two slots at a time.
func mapsOverlap(events []trace.Event) bool {
	running := 0
	for _, e := range events {
		if e.Kind != trace.Map {
			continue
		}
		switch e.Op {
		case trace.OpStart:
			running++
		case trace.OpFinish:
			running--
		}
		if running > 1 {
			return true
		}
	}
	return false
}

// TestAReaderThatGoesAwayIsSuccess if the options say so. Otherwise the result is not written, which is a
// failure.
func TestAReaderThatGoesAwayIsSuccess(t *testing.T) {
	in := writeFiles(t, []jobtest.File{{Path: "a", Data: text(101, 500_000)}})
	for name, chain := range chains(t) {
		t.Run(name, func(t *testing.T) {
			for _, may := range []bool{true, false} {
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				gone := make(chan struct{})
				go func() {
					defer close(gone)
					if may {
						io.ReadFull(r, make([]byte, 2))
					}
					r.Close()
				}()
				if !may { // a small result could fit into the pipe
					<-gone
				}
				report, err := engine.RunChain(t.Context(), chain(), engine.Options{JobOptions: engine.JobOptions{Inputs: []string{in}, Stdout: w, PipeMayClose: may}})
				w.Close()
				if (err == nil) != may || may && !report.Matched() {
					t.Errorf("it may close: %v: error %v, matched %v", may, err, report.Matched())
				}
			}
		})
	}
}

// wrong starts tasks as FIFO does, which does not lend. Once it grants a map the reduce slot.
type wrong struct {
	fifo.FIFO
	granted bool
}

func (p *wrong) Decide(v *slots.View, d *slots.Decision) {
	if !p.granted {
		p.granted = true
		func() {
			defer func() { _ = recover() }() // a checked build panics
			d.Grant(slots.Grant{Slot: 1, Kind: slots.Map, Task: slots.NoTask})
		}()
	}
	p.FIFO.Decide(v, d)
}

// TestANoteCountsRefusedGrants: the run notes refused grants at its end. Without the note it would only
// be slower.
func TestANoteCountsRefusedGrants(t *testing.T) {
	var notes []string
	o := engine.Options{NoPin: true, MemoryBytes: 64 << 20, Policy: &wrong{FIFO: *fifo.New()}, Note: func(text string) { notes = append(notes, text) },
		JobOptions: engine.JobOptions{Inputs: []string{writeFiles(t, []jobtest.File{{Path: "a", Data: []byte("a b\n")}})}}}
	o.MapSlots, o.ReduceSlots = 1, 1
	must(t, build(t, wordcount.New, wordcount.Options{}), o)
	if text := strings.Join(notes, "; "); !strings.Contains(text, "policy fifo: refused grants: 1, the first because the slot was of the other kind") {
		t.Errorf("noted: %q", text)
	}
}

// TestAPolicyServesOneRunAtATime: a second run is refused before it makes any file. The policy is
// free again when the first run has ended.
func TestAPolicyServesOneRunAtATime(t *testing.T) {
	in := writeFiles(t, []jobtest.File{{Path: "a", Data: []byte("b a b\n")}})
	o := engine.Options{
		JobOptions: engine.JobOptions{Inputs: []string{in}}, Policy: newPolicy(t, "pi-dhfs"), MemoryBytes: 64 << 20, NoPin: true,
		Config: setup.Config{MapSlots: 1, ReduceSlots: 1},
	}
	first, second := o, o
	second.OutputFile = filepath.Join(t.TempDir(), "second")
	first.Watch = func(*trace.Stream) { // the first run is about to start
		_, err := engine.RunChain(t.Context(), build(t, wordcount.New, wordcount.Options{}), second)
		if !errors.Is(err, errs.BadOptions) || !strings.Contains(err.Error(), "serves another run") {
			t.Errorf("the second run: %v", err)
		}
		if _, err := os.Stat(second.OutputFile); err == nil {
			t.Error("the second run has made its output")
		}
	}
	for range 2 {
		if got, _ := must(t, build(t, wordcount.New, wordcount.Options{}), first); string(got) != "a\t1\nb\t2\n" {
			t.Errorf("%q", got)
		}
	}
}
