package jobtest_test

import (
	"strings"
	"testing"

	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
)

// longKeys emits keys in memory that goes on behind them.
type longKeys struct{}

func (longKeys) Map(b jobs.Block, out jobs.Emitter) error {
	out.Emit(b.Data[:1], b.Data[1:2])
	return nil
}

func TestAGroupLongerThanItsKeyIsAnError(t *testing.T) {
	chain := jobs.Chain{{
		Name: "long", NewMapper: func() jobs.Mapper { return longKeys{} }, NewReducer: func() jobs.Reducer { return jobs.Identity{} },
		GroupBytes: func(key []byte) int { return len(key) + 1 },
	}}
	got, err := jobtest.Reference(chain, []jobtest.File{{Path: "f", Data: []byte("abcdef\n")}})
	if err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAPartitionThatDividesAGroupIsAnError(t *testing.T) {
	words := jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
		for line := range b.Lines() {
			out.Emit(line, nil)
		}
		return nil
	})
	chain := jobs.Chain{{
		Name: "divided", NewMapper: func() jobs.Mapper { return words }, NewReducer: func() jobs.Reducer { return jobs.Identity{} }, Reduces: 2,
		GroupBytes: func([]byte) int { return 1 }, Partition: func(key []byte, parts int) int { return int(key[1]) % parts },
	}}
	got, err := jobtest.Reference(chain, []jobtest.File{{Path: "f", Data: []byte("aa\naz\n")}})
	if err == nil || !strings.Contains(err.Error(), `the group "a" to the reduces 1 and 0`) {
		t.Errorf("%q, %v", got, err)
	}
}
