package codec

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
)

// gzipMembers reads the members of a gzip file one after the other (RFC 1952, 2.2). Zeros may
// follow the last one: tapes leave them, and GNU zcat accepts them. If other bytes follow, the data
// ends with errGarbage. If a member follows the zeros, errBehind fails the file, because the text
// of that member would be lost.
type gzipMembers struct {
	src     *bufio.Reader
	inflate io.ReadCloser // also a flate.Resetter
	sum     uint32        // CRC-32 of the text of the member so far
	bytes   uint32        // its length, modulo 2^32
	err     error
}

// errGarbage reports that bytes other than zeros follow the last member.
var errGarbage = errors.New("what follows is not gzip")

// errBehind reports that a member follows zeros.
var errBehind = errors.New("zeros stand between two members")

// reset begins a member at the start of src. If src ends here, the file is cut short, because the
// caller has read the magic of a member.
func (g *gzipMembers) reset() (err error) {
	g.err, g.sum, g.bytes = nil, 0, 0
	if err = readGzipHeader(g.src); err != nil {
		return inside(err)
	}
	if g.inflate == nil {
		g.inflate = flate.NewReader(g.src)
	}
	return g.inflate.(flate.Resetter).Reset(g.src, nil)
}

// Read reads text, from one member to the next. It skips empty members.
func (g *gzipMembers) Read(p []byte) (int, error) {
	for g.err == nil {
		n, err := g.inflate.Read(p)
		g.sum = crc32.Update(g.sum, crc32.IEEETable, p[:n])
		g.bytes += uint32(n)
		if err == io.EOF {
			err = g.member()
		}
		g.err = err
		if n > 0 {
			return n, nil
		}
	}
	return 0, g.err
}

// member checks the end of the member, and begins the next one. It returns io.EOF if there is none.
func (g *gzipMembers) member() error {
	var end [8]byte
	if _, err := io.ReadFull(g.src, end[:]); err != nil {
		return inside(err)
	}
	if binary.LittleEndian.Uint32(end[:]) != g.sum || binary.LittleEndian.Uint32(end[4:]) != g.bytes {
		return gzip.ErrChecksum
	}
	head, err := g.src.Peek(2)
	switch {
	case len(head) == 0 || err != nil && err != io.EOF:
		return err
	case string(head) == gzipMagic[:2]:
		return g.reset()
	case string(head) == gzipMagic[:1]: // the file ends behind the first byte of a member
		return io.ErrUnexpectedEOF
	}
	for {
		b, err := g.src.ReadByte()
		if err != nil {
			return err
		}
		if b == 0 {
			continue
		}
		if next, err := g.src.Peek(2); err == nil && b == gzipMagic[0] && string(next) == gzipMagic[1:] {
			return errBehind
		}
		return errGarbage
	}
}

// The flags of a gzip header (RFC 1952, 2.3.1).
const (
	gzipHeaderCRC = 1 << 1
	gzipExtra     = 1 << 2
	gzipName      = 1 << 3
	gzipComment   = 1 << 4
	gzipReserved  = 0xe0
)

// readGzipHeader reads the header of a member. Its name and its comment may have any length; package gzip
// refuses those of more than 511 bytes.
func readGzipHeader(src *bufio.Reader) error {
	var header [10]byte
	sum := crc32.NewIEEE()
	r := io.TeeReader(src, sum)
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return err
	}
	flags := header[3]
	var two [2]byte
	if string(header[:3]) != gzipMagic || flags&gzipReserved != 0 {
		return gzip.ErrHeader
	}
	if flags&gzipExtra != 0 {
		if _, err := io.ReadFull(r, two[:]); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, r, int64(binary.LittleEndian.Uint16(two[:]))); err != nil {
			return err
		}
	}
	for _, flag := range [...]byte{gzipName, gzipComment} {
		// A byte of NUL ends the text.
		for one := two[:1]; flags&flag != 0; {
			if _, err := io.ReadFull(r, one); err != nil {
				return err
			}
			if one[0] == 0 {
				break
			}
		}
	}
	if flags&gzipHeaderCRC != 0 {
		want := uint16(sum.Sum32())
		if _, err := io.ReadFull(src, two[:]); err != nil {
			return err
		}
		if binary.LittleEndian.Uint16(two[:]) != want {
			return gzip.ErrHeader
		}
	}
	return nil
}

// membersReader decodes a file of many gzip members on several goroutines. A unit is some whole
// members that follow each other. If a unit would be too large, or a helper cannot decode it, a
// decoder on the reader's goroutine reads the rest of the file. It reads the same bytes as without
// helpers, so it finds the same errors.
type membersReader struct {
	from *bufio.Reader // the file
	src  *bufio.Reader // reads from `from`, and has room for the longest unit; nil: rest reads from there
	// serial makes the decoder that reads the rest of the file on the reader's goroutine.
	serial func(rest io.Reader) (io.Reader, error)
	last   bool      // there are no more units
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
func (m *membersReader) next() (err error) {
	for !m.last && m.ahead.wants() {
		members := m.unit()
		if m.last = len(members) == 0; m.last {
			break
		}
		u := m.ahead.take()
		u.stored = append(u.stored, members...)
		m.ahead.hand(u)
		_, _ = m.src.Discard(len(members)) // they are in its buffer, so this cannot fail
	}
	var stored []byte
	if m.ahead.queue.Len() > 0 {
		u := m.ahead.queue.Take()
		if u.ok {
			m.ahead.unit = u
			return nil
		}
		stored = u.stored
	} else if _, err := m.src.Peek(1); err == io.EOF {
		m.ahead.close()
		return io.EOF
	}
	// Later units are decoded again, even if helpers have decoded them. So the error of this unit
	// comes after the same bytes as without helpers.
	for m.ahead.queue.Len() > 0 {
		stored = append(stored, m.ahead.queue.Take().stored...)
	}
	buffered, _ := m.src.Peek(m.src.Buffered())
	stored = append(stored, buffered...)
	m.ahead.close()
	m.src = nil // its memory is given back
	m.rest, err = m.serial(io.MultiReader(bytes.NewReader(stored), m.from))
	return err
}

// unit returns the next unit, which stays in src; none: there is no more. It searches few bytes at first, so that
// helpers get small units early. The rest of a file is a unit too, unless no unit is in the queue: alone it is not
// worth a helper.
func (m *membersReader) unit() []byte {
	// Each round searches twice as many bytes, so that all rounds together cost twice the last one.
	for most := 2 * leastStoredBytes; ; most *= 2 {
		stored, err := m.src.Peek(most)
		n := cutGzip(stored)
		switch {
		case n > 0:
			return stored[:n]
		case err == io.EOF && m.ahead.queue.Len() > 0:
			return stored
		case err != nil || most >= mostStoredBytes:
			return nil
		}
	}
}

// Bounds on a unit of members. leastStoredBytes is for small ones: passing a unit to a
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
