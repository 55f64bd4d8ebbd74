package jobtest

import (
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
	got, err := Reference(chain, []File{{"f", []byte("b a")}})
	if want := "A\tupper\nB\tupper\n"; err != nil || string(got) != want {
		t.Errorf("%q %v, want %q", got, err, want)
	}
}

// As in a run, Begin of a later job is not called, and the name of the first job stays.
func TestBeginOfTheFirstJobCountsAndIsChecked(t *testing.T) {
	first, later := index()[0], index()
	first.Name, first.Begin = "first", func(int) jobs.Job {
		return jobs.Job{Name: "other", NewMapper: first.NewMapper, NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} }}
	}
	later[0].Begin = func(int) jobs.Job { panic("Begin of a later job") }
	got, err := Reference(append(jobs.Chain{first}, later...), []File{{"f", []byte("b a")}})
	if want := "a\tfirst\nb\tfirst\n"; err != nil || string(got) != want {
		t.Errorf("%q %v, want %q", got, err, want)
	}
	first.Begin = func(int) jobs.Job { return jobs.Job{} }
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
