package mrlocal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mrlocal"
	"mrlocal/hadoop/stream"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/slots/policy/fifo"
)

// lateEmits are the ways in which user code may emit too late.
var lateEmits = map[string]func(out jobs.Emitter){
	"Emit":            func(out jobs.Emitter) { out.Emit([]byte("late"), []byte("late")) },
	"an empty record": func(out jobs.Emitter) { out.Emit(nil, nil) },
	"a sum":           func(out jobs.Emitter) { out.Emit([]byte("late"), jobs.AppendUint64(nil, 1)) },
	"many records": func(out jobs.Emitter) {
		for range 20_000 {
			out.Emit([]byte("late"), bytes.Repeat([]byte("x"), 8))
		}
	},
	"a large record": func(out jobs.Emitter) { out.Emit(make([]byte, 1<<20), nil) },
	"spans": func(out jobs.Emitter) {
		jobs.EmitSpans(out, []byte("late latest"), []jobs.Span{{Len: 4}, {Off: 5, Len: 6}}, jobs.AppendUint64(nil, 1))
	},
	"a block": func(out jobs.Emitter) {
		if taker, ok := out.(jobs.Taker); ok {
			taker.Take(jobs.Block{Data: []byte("late\n")}, []jobs.Span{{Len: 4}})
			return
		}
		out.Emit(nil, []byte("late"))
	},
	"raw text": func(out jobs.Emitter) {
		if raw, ok := out.(jobs.RawWriter); ok {
			raw.WriteRaw([]byte("late"))
			return
		}
		out.Emit(nil, []byte("late"))
	},
}

// keeper is user code that keeps the Emitter of its attempt. It emits each line, or each key.
type keeper struct {
	name string // of a named output; "": the Emitter of the attempt
	out  jobs.Emitter
	own  jobs.OwnAttempt
	end  func(k *keeper) error // Close
}

func (k *keeper) Begin(own jobs.OwnAttempt) {
	k.own = own
	if k.name != "" {
		k.out = own.Output(k.name)
	}
}

func (k *keeper) keep(out jobs.Emitter) {
	if k.name == "" {
		k.out = out
	}
}

func (k *keeper) Close() error { return k.end(k) }

func (k *keeper) Map(b jobs.Block, out jobs.Emitter) error {
	k.keep(out)
	for line := range b.Lines() {
		out.Emit(line, jobs.AppendUint64(nil, 1))
	}
	return nil
}

func (k *keeper) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	k.keep(out)
	for vs.Next() {
		out.Emit(key, vs.Value())
	}
	return nil
}

// keepers returns jobs whose user code of one sort keeps its Emitter.
func keepers(end func(k *keeper) error) map[string]jobs.Job {
	makeOf := func(name string) *keeper { return &keeper{name: name, end: end} }
	mapper := func() jobs.Mapper { return makeOf("") }
	identity := func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} }
	emits := func() jobs.Mapper {
		return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
			for line := range b.Lines() {
				out.Emit(line, jobs.AppendUint64(nil, 1))
			}
			return nil
		})
	}
	sum := func() jobs.Folder { return jobs.Sum{} }
	return map[string]jobs.Job{
		"a mapper":                   {NewMapper: mapper, NewReducer: identity},
		"a mapper that sums":         {NewMapper: mapper, NewReducer: identity, NewFolder: sum},
		"a mapper that folds":        {NewMapper: mapper, NewReducer: identity, NewFolder: func() jobs.Folder { return leastValue{} }},
		"a mapper without reducers":  {NewMapper: mapper},
		"a reducer":                  {NewMapper: emits, NewReducer: func() jobs.Reducer { return makeOf("") }},
		"a reducer of binary output": {NewMapper: emits, NewReducer: func() jobs.Reducer { return makeOf("") }, Bare: true},
		"a combiner":                 {NewMapper: emits, NewReducer: identity, NewCombiner: func() jobs.Reducer { return makeOf("") }},
		"a named output":             {NewMapper: emits, NewReducer: func() jobs.Reducer { return makeOf("more") }, Outputs: []string{"more"}},
	}
}

