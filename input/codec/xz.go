package codec

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"runtime"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/ulikunitz/xz/lzma"
)

// xzReader decodes .xz files ("The .xz File Format", version 1.2.1). A file is
// a sequence of streams with zeros between them. A stream has blocks, an index
// and a footer.
//
// Package lzma decodes the content of a block. xzReader reads the rest: headers, indexes and
// footers. The header of each block has the size of the dictionary that the block needs. That
// memory must be charged before it is allocated.
type xzReader struct {
	src    counting
	window func(bytes int64) error // charges for the memory of a dictionary
	err    error

	streams int     // number of streams so far
	open    bool    // a stream is open
	flags   [2]byte // of the open stream
	blocks  uint64  // number of blocks of the open stream so far
	// sizes is a hash of the sizes of these blocks. The index at the end of the stream has the same
	// sizes. A file may have millions of blocks, so they are not kept.
	sizes *xxhash.Digest

	block     *lzma.Reader2 // nil: no block is open
	header    xzBlock
	headBytes int64
	start     int64     // place of the data of the block in src
	decoded   int64     // bytes of the block so far
	check     hash.Hash // of the decoded bytes; nil: the stream has no checks
}

// xzBlock is the header of a block: sizes in bytes. stored and decoded are -1 if the header does
// not have them.
type xzBlock struct{ stored, decoded, dictionary int64 }

const (
	xzMagic      = "\xfd7zXZ\x00"
	xzFooter     = "YZ"
	xzLZMA2      = 0x21
	xzLargeBytes = 16 << 20 // from this dictionary on, openBlock frees the last one first
)

// counting counts the bytes that are read of a buffer.
type counting struct {
	*bufio.Reader
	n int64
}

// Read reads and counts. The decoder of a block also calls ReadByte.
func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counting) ReadByte() (byte, error) {
	b, err := c.Reader.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// fill reads all of p. If the file ends before that, it is cut short.
func (c *counting) fill(p []byte) error {
	_, err := io.ReadFull(c, p)
	return inside(err)
}

// inside returns the error of a read where the file must not end.
func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// reset begins another file. The charge for the dictionary stays: the Decoders release it.
func (x *xzReader) reset(src *bufio.Reader) {
	*x = xzReader{src: counting{Reader: src}, window: x.window}
}

// Read implements io.Reader. It returns the text of a block before it has compared the check at
// the end of the block. If the check is wrong, the call that reaches the end returns an error.
func (x *xzReader) Read(p []byte) (int, error) {
	for x.err == nil {
		if x.block == nil {
			x.err = x.next()
			continue
		}
		n, err := x.block.Read(p)
		x.decoded += int64(n)
		if x.check != nil {
			x.check.Write(p[:n])
		}
		if err == io.EOF {
			err = x.closeBlock()
		}
		x.err = err
		if n > 0 {
			return n, nil
		}
	}
	return 0, x.err
}

// next opens the next block or stream, or closes the open stream. It returns io.EOF at the end of
// the file.
func (x *xzReader) next() error {
	if !x.open {
		return x.openStream()
	}
	first, err := x.src.ReadByte()
	switch {
	case err != nil:
		return inside(err)
	case first == 0:
		return x.closeStream()
	}
	return x.openBlock(first)
}

// openStream reads the header of a stream. It returns io.EOF at the end of the
// file. Groups of four zeros may precede it, but not at the start of the file.
func (x *xzReader) openStream() error {
	var head [12]byte
	for {
		if _, err := io.ReadFull(&x.src, head[:4]); err != nil {
			if x.streams == 0 {
				return inside(err)
			}
			return err
		}
		if x.streams == 0 || head[0] != 0 {
			break
		}
		if head[1]|head[2]|head[3] != 0 {
			return errXZ("padding")
		}
	}
	if err := x.src.fill(head[4:]); err != nil {
		return err
	}
	if string(head[:6]) != xzMagic {
		return errors.New("what follows is not xz")
	}
	if crc32.ChecksumIEEE(head[6:8]) != binary.LittleEndian.Uint32(head[8:]) {
		return errXZ("stream header")
	}
	x.flags = [2]byte(head[6:])
	switch x.check = nil; x.flags {
	case [2]byte{0, 0}: // no check
	case [2]byte{0, 1}:
		x.check = crc32.NewIEEE()
	case [2]byte{0, 4}:
		x.check = crc64.New(crc64.MakeTable(crc64.ECMA))
	case [2]byte{0, 10}:
		x.check = sha256.New()
	default:
		return &refusedError{fmt.Errorf("checks of kind %d are not supported", x.flags[1])}
	}
	x.open = true
	x.blocks = 0
	x.sizes = xxhash.New()
	x.streams++
	return nil
}

// openBlock reads the header of a block. first is its first byte: its length in
// words of four bytes, minus 1.
func (x *xzReader) openBlock(first byte) error {
	// The longest header has 256 words.
	var buf [1024]byte
	head := buf[:4*(int(first)+1)]
	head[0] = first
	if err := x.src.fill(head[1:]); err != nil {
		return err
	}
	body := head[:len(head)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(head[len(body):]) {
		return errXZ("block header")
	}
	h, err := parseXZBlock(body)
	if err != nil {
		return err
	}
	if err := x.window(h.dictionary); err != nil {
		return err
	}
	if x.blocks > 0 && h.dictionary >= xzLargeBytes {
		runtime.GC() // frees the dictionary of the last block: only one is charged
	}
	x.header = h
	x.headBytes = int64(len(head))
	x.start = x.src.n
	x.decoded = 0
	if x.check != nil {
		x.check.Reset()
	}
	x.block, err = lzma.Reader2Config{DictCap: int(h.dictionary)}.NewReader2(&x.src)
	return err
}

// parseXZBlock parses the header of a block. head is without the checksum.
func parseXZBlock(head []byte) (b xzBlock, err error) {
	b.stored, b.decoded = -1, -1
	flags, rest := head[1], head[2:]
	number := func() int64 {
		n, length := binary.Uvarint(rest)
		if length <= 0 || n > 1<<62 {
			err = errXZ("block header")
			return 0
		}
		rest = rest[length:]
		return int64(n)
	}
	// The stored size comes before the size of the text. Each has a flag.
	if flags&0x40 != 0 {
		b.stored = number()
	}
	if flags&0x80 != 0 {
		b.decoded = number()
	}
	filter, properties := number(), number()
	switch {
	case err != nil:
		return b, err
	// The low two bits count further filters, and the other four are reserved.
	case flags&0x3f != 0 || filter != xzLZMA2:
		return b, &refusedError{errors.New("filters before LZMA2 are not supported")}
	case properties != 1 || len(rest) < 1:
		return b, errXZ("block header")
	}
	if b.dictionary, err = lzma.DecodeDictCap(rest[0]); err != nil {
		return b, err
	}
	if b.decoded >= 0 { // no match reaches further back than the block
		b.dictionary = min(b.dictionary, b.decoded)
	}
	b.dictionary = max(b.dictionary, lzma.MinDictCap)
	return b, nil
}

// closeBlock reads the padding and the check behind the data of a block. It fails if a size or the
// check is wrong.
func (x *xzReader) closeBlock() error {
	stored := x.src.n - x.start
	if h := &x.header; h.stored >= 0 && h.stored != stored || h.decoded >= 0 && h.decoded != x.decoded {
		return errXZ("size of a block")
	}
	var tail [3 + sha256.Size]byte
	// The data, without its check, is padded to a multiple of four bytes.
	padding, length := int(-stored&3), 0
	if x.check != nil {
		length = x.check.Size()
	}
	if err := x.src.fill(tail[:padding+length]); err != nil {
		return err
	}
	if string(tail[:padding]) != "\x00\x00\x00"[:padding] {
		return errXZ("padding of a block")
	}
	if x.check != nil {
		sum := x.check.Sum(nil)
		if x.flags[1] != 10 { // CRCs are stored with the lowest byte first
			slices.Reverse(sum)
		}
		if !bytes.Equal(sum, tail[padding:padding+length]) {
			return errXZ("check of a block")
		}
	}
	x.block = nil
	x.blocks++
	// The sizes in the index are without padding.
	x.addSizes(uint64(x.headBytes+stored+int64(length)), uint64(x.decoded))
	return nil
}

// addSizes adds the sizes of a block to the hash x.sizes.
func (x *xzReader) addSizes(stored, decoded uint64) {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], stored)
	binary.LittleEndian.PutUint64(b[8:], decoded)
	x.sizes.Write(b[:])
}

