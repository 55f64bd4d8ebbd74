package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
)

// inUTF16 returns text in UTF-16 with a mark.
func inUTF16(text string, order binary.AppendByteOrder) []byte {
	out := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return out
}

// drawOrder draws the order of bytes.
func drawOrder(t *rapid.T) binary.AppendByteOrder {
	return rapid.SampledFrom([]binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian}).Draw(t, "order")
}

// utf16Flags are flags of grep that ripgrep has, too. Its --json differs by version.
var utf16Flags = []string{"-b", "-c", "-i", "-l", "-m1", "-n", "-o", "-v", "-x", "-q", "-U", "-A1", "-C2", "-H"}

// TestGrepUTF16IsRipgrep compares files that may have half a surrogate pair, and half a unit at their end.
func TestGrepUTF16IsRipgrep(t *testing.T) {
	path := ripgrep(t, "1")
	t.Chdir(t.TempDir())
	// What differs for other texts, too (docs/grep.md).
	// A space of \s is one of ASCII here, and U+2028 is one for ripgrep: [[:space:]] is ASCII in both.
	apart := map[string][]string{"-o": {"-A1", "-C2", "-c", "-v"}, "-v": {"-U"}, "-U": {"-v", "-c", "-l", "-m1"}, "-C2": {"-A1"}, "-l": {"-c"}, "-m1": {"-A1", "-C2"}}
	testkit.Check(t, func(r *rapid.T) {
		order := drawOrder(r)
		text := order.AppendUint16(nil, 0xfeff)
		for _, unit := range rapid.SliceOfN(rapid.SampledFrom([]uint16{'a', 'b', ' ', '\n', '\n', 0xe9, 0x2028, 0xd83d, 0xde00, 0xfffe, 0x0a0a, 0xd800}), 0, 40).Draw(r, "units") {
			text = order.AppendUint16(text, unit)
		}
		odd := rapid.Bool().Draw(r, "odd")
		if odd {
			text = append(text, rapid.SampledFrom([]byte{0, 'a', 0xd8}).Draw(r, "last"))
		}
		writeBelow(r, map[string]string{"f": string(text)})
		var args []string
		for _, flag := range utf16Flags {
			excluded := slices.ContainsFunc(args, func(a string) bool { return slices.Contains(apart[a], flag) || slices.Contains(apart[flag], a) })
			if rapid.IntRange(0, 4).Draw(r, flag) == 0 && !excluded {
				args = append(args, flag)
			}
		}
		if odd && slices.Contains(args, "-U") {
			return // ripgrep 15 drops half a unit there, ripgrep 13 does not
		}
		args = append(args, "-e", rapid.SampledFrom([]string{"a", "^a", "é", "\U0001f600", ".b", "a$", "[^a]", "b|\u2028", "a[[:space:]]*b", "zz", "\ufffd"}).Draw(r, "pattern"))
		theirs := slices.Concat(args, []string{"--include-zero"})
		if rapid.Bool().Draw(r, "stdin") {
			compareRipgrep(r, path, string(text), 1, append(args, "--label=<stdin>", "-"), append(theirs, "-"))
		} else {
			compareRipgrep(r, path, "", rapid.SampledFrom([]int64{1, 3, 1 << 20}).Draw(r, "block"), append(args, "f"), append(theirs, "f"))
		}
	})
}

// Each result is that of the same text in UTF-8: of files, standard input and pipes of one or several splits,
// and of compressed files.
func TestGrepUTF16IsUTF8(t *testing.T) {
	t.Chdir(t.TempDir())
	testkit.Check(t, func(r *rapid.T) {
		var b strings.Builder
		for i := range rapid.SampledFrom([]int{0, 1, 10, 3000, 120_000}).Draw(r, "lines") {
			b.WriteString(strings.Repeat([]string{"a", "é", "\U0001f600", "b a", "\x00"}[i*i%5], i%11+1) + "\n")
		}
		text := b.String()
		encoded := inUTF16(text, drawOrder(r))
		args := []string{"-a"}
		if rapid.Bool().Draw(r, "binary") {
			args = nil
		}
		for _, flag := range append(utf16Flags, "--json", "-L", "-z", "-w", "-m9999", "--binary") {
			if rapid.IntRange(0, 5).Draw(r, flag) == 0 {
				args = append(args, flag)
			}
		}
		args = append(args, "--decode=auto", "-e", rapid.SampledFrom([]string{"aaa", "é$", "\U0001f600", "b", "", "zz"}).Draw(r, "pattern"))
		block := rapid.SampledFrom([]int64{1 << 10, 60 << 10, 1 << 30}).Draw(r, "block")
		if rapid.Bool().Draw(r, "gzip") {
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			_, _ = w.Write(encoded)
			if err := w.Close(); err != nil {
				r.Fatal(err)
			}
			encoded = packed.Bytes()
		}
		search := func(content []byte) (string, string, int) {
			if err := os.WriteFile("f", content, 0o600); err != nil {
				r.Fatal(err)
			}
			switch rapid.SampledFrom([]string{"file", "pipe", "stdin"}).Draw(r, "as") {
			case "pipe":
				return runGrepTool(block, string(content), append(args, "--label=f", "-")...)
			case "stdin":
				f, err := os.Open("f")
				if err != nil {
					r.Fatal(err)
				}
				defer f.Close()
				return runGrepOn(block, f, append(args, "--label=f", "-")...)
			}
			return runGrepTool(block, "", append(args, "f")...)
		}
		want, wantTrouble, wantCode := search([]byte(text))
		got, trouble, code := search(encoded)
		mask := func(s string) string { return timings.ReplaceAllString(s, "…") }
		if mask(got) != mask(want) || trouble != wantTrouble || code != wantCode {
			r.Fatalf("%q: exit %d, %d bytes, %q; want exit %d, %d bytes, %q", args, code, len(got), trouble, wantCode, len(want), wantTrouble)
		}
	})
}

// With -m, standard input is left behind the line in the encoded text.
func TestGrepLeavesUTF16BehindTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		text := inUTF16(strings.Repeat("é\U0001f600 a\nb\n", 3), order)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		line := (len(text) - 2) / 3
		for _, c := range []struct {
			flags string
			used  int
		}{{"-m1 b", 2 + line}, {"-m2 -c b", 2 + 2*line}, {"-m1 é", 2 + line - 4}, {"-m4 b", len(text)}, {"-m0 b", 0}} {
			if _, left := rest(t, path, 0, ours(append([]string{"grep"}, strings.Fields(c.flags)...), io.Discard)); left != string(text[c.used:]) {
				t.Errorf("%s leaves %d bytes of %d; want %d", c.flags, len(left), len(text), len(text)-c.used)
			}
		}
	}
}
