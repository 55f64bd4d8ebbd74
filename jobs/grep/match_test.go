package grep

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"mrlocal/jobs/internal/lines"
)

// TestWhatAutomataGiveUpTheStandardLibraryDoes uses a pattern with a state for each offset of
// the text.
func TestWhatAutomataGiveUpTheStandardLibraryDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	text := make([]byte, 40<<10)
	for i := range text {
		text[i] = "ab"[rng.IntN(2)]
		if i%100 == 99 {
			text[i] = '\n'
		}
	}
	p, err := compile(Options{Patterns: []string{`a[ab]{16}b[ab]{60}$`}})
	if err != nil {
		t.Fatal(err)
	}
	m := p.newLines().(*dfaMatcher)
	want := m.plain.countLines(text)
	for range 2 {
		if got := m.countLines(text); got != want || want == 0 {
			t.Errorf("%d lines, want %d", got, want)
		}
	}
	if _, ok := m.automata.CountLines(text); ok {
		t.Error("the automaton has not given up")
	}
	for from := 0; from < len(text); {
		start, end := m.nextLine(text, from)
		wantStart, wantEnd := m.plain.nextLine(text, from)
		if start != wantStart || end != wantEnd {
			t.Fatalf("from %d: %d:%d, want %d:%d", from, start, end, wantStart, wantEnd)
		}
		if start == none {
			break
		}
		line := text[start:end]
		got, gotEnd := m.find(line, 0)
		if want, wantEnd := m.plain.find(line, 0); got != want || gotEnd != wantEnd || m.match(line) != true {
			t.Fatalf("in %q: %d:%d, want %d:%d", line, got, gotEnd, want, wantEnd)
		}
		from = end + 1 + 10_000/100*100 // skips most lines, because this search is slow
	}
}

// In a word of eight bytes, a byte beside a NUL or newline may carry into it.
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

func TestFixedStringsLeaveNoLiteralsIfTheyNeedAnAutomaton(t *testing.T) {
	var p program
	if p.fixed([]string{"a", ""}) || p.literals != nil || p.exact {
		t.Errorf("%+v", p.literals)
	}
}
