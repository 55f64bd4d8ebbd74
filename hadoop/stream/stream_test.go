package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/errs"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/jobtest"
	"mrlocal/jobs/sort"
	"mrlocal/jobs/wordcount"
)

// hadoop does the work of Hadoop Streaming: it divides files into splits and runs a child for each. It sends
// each record to a reduce by the hash of its key, and sorts by the key alone. Values of equal keys
// come in any order. The result is all parts, one after the other. With o.Spark it does the work of the
// driver of Spark: it passes blocks on in any order. Keys without a label go where Hadoop's hash sends them.
func hadoop(t testing.TB, chain jobs.Chain, o Options, files []jobtest.File, splitBytes int, rng *rand.Rand) (string, error) {
	type record struct{ key, line string }
	o.Reduces = max(o.Reduces, 1)
	parts := make([][]record, o.Reduces)
	for _, f := range files {
		for from := 0; from == 0 || from < len(f.Data); {
			end := min(len(f.Data), from+splitBytes)
			if i := bytes.IndexByte(f.Data[end:], '\n'); i >= 0 && end > from {
				end += i + 1
			} else {
				end = len(f.Data)
			}
			var out bytes.Buffer
			o.Task = Task{InputFile: f.Path, InputStart: int64(from)}
			if err := Run(context.Background(), chain, Map, o, bytes.NewReader(f.Data[from:end]), &out, io.Discard); err != nil {
				return "", err
			}
			block, bytesLeft := 0, 0 // of Spark: its reduce
			for line := range strings.Lines(out.String()) {
				if o.Spark && bytesLeft == 0 {
					if n, err := fmt.Sscanf(line, "%d %d\n", &block, &bytesLeft); n != 2 || bytesLeft <= 0 {
						t.Fatalf("%q begins no block: %v", line, err)
					}
					continue
				}
				bytesLeft -= len(line)
				line = strings.TrimSuffix(line, "\n")
				if strings.ContainsAny(line, "\r\n") {
					t.Fatalf("a line that Hadoop divides: %q", line)
				}
				p, hashed := 0, true
				if o.Spark {
					p, hashed = block, !chain[max(o.Step-1, 0)].Ordered && !o.InOrder
				}
				key, _, _ := strings.Cut(line, "\t")
				if to := int(hashOf(1, []byte(key))&0x7fffffff) % o.Reduces; !o.Spark {
					p = to
				} else if hashed && p != to {
					t.Fatalf("%q goes to %d, want %d", line, p, to)
				}
				parts[p] = append(parts[p], record{key, line})
			}
			from = max(end, 1)
		}
	}
	var all strings.Builder
	o.Task = Task{}
	for _, part := range parts {
		rng.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		if !o.Spark {
			slices.SortStableFunc(part, func(a, b record) int { return strings.Compare(a.key, b.key) })
		}
		var in, out bytes.Buffer
		for _, r := range part {
			key, value, _ := strings.Cut(r.line, "\t")
			fmt.Fprintf(&in, "%s\t%s\n", key, value) // TextInputWriter always writes the TAB
		}
		if len(part) == 0 && !o.Spark {
			continue // the output of such a reduce is dropped
		}
		if err := Run(context.Background(), chain, Reduce, o, &in, &out, io.Discard); err != nil {
			return "", err
		}
		all.WriteString(textOf(t, o.Results, out.Bytes()))
	}
	return all.String(), nil
}

// textOf returns the text that TextOutputFormat writes for the output of a reduce.
func textOf(t testing.TB, form Results, out []byte) string {
	if form == Text {
		return string(out)
	}
	var text strings.Builder
	for len(out) > 0 {
		n := binary.BigEndian.Uint32(out[1:])
		if out[0] != 7 || !bytes.Equal(out[5+n:10+n], []byte{7, 0, 0, 0, 0}) {
			t.Fatalf("typed bytes %q", out)
		}
		text.WriteString(string(out[5:5+n]) + "\n")
		out = out[10+n:]
	}
	return text.String()
}

func must(chain jobs.Chain, err error) jobs.Chain {
	if err != nil {
		panic(err)
	}
	return chain
}

