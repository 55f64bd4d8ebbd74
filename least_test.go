package mrlocal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/internal/invariant"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/slots"
)

// leastSetting is a numeric setting at its least value. below, if set, makes it less.
type leastSetting struct {
	set, below func(o *mrlocal.Options)
	fails      string // the error that the least value makes; "": none
	may        bool   // it makes the error now and then only
}

// leastSettings has each numeric field of mrlocal.Options by its name.
func leastSettings() map[string]leastSetting {
	return map[string]leastSetting{
		"SortBufferBytes": {
			set:   func(o *mrlocal.Options) { o.SortBufferBytes, o.NoGrowth = 16<<10, true },
			below: func(o *mrlocal.Options) { o.SortBufferBytes = 16<<10 - 1 },
		},
		"SpillPercent": {
			set:   func(o *mrlocal.Options) { o.SpillPercent, o.SortBufferBytes, o.NoGrowth = 0.1, 16<<10, true },
			below: func(o *mrlocal.Options) { o.SpillPercent = math.Nextafter(0.1, 0) },
		},
		"GrowthThreshold": {
			set:   func(o *mrlocal.Options) { o.GrowthThreshold, o.SortBufferBytes = math.SmallestNonzeroFloat64, 16<<10 },
			below: func(o *mrlocal.Options) { o.GrowthThreshold = -math.SmallestNonzeroFloat64 },
		},
		"MergeFactor": {
			set: func(o *mrlocal.Options) {
				o.MergeFactor, o.SpillPercent, o.SortBufferBytes, o.NoGrowth = 2, 0.1, 16<<10, true
			},
			below: func(o *mrlocal.Options) { o.MergeFactor = 1 },
		},
		"BlockBytes": {
			set:   func(o *mrlocal.Options) { o.BlockBytes = 1 },
			below: func(o *mrlocal.Options) { o.BlockBytes = -1 },
		},
		"MemoryBytes": {
			set: func(o *mrlocal.Options) {
				o.MemoryBytes, o.MergeFactor, o.SpillPercent, o.SortBufferBytes, o.NoGrowth = 16<<20, 2, 0.1, 16<<10, true
			},
			below: func(o *mrlocal.Options) { o.MemoryBytes = 16<<20 - 1 },
		},
		"MaxTempBytes": {
			set:   func(o *mrlocal.Options) { o.MaxTempBytes, o.SortBufferBytes, o.NoGrowth = 1, 16<<10, true },
			below: func(o *mrlocal.Options) { o.MaxTempBytes = -1 },
			fails: "temporary files would take more than the 1 byte of Options.MaxTempBytes",
		},
		"TaskTimeout": {
			set:   func(o *mrlocal.Options) { o.TaskTimeout = 1 },
			below: func(o *mrlocal.Options) { o.TaskTimeout = -1 },
			fails: "no progress", may: true, // if the attempt still runs when it is looked at
		},
		"DiskBytesPerSecond": {
			set:   func(o *mrlocal.Options) { o.DiskBytesPerSecond = 256 << 10 },
			below: func(o *mrlocal.Options) { o.DiskBytesPerSecond = 1 },
		},
		"Copiers.BytesPerSecond": {
			set:   func(o *mrlocal.Options) { o.Copiers.BytesPerSecond = 256 << 10 },
			below: func(o *mrlocal.Options) { o.Copiers.BytesPerSecond = 1 },
		},
		"ShuffleBytesPerSecond": {
			set:   func(o *mrlocal.Options) { o.ShuffleBytesPerSecond = 256 << 10 },
			below: func(o *mrlocal.Options) { o.ShuffleBytesPerSecond = 1 },
		},
		"Copiers.Parallel": {
			set:   func(o *mrlocal.Options) { o.Copiers.Parallel, o.BlockBytes = 1, 100_000 },
			below: func(o *mrlocal.Options) { o.Copiers.Parallel = -1 },
		},
		"Slow": {
			set:   func(o *mrlocal.Options) { o.Slow = []mrlocal.Slow{{Factor: slots.One / 100}} },
			below: func(o *mrlocal.Options) { o.Slow = []mrlocal.Slow{{Factor: 1}} },
		},
		"Slowstart": {
			set:   func(o *mrlocal.Options) { o.Slowstart, o.BlockBytes = new(slots.PPM), 50_000 },
			below: func(o *mrlocal.Options) { o.Slowstart = pointer(slots.PPM(-1)) },
		},
		"Attempts":    {set: func(o *mrlocal.Options) { o.Attempts = 1 }, below: func(o *mrlocal.Options) { o.Attempts = -1 }},
		"Trackers":    {set: func(o *mrlocal.Options) { o.Trackers = 1 }, below: func(o *mrlocal.Options) { o.Trackers = -1 }},
		"MapSlots":    {set: func(o *mrlocal.Options) { o.MapSlots = 1 }, below: func(o *mrlocal.Options) { o.MapSlots = -1 }},
		"ReduceSlots": {set: func(o *mrlocal.Options) { o.ReduceSlots = 1 }, below: func(o *mrlocal.Options) { o.ReduceSlots = -1 }},
		"MaxSlots":    {set: func(o *mrlocal.Options) { o.MaxSlots = 2 }, below: func(o *mrlocal.Options) { o.MaxSlots = 1 }},
		"LocalityDelay": {
			set:   func(o *mrlocal.Options) { o.LocalityDelay, o.Replicas, o.Trackers = pointer(time.Duration(1)), 1, 2 },
			below: func(o *mrlocal.Options) { o.LocalityDelay = pointer(time.Duration(-1)) },
		},
		"Replicas":      {set: func(o *mrlocal.Options) { o.Replicas = 1 }, below: func(o *mrlocal.Options) { o.Replicas = -1 }},
		"GroupTrackers": {set: func(o *mrlocal.Options) { o.GroupTrackers = 1 }, below: func(o *mrlocal.Options) { o.GroupTrackers = -1 }},
		"RemotePenalty": {
			set:   func(o *mrlocal.Options) { o.RemotePenalty, o.Replicas, o.Trackers = slots.One, 1, 2 },
			below: func(o *mrlocal.Options) { o.RemotePenalty = slots.One - 1 },
		},
		"Seed":            {set: func(o *mrlocal.Options) { o.Seed = 1 }},
		"Reducers":        {set: func(o *mrlocal.Options) { o.Reducers = 1 }, below: func(o *mrlocal.Options) { o.Reducers = -1 }},
		"ReducersPerSlot": {set: func(o *mrlocal.Options) { o.Reducers, o.ReducersPerSlot = 0, 1 }, below: func(o *mrlocal.Options) { o.ReducersPerSlot = -1 }},
	}
}

