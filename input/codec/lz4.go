package codec

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// errUnknownFrame reports that neither zstd nor lz4 data follows skippable frames.
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
