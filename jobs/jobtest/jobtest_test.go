package jobtest

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"mrlocal/jobs"
)

// index is a job as a user writes it. It lists the files that contain each word.
func index() jobs.Chain {
	return jobs.Chain{{
		Name:       "index",
		NewMapper:  func() jobs.Mapper { return words{} },
		NewReducer: func() jobs.Reducer { return paths{} },
	}}
}

type words struct{}

func (words) Map(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		for w := range strings.FieldsSeq(string(line)) {
			out.Emit([]byte(w), []byte(b.Path))
		}
	}
	return nil
}

type paths struct{}

func (paths) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	var all []string
	for vs.Next() {
		if v := string(vs.Value()); len(all) == 0 || all[len(all)-1] != v {
			all = append(all, v)
		}
	}
	out.Emit(key, []byte(strings.Join(all, " ")))
	return nil
}

func TestValuesComeInInputOrderHoweverTheInputIsCut(t *testing.T) {
	files := []File{{"one", []byte("b a\na c\n")}, {"two", nil}, {"three", []byte("c b\nd")}}
	const want = "a\tone\nb\tone three\nc\tone three\nd\tthree\n"
	for _, cut := range []Cut{{}, {BlockBytes: 1}, {BlockBytes: 1, SplitBlocks: 1}, {SplitBlocks: 2}} {
		out, err := Run(index(), files, cut)
		if err != nil || string(out.Data) != want || out.Records != 4 {
			t.Errorf("%+v: %q, %d records, %v", cut, out.Data, out.Records, err)
		}
	}
}

// upper is a mapper of a job without reducers. It writes its lines in capitals.
type upper struct{}

func (upper) Map(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		out.Emit(nil, []byte(strings.ToUpper(string(line))))
	}
	return nil
}

func TestMapOnlyJobsKeepInputOrderAndFeedTheNext(t *testing.T) {
	up := jobs.Job{Name: "upper", NewMapper: func() jobs.Mapper { return upper{} }}
	chain := append(jobs.Chain{up}, index()...)
	chain[1].Text = true
	got, err := Reference(chain, []File{{"f", []byte("b a")}})
	if want := "A\tupper\nB\tupper\n"; err != nil || string(got) != want {
		t.Errorf("%q %v, want %q", got, err, want)
	}
}

// As in a run, Begin of a later job is not called, and the name of the first job stays.
func TestBeginOfTheFirstJobCountsAndIsChecked(t *testing.T) {
	first, later := index()[0], index()
	later[0].Text = true
	first.Name, first.Begin = "first", func(int) (jobs.Job, error) {
		return jobs.Job{Name: "other", NewMapper: first.NewMapper, NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} }}, nil
	}
	later[0].Begin = func(int) (jobs.Job, error) { panic("Begin of a later job") }
	got, err := Reference(append(jobs.Chain{first}, later...), []File{{"f", []byte("b a")}})
	if want := "a\tfirst\nb\tfirst\n"; err != nil || string(got) != want {
		t.Errorf("%q %v, want %q", got, err, want)
	}
	first.Begin = func(int) (jobs.Job, error) { return jobs.Job{}, nil }
	for want, chain := range map[string]jobs.Chain{
		"job first: Begin returned a job that cannot run: job: has no mapper": {first},
		"job: an empty chain": {},
	} {
		if _, err := Reference(chain, []File{{"f", []byte("b a")}}); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestEveryFileYieldsABlockAndBlocksAreWholeRecords(t *testing.T) {
	files := []File{{"empty", nil}, {"binary", []byte("a\x00")}, {"f", []byte("ab\nc\n\nd")}}
	var got []string
	all, err := splits(jobs.Job{SkipBinary: true}, files, Cut{BlockBytes: 2, SplitBlocks: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, split := range all {
		for _, b := range split {
			text := b.Path + ":" + string(b.Data)
			if b.Last {
				text += "$"
			}
			got = append(got, text)
		}
		got = append(got, "|")
	}
	if want := "empty:$ f:ab\n | f:c\n f:\nd$ |"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", strings.Join(got, " "), want)
	}
}

// failures is a testing.TB that keeps the first failure.
type failures struct {
	testing.TB
	first string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.first = cmp.Or(f.first, fmt.Sprintf(format, args...))
}

// lastFold keeps the value that it folds last.
type lastFold struct{}

func (lastFold) Fold(acc, value []byte) []byte { return append(acc[:0], value...) }

// firstFold keeps the value that it folds first.
type firstFold struct{}

func (firstFold) Fold(acc, value []byte) []byte {
	if acc == nil {
		return append(acc, value...)
	}
	return acc
}

// lastReducer emits the last value of a group.
func lastReducer(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	var last []byte
	for vs.Next() {
		last = append(last[:0], vs.Value()...)
	}
	out.Emit(key, last)
	return nil
}

// TestCheckFindsFoldsAndCombinersThatDependOnOrderOrNumber: the values of the key k are 1, 2 and 3.
func TestCheckFindsFoldsAndCombinersThatDependOnOrderOrNumber(t *testing.T) {
	counting := jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
		n := 0
		for vs.Next() {
			n++
		}
		out.Emit(key, fmt.Append(nil, n))
		return nil
	})
	for name, c := range map[string]struct {
		fold    jobs.Folder
		combine jobs.Reducer
		reduce  jobs.Reducer
		want    string
		text    string // the values, if they are others
	}{
		"a fold that does not commute":      {lastFold{}, nil, jobs.ReducerFunc(lastReducer), "blocks of 0 bytes, 0 to a split, folded and combined backwards: 4 bytes, want 4 as for whole files", ""},
		"a fold that keeps the first":       {firstFold{}, nil, jobs.ReducerFunc(lastReducer), "blocks of 0 bytes, 0 to a split, folded and combined in parts: 4 bytes, want 4 as for whole files", "1\n2\n1\n1\n"},
		"a combiner that counts its values": {nil, counting, counting, "blocks of 1 bytes, 1 to a split, folded and combined once: 4 bytes, want 4 as for whole files", ""},
		"a combiner that keeps the rules":   {nil, jobs.ReducerFunc(lastReducer), jobs.ReducerFunc(lastReducer), "", ""},
	} {
		job := jobs.Job{
			NewMapper: func() jobs.Mapper {
				return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
					for line := range b.Lines() {
						out.Emit([]byte("k"), line)
					}
					return nil
				})
			},
			NewReducer: func() jobs.Reducer { return c.reduce },
		}
		if c.fold != nil {
			job.NewFolder = func() jobs.Folder { return c.fold }
		}
		if c.combine != nil {
			job.NewCombiner = func() jobs.Reducer { return c.combine }
		}
		f := &failures{TB: t}
		Check(f, jobs.Chain{job}, []File{{Path: "a", Data: []byte(cmp.Or(c.text, "1\n2\n3\n"))}})
		if f.first != c.want {
			t.Errorf("%s: %q, want %q", name, f.first, c.want)
		}
	}
}
