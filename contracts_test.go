package mrlocal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"mrlocal"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
)

// perWord is a job that emits each word with the count 1, and returns the number of values of each group.
func perWord() jobs.Job {
	return jobs.Job{
		Name: "words",
		NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				for line := range b.Lines() {
					for w := range bytes.FieldsSeq(line) {
						out.Emit(w, jobs.AppendUint64(nil, 1))
					}
				}
				return nil
			})
		},
		NewReducer: func() jobs.Reducer {
			return jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
				n := 0
				for vs.Next() {
					n++
				}
				out.Emit(key, fmt.Append(nil, n))
				return nil
			})
		},
	}
}

// TestUserCodeThatBreaksARuleFailsWithOneMessage: the message names the rule, and no stack of the engine is shown.
func TestUserCodeThatBreaksARuleFailsWithOneMessage(t *testing.T) {
	grouped := func(n func(key []byte) int) func(*jobs.Job) { return func(j *jobs.Job) { j.GroupBytes = n } }
	for name, c := range map[string]struct {
		change func(j *jobs.Job)
		want   string
	}{
		"a group that comes back":   {grouped(func(key []byte) int { return len(key) - 1 }), "words r-000000_1: reduce: GroupBytes: the group a comes back at the key az; its name must not be a prefix of another one"},
		"a group of -1 bytes":       {grouped(func([]byte) int { return -1 }), "words r-000000_1: reduce: GroupBytes: returned -1 for a key of 2 bytes"},
		"a group that is too long":  {grouped(func(key []byte) int { return len(key) + 1 }), "words r-000000_1: reduce: GroupBytes: returned 3 for a key of 2 bytes"},
		"a Partition of groups":     {func(j *jobs.Job) { grouped(func([]byte) int { return 1 })(j); divided(j) }, `words m-000000_1: in at byte 0: map: Partition: sends keys of the group "a" to the reduces 1 and 0`},
		"Ordered with Partition":    {func(j *jobs.Job) { j.Ordered, j.Partition = true, func([]byte, int) int { return 0 } }, "job words: Ordered and a Partition exclude each other: ranges of keys divide an ordered job"},
		"Sum as a combiner":         {func(j *jobs.Job) { j.NewCombiner = func() jobs.Reducer { return jobs.NewSum() } }, "words m-000000_1: new combiner: jobs.Sum is a Folder, for Job.NewFolder; as a combiner it would emit text"},
		"Sum of other values":       {sumOf("1"), "words r-000000_1: reduce: jobs.Sum: a value of 1 bytes, want 8"},
		"Sum as the Folder of text": {func(j *jobs.Job) { sumOf("1")(j); j.NewFolder = func() jobs.Folder { return jobs.NewSum() } }, "words m-000000_1: in in the block at byte 0: kvbuffer: jobs.Sum: a value of 1 bytes, want 8"},
	} {
		j := perWord()
		c.change(&j)
		var stderr strings.Builder
		o := input(t, "aa aba az\n")
		_, err := mrlocal.Run(t.Context(), j, mrlocal.Options{JobOptions: o, Stderr: &stderr})
		if err == nil || strings.ReplaceAll(err.Error(), o.Inputs[0], "in") != c.want || stderr.Len() > 0 {
			t.Errorf("%s: %v\nwant %s\n%s", name, err, c.want, &stderr)
		}
	}
}

// divided makes a job send keys to one of two reduces by their last byte.
func divided(j *jobs.Job) {
	j.Reduces, j.Partition = 2, func(key []byte, parts int) int { return int(key[len(key)-1]) % parts }
}

// sumOf makes the values of a job text, and its reducer a jobs.Sum.
func sumOf(text string) func(j *jobs.Job) {
	return func(j *jobs.Job) {
		j.NewMapper = func() jobs.Mapper {
			return jobs.MapperFunc(func(_ jobs.Block, out jobs.Emitter) error { out.Emit([]byte("k"), []byte(text)); return nil })
		}
		j.NewReducer = func() jobs.Reducer { return jobs.NewSum() }
	}
}

