package input_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/input"
)

// For each block size, the splits one after the other are the file, and each
// record is in the split of its first byte.
func TestSplitsAreTheWholeAtEveryBoundary(t *testing.T) {
	texts := map[string]string{
		"one line":                    "abc\n",
		"no final newline":            "abc\ndef\nghi",
		"empty lines":                 "\n\n\n\n",
		"a line longer than a split":  "a\n" + strings.Repeat("x", 40) + "\nb\n",
		"only one line, unterminated": strings.Repeat("y", 50),
		"CRLF":                        "ab\r\ncd\r\n\r\ne",
		"NUL and invalid UTF-8":       "a\x00b\n\xff\xfe\nc\n",
		"one byte":                    "z",
		"a newline":                   "\n",
		"long lines only":             strings.Repeat(strings.Repeat("q", 17)+"\n", 5),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			path := write(t, "f", []byte(text))
			for block := int64(1); block <= int64(len(text))+2; block++ {
				p := plan(t, input.Options{BlockBytes: block}, path)
				if got := readAll(t, p, '\n').data[0]; string(got) != text {
					t.Fatalf("block size %d: read %q of %q", block, got, text)
				}
				recordsOwned(t, p, []byte(text), '\n')
			}
		})
	}
}

// recordsOwned checks each split against the rule.
func recordsOwned(t *testing.T, p *input.Plan, text []byte, delim byte) {
	t.Helper()
	for _, s := range p.Splits {
		pc := s.Pieces[0]
		var want []byte
		for at := 0; at < len(text); {
			n := bytes.IndexByte(text[at:], delim) + 1
			if n == 0 {
				n = len(text) - at
			}
			if int64(at) >= pc.Start && int64(at) < pc.End {
				want = append(want, text[at:at+n]...)
			}
			at += n
		}
		var got []byte
		m := &memory{}
		r := p.Open(s, m)
		for r.Next() {
			got = append(got, r.Block().Data...)
		}
		if err := r.Close(); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("split [%d, %d): %q, not %q (%v)", pc.Start, pc.End, got, want, err)
		}
	}
}

func TestSplitsAreTheWholeOnRandomTexts(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		delim := rapid.SampledFrom([]byte{'\n', 0}).Draw(rt, "delim")
		lengths := rapid.SliceOfN(rapid.OneOf(
			rapid.IntRange(0, 50), rapid.IntRange(4000, 5000), rapid.IntRange(250<<10, 270<<10), rapid.IntRange(0, 700<<10),
		), 0, 8).Draw(rt, "lines")
		text := text(lengths, delim, rapid.Bool().Draw(rt, "terminated"))
		block := rapid.OneOf(rapid.Int64Range(1<<10, 64<<10), rapid.Int64Range(64<<10, 1<<20)).Draw(rt, "block")
		path := fmt.Sprintf("%s/%d", dir, n)
		writeTo(t, path, text)
		p := plan(t, input.Options{BlockBytes: block, Delim: delim, NUL: delim == 0}, path)
		c, err := tryRead(t, p, delim, &memory{}, rapid.Bool().Draw(rt, "keep"))
		must(t, os.Remove(path))
		if err != nil || !bytes.Equal(c.data[0], text) {
			rt.Fatalf("block %d: read %d bytes of %d: %v", block, len(c.data[0]), len(text), err)
		}
	})
}

// letters is the text that records are made of.
var letters = func() []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 1<<20)
	for i := range b {
		b[i] = byte('a' + rng.IntN(26))
	}
	return b
}()

// text makes lines of the given lengths.
func text(lengths []int, delim byte, terminated bool) []byte {
	var b []byte
	for i, n := range lengths {
		b = append(b, letters[i*17:][:n]...)
		b = append(b, delim)
	}
	if !terminated && len(b) > 0 {
		b = b[:len(b)-1]
	}
	return b
}
