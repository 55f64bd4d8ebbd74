package mrlocal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
)

// ability is a row of the table in docs/abilities.md: what a job of package jobs can do, and how each way of
// running does it.
type ability struct {
	of    string // names of package jobs, divided by blanks
	what  string
	chain func() jobs.Chain
	work  work   // files nil: the default
	want  string // the result in each way that does it
	check func() error

	// Of each way that does not do it: the refusal, or a reason in parentheses why it cannot be asked for.
	not map[string]string
}

// field is a mapper that emits the first byte of each line as the key, and what follows the blank as the value.
func field(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		out.Emit(line[:1], line[2:])
	}
	return nil
}

// list is a reducer that emits each key with its values.
func list(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	var all []byte
	for vs.Next() {
		if len(all) > 0 {
			all = append(all, ',')
		}
		all = append(all, vs.Value()...)
	}
	out.Emit(key, all)
	return nil
}

// usual returns a job of field and list, changed.
func usual(change func(j *jobs.Job)) func() jobs.Chain {
	return func() jobs.Chain {
		j := jobs.Job{Name: "usual", NewMapper: mapperOf(field), NewReducer: func() jobs.Reducer { return jobs.ReducerFunc(list) }}
		change(&j)
		return jobs.Chain{j}
	}
}

func mapperOf(m jobs.MapperFunc) func() jobs.Mapper { return func() jobs.Mapper { return m } }

// full is a mapper, reducer or combiner with all optional methods. It emits at its flush, in order, what it would emit.
type full struct {
	jobs.MapperFunc
	jobs.ReducerFunc
	begin func(jobs.OwnAttempt)
	flush func(jobs.Emitter)
	close func()
}

func (l full) Begin(own jobs.OwnAttempt)    { l.begin(own) }
func (l full) Close() error                 { l.close(); return nil }
func (l full) Flush(out jobs.Emitter) error { l.flush(out); return nil }

func fullOf() full {
	return full{begin: func(jobs.OwnAttempt) {}, flush: func(jobs.Emitter) {}, close: func() {}}
}

// recordsAlone is a reducer for records alone.
type recordsAlone struct{}

func (recordsAlone) Reduce([]byte, *jobs.Values, jobs.Emitter) error {
	return errors.New("Reduce is called")
}
func (recordsAlone) ReduceRecord(key, value []byte, out jobs.Emitter) error {
	out.Emit(key, value)
	return nil
}

// most is a Folder that keeps the greatest value.
type most struct{}

func (most) Fold(acc, value []byte) []byte {
	if acc == nil || bytes.Compare(value, acc) > 0 {
		return append(acc[:0], value...)
	}
	return acc
}

// reduce is the reducer that suits it.
func (m most) reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	var acc []byte
	for vs.Next() {
		acc = m.Fold(acc, vs.Value())
	}
	out.Emit(key, acc)
	return nil
}

// ownSum is a jobs.Summer.
type ownSum struct{ jobs.Sum }

func (ownSum) Sums() {}

// numbering is a jobs.Releaser that numbers lines, and ends the job behind limit of them.
type numbering struct{ n, limit int64 }

func (r *numbering) Release(split io.Reader, w io.Writer) (jobs.Verdict, error) {
	text, err := io.ReadAll(split)
	for line := range strings.Lines(string(text)) {
		if r.n++; r.n <= r.limit {
			fmt.Fprintf(w, "%d %s", r.n, line)
		}
	}
	if r.n >= r.limit {
		return jobs.EndJob, err
	}
	return jobs.Continue, err
}
func (r *numbering) Finish(w io.Writer) error { _, err := io.WriteString(w, "end\n"); return err }
func (r *numbering) Records() int64           { return r.n }

// leaving is a numbering that is a jobs.PartUser.
type leaving struct{ *numbering }

func (leaving) Used(int32, io.Reader) (int64, error) { return -1, nil }

const usualResult = "a\t1\nb\t1,2\n"

// newlines is the refusal of records that do not end with newlines.
const newlines = "its records do not end with newlines, as those on a cluster do"

