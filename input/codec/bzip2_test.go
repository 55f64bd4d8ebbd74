package codec

import (
	"bytes"
	"compress/bzip2"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"mrlocal/internal/testkit"
)

// bitWriter writes bits, the highest first.
type bitWriter struct {
	b []byte
	n uint // bits of the last byte
}

func (w *bitWriter) put(v uint64, bits uint) {
	for ; bits > 0; bits-- {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[len(w.b)-1] |= byte(v>>(bits-1)&1) << (7 - w.n%8)
		w.n++
	}
}

// bzip2CRC is the checksum of bzip2, bit by bit.
func bzip2CRC(text []byte) uint32 {
	crc := ^uint32(0)
	for _, b := range text {
		crc ^= uint32(b) << 24
		for range 8 {
			high := crc >> 31
			crc = crc<<1 ^ high*0x04c11db7
		}
	}
	return ^crc
}

// bzip2Stream makes a stream from payloads, one for each block. There is no
// compressor: with codes of eight bits each, all payloads are data of some text,
// except for 0xff, which ends a block. So a test can put a magic into a block.
func bzip2Stream(t testing.TB, level byte, payloads ...[]byte) []byte {
	t.Helper()
	w := &bitWriter{}
	put := func(s string) {
		for _, b := range []byte(s) {
			w.put(uint64(b), 8)
		}
	}
	put("BZh" + string(level))
	combined := uint32(0)
	for _, payload := range payloads {
		block := func(w *bitWriter, crc uint32) {
			w.put(bzip2BlockBits, 48)
			w.put(uint64(crc), 32)
			w.put(0, 1)                       // not randomised
			w.put(uint64(len(payload)/3), 24) // where the text begins
			w.put(0xffff, 16)                 // all bytes are used but the last two
			for range 15 {
				w.put(0xffff, 16)
			}
			w.put(0xfffc, 16)
			w.put(2, 3) // two equal trees
			selectors := (len(payload) + 1 + 49) / 50
			w.put(uint64(selectors), 15)
			w.put(0, uint(selectors))
			for range 2 {
				w.put(8, 5)
				w.put(0, 256)
			}
			for _, b := range payload {
				w.put(uint64(b), 8)
			}
			w.put(0xff, 8)
		}
		alone := &bitWriter{b: []byte("BZh9"), n: 32}
		block(alone, 0)
		alone.put(bzip2EndBits, 48)
		alone.put(0, 32)
		text, _ := io.ReadAll(bzip2.NewReader(bytes.NewReader(alone.b))) // its checksum is wrong
		if len(text) == 0 {
			t.Fatal("a block without text")
		}
		crc := bzip2CRC(text)
		block(w, crc)
		combined = (combined<<1 | combined>>31) ^ crc
	}
	w.put(bzip2EndBits, 48)
	w.put(uint64(combined), 32)
	return w.b
}

// payload returns random data of a block. Some have the magics of bzip2 in it.
func payload(r *rand.Rand, most int) []byte {
	p := make([]byte, 10+r.IntN(most))
	for i := range p {
		p[i] = byte(2 + r.IntN(253)) // 0 and 1 are for runs
	}
	for _, magic := range []string{bzip2Block, bzip2End, "BZh9" + bzip2Block} {
		if len(p) > 100 && r.IntN(2) == 0 {
			copy(p[r.IntN(len(p)-20):], magic)
		}
	}
	return p
}

// spares grants memory a number of times, and counts the grants that are not given back.
type spares struct {
	grants int
	held   atomic.Int64
}

func (s *spares) spare(bytes int64) (func(), bool) {
	if s.grants == 0 {
		return nil, false
	}
	s.grants--
	s.held.Add(bytes)
	return func() { s.held.Add(-bytes) }, true
}

// readParts reads r in parts of random sizes.
func readParts(r io.Reader, rng *rand.Rand) (text []byte, err error) {
	for err == nil {
		part := make([]byte, 1+rng.IntN(1+rng.IntN(300_000)))
		var n int
		n, err = r.Read(part)
		text = append(text, part[:n]...)
	}
	return text, err
}

// sameAhead compares the text and the errors of Decoders with helpers and without.
func sameAhead(t *testing.T, what string, data []byte, rng *rand.Rand) {
	t.Helper()
	decode := func(s *spares) (text []byte, message string) {
		d := &Decoders{}
		if s != nil {
			d.Spare = s.spare
		}
		r, err := d.Open(bytes.NewReader(data), false)
		if err == nil {
			text, err = readParts(r, rng)
		}
		if err != io.EOF {
			message = d.Explain(err, int64(len(text))).Error()
		}
		d.Close()
		if s != nil && s.held.Load() != 0 {
			t.Errorf("%s: %d bytes are still held", what, s.held.Load())
		}
		return text, message
	}
	want, wantErr := decode(nil)
	got, gotErr := decode(&spares{grants: 1 + rng.IntN(3)})
	if !bytes.Equal(got, want) || gotErr != wantErr {
		t.Errorf("%s of %d bytes: %d bytes and %q, want %d bytes and %q", what, len(data), len(got), gotErr, len(want), wantErr)
	}
}

// spoiled calls f with data, and with data that is cut short, changed, or followed by other bytes.
func spoiled(data []byte, rng *rand.Rand, f func(what string, data []byte)) {
	f("whole", data)
	f("cut short", data[:4+rng.IntN(len(data)-4)])
	f("cut at its end", data[:len(data)-1-rng.IntN(min(16, len(data)-4))])
	for range 3 {
		changed := bytes.Clone(data)
		changed[4+rng.IntN(len(data)-4)] ^= 1 << rng.IntN(8)
		f("changed", changed)
	}
	for _, tail := range []string{"B", "BZ", "BX", "BZh", "BZh0", "BZi9", "BZh9", "BZh9\x00", "garbage, and more of it", "\x00\x00\x00"} {
		f(fmt.Sprintf("followed by %q", tail), append(bytes.Clone(data), tail...))
	}
}

func TestBzip2AheadIsTheSame(t *testing.T) {
	seeds := uint64(1)
	if testkit.Long() {
		seeds = 8
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 5))
		var data []byte
		for range 1 + rng.IntN(3) {
			most := []int{50, 3000, 90_000}[rng.IntN(3)]
			payloads := make([][]byte, rng.IntN(12))
			for i := range payloads {
				payloads[i] = payload(rng, most)
			}
			data = append(data, bzip2Stream(t, byte('1'+rng.IntN(9)), payloads...)...)
		}
		spoiled(data, rng, func(what string, data []byte) {
			sameAhead(t, fmt.Sprintf("seed %d, %s", seed, what), data, rng)
		})
	}
}
