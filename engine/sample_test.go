package engine

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mrlocal/input"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle/record"
)

// With any sample, parts are ranges of (key, map). What one map puts into a part is not
// greater than what a later map puts into a later part. No key is in two parts, except
// keys that were spread.
func TestCutsOfMapsKeepTheOrderOfKeysAndMaps(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		alphabet := []string{"", "a", "a\x00", "a\x00\x00", "ab", "b", "b\x00", "c"}
		var sample [][]byte
		for range 1 + r.IntN(40) {
			sample = append(sample, []byte(alphabet[r.IntN(1+r.IntN(len(alphabet)))]))
		}
		maps := 1 + r.IntN(5)
		cuts := record.CutPoints(sample, 2+r.IntN(12), true)
		if !slices.IsSortedFunc(cuts, bytes.Compare) {
			t.Fatalf("seed %d: cuts %q", seed, cuts)
		}
		last, lastKey := 0, "none yet"
		for _, key := range alphabet {
			for m := range maps {
				own := cutsOf(cuts, m, maps)
				if !slices.IsSortedFunc(own, bytes.Compare) || len(own) != len(cuts) {
					t.Fatalf("seed %d: cuts %q, of map %d of %d %q", seed, cuts, m, maps, own)
				}
				p := 0
				for p < len(own) && key >= string(own[p]) {
					p++
				}
				what := fmt.Sprintf("seed %d: cuts %q, key %q, map %d of %d", seed, cuts, key, m, maps)
				if p < last {
					t.Fatalf("%s: part %d after part %d", what, p, last)
				}
				if p > last && key == lastKey && !bytes.Equal(cuts[last], []byte(key)) {
					t.Fatalf("%s: parts %d and %d, and the key is not spread", what, last, p)
				}
				last, lastKey = p, key
			}
		}
	}
}

func TestAKeyOfAllPartsIsSpreadOverThem(t *testing.T) {
	cuts := record.CutPoints(slices.Repeat([][]byte{[]byte("k")}, 100), 5, true)
	parts := map[int]bool{}
	for m := range 3 {
		p := 0
		for _, cut := range cutsOf(cuts, m, 3) {
			if string(cut) <= "k" {
				p++
			}
		}
		parts[p] = true
	}
	if len(parts) != 3 {
		t.Errorf("parts %v of 3 maps", parts)
	}
	if distinct := [][]byte{[]byte("a"), []byte("b")}; &cutsOf(distinct, 0, 3)[0] != &distinct[0] {
		t.Error("cuts without a spread key were copied")
	}
}

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
		_, err = sampled{job: &job{spec: spec, plan: plan}, retry: retry(t.Context(), 4, time.Minute, func(text string) { t.Error(text) })}.sample(t.Context(), budget)
		if err != nil || len(leased) != c.calls || c.calls > 0 && slices.Min(leased) < c.least {
			t.Errorf("%+v: leased %d while the mapper ran, %v", c, leased, err)
		}
		if left := budget.Leased(); left != 0 {
			t.Errorf("%+v: %d bytes are leased afterwards", c, left)
		}
		budget.Close()
	}
}
