package typed_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/jobs/typed"
)

type word = typed.Pair[string, int]

func fields(line string, emit func(string, int)) error {
	for w := range strings.FieldsSeq(line) {
		emit(w, 1)
	}
	return nil
}

var (
	count  = typed.Job[string, string, int, word]{Name: "count", Map: fields, Sum: true, Ordered: true}
	folded = typed.Job[string, string, int, word]{Name: "count", Map: fields, Fold: func(a, b int) int { return a + b }, Ordered: true}
	summed = typed.Job[string, string, int, word]{Name: "count", Map: fields, Ordered: true, Reduce: func(w string, ones iter.Seq[int], emit func(word)) error {
		n := 0
		for one := range ones {
			n += one
		}
		emit(word{Key: w, Value: n})
		return nil
	}}
	// byCount sorts words by their count in descending order, and leaves out all but three of a count.
	byCount = typed.Job[word, typed.Pair[typed.Desc[int], string], struct{}, string]{
		Name: "by count", Ordered: true, GroupBy: 1,
		Map: typed.KeyOf(func(w word) typed.Pair[typed.Desc[int], string] {
			return typed.Pair[typed.Desc[int], string]{Key: typed.Desc[int]{V: w.Value}, Value: w.Key}
		}),
		Rows: func(rows iter.Seq2[typed.Pair[typed.Desc[int], string], struct{}], emit func(string)) error {
			n := 0
			for w := range rows {
				if n++; n <= 3 {
					emit(fmt.Sprint(w.Key.V, "=", w.Value))
				}
			}
			return nil
		},
	}
)

// byteCount is count as a job of package jobs.
func byteCount() jobs.Job {
	return jobs.Job{Name: "count", Ordered: true, NewFolder: func() jobs.Folder { return jobs.Sum{} },
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
		NewReducer: func() jobs.Reducer { return jobs.NewSum() }}
}

const text = "b a\x00 c b\n\na b b \xff\nz\nb c"