func abilities() []ability {
	var begun, closed atomic.Int64
	counts := func(l full) full {
		l.begin, l.close = func(jobs.OwnAttempt) { begun.Add(1) }, func() { closed.Add(1) }
		return l
	}
	all := func() error {
		if b, c := begun.Swap(0), closed.Swap(0); b < 3 || b != c {
			return fmt.Errorf("%d begun, %d closed", b, c)
		}
		return nil
	}
	mapOnly := "only jobs with reduces can go on after a kill"
	return []ability{
		{of: "Mapper MapperFunc Map Reducer ReducerFunc Reduce Emitter Emit Job NewMapper NewReducer Values Value Next Data Block", what: "map and reduce", chain: usual(func(*jobs.Job) {}), want: usualResult},
		{of: "Flusher Flush", what: "`Flush` of a mapper", want: "n\t3\n", chain: usual(func(j *jobs.Job) {
			j.NewMapper = func() jobs.Mapper {
				l, n := fullOf(), uint64(0)
				l.MapperFunc = func(b jobs.Block, _ jobs.Emitter) error {
					for range b.Lines() {
						n++
					}
					return nil
				}
				l.flush = func(out jobs.Emitter) { out.Emit([]byte("n"), jobs.AppendUint64(nil, n)) }
				return l
			}
			j.NewReducer = func() jobs.Reducer { return jobs.NewSum() }
		})},
		{of: "Flusher", what: "`Flush` of a reducer", want: usualResult + "groups\t2\n", chain: usual(func(j *jobs.Job) {
			j.NewReducer = func() jobs.Reducer {
				l, n := fullOf(), 0
				l.ReducerFunc = func(key []byte, vs *jobs.Values, out jobs.Emitter) error { n++; return list(key, vs, out) }
				l.flush = func(out jobs.Emitter) { out.Emit([]byte("groups"), strconv.AppendInt(nil, int64(n), 10)) }
				return l
			}
		})},
		{of: "NewCombiner Flusher", what: "`Flush` of a combiner", want: "a\t1\nb\t1,2\nz\n", chain: usual(func(j *jobs.Job) {
			j.NewCombiner = func() jobs.Reducer {
				l, pairs := fullOf(), [][2][]byte{}
				l.ReducerFunc = func(key []byte, vs *jobs.Values, _ jobs.Emitter) error {
					for vs.Next() {
						pairs = append(pairs, [2][]byte{bytes.Clone(key), bytes.Clone(vs.Value())})
					}
					return nil
				}
				l.flush = func(out jobs.Emitter) {
					for _, p := range pairs {
						out.Emit(p[0], p[1])
					}
					out.Emit([]byte("z"), nil)
					pairs = nil
				}
				return l
			}
			j.NewReducer = func() jobs.Reducer {
				return jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
					if string(key) == "z" {
						out.Emit(key, nil)
						return nil
					}
					return list(key, vs, out)
				})
			}
		})},
		{of: "Attempter Begin OwnAttempt", what: "`Begin` and `Close` of a mapper, a combiner and a reducer", want: usualResult, check: all, chain: usual(func(j *jobs.Job) {
			mapper, reducer := counts(fullOf()), counts(fullOf())
			mapper.MapperFunc, reducer.ReducerFunc = field, list
			combiner := counts(fullOf())
			combiner.ReducerFunc = func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
				for vs.Next() {
					out.Emit(key, vs.Value())
				}
				return nil
			}
			j.NewMapper, j.NewReducer, j.NewCombiner = func() jobs.Mapper { return mapper }, func() jobs.Reducer { return reducer }, func() jobs.Reducer { return combiner }
		})},
		{of: "OwnAttempt Context Task Number Progress Lasts Read Status Charge Dir", what: "what an attempt reports", want: usualResult, chain: usual(func(j *jobs.Job) {
			mapper := fullOf()
			mapper.MapperFunc = field
			mapper.begin = func(own jobs.OwnAttempt) {
				own.Progress(1, 2)
				if cause := context.Cause(own.Context); cause != nil && !errors.Is(cause, errStopped) || own.Task > 9 || own.Number > 9 || own.Charge != nil && !own.Charge(1) {
					panic("a wrong attempt")
				}
				if own.Status != nil {
					own.Status("busy")
				}
				if own.Dir != nil {
					if dir, err := own.Dir(); err != nil || dir != "" && !filepath.IsAbs(dir) {
						panic(fmt.Sprint(dir, err))
					}
				}
			}
			j.NewMapper = func() jobs.Mapper { return mapper }
		})},
		{of: "Side Err", what: "`OwnAttempt.Side`", want: "side\nside\nside\n", work: work{side: "side"}, not: map[string]string{"stream, submit": "(takes no side data)"}, chain: usual(func(j *jobs.Job) {
			j.NewReducer = func() jobs.Reducer {
				l, side := fullOf(), []byte(nil)
				l.begin = func(own jobs.OwnAttempt) { side = own.Side }
				l.ReducerFunc = func(_ []byte, vs *jobs.Values, out jobs.Emitter) error {
					for vs.Next() {
						out.Emit(nil, side)
					}
					return nil
				}
				return l
			}
		})},
		{of: "Outputs Output", what: "`Outputs`, written by a reducer", want: "a\t1\n[more]\nb\t1,2\n", not: map[string]string{"stream, submit": "it has named outputs (more), and a job on a cluster has one output"}, chain: usual(func(j *jobs.Job) {
			j.Outputs = []string{"more"}
			j.NewReducer = func() jobs.Reducer {
				l, own := fullOf(), jobs.OwnAttempt{}
				l.begin = func(o jobs.OwnAttempt) { own = o }
				l.ReducerFunc = func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
					if string(key) == "b" {
						out = own.Output("more")
					}
					return list(key, vs, out)
				}
				return l
			}
		})},
		{of: "Taker Take Span Off Len AppendKey", what: "`Take` with `AppendKey`", want: "a\ta 1\nb\tb 1,b 2\n", chain: usual(func(j *jobs.Job) {
			j.AppendKey = func(dst, record []byte) []byte { return append(dst, record[0]) }
			j.NewMapper = mapperOf(func(b jobs.Block, out jobs.Emitter) error {
				out.(jobs.Taker).Take(b, spans(b))
				return nil
			})
		})},
		{of: "SpanEmitter EmitSpans", what: "`EmitSpans`", want: "a 1\tx\nb 1\tx\nb 2\tx\n", chain: usual(func(j *jobs.Job) {
			j.NewMapper = mapperOf(func(b jobs.Block, out jobs.Emitter) error {
				out.(jobs.SpanEmitter).EmitSpans(b.Data, spans(b), []byte("x"))
				return nil
			})
		})},
		{of: "RawWriter WriteRaw", what: "`WriteRaw` of a job without reducers", want: "a 1\nb 1\nb 2\n", not: map[string]string{"resume": mapOnly}, chain: usual(func(j *jobs.Job) {
			j.NewReducer, j.NewMapper = nil, mapperOf(func(b jobs.Block, out jobs.Emitter) error {
				out.(jobs.RawWriter).WriteRaw(b.Data)
				return nil
			})
		})},
		{of: "RecordReducer ReduceRecord", what: "`ReduceRecord`", want: "a\t1\nb\t1\nb\t2\n", chain: usual(func(j *jobs.Job) { j.NewReducer = func() jobs.Reducer { return recordsAlone{} } })},
		{of: "Folder Fold NewFolder", what: "a folder", want: "a\t1\nb\t2\n", chain: usual(func(j *jobs.Job) {
			j.NewFolder = func() jobs.Folder { return most{} }
			j.NewReducer = func() jobs.Reducer { return jobs.ReducerFunc(most{}.reduce) }
		})},
		{of: "Summer Sums Sum", what: "a folder that is a `Sum` or a `Summer`", want: "a\t1\nb\t2\n", chain: usual(func(j *jobs.Job) {
			j.NewMapper = mapperOf(func(b jobs.Block, out jobs.Emitter) error {
				for line := range b.Lines() {
					out.Emit(line[:1], jobs.AppendUint64(nil, 1))
				}
				return nil
			})
			j.NewFolder, j.NewReducer = func() jobs.Folder { return ownSum{} }, func() jobs.Reducer { return jobs.NewSum() }
		})},
		{of: "Identity Out Unique Column", what: "an `Identity`", want: "a\nb\n", chain: usual(func(j *jobs.Job) {
			j.NewReducer = func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn, Unique: true} }
		})},
		{of: "Partition Reduces", what: "`Partition` with `Reduces`", want: "b\t1,2\na\t1\n", chain: usual(func(j *jobs.Job) {
			j.Reduces, j.Partition = 2, func(key []byte, parts int) int { return parts - 1 - int(key[0]-'a') }
		})},
		{of: "Ordered", what: "`Ordered`", want: usualResult, work: work{reduces: 2}, chain: usual(func(j *jobs.Job) { j.Ordered = true })},
		{of: "GroupBytes Key SetKey", what: "`GroupBytes` and `Values.Key`", want: "a 1\ta 1\nb 1\tb 1 b 2\n", chain: usual(func(j *jobs.Job) {
			j.GroupBytes = func([]byte) int { return 1 }
			j.NewMapper = mapperOf(emitLines)
			j.NewReducer = func() jobs.Reducer {
				return jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
					var keys []string
					for vs.Next() {
						keys = append(keys, string(vs.Key()))
					}
					out.Emit(key, []byte(strings.Join(keys, " ")))
					return nil
				})
			}
		})},
		{of: "Bare", what: "`Bare`", want: "a1b1,2", not: map[string]string{"stream, submit": "its output is binary (Bare), and a cluster ends each record with a newline"}, chain: usual(func(j *jobs.Job) { j.Bare = true })},
		{of: "Delim", what: "`Delim` NUL", want: "a\t1\x00b\t1,2\x00", not: map[string]string{"stream, submit": newlines}, work: work{files: []jobtest.File{{Path: "a", Data: []byte("a 1\x00b 1\x00b 2\x00")}}}, chain: usual(func(j *jobs.Job) {
			j.Delim, j.NewMapper = jobs.NUL, mapperOf(func(b jobs.Block, out jobs.Emitter) error {
				for record := range b.Records(jobs.NUL) {
					out.Emit(record[:1], record[2:])
				}
				return nil
			})
		})},
		{of: "RecordBytes", what: "`RecordBytes`", want: "a\t 1\\n\nb\t 1\\n, 2\\n\n", not: map[string]string{"stream, submit": newlines}, chain: usual(func(j *jobs.Job) {
			j.RecordBytes, j.NewMapper = 4, mapperOf(func(b jobs.Block, out jobs.Emitter) error {
				for record := range b.Fixed(4) {
					out.Emit(record[:1], bytes.ReplaceAll(record[1:], []byte("\n"), []byte(`\n`)))
				}
				return nil
			})
		})},
		{of: "SkipBinary", what: "`SkipBinary`", want: "b\t2\n", work: work{files: []jobtest.File{{Path: "a", Data: []byte("a \x00\n")}, {Path: "b", Data: []byte("b 2\n")}}}, chain: usual(func(j *jobs.Job) { j.SkipBinary = true }), not: map[string]string{
			"later in a chain": "SkipBinary is for a job that reads the input of the chain",
			"stream, submit":   "holds a NUL byte; mrlocal run skips such a binary file, but a map cannot skip the file's other splits",
		}},
		{of: "NoInput Maps Timed", what: "`NoInput`, `Maps` and `Timed`", want: "x\tt,t\n", work: work{files: []jobtest.File{}}, not: map[string]string{
			"later in a chain": "only the first job of a chain may be without input",
			"resume":           "finds its input by itself, so a change of it after a kill would not be noticed",
			"stream, submit":   "it reads no input, and a cluster starts a map for input only",
		}, chain: usual(func(j *jobs.Job) {
			j.NoInput, j.Maps, j.Timed = true, 2, true
			j.NewMapper = func() jobs.Mapper {
				l := fullOf()
				l.begin = func(own jobs.OwnAttempt) { own.Lasts(time.Millisecond); own.Read(1, 1) }
				l.MapperFunc = func(_ jobs.Block, out jobs.Emitter) error { out.Emit([]byte("x"), []byte("t")); return nil }
				return l
			}
		})},
		{of: "Path File Offset Last ByFile", what: "`Block.File`, `Block.Offset` and `Block.Last`", want: "0\t0+8$\n1\t0+4$\n", not: map[string]string{
			"later in a chain": "(a part of the job before is a file)",
			"stream, submit":   "it needs the index or the end of a file (ByFile), which a child on a cluster does not know",
		}, chain: usual(func(j *jobs.Job) {
			j.ByFile, j.NewMapper = true, mapperOf(func(b jobs.Block, out jobs.Emitter) error {
				text := fmt.Sprint(b.Offset, "+", len(b.Data))
				if b.Last {
					text += "$"
				}
				out.Emit(strconv.AppendInt(nil, int64(b.File), 10), []byte(text))
				return nil
			})
		})},
		{of: "Input", what: "`Block.Input`", want: "0\ta 1\n1\tb 2\n7\tb 1\n", work: work{inputs: []int32{0, 1}}, not: map[string]string{"later in a chain": "(all parts belong to input 0)"}, chain: usual(func(j *jobs.Job) {
			j.NewMapper = mapperOf(func(b jobs.Block, out jobs.Emitter) error {
				for line := range b.Lines() {
					key := strconv.AppendInt(nil, int64(b.Input), 10)
					if string(line) == "b 1" {
						key = []byte("7")
					}
					out.Emit(key, line)
				}
				return nil
			})
		})},
		{of: "Begin", what: "`Job.Begin`", want: "2 files\n", not: map[string]string{"later in a chain": "(a run calls it for the first job)"}, chain: usual(func(j *jobs.Job) {
			of := *j
			j.Begin = func(files int) (jobs.Job, error) {
				begun := of
				begun.NewReducer = func() jobs.Reducer {
					l := fullOf()
					l.ReducerFunc = func([]byte, *jobs.Values, jobs.Emitter) error { return nil }
					l.flush = func(out jobs.Emitter) { out.Emit(nil, fmt.Append(nil, files, " files")) }
					return l
				}
				return begun, nil
			}
		})},
		{of: "Rereads Rounds Converged", what: "`Rereads`, `Rounds` and `Converged`", want: "a 1\t++\nb 1\t++\nb 2\t++\n", chain: growing, not: map[string]string{
			"later in a chain": "(the chain has its own first job)",
			"stream, submit":   "it has several Rounds, and a cluster runs a job once",
		}},
		{of: "Releaser NewReleaser Release Finish RecordCounter Records Verdict", what: "a releaser, with its verdict", want: "1 a 1\n2 b 1\nend\n", not: map[string]string{"resume": mapOnly}, chain: usual(func(j *jobs.Job) {
			j.NewReducer, j.NewMapper = nil, mapperOf(emitLines)
			j.NewReleaser = func() jobs.Releaser { return &numbering{limit: 2} }
		})},
		{of: "PartUser Used", what: "a releaser that leaves the rest of standard input to others", want: "1 a 1\nend\n", not: map[string]string{
			"later in a chain": "(its input is not standard input)", "resume": mapOnly,
			"stream, submit": "(the input of a map is a split)", "reference": "(has no standard input)",
		}, chain: usual(func(j *jobs.Job) {
			j.NewReducer, j.NewMapper = nil, mapperOf(emitLines)
			j.NewReleaser = func() jobs.Releaser { return leaving{&numbering{limit: 1}} }
		})},
		{of: "Paired", what: "`Block.Pairs` of the job before", want: "a\t1\nb\t1,2\n", not: map[string]string{
			"stream, submit": "it reads the pairs of the job before, which a cluster passes on as lines",
		}, chain: after(func(j *jobs.Job) {
			j.NewMapper = mapperOf(func(b jobs.Block, out jobs.Emitter) error {
				for key, value := range b.Pairs() {
					out.Emit(key, value)
				}
				return nil
			})
		})},
		{of: "Text", what: "`Text`: lines of the job before", want: "a\t1\nb\t1,2\n", chain: after(func(j *jobs.Job) { j.Text = true })},
		{of: "Name BuiltIn", what: "`Name` and `BuiltIn`, for messages alone", want: usualResult, chain: usual(func(j *jobs.Job) { j.Name, j.BuiltIn = "", true })},
	}
}

