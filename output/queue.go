package output

import (
	"fmt"
	"io"
	"math"
	"os"
	"sync"

	"mrlocal/internal/disk"
	"mrlocal/internal/inorder"
	"mrlocal/internal/membudget"
)

// Sink receives compressed bytes. Only Queue.Rewind needs Offset and Rewind.
type Sink interface {
	io.Writer
	Offset() int64             // bytes written so far
	Rewind(offset int64) error // drops everything behind offset
}

// Options are the options of a Queue.
type Options struct {
	Format  Format // Gzip or Zstd
	Workers int    // most blocks that are compressed at a time; 0: one

	// Memory and CreateTemp are those of New. Encoders are leased from Memory too.
	Memory     *membudget.Budget
	CreateTemp func() (*disk.TempFile, error)
}

// Queue compresses a text, several blocks at a time.
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
// Only one goroutine at a time may use it. Abort may be called by any goroutine at any moment.
type Queue struct {
	o   Options
	out Sink

	// Text waits in spools, so that the budget can move it to disk.
	text      *Spool // of the block that is being filled; nil: it is empty
	textBytes int64
	blocks    int64     // number of complete blocks
	encoders  sync.Pool // of *Writer

	// The place to which Rewind may return.
	markBlock, markOffset int64 // a block, and where it begins in out once it is written

	waiting inorder.Queue[*packedBlock] // complete blocks that are not written yet
	mu      struct {
		sync.Mutex
		spools map[*Spool]struct{} // all that are in use, for Abort; nil: aborted
	}
}

// errAborted is the error of a write after Abort. Spools that Abort has released return the
// same error.
var errAborted = fmt.Errorf("output: compress: %w", os.ErrClosed)

// packedBlock is a block that is being compressed, or waits to be written.
type packedBlock struct {
	text, packed *Spool
	err          error // set when the block is done, as is packed
}

// NewQueue makes a Queue that writes to out.
func NewQueue(o Options, out Sink) *Queue {
	o.Workers = max(1, o.Workers)
	k := &Queue{o: o, out: out, markBlock: -1}
	k.mu.spools = make(map[*Spool]struct{})
	return k
}