func pointer[T any](value T) *T { return &value }

// numericFields returns the names of the numeric fields of a struct type, with those of structs in it.
// Embedded structs add nothing to a name.
func numericFields(t reflect.Type, prefix string) (names []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		switch {
		case !f.IsExported():
		case f.Anonymous && kind.Kind() == reflect.Struct:
			names = append(names, numericFields(kind, prefix)...)
		case kind.Kind() == reflect.Struct && f.Type.Kind() == reflect.Struct:
			names = append(names, numericFields(kind, prefix+f.Name+".")...)
		case kind.Kind() >= reflect.Int && kind.Kind() <= reflect.Float64 && kind.Kind() != reflect.Uint8:
			names = append(names, prefix+f.Name)
		}
	}
	return names
}

// TestEachLeastSettingEndsSoon: a job on 400 KB ends within seconds on the least value of each numeric
// setting, and a lesser value is refused by name.
func TestEachLeastSettingEndsSoon(t *testing.T) {
	settings := leastSettings()
	for _, name := range numericFields(reflect.TypeFor[mrlocal.Options](), "") {
		if _, ok := settings[name]; !ok {
			t.Errorf("no row for the setting %s", name)
		}
	}
	var text strings.Builder
	for i := 0; text.Len() < 400_000; i++ {
		fmt.Fprintf(&text, "line %d\n", i*7919%65_537)
	}
	in := input(t, text.String())
	job := jobs.Job{Name: "lines", NewReducer: func() jobs.Reducer { return jobs.Identity{} }, NewMapper: func() jobs.Mapper {
		return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
			for line := range b.Lines() {
				out.Emit(line, nil)
			}
			return nil
		})
	}}
	want, err := jobtest.Reference(jobs.Chain{job}, []jobtest.File{{Path: "f", Data: []byte(text.String())}})
	if err != nil {
		t.Fatal(err)
	}
	options := func(change func(o *mrlocal.Options)) mrlocal.Options {
		o := mrlocal.Options{JobOptions: in, Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 64 << 20, Stderr: io.Discard}
		o.Reducers = 1
		change(&o)
		return o
	}
	for name, s := range settings {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time is simulated bandwidth
			limit := 30 * time.Second
			if invariant.Enabled { // such a build computes ten times as long
				limit *= 5
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			var out bytes.Buffer
			o := options(s.set)
			o.Stdout = &out
			_, err := mrlocal.Run(ctx, job, o)
			lines := slices.Sorted(strings.Lines(out.String())) // several reducers write several sorted parts
			switch {
			case s.fails != "" && (err != nil || !s.may):
				if err == nil || !strings.Contains(err.Error(), s.fails) {
					t.Errorf("error %v, want %q", err, s.fails)
				}
			case err != nil:
				t.Errorf("the least value: %v", err)
			case strings.Join(lines, "") != string(want):
				t.Errorf("%d bytes, want %d", out.Len(), len(want))
			}
			if s.below == nil {
				return
			}
			field := name[:strings.IndexByte(name+".", '.')]
			if _, err = mrlocal.Run(ctx, job, options(s.below)); !errors.Is(err, mrlocal.ErrBadOptions) || !strings.Contains(err.Error(), field) {
				t.Errorf("below the least value: %v", err)
			}
		})
	}
}
