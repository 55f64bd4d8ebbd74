package codec

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// bzip2Reader decodes a bzip2 file on several goroutines. A file is a sequence of
// streams: a header, blocks, and an end with a checksum of all blocks. A block
// begins with a magic at any bit and does not say how long it is.
//
//	stored   BZh9│block│block│block│end│BZh9│block│end
//	unit              └─────┘                            of a helper
//
// The reader searches for magics ahead of its place. The bits between two magics are a
// unit, which a helper decodes as a stream of one block. Compressed data may have a magic
// by chance. So the reader goes from the true end of each block to the next, and uses a
// unit only if it begins there. It decodes blocks without a unit itself. Helpers and
// reader both use package compress/bzip2.
//
// Its errors are those of compress/bzip2 for the same file, after the same bytes.
type bzip2Reader struct {
	src    io.Reader
	srcErr error  // with which src ended; nil: it has not ended
	buf    []byte // bytes of the file, from byte base on
	base   int64
	at     int64  // place of the reader, in bits of the file
	begun  bool   // the first header was read
	level  byte   // of the current stream: '1' to '9'
	crc    uint32 // of its blocks so far
	err    error

	// The scan for magics is ahead of the reader by about a block for each helper.
	scanned   int64 // byte of the file up to which magics were searched
	open      int64 // place of the last magic of a block, in bits, if its end is not found yet; -1: none
	scanLevel byte  // level of the stream there

	block  io.Reader   // decodes a block on the reader's goroutine; nil: none
	source bzip2Source // of block
	ahead  ahead
}

const (
	bzip2BlockBits = 0x314159265359
	bzip2EndBits   = 0x177245385090
	bzip2MagicBits = 48
	bzip2Mask      = 1<<bzip2MagicBits - 1

	mostBlockBytes     = 1 << 20 // of a unit; the reader decodes a larger one itself
	mostBlockTextBytes = 2 << 20
)

// errBlockEnd is the error of a bzip2Source behind its block.
var errBlockEnd = errors.New("the block ends")

// Read implements io.Reader.
func (x *bzip2Reader) Read(p []byte) (int, error) {
	for x.err == nil && len(p) > 0 {
		switch {
		case x.ahead.unit != nil: // a helper has decoded the block
			if n := x.ahead.read(p); n > 0 {
				return n, nil
			}
		case x.block != nil:
			n, err := x.block.Read(p)
			// The decoder reads the whole block before it returns the first byte. From then on it
			// must not get bytes behind the block, which belong to another block or the end.
			if n > 0 {
				x.source.ended = true
			}
			if err == errBlockEnd {
				err = x.endBlock()
			}
			if x.err = err; n > 0 {
				return n, nil
			}
		default:
			x.err = x.next()
		}
	}
	return 0, x.err
}

// next begins the next block or reads the header of the next stream. It returns io.EOF at the end
// of the file.
func (x *bzip2Reader) next() error {
	if !x.begun {
		x.begun = true
		if err := x.header(true); err != nil {
			return err
		}
	}
	x.hand()
	magic, err := x.bits(x.at, bzip2MagicBits)
	if err != nil {
		return err
	}
	crc, err := x.bits(x.at+bzip2MagicBits, 32)
	switch {
	case magic == bzip2BlockBits && err == nil:
		// The checksum of a stream is computed from those of its blocks.
		x.crc = (x.crc<<1 | x.crc>>31) ^ uint32(crc)
		x.begin()
		return nil
	case magic == bzip2BlockBits || magic == bzip2EndBits && err != nil:
		return err
	case magic != bzip2EndBits:
		return bzip2.StructuralError("bad magic value found")
	case x.crc != uint32(crc):
		return bzip2.StructuralError("file checksum mismatch")
	}
	// A stream is padded to a whole byte.
	x.at = (x.at + bzip2MagicBits + 32 + 7) &^ 7
	return x.header(false)
}

