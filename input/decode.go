package input

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

const (
	readBytes = 256 << 10
	// freeWindowBytes is what a decoder may keep without being charged: the
	// window that every zstd decoder should grant (RFC 8878, 3.1.1.1.2).
	freeWindowBytes = 8 << 20
)

// decoders are a reader's decoders, each made once and reset for every file:
// 100,000 small files are decoded without making 100,000 of them. None starts
// a goroutine.
type decoders struct {
	buf     *bufio.Reader
	gzip    *gzipMembers
	zstd    *zstd.Decoder
	zstdMax uint64 // window that zstd was made for
	s2      *s2.Reader
	mem     Memory
	release [S2 + 1]func() // of what each codec's decoder is charged
}

// stored counts what is read of a file as it is stored.
type stored struct {
	r     io.Reader
	bytes int64
	ended bool
}

func (s *stored) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.bytes += int64(n)
	s.ended = s.ended || err == io.EOF
	return n, err
}

// open recognises and decodes r. The result is valid until the next open.
func (d *decoders) open(r io.Reader) (io.Reader, Codec, error) {
	if d.buf == nil {
		d.buf = bufio.NewReaderSize(nil, readBytes)
	}
	d.buf.Reset(r)
	head, err := d.buf.Peek(headBytes)
	if err != nil && err != io.EOF {
		return nil, None, err
	}
	codec := detect(head)
	switch codec {
	case Gzip:
		if d.gzip == nil {
			d.gzip = &gzipMembers{src: d.buf}
		}
		return d.gzip, codec, d.gzip.reset()
	case Bzip2:
		return bzip2.NewReader(d.buf), codec, d.charge(Bzip2, 4<<20)
	case Zstd:
		zr, err := d.openZstd(head)
		return zr, codec, err
	case S2:
		if d.s2 == nil {
			if err := d.charge(S2, freeWindowBytes); err != nil {
				return nil, codec, err
			}
			d.s2 = s2.NewReader(d.buf, s2.ReaderAllocBlock(64<<10))
		}
		d.s2.Reset(d.buf)
		return d.s2, codec, nil
	}
	return d.buf, None, nil
}

// openZstd makes the window as large as the first frame wants it, for a
// decoder's memory is as large as its window.
func (d *decoders) openZstd(head []byte) (io.Reader, error) {
	var header zstd.Header
	window := uint64(freeWindowBytes)
	if err := header.Decode(afterSkippable(head)); err == nil {
		window = max(window, header.WindowSize)
	}
	if d.zstd == nil || window > d.zstdMax {
		if d.zstd != nil {
			d.zstd.Close()
			d.zstd = nil
		}
		d.uncharge(Zstd)
		if err := d.charge(Zstd, int64(min(window, 1<<40))); err != nil {
			return nil, err
		}
		zr, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, err
		}
		d.zstd, d.zstdMax = zr, window
	}
	return d.zstd, d.zstd.Reset(d.buf)
}

// charge asks, once, for memory that a codec's decoder keeps on the heap.
func (d *decoders) charge(codec Codec, bytes int64) error {
	if d.release[codec] != nil {
		return nil
	}
	if c, ok := d.mem.(Charger); ok {
		release, err := c.Charge(bytes)
		if err == nil {
			d.release[codec] = release
			return nil
		}
		if bytes > freeWindowBytes {
			return &windowError{bytes, err}
		}
		return nil
	}
	if bytes > freeWindowBytes {
		return &windowError{bytes, errors.New("only 8 MiB are allowed")}
	}
	return nil
}

func (d *decoders) uncharge(codec Codec) {
	if d.release[codec] != nil {
		d.release[codec]()
		d.release[codec] = nil
	}
}

// windowError is memory that a decoder cannot have.
type windowError struct {
	bytes int64
	err   error
}

func (e *windowError) Error() string {
	return fmt.Sprintf("decoding needs a window of %d MiB: %v", e.bytes>>20, e.err)
}

func (e *windowError) Unwrap() error { return e.err }

func (d *decoders) close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
	for codec := range d.release {
		d.uncharge(Codec(codec))
	}
	*d = decoders{}
}

// gzipMembers reads the members of a gzip file one after the other (RFC 1952,
// 2.2). As with GNU zcat zeros may follow the last one, as tapes leave them;
// anything else is an error.
type gzipMembers struct {
	src *bufio.Reader
	zr  *gzip.Reader
	err error
}

var errGarbage = errors.New("what follows is not gzip")

func (g *gzipMembers) reset() (err error) {
	g.err = nil
	if g.zr == nil {
		g.zr, err = gzip.NewReader(g.src)
	} else {
		err = g.zr.Reset(g.src)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		g.zr.Multistream(false)
	}
	return err
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	for g.err == nil {
		n, err := g.zr.Read(p)
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

// member goes on to the next member: io.EOF when there is none.
func (g *gzipMembers) member() error {
	head, err := g.src.Peek(2)
	switch {
	case len(head) == 0 || err != nil && err != io.EOF:
		return err
	case head[0] == gzipMagic[0]:
		return g.reset()
	}
	for {
		b, err := g.src.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			return errGarbage
		}
	}
}
