package lines

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/jobs"
)

func TestSpansAreTheLines(t *testing.T) {
	testkit.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.SampledFrom([]byte("ab\n\x00"))).Draw(t, "data")
		var got, want [][]byte
		for _, s := range AppendSpans(nil, data, '\n') {
			got = append(got, data[s.Off:s.Off+s.Len])
		}
		for line := range (jobs.Block{Data: data}).Lines() {
			want = append(want, line)
		}
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