// growing is a job of three rounds at most, each of which appends a + to its side data until there are two, and
// a job that shows the result next to each line.
func growing() jobs.Chain {
	withSide := func(do func(side []byte, b jobs.Block, out jobs.Emitter)) func() jobs.Mapper {
		return func() jobs.Mapper {
			l, side := fullOf(), []byte(nil)
			l.begin = func(own jobs.OwnAttempt) { side = bytes.TrimRight(own.Side, "\n\x00") }
			l.MapperFunc = func(b jobs.Block, out jobs.Emitter) error { do(side, b, out); return nil }
			return l
		}
	}
	grow := jobs.Job{Name: "grow", Reduces: 1, Rereads: true, Rounds: 9, Converged: bytes.Equal, NewMapper: withSide(func(side []byte, _ jobs.Block, out jobs.Emitter) {
		out.Emit(append(bytes.Clone(side), "+"...)[:min(len(side)+1, 2)], nil)
	}), NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn, Unique: true} }}
	show := jobs.Job{Name: "show", Reduces: 1, Rereads: true, NewMapper: withSide(func(side []byte, b jobs.Block, out jobs.Emitter) {
		for line := range b.Lines() {
			out.Emit(line, side)
		}
	}), NewReducer: func() jobs.Reducer { return jobs.Identity{} }}
	return jobs.Chain{grow, show}
}

