package codec

import (
	"bufio"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"mrlocal/internal/errs"
)

const (
	// readBytes is the buffer in front of each decoder.
	readBytes = 256 << 10
	// freeWindowBytes is the largest window that a decoder takes even if Charge
	// refuses it. Each zstd decoder should accept such a window (RFC 8878,
	// 3.1.1.1.2).
	freeWindowBytes = 8 << 20
)

// Decoders has the decoders of one reader. Each decoder is made once and
// reset for each file, so that 100,000 small files do not make 100,000
// decoders. The zero value works. It belongs to one goroutine.
type Decoders struct {
	// Charge asks for the memory of a window on the Go heap. The Decoders call release
	// when the window is dropped. If Charge is nil, windows of more than 8 MiB are refused.
	Charge func(bytes int64) (release func(), err error)
	// Spare asks for the memory of decoding ahead. If it returns true, goroutines decode
	// parts of the file, and the Decoders call release when these have ended. Spare never
	// waits. If it is nil, nothing is decoded ahead.
	Spare func(bytes int64) (release func(), ok bool)
	// Garbage, if not nil, is called if other bytes than zeros follow the data of a gzip or
	// bzip2 file. The decoder ignores these bytes, as gzip and bzip2 do.
	Garbage func(Codec)
	// UTF16 decodes text that begins with a byte-order mark of UTF-16 to UTF-8, also text that was
	// compressed or is taken as it is.
	UTF16 bool

	// buf serves all files. It may hold bytes that no decoder has read yet.
	buf     *bufio.Reader
	stored  stored
	codec   Codec // of the open file
	gzip    *gzipMembers
	utf16   UTF16Reader
	ahead   *ahead // of the open file; nil: it is decoded without goroutines
	zstd    *zstd.Decoder
	s2      *s2.Reader
	xz      *xzReader
	lz4     *lz4.Reader
	windows [codecs]window // of each codec's decoder
}

// window is the memory that the decoder of a codec keeps on the Go heap. A file that needs a larger
// window replaces it. A file that needs a smaller one uses it as it is.
type window struct {
	bytes   int64
	release func() // nil: nothing was charged
}

// stored counts the stored bytes that are read of a file. Progress is shown in stored bytes,
// because the decoded length is not known.
type stored struct {
	r     io.Reader
	bytes int64
	ended bool                 // r has reported the end of the file
	tail  [bzip2TailBytes]byte // the last bytes that were read
}

// Read reads from r, and counts.
func (s *stored) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.bytes += int64(n)
	if n > 0 {
		last := p[max(0, n-len(s.tail)):n]
		copy(s.tail[:], s.tail[len(last):])
		copy(s.tail[len(s.tail)-len(last):], last)
	}
	s.ended = s.ended || err == io.EOF
	return n, err
}

// Buffered reports whether text can be read without a read from the file. It is meant for a file that
// is not compressed.
func (d *Decoders) Buffered() bool { return d.buf.Buffered() > 0 || d.utf16.Ready() }

// Open returns a reader of the decoded text of r. If asIs is true, nothing is decompressed. The reader is valid until
// the next call of Open or Close. The caller passes errors of Open and of the reader to Explain.
func (d *Decoders) Open(r io.Reader, asIs bool) (io.Reader, error) {
	text, err := d.open(r, asIs)
	if err == nil && (d.codec == Gzip || d.codec == Bzip2) {
		text = &whole{text, d}
	}
	if err == nil && d.UTF16 {
		d.utf16.Reset(text)
		text = &d.utf16
	}
	return text, err
}

