package input_test

import (
	"bytes"
	stdgzip "compress/gzip"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"mrlocal/input"
)

// compressors make one member or frame each. Go cannot write bzip2, so its
// data is that of bzip2 1.0.8 for the text below.
var compressors = map[string]func(text []byte) []byte{
	"gzip": func(text []byte) []byte {
		var b bytes.Buffer
		w := stdgzip.NewWriter(&b)
		w.Write(text)
		w.Close()
		return b.Bytes()
	},
	"zstd": func(text []byte) []byte {
		var b bytes.Buffer
		w, _ := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		w.Write(text)
		w.Close()
		return b.Bytes()
	},
	"pzstd": func(text []byte) []byte {
		var b bytes.Buffer
		w, _ := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		w.Write(text)
		w.Close()
		return append([]byte{0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}, b.Bytes()...)
	},
	"s2": func(text []byte) []byte {
		var b bytes.Buffer
		w := s2.NewWriter(&b, s2.WriterConcurrency(1))
		w.Write(text)
		w.Close()
		return b.Bytes()
	},
	"snappy": func(text []byte) []byte {
		var b bytes.Buffer
		w := s2.NewWriter(&b, s2.WriterConcurrency(1), s2.WriterSnappyCompat())
		w.Write(text)
		w.Close()
		return b.Bytes()
	},
}

// bzip2Text is what bzip2Data decodes to.
const bzip2Text = "one\ntwo\nthree\n"

const bzip2Base64 = "QlpoOTFBWSZTWQh7fdcAAATBgAAQAkGUgCAAMQwIIaPUyIVHMjio8XckU4UJAIe33XA="

func bzip2Data(t testing.TB) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(bzip2Base64)
	must(t, err)
	return b
}

var someText = sync.OnceValue(func() []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	var b []byte
	for len(b) < 3<<20 {
		b = strconv.AppendUint(b, rng.Uint64(), 16)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(len(b)), 10)
		b = append(b, '\n')
	}
	return b
})

// sampleText is lines of at least n bytes together, up to 3 MiB.
func sampleText(n int) []byte {
	b := someText()
	n += bytes.IndexByte(b[n:], '\n') + 1
	return b[:n:n]
}

func TestCompressedInputIsDecodedInAMapOrAsAStream(t *testing.T) {
	text := sampleText(400 << 10)
	long := append(bytes.Repeat([]byte("long "), 70<<10), "line\nend"...)
	for name, compress := range compressors {
		for what, text := range map[string][]byte{
			"text": text, "nothing": {}, "a line": []byte("a\n"), "no final newline": []byte("a\nb"), "long lines": long,
			"chunks that end with a record": bytes.Repeat([]byte("0123456789abcde\n"), 256<<10/16*3),
		} {
			t.Run(name+" of "+what, func(t *testing.T) {
				whole := compress(text)
				half := (len(text) + 1) / 3
				members := append(compress(text[:half]), compress(text[half:])...)
				for _, data := range [][]byte{whole, members} {
					path := write(t, "f", data)
					for _, block := range []int64{0, 64} {
						p := plan(t, input.Options{BlockBytes: block}, path)
						if stream := block == 64 && len(data) > 70; stream != p.Files[0].Stream {
							t.Fatalf("%d bytes, stream is %v", len(data), p.Files[0].Stream)
						}
						for _, keep := range []bool{false, true} {
							c, err := tryRead(t, p, '\n', &memory{}, keep)
							must(t, err)
							if !bytes.Equal(c.data[0], text) || c.last[0] != 1 {
								t.Fatalf("block %d: %d bytes of %d, %d last", block, len(c.data[0]), len(text), c.last[0])
							}
						}
					}
				}
			})
		}
	}
}

