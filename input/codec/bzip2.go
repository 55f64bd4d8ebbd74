package codec

import (
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
// The reader searches for magics ahead of its place. What lies between two of them
// is a unit, which a helper decodes as a stream of one block. Compressed data may
// hold a magic by chance. So the reader goes from the true end of each block to the
// next, and uses a unit only if it begins there. Blocks without a unit it decodes
// itself. Package compress/bzip2 decodes in both cases.
//
// Its errors are those of compress/bzip2 for the same file, after the same bytes.
type bzip2Reader struct {
	src    io.Reader
	srcErr error  // how src ended
	buf    []byte // of the file, from byte base on
	base   int64
	at     int64 // the place of the reader, in bits
	begun  bool
	level  byte   // of the stream at hand
	crc    uint32 // of its blocks so far
	err    error

	// The scan runs ahead of the reader by at most a block for each helper.
	scanned   int64 // magics are found up to this byte
	open      int64 // the last magic of a block found, in bits, whose end is not found; -1: none
	scanLevel byte  // of the stream at that place

	unit   *unit // whose text is handed out
	sent   int   // bytes of it
	block  io.Reader
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

// errBlockEnd ends a bzip2Source behind one block.
var errBlockEnd = errors.New("the block ends")

// reset begins another file. The buffer is kept, and so is ahead, which its owner starts.
func (x *bzip2Reader) reset(src io.Reader) {
	x.src, x.srcErr, x.buf, x.base, x.at, x.begun, x.err = src, nil, x.buf[:0], 0, 0, false, nil
	x.scanned, x.open, x.scanLevel = 0, -1, '9'
	x.unit, x.block = nil, nil
}

// Read implements io.Reader.
func (x *bzip2Reader) Read(p []byte) (int, error) {
	for x.err == nil && len(p) > 0 {
		switch {
		// Text of a helper. When it is used up, the reader stands behind the block.
		case x.unit != nil:
			if n := copy(p, x.unit.text[x.sent:]); n > 0 {
				x.sent += n
				return n, nil
			}
			x.at = x.unit.end
			x.ahead.idle, x.unit = append(x.ahead.idle, x.unit), nil
		case x.block != nil:
			n, err := x.block.Read(p)
			// No byte may be asked for behind the block, where another block or the end follows.
			if n > 0 {
				x.source.ended = true // a block is read whole before its first byte comes out
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

// next begins the block or the stream that follows, or returns io.EOF.
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
		// The sum of a stream is made of the sums of its blocks, which stand behind their magics.
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

// header reads the header of a stream. first says that it is the first of the file.
// It returns io.EOF if the file ends before it.
func (x *bzip2Reader) header(first bool) error {
	if !first && !x.fill(x.at/8+1) && x.srcErr == io.EOF {
		return io.EOF
	}
	for i, wrong := range [...]string{"bad magic value", "bad magic value", "non-Huffman entropy encoding", "invalid compression level"} {
		if !first && i < 2 {
			wrong = "bad magic value in continuation file"
			if i == 0 { // two bytes are read before they are looked at
				if _, err := x.bits(x.at, 16); err != nil {
					return err
				}
			}
		}
		b, err := x.bits(x.at+int64(8*i), 8)
		if err != nil {
			return err
		}
		if x.level = byte(b); i < 3 && x.level != "BZh"[i] || i == 3 && (x.level < '1' || x.level > '9') {
			return bzip2.StructuralError(wrong)
		}
	}
	x.at += 32
	x.crc = 0
	if first {
		x.scanLevel = x.level
	}
	return nil
}

// begin takes the unit of the block at hand, or begins to decode the block.
func (x *bzip2Reader) begin() {
	// Units before this place began at a magic by chance, inside of a block.
	for len(x.ahead.queue) > 0 && x.ahead.queue[0].at <= x.at {
		u := x.ahead.pop()
		if u.at == x.at && u.ok {
			x.unit, x.sent = u, 0
			return
		}
		x.ahead.idle = append(x.ahead.idle, u)
	}
	x.source = bzip2Source{x: x, at: x.at}
	x.block = bzip2.NewReader(&x.source)
}

// endBlock finds the end of the block that the reader has decoded itself. The
// decoder has read up to seven bits more.
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

// hand finds units and hands them to the helpers.
func (x *bzip2Reader) hand() {
	// The reader may have decoded a block itself, and overtaken the scan.
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
		// A longer range is no block of bzip2, or a bad one. The reader finds out which.
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

// scan returns the next magic behind those that it has found.
func (x *bzip2Reader) scan() (at int64, magic uint64, ok bool) {
	// This bounds the buffer, which holds the file from the reader's place to the scan's.
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
		// A magic with the bits before it spans up to seven bytes; the tail is searched again.
		x.scanned += int64(len(data)) - 7
	}
	return 0, 0, false
}

// bzip2ScanBytes is how much of a file is searched for magics at a time.
const bzip2ScanBytes = 64 << 10

// bzip2Third has the values of the third byte of those that hold a magic. The magic
// begins at any bit of the first one.
var bzip2Third = func() (is [256]bool) {
	for shift := range 8 {
		is[byte(uint64(bzip2BlockBits)>>(24+shift))] = true
		is[byte(uint64(bzip2EndBits)>>(24+shift))] = true
	}
	return is
}()

// cut makes a unit of the block between two magics: a stream of its own.
// The block moves to a byte boundary, because its decoder reads a stream from a whole
// byte on. The stream's own checksum is that of its only block.
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

// fill reads the file up to byte end. It returns false where the file ends before.
func (x *bzip2Reader) fill(end int64) bool {
	for x.base+int64(len(x.buf)) < end {
		if x.srcErr != nil {
			return false
		}
		// Bytes before the reader are dropped, but only when half of the buffer is free by that.
		// Each byte is so moved once at most on average.
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

// bits returns n bits of the file, at most 48, from a place on.
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

// bzip2Source is one block as a stream of its own: a header, then the bits of the
// file from the block on. Its decoder is stopped when it has read the block.
type bzip2Source struct {
	x     *bzip2Reader
	head  int   // bytes of the header that were read
	at    int64 // of the next byte, in bits of the file
	ended bool  // the block has been read
}

// Read is not called, because ReadByte is there.
func (s *bzip2Source) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// ReadByte gives the decoder a file of one block: a head of four bytes, then the bits of the
// block from where it begins, which may be inside of a byte.
func (s *bzip2Source) ReadByte() (byte, error) {
	switch {
	case s.ended:
		return 0, errBlockEnd
	case s.head < 4:
		s.head++
		return [...]byte{'B', 'Z', 'h', s.x.level}[s.head-1], nil
	}
	b, err := s.x.bits(s.at, 8)
	// The file has no whole byte left. Zero bits fill it up; the decoder finds the true end.
	if left := 8 - uint(s.at%8); err == io.ErrUnexpectedEOF && left < 8 {
		b, err = s.x.bits(s.at, left) // the last bits of the file
		b <<= 8 - left
	}
	s.at += 8
	return byte(b), err
}

// bzip2Helper decodes units. All of them are one file of many streams for its
// decoder, which keeps its large table so.
type bzip2Helper struct {
	work <-chan *unit
	unit *unit // being decoded
	next int   // byte of its stored bytes
	over bool  // there are no more units
}

// errUnit ends a decoder that has met a unit that is no whole block.
var errUnit = errors.New("no whole block")

// bzip2Help decodes the units of work.
func bzip2Help(work <-chan *unit) {
	h := &bzip2Helper{work: work}
	buf := make([]byte, 32<<10)
	for !h.over {
		r := bzip2.NewReader(h)
		for {
			n, err := r.Read(buf)
			// The unit is not what it seemed, or its text is too long for the memory asked for.
			if err != nil || len(h.unit.text)+n > mostBlockTextBytes {
				h.finish(false)
				break
			}
			h.unit.text = append(h.unit.text, buf[:n]...)
		}
	}
}

// finish gives the unit back to the reader. From here on the helper does not touch it.
func (h *bzip2Helper) finish(ok bool) {
	if u := h.unit; u != nil {
		h.unit = nil
		u.ok = ok
		u.done <- struct{}{}
	}
}

// Read is not called, because ReadByte is there.
func (h *bzip2Helper) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// ReadByte goes from one unit to the next. The decoder checks a block when it has
// given all of its text, and reads on only then. So a unit whose bytes have ended is
// whole if there is text of it.
func (h *bzip2Helper) ReadByte() (byte, error) {
	if h.unit == nil || h.next == len(h.unit.stored) {
		if h.unit != nil {
			whole := len(h.unit.text) > 0
			if h.finish(whole); !whole {
				return 0, errUnit
			}
		}
		u, more := <-h.work
		if !more {
			h.over = true
			return 0, io.EOF
		}
		h.unit, h.next = u, 0
	}
	b := h.unit.stored[h.next]
	h.next++
	return b, nil
}
