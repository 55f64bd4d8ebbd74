package runs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

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
	bufferBytes   = 64 << 10
	maxBlockBytes = bufferBytes - 32

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

// compressor packs blocks. For Auto it measures: a block is compressed while
// that costs less time than writing and reading back what it saves. Writes that
// the page cache takes at once are cheaper than any codec; a disk that throttles
// is not. SPILLED_BYTES therefore differ from run to run.
type compressor struct {
	codec   Codec
	zstd    *zstd.Encoder
	write   rate // bytes written
	tried   rate // raw bytes of blocks that were compressed
	saved   int64
	untried int // blocks since the last one that was compressed
}

// rate is time spent on bytes, of late.
type rate struct{ nanoseconds, bytes int64 }

const (
	rateBytes   = 8 << 20 // beyond which what was earlier counts half
	retryBlocks = 128     // after which a block is compressed to measure again

	// unpackCost: compressing and then decompressing takes so much longer
	// than compressing.
	unpackCost = 1.5
)

// add reports whether older times were halved.
func (r *rate) add(d time.Duration, bytes int) (halved bool) {
	r.nanoseconds += int64(d)
	r.bytes += int64(bytes)
	if r.bytes <= rateBytes {
		return false
	}
	r.nanoseconds, r.bytes = r.nanoseconds/2, r.bytes/2
	return true
}

// pays reports whether the next block should be compressed.
func (c *compressor) pays() bool {
	if c.codec != Auto {
		return true
	}
	if c.write.bytes == 0 {
		return false // nothing was written yet
	}
	if c.tried.bytes == 0 || c.untried >= retryBlocks {
		return true
	}
	cost := float64(c.tried.nanoseconds) * unpackCost
	gain := 2 * float64(c.saved) * float64(c.write.nanoseconds) / float64(c.write.bytes)
	return cost < gain
}

// maxPackedBytes is how long the destination of pack must be.
var maxPackedBytes = s2.MaxEncodedLen(maxBlockBytes)

// pack compresses raw into dst, or reports None: store it as it is.
func (c *compressor) pack(dst, raw []byte) (codec Codec, packed []byte) {
	if c.codec == None || !c.pays() {
		c.untried++
		return None, nil
	}
	begun := time.Now()
	if codec = S2; c.codec == Zstd {
		codec, packed = Zstd, c.zstd.EncodeAll(raw, dst[:0])
	} else {
		packed = s2.Encode(dst, raw)
	}
	c.untried = 0
	fits := len(packed) < len(raw)-len(raw)/8
	if fits {
		c.saved += int64(len(raw) - len(packed))
	}
	if c.tried.add(time.Since(begun), len(raw)) {
		c.saved /= 2
	}
	if !fits {
		return None, nil
	}
	return codec, packed
}

func newCompressor(codec Codec) (*compressor, error) {
	c := &compressor{codec: codec}
	if codec == Zstd {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(bufferBytes), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
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