func made[Out any](t *testing.T, s typed.Stage[Out]) jobs.Chain {
	t.Helper()
	chain, err := typed.Jobs(s)
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

func TestResultsAreThoseOfTheBytes(t *testing.T) {
	files := []jobtest.File{{Path: "f", Data: []byte(text)}, {Path: "empty"}}
	want, err := jobtest.Reference(jobs.Chain{byteCount()}, files)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range []typed.Job[string, string, int, word]{count, folded, summed} {
		got, err := jobtest.Reference(made(t, job), files)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		jobtest.Check(t, made(t, job), files)
	}
	chain := made(t, typed.Then(count, byCount))
	jobtest.Check(t, chain, files)
	if got, err := jobtest.Reference(chain, files); err != nil || string(got) != "5=b\n2=c\n1=a\n1=a\x00\n1=z\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestKeysWaitWithTheirValue: of any length, with values that change, and 0 first.
func TestKeysWaitWithTheirValue(t *testing.T) {
	numbered := func(line string, emit func(string, int)) error {
		for i, w := range strings.Fields(line) {
			emit(w, i/3)
			emit(strings.Repeat(w, 1+i%5*2000), i%2-1)
		}
		return nil
	}
	add, fold, all := count, folded, summed
	add.Map, fold.Map, all.Map = numbered, numbered, numbered
	files := []jobtest.File{{Path: "f", Data: []byte(strings.Repeat("a b ab c abc b a\n \nxyz a b\n", 40))}}
	want, err := jobtest.Reference(made(t, all), files)
	for _, job := range []typed.Job[string, string, int, word]{add, fold} {
		got, err2 := jobtest.Reference(made(t, job), files)
		if err != nil || err2 != nil || !bytes.Equal(got, want) || bytes.Count(got, []byte("\n")) < 10 {
			t.Errorf("%.100q, %v, %v, want %.100q", got, err, err2, want)
		}
	}
}

// TestAFoldMayReturnPartsOfItsValues: a []byte with zeros, of either of both.
func TestAFoldMayReturnPartsOfItsValues(t *testing.T) {
	type ends = typed.Pair[[]byte, []byte] // the greatest and the least word
	job := typed.Job[string, int, ends, typed.Pair[int, ends]]{
		Map: func(line string, emit func(int, ends)) error {
			emit(len(line), ends{Key: []byte(line), Value: []byte(line)})
			return nil
		},
		Fold: func(a, b ends) ends {
			if bytes.Compare(a.Key, b.Key) < 0 {
				a.Key = b.Key
			}
			if bytes.Compare(a.Value, b.Value) > 0 {
				a.Value = b.Value
			}
			return a
		},
	}
	files := []jobtest.File{{Path: "f", Data: []byte("c\x00\n\x00\x00\nb\x00\na\xff\nabc\n")}}
	jobtest.Check(t, made(t, job), files)
	got, err := jobtest.Reference(made(t, job), files)
	if want := "2\tc\x00\t\x00\x00\n3\tabc\tabc\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func input(t *testing.T, texts ...string) (o mrlocal.Options) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o.Inputs = append(o.Inputs, name)
	}
	o.MemoryBytes = 64 << 20
	return o
}

func TestResultsInMemoryAreValues(t *testing.T) {
	results, report, err := mrlocal.Results(t.Context(), typed.Then(count, byCount), input(t, text))
	if err != nil || report == nil {
		t.Fatal(err)
	}
	if got := slices.Collect(results); !slices.Equal(got, []string{"5=b", "2=c", "1=a", "1=a\x00", "1=z"}) || len(slices.Collect(results)) != 5 {
		t.Errorf("%q", got)
	}
	o := input(t, text)
	o.Stdout = &bytes.Buffer{}
	if _, _, err := mrlocal.Results(t.Context(), count, o); !errors.Is(err, mrlocal.ErrBadOptions) {
		t.Error(err)
	}
	o.Stdout, o.CompressOutput = nil, mrlocal.FormatGzip
	if _, _, err := mrlocal.Results(t.Context(), count, o); !errors.Is(err, mrlocal.ErrBadOptions) {
		t.Error(err)
	}
	if _, _, err := mrlocal.Results(t.Context(), typed.Chain[string]{}, input(t, text)); !errors.Is(err, mrlocal.ErrBadOptions) {
		t.Error(err)
	}
}

// TestKeysWithoutAReduceAreAllKeys, not the first one of their group.
func TestKeysWithoutAReduceAreAllKeys(t *testing.T) {
	job := typed.Job[word, word, struct{}, word]{From: typed.CSV[word](' ', false), GroupBy: 1, Ordered: true}
	results, _, err := mrlocal.Results(t.Context(), job, input(t, "a 3\nb 1\na 2\na 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(results); !slices.Equal(got, []word{{"a", 2}, {"a", 3}, {"a", 3}, {"b", 1}}) {
		t.Errorf("%v", got)
	}
}

// TestFieldsAreColumnsOfTheirOwn: the same column twice, most likely by mistake, would leave one field empty.
func TestFieldsAreColumnsOfTheirOwn(t *testing.T) {
	type twice struct {
		Name string `csv:"2"`
		Town string
	}
	type inside struct {
		At struct {
			X int `csv:"3"`
			Y int
		}
		Day time.Time `csv:"1"`
	}
	type both struct {
		At typed.Pair[int, int] `csv:"1"`
	}
	column := func(from func() error) (err error) {
		defer func() {
			if m, is := recover().(jobs.Mistake); is {
				err = m
			}
		}()
		return from()
	}
	var got inside
	for want, from := range map[string]func() error{
		"typed.CSV: typed_test.twice: two fields are column 2": func() error { typed.CSV[twice](',', false)(); return nil },
		"typed.CSV: typed_test.both: two fields are column 1":  func() error { typed.CSV[both](',', false)(); return nil },
		"": func() error {
			b := jobs.Block{Data: []byte("1969-12-31T23:59:59.5Z,2,3\n")}
			return typed.CSV[inside](',', false)()(b, func(in *inside) error { got = *in; return nil })
		},
	} {
		if err := column(from); fmt.Sprint(err) != want && (err != nil || want != "") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if got.At.X != 3 || got.At.Y != 2 || got.Day.UnixNano() != -5e8 {
		t.Errorf("%+v", got)
	}
}

type row struct {
	Number typed.Pair[int8, bool]
	Text   string `csv:"4"`
}

func TestSources(t *testing.T) {
	type in = typed.Job[row, row, struct{}, row]
	comma := in{Name: "rows", From: typed.CSV[row](',', true), Ordered: true}
	tabs, lines := comma, comma
	tabs.From, lines.From = typed.CSV[row]('\t', false), typed.JSON[row]
	for _, c := range []struct {
		job        in
		text, want string
	}{
		{comma, "n,b,c,t\r\n2,true,x,y z,\r\n\r\n\n1,false,x,\"a,\"\"b\"\n", "1\tfalse\ta,\"b\n2\ttrue\ty z\n"},
		{tabs, "1\ttrue\t\tz", "1\ttrue\tz\n"},
		{lines, "{\"Number\":{\"Key\":3,\"Value\":true},\"Text\":\"x\"}\n\n", "3\ttrue\tx\n"},
		{tabs, "\n1\ttrue\tz\n", `at byte 1: map: the line "1\ttrue\tz": has no column 4`},
		{tabs, "300\ttrue\tz\tz\n", `at byte 0: map: the line "300\ttrue\tz\tz": strconv.ParseInt: parsing "300": value out of range`},
		{comma, "h\n1,true,\"a\n", `at byte 2: map: the line "1,true,"a": parse error on line 1, column 10: extraneous or missing " in quoted-field`},
		{lines, "[\n", "at byte 0: map: unexpected end of JSON input"},
	} {
		var out bytes.Buffer
		o := input(t, c.text)
		o.Stdout = &out
		_, err := mrlocal.RunTyped(t.Context(), c.job, o)
		if err == nil && out.String() != c.want || err != nil && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%q: %q, %v, want %q", c.text, out.String(), err, c.want)
		}
	}
}

func TestAJoinSeesBothSides(t *testing.T) {
	side := typed.CSV[word](' ', false)
	key := func(w word) string { return w.Key }
	join := typed.Join[word, word, string, string]{Name: "join", Left: side, Right: side, LeftKey: key, RightKey: key, Ordered: true,
		Reduce: func(key string, left []word, right iter.Seq[word], emit func(string)) error {
			emit(fmt.Sprint(key, left, slices.Collect(right)))
			return nil
		}}
	o := input(t, "a 1\nb 2\na 3\n", "c 4\na 5\n", "a 6\nb 7\n")
	results, _, err := mrlocal.Results(t.Context(), join, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(results); !slices.Equal(got, []string{"a[{a 1} {a 3}] [{a 5} {a 6}]", "b[{b 2}] [{b 7}]", "c[] [{c 4}]"}) {
		t.Errorf("%q", got)
	}
	type blob = typed.Pair[typed.Pair[[]byte, []byte], string]
	blobs := typed.CSV[blob](' ', false)
	lefts := typed.Join[blob, blob, string, string]{Left: blobs, Right: blobs, Ordered: true,
		LeftKey: func(b blob) string { return b.Value }, RightKey: func(b blob) string { return b.Value },
		Reduce: func(key string, left []blob, _ iter.Seq[blob], emit func(string)) error {
			emit(fmt.Sprintf("%s%q", key, left))
			return nil
		}}
	files := []jobtest.File{{Path: "f", Data: []byte("x\x00y z\x00 a\nu v b\np\x00\x00 q a\n")}}
	jobtest.Check(t, made(t, lefts), files)
	got, err := jobtest.Reference(made(t, lefts), files)
	if want := `a[{{"x\x00y" "z\x00"} "a"} {{"p\x00\x00" "q"} "a"}]` + "\n" + `b[{{"u" "v"} "b"}]` + "\n"; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func TestJobsThatCannotRunAreRefused(t *testing.T) {
	refused := func(want string, s typed.Stage[word]) {
		t.Helper()
		if _, err := typed.Jobs(s); !errors.Is(err, mrlocal.ErrBadOptions) || err.Error() != "job x: "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	type job = typed.Job[string, string, int, word]
	refused("has no Map; K is then In, and V is struct{}", job{Name: "x"})
	refused("has no Reduce; the results are then K, or Pair[K, V] with Sum or Fold", job{Name: "x", Map: fields})
	refused("GroupBy is greater than the number of fields of a key", job{Name: "x", Map: fields, GroupBy: 2, Reduce: summed.Reduce})
	refused("GroupBy and Rows exclude Sum and Fold", job{Name: "x", Map: fields, GroupBy: 1, Sum: true})
	// A reducer gets several folded values of a key.
	refused("GroupBy and Rows exclude Sum and Fold", job{Name: "x", Map: fields, Sum: true, Rows: func(iter.Seq2[string, int], func(word)) error { return nil }})
	refused("needs integers for Sum, which excludes Fold", job{Name: "x", Map: fields, Sum: true, Fold: folded.Fold})
	refused("From is for the first job of a chain", typed.Then(count, typed.Job[word, string, int, word]{Name: "x", From: typed.CSV[word](',', false), Sum: true,
		Map: func(w word, emit func(string, int)) error { emit(w.Key, 1); return nil }}))
	refused("typed: chan int: has a chan int", typed.Job[string, chan int, int, word]{Name: "x", Map: func(string, func(chan int, int)) error { return nil }, Reduce: func(chan int, iter.Seq[int], func(word)) error { return nil }})
	refused("needs From, because its input values are no strings", typed.Job[int, string, int, word]{Name: "x", Map: func(int, func(string, int)) error { return nil }, Sum: true})
	refused("a Join needs Left, Right, LeftKey, RightKey and Reduce", typed.Join[word, word, string, word]{Name: "x"})
}

// TestARecordNeedsNoMemory: where keys and values have a fixed size.
func TestARecordNeedsNoMemory(t *testing.T) {
	type key struct {
		A int
		B typed.Desc[float64]
	}
	type value struct {
		C uint32
		D bool
	}
	job := typed.Job[key, key, value, value]{From: typed.CSV[key](',', false), GroupBy: 1,
		Map: func(in key, emit func(key, value)) error { emit(in, value{uint32(in.A), true}); return nil },
		Rows: func(rows iter.Seq2[key, value], emit func(value)) error {
			for _, v := range rows {
				emit(v)
			}
			return nil
		}}
	j := made(t, job)[0]
	records := func(n int) float64 {
		mapper, reducer, out := j.NewMapper(), j.NewReducer(), &list{}
		block := jobs.Block{Data: bytes.Repeat([]byte("12,0.25\n"), n)}
		if err := mapper.Map(block, out); err != nil {
			t.Fatal(err)
		}
		got := len(out.records) / 2
		out.drop = true
		return testing.AllocsPerRun(20, func() {
			mapper.Map(block, out)
			var vs jobs.Values
			vs.Reset(&values{out.records})
			reducer.Reduce(out.records[0], &vs, out)
		}) + float64(got-n)
	}
	if few, many := records(10), records(1000); many != few {
		t.Errorf("%v allocations for 10 records, %v for 1000", few, many)
	}
}

// list is an Emitter that keeps keys and values.
type list struct {
	records [][]byte
	drop    bool
}

func (l *list) Emit(key, value []byte) {
	if !l.drop {
		l.records = append(l.records, bytes.Clone(key), bytes.Clone(value))
	}
}

// values is a jobs.Refiller of the records of a list.
type values struct{ records [][]byte }

var oneSpan [1]jobs.Span

func (v *values) Refill(vs *jobs.Values) bool {
	if len(v.records) == 0 {
		return false
	}
	vs.SetKey(v.records[0])
	oneSpan[0].Len = uint32(len(v.records[1]))
	vs.Window(v.records[1], oneSpan[:])
	v.records = v.records[2:]
	return true
}
