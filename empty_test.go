package mrlocal_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrlocal"
	"mrlocal/hadoop/stream"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
)

// emptyText has lines "key value". Each may be empty. Long values make buffers spill.
func emptyText() string {
	var text strings.Builder
	for i := range 400 {
		value := []string{"", "x", "y z", strings.Repeat("v", 1500)}[i*7%4]
		fmt.Fprintf(&text, "%s %s\n", []string{"", "a", "", "b", "a"}[i%5], value)
	}
	return text.String() + "\n\n"
}

// emptyMappers are mappers that emit the same empty keys and values in different forms. form makes one
// of an empty slice.
func emptyMappers() map[string]jobs.Job {
	emit := func(form func(n int, p []byte) []byte) jobs.Job {
		return jobs.Job{NewMapper: func() jobs.Mapper {
			n := 0
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				for line := range b.Lines() {
					key, value, _ := bytes.Cut(line, []byte{' '})
					out.Emit(form(n, key), form(n+1, value))
					n++
				}
				return nil
			})
		}}
	}
	spans := func(part int, value []byte) jobs.Job {
		return jobs.Job{NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				jobs.EmitSpans(out, b.Data, lineSpans(b.Data, part), value)
				return nil
			})
		}}
	}
	take := func(appendKey func(dst, record []byte) []byte) jobs.Job {
		return jobs.Job{AppendKey: appendKey, NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				if taker, ok := out.(jobs.Taker); ok {
					taker.Take(b, lineSpans(b.Data, 2))
					return nil
				}
				jobs.EmitSpans(out, b.Data, lineSpans(b.Data, 2), nil)
				return nil
			})
		}}
	}
	empty := func(p []byte) []byte {
		if len(p) == 0 {
			return nil
		}
		return p
	}
	return map[string]jobs.Job{
		"nil":   emit(func(_ int, p []byte) []byte { return empty(p) }),
		"empty": emit(func(_ int, p []byte) []byte { return append([]byte{}, p...) }),
		"mixed": emit(func(n int, p []byte) []byte {
			if n%3 == 0 {
				return empty(p)
			}
			return p
		}),
		"spans with nil":   spans(0, nil),
		"spans with empty": spans(1, []byte{}),
		"taken":            take(nil),
		"taken with keys":  take(func(dst, record []byte) []byte { return append(dst, record[:min(len(record), len(record)%2)]...) }),
	}
}

// lineSpans returns the span of each line's key (part 0), value (1), or of the line (2).
func lineSpans(data []byte, part int) (spans []jobs.Span) {
	at := 0
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		key, value, _ := bytes.Cut(line, []byte{' '})
		off, n := at, len([][]byte{key, value, line}[part])
		if part == 1 {
			off = at + len(line) - n
		}
		spans = append(spans, jobs.Span{Off: uint32(off), Len: uint32(n)})
		at += len(line) + 1
	}
	return spans
}

// recordReducer is a reducer that is called for each record.
type recordReducer struct{ t *testing.T }

func (recordReducer) Reduce([]byte, *jobs.Values, jobs.Emitter) error { panic("by records") }

func (r recordReducer) ReduceRecord(key, value []byte, out jobs.Emitter) error {
	if key == nil || value == nil {
		r.t.Errorf("a record of nil: %v %v", key == nil, value == nil)
	}
	out.Emit(value, key)
	return nil
}

// leastValue is a Folder: it keeps the least value, behind a plus sign. It returns nil for an empty one.
type leastValue struct{}

func (leastValue) Fold(acc, value []byte) []byte {
	least := bytes.TrimPrefix(value, []byte("+"))
	if before := bytes.TrimPrefix(acc, []byte("+")); acc != nil && bytes.Compare(before, least) < 0 {
		least = before
	}
	if len(least) == 0 {
		return nil
	}
	return append([]byte("+"), least...)
}

// emptyReducers return the fields for the reduce side of a job.
func emptyReducers(t *testing.T) map[string]func(j *jobs.Job) {
	of := func(r jobs.Reducer) func(j *jobs.Job) {
		return func(j *jobs.Job) { j.NewReducer = func() jobs.Reducer { return r } }
	}
	echo := jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
		for vs.Next() {
			if key == nil || vs.Value() == nil {
				t.Errorf("a record of nil: %v %v", key == nil, vs.Value() == nil)
			}
			out.Emit(key, vs.Value())
		}
		return nil
	})
	return map[string]func(j *jobs.Job){
		"identity": of(jobs.Identity{}), "keys": of(jobs.Identity{Out: jobs.KeyColumn}), "values": of(jobs.Identity{Out: jobs.ValueColumn}),
		"unique": of(jobs.Identity{Unique: true}), "echo": of(echo),
		"records": of(recordReducer{t}),
		"folded": func(j *jobs.Job) {
			of(jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
				least := []byte{0xff}
				for vs.Next() {
					if v := bytes.TrimPrefix(vs.Value(), []byte("+")); bytes.Compare(v, least) < 0 {
						least = bytes.Clone(v)
					}
				}
				out.Emit(key, least)
				return nil
			}))(j)
			j.NewFolder = func() jobs.Folder { return leastValue{} }
		},
		"combined": func(j *jobs.Job) {
			of(echo)(j)
			j.NewCombiner = func() jobs.Reducer { return echo }
		},
		"grouped": func(j *jobs.Job) {
			of(jobs.ReducerFunc(func(_ []byte, vs *jobs.Values, out jobs.Emitter) error {
				for vs.Next() {
					out.Emit(vs.Key(), vs.Value())
				}
				return nil
			}))(j)
			j.GroupBytes = func(key []byte) int { return min(len(key), 1) }
		},
		"ordered":  func(j *jobs.Job) { of(jobs.Identity{})(j); j.Ordered = true },
		"map-only": func(*jobs.Job) {},
	}
}

