package codec

import (
	"bytes"
	"compress/bzip2"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/gzip"

	"mrlocal/internal/testkit"
)

// memberText returns text that compresses a little.
func memberText(r *rand.Rand, bytes int) []byte {
	text := make([]byte, bytes)
	for i := range text {
		text[i] = byte(' ' + r.IntN(60))
	}
	return text
}

func gzipMember(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(text)
	w.Close()
	return b.Bytes()
}

// storedMember is a member with data that is not compressed: text shows as it is.
func storedMember(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
	w.Write(text)
	w.Close()
	return b.Bytes()
}

func TestMembersAheadAreTheSame(t *testing.T) {
	sizes := [][]int{{300_000, 500_000, 400_000, 600_000, 300_000}, {2 << 20, 1 << 20, 2 << 20, 3 << 20}, {10 << 20, 1 << 20}, {400_000, 12 << 20, 400_000}, {0, 1000, 0}}
	for seed := range uint64(testkit.Rounds(6)) {
		rng := rand.New(rand.NewPCG(seed, 6))
		for name, compress := range map[string]func([]byte) []byte{"gzip": gzipMember, "stored gzip": storedMember} {
			var data []byte
			for _, size := range sizes[seed%uint64(len(sizes))] {
				text := memberText(rng, size)
				if size > 300_000 { // looks like a member within a member
					copy(text[290_000:], "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03")
				}
				data = append(data, compress(text)...)
			}
			if seed == 5 && name == "gzip" {
				data = append(append(data, 0, 0, 0), gzipMember([]byte("behind zeros"))...)
			}
			spoiled(data, rng, func(what string, data []byte) {
				sameAhead(t, fmt.Sprintf("%s, seed %d, %s", name, seed, what), data, rng)
			})
		}
	}
}

// A decoder that fails would only be slow: the reader decodes its units itself. So each decoder is tested alone.
func TestDecodersOfUnitsDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	text := memberText(rng, 300_000)
	blocks := bzip2Stream(t, '9', payload(rng, 3000))
	bzip2Text, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(blocks)))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		decode       decoder
		stored, want []byte
	}{
		"gzip":  {gzipDecoder(), append(gzipMember(text), gzipMember(text)...), append(bytes.Clone(text), text...)},
		"bzip2": {bzip2Decoder(), blocks, bzip2Text},
	} {
		for range 2 { // a helper uses its decoder again
			if got, ok := c.decode(c.stored, []byte("before ")); !ok || string(got) != "before "+string(c.want) {
				t.Errorf("%s: %d bytes, %t; want %d", name, len(got), ok, len(c.want))
			}
			if _, ok := c.decode(c.stored[:len(c.stored)-5], nil); ok {
				t.Errorf("%s: data that is cut short is decoded", name)
			}
		}
	}
}
