package grep

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"mrlocal/jobs"
	"mrlocal/jobs/grep/internal/words"
	"mrlocal/jobs/internal/lines"
)

// In a word of eight bytes, a byte next to a NUL or newline may carry into it.
func TestExchangeChangesTwoBytesOnly(t *testing.T) {
	var data []byte
	for i := range 256 {
		for _, c := range []byte{0, 1, '\n' - 1, '\n', '\n' + 1, 0x80, 0x80 | '\n', 0xff} {
			data = append(data, byte(i), c)
		}
	}
	for cut := range 17 {
		got := bytes.Clone(data[:len(data)-cut])
		lines.Exchange(got)
		for i, c := range got {
			want := data[i]
			switch want {
			case 0:
				want = '\n'
			case '\n':
				want = 0
			}
			if c != want {
				t.Fatalf("byte %#x at %d of %d became %#x", data[i], i, len(got), c)
			}
		}
	}
}

// TestManyStringsNeedNoAutomaton: many strings become a dictionary, whether they are fixed strings or
// expressions, and few become literals.
func TestManyStringsNeedNoAutomaton(t *testing.T) {
	var many []string
	for i := range 20_000 {
		many = append(many, fmt.Sprintf("w%dx", i))
	}
	few := many[:words.Most]
	for _, c := range []struct {
		name       string
		o          Options
		dictionary bool
	}{
		{"many fixed strings", Options{Patterns: many, Fixed: true}, true},
		{"one more than the literals", Options{Patterns: many[:words.Most+1], Fixed: true}, true},
		{"few", Options{Patterns: few, Fixed: true}, false},
		{"few and the empty string", Options{Patterns: []string{"a", ""}, Fixed: true}, false},
		{"many in any case", Options{Patterns: many, Fixed: true, IgnoreCase: true}, true},
		{"few in any case", Options{Patterns: few, Fixed: true, IgnoreCase: true}, false},
		{"few in any case, not all in UTF-8", Options{Patterns: []string{"a", "\xff"}, Fixed: true, IgnoreCase: true}, true},
		{"many expressions that are strings", Options{Patterns: many}, true},
		{"many alternatives", Options{Patterns: []string{strings.Join(many, "|")}}, true},
		{"many expressions, of which one is more", Options{Patterns: append([]string{"x+"}, many[:100]...)}, false},
		{"a product of classes", Options{Patterns: []string{"[ab][cd][ef][gh][ij]"}}, false},
	} {
		p, err := compile(c.o)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if (p.words != nil) != c.dictionary || c.dictionary && p.literals != nil {
			t.Errorf("%s: a dictionary: %v, %d literals", c.name, p.words != nil, len(p.literals))
		}
	}
}

// TestWordsAreCharged: a run fails if it has no memory for the words.
func TestWordsAreCharged(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprint("word", i))
	}
	for _, o := range []Options{{Patterns: many}, {Patterns: many, Lines: true}} {
		chain, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		m, charged := chain[0].NewMapper(), int64(0)
		m.(jobs.Attempter).Begin(jobs.OwnAttempt{Charge: func(bytes int64) bool {
			charged += bytes
			return false
		}})
		err = m.Map(jobs.Block{Data: []byte("word7\n"), Last: true}, raw{})
		if err == nil || charged < 1000*20 || !strings.Contains(err.Error(), "1 MiB of memory") {
			t.Errorf("%d bytes are charged: %v", charged, err)
		}
	}
}

// raw drops all output.
type raw struct{}

func (raw) Emit(key, value []byte) {}
func (raw) WriteRaw(p []byte)      {}
