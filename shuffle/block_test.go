package shuffle

import (
	"bytes"
	"testing"
	"time"
)

func TestAutoCompressesWhileThatIsFasterThanTheDisk(t *testing.T) {
	text := bytes.Repeat([]byte("text that gets much smaller. "), 3000)[:maxBlockBytes]
	dst := make([]byte, maxPackedBytes)
	for _, c := range []struct {
		name           string
		writeNsPerByte int
		want           Codec
	}{
		{"a page cache", 0, None},
		{"a slow disk", 1000, S2},
	} {
		t.Run(c.name, func(t *testing.T) {
			auto, err := newCompressor(Auto)
			if err != nil {
				t.Fatal(err)
			}
			if codec, _ := auto.pack(dst, text); codec != None {
				t.Errorf("before anything was written: %v", codec)
			}
			auto.write.add(time.Duration(c.writeNsPerByte<<20), 1<<20)
			auto.pack(dst, text) // makes the first measurement
			for range retryBlocks / 2 {
				if codec, _ := auto.pack(dst, text); codec != c.want {
					t.Fatalf("%v, want %v", codec, c.want)
				}
			}
		})
	}
}

func TestABlockThatDoesNotShrinkIsStoredAsItIs(t *testing.T) {
	noise := make([]byte, 10_000)
	x := uint64(1)
	for i := range noise {
		x = x*0x9e37_79b9_7f4a_7c15 + uint64(i)
		noise[i] = byte(x >> 32)
	}
	for _, codec := range []Codec{S2, Zstd} {
		c, err := newCompressor(codec)
		if err != nil {
			t.Fatal(err)
		}
		if got, packed := c.pack(make([]byte, maxPackedBytes), noise); got != None || packed != nil {
			t.Errorf("%v: %d bytes of noise became %d with %v", codec, len(noise), len(packed), got)
		}
	}
}
