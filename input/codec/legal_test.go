package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os/exec"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
)

// filter passes data through a command.
func filter(t rapid.TB, data []byte, words ...string) []byte {
	c := exec.Command(words[0], words[1:]...)
	c.Stdin = bytes.NewReader(data)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	return out
}

// gzipWithHeader gives a member any header that is legal.
func gzipWithHeader(t *rapid.T, member []byte) []byte {
	flags := rapid.SampledFrom([]byte{0, 2, 4, 8, 16, 24, 30, 31}).Draw(t, "flags")
	header := slices.Clone(member[:10])
	header[3] = flags
	bytesOf := func(what string) int { return rapid.SampledFrom([]int{0, 1, 511, 512, 600, 5000, 65535}).Draw(t, what) }
	if flags&4 != 0 {
		n := bytesOf("extra")
		header = append(binary.LittleEndian.AppendUint16(header, uint16(n)), make([]byte, n)...)
	}
	for _, flag := range []byte{8, 16} {
		if flags&flag != 0 {
			header = append(append(header, bytes.Repeat([]byte("n"), bytesOf("name"))...), 0)
		}
	}
	if flags&2 != 0 {
		header = binary.LittleEndian.AppendUint16(header, uint16(crc32.ChecksumIEEE(header)))
	}
	return append(header, member[10:]...)
}

// skippable makes a frame that zstd and lz4 skip.
func skippable(t *rapid.T) []byte {
	n := rapid.SampledFrom([]int{0, 1, 48, 49, 56, 57, 64, 1000, 300_000}).Draw(t, "skippable")
	frame := append([]byte{0x50 + rapid.Byte().Draw(t, "kind")%16}, skipMagic...)
	return append(binary.LittleEndian.AppendUint32(frame, uint32(n)), bytes.Repeat([]byte("s\n"), n)[:n]...)
}

// Each legal file of a format is decoded as the tool of the format does: members or frames after each
// other, headers of any length, frames to be skipped and zeros before, between and behind them.
func TestLegalFilesAreDecodedAsByTheirTools(t *testing.T) {
	for _, f := range []struct {
		tool    string
		flags   []string // of which one is drawn for each member
		between func(t *rapid.T) []byte
		first   bool // between may stand before the first member
	}{
		{"gzip", []string{"-1", "-9"}, nil, false},
		{"bzip2", []string{"-1", "-9"}, nil, false},
		{"zstd", []string{"-1", "-19", "--no-check", "--fast=5", "--single-thread"}, skippable, true},
		{"lz4", []string{"-1", "-BD", "-B4", "-BX", "--content-size", "--no-frame-crc"}, skippable, true},
		{"lz4", []string{"-l", "-l9"}, nil, false},
		{"xz", []string{"-0", "-6", "--check=none", "--check=crc32", "--check=sha256", "--block-size=50000"}, func(t *rapid.T) []byte {
			return make([]byte, 4*rapid.IntRange(0, 20).Draw(t, "zeros"))
		}, false},
	} {
		t.Run(f.tool, func(t *testing.T) {
			if _, err := exec.LookPath(f.tool); err != nil {
				t.Skip(err)
			}
			// The members are made once, because each call of a tool takes some milliseconds.
			var members [][]byte
			for i, flag := range f.flags {
				for _, lines := range []int{0, 1, 100, 6_000 + 1_000*i} {
					var text []byte
					for n := range lines {
						text = fmt.Appendf(text, "%d line %x\n", n, n*7919)
					}
					members = append(members, filter(t, text, f.tool, "-c", flag))
				}
			}
			d := &Decoders{Charge: func(int64) (func(), error) { return func() {}, nil }}
			defer d.Close()
			testkit.Check(t, func(t *rapid.T) {
				var file []byte
				gap := func() {
					for range rapid.IntRange(0, 3).Draw(t, "gaps") {
						if f.between != nil {
							file = append(file, f.between(t)...)
						}
					}
				}
				if f.first {
					gap()
				}
				for range rapid.IntRange(1, 3).Draw(t, "members") {
					member := rapid.SampledFrom(members).Draw(t, "member")
					if f.tool == "gzip" {
						member = gzipWithHeader(t, member)
					}
					file = append(file, member...)
					gap()
				}
				want := filter(t, file, f.tool, "-dc")
				r, err := d.Open(bytes.NewReader(file), false)
				var got []byte
				if err == nil {
					got, err = io.ReadAll(r)
				}
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
				}
			})
		})
	}
}
