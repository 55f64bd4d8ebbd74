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