func TestBzip2(t *testing.T) {
	data := bzip2Data(t)
	for n, stored := range map[int][]byte{1: data, 2: append(slices.Clone(data), data...)} {
		p := plan(t, input.Options{}, write(t, "f.bz2", stored))
		if got := string(readAll(t, p, '\n').data[0]); got != strings.Repeat(bzip2Text, n) {
			t.Errorf("%d members: %q", n, got)
		}
	}
}

// A wrong result is never taken for a whole one.
func TestCompressedDataCutShortOrFollowedByGarbageIsAnError(t *testing.T) {
	text := sampleText(300 << 10)
	stored := map[string][]byte{"bzip2": bzip2Data(t)}
	for name, compress := range compressors {
		stored[name] = compress(text)
	}
	check := func(t *testing.T, data []byte, says string) {
		t.Helper()
		for _, block := range []int64{0, 64} {
			p := plan(t, input.Options{BlockBytes: block}, write(t, "name.z", data))
			_, err := tryRead(t, p, '\n', &memory{}, false)
			if err == nil || !strings.Contains(err.Error(), "name.z: ") || !strings.Contains(err.Error(), says) {
				t.Errorf("%d bytes: %v, not %q", len(data), err, says)
			}
		}
	}
	for name, data := range stored {
		t.Run(name, func(t *testing.T) {
			for _, cut := range []int{1, 5, len(data) / 2, len(data) - 20} {
				if cut >= len(data)-4 || name == "bzip2" && cut > len(data)-12 {
					continue
				}
				check(t, data[:len(data)-cut], "cut short after ")
			}
			check(t, append(slices.Clone(data), "garbage after the end"...), "corrupt after ")
			if name != "s2" && name != "snappy" {
				flipped := slices.Clone(data)
				flipped[len(flipped)/2] ^= 0x55
				check(t, flipped, " after ")
			}
		})
	}
	t.Run("gzip with zeros", func(t *testing.T) {
		p := plan(t, input.Options{}, write(t, "f", append(slices.Clone(stored["gzip"]), make([]byte, 1000)...)))
		if got := readAll(t, p, '\n').data[0]; !bytes.Equal(got, text) {
			t.Error("zeros after the last member changed the text")
		}
		check(t, append(append(slices.Clone(stored["gzip"]), 0, 0), stored["gzip"]...), "corrupt after ")
	})
	t.Run("only a magic", func(t *testing.T) {
		for _, head := range []string{"\x1f\x8b", "\x1f\x8b\x08", "BZh91AY", "\x28\xb5\x2f\xfd", "\xff\x06\x00\x00S2s"} {
			p := plan(t, input.Options{}, write(t, "f", []byte(head)))
			if _, err := tryRead(t, p, '\n', &memory{}, false); err == nil || !strings.Contains(err.Error(), "cut short") {
				t.Errorf("%q: %v", head, err)
			}
		}
	})
}

func TestTextThatBeginsLikeAMagicIsText(t *testing.T) {
	for _, text := range []string{"BZh9 is not bzip2\n", "BZ", "\x1f\x8c\n", "(\xb5", "\xff\x06\n", "BZh0" + "1AY&SY"} {
		p := plan(t, input.Options{}, write(t, "f", []byte(text)))
		if got := string(readAll(t, p, '\n').data[0]); got != text {
			t.Errorf("%q read as %q", text, got)
		}
	}
}

