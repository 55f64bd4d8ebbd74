package grep

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mrlocal/jobs/jobtest"
)

// patchwork returns a text of several windows that differ. A window has no hit, a hit in each
// line, or one hit far from all others. Or it has candidates that do not match, one long line,
// or empty lines.
func patchwork(seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for b.Len() < 5*64*windowWords {
		for n := rng.IntN(3 * 64 * windowWords); n > 0; {
			at := b.Len()
			switch rng.IntN(7) {
			case 0:
				b.WriteString(strings.Repeat("xyzzy plugh\n", 1+rng.IntN(2000)))
			case 1:
				b.WriteString(strings.Repeat("Some king singing\n", 1+rng.IntN(3000)))
			case 2:
				b.WriteString(strings.Repeat("ing handle\n", 1+rng.IntN(3000)))
			case 3:
				b.WriteString(strings.Repeat("a long line ", 1+rng.IntN(9000)))
			case 4:
				b.WriteString(strings.Repeat("\n", 1+rng.IntN(1000)))
			case 5:
				b.WriteString("\nwindow Window \u017fharing \u212aing task\n")
			case 6:
				far := func() { b.WriteString(strings.Repeat("far\n", rng.IntN(2000))) }
				far()
				b.WriteString("a plugh is one king handle\n")
				far()
			}
			n -= b.Len() - at
		}
	}
	if rng.IntN(2) == 0 {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func TestWindowsAreNotSeenInTheOutput(t *testing.T) {
	e := func(p ...string) []string { return p }
	searches := []Options{
		{Patterns: e("plugh")}, {Patterns: e("king"), IgnoreCase: true}, {Patterns: e(`[A-Z][a-z]+ing\b`)},
		{Patterns: e("handle", "Window", "line", "zzy", "king")}, {Patterns: e("g", "e", "i"), Fixed: true},
		{Patterns: e("king"), Word: true}, {Patterns: e("ing handle"), Whole: true}, {Patterns: e("Some.*singing")},
		{Patterns: e("tas?k"), IgnoreCase: true}, {Patterns: e("")}, {Patterns: e("no such thing")},
	}
	forms := []func(*Options){
		func(o *Options) { o.Count = true }, func(o *Options) { o.Lines = true }, func(o *Options) { o.LineNumbers = true },
		func(o *Options) { o.Invert, o.LineNumbers = true, true }, func(o *Options) { o.Invert, o.Count = true, true },
		func(o *Options) { o.OnlyMatched = true }, func(o *Options) { o.ListFiles = true },
		func(o *Options) { o.MaxCount, o.LineNumbers = max_(7), true }, func(*Options) {},
	}
	for i, o := range searches {
		seed := uint64(i % 3)
		files := []jobtest.File{{Path: "a", Data: patchwork(seed)}, {Path: "b", Data: patchwork(seed + 100)[:50_000]}}
		for _, form := range forms {
			o := o
			form(&o)
			want, _ := oracle(o, files)
			for _, cut := range []jobtest.Cut{{}, {BlockBytes: 70_000, SplitBlocks: 2}} {
				if got, _ := run(t, o, cut, files); got != want {
					t.Fatalf("%+v, cut %+v, seed %d: %s", o, cut, seed, firstDifference(got, want))
				}
			}
		}
	}
}

func firstDifference(got, want string) string {
	for i := 0; ; i++ {
		if i == len(got) || i == len(want) || got[i] != want[i] {
			return fmt.Sprintf("%d and %d bytes, at %d: %.60q, want %.60q", len(got), len(want), i, got[i:], want[i:])
		}
	}
}
