package codec

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

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
