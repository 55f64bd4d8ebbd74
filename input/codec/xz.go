package codec

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// xzReader decodes .xz files ("The .xz File Format", version 1.2.1). A file is a sequence of streams with zeros
// between them. Package xz decodes each stream.
//
// The first block of a stream says how large its dictionary is. That memory is charged before the stream is decoded.
// No known program gives a later block of a stream a larger dictionary.
type xzReader struct {
	src    xzSource
	window func(bytes int64) error // charges for the memory of a dictionary
	stream *xz.Reader              // nil: no stream is open
	some   bool                    // a stream was opened
	err    error
}

const (
	xzMagic  = "\xfd7zXZ\x00"
	xzLZMA2  = 0x21
	xzBehind = "xz: unexpected data after stream" // text of the library's error for a byte behind the only stream
)

// xzSource passes the bytes of a stream on. For its reader, the end of the file is never the end of a stream. So only
// whole streams end without an error.
type xzSource struct {
	*bufio.Reader
	ended bool // the file has ended
}

func (s *xzSource) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.ended = err == io.EOF
	return n, inside(err)
}

// inside returns the error of a read that must not meet the end of the file.
func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (x *xzReader) reset(src *bufio.Reader) {
	*x = xzReader{src: xzSource{Reader: src}, window: x.window}
}

func (x *xzReader) Read(p []byte) (int, error) {
	for x.err == nil {
		if x.stream == nil {
			x.err = x.open()
			continue
		}
		n, err := x.stream.Read(p)
		if x.err = err; err != nil && err.Error() == xzBehind {
			x.err, x.stream = nil, nil
			if !x.src.ended {
				x.err = x.src.UnreadByte()
			}
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, x.err
}

// open opens the next stream. It returns io.EOF if there is none.
func (x *xzReader) open() error {
	const mostHead = 12 + 1024 // of a stream and of its first block
	var head []byte
	for {
		var err error
		if head, err = x.src.Peek(mostHead); len(head) == 0 || err != nil && err != io.EOF {
			return err
		}
		if !x.some || len(head) < 4 || binary.LittleEndian.Uint32(head) != 0 {
			break
		}
		_, _ = x.src.Discard(4) // Peek has read them
	}
	if x.some = true; len(head) >= len(xzMagic) && string(head[:len(xzMagic)]) != xzMagic {
		return errors.New("what follows is not xz")
	}
	if len(head) > 12 && head[12] > 0 { // else the stream has no blocks
		dictionary, err := xzDictionary(head[13:])
		if err == nil {
			err = x.window(dictionary)
		}
		if err != nil {
			return err
		}
	}
	var err error
	x.stream, err = xz.ReaderConfig{DictCap: lzma.MinDictCap, SingleStream: true}.NewReader(&x.src)
	return err
}

// xzDictionary returns the size of the dictionary that a block needs. head has the header of the block without its
// first byte. If it is cut short or damaged, xzDictionary returns 0, and the library finds the error.
func xzDictionary(head []byte) (bytes int64, err error) {
	if len(head) < 1 {
		return 0, nil
	}
	flags, rest := head[0], head[1:]
	number := func() uint64 {
		n, length := binary.Uvarint(rest)
		rest = rest[max(length, 0):]
		return n
	}
	for _, size := range []byte{0x40, 0x80} { // of the stored and of the decoded bytes
		if flags&size != 0 {
			number()
		}
	}
	filter := number()
	number() // the length of the properties, which is 1
	switch {
	case len(rest) == 0:
		return 0, nil
	case flags&0x3f != 0 || filter != xzLZMA2:
		return 0, &refusedError{errors.New("filters before LZMA2 are not supported")}
	}
	bytes, _ = lzma.DecodeDictCap(rest[0])
	return max(bytes, lzma.MinDictCap), nil
}