// TestARecordEmittedInCloseFailsItsAttempt: it would be lost.
func TestARecordEmittedInCloseFailsItsAttempt(t *testing.T) {
	in := input(t, strings.Repeat("a\nb\nc\n", 100))
	for how, emit := range lateEmits {
		for who, job := range keepers(func(k *keeper) error { emit(k.out); return nil }) {
			if how == "an empty record" && job.Bare {
				continue // the record has no bytes
			}
			t.Run(who+": "+how, func(t *testing.T) {
				job.Name = "late"
				o := mrlocal.Options{JobOptions: in, Config: mrlocal.Config{Attempts: 1, MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 32 << 20}
				if job.NewReducer != nil {
					o.Reducers = 1
				}
				if len(job.Outputs) > 0 {
					o.OutputDir = "there"
				}
				failedRun(t, o, jobs.Chain{job}, "late", "after Map, Reduce and Flush")
				if _, err := jobtest.Reference(jobs.Chain{job}, []jobtest.File{{Path: "f", Data: []byte("a\nb\n")}}); err == nil {
					t.Error("the reference takes the record")
				}
				if stream.Check(jobs.Chain{job}) == nil && job.NewCombiner == nil {
					if _, err := streamed(job, "a\nb\n"); err == nil {
						t.Error("a child of Hadoop Streaming takes the record")
					}
				}
			})
		}
	}
}

// TestAnEmitterOfAnEarlierAttemptDoesNoHarm: user code that emits through it loses records, so the job fails.
// The records of other attempts stay as they are.
func TestAnEmitterOfAnEarlierAttemptDoesNoHarm(t *testing.T) {
	t.Parallel() // much of its time it waits for the disk
	var text strings.Builder
	for i := range 3_000 {
		fmt.Fprintf(&text, "line %05d\n", i)
	}
	in := input(t, text.String())
	in.BlockBytes, in.Reducers = 6_000, 3
	for how, emit := range lateEmits {
		for who := range keepers(nil) {
			if who == "a named output" || how == "an empty record" && who == "a reducer of binary output" {
				continue // of the first, Close is enough; the second record has no bytes
			}
			t.Run(who+": "+how, func(t *testing.T) {
				// Attempts run one after the other, because FIFO lends no slots. Each but the first uses the
				// Emitter of the first one.
				var mu sync.Mutex
				var first jobs.Emitter
				late := func(k *keeper) error {
					mu.Lock()
					defer mu.Unlock()
					if first == nil {
						first = k.out
					} else if first != k.out {
						emit(first)
					}
					return nil
				}
				job := keepers(late)[who]
				job.Name = "late"
				o := mrlocal.Options{JobOptions: in, Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 32 << 20, Stderr: io.Discard, Policy: fifo.New()}
				if job.NewReducer == nil {
					o.Reducers = 0
				}
				o.OutputFile = filepath.Join(t.TempDir(), "out")
				_, err := mrlocal.Run(t.Context(), job, o)
				if !errors.Is(err, mrlocal.ErrJobFailed) || !strings.Contains(err.Error(), "after Map, Reduce and Flush") {
					t.Errorf("error %v", err)
				}
			})
		}
	}
}

// TestFunctionsOfAnAttemptDoNothingAfterIt: user code keeps them, and calls them on a goroutine of its own.
func TestFunctionsOfAnAttemptDoNothingAfterIt(t *testing.T) {
	in := input(t, strings.Repeat("a\nb\nc\n", 1000))
	in.BlockBytes, in.Reducers, in.OutputDir = 1000, 2, filepath.Join(t.TempDir(), "out")
	var kept []*keeper
	var mu sync.Mutex
	var charged atomic.Int64
	use := func(k *keeper) {
		k.own.Progress(1, 2)
		k.own.Lasts(1)
		k.own.Read(1000, 1000)
		k.own.Status("late")
		if k.own.Charge(1) {
			charged.Add(1)
		}
		k.own.Output("more")
		k.own.Output("none")
	}
	end := func(k *keeper) error {
		mu.Lock()
		defer mu.Unlock()
		for _, other := range kept {
			use(other)
		}
		kept = append(kept, k)
		return nil
	}
	job := jobs.Job{
		Name: "keeps", Outputs: []string{"more"},
		NewMapper:  func() jobs.Mapper { return &keeper{end: end} },
		NewReducer: func() jobs.Reducer { return &keeper{end: end} },
	}
	o := mrlocal.Options{JobOptions: in, Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 32 << 20}
	res, err := mrlocal.Run(t.Context(), job, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kept {
		use(k)
	}
	if n := res.Jobs[0].Counters.MapInputRecords; n != 3000 || charged.Load() > 0 {
		t.Errorf("%d records of input, %d bytes charged", n, charged.Load())
	}
}
