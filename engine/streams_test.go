package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"mrlocal/engine"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/slots"
	"mrlocal/slots/setup"
)

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Streams of several jobs share the bound on pieces in memory. With the least memory that a run
// accepts, no job waits for ever, under other limits either.
func TestStreamsOfManyJobsShareTheirMemory(t *testing.T) {
	giant := append(bytes.Repeat([]byte("x"), 900_000), '\n')
	datas := [][]byte{text(171, 300_000), append(text(172, 200_000), giant...), text(173, 250_000), append(giant, text(174, 200_000)...), text(175, 250_000), text(176, 300_000)}
	var files []jobtest.File
	for i, d := range datas[1:] {
		files = append(files, jobtest.File{Path: fmt.Sprintf("%d.gz", i+1), Data: zipped(t, d)})
	}
	dir := writeFiles(t, files)
	kinds := []string{"sort", "wordcount", "sort", "grep", "grep --lines", "sort"}
	ways := 0
	for name, set := range map[string]func(o *engine.Options){
		"no limits": func(*engine.Options) {},
		"one job of a pool runs": func(o *engine.Options) {
			o.Pools = []slots.Pool{{Name: "prod", MaxRunning: 1}, {Name: "test", MaxRunning: 1}}
		},
		"one map of a pool runs": func(o *engine.Options) {
			o.Pools = []slots.Pool{{Name: "prod", MaxMaps: 1}, {Name: "test", MaxMaps: 1}}
		},
		"one job of a user runs":  func(o *engine.Options) { o.Users = []slots.User{{Name: "ann", MaxRunning: 1}} },
		"reduces start at once":   func(o *engine.Options) { none := slots.PPM(0); o.Slowstart = &none },
		"a map and a reduce slot": func(o *engine.Options) { o.MapSlots, o.MemoryBytes = 1, 24<<20 },
	} {
		if ways++; ways > testkit.Rounds(12) {
			break
		}
		t.Run(name, func(t *testing.T) {
			batch, outs := batchOf(t, nil, kinds...)
			for i := range batch {
				batch[i].User = "ann"
				batch[i].Inputs = []string{filepath.Join(dir, fmt.Sprintf("%d.gz", i))}
			}
			batch[0].Inputs, batch[0].Stdin = []string{"-"}, bytes.NewReader(datas[0])
			o := engine.Options{Policy: newPolicy(t, "fair"), Config: setup.Config{MapSlots: 2, ReduceSlots: 1}, MemoryBytes: 32 << 20, TempDirs: []string{t.TempDir()}}
			set(&o)
			timer := time.AfterFunc(100*time.Second, func() { panic("the batch hangs") })
			defer timer.Stop()
			if _, err := engine.RunBatch(t.Context(), batch, o); err != nil {
				t.Fatal(err)
			}
			for i, kind := range kinds {
				want, err := jobtest.Reference(chains(t)[kind](), []jobtest.File{{Path: batch[i].Inputs[0], Data: datas[i]}})
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(want, outs[i].Bytes()) {
					t.Errorf("%s: %d bytes, want %d", kind, outs[i].Len(), len(want))
				}
			}
			empty(t, o.TempDirs[0])
		})
	}
}

