package mrlocal_test

import (
	"bytes"
	"testing"

	"mrlocal"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
)

// flushing is a reducer that emits at each ability that may emit.
type flushing struct{ jobs.Identity }

func (f flushing) Flush(out jobs.Emitter) error { out.Emit([]byte("k"), []byte("v")); return nil }

// flushingRecords is a flushing by records.
type flushingRecords struct{ flushing }

func (f flushingRecords) ReduceRecord(key, value []byte, out jobs.Emitter) error {
	out.Emit(key, value)
	return nil
}

// TestBareHoldsForAllThatAReducerEmits: neither TAB nor delimiter, also from Flush.
func TestBareHoldsForAllThatAReducerEmits(t *testing.T) {
	for name, r := range map[string]jobs.Reducer{"by groups": flushing{}, "by records": flushingRecords{}} {
		job := jobs.Job{
			Name: "bare", Bare: true, NewMapper: func() jobs.Mapper { return jobs.MapperFunc(emitLines) },
			NewReducer: func() jobs.Reducer { return r },
		}
		var out bytes.Buffer
		o := mrlocal.Options{JobOptions: input(t, "b\na\n")}
		o.Stdout = &out
		if _, err := mrlocal.Run(t.Context(), job, o); err != nil || out.String() != "abkv" {
			t.Errorf("%s: %q, %v, want abkv", name, out.String(), err)
		}
	}
}

// TestIdentityHasOneMeaningWithGroupBytes: that of Identity.Reduce, also where the engine copies columns.
func TestIdentityHasOneMeaningWithGroupBytes(t *testing.T) {
	const text = "b2\na3\na1\nb1\na2\na1\n"
	for _, id := range []jobs.Identity{{}, {Out: jobs.KeyColumn}, {Out: jobs.ValueColumn}, {Unique: true}, {Out: jobs.KeyColumn, Unique: true}, {Out: jobs.ValueColumn, Unique: true}} {
		for _, bare := range []bool{false, true} {
			job := jobs.Job{
				Name: "groups", Ordered: true, Bare: bare, GroupBytes: func([]byte) int { return 1 },
				NewMapper: func() jobs.Mapper {
					return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
						for line := range b.Lines() {
							out.Emit(line, line)
						}
						return nil
					})
				},
				NewReducer: func() jobs.Reducer { return id },
			}
			want, err := jobtest.Reference(jobs.Chain{job}, []jobtest.File{{Path: "f", Data: []byte(text)}})
			if err != nil {
				t.Fatal(err)
			}
			job.NewReducer = func() jobs.Reducer { return struct{ jobs.Reducer }{id} } // not recognized
			for _, r := range []func() jobs.Reducer{func() jobs.Reducer { return id }, job.NewReducer} {
				job.NewReducer = r
				var out bytes.Buffer
				o := mrlocal.Options{JobOptions: input(t, text)}
				o.Stdout = &out
				if _, err := mrlocal.Run(t.Context(), job, o); err != nil || !bytes.Equal(out.Bytes(), want) {
					t.Errorf("%T, bare %t: %q, %v, want %q", r(), bare, out.String(), err, want)
				}
			}
		}
	}
}

// TestAnOrderedJobWithoutInputHasOneReduce: there is no input to sample.
func TestAnOrderedJobWithoutInputHasOneReduce(t *testing.T) {
	job := jobs.Job{
		Name: "made", NoInput: true, Maps: 3, Ordered: true,
		NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(_ jobs.Block, out jobs.Emitter) error { out.Emit([]byte("x"), nil); return nil })
		},
		NewReducer: func() jobs.Reducer { return jobs.Identity{} },
	}
	var out bytes.Buffer
	o := mrlocal.Options{JobOptions: mrlocal.JobOptions{Reducers: 3, Stdout: &out}}
	if _, err := mrlocal.Run(t.Context(), job, o); err != nil || out.String() != "x\nx\nx\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
