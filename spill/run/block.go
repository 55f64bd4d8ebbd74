package run

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// A block on disk (docs/formats.md): a header, then what is stored.
//
//	0        1        2        4          8            12         16
//	+--------+--------+--------+----------+------------+----------+----------+
//	| codec  | flags  | 0      | raw u32  | stored u32 | records  | CRC-32C  |
//	+--------+--------+--------+----------+------------+----------+----------+
//
// The checksum is over the header before it and what is stored. A record that
// does not fit a block of its own is cut into several: the first is flagged
// large and counts the record, the others are flagged continued.
const (
	headerBytes = 20

	// bufferBytes holds a block and, behind it, the next one's header, which
	// is read along. Four of them are a chunk.
	BufferBytes   = 64 << 10
	maxBlockBytes = BufferBytes - 32

	flagLarge     = 1
	flagContinued = 2
)

// Codec says how blocks on disk are compressed.
type Codec uint8

const (
	Auto Codec = iota // s2 for as long as it pays, block by block
	None
	S2
	Zstd
)

func (c Codec) String() string {
	switch c {
	case Auto:
		return "auto"
	case None:
		return "none"
	case S2:
		return "s2"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("codec(%d)", uint8(c))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type header struct {
	codec       Codec
	flags       uint8
	rawBytes    int
	storedBytes int
	records     int
	sum         uint32
}

var errFormat = errors.New("not a block")

func parseHeader(p []byte) (header, error) {
	h := header{
		codec: Codec(p[0]), flags: p[1],
		rawBytes: int(binary.LittleEndian.Uint32(p[4:])), storedBytes: int(binary.LittleEndian.Uint32(p[8:])),
		records: int(binary.LittleEndian.Uint32(p[12:])), sum: binary.LittleEndian.Uint32(p[16:]),
	}
	if h.codec < None || h.codec > Zstd || h.flags > flagContinued || p[2]|p[3] != 0 ||
		h.rawBytes > maxBlockBytes || h.storedBytes > h.rawBytes || h.codec == None && h.storedBytes != h.rawBytes {
		return h, errFormat
	}
	return h, nil
}

func (h header) put(p []byte) {
	p[0], p[1], p[2], p[3] = byte(h.codec), h.flags, 0, 0
	binary.LittleEndian.PutUint32(p[4:], uint32(h.rawBytes))
	binary.LittleEndian.PutUint32(p[8:], uint32(h.storedBytes))
	binary.LittleEndian.PutUint32(p[12:], uint32(h.records))
	binary.LittleEndian.PutUint32(p[16:], h.sum)
}

// checksum is what the header's sum should be; p is the header's bytes.
func checksum(p, stored []byte) uint32 {
	return crc32.Update(crc32.Checksum(p[:16], castagnoli), castagnoli, stored)
}

// compressor packs blocks. For Auto it tries s2 and, where a block did not get
// smaller by an eighth, leaves the next ones alone, ever longer.
type compressor struct {
	codec   Codec
	zstd    *zstd.Encoder
	skip    int // blocks not to try
	penalty int
}

const maxPenalty = 64

// maxPackedBytes is how long the destination of pack must be.
var maxPackedBytes = s2.MaxEncodedLen(maxBlockBytes)

// pack compresses raw into dst, or reports None: store it as it is.
func (c *compressor) pack(dst, raw []byte) (codec Codec, packed []byte) {
	switch c.codec {
	case None:
		return None, nil
	case Zstd:
		packed = c.zstd.EncodeAll(raw, dst[:0])
		codec = Zstd
	default:
		if c.skip > 0 {
			c.skip--
			return None, nil
		}
		packed = s2.Encode(dst, raw)
		codec = S2
	}
	if len(packed) < len(raw)-len(raw)/8 {
		c.penalty = 0
		return codec, packed
	}
	if c.codec == Auto {
		c.penalty = min(2*c.penalty+1, maxPenalty)
		c.skip = c.penalty
	}
	return None, nil
}

func newCompressor(codec Codec) (*compressor, error) {
	c := &compressor{codec: codec}
	if codec == Zstd {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(BufferBytes), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		c.zstd = enc
	}
	return c, nil
}

// decompressor unpacks blocks. The zstd decoder is made when the first such
// block comes.
type decompressor struct{ zstd *zstd.Decoder }

// unpack writes the block's raw bytes to dst, which has room for maxBlockBytes.
func (d *decompressor) unpack(dst, stored []byte, h header) error {
	var raw []byte
	var err error
	switch h.codec {
	case S2:
		if n, lenErr := s2.DecodedLen(stored); lenErr != nil || n != h.rawBytes {
			return errFormat
		}
		raw, err = s2.Decode(dst[:h.rawBytes], stored)
	case Zstd:
		if d.zstd == nil {
			if d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxMemory(1<<20)); err != nil {
				return fmt.Errorf("zstd: %w", err)
			}
		}
		raw, err = d.zstd.DecodeAll(stored, dst[:0:maxBlockBytes])
	default:
		return errFormat
	}
	if err != nil {
		return err
	}
	if len(raw) != h.rawBytes || len(raw) > 0 && &raw[0] != &dst[0] {
		return errFormat
	}
	return nil
}

func (d *decompressor) Close() {
	if d.zstd != nil {
		d.zstd.Close()
		d.zstd = nil
	}
}
