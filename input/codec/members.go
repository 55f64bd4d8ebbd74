package codec

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// membersReader decodes a file of many gzip members or zstd frames on several
// goroutines. A unit is some whole members or frames that follow each other. If a unit
// would be too large, or a helper cannot decode it, a decoder on the reader's goroutine
// reads the rest of the file. It reads the same bytes as without helpers, so it finds the
// same errors.
type membersReader struct {
	src    *bufio.Reader
	srcErr error  // with which src ended; nil: it has not ended
	buf    []byte // bytes of the file; those before at are in units
	at     int
	// cut returns the length of the unit at the start of stored; 0: there is none, or more bytes
	// are needed.
	cut func(stored []byte) int
	// serial makes the decoder that reads the rest of the file on the reader's goroutine.
	serial func(rest io.Reader) (io.Reader, error)
	last   bool      // no more units are cut
	rest   io.Reader // decodes the rest of the file; nil: units are still decoded
	ahead  ahead
}

// Read implements io.Reader.
func (m *membersReader) Read(p []byte) (int, error) {
	for m.rest == nil {
		if m.ahead.unit != nil {
			if n := m.ahead.read(p); n > 0 {
				return n, nil
			}
		}
		if err := m.next(); err != nil {
			return 0, err
		}
	}
	return m.rest.Read(p)
}

// next passes units to the helpers, and takes the next unit that is decoded. If there is none, or
// it could not be decoded, it makes the decoder of the rest of the file.
func (m *membersReader) next() error {
	for !m.last && m.ahead.wants() {
		n := m.unitBytes()
		if m.last = n == 0; m.last {
			break
		}
		u := m.ahead.take()
		u.stored = append(u.stored, m.buf[m.at:m.at+n]...)
		m.at += n
		m.ahead.hand(u)
	}
	var stored [][]byte
	if len(m.ahead.queue) > 0 {
		u := m.ahead.pop()
		if u.ok {
			m.ahead.unit = u
			return nil
		}
		stored = append(stored, u.stored)
	}
	// Later units are decoded again, even if helpers have decoded them. So the error of this unit
	// comes after the same bytes as without helpers.
	for len(m.ahead.queue) > 0 {
		stored = append(stored, m.ahead.pop().stored)
	}
	stored = append(stored, m.buf[m.at:])
	m.ahead.close()
	if m.at == len(m.buf) && len(stored) == 1 && m.srcErr == io.EOF {
		return io.EOF
	}
	var err error
	m.rest, err = m.serial(io.MultiReader(bytes.NewReader(slices.Concat(stored...)), &ending{m.src, m.srcErr}))
	m.buf, m.at = nil, 0
	return err
}

// unitBytes reads the next unit into buf, and returns its length; 0: there is none. It reads little
// at a time, so that helpers get small units early. The rest of a file is a unit too, unless no
// unit is in the queue: alone it is not worth a helper.
func (m *membersReader) unitBytes() int {
	// Each round searches twice as many bytes, so that all rounds together cost twice the last one.
	for most := 2 * leastStoredBytes; ; most *= 2 {
		m.fill(most)
		stored := m.buf[m.at:]
		n := m.cut(stored)
		switch {
		case n > 0:
			return n
		case m.srcErr == io.EOF && len(m.ahead.queue) > 0:
			return len(stored)
		case m.srcErr != nil || len(stored) >= mostStoredBytes:
			return 0
		}
	}
}

// fill reads until buf has the given number of bytes behind at, or src has ended.
func (m *membersReader) fill(bytes int) {
	const leastBytes = 1 << 20 // so that bytes are rarely moved to the front of buf
	// Units have copies of the bytes before at.
	if cap(m.buf)-m.at < bytes {
		m.buf, m.at = m.buf[:copy(m.buf, m.buf[m.at:])], 0
		m.buf = slices.Grow(m.buf, max(bytes, leastBytes)-len(m.buf))
	}
	for len(m.buf)-m.at < bytes && m.srcErr == nil {
		var n int
		n, m.srcErr = m.src.Read(m.buf[len(m.buf):cap(m.buf)])
		m.buf = m.buf[:len(m.buf)+n]
	}
}

