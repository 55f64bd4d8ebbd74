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
// The checksum covers the 16 bytes before it and what is stored. A record that does not
// fit a block of its own is cut into several blocks. The first one has the flag large and
// counts the record, the others have the flag continued. All numbers are in little
// endian. u32 limits do not matter, because a block has at most 64 KiB.
const (
	headerBytes = 20

	// bufferBytes is room for a block and, behind it, the header of the next block, which
	// is read in one call with it. Four of them are a chunk.
	bufferBytes = 64 << 10
	// The 32 bytes less leave room for the header that is read together with a block.
	maxBlockBytes = bufferBytes - 32

	// The flags exclude each other.
	flagLarge     = 1
	flagContinued = 2
)

// Codec is how blocks on disk are compressed.
// The numbers stand in files, so they must not change.
type Codec uint8

const (
	Auto Codec = iota // s2 while it saves time, decided block by block
	None
	S2
	Zstd
)

// String returns the name of the codec, as flags and reports have it.
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

// castagnoli is the polynomial of CRC-32C, which processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the header of a block.
type header struct {
	codec       Codec // never Auto
	flags       uint8
	rawBytes    int // of the records, before compression
	storedBytes int
	records     int // that begin in the block
	sum         uint32
}

// errFormat says that bytes that were read back are no block, or no record.
var errFormat = errors.New("not a block")

// parseHeader reads a header and checks that its fields agree. It does not check the sum,
// which also covers what is stored.
func parseHeader(p []byte) (header, error) {
	h := header{
		codec: Codec(p[0]), flags: p[1],
		rawBytes: int(binary.LittleEndian.Uint32(p[4:])), storedBytes: int(binary.LittleEndian.Uint32(p[8:])),
		records: int(binary.LittleEndian.Uint32(p[12:])), sum: binary.LittleEndian.Uint32(p[16:]),
	}
	// The bounds protect the buffers: later code relies on them and not on the file.
	if h.codec < None || h.codec > Zstd || h.flags > flagContinued || p[2]|p[3] != 0 ||
		h.rawBytes > maxBlockBytes || h.storedBytes > h.rawBytes || h.codec == None && h.storedBytes != h.rawBytes {
		return h, errFormat
	}
	return h, nil
}

// put writes the header to p, which has headerBytes. The sum must be set, or be written
// later.
func (h header) put(p []byte) {
	p[0], p[1], p[2], p[3] = byte(h.codec), h.flags, 0, 0
	binary.LittleEndian.PutUint32(p[4:], uint32(h.rawBytes))
	binary.LittleEndian.PutUint32(p[8:], uint32(h.storedBytes))
	binary.LittleEndian.PutUint32(p[12:], uint32(h.records))
	binary.LittleEndian.PutUint32(p[16:], h.sum)
}

// checksum returns the sum of a block; p holds the header, of which it reads 16 bytes.
// The sum itself is the rest of the header, which is why only 16 bytes count.
func checksum(p, stored []byte) uint32 {
	return crc32.Update(crc32.Checksum(p[:16], castagnoli), castagnoli, stored)
}

// compressor packs blocks. For Auto it measures: it compresses while that takes less time
// than it takes to write and read back what compression saves (docs/adr/0005). Writing to
// the page cache takes less time than any codec, a slow disk takes more. The counter
// SPILLED_BYTES therefore differs from run to run.
// A compressor belongs to one Writer and is not safe for several goroutines.
type compressor struct {
	codec Codec
	zstd  *zstd.Encoder
	write rate // bytes written
	tried rate // raw bytes of blocks that were compressed
	// In bytes, over the same blocks as tried.
	saved   int64
	untried int // blocks since the last one that was compressed
}

// rate is the time that some bytes took, of which older ones count less.
// Halving keeps the quotient and lets it follow a disk that becomes slower or faster.
type rate struct{ nanoseconds, bytes int64 }

const (
	rateBytes   = 8 << 20 // whenever there are more, all that was added before counts half
	retryBlocks = 128     // stored as they are; then one is compressed to measure again

	// unpackCost is the time to compress and decompress, as a multiple of the time to
	// compress.
	unpackCost = 1.5
)

// add adds bytes that took d. It reports whether everything was halved.
// The caller halves what it counts beside the rate.
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
	// Both sides are in nanoseconds. The factor 2 stands for writing and reading back.
	cost := float64(c.tried.nanoseconds) * unpackCost
	gain := 2 * float64(c.saved) * float64(c.write.nanoseconds) / float64(c.write.bytes)
	return cost < gain
}

// maxPackedBytes is how long the destination of pack has to be.
var maxPackedBytes = s2.MaxEncodedLen(maxBlockBytes)

// pack compresses raw. packed lies in dst or in memory of the codec. None means that raw
// has to be stored as it is: compression does not save time, or less than an eighth.
// dst has at least maxPackedBytes. raw is only read.
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
	// Compression that saves less would cost more at the merge than it gives.
	fits := len(packed) < len(raw)-len(raw)/8
	if fits {
		c.saved += int64(len(raw) - len(packed))
	}
	// Both must be halved together, or their quotient would jump.
	if c.tried.add(time.Since(begun), len(raw)) {
		c.saved /= 2
	}
	if !fits {
		return None, nil
	}
	return codec, packed
}

// newCompressor makes a compressor. Only zstd has an encoder to free, and only it can
// fail.
func newCompressor(codec Codec) (*compressor, error) {
	c := &compressor{codec: codec}
	if codec == Zstd {
		// One block is one frame: a larger window or a second thread would not be used.
		// Blocks have checksums of their own.
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(bufferBytes), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		c.zstd = enc
	}
	return c, nil
}

// decompressor unpacks blocks. It makes the zstd decoder with the first block that needs
// it.
// It belongs to one merge, whose cursors share it.
type decompressor struct{ zstd *zstd.Decoder }

// unpack writes the raw bytes of a block to dst, which has room for maxBlockBytes. It fails
// where stored is damaged or too long, and never writes behind dst.
func (d *decompressor) unpack(dst, stored []byte, h header) error {
	var raw []byte
	var err error
	switch h.codec {
	case S2:
		// The length is checked before s2 decodes, which would take memory for it.
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
		// The capacity of dst bounds what is written, whatever the frame claims.
		raw, err = d.zstd.DecodeAll(stored, dst[:0:maxBlockBytes])
	default:
		return errFormat
	}
	if err != nil {
		return err
	}
	// A result at another address means that dst was too small.
	if len(raw) != h.rawBytes || len(raw) > 0 && &raw[0] != &dst[0] {
		return errFormat
	}
	return nil
}

// Close frees the decoder. It may be called again.
func (d *decompressor) Close() {
	if d.zstd != nil {
		d.zstd.Close()
		d.zstd = nil
	}
}
