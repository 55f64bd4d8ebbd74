package engine_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"mrlocal/engine"
	"mrlocal/jobs/grep"
)

func TestUncountedLeavesOutTheNumberOfInputRecordsOnly(t *testing.T) {
	for _, uncounted := range []bool{false, true} {
		chain, err := grep.New(grep.Options{Patterns: []string{"b"}, Lines: true})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		r, err := engine.RunChain(context.Background(), chain, engine.Options{JobOptions: engine.JobOptions{
			Inputs: []string{"-"}, Stdin: strings.NewReader("ab\nc\nb\n"), Stdout: &out, Uncounted: uncounted,
		}})
		if err != nil {
			t.Fatal(err)
		}
		records := int64(3)
		if uncounted {
			records = 0
		}
		c := r.Jobs[0].Counters
		if c.MapInputRecords != records || c.MapInputBytes != 7 || out.String() != "ab\nb\n" {
			t.Errorf("uncounted %v: %d records, %d bytes, %q", uncounted, c.MapInputRecords, c.MapInputBytes, out.String())
		}
	}
}
