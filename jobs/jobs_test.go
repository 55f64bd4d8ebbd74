package jobs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

type pairs []string

func (p *pairs) Emit(key, value []byte) { *p = append(*p, fmt.Sprintf("%q=%q", key, value)) }

// windows is a Refiller. Each element is a window of values.
type windows [][]string

func (w *windows) Refill(vs *Values) bool {
	if len(*w) == 0 {
		return false
	}
	var base []byte
	var spans []Span
	for _, v := range (*w)[0] {
		spans = append(spans, Span{uint32(len(base)), uint32(len(v))})
		base = append(base, v...)
	}
	*w = (*w)[1:]
	vs.Window(base, spans)
	return true
}

func TestRecordsCutAtTheDelimiterAndKeepALastOneWithoutIt(t *testing.T) {
	for text, want := range map[string][]string{
		"":            nil,
		"\n":          {""},
		"a":           {"a"},
		"a\n":         {"a"},
		"a\n\nb":      {"a", "", "b"},
		"a\r\nb\x00c": {"a\r", "b\x00c"},
	} {
		for name, data := range map[Delim]string{Newline: text, NUL: strings.NewReplacer("\n", "\x00", "\x00", "\n").Replace(text)} {
			var got []string
			for r := range (Block{Data: []byte(data)}).Records(name) {
				got = append(got, strings.NewReplacer("\n", "\x00").Replace(string(r)))
			}
			var norm []string
			for _, w := range want {
				norm = append(norm, strings.ReplaceAll(w, "\n", "\x00"))
			}
			if !slices.Equal(got, norm) {
				t.Errorf("%q by %d: %q, want %q", data, name, got, norm)
			}
		}
	}
}

func TestValuesPassThroughWindows(t *testing.T) {
	var vs Values
	for range 2 {
		vs.Reset(&windows{{"a"}, {"b", ""}, {"c"}})
		var got []string
		for vs.Next() {
			got = append(got, string(vs.Value()))
		}
		if want := []string{"a", "b", "", "c"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if vs.Next() {
			t.Error("a value after the end")
		}
	}
}

func TestIdentityLetsItsColumnThrough(t *testing.T) {
	for r, want := range map[Identity]string{
		{}:                               `["k"="a" "k"="b"]`,
		{Out: KeyColumn}:                 `["k"="" "k"=""]`,
		{Out: ValueColumn}:               `[""="a" ""="b"]`,
		{Unique: true}:                   `["k"="a"]`,
		{Out: ValueColumn, Unique: true}: `[""="a"]`,
	} {
		var vs Values
		vs.Reset(&windows{{"a"}, {"b"}})
		var out pairs
		if err := r.Reduce([]byte("k"), &vs, &out); err != nil || fmt.Sprint(out) != want {
			t.Errorf("%+v: %v %v, want %s", r, out, err, want)
		}
	}
}

func TestSumAddsAsFolderAndAsReducer(t *testing.T) {
	one, big := AppendUint64(nil, 1), AppendUint64(nil, 1<<40)
	acc := Sum{}.Fold(nil, big)
	acc = Sum{}.Fold(acc, one)
	if Uint64(acc) != 1<<40+1 || Uint64(big) != 1<<40 {
		t.Fatalf("folded to %d, first value now %d", Uint64(acc), Uint64(big))
	}
	for _, s := range []Sum{{}, NewSum()} {
		var vs Values
		vs.Reset(&windows{{string(acc), string(one)}, {string(one)}})
		var out pairs
		if err := s.Reduce([]byte("k"), &vs, &out); err != nil || fmt.Sprint(out) != `["k"="1099511627779"]` {
			t.Errorf("%v %v", out, err)
		}
	}
}

type drop struct{ n int }

func (d *drop) Emit(key, value []byte) { d.n += len(key) + len(value) }

func TestRangingAndReducingDoNotAllocate(t *testing.T) {
	b := Block{Data: []byte(strings.Repeat("a line of text\n", 100))}
	n, out, sum := 0, &drop{}, NewSum()
	var vs Values
	spans := []Span{{0, 8}}
	if a := testing.AllocsPerRun(100, func() {
		for l := range b.Lines() {
			n += len(l)
		}
	}); a != 0 {
		t.Errorf("Lines: %v allocations", a)
	}
	if a := testing.AllocsPerRun(100, func() {
		vs.Reset(nil)
		vs.spans = vs.spans[:0]
		_ = spans
		_ = sum.Reduce(b.Data[:8], &vs, out)
	}); a != 0 {
		t.Errorf("Sum.Reduce: %v allocations", a)
	}
}

func TestAbilitiesThatExcludeEachOtherAreRefused(t *testing.T) {
	job := func(change func(*Job)) Job {
		j := Job{Name: "a", NewMapper: func() Mapper { return nil }, NewReducer: func() Reducer { return Identity{} }}
		change(&j)
		return j
	}
	plain := job(func(*Job) {})
	again := "job a: reads the input of the chain again, so Delim, RecordBytes and SkipBinary must be those of the first job"
	for _, c := range []struct {
		chain Chain
		want  string
	}{
		{Chain{job(func(j *Job) { j.NewReleaser = func() Releaser { return nil } })}, "job a: a releaser is for a job without reducers"},
		{Chain{plain, job(func(j *Job) { j.SkipBinary = true })}, "job a: SkipBinary is for a job that reads the input of the chain"},
		{Chain{plain, job(func(j *Job) { j.Rereads, j.SkipBinary = true, true })}, again},
		{Chain{plain, job(func(j *Job) { j.Rereads, j.Delim = true, NUL })}, again},
		{Chain{plain, job(func(j *Job) { j.Rereads, j.RecordBytes = true, 7 })}, again},
		{Chain{plain, job(func(j *Job) { j.Delim = NUL }), job(func(j *Job) { j.Rereads = true })}, "<nil>"},
	} {
		if got := fmt.Sprint(c.chain.Check()); got != c.want {
			t.Errorf("%v, want %q", got, c.want)
		}
	}
}

func TestAChainWithAWrongJobIsRefused(t *testing.T) {
	mapper := func() Mapper { return MapperFunc(func(Block, Emitter) error { return nil }) }
	for want, j := range map[string]Job{
		"":                                      {Reduces: MostReducers, Maps: mostMaps + 1, Delim: NUL},
		"job a: 100001 reduces; at most 100000": {Name: "a", Reduces: MostReducers + 1},
		"job: 1073741824 reduces; at most 100000":            {Reduces: 1 << 30},
		"job a: the number of tasks must not be negative":    {Name: "a", Reduces: -1},
		"job a: 10000001 maps; at most 10000000":             {Name: "a", NoInput: true, Maps: mostMaps + 1},
		"job a: delimiter 9: must be Newline (0) or NUL (1)": {Name: "a", Delim: 9},
	} {
		j.NewMapper = mapper
		err := (Chain{j}).Check()
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("%v, want %q", got, want)
		}
	}
}
