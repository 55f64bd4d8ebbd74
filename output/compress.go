package output

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"mrlocal/internal/errs"
)

// This file compresses results. A Compressor compresses a text on the goroutine that writes it,
// for example a part file on the thread of its attempt. A packQueue compresses several blocks of a text
// at a time, and writes them in order.
//
// Both write a sequence of gzip members or zstd frames, called blocks here. Each block has 1 MiB of
// text; the last one may have less. The bytes depend only on the text, not on the number of threads.
//
// Memory: both copy or compress a []byte before the method returns.

// Format says how a result is compressed.
type Format uint8

// The formats. BySuffix is the default: the name of the file decides. If it ends in .gz or
// .zst, the result is compressed. A directory has no suffix, so it is not compressed.
const (
	BySuffix Format = iota
	None
	Gzip
	Zstd
)

// Suffix returns the end of the names of compressed files, as in Hadoop.
func (c Format) Suffix() string {
	switch c {
	case Gzip:
		return ".gz"
	case Zstd:
		return ".zst"
	}
	return ""
}

// Of returns the format of a result in the given file; "" means that the result is not one
// file. It never returns BySuffix. If c is BySuffix and the suffix names a format that mrlocal
// cannot write, Of fails with an options error.
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
		return None, wrong(file, "a result is not written as %s; end the name in .gz or .zst, or set %s", suffix, errs.Field("Options.CompressOutput"))
	}
	return None, nil
}

const (
	// compressBlockBytes is the length of the text of a block, a gzip member or a zstd frame. Every
	// decoder reads a sequence of them as one file. So blocks are compressed independently, and
	// the bytes of a result depend only on its text.
	compressBlockBytes = 1 << 20

	// EncoderBytes is the most memory that an encoder and its buffer take.
	EncoderBytes = 2 << 20

	zstdWindowBytes   = 512 << 10 // an encoder keeps twice as many bytes
	packedBufferBytes = 32 << 10  // bytes; gathers the small writes of encoders
)

// encoder is the common part of gzip.Writer and zstd.Encoder. Close ends a block. Reset begins
// one, also after an error.
type encoder interface {
	io.WriteCloser
	Reset(io.Writer)
}

// Compressor compresses text in blocks of compressBlockBytes. Only one goroutine may use it.
type Compressor struct {
	w       *bufio.Writer
	encoder encoder
	left    int  // bytes of text that still fit in the open block; 0: no block is open
	some    bool // a block was begun
}

// NewCompressor makes a Compressor of format c, Gzip or Zstd, that writes to w.
func NewCompressor(c Format, w io.Writer) (*Compressor, error) {
	m := &Compressor{w: bufio.NewWriterSize(w, packedBufferBytes)}
	var err error
	switch c {
	case Gzip:
		// The next levels of gzip take twice the time and save a tenth of the size.
		m.encoder, err = gzip.NewWriterLevel(m.w, gzip.BestSpeed)
	case Zstd:
		m.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(zstdWindowBytes), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
	default:
		err = fmt.Errorf("output: compression %d has no encoder", c)
	}
	return m, err
}

// reset lets m begin a new text, which goes to w. It keeps the memory of the encoder.
func (m *Compressor) reset(w io.Writer) {
	m.w.Reset(w)
	m.left, m.some = 0, false
}

// Write compresses text. It returns how many bytes of text it has taken.
func (m *Compressor) Write(text []byte) (int, error) {
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

// begin begins a block.
func (m *Compressor) begin() {
	m.encoder.Reset(m.w)
	m.left, m.some = compressBlockBytes, true
}

// Close ends the last block and writes it out. An empty text becomes a block without text,
// because a decoder refuses an empty file. Close does not close the underlying writer.
func (m *Compressor) Close() error {
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
