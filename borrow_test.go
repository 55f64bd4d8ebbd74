package mrlocal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"mrlocal"
	"mrlocal/internal/invariant"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
)

// shout changes p in place.
func shout(p []byte) {
	for i := range p {
		p[i] ^= 0x20
	}
}

// echoLines emits each line of a block.
var echoLines = jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		out.Emit(line, line)
	}
	return nil
})

// TestUserCodeThatChangesWhatItBorrowsIsFound by jobtest, and by a checked build of the engine.
func TestUserCodeThatChangesWhatItBorrowsIsFound(t *testing.T) {
	text := strings.Repeat("line b\nline a\nline c\n", 500)
	mapper := func() jobs.Mapper { return echoLines }
	echo := jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
		for vs.Next() {
			out.Emit(key, vs.Value())
		}
		return nil
	})
	reducer := func() jobs.Reducer { return echo }
	changes := jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
		out.Emit(key, nil)
		shout(key)
		return nil
	})
	values := jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
		for vs.Next() {
			shout(vs.Value())
		}
		out.Emit(key, nil)
		return nil
	})
	for who, job := range map[string]jobs.Job{
		"a key of a reducer":    {NewMapper: mapper, NewReducer: func() jobs.Reducer { return changes }},
		"a value of a reducer":  {NewMapper: mapper, NewReducer: func() jobs.Reducer { return values }},
		"a key of a combiner":   {NewMapper: mapper, NewReducer: reducer, NewCombiner: func() jobs.Reducer { return changes }},
		"a value of a combiner": {NewMapper: mapper, NewReducer: reducer, NewCombiner: func() jobs.Reducer { return values }},
		"a record":              {NewMapper: mapper, NewReducer: func() jobs.Reducer { return changingRecords{} }},
		"a key to partition":    {NewMapper: mapper, NewReducer: reducer, Reduces: 2, Partition: func(key []byte, _ int) int { shout(key); return 0 }},
		"a key to group":        {NewMapper: mapper, NewReducer: reducer, GroupBytes: func(key []byte) int { shout(key); return len(key) }},
		"a value to fold":       {NewMapper: mapper, NewReducer: reducer, NewFolder: func() jobs.Folder { return badFolder{shout} }},
		"a value that is kept":  {NewMapper: mapper, NewReducer: reducer, NewFolder: func() jobs.Folder { return badFolder{nil} }},
		"a taken block": {NewReducer: reducer, NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				if taker, ok := out.(jobs.Taker); ok {
					taker.Take(b, lineSpans(b.Data, 2))
				}
				shout(b.Data)
				return nil
			})
		}},
		"a record whose key is made": {NewReducer: reducer, AppendKey: func(dst, record []byte) []byte { shout(record); return append(dst, record...) }, NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				out.(jobs.Taker).Take(b, lineSpans(b.Data, 2))
				return nil
			})
		}},
		"side data": {NewReducer: reducer, NewMapper: func() jobs.Mapper { return &sideChanger{} }},
	} {
		t.Run(who, func(t *testing.T) {
			job.Name = "changes"
			found := &recorder{TB: t}
			if jobtest.Check(found, jobs.Chain{job}, []jobtest.File{{Path: "f", Data: []byte(text)}}); !found.failed && who != "side data" {
				t.Error("jobtest.Check does not find it")
			}
			o := mrlocal.Options{JobOptions: input(t, strings.Repeat(text, 80)), Config: mrlocal.Config{Attempts: 1}, MemoryBytes: 32 << 20, Stderr: io.Discard}
			o.Reducers, o.Side = 2, o.Inputs[0]
			_, err := mrlocal.Run(t.Context(), job, o)
			if invariant.Enabled && !errors.Is(err, mrlocal.ErrJobFailed) {
				t.Errorf("a checked build: error %v", err)
			}
		})
	}
}

// sideChanger changes its side data.
type sideChanger struct{}

func (sideChanger) Begin(own jobs.OwnAttempt)                { shout(own.Side) }
func (sideChanger) Map(b jobs.Block, out jobs.Emitter) error { return echoLines.Map(b, out) }

// hoarder is a reducer that keeps what it borrows until its flush.
type hoarder struct {
	kept [][]byte
	of   func(key []byte, vs *jobs.Values) []byte
}

func (h *hoarder) Reduce(key []byte, vs *jobs.Values, _ jobs.Emitter) error {
	for vs.Next() {
		h.kept = append(h.kept, h.of(key, vs))
	}
	return nil
}

func (h *hoarder) Flush(out jobs.Emitter) error {
	for _, p := range h.kept {
		out.Emit(p, nil)
	}
	return nil
}