// closeStream reads the index, behind its first byte, and the footer of the stream. It fails if
// they do not agree with the blocks and the header.
func (x *xzReader) closeStream() error {
	found := x.sizes.Sum64()
	x.sizes.Reset()
	// next has read the first byte of the index, a zero.
	index := xzIndex{src: &x.src, crc: crc32.ChecksumIEEE([]byte{0}), n: 1}
	count, err := index.number()
	if err == nil && count != x.blocks {
		return errXZ("index")
	}
	for i := uint64(0); i < count && err == nil; i++ {
		var stored, decoded uint64
		if stored, err = index.number(); err == nil {
			decoded, err = index.number()
		}
		x.addSizes(stored, decoded)
	}
	// The index is padded with zeros to a multiple of four bytes.
	for err == nil && index.n%4 != 0 {
		var zero byte
		if zero, err = index.ReadByte(); zero != 0 {
			return errXZ("index")
		}
	}
	var tail [16]byte // checksum of the index, and footer
	if err == nil {
		err = x.src.fill(tail[:])
	}
	if err != nil {
		return inside(err)
	}
	le := binary.LittleEndian
	switch footer := tail[4:]; {
	case le.Uint32(tail[:]) != index.crc || x.sizes.Sum64() != found:
		return errXZ("index")
	case crc32.ChecksumIEEE(footer[4:10]) != le.Uint32(footer) || string(footer[10:]) != xzFooter,
		4*(int64(le.Uint32(footer[4:]))+1) != index.n+4, [2]byte(footer[8:]) != x.flags:
		return errXZ("footer")
	}
	x.open = false
	return nil
}

// xzIndex reads the numbers of an index, and computes its checksum.
type xzIndex struct {
	src *counting
	crc uint32
	n   int64 // bytes of the index
}

// ReadByte reads a byte of the index, and adds it to the length and the checksum.
func (i *xzIndex) ReadByte() (byte, error) {
	b, err := i.src.ReadByte()
	if err == nil {
		i.crc = crc32.Update(i.crc, crc32.IEEETable, []byte{b})
		i.n++
	}
	return b, inside(err)
}

// number reads a number of the index.
func (i *xzIndex) number() (uint64, error) { return binary.ReadUvarint(i) }

// errXZ returns the error of a damaged part of the file.
func errXZ(part string) error { return fmt.Errorf("xz: damaged %s", part) }