// header reads the header of a stream. first reports that it is the first one of the file. If the
// file ends before another one, header returns io.EOF. Its errors are those of compress/bzip2.
func (x *bzip2Reader) header(first bool) error {
	if !first && !x.fill(x.at/8+1) && x.srcErr == io.EOF {
		return io.EOF
	}
	switch magic, err := x.bits(x.at, 16); {
	case err != nil:
		return err
	case magic != 'B'<<8|'Z' && first:
		return bzip2.StructuralError("bad magic value")
	case magic != 'B'<<8|'Z':
		return bzip2.StructuralError("bad magic value in continuation file")
	}
	switch encoding, err := x.bits(x.at+16, 8); {
	case err != nil:
		return err
	case encoding != 'h':
		return bzip2.StructuralError("non-Huffman entropy encoding")
	}
	level, err := x.bits(x.at+24, 8)
	switch {
	case err != nil:
		return err
	case level < '1' || level > '9':
		return bzip2.StructuralError("invalid compression level")
	}
	x.level = byte(level)
	x.at += 32
	x.crc = 0
	if first {
		x.scanLevel = x.level
	}
	return nil
}

// begin takes the unit of the block at the reader's place. If there is none, the reader begins to
// decode the block itself.
func (x *bzip2Reader) begin() {
	// Units before this place began at a magic by chance, inside a block.
	for x.ahead.queue.Len() > 0 && x.ahead.queue.First().at <= x.at {
		u := x.ahead.queue.Take()
		if u.at == x.at && u.ok {
			x.ahead.unit, x.at = u, u.end
			return
		}
		x.ahead.idle = append(x.ahead.idle, u)
	}
	x.source = bzip2Source{x: x, at: x.at}
	x.block = bzip2.NewReader(&x.source)
}

// endBlock moves the reader to the end of the block that it has decoded itself. The decoder has
// read up to seven bits more, so the next magic is searched in these places.
func (x *bzip2Reader) endBlock() error {
	x.block = nil
	wrong := error(bzip2.StructuralError("bad magic value found"))
	for more := range int64(8) {
		magic, err := x.bits(x.source.at-more, bzip2MagicBits)
		if err != nil {
			wrong = err
		} else if magic == bzip2BlockBits || magic == bzip2EndBits {
			x.at = x.source.at - more
			return nil
		}
	}
	return wrong
}

// hand searches for units and passes them to the helpers, as long as these want some.
func (x *bzip2Reader) hand() {
	// If the reader has decoded a block itself, it may be ahead of the scan.
	if x.scanned < x.at/8 {
		x.scanned = x.at / 8
	}
	if x.open < x.at {
		x.open = -1
	}
	for x.ahead.wants() {
		at, magic, ok := x.scan()
		if !ok {
			return
		}
		// A longer range cannot be a sound block. The reader decodes it, and finds the error.
		if x.open >= 0 && at-x.open <= 8*mostBlockBytes {
			x.ahead.hand(x.cut(x.open, at))
		}
		x.open = at
		if magic == bzip2EndBits {
			x.open = -1
			level, err := x.bits((at+bzip2MagicBits+32+7)&^7+24, 8)
			if err == nil && level >= '1' && level <= '9' {
				x.scanLevel = byte(level)
			}
		}
	}
}

// scan returns the next magic and its place in bits. It returns false if there is none within
// about a block for each helper.
func (x *bzip2Reader) scan() (at int64, magic uint64, ok bool) {
	// The buffer has all bytes from the reader's place to that of the scan, so most bounds it.
	most := x.at/8 + int64(x.ahead.helpers+2)*mostBlockBytes
	for x.scanned < most {
		x.fill(x.scanned + bzip2ScanBytes)
		data := x.buf[min(x.scanned-x.base, int64(len(x.buf))):]
		for i := 0; i+8 <= len(data); i++ {
			if !bzip2Third[data[i+2]] {
				continue
			}
			word := binary.BigEndian.Uint64(data[i:])
			for shift := range 8 {
				if m := word >> (16 - shift) & bzip2Mask; m == bzip2BlockBits || m == bzip2EndBits {
					at := 8*(x.scanned+int64(i)) + int64(shift)
					x.scanned += int64(i) + 1
					return at, m, true
				}
			}
		}
		if len(data) < 8 {
			break
		}
		// A magic that begins within a byte spans seven bytes, so the last seven are searched again.
		x.scanned += int64(len(data)) - 7
	}
	return 0, 0, false
}

// bzip2ScanBytes is the number of bytes that are searched for magics at a time.
const bzip2ScanBytes = 64 << 10