// open is Open without the end behind garbage (whole).
func (d *Decoders) open(r io.Reader, asIs bool) (io.Reader, error) {
	if d.buf == nil {
		d.buf = bufio.NewReaderSize(nil, readBytes)
	}
	d.stored, d.codec = stored{r: r}, None
	d.buf.Reset(&d.stored)
	if asIs { // Peek would wait for a pipe whose writer has written less than HeadBytes
		d.Shed()
		return d.buf, nil
	}
	head, err := d.recognise()
	if err != nil {
		return nil, err
	}
	// The helpers of the file before must end first, because their memory is asked for again.
	d.Shed()
	switch d.codec {
	case None:
		return d.buf, nil
	case Gzip:
		if m := (&membersReader{from: d.buf, serial: d.openGzip}); m.ahead.start(demands[Gzip], d.Spare, gzipDecoder) {
			m.src = bufio.NewReaderSize(d.buf, mostStoredBytes)
			d.ahead = &m.ahead
			return m, nil
		}
		return d.openGzip(d.buf)
	case Bzip2:
		if x := (&bzip2Reader{src: d.buf, open: -1, scanLevel: '9'}); x.ahead.start(demands[Bzip2], d.Spare, bzip2Decoder) {
			d.ahead = &x.ahead
			return x, d.window(Bzip2, freeWindowBytes)
		}
		// The decoder's table has 900,000 entries of 4 bytes at most.
		return bzip2.NewReader(d.buf), d.window(Bzip2, 4<<20)
	case Zstd:
		return d.openZstd(zstdWindow(head))
	case S2:
		if d.s2 == nil {
			if err := d.window(S2, freeWindowBytes); err != nil {
				return nil, err
			}
			d.s2 = s2.NewReader(d.buf, s2.ReaderAllocBlock(64<<10))
		}
		d.s2.Reset(d.buf)
		return d.s2, nil
	case XZ:
		if d.xz == nil {
			d.xz = &xzReader{window: func(bytes int64) error { return d.window(XZ, bytes) }}
		}
		d.xz.reset(d.buf)
		return d.xz, nil
	case LZ4:
		if err := d.window(LZ4, lz4Bytes(head)); err != nil {
			return nil, err
		}
		if d.lz4 == nil {
			d.lz4 = lz4.NewReader(nil)
		}
		d.lz4.Reset(d.buf)
		return d.lz4, nil
	}
	return nil, d.codec.Refusal()
}

// recognise sets the codec by the first bytes of the file, and returns these. It reads the skippable frames
// before other data.
func (d *Decoders) recognise() ([]byte, error) {
	// A file shorter than HeadBytes gives all of its bytes, and io.EOF.
	head, err := d.buf.Peek(HeadBytes)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if d.codec = Of(head); d.codec != frames {
		return head, nil
	}
	if head, err = skipFrames(d.buf); err != nil {
		return nil, err
	}
	// A file of skippable frames alone has no text.
	if of, _ := byMagic(head); len(head) == 0 || of == Zstd || of == LZ4 {
		d.codec = of
		return head, nil
	}
	return nil, errUnknownFrame
}

// openGzip returns the decoder of a file of gzip members.
func (d *Decoders) openGzip(r io.Reader) (io.Reader, error) {
	if d.gzip == nil {
		d.gzip = &gzipMembers{}
	}
	d.gzip.src = bufio.NewReaderSize(r, readBytes) // which returns r if it is such a reader already
	return d.gzip, d.gzip.reset()
}

// zstdWindow returns the window that the first frame of a file needs, in bytes.
func zstdWindow(head []byte) uint64 {
	var header zstd.Header
	window := uint64(freeWindowBytes)
	if err := header.Decode(head); err == nil && header.SingleSegment {
		window = max(window, header.FrameContentSize)
	} else if err == nil {
		window = max(window, header.WindowSize)
	}
	return window
}

// openZstd returns a zstd decoder with a window of at least the given number of bytes. It makes a new one if
// the present one has a smaller window.
func (d *Decoders) openZstd(window uint64) (io.Reader, error) {
	bytes := int64(min(window, 1<<40))
	if d.zstd == nil || bytes > d.windows[Zstd].bytes {
		if d.zstd != nil {
			d.zstd.Close()
			d.zstd = nil
		}
		if err := d.window(Zstd, bytes); err != nil {
			return nil, err
		}
		zr, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, err
		}
		d.zstd = zr
	}
	return d.zstd, d.zstd.Reset(d.buf)
}

// window charges the window of the decoder of a codec, unless as many bytes are charged already.
// It fails if they are refused and more than freeWindowBytes.
func (d *Decoders) window(codec Codec, bytes int64) error {
	w := &d.windows[codec]
	if bytes <= w.bytes {
		return nil
	}
	// The decoder with the old window is gone, or the new window replaces the old one in it.
	w.free()
	err := fmt.Errorf("a decoder's window of %d bytes is larger than 8 MiB", bytes)
	if d.Charge != nil {
		w.release, err = d.Charge(bytes)
	}
	// A window that every decoder should accept is taken without a charge, so that a usual file
	// can be read even if memory is short.
	if err != nil && bytes > freeWindowBytes {
		return &refusedError{err}
	}
	w.bytes = bytes
	return nil
}

// free gives back what was charged. It may be called again.
func (w *window) free() {
	if w.release != nil {
		w.release()
	}
	*w = window{}
}