// ending is a reader that has ended with err. If err is nil, it reads from r.
type ending struct {
	r   io.Reader
	err error
}

// Read returns err, or reads from r.
func (e *ending) Read(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	return e.r.Read(p)
}

// Bounds on a unit of members or frames. leastStoredBytes is for small ones: passing a unit to a
// helper costs as much as decoding some KB.
const (
	leastStoredBytes = 128 << 10
	mostStoredBytes  = 4 << 20
	mostTextBytes    = 8 << 20
)

// cutGzip returns the first place behind leastStoredBytes at which a member seems to begin; 0:
// there is none. Compressed data may look like the start of a member by chance. A helper cannot
// decode such a unit.
func cutGzip(stored []byte) int {
	for at := leastStoredBytes; at+10 <= len(stored); at++ {
		i := bytes.Index(stored[at:], []byte(gzipMagic))
		if i < 0 || at+i+10 > len(stored) {
			break
		}
		at += i
		flags := stored[at+3]
		level := stored[at+8]
		system := stored[at+9]
		// The reserved flags are 0, and the other two bytes have few values (RFC 1952, 2.3.1).
		if flags < 0x20 && (level == 0 || level == 2 || level == 4) && (system < 14 || system == 255) {
			return at
		}
	}
	return 0
}

// gzipDecoder makes a decoder of units of gzip members. It makes room for four times the stored bytes, which
// suffices for usual text.
func gzipDecoder() decoder {
	var zr gzip.Reader
	return func(stored, dst []byte) ([]byte, bool) {
		if zr.Reset(bytes.NewReader(stored)) != nil {
			return dst, false
		}
		return appendAll(slices.Grow(dst, min(4*len(stored), mostTextBytes)+roomBytes), &zr, mostTextBytes)
	}
}

// cutZstd returns the length of the whole frames at the start of stored that make a unit. It returns
// 0 if there is no whole frame, or if its text is too long.
func cutZstd(stored []byte) int {
	at, text := 0, uint64(0)
	for at < leastStoredBytes && at < len(stored) {
		n, size, ok := zstdFrame(stored[at:])
		// A header may lack the size of its text, which counts as 0 here. DecodeAll checks the limit
		// too.
		if text += size; !ok || text > mostTextBytes {
			break
		}
		at += n
	}
	return at
}

// zstdFrame returns the length of the frame at the start of stored, and the length of its text if
// the header has it. ok is false if stored does not have the whole frame.
func zstdFrame(stored []byte) (n int, textBytes uint64, ok bool) {
	const headerBytes, blockHeaderBytes, checksumBytes = 18, 3, 4
	var h zstd.Header
	if err := h.Decode(stored[:min(len(stored), headerBytes)]); err != nil {
		return 0, 0, false
	}
	n = h.HeaderSize
	if h.Skippable {
		// The bound keeps the sum within an int. A longer frame is not a unit in any case.
		n += int(min(h.SkippableSize, math.MaxInt32))
		return n, 0, n <= len(stored)
	}
	for last := false; !last; {
		if n+blockHeaderBytes > len(stored) {
			return 0, 0, false
		}
		block := int(stored[n]) | int(stored[n+1])<<8 | int(stored[n+2])<<16
		last = block&1 != 0
		n += blockHeaderBytes
		if kind := block >> 1 & 3; kind == 1 {
			n++ // an RLE block stores one byte
		} else {
			n += block >> 3
		}
	}
	if h.HasCheckSum {
		n += checksumBytes
	}
	return n, h.FrameContentSize, n <= len(stored)
}

// zstdDecoder returns a function that makes a decoder of units of zstd frames with windows of up to the given
// number of bytes.
func zstdDecoder(windowBytes uint64) func() decoder {
	return func() decoder {
		// The limit of DecodeAll is the capacity of its buffer, so no text beyond it is allocated.
		zr, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowBytes), zstd.WithDecodeAllCapLimit(true))
		return func(stored, dst []byte) ([]byte, bool) {
			if err != nil {
				return dst, false
			}
			text, err := zr.DecodeAll(stored, slices.Grow(dst, mostTextBytes))
			return text, err == nil
		}
	}
}
