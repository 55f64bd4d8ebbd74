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
// goroutines. A unit is some whole members or frames that follow each other. A unit
// that is too large, or that a helper cannot decode, ends that. A decoder of the
// whole file goes on there, and meets the same bytes as without helpers.
type membersReader struct {
	src    *bufio.Reader
	srcErr error  // how src ended
	buf    []byte // of the file; from at on, it is behind all units
	at     int
	// How many bytes at the start of stored are a unit; 0: none, or more bytes are needed.
	cut func(stored []byte) int
	// Makes the decoder that goes on behind the units, on the reader's goroutine.
	serial func(rest io.Reader) (io.Reader, error)
	last   bool // no more units are cut
	unit   *unit
	sent   int       // bytes of unit
	rest   io.Reader // decodes the rest of the file
	ahead  ahead
}

// Read implements io.Reader.
func (m *membersReader) Read(p []byte) (int, error) {
	for m.rest == nil {
		if m.unit != nil {
			if n := copy(p, m.unit.text[m.sent:]); n > 0 {
				m.sent += n
				return n, nil
			}
			m.ahead.idle, m.unit = append(m.ahead.idle, m.unit), nil
		}
		if err := m.next(); err != nil {
			return 0, err
		}
	}
	return m.rest.Read(p)
}

// next takes the next unit, or goes over to the decoder of the rest.
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
		// The text of a unit is handed out only after all units before it.
		if u.ok {
			m.unit, m.sent = u, 0
			return nil
		}
		stored = append(stored, u.stored)
	}
	// Later units may have been decoded well. They are decoded again, so that an error comes
	// after the same bytes as without helpers.
	for len(m.ahead.queue) > 0 {
		stored = append(stored, m.ahead.pop().stored)
	}
	stored = append(stored, m.buf[m.at:])
	// From here on no helper reads the stored bytes of a unit.
	m.ahead.close()
	if m.at == len(m.buf) && len(stored) == 1 && m.srcErr == io.EOF {
		return io.EOF
	}
	var err error
	m.rest, err = m.serial(io.MultiReader(bytes.NewReader(slices.Concat(stored...)), &ending{m.src, m.srcErr}))
	m.buf, m.at = nil, 0
	return err
}

// unitBytes returns the length of the next unit, whose bytes are in buf then; 0: there
// is none. It reads little at a time, so that small units are handed out early. What
// the file ends with may be whole members too; alone, it is not worth a helper.
func (m *membersReader) unitBytes() int {
	// Each round looks at twice as many bytes, so that all rounds together cost twice the last.
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

// fill reads until buf has so many bytes that are in no unit.
func (m *membersReader) fill(bytes int) {
	const leastBytes = 1 << 20 // so that bytes move to the front of buf rarely
	// Units have copies of their own, so the bytes before at are free.
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

// ending is a reader that has ended with err, unless that is nil.
type ending struct {
	r   io.Reader
	err error
}

// Read fails with err if that is not nil.
func (e *ending) Read(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	return e.r.Read(p)
}

const (
	// A unit of small members or frames has this length at least, because handing it
	// over costs as much as decoding some KB.
	leastStoredBytes = 128 << 10
	mostStoredBytes  = 4 << 20
	mostTextBytes    = 8 << 20
)

// cutGzip returns where a member seems to begin, behind some others, in stored; 0:
// nowhere. Compressed data may look like a member by chance. Then a helper cannot
// decode the unit.
func cutGzip(stored []byte) int {
	for at := leastStoredBytes; at+10 <= len(stored); at++ {
		i := bytes.Index(stored[at:], []byte(gzipMagic))
		if i < 0 || at+i+10 > len(stored) {
			break
		}
		at += i
		flags, level, system := stored[at+3], stored[at+8], stored[at+9]
		// The reserved flags are 0, and the other two bytes have few values (RFC 1952, 2.3.1).
		if flags < 0x20 && (level == 0 || level == 2 || level == 4) && (system < 14 || system == 255) {
			return at
		}
	}
	return 0
}

// roomBytes are behind the text of a unit, for the read that finds the end.
const roomBytes = 4 << 10

// helpGzip decodes units of gzip members.
// Four times the stored bytes is room for usual text; unzip grows it where that is too little.
func helpGzip(work <-chan *unit) {
	var zr gzip.Reader
	for u := range work {
		u.text, u.ok = unzip(&zr, u.stored, slices.Grow(u.text, min(4*len(u.stored), mostTextBytes)+roomBytes))
		u.done <- struct{}{}
	}
}

// unzip appends the text of whole members to dst.
func unzip(zr *gzip.Reader, stored, dst []byte) (text []byte, ok bool) {
	r := bytes.NewReader(stored)
	for r.Len() > 0 {
		if err := zr.Reset(r); err != nil {
			return dst, false
		}
		zr.Multistream(false)
		for {
			dst = slices.Grow(dst, roomBytes)
			n, err := zr.Read(dst[len(dst):cap(dst)])
			dst = dst[:len(dst)+n]
			if err == io.EOF {
				break
			}
			// More text than this was not charged for. The reader decodes such a unit itself.
			if err != nil || len(dst) > mostTextBytes {
				return dst, false
			}
		}
	}
	return dst, true
}

// cutZstd returns the length of whole frames at the start of stored; 0: they cannot
// be a unit.
func cutZstd(stored []byte) int {
	at, text := 0, uint64(0)
	for at < leastStoredBytes && at < len(stored) {
		n, size, ok := zstdFrame(stored[at:])
		// A frame whose header does not give its size counts as 0 here; DecodeAll then keeps to the limit.
		if text += size; !ok || text > mostTextBytes {
			break
		}
		at += n
	}
	return at
}

// zstdFrame returns the length of the frame that stored begins with, and of its text
// if the frame gives it. ok is false if the frame is not whole.
func zstdFrame(stored []byte) (n int, textBytes uint64, ok bool) {
	const headerBytes, blockHeaderBytes, checksumBytes = 18, 3, 4
	var h zstd.Header
	if err := h.Decode(stored[:min(len(stored), headerBytes)]); err != nil {
		return 0, 0, false
	}
	n = h.HeaderSize
	if h.Skippable {
		// The bound keeps the sum an int. Such a frame is longer than any unit anyway.
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
			n++ // one byte, repeated
		} else {
			n += block >> 3
		}
	}
	if h.HasCheckSum {
		n += checksumBytes
	}
	return n, h.FrameContentSize, n <= len(stored)
}

// helpZstd returns a helper that decodes units of zstd frames with windows of up to
// so many bytes.
func helpZstd(windowBytes uint64) func(work <-chan *unit) {
	return func(work <-chan *unit) {
		// The limit of DecodeAll is the capacity of its buffer, so no text beyond it is allocated.
		zr, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowBytes), zstd.WithDecodeAllCapLimit(true))
		if err == nil {
			defer zr.Close()
		}
		for u := range work {
			if u.ok = err == nil; u.ok {
				var failed error
				u.text, failed = zr.DecodeAll(u.stored, slices.Grow(u.text, mostTextBytes))
				u.ok = failed == nil
			}
			u.done <- struct{}{}
		}
	}
}
