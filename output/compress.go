package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"sync"

	"github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"mrlocal/internal/errs"
	"mrlocal/internal/inorder"
	"mrlocal/internal/membudget"
)

// This file compresses results. A Compressor compresses a text on the goroutine that writes it,
// for example a part file on the thread of its attempt. A packQueue compresses several blocks of a text
// at a time, and writes them in order.
//
// Both write a sequence of gzip members, zstd frames or bzip2 streams, called blocks here. Each block has 1 MiB of
// text; the last one may have less. A result in deflate is one block, because many decoders of zlib read only the
// first stream of a file. The bytes depend only on the text, not on the number of threads.
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
	Bzip2
	Deflate // one stream of zlib, as Hadoop's DefaultCodec writes it
)

// Suffix returns the end of the names of compressed files, as in Hadoop.
func (c Format) Suffix() string {
	return [...]string{Gzip: ".gz", Zstd: ".zst", Bzip2: ".bz2", Deflate: ".deflate"}[c]
}

// blockBytes returns the length of the text of a block.
func (c Format) blockBytes() int64 {
	if c == Deflate {
		return math.MaxInt64
	}
	return compressBlockBytes
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
	// compressBlockBytes is the length of the text of a block, apart from Deflate. Every
	// decoder reads a sequence of blocks as one file. So blocks are compressed independently, and
	// the bytes of a result depend only on its text.
	compressBlockBytes = 1 << 20

	// EncoderBytes is the most memory that an encoder and its buffer take.
	EncoderBytes = 2 << 20

	zstdWindowBytes   = 512 << 10 // an encoder keeps twice as many bytes
	packedBufferBytes = 32 << 10  // bytes; gathers the small writes of encoders
)

// encoder is the common part of the encoders. Close ends a block. Reset begins
// one, also after an error.
type encoder interface {
	io.WriteCloser
	Reset(io.Writer)
}

// bzip2Encoder is the encoder of Bzip2. The Reset of its library returns an error, which is always nil.
type bzip2Encoder struct{ *bzip2.Writer }

func (e bzip2Encoder) Reset(w io.Writer) { _ = e.Writer.Reset(w) }

// Compressor compresses text in blocks of Format.blockBytes. Only one goroutine may use it.
type Compressor struct {
	w       *bufio.Writer
	encoder encoder
	block   int64 // bytes of text of a block
	left    int64 // bytes of text that still fit in the open block; 0: no block is open
	some    bool  // a block was begun
}

// NewCompressor makes a Compressor of format c, which is not BySuffix or None, that writes to w.
func NewCompressor(c Format, w io.Writer) (_ *Compressor, err error) {
	m := &Compressor{w: bufio.NewWriterSize(w, packedBufferBytes), block: c.blockBytes()}
	switch c {
	case Gzip:
		// The next levels of gzip take twice the time and save a tenth of the size.
		m.encoder, err = gzip.NewWriterLevel(m.w, gzip.BestSpeed)
	case Zstd:
		m.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(zstdWindowBytes), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
	case Bzip2:
		// The level is the memory of a block, in 100 kB. An encoder of level 9 takes 11 MB.
		var z *bzip2.Writer
		z, err = bzip2.NewWriter(m.w, &bzip2.WriterConfig{Level: 1})
		m.encoder = bzip2Encoder{z}
	case Deflate:
		m.encoder, err = zlib.NewWriterLevel(m.w, zlib.BestSpeed)
	default:
		err = fmt.Errorf("output: compression %d has no encoder", c)
	}
	return m, err
}