// A range of a stream is read again as it was: whatever its cuts, the pieces
// are the whole.
func TestReopenedRangesAreTheWhole(t *testing.T) {
	text := append(sampleText(600<<10), bytes.Repeat([]byte("x"), 300<<10)...)
	text = append(text, "\nend"...)
	path := write(t, "f", compressors["zstd"](text))
	p := plan(t, input.Options{BlockBytes: 1 << 10}, path)
	if len(p.Streams) != 1 {
		t.Fatal("not a stream")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 10 {
		var got []byte
		m := &memory{}
		last := 0
		for at := int64(0); at < int64(len(text)); {
			n := 1 + rng.Int64N(200<<10)
			st, err := p.ReopenStream(0, at, n, m)
			must(t, err)
			for st.Next() {
				if b := st.Block(); b.Offset != int64(len(got)) {
					t.Fatalf("range at %d: block at %d, not %d", at, b.Offset, len(got))
				} else if got = append(got, b.Data...); b.Last {
					last++
				}
			}
			must(t, st.Err())
			st.Close()
			at += n
		}
		m.none(t)
		if !bytes.Equal(got, text) || last != 1 {
			t.Fatalf("%d bytes of %d, %d last blocks", len(got), len(text), last)
		}
	}
}

// A record of unknown length is gathered in memory, or in a temporary file
// when memory for both the parts and the whole is not there.
func TestALongRecordOfAStreamNeedsOnlyItsOwnMemory(t *testing.T) {
	const length = 3 << 20
	text := append(bytes.Repeat([]byte("a b c d "), length/8), "\nnext\n"...)
	path := write(t, "f.gz", compressors["gzip"](text))
	dir := t.TempDir()
	temps := 0
	createTemp := func() (*os.File, error) { temps++; return os.CreateTemp(dir, "record") }
	cases := map[string]struct {
		limit int
		o     input.Options
		temps int
		fails bool
	}{
		"ample memory touches no disk":        {0, input.Options{CreateTemp: createTemp, GatherBytes: 64 << 20}, 0, false},
		"beyond GatherBytes":                  {0, input.Options{CreateTemp: createTemp, GatherBytes: 1 << 20}, 1, false},
		"little more memory than the record":  {length + 300<<10, input.Options{CreateTemp: createTemp, GatherBytes: 64 << 20}, 1, false},
		"less memory than the record":         {length - 300<<10, input.Options{CreateTemp: createTemp}, 1, true},
		"no temporary file and ample memory":  {0, input.Options{}, 0, false},
		"no temporary file and little memory": {length + 300<<10, input.Options{}, 0, true},
		"no temporary file and less memory":   {length / 2, input.Options{}, 0, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			temps = 0
			m := &memory{limitBytes: c.limit}
			got, err := tryRead(t, plan(t, c.o, path), '\n', m, false)
			if c.fails {
				if !errors.Is(err, errRoom) || !strings.Contains(err.Error(), "f.gz: record at offset 0 of ") {
					t.Errorf("%v", err)
				}
			} else if err != nil || !bytes.Equal(got.data[0], text) {
				t.Errorf("%d bytes, %v", len(got.data[0]), err)
			}
			if temps != c.temps {
				t.Errorf("%d temporary files", temps)
			}
			if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// charging is a Memory that charges windows.
type charging struct {
	memory
	refuse bool
}

func (c *charging) Charge(bytes int64) (func(), error) {
	if c.refuse {
		return nil, errRoom
	}
	c.charged += bytes
	return func() { c.charged -= bytes }, nil
}

func TestDecodersChargeTheirWindows(t *testing.T) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(32<<20), zstd.WithEncoderConcurrency(1))
	must(t, err)
	for range 3000 {
		_, err := w.Write(letters[:1000])
		must(t, err)
	}
	must(t, w.Close())
	p := plan(t, input.Options{}, write(t, "f.zst", b.Bytes()))
	m := &charging{}
	r := p.Open(p.Splits[0], m)
	if !r.Next() || m.charged != 32<<20 {
		t.Errorf("charged %d, %v", m.charged, r.Err())
	}
	r.Close()
	if m.charged != 0 {
		t.Errorf("%d bytes still charged", m.charged)
	}
	for _, m := range []input.Memory{&charging{refuse: true}, &memory{}} {
		r := p.Open(p.Splits[0], m)
		if r.Next() || !strings.Contains(r.Err().Error(), "f.zst: ") {
			t.Errorf("a window of 32 MiB without memory: %v", r.Err())
		}
		r.Close()
	}
}
