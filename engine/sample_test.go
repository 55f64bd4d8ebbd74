package engine

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mrlocal/input"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/slots/setup"
)

// reads is a mapper that emits its lines, and looks at the budget.
type reads struct {
	budget *membudget.Budget
	leased *[]int64 // at each call
}

func (m reads) Map(b jobs.Block, out jobs.Emitter) error {
	*m.leased = append(*m.leased, m.budget.Leased())
	for line := range bytes.Lines(b.Data) {
		out.Emit(line, nil)
	}
	return nil
}

// The copy of a place that a mapper gets counts in the budget. A place without room for it is left out.
func TestTheCopyOfASampledPlaceCountsInTheBudget(t *testing.T) {
	const mib = 1 << 20
	// The sample of a plain file skips such a record.
	long := filepath.Join(t.TempDir(), "long.gz")
	var text bytes.Buffer
	z := gzip.NewWriter(&text)
	_, err := z.Write(append(bytes.Repeat([]byte("x"), 6*mib), '\n'))
	if err := errors.Join(err, z.Close(), os.WriteFile(long, text.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit, least int64
		sortKeys     bool
		calls        int
	}{
		{limit: 32 * mib, least: 12 * mib, calls: 1},
		{limit: 32 * mib, least: 18 * mib, calls: 1, sortKeys: true},
		{limit: 16 * mib, least: 12 * mib, calls: 1},
		{limit: 16 * mib, sortKeys: true},
	} {
		budget, err := membudget.New(c.limit)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := input.NewPlan([]string{long}, input.Options{BlockBytes: 8 * mib})
		if err != nil {
			t.Fatal(err)
		}
		var leased []int64
		spec := jobs.Job{NewMapper: func() jobs.Mapper { return reads{budget, &leased} }}
		if c.sortKeys {
			spec.AppendKey = func(dst, record []byte) []byte { return append(dst, record...) }
		}
		_, err = sampled{job: &job{spec: spec, plan: plan}, retry: retry(t.Context(), &Options{Config: setup.Config{Attempts: 4}, TaskTimeout: time.Minute}, func(text string) { t.Error(text) })}.sample(t.Context(), budget)
		if err != nil || len(leased) != c.calls || c.calls > 0 && slices.Min(leased) < c.least {
			t.Errorf("%+v: leased %d while the mapper ran, %v", c, leased, err)
		}
		if left := budget.Leased(); left != 0 {
			t.Errorf("%+v: %d bytes are leased afterwards", c, left)
		}
		budget.Close()
	}
}