// TestAGroupComesBackIfAMapOfGroupsFindsIt compares a run with jobtest, which has a map of all names.
func TestAGroupComesBackIfAMapOfGroupsFindsIt(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		keys := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,5}`), 1, 12).Draw(rt, "keys")
		lengths := rapid.SliceOfN(rapid.IntRange(0, 4), 31, 31).Draw(rt, "length by sum of the bytes")
		group := func(key []byte) int {
			sum := 0
			for _, c := range key {
				sum = sum*2 + int(c)
			}
			return min(lengths[sum%31], len(key))
		}
		j := perWord()
		j.GroupBytes = group
		in := strings.Join(keys, " ")
		o := input(t, in)
		o.Reducers = 1
		var out bytes.Buffer
		o.Stdout = &out
		_, err := mrlocal.Run(t.Context(), j, mrlocal.Options{JobOptions: o, Config: mrlocal.Config{Attempts: 1}})
		want, failure := jobtest.Reference(jobs.Chain{j}, []jobtest.File{{Path: "in", Data: []byte(in)}})
		if (err == nil) != (failure == nil) || err == nil && !bytes.Equal(out.Bytes(), want) {
			rt.Fatalf("%q, %v; want %q, %v", out.Bytes(), err, want, failure)
		}
	})
}

// TestTheSameErrorInTheSamePlaceIsNotTriedAgain: a returned error and a panic end the job at the second time. Another
// error, or a number of attempts that the user gives, leaves all attempts.
func TestTheSameErrorInTheSamePlaceIsNotTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		attempts int
		fail     func(n int32) error
		want     int32
	}{
		"the same error":                {0, func(int32) error { return errors.New("no number") }, 2},
		"the same panic":                {0, func(int32) error { panic("no number") }, 2},
		"another error each time":       {0, func(n int32) error { return fmt.Errorf("no number %d", n) }, 4},
		"another error between":         {0, func(n int32) error { return fmt.Errorf("no number %d", n%2) }, 4},
		"a number of attempts is given": {3, func(int32) error { return errors.New("no number") }, 3},
		"four attempts are given":       {4, func(int32) error { return errors.New("no number") }, 4},
		"an error that does not come back": {0, func(n int32) error {
			if n == 0 {
				return errors.New("no number")
			}
			return nil
		}, 2},
	} {
		var calls atomic.Int32
		j := perWord()
		j.NewMapper = func() jobs.Mapper {
			return jobs.MapperFunc(func(jobs.Block, jobs.Emitter) error { return c.fail(calls.Add(1) - 1) })
		}
		_, err := mrlocal.Run(t.Context(), j, mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Attempts: c.attempts}})
		if calls.Load() != c.want || (err == nil) != (name == "an error that does not come back") {
			t.Errorf("%s: %d attempts, want %d: %v", name, calls.Load(), c.want, err)
		}
	}
}

// failsAt is a mapper, a combiner and a reducer in one, whose method of the given name returns an error.
type failsAt struct {
	method string
	calls  *atomic.Int32
}

func (f failsAt) fail(method string) error {
	if f.method != method {
		return nil
	}
	f.calls.Add(1)
	return errors.New("no number")
}
func (f failsAt) Flush(jobs.Emitter) error { return f.fail("flush") }
func (f failsAt) Close() error             { return f.fail("close") }
func (f failsAt) Begin(jobs.OwnAttempt)    {}
func (f failsAt) Map(b jobs.Block, out jobs.Emitter) error {
	out.Emit(b.Data, b.Data)
	return f.fail("map")
}
func (f failsAt) Reduce(key []byte, _ *jobs.Values, out jobs.Emitter) error {
	out.Emit(key, nil)
	return f.fail("reduce")
}

// TestTheSameErrorIsNotTriedAgainWhereverUserCodeReturnsIt: the job fails at the second time, without a stack.
func TestTheSameErrorIsNotTriedAgainWhereverUserCodeReturnsIt(t *testing.T) {
	for who, methods := range map[string][]string{"mapper": {"map", "flush", "close"}, "combiner": {"reduce", "flush", "close"}, "reducer": {"reduce", "flush", "close"}} {
		for _, method := range methods {
			var calls atomic.Int32
			made := func(as string) failsAt {
				if as == who {
					return failsAt{method, &calls}
				}
				return failsAt{calls: &calls}
			}
			j := jobs.Job{
				Name: "fails", NewMapper: func() jobs.Mapper { return made("mapper") },
				NewCombiner: func() jobs.Reducer { return made("combiner") }, NewReducer: func() jobs.Reducer { return made("reducer") },
			}
			var stderr bytes.Buffer
			o := input(t, "a\n")
			o.Reducers = 1
			_, err := mrlocal.Run(t.Context(), j, mrlocal.Options{JobOptions: o, Stderr: &stderr})
			if calls.Load() != 2 || err == nil || !strings.HasSuffix(err.Error(), "no number") || stderr.Len() > 0 {
				t.Errorf("%s of a %s: %d attempts, want 2: %v\n%s", method, who, calls.Load(), err, &stderr)
			}
		}
	}
}

// TestAnErrorOfMapNamesTheRecord: the offset is that of the record that Lines, Records or Fixed has yielded. A mapper
// that divides the block itself gets that of the block.
func TestAnErrorOfMapNamesTheRecord(t *testing.T) {
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		m    func(b jobs.Block) error
		want string
	}{
		"lines": {func(b jobs.Block) error {
			for line := range b.Lines() {
				if string(line) == "bad" {
					return bad
				}
			}
			return nil
		}, "at byte 10: map: bad"},
		"records of fixed size": {func(b jobs.Block) error {
			for r := range b.Fixed(5) {
				if bytes.HasPrefix(r, []byte("bad")) {
					return bad
				}
			}
			return nil
		}, "at byte 10: map: bad"},
		"a loop of its own": {func(jobs.Block) error { return bad }, "in the block at byte 0: map: bad"},
	} {
		j := perWord()
		j.NewMapper = func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, _ jobs.Emitter) error { return c.m(b) })
		}
		o := input(t, "good\nfine\nbad\nrest\n")
		_, err := mrlocal.Run(t.Context(), j, mrlocal.Options{JobOptions: o})
		if want := "words m-000000_1: " + filepath.ToSlash(o.Inputs[0]) + " " + c.want; err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", name, err, want)
		}
	}
}

// TestARecordThatTheNextJobWouldReadAsTwoIsRefused: the text that a job with Text reads has one record a line. Pairs,
// side data, binary records and the last job may have any bytes.
func TestARecordThatTheNextJobWouldReadAsTwoIsRefused(t *testing.T) {
	emits := func(key, value string) jobs.Job {
		j := perWord()
		j.NewReducer = func() jobs.Reducer {
			return jobs.ReducerFunc(func(_ []byte, _ *jobs.Values, out jobs.Emitter) error {
				out.Emit([]byte(key), []byte(value))
				return nil
			})
		}
		return j
	}
	text := func(j jobs.Job) jobs.Job { j.Text = true; return j }
	pairs := perWord()
	pairs.NewMapper = func() jobs.Mapper {
		return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
			for key, value := range b.Pairs() {
				out.Emit(value, key)
			}
			return nil
		})
	}
	rereads := perWord()
	rereads.Rereads = true
	bare := emits("x\n", "y")
	bare.Bare = true
	keys := emits("", "")
	keys.NewMapper = func() jobs.Mapper {
		return jobs.MapperFunc(func(_ jobs.Block, out jobs.Emitter) error { out.Emit([]byte("x\ny"), nil); return nil })
	}
	keys.NewReducer = func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} }
	for name, c := range map[string]struct {
		chain jobs.Chain
		fails bool
	}{
		"a newline in a pair":              {jobs.Chain{emits("k\n\t", "x\n"), pairs}, false},
		"a newline in a value":             {jobs.Chain{emits("k", "x\ny"), text(perWord())}, true},
		"a newline in a key":               {jobs.Chain{emits("x\n", "y"), text(perWord())}, true},
		"in a key that passes through":     {jobs.Chain{keys, text(perWord())}, true},
		"a newline of the last job":        {jobs.Chain{perWord(), text(emits("k", "x\ny"))}, false},
		"a newline in side data":           {jobs.Chain{emits("k", "x\ny"), rereads}, false},
		"a newline in binary records":      {jobs.Chain{bare, perWord()}, false},
		"a TAB, as lines of text may have": {jobs.Chain{emits("k", "x\ty"), text(perWord())}, false},
	} {
		var out bytes.Buffer
		o := input(t, "aa\n")
		o.Stdout = &out
		_, err := mrlocal.RunChain(t.Context(), c.chain, mrlocal.Options{JobOptions: o})
		want, failure := jobtest.Reference(c.chain, []jobtest.File{{Path: o.Inputs[0], Data: []byte("aa\n")}})
		if (err != nil) != c.fails || (failure != nil) != c.fails || !c.fails && !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s: %v, %q; in memory %v, %q", name, err, out.Bytes(), failure, want)
		}
		if c.fails && !strings.Contains(fmt.Sprint(err), `has a delimiter ('\n') in it, so the next job of the chain would read two records`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestABlockIsReadAsWhatItHas: the other way of reading is one line of error.
func TestABlockIsReadAsWhatItHas(t *testing.T) {
	pairs := perWord()
	pairs.NewMapper = func() jobs.Mapper {
		return jobs.MapperFunc(func(b jobs.Block, _ jobs.Emitter) error {
			for range b.Pairs() {
			}
			return nil
		})
	}
	for want, chain := range map[string]jobs.Chain{
		"the block has the pairs of the job before: read Block.Pairs, or set Job.Text":                {perWord(), perWord()},
		"Block.Pairs: the block has text; only a later job of a chain, without Job.Text, reads pairs": {pairs},
	} {
		_, err := mrlocal.RunChain(t.Context(), chain, mrlocal.Options{JobOptions: input(t, "a\n")})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestPairsOfAnyLengthReachTheNextJob: they are read in blocks, and a pair may be longer than a block.
func TestPairsOfAnyLengthReachTheNextJob(t *testing.T) {
	t.Parallel() // much of its time it waits for the disk
	lengths := []int{0, 1, 127, 128, 1 << 20, 3 << 20, 5}
	first, second := perWord(), jobs.Job{NewMapper: func() jobs.Mapper {
		return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
			for key, value := range b.Pairs() {
				if !bytes.Equal(key, bytes.Repeat([]byte("k\n"), len(key)/2)) || !bytes.Equal(value, bytes.Repeat([]byte{0}, len(value))) {
					return errors.New("other bytes")
				}
				out.Emit(fmt.Append(nil, len(key)), fmt.Append(nil, len(value)))
			}
			return nil
		})
	}}
	first.NewReducer = func() jobs.Reducer {
		return jobs.ReducerFunc(func(_ []byte, _ *jobs.Values, out jobs.Emitter) error {
			for round := range 20_000 {
				key, value := lengths[round%5]*(1-min(1, round/5))*2, lengths[(round+3)%7]
				if round > 7 {
					key, value = round%300/2*2, round%500
				}
				out.Emit(bytes.Repeat([]byte("k\n"), key/2), bytes.Repeat([]byte{0}, value))
			}
			return nil
		})
	}
	var out bytes.Buffer
	o := input(t, "aa\n")
	o.Stdout = &out
	report, err := mrlocal.RunChain(t.Context(), jobs.Chain{first, second}, mrlocal.Options{JobOptions: o, MemoryBytes: 64 << 20, Config: mrlocal.Config{MapSlots: 1}})
	want, failure := jobtest.Run(jobs.Chain{first, second}, []jobtest.File{{Path: o.Inputs[0], Data: []byte("aa\n")}}, jobtest.Cut{BlockBytes: 1000})
	if err != nil || failure != nil || !bytes.Equal(out.Bytes(), want.Data) || report.Jobs[1].Counters.MapInputRecords != 20_000 {
		t.Errorf("%v, %v, %d bytes, want %d", err, failure, out.Len(), len(want.Data))
	}
}

// TestStdoutThatWouldGetNothingIsRefused: with a file or a directory, but not with /dev/stdout.
func TestStdoutThatWouldGetNothingIsRefused(t *testing.T) {
	o := input(t, "a b\n")
	o.Stdout = &bytes.Buffer{}
	for _, place := range []func(name string){func(name string) { o.OutputFile = name }, func(name string) { o.OutputFile, o.OutputDir = "", name }} {
		name := filepath.Join(t.TempDir(), "out")
		place(name)
		_, err := mrlocal.Run(t.Context(), perWord(), mrlocal.Options{JobOptions: o})
		want := "Options.Stdout: would get nothing, because the result goes to " + name + "; set one of them"
		if _, stat := os.Stat(name); !errors.Is(err, mrlocal.ErrBadOptions) || err.Error() != want || stat == nil {
			t.Errorf("%v, want %s; %v", err, want, stat)
		}
	}
	if _, err := os.Stat("/dev/stdout"); err != nil {
		t.Skip(err)
	}
	var out bytes.Buffer
	o.OutputDir, o.OutputFile, o.Stdout = "", "/dev/stdout", &out
	if _, err := mrlocal.Run(t.Context(), perWord(), mrlocal.Options{JobOptions: o}); err != nil || out.Len() == 0 {
		t.Errorf("/dev/stdout: %q, %v", &out, err)
	}
}
