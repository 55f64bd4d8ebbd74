package shuffle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// A block on disk (docs/formats.md) is a header and the stored bytes, compressed or not.
//
//	0        1        2        4          8            12         16
//	+--------+--------+--------+----------+------------+----------+----------+
//	| codec  | flags  | 0      | raw u32  | stored u32 | records  | CRC-32C  |
//	+--------+--------+--------+----------+------------+----------+----------+
//
// raw and stored are lengths in bytes, before and after compression. records counts the records
// that begin in the block. The checksum covers the 16 bytes before it and the stored bytes. A
// record that does not fit in one block is cut into several blocks. The first one has the flag
// large and counts the record; the others have the flag continued. All numbers are little-endian.
// 32 bits are enough for each number, because a block has at most 64 KiB.
const (
	headerBytes = 20

	// bufferBytes is the memory for a block and the header of the next block, which one call
	// reads together. A chunk has four of them.
	bufferBytes = 64 << 10
	// maxBlockBytes is the most raw bytes in a block. The other 32 bytes hold the header of the
	// next block, which has headerBytes.
	maxBlockBytes = bufferBytes - 32

	// The flags exclude each other.
	flagLarge     = 1
	flagContinued = 2
)

// Codec says how blocks on disk are compressed. Files contain the numbers, so they must not
// change.
type Codec uint8

const (
	Auto Codec = iota // s2 as long as it saves time; the Writer decides for each block
	None
	S2
	Zstd
)

// String returns the name of the codec, as in flags and reports.
func (c Codec) String() string { return [...]string{"auto", "none", "s2", "zstd"}[c] }

// castagnoli is the table of CRC-32C, which processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the header of a block.
type header struct {
	codec       Codec // never Auto
	flags       uint8
	rawBytes    int // length of the records before compression
	storedBytes int
	records     int // that begin in the block
	sum         uint32
}

// errFormat says that bytes that were read back are not a block or not a record.
var errFormat = errors.New("not a block")

// parseHeader reads a header and checks that its fields agree. It does not check the sum,
// because that also covers the stored bytes, which are not read yet.
func parseHeader(p []byte) (header, error) {
	h := header{
		codec: Codec(p[0]), flags: p[1],
		rawBytes: int(binary.LittleEndian.Uint32(p[4:])), storedBytes: int(binary.LittleEndian.Uint32(p[8:])),
		records: int(binary.LittleEndian.Uint32(p[12:])), sum: binary.LittleEndian.Uint32(p[16:]),
	}
	// The bounds protect the buffers: later code relies on them, whatever the file says.
	if h.codec < None || h.codec > Zstd || h.flags > flagContinued || p[2]|p[3] != 0 ||
		h.rawBytes > maxBlockBytes || h.storedBytes > h.rawBytes || h.codec == None && h.storedBytes != h.rawBytes {
		return h, errFormat
	}
	return h, nil
}

// put writes the header to p, which has headerBytes. If h.sum is not known yet, the caller
// writes it later.
func (h header) put(p []byte) {
	p[0] = byte(h.codec)
	p[1] = h.flags
	p[2], p[3] = 0, 0
	binary.LittleEndian.PutUint32(p[4:], uint32(h.rawBytes))
	binary.LittleEndian.PutUint32(p[8:], uint32(h.storedBytes))
	binary.LittleEndian.PutUint32(p[12:], uint32(h.records))
	binary.LittleEndian.PutUint32(p[16:], h.sum)
}

// checksum returns the sum of a block. p begins with the header; only the 16 bytes before the
// sum count.
func checksum(p, stored []byte) uint32 {
	return crc32.Update(crc32.Checksum(p[:16], castagnoli), castagnoli, stored)
}

// compressor compresses blocks. For Auto it measures: it compresses as long as that takes less
// time than writing and reading back the bytes that compression saves (docs/adr/0005). Writing
// to the page cache is faster than any codec; a slow disk is slower. So the counter
// SPILLED_BYTES differs from run to run. A compressor belongs to one Writer and is not safe for
// several goroutines.
type compressor struct {
	codec Codec
	zstd  *zstd.Encoder
	write rate // of bytes written to the file
	tried rate // of raw bytes of blocks that were compressed, also in vain
	// Bytes that compression saved, over the blocks that tried counts.
	saved   int64
	untried int // blocks since the last one that was compressed
}

// rate is the time that a number of bytes took. Halving both numbers keeps their quotient, and
// gives older measurements less weight. So the rate follows a disk that becomes slower or
// faster.
type rate struct{ nanoseconds, bytes int64 }

const (
	rateBytes   = 8 << 20 // above this number, both numbers of a rate are halved
	retryBlocks = 128     // after as many uncompressed blocks, one is compressed to measure again

	// unpackCost is the time to compress and decompress, as a multiple of the time to
	// compress.
	unpackCost = 1.5
)

// add adds the time d that bytes took. It reports whether it halved the rate; the caller then
// halves the counts that belong to the rate.
func (r *rate) add(d time.Duration, bytes int) (halved bool) {
	r.nanoseconds += int64(d)
	r.bytes += int64(bytes)
	if r.bytes <= rateBytes {
		return false
	}
	r.nanoseconds, r.bytes = r.nanoseconds/2, r.bytes/2
	return true
}

// pays reports whether the next block is to be compressed.
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
	// cost and gain are in nanoseconds. The factor 2 stands for writing and reading back.
	cost := float64(c.tried.nanoseconds) * unpackCost
	gain := 2 * float64(c.saved) * float64(c.write.nanoseconds) / float64(c.write.bytes)
	return cost < gain
}

// maxPackedBytes is the length that the destination of pack must have.
var maxPackedBytes = s2.MaxEncodedLen(maxBlockBytes)

// pack compresses raw. It returns the codec and the compressed bytes, which lie in dst or in
// memory of the codec. It returns None if raw is to be stored as it is, because compression
// does not save time, or saves less than an eighth. dst has at least maxPackedBytes.
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
	// Compression that saves less costs more time in the merge than it saves.
	fits := len(packed) < len(raw)-len(raw)/8
	if fits {
		c.saved += int64(len(raw) - len(packed))
	}
	// saved and tried are halved together. Otherwise their quotient would jump.
	if c.tried.add(time.Since(begun), len(raw)) {
		c.saved /= 2
	}
	if !fits {
		return None, nil
	}
	return codec, packed
}

// newCompressor makes a compressor. It fails only for zstd. Only zstd has an encoder that must
// be closed (Writer.Close).
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

// decompressor unpacks blocks. It makes the zstd decoder at the first block that needs it. It
// belongs to one merge, whose cursors share it. It is not safe for several goroutines.
type decompressor struct{ zstd *zstd.Decoder }

// unpack writes the raw bytes of a block to dst, which has maxBlockBytes. It fails if stored is
// damaged or too long, and never writes behind dst.
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
		// The capacity of dst bounds the output, whatever length the frame claims.
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