// FileError is the error of a file that cannot be decoded to its end. The file is damaged, or has a
// format that is refused. More memory would not help.
type FileError struct{ error }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.error }

// refusedError is the error of data that is not decoded although it may be sound. Explain returns
// it as it is, and does not call the data corrupt.
type refusedError struct{ error }

// Unwrap returns the reason.
func (e *refusedError) Unwrap() error { return e.error }

// Codec returns the format of the file that was opened last.
func (d *Decoders) Codec() Codec { return d.codec }

// StoredBytes returns how many bytes of the file that was opened last have been read.
func (d *Decoders) StoredBytes() int64 { return d.stored.bytes }

// Ended reports whether the file that was opened last has been read to its end.
func (d *Decoders) Ended() bool { return d.stored.ended }

// Explain turns an error of a decoder into a *FileError for users. It says that the data is corrupt
// or cut short after at decoded bytes. Explain returns errors of the file system, and of a
// file that is not decoded, unchanged.
func (d *Decoders) Explain(err error, at int64) error {
	what := "corrupt"
	switch {
	case d.codec == None || errs.Is[*refusedError](err) || errs.Is[*fs.PathError](err):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		what = "cut short"
	case d.codec == S2 && d.stored.ended: // the decoder of s2 has one error for both
		what = "corrupt or cut short"
	case errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return &FileError{fmt.Errorf("a zstd frame after %s needs a larger window than the first one: %w", errs.Counted(at, "decoded byte"), err)}
	}
	return &FileError{&damage{fmt.Sprintf("%s data is %s after %s", d.codec, what, errs.Counted(at, "decoded byte")), err}}
}

// damage is the error of a decoder in words for users. The words of the decoder are those of its library.
type damage struct {
	text  string
	cause error
}

func (e *damage) Error() string { return e.text }
func (e *damage) Unwrap() error { return e.cause }

// Close ends the goroutines and gives back the memory that was charged. The Decoders may be used
// again.
func (d *Decoders) Close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
	d.Shed()
	for codec := range d.windows {
		d.windows[codec].free()
	}
	*d = Decoders{Charge: d.Charge, Spare: d.Spare, Garbage: d.Garbage, UTF16: d.UTF16}
}

// Shed ends the goroutines of the open file and gives their memory back. The reader decodes the
// rest of the file by itself.
func (d *Decoders) Shed() {
	if d.ahead != nil {
		d.ahead.close()
		d.ahead = nil
	}
}

// whole is the decoder of a gzip or bzip2 file, which may have other bytes behind its data. It ends
// with the data.
type whole struct {
	r io.Reader
	d *Decoders
}

// Read reads decoded text. At the end of the data it also reads the rest of the file, so that the
// length of the file is known.
func (w *whole) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	oneByte := err == io.ErrUnexpectedEOF && w.d.codec == Bzip2 && w.d.stored.ended && endsBehindBzip2(&w.d.stored.tail)
	if err == nil || err == io.EOF || !oneByte && !isGarbage(err) {
		return n, err
	}
	if w.d.Garbage != nil {
		w.d.Garbage(w.d.codec)
	}
	if _, err := io.Copy(io.Discard, w.d.buf); err != nil {
		return n, err
	}
	return n, io.EOF
}

// isGarbage reports whether err is that of a decoder that has found other bytes behind whole data.
// It cannot be that of the first bytes of a file, because detect has checked those.
func isGarbage(err error) bool {
	if err == errGarbage {
		return true
	}
	switch wrong, _ := err.(bzip2.StructuralError); wrong {
	case "bad magic value in continuation file", "non-Huffman entropy encoding", "invalid compression level":
		return true
	}
	return false
}

// bzip2TailBytes is the length of the end of a bzip2 stream with one byte behind it. The end
// has 80 bits, and begins at any bit of a byte.
const bzip2TailBytes = 12

// endsBehindBzip2 reports whether the last bytes of a file are the end of a stream and one byte
// more that begins no other stream. The decoder reports that byte as a stream that is cut short,
// after it has checked the stream before. Data that is cut short elsewhere has such an end with a
// probability of 1 in 2^45.
func endsBehindBzip2(tail *[bzip2TailBytes]byte) bool {
	if tail[bzip2TailBytes-1] == 'B' {
		return false
	}
	// The last byte of a stream is filled up with 0 to 7 bits.
	for pad := range 8 {
		if binary.BigEndian.Uint64(tail[:])<<(8-pad)>>(64-bzip2MagicBits) == bzip2EndBits {
			return true
		}
	}
	return false
}

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
