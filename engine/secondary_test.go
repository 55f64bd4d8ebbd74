package engine_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mrlocal/engine"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/slots/setup"
)

// secondary sorts the numbers behind each name: the key is "name TAB number", the group its
// name. The reducer gets the whole keys in order.
func secondary(ordered bool) jobs.Job {
	return jobs.Job{
		Name: "secondary", Ordered: ordered,
		GroupBytes: func(key []byte) int { return bytes.IndexByte(key, '\t') + 1 },
		NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				for line := range b.Lines() {
					name, number, _ := bytes.Cut(line, []byte("\t"))
					n, err := strconv.ParseUint(string(number), 10, 32)
					if err != nil {
						return err
					}
					out.Emit(binary.BigEndian.AppendUint32(append(bytes.Clone(name), '\t'), uint32(n)), []byte(name))
				}
				return nil
			})
		},
		NewReducer: func() jobs.Reducer {
			return jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
				name, first := key[:bytes.IndexByte(key, '\t')], true
				var list []byte
				for vs.Next() {
					if first && !bytes.Equal(key, vs.Key()) || !bytes.Equal(vs.Value(), name) {
						return fmt.Errorf("group %q has the key %q and the value %q", key, vs.Key(), vs.Value())
					}
					if !first {
						list = append(list, ' ')
					}
					first = false
					list = strconv.AppendUint(list, uint64(binary.BigEndian.Uint32(vs.Key()[len(name)+1:])), 10)
					if len(list) > 4000 { // the reducer skips the rest of the group
						break
					}
				}
				out.Emit(name, list)
				return nil
			})
		},
	}
}

func TestKeysOfOneGroupComeTogetherInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	var text bytes.Buffer
	for range 30_000 {
		fmt.Fprintf(&text, "%s%d\t%d\n", []string{"a", "ab", "abc", "zebra"}[rng.IntN(4)], rng.IntN(1<<rng.IntN(9)), rng.IntN(50_000))
	}
	files := []jobtest.File{{Path: "numbers", Data: text.Bytes()}}
	want, err := jobtest.Reference(jobs.Chain{secondary(true)}, files)
	if err != nil {
		t.Fatal(err)
	}
	dir := writeFiles(t, files)
	for _, reducers := range []int{1, 3, 7} {
		for _, small := range []bool{false, true} {
			for _, ordered := range []bool{false, true} {
				o := engine.Options{NoPin: true, MemoryBytes: 64 << 20, Config: setup.Config{MapSlots: 2, ReduceSlots: 2}, TempDirs: []string{t.TempDir()},
					JobOptions: engine.JobOptions{Inputs: []string{dir}, Reducers: reducers, BlockBytes: 40 << 10}}
				if small { // many spills, and merges in several passes
					o.SortBufferBytes, o.NoGrowth, o.MergeFactor = 16<<10, true, 2
				}
				got, _ := must(t, jobs.Chain{secondary(ordered)}, o)
				if !ordered {
					lines := bytes.SplitAfter(got, []byte("\n"))
					slices.SortFunc(lines, func(a, b []byte) int {
						nameA, _, _ := bytes.Cut(a, []byte("\t"))
						nameB, _, _ := bytes.Cut(b, []byte("\t"))
						return bytes.Compare(nameA, nameB)
					})
					got = bytes.Join(lines, nil)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%d reducers, small buffers %t, ordered %t: %d bytes differ from the reference's %d", reducers, small, ordered, len(got), len(want))
				}
			}
		}
	}
}

