package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Files with many blocks, without any, and with lines longer than a block are merged into sorted lines.
func TestMergeGivesTheLinesOfAllFilesInOrder(t *testing.T) {
	for seed, c := range []struct {
		flags   string
		compare func(a, b string) int
	}{
		{"-m", strings.Compare},
		{"-mu", strings.Compare},
		{"-mr", func(a, b string) int { return strings.Compare(b, a) }},
		// A key of one text field needs no copy. For two fields a key is made.
		{"-m -k2", func(a, b string) int { return cmp.Or(strings.Compare(a[5:], b[5:]), strings.Compare(a, b)) }},
		{"-m -k2,2n -k1,1", func(a, b string) int { return cmp.Or(cmp.Compare(a[6], b[6]), strings.Compare(a, b)) }},
	} {
		r := rand.New(rand.NewPCG(uint64(seed), 11))
		dir, args, want := t.TempDir(), strings.Fields(c.flags), []string(nil)
		for i := range 30 {
			var lines []string
			for range []int{0, 1, 100, 10_000}[r.IntN(4)] {
				line := fmt.Sprintf("%05d %d", r.IntN(30_000), r.IntN(5))
				if r.IntN(3000) == 0 {
					line += strings.Repeat(" long", 30_000)
				}
				lines = append(lines, line)
			}
			slices.SortFunc(lines, c.compare)
			name := filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			want, args = append(want, lines...), append(args, name)
		}
		slices.SortFunc(want, c.compare)
		if c.flags == "-mu" {
			want = slices.Compact(want)
		}
		out, errs, code := call(t, "sort", "", args...)
		if code != 0 || errs != "" || out != strings.Join(want, "\n")+"\n" {
			t.Errorf("sort %s: exit %d, %q, %d bytes, want %d lines", c.flags, code, errs, len(out), len(want))
		}
	}
}

// Two sources that read the same stream would each get parts of lines.
func TestMergeReadsStandardInputOnce(t *testing.T) {
	var in strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&in, "line %08d\n", i)
	}
	out, stderr, code := call(t, "sort", in.String(), "-m", "-", "-")
	if out != in.String() || stderr != "" || code != 0 {
		t.Errorf("%d bytes of %d, code %d, %s", len(out), in.Len(), code, stderr)
	}
}
