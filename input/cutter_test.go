package input_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"mrlocal/input"
	"mrlocal/internal/membudget"
)

func TestACutterGivesWholeRecordsAndTheEndWithTheLastBlock(t *testing.T) {
	broken, full := errors.New("broken"), errors.New("full")
	rapid.Check(t, func(rt *rapid.T) {
		text := []byte(rapid.StringOfN(rapid.SampledFrom([]rune("ab;")), 0, 60, -1).Draw(rt, "text"))
		var r io.Reader = bytes.NewReader(text)
		want := io.EOF
		if rapid.Bool().Draw(rt, "breaks") {
			r, want = io.MultiReader(r, iotest.ErrReader(broken)), broken
		}
		r = rapid.SampledFrom([]func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader, func(r io.Reader) io.Reader { return r }}).Draw(rt, "reader")(r)
		size, most := rapid.IntRange(1, 20).Draw(rt, "size"), rapid.IntRange(20, 200).Draw(rt, "most")
		cut := input.Cutter{R: r, Bytes: size, LastEnd: input.LastEnd(';')}
		cut.Grow = func(n int) error {
			if 2*n > most {
				return full
			}
			return nil
		}
		var got, block []byte
		var err error
		for err == nil {
			block, err = cut.Next(block)
			got = append(got, block...)
			if err != io.EOF && !bytes.HasSuffix(append([]byte(";"), block...), []byte(";")) {
				rt.Fatalf("%q ends within a record", block)
			}
			if len(block) == 0 && err == nil || err == io.EOF && len(block) == 0 && len(text) > 0 {
				rt.Fatalf("an empty block, %v", err)
			}
		}
		whole := text
		if want == broken {
			whole = text[:bytes.LastIndexByte(text, ';')+1]
		}
		if err == full && bytes.HasPrefix(text, got) {
			if end := bytes.IndexByte(text[len(got):], ';') + 1; end > 0 && end <= size {
				rt.Fatalf("no room for a record of %d bytes in a block of %d", end, size)
			}
			return
		}
		if err != want || !bytes.Equal(got, whole) {
			rt.Fatalf("%q, %v; want %q, %v", got, err, whole, want)
		}
	})
}

// memoryText is a Text in memory.
type memoryText struct{ *bytes.Reader }

func (memoryText) Close() error { return nil }

func TestATextIsCutLikeAFile(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 2*membudget.ChunkBytes+5)
	for name, data := range map[string][]byte{
		"empty": nil, "one line": []byte("a;"), "no end": []byte("a;b"), "a codec's first bytes": []byte("\x1f\x8b\x08;a;"),
		"a long line":       append(append([]byte("a;b;"), long...), ";c"...),
		"a long last line":  append([]byte("a;"), long...),
		"a chunk":           append(bytes.Repeat([]byte("y"), membudget.ChunkBytes-1), ';'),
		"many short lines":  bytes.Repeat([]byte("word;"), 1<<20),
		"ends near a chunk": append(append(bytes.Repeat([]byte("y"), membudget.ChunkBytes-1), ';'), "z;"...),
	} {
		m := &memory{}
		r := input.OpenText("job", 7, memoryText{bytes.NewReader(data)}, int64(len(data)), input.Options{Delim: ';'}, m)
		var got []byte
		blocks, last := 0, 0
		for r.Next() {
			b := r.Block()
			if b.Path != "job" || b.File != 7 || b.Offset != int64(len(got)) || last > 0 {
				t.Errorf("%s: block %d of %s at %d", name, b.File, b.Path, b.Offset)
			}
			if got = append(got, b.Data...); b.Last {
				last++
			} else if b.Data[len(b.Data)-1] != ';' {
				t.Errorf("%s: a block ends within a record", name)
			}
			if blocks++; b.ConsumedBytes != int64(len(got)) {
				t.Errorf("%s: %d bytes consumed of %d", name, b.ConsumedBytes, len(got))
			}
			if blocks%2 == 0 {
				b.Loan.Take(nil)
			}
		}
		if err := r.Close(); err != nil || !bytes.Equal(got, data) || last != 1 {
			t.Errorf("%s: %d bytes of %d, %d last blocks, %v", name, len(got), len(data), last, err)
		}
	}
}
