// Package compress compresses results. A Writer compresses one text as it comes, as a part file
// does on the thread of its attempt. A Queue compresses several blocks of a text at a time, and
// writes them in order.
//
// What they write is a sequence of gzip members or zstd frames, each of 1 MiB of text (the last
// one of less). The bytes depend on the text alone, and not on how or by how many threads it was
// compressed.
package compress

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"mrlocal/errs"
)

// Format says how a result is compressed.
type Format uint8

// BySuffix is the default: a file whose name ends in .gz or .zst is compressed, and nothing
// else is. A directory has no suffix.
const (
	BySuffix Format = iota
	None
	Gzip
	Zstd
)

// Suffix returns what the name of a compressed file ends in, as in Hadoop.
func (c Format) Suffix() string {
	switch c {
	case Gzip:
		return ".gz"
	case Zstd:
		return ".zst"
	}
	return ""
}

// Of returns the compression of a result in a file of this name; "" is no file. It is never
// BySuffix. A suffix that promises a format that cannot be written is an options error,
// unless c itself names a compression.
func (c Format) Of(file string) (Format, error) {
	if c != BySuffix {
		return c, nil
	}
	switch suffix := strings.ToLower(filepath.Ext(file)); suffix {
	case ".gz":
		return Gzip, nil
	case ".zst":
		return Zstd, nil
	case ".bz2", ".xz", ".lz4", ".lzma", ".lz", ".lzo", ".br", ".z", ".zip", ".7z", ".rar", ".s2", ".sz", ".snappy",
		".gzip", ".zstd", ".tgz", ".tbz2", ".txz", ".tzst":
		return None, errs.Optionf("output "+errs.OneLine(file), "a result is not written as %s; end the name in .gz or .zst, or set Options.CompressOutput", suffix)
	}
	return None, nil
}

const (
	// blockBytes of text make a gzip member or a zstd frame. A result is a sequence of those,
	// which every decoder takes for one file. So blocks are compressed independently of each
	// other, and the bytes of a result depend on its text alone.
	blockBytes = 1 << 20

	// EncoderBytes is what an encoder and its buffer take at most.
	EncoderBytes = 2 << 20

	zstdWindowBytes  = 512 << 10 // an encoder keeps twice as much
	packedBufferSize = 32 << 10  // bytes; encoders write a few bytes at a time
)

// encoder is what gzip.Writer and zstd.Encoder have in common. Close ends a member; Reset
// begins one, also after an error.
type encoder interface {
	io.WriteCloser
	Reset(io.Writer)
}

// Writer writes text as members of blockBytes of text each. One goroutine uses it.
type Writer struct {
	w       *bufio.Writer
	encoder encoder
	left    int  // bytes of text that the open member still takes; 0: none is open
	some    bool // a member was begun
}

// NewWriter makes a Writer of Gzip or Zstd that writes to w.
func NewWriter(c Format, w io.Writer) (*Writer, error) {
	m := &Writer{w: bufio.NewWriterSize(w, packedBufferSize)}
	var err error
	switch c {
	case Gzip:
		// The fastest level: the next ones take twice the time for a tenth of the size.
		m.encoder, err = gzip.NewWriterLevel(m.w, gzip.BestSpeed)
	case Zstd:
		m.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(zstdWindowBytes), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
	default:
		err = fmt.Errorf("output: compression %d has no encoder", c)
	}
	return m, err
}

// reset makes m write to another writer, as if it were new.
func (m *Writer) reset(w io.Writer) {
	m.w.Reset(w)
	m.left, m.some = 0, false
}

// Write compresses text.
func (m *Writer) Write(text []byte) (int, error) {
	written := 0
	for len(text) > 0 {
		if m.left == 0 {
			m.begin()
		}
		n := min(len(text), m.left)
		if _, err := m.encoder.Write(text[:n]); err != nil {
			return written, err
		}
		written, text = written+n, text[n:]
		if m.left -= n; m.left == 0 {
			if err := m.encoder.Close(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// begin begins a member.
func (m *Writer) begin() {
	m.encoder.Reset(m.w)
	m.left, m.some = blockBytes, true
}

// Close ends the last member. An empty text is a member without text, so that decoders take
// the result for what its name says. It does not close the writer below.
func (m *Writer) Close() error {
	if !m.some {
		m.begin()
		if _, err := m.encoder.Write(nil); err != nil { // gzip writes its header with the first Write
			return err
		}
	}
	if m.left > 0 {
		m.left = 0
		if err := m.encoder.Close(); err != nil {
			return err
		}
	}
	return m.w.Flush()
}

// decompress returns a reader of the text of the first members of r.
func decompress(c Format, r io.Reader) (io.ReadCloser, error) {
	if c == Gzip {
		return gzip.NewReader(r)
	}
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindowBytes))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}
