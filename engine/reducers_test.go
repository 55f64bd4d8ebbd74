package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"mrlocal/engine"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/wordcount"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/spill"
)

// TestReducersAreAMultipleOfTheReduceSlots: Hadoop's guideline of 0.95 or 1.75 times the
// reduce capacity, rounded down and at least 1. The options of a job of a batch go before
// those of the run.
func TestReducersAreAMultipleOfTheReduceSlots(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("a b c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		trackers, slots int
		perSlot         slots.PPM
		want            int
	}{
		{2, 10, slots.One * 95 / 100, 19}, {2, 10, slots.One * 175 / 100, 35}, {1, 3, slots.One * 95 / 100, 2},
		{1, 1, slots.One * 95 / 100, 1}, {1, 1, slots.One / 2, 1}, {3, 2, slots.One, 6},
	} {
		o := engine.Options{
			JobOptions: engine.JobOptions{Inputs: []string{in}, ReducersPerSlot: c.perSlot},
			Config:     setup.Config{Trackers: c.trackers, MapSlots: 1, ReduceSlots: c.slots}, NoPin: true, MemoryBytes: 256 << 20,
		}
		r, err := engine.RunChain(t.Context(), build(t, wordcount.New, wordcount.Options{}), o)
		if err != nil {
			t.Fatal(err)
		}
		if got := int(r.Jobs[0].Reduces); got != c.want {
			t.Errorf("%v of %d reduce slots: %d reduces, want %d", c.perSlot, c.trackers*c.slots, got, c.want)
		}
	}
	for _, o := range []engine.JobOptions{{ReducersPerSlot: -1}, {ReducersPerSlot: 101 * slots.One}, {ReducersPerSlot: slots.One, Reducers: 2}, {ReducersPerSlot: slots.One, MapOnly: true}} {
		o.Inputs = []string{in}
		if _, err := engine.RunChain(t.Context(), build(t, wordcount.New, wordcount.Options{}), engine.Options{JobOptions: o}); !errs.IsUsage(err) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// eachRecord writes one line for a record.
type eachRecord struct{}

func (*eachRecord) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	for vs.Next() {
		out.Emit(key, vs.Value())
	}
	return nil
}

// byRecord does the same, but asks for records. It fails if it gets a group.
type byRecord struct{}

func (*byRecord) Reduce([]byte, *jobs.Values, jobs.Emitter) error {
	return errors.New("a group for a RecordReducer")
}

func (*byRecord) ReduceRecord(key, value []byte, out jobs.Emitter) error {
	out.Emit(key, value)
	return nil
}

// A RecordReducer gets the records of a Reducer in the same order: from memory, where idle cores
// sort, and from disk. The groups are counted all the same.
func TestRecordReducer(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	var text []byte
	for i := range 120_000 {
		text = fmt.Appendf(text, "key %d and some more\n", i*7919%9001)
	}
	if err := os.WriteFile(in, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sortBuffer := range []int64{0, 64 << 10} {
		var results [2][]byte
		lends, err := registry.New("pi-dhfs", policy.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		for i, reducer := range []func() jobs.Reducer{func() jobs.Reducer { return &eachRecord{} }, func() jobs.Reducer { return &byRecord{} }} {
			number := 0
			job := jobs.Job{Name: "each", NewReducer: reducer, NewMapper: func() jobs.Mapper {
				return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
					for line := range b.Lines() {
						number++
						out.Emit(line, strconv.AppendInt(nil, int64(number), 10))
					}
					return nil
				})
			}}
			out := filepath.Join(t.TempDir(), "out")
			r, err := engine.RunChain(t.Context(), jobs.Chain{job}, engine.Options{
				JobOptions: engine.JobOptions{Inputs: []string{in}, OutputFile: out, Reducers: 1, BlockBytes: 16 << 20},
				Config:     setup.Config{MapSlots: 1, ReduceSlots: 1}, NoPin: true, MemoryBytes: 64 << 20, SortBufferBytes: sortBuffer, KVBuffer: spill.KVBuffer{NoGrowth: true},
				Policy: lends,
			})
			if err != nil {
				t.Fatal(err)
			}
			if results[i], err = os.ReadFile(out); err != nil {
				t.Fatal(err)
			}
			c := r.Jobs[0].Counters
			if c.ReduceInputGroups != 9001 || c.ReduceInputRecords != 120_000 {
				t.Errorf("reducer %d: %d groups, %d records; want 9001 and 120000", i, c.ReduceInputGroups, c.ReduceInputRecords)
			}
			if (sortBuffer > 0) != (c.SpilledRecords > 0) {
				t.Errorf("reducer %d: %d records spilled with a kvbuffer of %d bytes", i, c.SpilledRecords, sortBuffer)
			}
		}
		if !bytes.Equal(results[0], results[1]) || len(results[0]) == 0 {
			t.Errorf("a kvbuffer of %d bytes: by records the result is another than by groups", sortBuffer)
		}
	}
}