// sampled returns cuts for a test: keys of the job, at equal distances.
func sampled(job jobs.Job, files []jobtest.File, parts int) [][]byte {
	var keys [][]byte
	out := &collect{job: job, keys: &keys}
	for _, f := range files {
		if len(f.Data) > 0 {
			_ = job.NewMapper().Map(jobs.Block{Path: f.Path, Data: bytes.Clone(f.Data), Last: true}, out)
		}
	}
	slices.SortFunc(keys, bytes.Compare)
	cuts := [][]byte{}
	for i := 1; i < parts; i++ {
		cut := []byte{}
		if len(keys) > 0 {
			cut = keys[len(keys)*i/parts]
		}
		cuts = append(cuts, cut)
	}
	return cuts
}

type collect struct {
	job  jobs.Job
	keys *[][]byte
}

func (c *collect) Emit(key, _ []byte) { *c.keys = append(*c.keys, bytes.Clone(key)) }

func (c *collect) Take(b jobs.Block, spans []jobs.Span) {
	for _, s := range spans {
		record := b.Data[s.Off : s.Off+s.Len]
		if c.job.AppendKey != nil {
			record = c.job.AppendKey(nil, record)
		}
		c.Emit(record, nil)
	}
}

// cases are jobs that run under Hadoop, each with the options that package submit would choose.
func cases() map[string]struct {
	make func() jobs.Chain
	o    Options
} {
	type one = struct {
		make func() jobs.Chain
		o    Options
	}
	limit := int64(3)
	return map[string]one{
		"wordcount":                  {func() jobs.Chain { return must(wordcount.New(wordcount.Options{})) }, Options{Reduces: 3}},
		"wordcount in small tables":  {func() jobs.Chain { return must(wordcount.New(wordcount.Options{Alnum: true, IgnoreCase: true})) }, Options{Reduces: 2, TableBytes: 200}},
		"wordcount of the most used": {func() jobs.Chain { return must(wordcount.New(wordcount.Options{Top: 5})) }, Options{Reduces: 3}},
		"sort":                       {func() jobs.Chain { return must(sort.New(sort.Options{})) }, Options{Reduces: 4}},
		"sort by keys":               {func() jobs.Chain { return must(sort.New(sort.Options{Keys: []string{"2,2nr", "1,1"}})) }, Options{Reduces: 3}},
		"sort, stable": {func() jobs.Chain {
			return must(sort.New(sort.Options{Keys: []string{"1,1"}, Stable: true}))
		}, Options{Reduces: 3, InOrder: true}},
		"sort, first of equal keys": {func() jobs.Chain {
			return must(sort.New(sort.Options{Keys: []string{"1,1"}, Unique: true}))
		}, Options{Reduces: 1, InOrder: true}},
		"grep": {func() jobs.Chain {
			return must(grep.New(grep.Options{Patterns: []string{`[a-c]\t?[a-c]`}, Text: true}))
		}, Options{Reduces: 2}},
		"grep lines": {func() jobs.Chain {
			return must(grep.New(grep.Options{Patterns: []string{`ab`}, Text: true, LineNumbers: true}))
		}, Options{}},
		"grep counts": {func() jobs.Chain {
			return must(grep.New(grep.Options{Patterns: []string{`a`}, Text: true, Count: true, MaxCount: &limit}))
		}, Options{}},
	}
}

// TestChildrenUnderHadoopGiveTheBytesOfTheEngine runs the children as Hadoop would, on random text with tabs,
// control characters and empty lines, and compares with the reference of the engine.
func TestChildrenUnderHadoopGiveTheBytesOfTheEngine(t *testing.T) {
	for name, c := range cases() {
		t.Run(name, func(t *testing.T) {
			testkit.Check(t, func(rt *rapid.T) {
				var files []jobtest.File
				spark := rapid.Bool().Draw(rt, "spark")
				for i := range rapid.IntRange(1, 3).Draw(rt, "files") {
					text := rapid.StringOfN(rapid.RuneFrom([]rune("aabbcC  \n\n\t\x00\x01\x0b\x0dé1209")), 0, 300, -1).Draw(rt, "text")
					if text != "" && !strings.HasSuffix(text, "\n") {
						text += "\n"
					}
					if spark {
						text = strings.ReplaceAll(text, "é", "\xff") // any bytes pass
					}
					files = append(files, jobtest.File{Path: fmt.Sprintf("hdfs://h:1/in/%c", 'a'+i), Data: []byte(text)})
				}
				want, err := jobtest.Reference(c.make(), files)
				if err != nil {
					rt.Fatal(err)
				}
				rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
				splitBytes := rapid.IntRange(1, 100).Draw(rt, "split")
				in, got := files, ""
				chain := c.make()
				for step := range chain {
					o := c.o
					o.Step, o.Results, o.Files, o.Inputs, o.Spark = step+1, TypedBytes, len(files), []string{"hdfs://h:1/in"}, spark
					if spark {
						o.Results = Text
					}
					if step > 0 {
						o.Reduces = 1
					}
					if chain[step].Ordered {
						o.Cuts = sampled(chain[step], in, o.Reduces)
					}
					if got, err = hadoop(t, chain, o, in, splitBytes, rng); err != nil {
						rt.Fatal(err)
					}
					in = []jobtest.File{{Path: "hdfs://h:1/between/part-00000", Data: []byte(got)}}
				}
				if got != string(want) {
					rt.Fatalf("files %q\ngot  %q\nwant %q", files, got, want)
				}
			})
		})
	}
}