// bzip2Third has the values that the third byte of a magic can have. The magic begins at any bit
// of the first byte. Most bytes have another value, so the search is fast.
var bzip2Third = func() (is [256]bool) {
	for shift := range 8 {
		is[byte(uint64(bzip2BlockBits)>>(24+shift))] = true
		is[byte(uint64(bzip2EndBits)>>(24+shift))] = true
	}
	return is
}()

// cut makes a unit of the block in the bits [at, end) of the file: a stream of its own. It shifts the
// block to a byte boundary, because a stream begins with a whole byte. The checksum of the stream
// is that of its only block.
func (x *bzip2Reader) cut(at, end int64) *unit {
	u := x.ahead.take()
	u.at, u.end = at, end
	crc, _ := x.bits(at+bzip2MagicBits, 32)
	b := append(u.stored, 'B', 'Z', 'h', x.scanLevel)
	data, shift := x.buf[at/8-x.base:], at%8
	whole := (end - at) / 8
	for i := range whole {
		b = append(b, byte((uint16(data[i])<<8|uint16(data[i+1]))>>(8-shift)))
	}
	filled, last := uint(0), byte(0)
	put := func(v uint64, bits uint) {
		for ; bits > 0; bits-- {
			last = last<<1 | byte(v>>(bits-1)&1)
			if filled++; filled == 8 {
				b, filled = append(b, last), 0
			}
		}
	}
	rest, _ := x.bits(at+8*whole, uint((end-at)%8))
	put(rest, uint((end-at)%8))
	put(bzip2EndBits, bzip2MagicBits)
	put(crc, 32)
	put(0, (8-filled)%8)
	u.stored = b
	return u
}

// fill reads the file up to byte end. It returns false if the file ends before.
func (x *bzip2Reader) fill(end int64) bool {
	for x.base+int64(len(x.buf)) < end {
		if x.srcErr != nil {
			return false
		}
		// Bytes before the reader's place are dropped when they are at least half of the buffer. So
		// each byte is moved at most once on average.
		if done := x.at/8 - x.base; len(x.buf) == cap(x.buf) && done > int64(len(x.buf)/2) {
			x.buf = x.buf[:copy(x.buf, x.buf[done:])]
			x.base += done
		}
		x.buf = slices.Grow(x.buf, bzip2ScanBytes)
		var n int
		n, x.srcErr = x.src.Read(x.buf[len(x.buf):cap(x.buf)])
		x.buf = x.buf[:len(x.buf)+n]
	}
	return true
}

// bits returns n bits of the file, at most 48, from bit at on.
func (x *bzip2Reader) bits(at int64, n uint) (uint64, error) {
	end := at + int64(n)
	if !x.fill((end + 7) / 8) {
		return 0, inside(x.srcErr)
	}
	var word uint64
	for _, b := range x.buf[at/8-x.base : (end+7)/8-x.base] {
		word = word<<8 | uint64(b)
	}
	return word >> uint(-end&7) & (1<<n - 1), nil
}

// bzip2Source gives a decoder one block as a stream of its own. The stream is a header, and then
// the bits of the file from the start of the block on. When the decoder has read the block, the
// source ends.
type bzip2Source struct {
	x     *bzip2Reader
	head  int   // bytes of the header that were read
	at    int64 // place of the next byte, in bits of the file
	ended bool  // the block has been read
}

// Read is never called: compress/bzip2 calls ReadByte of an io.ByteReader.
func (s *bzip2Source) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// ReadByte returns the four bytes of the header, and then the bits of the block. They may begin
// within a byte of the file.
func (s *bzip2Source) ReadByte() (byte, error) {
	switch {
	case s.ended:
		return 0, errBlockEnd
	case s.head < 4:
		s.head++
		return [...]byte{'B', 'Z', 'h', s.x.level}[s.head-1], nil
	}
	b, err := s.x.bits(s.at, 8)
	// If the file has no whole byte left, zero bits fill it up. The decoder finds the true end.
	if left := 8 - uint(s.at%8); err == io.ErrUnexpectedEOF && left < 8 {
		b, err = s.x.bits(s.at, left) // the last bits of the file
		b <<= 8 - left
	}
	s.at += 8
	return byte(b), err
}

// bzip2Decoder makes a decoder of units of one block.
func bzip2Decoder() decoder {
	return func(stored, dst []byte) ([]byte, bool) {
		return appendAll(dst, bzip2.NewReader(bytes.NewReader(stored)), mostBlockTextBytes)
	}
}