// Write compresses text. It returns how many bytes of text it has taken.
func (m *Compressor) Write(text []byte) (written int, err error) {
	for len(text) > 0 {
		if m.left == 0 {
			m.begin()
		}
		n := int(min(int64(len(text)), m.left))
		if _, err := m.encoder.Write(text[:n]); err != nil {
			return written, err
		}
		written, text = written+n, text[n:]
		if m.left -= int64(n); m.left == 0 {
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
	m.left, m.some = m.block, true
}

// Close ends the last block and writes it out. An empty text becomes a block without text,
// because a decoder refuses an empty file. Close does not close the underlying writer.
func (m *Compressor) Close() error {
	if !m.some {
		m.begin()
		if _, err := m.encoder.Write(nil); err != nil { // encoders write their header with the first Write
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

// Single is a result that a program writes itself, and not a run. Writes are buffered.
type Single struct {
	*bufio.Writer
	pack   *Compressor // compresses what the buffer passes on; nil: the result is not compressed
	part   Part
	target *Target
}

// singleBuffer is the number of bytes of a Write of a Single.
const singleBuffer = 256 << 10

// OpenSingle opens the file or the stream of spec. The caller must call End, also after an error of its
// own.
func OpenSingle(spec Spec) (*Single, error) {
	format, err := spec.Compress.Of(spec.File)
	if err != nil {
		return nil, err
	}
	spec.Compress = None // a Target compresses in memory of a run
	target, err := Open(spec)
	if err == nil {
		err = target.Start()
	}
	if err != nil {
		return nil, err
	}
	target.Expect(Parts{Count: 1})
	part, err := target.Part(0, 0)
	if err != nil {
		return nil, errors.Join(err, target.Abort())
	}
	r := &Single{part: part, target: target}
	var w io.Writer = part
	if format != None {
		if r.pack, err = NewCompressor(format, part); err != nil {
			return nil, errors.Join(err, target.Abort())
		}
		w = r.pack
	}
	r.Writer = bufio.NewWriterSize(w, singleBuffer)
	return r, nil
}

// End completes the result. If err, the error of the program so far, is not nil, it removes the result
// instead. It returns err or its own error. It returns nil if the reader of a pipe has closed it
// (Spec.PipeMayClose), which is success.
func (r *Single) End(err error) error {
	if err == nil {
		err = r.Flush()
	}
	if err == nil && r.pack != nil {
		err = r.pack.Close()
	}
	if err == nil {
		err = r.part.Commit()
	}
	if err == nil {
		err = r.target.Commit()
	} else {
		err = errors.Join(err, r.target.Abort())
	}
	if errors.Is(err, ErrClosedPipe) {
		return nil
	}
	return err
}

// packQueue compresses the text of a result, several blocks at a time.
//
// Text collects in a spool until it is a block. A goroutine of its own compresses the block. If
// there is no memory for another encoder, the caller compresses it. A compressed block waits in
// a spool until all blocks before it are written.
//
//	text  ──►  | block | block | block | bl...
//	              │       │       └ running
//	              │       └ ready
//	              ▼ written
//
// Only one goroutine at a time may use it. abort may be called by any goroutine at any moment.
type packQueue struct {
	out    *sink // gets compressed bytes
	format Format
	parts  Parts // encoders are leased from Memory

	// Text waits in spools, so that the budget can move it to disk.
	text      *Spool // of the block that is being filled; nil: it is empty
	textBytes int64
	some      bool      // a block was completed
	encoders  sync.Pool // of *Compressor

	waiting inorder.Queue[*packedBlock] // complete blocks that are not written yet
	mu      struct {
		sync.Mutex
		spools map[*Spool]struct{} // all that are in use, for abort; nil: aborted
	}
}

// packedBlock is a block that is being compressed, or waits to be written.
type packedBlock struct {
	text, packed *Spool
	err          error // set when the block is done, as is packed
}

// packed returns a sink that compresses text and writes it to s. Nothing can be dropped from it.
func (s *sink) packed(c Format, p Parts) *sink {
	p.Compressors = max(1, p.Compressors)
	k := &packQueue{out: s, format: c, parts: p}
	k.mu.spools = make(map[*Spool]struct{})
	return &sink{pack: k}
}

// Write adds text, which it copies. Each time a block is complete, it starts to compress the
// block, and may write finished blocks to the sink.
func (k *packQueue) Write(text []byte) (written int, err error) {
	for len(text) > 0 {
		if k.text == nil {
			if k.text, err = k.newSpool(); err != nil {
				return written, err
			}
		}
		n, err := k.text.Write(text[:min(int64(len(text)), k.format.blockBytes()-k.textBytes)])
		k.textBytes += int64(n)
		written, text = written+n, text[n:]
		if err != nil {
			return written, err
		}
		if k.textBytes == k.format.blockBytes() {
			if err := k.complete(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// complete compresses the block that is full: on another goroutine, or on this one.
func (k *packQueue) complete() error {
	text := k.text
	k.text, k.textBytes = nil, 0
	k.some = true
	if err := text.Seal(); err != nil {
		return err
	}
	// Without memory for another encoder, the caller compresses the block itself: the floor of its attempt covers one.
	var lease *membudget.Lease
	if k.parts.Compressors > 1 {
		lease, _ = k.parts.Memory.TryReserve(EncoderBytes)
	}
	if lease != nil {
		// Writing the oldest block first bounds the number of spools that wait.
		for k.waiting.Len() >= k.parts.Compressors {
			if err := k.writeOldest(); err != nil {
				lease.Close()
				return err
			}
		}
		return k.start(text, lease)
	}
	if err := k.writeAll(); err != nil {
		return err
	}
	defer k.release(text)
	return k.pack(text, k.out)
}

// start compresses a block on a goroutine of its own. The goroutine waits for no other one, so
// it always ends.
func (k *packQueue) start(text *Spool, lease *membudget.Lease) error {
	packed, err := k.newSpool()
	if err != nil {
		lease.Close()
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.spools == nil { // abort waits only for goroutines that have started before it
		lease.Close()
		return ErrAborted
	}
	k.waiting.Go(&packedBlock{text: text, packed: packed}, func(b *packedBlock) {
		defer lease.Close()
		if b.err = k.pack(b.text, b.packed); b.err == nil {
			b.err = b.packed.Seal()
		}
		k.release(b.text)
	})
	return nil
}

// pack writes the compressed text of a block to w.
func (k *packQueue) pack(text *Spool, w io.Writer) (err error) {
	c, ok := k.encoders.Get().(*Compressor)
	if !ok {
		if c, err = NewCompressor(k.format, w); err != nil {
			return err
		}
	}
	c.w.Reset(w)
	c.left, c.some = 0, false
	if _, err := text.WriteTo(struct{ io.Writer }{c}); err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	// An encoder that has failed is not reused.
	k.encoders.Put(c)
	return nil
}

// writeOldest waits until the oldest block is compressed, and writes it to the sink.
func (k *packQueue) writeOldest() error {
	<-k.waiting.Done()
	if err := k.waiting.First().err; err != nil {
		return err // the block stays, so that a later call fails too
	}
	b := k.waiting.Take()
	defer k.release(b.packed)
	// The struct hides the sink's ReadFrom, which would not count the bytes.
	_, err := b.packed.WriteTo(struct{ io.Writer }{k.out})
	return err
}

// writeAll writes all blocks that are complete.
func (k *packQueue) writeAll() error {
	for k.waiting.Len() > 0 {
		if err := k.writeOldest(); err != nil {
			return err
		}
	}
	return nil
}

// finish compresses and writes the rest of the text. An empty text becomes a block without
// text.
func (k *packQueue) finish() (err error) {
	if k.text == nil && !k.some {
		k.text, err = k.newSpool()
	}
	if err == nil && k.text != nil {
		err = k.complete()
	}
	if err == nil {
		err = k.writeAll()
	}
	return err
}

// newSpool makes a spool that abort releases. It fails after abort.
func (k *packQueue) newSpool() (*Spool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.spools == nil {
		return nil, ErrAborted
	}
	s := NewSpool(k.parts.Memory, k.parts.CreateTemp)
	k.mu.spools[s] = struct{}{}
	return s, nil
}

// release frees a spool.
func (k *packQueue) release(s *Spool) {
	k.mu.Lock()
	delete(k.mu.spools, s)
	k.mu.Unlock()
	s.Release()
}

// abort frees everything. It waits for goroutines that compress, which takes milliseconds. It
// does not wait for a write that is stuck in a pipe.
func (k *packQueue) abort() {
	k.mu.Lock()
	for s := range k.mu.spools {
		s.Release()
	}
	k.mu.spools = nil
	k.mu.Unlock()
	k.waiting.Wait()
}