func TestALabelLeadsItsKeyToItsReduce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := append(appendEscaped(nil, []byte(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "key"))), 0)
		reduces := rapid.OneOf(rapid.IntRange(2, 200), rapid.IntRange(2, 100_000)).Draw(t, "reduces")
		target := rapid.IntRange(0, reduces-1).Draw(t, "target")
		labelled := appendLabel(bytes.Clone(key), target, reduces)
		if got := int(hashOf(1, labelled)&0x7fffffff) % reduces; got != target {
			t.Fatalf("%q of %d reduces goes to %d, want %d", labelled, reduces, got, target)
		}
		if label := labelled[len(key):]; len(label) != labelLetters(reduces) || bytes.ContainsFunc(label, func(r rune) bool { return r < '!' || r > '~' }) {
			t.Fatalf("label %q", label)
		}
	})
}

// TestTheHashLeapsToZero uses hashes just below 2^31, from where the next ones fall to 0.
func TestTheHashLeapsToZero(t *testing.T) {
	for _, reduces := range []int{2, 3, 47, 48, 1488, 1489, 50_000} {
		for below := range int32(100) {
			for _, hash := range []int32{math.MaxInt32 - below, -1 - below} {
				for target := range min(reduces, 100) {
					away := distance(hash, target, reduces)
					moved := hashOf(0, appendMove(nil, labelLetters(reduces), away)) - hashOf(0, bytes.Repeat([]byte{firstLetter}, labelLetters(reduces)))
					if got := int((hash+moved)&0x7fffffff) % reduces; got != target {
						t.Fatalf("from %d by %d: reduce %d of %d, want %d", hash, away, got, reduces, target)
					}
				}
			}
		}
	}
}

// TestTheHashIsThatOfHadoop compares with hashes that Text.hashCode of Hadoop 3.4.2 returned.
func TestTheHashIsThatOfHadoop(t *testing.T) {
	for text, want := range map[string]int32{"": 1, "a": 31 + 97, "ab": 31*(31+97) + 98, "\xff": 31 - 1} {
		if got := hashOf(1, []byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestEscapedKeysKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytesOf := rapid.SliceOfN(rapid.OneOf(rapid.ByteRange(0, 15), rapid.Byte()), 0, 8)
		a, b := bytesOf.Draw(t, "a"), bytesOf.Draw(t, "b")
		ea, eb := append(appendEscaped(nil, a), 0), append(appendEscaped(nil, b), 0)
		if bytes.Compare(a, b) != bytes.Compare(ea, eb) {
			t.Fatalf("%q %q: %q %q", a, b, ea, eb)
		}
		back, err := appendUnescaped(nil, ea[:len(ea)-1])
		if err != nil || !bytes.Equal(back, a) {
			t.Fatalf("%q came back as %q, %v", a, back, err)
		}
		if bytes.ContainsAny(ea[:len(ea)-1], "\x00\t\r\n") {
			t.Fatalf("%q", ea)
		}
	})
}