// after returns a chain of a job of field and list and another one, changed.
func after(change func(j *jobs.Job)) func() jobs.Chain {
	return func() jobs.Chain {
		return append(usual(func(*jobs.Job) {})(), usual(change)()...)
	}
}

// spans returns the lines of a block.
func spans(b jobs.Block) (all []jobs.Span) {
	at := uint32(0)
	for line := range b.Lines() {
		all = append(all, jobs.Span{Off: at, Len: uint32(len(line))})
		at += uint32(len(line)) + 1
	}
	return all
}

// TestEachAbilityIsDoneOrRefusedInEachWay runs each cell of the table. A refusal comes before any user code runs.
func TestEachAbilityIsDoneOrRefusedInEachWay(t *testing.T) {
	t.Parallel() // much of its time it waits for the disk
	for _, a := range abilities() {
		for _, way := range ways() {
			t.Run(a.what+", "+way.name, func(t *testing.T) {
				not := a.not[way.name]
				if strings.HasPrefix(not, "(") {
					t.Skip(not)
				}
				w, chain := a.work, a.chain()
				if w.files == nil {
					w.files = []jobtest.File{{Path: "a", Data: []byte("a 1\nb 1\n")}, {Path: "b", Data: []byte("b 2\n")}}
				}
				made := false
				if newMapper := chain[0].NewMapper; not != "" && !strings.Contains(not, "holds a NUL byte") {
					chain[0].NewMapper = func() jobs.Mapper { made = true; return newMapper() }
				}
				got, err := way.run(t, chain, w)
				switch {
				case not != "" && (!errors.Is(err, mrlocal.ErrBadOptions) && !errors.Is(err, errs.BadInput) || !strings.Contains(err.Error(), not) || made):
					t.Errorf("%q, %v, a mapper was made: %t; want %q", got, err, made, not)
				case not == "" && (err != nil || got != a.want):
					t.Errorf("%q, %v, want %q", got, err, a.want)
				case not == "" && a.check != nil:
					if err := a.check(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// TestTheTableHasEachAbility: each interface of package jobs, its methods, and each field of Job, Block and
// OwnAttempt stands in the table.
func TestTheTableHasEachAbility(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "jobs/jobs.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, a := range abilities() {
		known = append(known, strings.Fields(a.of)...)
	}
	n := 0
	has := func(names []*ast.Ident) {
		for _, name := range names {
			if n++; name.IsExported() && !slices.Contains(known, name.Name) {
				t.Errorf("%s is in no row", name.Name)
			}
		}
	}
	ast.Inspect(f, func(node ast.Node) bool {
		spec, is := node.(*ast.TypeSpec)
		if !is {
			return true
		}
		var fields *ast.FieldList
		switch typ := spec.Type.(type) {
		case *ast.InterfaceType:
			fields = typ.Methods
			has([]*ast.Ident{spec.Name})
		case *ast.StructType:
			fields = typ.Fields
		default:
			return true
		}
		for _, field := range fields.List {
			has(field.Names)
		}
		return true
	})
	if n < 70 {
		t.Errorf("only %d names", n)
	}
}

// TestTheDocumentHasTheTable compares docs/abilities.md with the table.
func TestTheDocumentHasTheTable(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Abilities of jobs

The [glossary](glossary.md) has the terms. Package ` + "`jobs`" + ` says what each ability means.

A row is an ability of a job, and a column is a way of running it. A cell says yes, or how that way refuses the job.
It does so before anything runs. Parentheses say why the ability cannot be asked for. A test runs each cell, and random
jobs with several abilities. It also makes this page: ` + "`go test . -run Document -rewrite`" + `.

- ` + "`run`" + ` is ` + "`Run`" + ` and the first job of ` + "`RunChain`" + `. A later job of a chain reads the parts of the job before.
- ` + "`resume`" + ` is a run with ` + "`Options.ResumeDir`" + ` that goes on after a kill.
- ` + "`stream, submit`" + ` is a child of Hadoop Streaming. Hadoop drops the output of a reduce without records, so a reducer
  that emits at its flush alone may be silent there. Outside of a task of Hadoop, standard input is the only file. The
  child then knows its end, and takes a job with ` + "`ByFile`" + `.
- ` + "`reference`" + ` is package ` + "`jobs/jobtest`" + `.

| ability |`)
	for _, way := range ways() {
		fmt.Fprintf(&b, " %s |", way.name)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(ways())) + "\n")
	for _, a := range abilities() {
		fmt.Fprintf(&b, "| %s |", a.what)
		for _, way := range ways() {
			cell := a.not[way.name]
			if cell == "" {
				cell = "yes"
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	testkit.Golden(t, "docs/abilities.md", []byte(b.String()))
}