// halving is a chain that replaces the number of its side data by its half, rounded down,
// plus the number of records. It does so until the number stays the same. Then it prints it
// for each record.
func halving(rounds int) jobs.Chain {
	one := func(own *[]byte) jobs.MapperFunc {
		return func(b jobs.Block, out jobs.Emitter) error {
			for range b.Lines() {
				out.Emit(nil, *own)
			}
			return nil
		}
	}
	add := func() jobs.Reducer {
		return jobs.ReducerFunc(func(_ []byte, vs *jobs.Values, out jobs.Emitter) error {
			n, side := 0, ""
			for vs.Next() {
				n++
				side = string(vs.Value())
			}
			old, err := strconv.Atoi(strings.TrimSpace(side))
			out.Emit(nil, strconv.AppendInt(nil, int64(old/2+n), 10))
			return err
		})
	}
	withSide := func() jobs.Mapper {
		m := &sided{}
		m.MapperFunc = one(&m.side)
		return m
	}
	return jobs.Chain{
		{Name: "halve", Reduces: 1, Rereads: true, Rounds: rounds, Converged: bytes.Equal, NewMapper: withSide, NewReducer: add},
		{Name: "print", Rereads: true, NewMapper: withSide},
	}
}

type sided struct {
	jobs.MapperFunc
	side []byte
}

func (s *sided) Begin(a jobs.OwnAttempt) { s.side = bytes.TrimSpace(a.Side) }

func TestRoundsEndWhenTheyConvergeOrAtTheirBound(t *testing.T) {
	files := []jobtest.File{{Path: "in", Data: []byte("a\nb\nc\nd\n")}}
	dir := writeFiles(t, files)
	side := filepath.Join(t.TempDir(), "side")
	if err := os.WriteFile(side, []byte("1000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for rounds, want := range map[int]string{2: "256\n", 50: "8\n"} { // 504, 256, … and 8/2+4 = 8
		var notes []string
		o := engine.Options{NoPin: true, MemoryBytes: 64 << 20, Note: func(s string) { notes = append(notes, s) },
			JobOptions: engine.JobOptions{Inputs: []string{dir}, Side: side, BlockBytes: 3}}
		got, r := must(t, halving(rounds), o)
		ref, err := jobtest.Run(halving(rounds), files, jobtest.Cut{Side: []byte("1000\n")})
		if err != nil || !bytes.Equal(got, ref.Data) || string(got) != strings.Repeat(want, 4) {
			t.Errorf("%d rounds: %q, the reference has %q, %v", rounds, got, ref.Data, err)
		}
		bound := rounds == 2
		if noted := len(notes) == 1 && strings.Contains(notes[0], "has not converged after 2 rounds"); noted != bound || !bound && len(r.Jobs) < 5 {
			t.Errorf("%d rounds: notes %q, %d jobs", rounds, notes, len(r.Jobs))
		}
	}
	var out bytes.Buffer
	_, err := engine.RunChain(t.Context(), halving(3), engine.Options{NoPin: true, MemoryBytes: 64 << 20,
		JobOptions: engine.JobOptions{Inputs: []string{"-"}, Stdin: strings.NewReader("a\n"), Side: side, Stdout: &out}})
	if !errs.IsUsage(err) || !strings.Contains(err.Error(), "reads its input several times") {
		t.Errorf("standard input: %v", err)
	}
	_, err = engine.RunChain(t.Context(), halving(3), engine.Options{NoPin: true, MemoryBytes: 64 << 20,
		JobOptions: engine.JobOptions{Inputs: []string{t.TempDir()}, Side: side, Stdout: &out}})
	if !errs.IsUsage(err) || !strings.Contains(err.Error(), "halve: a round has no result, because the input has no records") {
		t.Errorf("an empty directory: %v", err)
	}
	_, err = engine.RunChain(t.Context(), halving(3), engine.Options{NoPin: true, MemoryBytes: 64 << 20,
		JobOptions: engine.JobOptions{Inputs: []string{dir}, Side: side + ".missing", Stdout: &out}})
	if !errs.IsUsage(err) {
		t.Errorf("missing side data: %v", err)
	}
}

// binaries sorts records of 12 bytes by their first 4.
func binaries(ordered bool) jobs.Chain {
	return jobs.Chain{{
		Name: "binaries", Ordered: ordered, RecordBytes: 12, Bare: true,
		AppendKey: func(dst, record []byte) []byte { return append(dst, record[:4]...) },
		NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				var spans []jobs.Span
				for at := 0; at < len(b.Data); at += 12 {
					spans = append(spans, jobs.Span{Off: uint32(at), Len: 12})
				}
				if len(b.Data)%12 != 0 || b.Offset%12 != 0 {
					return fmt.Errorf("a block of %d bytes at %d", len(b.Data), b.Offset)
				}
				out.(jobs.Taker).Take(b, spans)
				return nil
			})
		},
		NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.ValueColumn} },
	}}
}