// TestAPipeOfTheShellStandsInForHadoop runs map, combine and reduce on one stream.
func TestAPipeOfTheShellStandsInForHadoop(t *testing.T) {
	chain := must(wordcount.New(wordcount.Options{}))
	pipe := func(side Side, in string) string {
		var out bytes.Buffer
		if err := Run(context.Background(), chain, side, Options{}, strings.NewReader(in), &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got, want := pipe(Combine, "a\t1\na\t2\nb\t7\n"), "a\t3\nb\t7\n"; got != want {
		t.Errorf("combine: %q, want %q", got, want)
	}
	if got, want := pipe(Reduce, pipe(Map, "b a\nb")), "a\t1\nb\t2\n"; got != want {
		t.Errorf("map and reduce: %q, want %q", got, want)
	}
}

func TestResultsThatHadoopWouldChangeAreErrors(t *testing.T) {
	chain := must(sort.New(sort.Options{}))
	for _, c := range []struct {
		form Results
		text string
		want string
	}{
		{Text, "a\rb\n", "carriage return"},
		{TypedBytes, "a\xffb\n", "not UTF-8"},
	} {
		var wire, out bytes.Buffer
		o := Options{Results: c.form}
		if err := Run(context.Background(), chain, Map, o, strings.NewReader(c.text), &wire, io.Discard); err != nil {
			t.Fatal(err)
		}
		err := Run(context.Background(), chain, Reduce, o, &wire, &out, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

// As in a run, Begin of a later job is not called.
func TestAChildChecksTheJobOfBegin(t *testing.T) {
	chain := append(must(wordcount.New(wordcount.Options{})), must(sort.New(sort.Options{}))...)
	chain[1].Begin = func(int) (jobs.Job, error) { panic("Begin of a later job") }
	for _, step := range []int{0, 2} {
		if err := Run(t.Context(), chain, Map, Options{Step: step}, strings.NewReader("a\n"), io.Discard, io.Discard); err != nil {
			t.Errorf("step %d: %v", step, err)
		}
	}
	chain[0].Begin = func(int) (jobs.Job, error) { return jobs.Job{}, nil }
	want := "job wordcount: Begin returned a job that cannot run: job: has no mapper"
	if err := Run(t.Context(), chain, Map, Options{}, strings.NewReader("a\n"), io.Discard, io.Discard); !errors.Is(err, errs.BadOptions) || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	if d := describe(chain); d.Jobs[0].Refused != want || d.Jobs[0].Name != "wordcount" {
		t.Errorf("%+v, want the first refused: %q", d.Jobs, want)
	}
}

// reporting is a mapper that reports to its attempt.
type reporting struct{ own jobs.OwnAttempt }

func (r *reporting) Begin(own jobs.OwnAttempt) { r.own = own }
func (r *reporting) Map(b jobs.Block, out jobs.Emitter) error {
	r.own.Progress(1, 2)
	r.own.Status("in the\nmiddle")
	out.Emit(fmt.Append(nil, r.own.Task, r.own.Number, b.Input), nil)
	return nil
}

func TestAChildReportsToHadoopAndKnowsItsPlace(t *testing.T) {
	job := jobs.Job{Name: "reporting", NewMapper: func() jobs.Mapper { return &reporting{} }, NewReducer: func() jobs.Reducer { return jobs.Identity{} }}
	env := map[string]string{"mapreduce_task_id": "t", "mapreduce_task_partition": "5", "mapreduce_task_attempt_id": "attempt_1_0001_m_000005_2"}
	for file, want := range map[string]string{
		"hdfs://h:1/b/x":    "5 2 1\n",
		"hdfs://h:1/c-7/x":  "5 2 2\n",
		"hdfs://h:1/a/d/x":  "5 2 0\n",
		"hdfs://other/a/d":  "5 2 0\n",
		"hdfs://h:1/else/x": "",
	} {
		env["mapreduce_map_input_file"] = file
		var wire, complaints bytes.Buffer
		args := []string{"map", "--input", "hdfs://h:1/a", "--input=/b", "--input", "hdfs://h:1/c-?"}
		code := Main(jobs.Chain{job}, args, strings.NewReader("x\n"), &wire, &complaints, func(name string) string { return env[name] })
		if want == "" {
			if code != 2 || !strings.Contains(complaints.String(), "--input: hdfs://h:1/else/x: belongs to none of them") {
				t.Errorf("%s: exit %d, %q", file, code, complaints.String())
			}
			continue
		}
		if code != 0 || wire.String() != want || !strings.HasPrefix(complaints.String(), "reporter:status:works\n") {
			t.Errorf("%s: exit %d, %q, %q", file, code, wire.String(), complaints.String())
		}
	}
}

func TestAChildInOrderKeepsTheReduceOfAKey(t *testing.T) {
	job := jobs.Job{
		Name: "ordered values",
		NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				for line := range b.Lines() {
					out.Emit(line[:1], line[1:])
				}
				return nil
			})
		},
		NewReducer: func() jobs.Reducer {
			return jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
				var all []byte
				for vs.Next() {
					all = append(all, vs.Value()...)
				}
				out.Emit(key, all)
				return nil
			})
		},
	}
	files := []jobtest.File{{Path: "a", Data: []byte("x1\ny1\nx2\nz1\n")}, {Path: "b", Data: []byte("z2\nx3\ny2\n")}}
	for seed := range uint64(20) {
		got, err := hadoop(t, jobs.Chain{job}, Options{Reduces: 3, InOrder: true}, files, 4, rand.New(rand.NewPCG(seed, 1)))
		lines := slices.Sorted(strings.Lines(got))
		if want := []string{"x\t123\n", "y\t12\n", "z\t12\n"}; err != nil || !slices.Equal(lines, want) {
			t.Errorf("%q, %v, want %q", lines, err, want)
		}
	}
}

