package codec

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/pierrec/lz4/v4"
)

// errUnknownFrame reports that neither zstd nor lz4 data follows skippable frames or a frame of lz4.
var errUnknownFrame = errors.New("unknown frame behind another one")

// skipFrames reads the skippable frames at the start of src. It returns the first bytes behind them; none:
// src has ended.
func skipFrames(src *bufio.Reader) (head []byte, err error) {
	for {
		if head, err = src.Peek(HeadBytes); err != nil && err != io.EOF {
			return nil, err
		}
		switch {
		case !isSkippable(head):
			return head, nil
		case len(head) < skipBytes:
			return nil, io.ErrUnexpectedEOF
		}
		bytes := skipBytes + int64(binary.LittleEndian.Uint32(head[4:]))
		if _, err := io.CopyN(io.Discard, src, bytes); err != nil {
			return nil, inside(err)
		}
	}
}

// lz4Bytes returns the bytes that the decoder of a frame keeps: one block as stored and
// one as decoded. If blocks are linked, it keeps up to two more. A block has at
// most 4 MiB.
func lz4Bytes(head []byte) int64 {
	const linked, legacyBytes = 4, 8 << 20
	if string(head[:4]) == legacyMagic {
		return 2 * legacyBytes
	}
	if len(head) < 6 {
		return 0 // it is cut short
	}
	flags, size := head[4], head[5]>>4&7
	blocks := int64(2)
	if flags>>5&1 == 0 {
		blocks = linked
	}
	return blocks << (2*size + 8)
}

// lz4Frames reads the frames of a file one after the other. They may be of the legacy format, which has no
// end mark, so that the decoder alone cannot find the frame behind.
type lz4Frames struct {
	frame lz4Frame
	zr    *lz4.Reader
	err   error
}

// reset begins the frame at the start of src, which has its magic.
func (l *lz4Frames) reset(src *bufio.Reader) error {
	head, err := src.Peek(HeadBytes)
	if err != nil && err != io.EOF {
		return err
	}
	l.frame, l.err = lz4Frame{src: src, next: lz4Header}, nil
	if string(head[:len(lz4Magic)]) == legacyMagic {
		l.frame.next = legacyHeader
	}
	if l.zr == nil {
		l.zr = lz4.NewReader(nil)
	}
	l.zr.Reset(&l.frame)
	return nil
}

// Read implements io.Reader.
func (l *lz4Frames) Read(p []byte) (int, error) {
	for l.err == nil {
		n, err := l.zr.Read(p)
		if err == io.EOF {
			var head []byte
			head, err = skipFrames(l.frame.src)
			switch of, _ := byMagic(head); {
			case err != nil:
			case len(head) == 0:
				err = io.EOF
			case of == LZ4:
				err = l.reset(l.frame.src)
			default:
				err = errUnknownFrame
			}
		}
		if l.err = err; n > 0 {
			return n, nil
		}
	}
	return 0, l.err
}

// lz4Frame reads the stored bytes of one frame, and then io.EOF. It knows where the parts of a frame end,
// and the decoder checks what is in them.
type lz4Frame struct {
	src       *bufio.Reader
	next      lz4Part
	leftBytes int64 // of the current part
	blockSum  int64 // bytes of the checksum of each block
	textSum   int64 // bytes of the checksum of the text
}

// lz4Part is a part of a frame.
type lz4Part uint8

const (
	lz4Header lz4Part = iota
	lz4Block
	legacyHeader
	legacyBlock
	lz4Nothing
)

// Read implements io.Reader.
func (f *lz4Frame) Read(p []byte) (int, error) {
	if f.leftBytes == 0 {
		if err := f.part(); err != nil {
			return 0, err
		}
	}
	n, err := f.src.Read(p[:min(int64(len(p)), f.leftBytes)])
	f.leftBytes -= int64(n)
	return n, inside(err)
}

// part begins the next part. It returns io.EOF behind the last one. A part that is cut short counts as one
// byte more than there is.
func (f *lz4Frame) part() error {
	head, err := f.src.Peek(5)
	if err != nil && err != io.EOF {
		return err
	}
	word := uint32(0)
	if len(head) >= 4 {
		word = binary.LittleEndian.Uint32(head)
	}
	const mostLegacyBytes = 8<<20 + (8<<20)/255 + 16 // LZ4_compressBound; a larger number is a magic
	switch {
	case f.next == lz4Nothing, f.next == legacyBlock && (len(head) == 0 || word > mostLegacyBytes):
		return io.EOF
	case len(head) < 4 || f.next == lz4Header && len(head) < 5:
		f.leftBytes = int64(len(head)) + 1
	case f.next == lz4Header:
		flags := int64(head[4])
		f.blockSum, f.textSum = flags>>4&1*4, flags>>2&1*4
		f.leftBytes, f.next = 7+flags>>3&1*8+flags&1*4, lz4Block
	case f.next == lz4Block && word == 0: // the end mark
		f.leftBytes, f.next = 4+f.textSum, lz4Nothing
	case f.next == lz4Block:
		f.leftBytes = 4 + int64(word&^(1<<31)) + f.blockSum
	case f.next == legacyHeader:
		f.leftBytes, f.next = 4, legacyBlock
	default:
		f.leftBytes = 4 + int64(word)
	}
	return nil
}