func TestBinaryRecordsAreCutAtMultiplesOfTheirSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	data := make([]byte, 12*40_000)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	copy(data, "\x1f\x8b\x08") // the beginning of a gzip member is a key like any other
	files := []jobtest.File{{Path: "a", Data: data[:12*7]}, {Path: "b", Data: data[12*7:]}}
	want, err := jobtest.Run(binaries(true), files, jobtest.Cut{BlockBytes: 100, SplitBlocks: 3})
	if err != nil || len(want.Data) != len(data) || want.Records != 40_000 {
		t.Fatal(err, len(want.Data))
	}
	writeFiles(t, files)
	piped := filepath.Join(t.TempDir(), "torn")
	if err := os.WriteFile(piped, data[:30], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, block := range []int64{0, 1 << 10, 5000, 65_537} {
		for _, reducers := range []int{1, 4} {
			o := engine.Options{NoPin: true, MemoryBytes: 64 << 20, TempDirs: []string{t.TempDir()}, Config: setup.Config{MapSlots: 2, ReduceSlots: 2},
				JobOptions: engine.JobOptions{Inputs: []string{files[0].Path, files[1].Path}, Reducers: reducers, BlockBytes: block}}
			got, r := must(t, binaries(true), o)
			if c := r.Jobs[0].Counters; !bytes.Equal(got, want.Data) || c.MapInputRecords != 40_000 || c.ReduceOutputRecords != 40_000 {
				t.Errorf("blocks of %d, %d reducers: %d bytes differ, %d records in, %d out", block, reducers, len(got), c.MapInputRecords, c.ReduceOutputRecords)
			}
			o.Inputs, o.Stdin = []string{"-"}, bytes.NewReader(data)
			if got, _ := must(t, binaries(true), o); !bytes.Equal(got, want.Data) {
				t.Errorf("standard input, blocks of %d: %d bytes differ", block, len(got))
			}
		}
	}
	for _, torn := range []engine.JobOptions{{Inputs: []string{piped}}, {Inputs: []string{"-"}, Stdin: bytes.NewReader(data[:30])}} {
		torn.Stdout = &bytes.Buffer{}
		if _, err := engine.RunChain(t.Context(), binaries(false), engine.Options{NoPin: true, MemoryBytes: 64 << 20, JobOptions: torn}); err == nil || !strings.Contains(err.Error(), "record") {
			t.Errorf("%v: %v", torn.Inputs, err)
		}
	}
}

func TestBlocksTellFromWhichInputTheyCome(t *testing.T) {
	files := []jobtest.File{{Path: "a", Data: []byte("1\n")}, {Path: "b", Data: []byte("2\n")}, {Path: "c", Data: []byte("3\n")}}
	dir := writeFiles(t, files)
	job := jobs.Job{Name: "tags", NewMapper: func() jobs.Mapper {
		return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
			for line := range b.Lines() {
				out.Emit(line, strconv.AppendInt(nil, int64(b.Input), 10))
			}
			return nil
		})
	}}
	got, _ := must(t, jobs.Chain{job}, engine.Options{NoPin: true, MemoryBytes: 64 << 20,
		JobOptions: engine.JobOptions{Inputs: []string{files[2].Path, filepath.Join(dir, "[ab]"), "-"}, Stdin: strings.NewReader("4\n")}})
	if want := "3\t0\n1\t1\n2\t1\n4\t2\n"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}