func TestAPartitionerMustNameAReduce(t *testing.T) {
	for name, bad := range map[string]func(j *jobs.Job){
		"plain":  func(*jobs.Job) {},
		"folded": func(j *jobs.Job) { j.NewFolder = func() jobs.Folder { return jobs.Sum{} } },
	} {
		j := must(wordcount.New(wordcount.Options{}))[0]
		j.NewFolder, j.Partition = nil, func([]byte, int) int { return 7 }
		bad(&j)
		err := Run(t.Context(), jobs.Chain{j}, Map, Options{Reduces: 2}, strings.NewReader("a\n"), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "the partitioner returned 7; must be from 0 to 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABrokenWireIsAnError(t *testing.T) {
	for side, in := range map[Side]string{Reduce: "a\tone\n", Combine: "a\x01\t1\n"} {
		err := Run(context.Background(), must(wordcount.New(wordcount.Options{})), side, Options{}, strings.NewReader(in), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "not a record of mrlocal stream map") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// TestMainIsTheChildOfAProgramOfOnesOwn runs a job that is not one of this module.
func TestMainIsTheChildOfAProgramOfOnesOwn(t *testing.T) {
	longest := jobs.Job{
		Name: "longest", Ordered: true,
		NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				for line := range b.Lines() {
					out.Emit(line[:1], line)
				}
				return nil
			})
		},
		NewReducer: func() jobs.Reducer {
			return jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
				most := 0
				for vs.Next() {
					most = max(most, len(vs.Value()))
				}
				out.Emit(key, fmt.Append(nil, most))
				return nil
			})
		},
	}
	cuts := filepath.Join(t.TempDir(), "cuts")
	f, err := os.Create(cuts)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteCuts(f, [][]byte{[]byte("b\n")}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var wire, out, complaints bytes.Buffer
	getenv := func(name string) string { return map[string]string{"mapreduce_task_id": "task_1"}[name] }
	if code := Main(jobs.Chain{longest}, []string{"map", "--reduces", "2", "--cuts=" + cuts}, strings.NewReader("apple\nbanana\navocado\n"), &wire, &complaints, getenv); code != 0 {
		t.Fatal(code, complaints.String())
	}
	if want := "reporter:counter:mrlocal,INPUT_BYTES,21\nreporter:counter:mrlocal,MAP_OUTPUT_RECORDS,3\n"; complaints.String() != want {
		t.Errorf("counters %q", complaints.String())
	}
	lines := slices.Sorted(strings.Lines(wire.String()))
	if code := Main(jobs.Chain{longest}, []string{"reduce", "--reduces", "2", "--cuts", cuts}, strings.NewReader(strings.Join(lines, "")), &out, &complaints, os.Getenv); code != 0 || out.String() != "a\t7\nb\t6\n" {
		t.Errorf("%d %q", code, out.String())
	}
	for _, args := range [][]string{nil, {"shuffle"}, {"map", "--step", "x"}, {"map", "--step", "2"}, {"map", "--cuts", "/none"}, {"map", "--reduces", "2"}, {"map", "--cuts"}} {
		complaints.Reset()
		if code := Main(jobs.Chain{longest}, args, strings.NewReader(""), io.Discard, &complaints, os.Getenv); code != 2 || strings.Count(complaints.String(), "\n") != 1 || strings.Contains(complaints.String(), "Options.") {
			t.Errorf("%q: exit %d, %q", args, code, complaints.String())
		}
	}
}