// TestAnEmptySliceIsNil: whether a mapper emits an empty key or value as nil, and where its records
// go, does not change a byte of the result.
func TestAnEmptySliceIsNil(t *testing.T) {
	t.Parallel() // much of its time it waits for the disk
	text := emptyText()
	o := input(t, text)
	results := map[string]string{} // by reducer, for mappers that emit the same records
	for mapper, job := range emptyMappers() {
		for reducer, change := range emptyReducers(t) {
			job := job
			job.Name = mapper + ", " + reducer
			if change(&job); job.NewReducer == nil && (strings.HasPrefix(mapper, "taken")) {
				continue // there is no Taker
			}
			reference := job
			if reducer == "records" {
				reference.NewReducer = func() jobs.Reducer { return byRecord{recordReducer{t}} }
			}
			want, err := jobtest.Reference(jobs.Chain{reference}, []jobtest.File{{Path: o.Inputs[0], Data: []byte(text)}})
			if err != nil {
				t.Fatalf("%s: %v", job.Name, err)
			}
			if mapper == "nil" || mapper == "empty" || mapper == "mixed" {
				if first, ok := results[reducer]; ok && first != string(want) {
					t.Errorf("%s: the reference differs from that of another mapper", job.Name)
				}
				results[reducer] = string(want)
			}
			ways := []string{"memory", "spills"}
			if reducer == "echo" || reducer == "folded" { // a journal takes the time of the disk
				ways = append(ways, "journal")
			}
			for _, way := range ways {
				if got, err := runEmpty(t, job, o, way); err != nil || got != string(want) {
					t.Errorf("%s, %s: %d bytes, want %d as in the reference; %v; %.40q %.40q", job.Name, way, len(got), len(want), err, got, want)
				}
			}
			if reducer == "grouped" || job.NewReducer == nil {
				continue
			}
			if got, err := streamed(reference, text); err != nil || got != string(want) {
				t.Errorf("%s, streamed: %d bytes, want %d as in the reference; %v", job.Name, len(got), len(want), err)
			}
		}
	}
}

// byRecord is a recordReducer for callers that know no RecordReducer.
type byRecord struct{ recordReducer }

func (r byRecord) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	for vs.Next() {
		if err := r.ReduceRecord(key, vs.Value(), out); err != nil {
			return err
		}
	}
	return nil
}

// runEmpty runs a job in one of three ways: with all of its data in memory, with many spills and
// merge passes, or with a journal.
func runEmpty(t *testing.T, job jobs.Job, in mrlocal.JobOptions, way string) (string, error) {
	var out bytes.Buffer
	o := mrlocal.Options{JobOptions: in, Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 32 << 20}
	if o.Stdout = &out; job.NewReducer != nil {
		o.Reducers = 1
	}
	switch way {
	case "spills":
		o.SortBufferBytes, o.NoGrowth, o.MergeFactor, o.BlockBytes = 64<<10, true, 2, 100_000
	case "journal":
		o.ResumeDir = filepath.Join(t.TempDir(), "kept")
	}
	res, err := mrlocal.Run(t.Context(), job, o)
	if way == "spills" && err == nil && job.NewReducer != nil && job.NewFolder == nil && res.Jobs[0].Counters.MapOutputBytes > 200_000 && res.Jobs[0].Counters.Spills < 2 {
		t.Errorf("%s: %d spills", job.Name, res.Jobs[0].Counters.Spills)
	}
	return out.String(), err
}

// streamed runs a job as the children of Hadoop Streaming, with one map and one reduce.
func streamed(job jobs.Job, text string) (string, error) {
	var mapped, out bytes.Buffer
	chain, o := jobs.Chain{job}, stream.Options{InOrder: true}
	if err := stream.Run(context.Background(), chain, stream.Map, o, strings.NewReader(text), &mapped, io.Discard); err != nil {
		return "", err
	}
	lines := strings.SplitAfter(mapped.String(), "\n")
	key := func(line string) string { k, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); return k }
	slices.SortStableFunc(lines[:len(lines)-1], func(a, b string) int { return strings.Compare(key(a), key(b)) })
	err := stream.Run(context.Background(), chain, stream.Reduce, o, strings.NewReader(strings.Join(lines, "")), &out, io.Discard)
	return out.String(), err
}