// A decoder must leave enough memory for the maps of its pieces. Otherwise, with the least memory,
// decoder and maps would wait for each other.
func TestADecoderLeavesMapsTheirMemory(t *testing.T) {
	data := text(181, 1_500_000)
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files := []jobtest.File{{Path: "a.zst", Data: b.Bytes()}}
	dir := writeFiles(t, files)
	for _, kind := range []string{"grep --lines", "sort"} {
		chain := chains(t)[kind]()
		want, err := jobtest.Reference(chain, []jobtest.File{{Path: "a.zst", Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(100*time.Second, func() { panic("the run hangs") })
		got, _ := must(t, chain, engine.Options{
			JobOptions: engine.JobOptions{Inputs: []string{filepath.Join(dir, "a.zst")}, BlockBytes: 64 << 10}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 2 * engine.LeastBytesPerSlot, Policy: newPolicy(t, "pi-dhfs"),
		})
		timer.Stop()
		if !bytes.Equal(want, got) {
			t.Errorf("%s: %d bytes, want %d", kind, len(got), len(want))
		}
	}
}

// members compresses data in members of the given number of bytes.
func members(t testing.TB, data []byte, bytesEach int) (stored []byte) {
	t.Helper()
	for len(data) > 0 {
		n := min(len(data), bytesEach)
		stored = append(stored, zipped(t, data[:n])...)
		data = data[n:]
	}
	return stored
}

// With little memory nothing is decoded ahead, and a record that needs the memory of
// helpers gets it.
func TestDecodingAheadNeverTakesMemoryFromRecords(t *testing.T) {
	record, size, bounds := 5<<20, 4_000_000, []int64{24, 64, 256}
	if testing.Short() {
		size, bounds = 1_000_000, bounds[:1]
	} else if testkit.Long() {
		record, bounds = 64<<20, []int64{80, 112}
	}
	lines := text(182, size)
	data := append(append(bytes.Clone(lines), bytes.Repeat([]byte("0123456789abcdef"), record/16)...), '\n')
	data = append(data, lines...)
	file := jobtest.File{Path: "a.gz", Data: members(t, data, 700_000)}
	dir := writeFiles(t, []jobtest.File{file})
	chain := chains(t)["sort"]()
	want, err := jobtest.Reference(chain, []jobtest.File{{Path: "a.gz", Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	for _, memoryMiB := range bounds {
		for _, maps := range []int{1, 2} {
			timer := time.AfterFunc(100*time.Second, func() { panic("the run hangs") })
			got, _ := must(t, chain, engine.Options{
				JobOptions: engine.JobOptions{Inputs: []string{filepath.Join(dir, "a.gz")}}, Config: setup.Config{MapSlots: maps, ReduceSlots: 1},
				MemoryBytes: memoryMiB << 20, Policy: newPolicy(t, "pi-dhfs"), TempDirs: []string{t.TempDir()},
			})
			timer.Stop()
			if !bytes.Equal(want, got) {
				t.Errorf("%d MiB, %d map slots: %d bytes, want %d", memoryMiB, maps, len(got), len(want))
			}
		}
	}
}

// widely compresses data with a window of the given number of bytes.
func widely(t testing.TB, data []byte, windowBytes int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(windowBytes), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(data, 1<<20) { // so that no frame gives its length
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A window that does not fit is refused with the least bound that fits, and a run with that
// bound succeeds. This holds for streams and for files that a map decodes.
func TestTheLeastBoundForAWindowIsNamedAndDoes(t *testing.T) {
	data := text(183, 6_000_000)
	small := text(184, 300_000)
	for name, file := range map[string]jobtest.File{
		"a stream":   {Path: "a.zst", Data: widely(t, data, 64<<20)},
		"one of all": {Path: "b.zst", Data: widely(t, small, 64<<20)},
	} {
		inputs := []string{filepath.Join(writeFiles(t, []jobtest.File{file}), file.Path)}
		plain := []jobtest.File{{Path: inputs[0], Data: data}}
		if name != "a stream" {
			inputs = append(inputs, filepath.Join(writeFiles(t, []jobtest.File{{Path: "plain", Data: data}}), "plain"))
			plain = []jobtest.File{{Path: inputs[0], Data: small}, {Path: inputs[1], Data: data}}
		}
		for _, kind := range []string{"sort", "grep --lines"}[:testkit.Rounds(2)] {
			chain := chains(t)[kind]()
			want, err := jobtest.Reference(chain, plain)
			if err != nil {
				t.Fatal(err)
			}
			for _, slots := range []int{1, 2} {
				o := engine.Options{JobOptions: engine.JobOptions{Inputs: inputs, Stdout: io.Discard}, Config: setup.Config{MapSlots: slots, ReduceSlots: slots}, MemoryBytes: 32 << 20, TempDirs: []string{t.TempDir()}}
				_, err := engine.RunChain(t.Context(), chain, o)
				var leastMiB int64
				if err != nil {
					_, after, _ := strings.Cut(err.Error(), "raise Options.MemoryBytes to ")
					_, _ = fmt.Sscanf(after, "%dMiB", &leastMiB)
				}
				if leastMiB == 0 {
					t.Fatalf("%s, %s, %d slots: %v", name, kind, slots, err)
				}
				o.MemoryBytes, o.Stdout = leastMiB<<20, nil
				timer := time.AfterFunc(100*time.Second, func() { panic("the run hangs") })
				got, _ := must(t, chain, o)
				if timer.Stop(); !bytes.Equal(got, want) {
					t.Errorf("%s, %s, %d slots, %d MiB: %d bytes, want %d", name, kind, slots, leastMiB, len(got), len(want))
				}
			}
		}
	}
}

// A file that a map decodes has records nearly as large as its window. The bound that the second
// refusal names suffices. The first refusal comes before the length of the records is known.
func TestTheBoundForARecordBesideAWindowDoes(t *testing.T) {
	line := append(bytes.Repeat([]byte("0123456789abcde "), 12<<20/16), '\n')
	file := jobtest.File{Path: "a.zst", Data: widely(t, bytes.Repeat(line, 5), 64<<20)}
	inputs := []string{filepath.Join(writeFiles(t, []jobtest.File{file}), file.Path)}
	for _, kind := range []string{"sort", "wordcount", "grep"} {
		o := engine.Options{JobOptions: engine.JobOptions{Inputs: inputs, Stdout: io.Discard}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 32 << 20, TempDirs: []string{t.TempDir()}}
		refused := 0
		for ; refused < 4; refused++ {
			_, err := engine.RunChain(t.Context(), chains(t)[kind](), o)
			if err == nil {
				break
			}
			_, after, _ := strings.Cut(err.Error(), "raise Options.MemoryBytes to ")
			var leastMiB int64
			if _, _ = fmt.Sscanf(after, "%dMiB", &leastMiB); leastMiB<<20 <= o.MemoryBytes {
				t.Fatalf("%s, %d MiB: %v", kind, o.MemoryBytes>>20, err)
			}
			o.MemoryBytes = leastMiB << 20
		}
		t.Logf("%s: refused %d times, done with %d MiB", kind, refused, o.MemoryBytes>>20)
		if most := 2; refused > most && kind != "sort" || refused > most+1 { // sort holds a record while it reads the next
			t.Errorf("%s: refused %d times", kind, refused)
		}
	}
}

// Records nearly as large as the bound, next to the window of the stream's decoder,
// fail or are read, and no run waits for ever.
func TestLargeRecordsBesideALargeWindowDoNotHang(t *testing.T) {
	line := append(bytes.Repeat([]byte("0123456789abcde "), 8<<20/16), '\n')
	data := bytes.Join([][]byte{text(185, 2_000_000), line, text(186, 1_000_000), line}, nil)
	dir := writeFiles(t, []jobtest.File{{Path: "a.zst", Data: widely(t, data, 16<<20)}})
	kinds, done := []string{"sort", "wordcount", "grep"}, 0
	kinds = kinds[:testkit.Rounds(len(kinds))]
	for _, kind := range kinds {
		chain := chains(t)[kind]()
		want, err := jobtest.Reference(chain, []jobtest.File{{Path: "a", Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		for _, memoryMiB := range []int64{16, 32, 48, 64} {
			for _, slots := range []int{1, 2} {
				if memoryMiB < int64(16*slots) {
					continue
				}
				var out bytes.Buffer
				timer := time.AfterFunc(100*time.Second, func() { panic(fmt.Sprintf("%s in %d MiB hangs", kind, memoryMiB)) })
				_, err := engine.RunChain(t.Context(), chain, engine.Options{
					JobOptions: engine.JobOptions{Inputs: []string{filepath.Join(dir, "a.zst")}, Stdout: &out}, Config: setup.Config{MapSlots: slots, ReduceSlots: slots},
					MemoryBytes: memoryMiB << 20, Policy: newPolicy(t, "pi-dhfs"), TempDirs: []string{t.TempDir()},
				})
				timer.Stop()
				switch {
				case err != nil && strings.Contains(err.Error(), "memory"):
				case err != nil || !bytes.Equal(out.Bytes(), want):
					t.Errorf("%s, %d MiB, %d slots: %d bytes, want %d, %v", kind, memoryMiB, slots, out.Len(), len(want), err)
				default:
					done++
				}
			}
		}
	}
	if done < 2*len(kinds) {
		t.Errorf("only %d runs found enough memory", done)
	}
}

// An attempt whose tracker is lost may read on until it notices that. The piece of a stream is in
// memory only once, and its blocks may move to the attempt that reads them.
func TestAPieceOfAStreamIsReadByOneAttemptAtATime(t *testing.T) {
	for kind, reducer := range map[string]func() error{"a job with reduces": func() error { return nil }, "a map-only job": nil} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				data := text(191, 20_000)
				var readers, most atomic.Int32
				chain := failing(func(b jobs.Block, out jobs.Emitter) error {
					n := readers.Add(1)
					defer readers.Add(-1)
					most.Store(max(most.Load(), n))
					time.Sleep(700 * time.Millisecond)
					return emitLines(b, out)
				}, reducer)
				if reducer == nil {
					chain[0].NewReducer = nil
				}
				_, report := must(t, chain, engine.Options{
					JobOptions: engine.JobOptions{Stdin: bytes.NewReader(data), Inputs: []string{"-"}}, Config: setup.Config{Trackers: 2, MapSlots: 1, ReduceSlots: 1, Faults: []setup.Fault{{Tracker: 0, At: 300 * time.Millisecond}}}, MemoryBytes: 64 << 20, TempDirs: []string{t.TempDir()},
				})
				c := report.Jobs[0].Counters
				if c.LaunchedMaps != 2 || c.KilledMaps != 1 {
					t.Errorf("%d maps launched, %d killed", c.LaunchedMaps, c.KilledMaps)
				}
				if most.Load() != 1 {
					t.Errorf("%d attempts read it at once", most.Load())
				}
				if c.MapInputBytes != int64(len(data)) {
					t.Errorf("%d bytes read, want %d", c.MapInputBytes, len(data))
				}
			})
		})
	}
}

// slowWriter takes 700 ms for the first write.
type slowWriter struct {
	bytes.Buffer
	once sync.Once
}

func (w *slowWriter) Write(p []byte) (int, error) {
	w.once.Do(func() { time.Sleep(700 * time.Millisecond) })
	return w.Buffer.Write(p)
}

// A map has written its part when it notices that its tracker is lost. It is not run
// again: the next attempt is booked with the counters of the first.
func TestWhatWasWrittenOnALostTrackerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := text(192, 100_000)
		chain := failing(emitLines, nil)
		chain[0].NewReducer = nil
		var out slowWriter
		report, err := engine.RunChain(t.Context(), chain, engine.Options{
			JobOptions: engine.JobOptions{Inputs: []string{"-"}, Stdin: bytes.NewReader(data), Stdout: &out}, Config: setup.Config{Trackers: 2, MapSlots: 1, ReduceSlots: 1, Faults: []setup.Fault{{Tracker: 0, At: 300 * time.Millisecond}}}, MemoryBytes: 64 << 20,
			TempDirs: []string{t.TempDir()},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), data) {
			t.Errorf("%d bytes, want %d", out.Len(), len(data))
		}
		if c := report.Jobs[0].Counters; c.LaunchedMaps != 2 || c.MapInputBytes != int64(len(data)) || c.OutputBytes != int64(len(data)) {
			t.Errorf("%+v", c)
		}
	})
}

// The output of a map is lost when the reduce, on the other tracker, has copied it. The
// job ends before the map has run again. The counters of the map count all the same.
func TestALostMapThatIsNotMissedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := text(193, 100_000)
		dir := writeFiles(t, []jobtest.File{{Path: "a", Data: data}})
		var once sync.Once
		chain := failing(func(b jobs.Block, out jobs.Emitter) error {
			time.Sleep(700 * time.Millisecond)
			if !bytes.HasPrefix(data, b.Data) { // the first to end has the reduce next to it
				time.Sleep(100 * time.Millisecond)
			}
			return emitLines(b, out)
		}, func() error {
			once.Do(func() { time.Sleep(500 * time.Millisecond) })
			return nil
		})
		_, report := must(t, chain, engine.Options{
			JobOptions: engine.JobOptions{Inputs: []string{dir}, BlockBytes: 60_001, Reducers: 1}, Config: setup.Config{Trackers: 2, MapSlots: 1, ReduceSlots: 1, Faults: []setup.Fault{{Tracker: 1, At: 900 * time.Millisecond}}}, MemoryBytes: 64 << 20, TempDirs: []string{t.TempDir()},
		})
		if c := report.Jobs[0].Counters; c.MapInputBytes != int64(len(data)) || c.LaunchedMaps != 3 || c.KilledReduces != 0 {
			t.Errorf("%+v", c)
		}
		if end := report.Jobs[0].FinishS; end != 1.3 {
			t.Errorf("the job ends after %v s", end)
		}
	})
}