// TestCheckFindsUserCodeThatKeepsWhatItBorrows: overwritten bytes are the same in each run, so one run leaves
// them as they are.
func TestCheckFindsUserCodeThatKeepsWhatItBorrows(t *testing.T) {
	of := map[string]func(key []byte, vs *jobs.Values) []byte{
		"a key":                func(key []byte, _ *jobs.Values) []byte { return key },
		"a value":              func(_ []byte, vs *jobs.Values) []byte { return vs.Value() },
		"the key of a value":   func(_ []byte, vs *jobs.Values) []byte { return vs.Key() },
		"copies, as it should": func(key []byte, vs *jobs.Values) []byte { return append(bytes.Clone(key), vs.Value()...) },
	}
	files := []jobtest.File{{Path: "f", Data: []byte("b\na\nb\nc\n")}}
	for who, of := range of {
		job := jobs.Job{
			Name: "keeps", NewMapper: func() jobs.Mapper { return echoLines },
			NewReducer: func() jobs.Reducer { return &hoarder{of: of} }, GroupBytes: func(key []byte) int { return len(key) },
		}
		found := &recorder{TB: t}
		if jobtest.Check(found, jobs.Chain{job}, files); found.failed != (who != "copies, as it should") {
			t.Errorf("%s: found: %t", who, found.failed)
		}
	}
	first := jobs.Job{Name: "keeps a line", NewReducer: func() jobs.Reducer { return jobs.Identity{Unique: true} }, NewMapper: func() jobs.Mapper { return &firstLine{} }}
	found := &recorder{TB: t}
	if jobtest.Check(found, jobs.Chain{first}, []jobtest.File{{Path: "f", Data: bytes.Repeat([]byte("a\n"), 9)}}); !found.failed {
		t.Error("a line of a block: not found")
	}
}

// firstLine is a mapper that emits at its flush the first line of its input, which it keeps.
type firstLine struct{ line []byte }

func (m *firstLine) Map(b jobs.Block, _ jobs.Emitter) error {
	if m.line == nil {
		m.line = b.Data[:1]
	}
	return nil
}

func (m *firstLine) Flush(out jobs.Emitter) error { out.Emit(m.line, nil); return nil }

// recorder notes whether a test has failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }

// changingRecords changes each record.
type changingRecords struct{}

func (changingRecords) Reduce([]byte, *jobs.Values, jobs.Emitter) error { panic("by records") }

func (changingRecords) ReduceRecord(key, value []byte, out jobs.Emitter) error {
	out.Emit(key, value)
	shout(value)
	return nil
}

// badFolder changes its value, or keeps it if change is nil.
type badFolder struct{ change func(p []byte) }

func (f badFolder) Fold(_, value []byte) []byte {
	if f.change == nil {
		return value
	}
	f.change(value)
	return bytes.Clone(value)
}

// TestARetryReadsTheInputThatAMapperHasChanged: a mapper may change its block in place. The first
// attempt at each map does, and fails.
func TestARetryReadsTheInputThatAMapperHasChanged(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	job := func(ordered bool) jobs.Job {
		return jobs.Job{
			Name: "changes", Ordered: ordered, NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} },
			NewMapper: func() jobs.Mapper { return &changingMapper{} },
		}
	}
	want, err := jobtest.Reference(jobs.Chain{job(false)}, []jobtest.File{{Path: "f", Data: []byte(text.String())}})
	if err != nil {
		t.Fatal(err)
	}
	for _, ordered := range []bool{false, true} {
		file := input(t, text.String())
		file.BlockBytes = 30_000
		for name, in := range map[string]mrlocal.JobOptions{
			"a file": file, "a stream": {Inputs: []string{"-"}, Stdin: strings.NewReader(text.String())},
		} {
			var out bytes.Buffer
			o := mrlocal.Options{JobOptions: in, Config: mrlocal.Config{Attempts: 2}, Stderr: io.Discard, MemoryBytes: 32 << 20}
			o.Stdout, o.Reducers = &out, 1
			_, err := mrlocal.Run(t.Context(), job(ordered), o)
			switch {
			case name == "a file" && (err != nil || !bytes.Equal(out.Bytes(), want)):
				t.Errorf("%s: %v, %d bytes, want %d", name, err, out.Len(), len(want))
			case name == "a stream" && (err == nil || !strings.Contains(err.Error(), "the mapper has changed what it has read")):
				t.Errorf("%s: error %v", name, err)
			}
		}
	}
}

// changingMapper changes its block, and fails in attempt 0.
type changingMapper struct{ own jobs.OwnAttempt }

func (m *changingMapper) Begin(own jobs.OwnAttempt) { m.own = own }

func (m *changingMapper) Map(b jobs.Block, out jobs.Emitter) error {
	_ = echoLines.Map(b, out)
	shout(b.Data)
	if m.own.Status != nil && m.own.Number == 0 && len(b.Path) > 1 { // not in a sample, nor in the reference
		return errors.New("fails once")
	}
	return nil
}

// TestASliceThatIsKeptPastTheRun does not end the process in a checked build.
func TestASliceThatIsKeptPastTheRun(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("only a checked build keeps the memory readable")
	}
	var kept [][]byte
	job := jobs.Job{Name: "keeps", NewMapper: func() jobs.Mapper {
		return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
			kept = append(kept, b.Data)
			return echoLines.Map(b, out)
		})
	}, NewReducer: func() jobs.Reducer {
		return jobs.ReducerFunc(func(key []byte, vs *jobs.Values, _ jobs.Emitter) error {
			for kept = append(kept, key); vs.Next(); {
				kept = append(kept, vs.Value())
			}
			return nil
		})
	}}
	o := mrlocal.Options{JobOptions: input(t, strings.Repeat("a\n", 1000)+strings.Repeat("long", 1<<18)), Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1}}
	o.Reducers = 1
	if _, err := mrlocal.Run(t.Context(), job, o); err != nil {
		t.Fatal(err)
	}
	for _, p := range kept {
		if bytes.Contains(p, []byte("long")) {
			t.Errorf("%d bytes are still there", len(p))
		}
	}
}
