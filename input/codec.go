package input

import (
	"bytes"
	"encoding/binary"
	"io"
)

// Codec is how a file is compressed.
type Codec uint8

const (
	None Codec = iota
	Gzip
	Bzip2
	Zstd
	S2 // and snappy's framing
)

func (c Codec) String() string {
	return [...]string{"none", "gzip", "bzip2", "zstd", "s2"}[c]
}

// headBytes are enough to recognise a codec.
const headBytes = 64

const (
	gzipMagic   = "\x1f\x8b\x08"
	zstdMagic   = "\x28\xb5\x2f\xfd"
	s2Magic     = "\xff\x06\x00\x00S2sTwO"
	snappyMagic = "\xff\x06\x00\x00sNaPpY"
	bzip2Block  = "\x31\x41\x59\x26\x53\x59" // BCD of pi: a block follows "BZh" and a digit
	bzip2End    = "\x17\x72\x45\x38\x50\x90" // BCD of sqrt(pi): an empty stream
)

// detect recognises compressed data by its first bytes. A head that a
// magic was cut off in counts too: the decoder then says that the file is cut
// short, where reading it as text would give a wrong result.
func detect(head []byte) Codec {
	switch {
	case starts(head, gzipMagic, 2):
		return Gzip
	case starts(head, s2Magic, 4), starts(head, snappyMagic, 4):
		return S2
	case starts(afterSkippable(head), zstdMagic, 4):
		return Zstd
	case len(head) >= 4 && string(head[:3]) == "BZh" && head[3] >= '1' && head[3] <= '9' &&
		(starts(head[4:], bzip2Block, 1) || starts(head[4:], bzip2End, 1)):
		return Bzip2
	}
	return None
}

// starts reports whether head begins with magic, or is shorter, has at least
// least bytes, and all of them begin magic.
func starts(head []byte, magic string, least int) bool {
	if len(head) >= len(magic) {
		return string(head[:len(magic)]) == magic
	}
	return len(head) >= least && bytes.HasPrefix([]byte(magic), head)
}

// afterSkippable leaves out short skippable frames at the start of a zstd
// file: pzstd writes one before each frame (RFC 8878, 3.1.2).
func afterSkippable(head []byte) []byte {
	for len(head) >= 8 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18 {
		n := binary.LittleEndian.Uint32(head[4:])
		if uint64(n)+8 > uint64(len(head)) {
			break
		}
		head = head[8+n:]
	}
	return head
}

// headCodec reads the first bytes of a file.
func (f *File) headCodec(h *handle) (Codec, error) {
	var head [headBytes]byte
	n, err := h.ReadAt(head[:min(headBytes, f.Bytes)], 0)
	if err == io.EOF && h.sizeIsMadeUp() {
		err = nil
	} else if err == io.EOF {
		err = f.endedAt(int64(n))
	}
	if err != nil {
		return None, err
	}
	return detect(head[:n]), nil
}