// Write adds text, which it copies. Each time a block is complete, it starts to compress the
// block, and may write finished blocks to the sink.
func (k *Queue) Write(text []byte) (int, error) {
	written := 0
	for len(text) > 0 {
		if k.text == nil {
			var err error
			if k.text, err = k.newSpool(); err != nil {
				return written, err
			}
		}
		n, err := k.text.Write(text[:min(int64(len(text)), compressBlockBytes-k.textBytes)])
		k.textBytes += int64(n)
		written, text = written+n, text[n:]
		if err != nil {
			return written, err
		}
		if k.textBytes == compressBlockBytes {
			if err := k.complete(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// complete compresses the block that is full: on another goroutine, or on this one.
func (k *Queue) complete() error {
	text := k.text
	k.text, k.textBytes = nil, 0
	if err := text.Seal(); err != nil {
		return err
	}
	if lease := k.room(); lease != nil {
		// Writing the oldest block first bounds the number of spools that wait.
		for k.waiting.Len() >= k.o.Workers {
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
	k.beginBlock()
	k.blocks++
	defer k.release(text)
	return k.pack(text, k.out)
}

// room reserves memory for another encoder. It returns nil if there is none. The caller then
// compresses the block itself; the floor of its attempt covers one encoder.
func (k *Queue) room() *membudget.Lease {
	if k.o.Workers == 1 || k.o.Memory == nil {
		return nil
	}
	lease, ok := k.o.Memory.TryReserve(EncoderBytes)
	if !ok {
		return nil
	}
	return lease
}

// start compresses a block on a goroutine of its own. The goroutine waits for no other one, so
// it always ends.
func (k *Queue) start(text *Spool, lease *membudget.Lease) error {
	packed, err := k.newSpool()
	if err != nil {
		lease.Close()
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.spools == nil { // Abort waits only for goroutines that have started before it
		lease.Close()
		return errAborted
	}
	k.blocks++
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
func (k *Queue) pack(text *Spool, w io.Writer) error {
	c, ok := k.encoders.Get().(*Compressor)
	if !ok {
		var err error
		if c, err = NewCompressor(k.o.Format, w); err != nil {
			return err
		}
	}
	c.reset(w)
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
func (k *Queue) writeOldest() error {
	<-k.waiting.Done()
	if err := k.waiting.First().err; err != nil {
		return err // the block stays, so that a later call fails too
	}
	k.beginBlock()
	b := k.waiting.Take()
	defer k.release(b.packed)
	// The struct hides the sink's ReadFrom, which would not count the bytes.
	_, err := b.packed.WriteTo(struct{ io.Writer }{k.out})
	return err
}

// writeAll writes all blocks that are complete.
func (k *Queue) writeAll() error {
	for k.waiting.Len() > 0 {
		if err := k.writeOldest(); err != nil {
			return err
		}
	}
	return nil
}

// beginBlock is called before a block is written. If it is the marked block, beginBlock records
// where it begins.
func (k *Queue) beginBlock() {
	if k.blocks-int64(k.waiting.Len()) == k.markBlock {
		k.markOffset = k.out.Offset()
	}
}

// Finish compresses and writes the rest of the text. An empty text becomes a block without
// text.
func (k *Queue) Finish() error {
	if k.text == nil && k.blocks > 0 {
		return k.writeAll()
	}
	if k.text == nil {
		var err error
		if k.text, err = k.newSpool(); err != nil {
			return err
		}
	}
	if err := k.complete(); err != nil {
		return err
	}
	return k.writeAll()
}

// Mark allows Rewind to return to the current end of the text.
func (k *Queue) Mark() { k.markBlock, k.markOffset = k.blocks, math.MaxInt64 }

// Rewind drops all text behind offset, the length of the text at the last Mark. It keeps the
// text of the marked block before offset. If that block is written already, Rewind reads its
// text back from file.
func (k *Queue) Rewind(offset int64, file io.ReaderAt) error {
	keepBytes := offset % compressBlockBytes
	var before io.Reader
	// The marked block is still being filled, so its text is in k.text.
	if k.blocks == k.markBlock {
		if keepBytes > 0 {
			r := k.text.NewReader()
			defer r.Close()
			before = r
		}
	} else {
		if err := k.writeAll(); err != nil {
			return err
		}
		if keepBytes > 0 {
			r, err := decompress(k.o.Format, io.NewSectionReader(file, k.markOffset, math.MaxInt64-k.markOffset))
			if err != nil {
				return err
			}
			defer r.Close()
			before = r
		}
	}
	// The text is copied before the sink drops the bytes from which it is read.
	kept, err := k.keep(before, keepBytes)
	if err == nil && k.blocks > k.markBlock {
		err = k.out.Rewind(k.markOffset)
	}
	if err != nil {
		return err
	}
	if k.text != nil {
		k.release(k.text)
	}
	k.text, k.textBytes, k.blocks = kept, keepBytes, k.markBlock
	return nil
}

// keep copies the first bytes of r to a new spool. It returns nil if bytes is 0.
func (k *Queue) keep(r io.Reader, bytes int64) (*Spool, error) {
	if bytes == 0 {
		return nil, nil
	}
	s, err := k.newSpool()
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(s, r, bytes); err != nil {
		k.release(s)
		return nil, fmt.Errorf("output: take back a failed attempt: %w", err)
	}
	return s, nil
}

// newSpool makes a spool that Abort releases. It fails after Abort.
func (k *Queue) newSpool() (*Spool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.spools == nil {
		return nil, errAborted
	}
	s := NewSpool(k.o.Memory, k.o.CreateTemp)
	k.mu.spools[s] = struct{}{}
	return s, nil
}

// release frees a spool.
func (k *Queue) release(s *Spool) {
	k.mu.Lock()
	delete(k.mu.spools, s)
	k.mu.Unlock()
	s.Release()
}

// Abort frees everything. It waits for goroutines that compress, which takes milliseconds. It
// does not wait for a write that is stuck in a pipe.
func (k *Queue) Abort() {
	k.mu.Lock()
	for s := range k.mu.spools {
		s.Release()
	}
	k.mu.spools = nil
	k.mu.Unlock()
	k.waiting.Wait()
}