// An attempt that waits for the piece of another one ends with its run.
func TestAnAttemptThatWaitsForAPieceIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		defer cancel()
		var attempts atomic.Int32
		chain := failing(func(b jobs.Block, out jobs.Emitter) error {
			attempts.Add(1)
			time.Sleep(700 * time.Millisecond)
			return emitLines(b, out)
		}, func() error { return nil })
		report, err := engine.RunChain(ctx, chain, engine.Options{
			JobOptions: engine.JobOptions{Stdin: bytes.NewReader(text(194, 20_000)), Inputs: []string{"-"}}, Config: setup.Config{Trackers: 2, MapSlots: 1, ReduceSlots: 1, Faults: []setup.Fault{{Tracker: 0, At: 300 * time.Millisecond}}},
			MemoryBytes: 64 << 20, TempDirs: []string{t.TempDir()},
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if c := report.Jobs[0].Counters; c.LaunchedMaps < 2 || attempts.Load() != 1 || report.MakespanSeconds != 0.7 {
			t.Errorf("%d maps launched, %d mapped, the run ends after %v s", c.LaunchedMaps, attempts.Load(), report.MakespanSeconds)
		}
	})
}

// A job that has no tracker left when it has been opened is not submitted.
func TestAJobMayFailWhileItIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeFiles(t, []jobtest.File{{Path: "a", Data: text(195, 10_000)}})
		chain := failing(emitLines, func() error { return nil })
		job := chain[0]
		chain[0].Begin = func(int) (jobs.Job, error) { time.Sleep(time.Second); return job, nil }
		_, err := engine.RunChain(t.Context(), chain, engine.Options{
			JobOptions: engine.JobOptions{Inputs: []string{dir}}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1, Faults: []setup.Fault{{Tracker: 0, At: 300 * time.Millisecond}}},
			MemoryBytes: 64 << 20, TempDirs: []string{t.TempDir()},
		})
		if err == nil || !strings.Contains(err.Error(), "every tracker is lost") {
			t.Fatal(err)
		}
	})
}
