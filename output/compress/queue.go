package compress

import (
	"fmt"
	"io"
	"math"
	"os"
	"sync"

	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
	"mrlocal/output/spool"
)

// Sink takes compressed bytes. Only Rewind of a Queue needs Offset and Rewind.
type Sink interface {
	io.Writer
	Offset() int64             // bytes written
	Rewind(offset int64) error // takes back everything behind offset
}

// Options say how a Queue works.
type Options struct {
	Format  Format // Gzip or Zstd
	Workers int    // blocks that are compressed at a time; 0: one

	// Where text waits: see spool.New. Encoders are leased from Memory too.
	Memory     *membudget.Budget
	CreateTemp func() (*disk.TempFile, error)
}

// Queue compresses a text, several blocks at a time.
//
// Text collects in a spool until it is a block. The block is compressed by a goroutine of its
// own, or by the caller if there is no memory for a second encoder. What is ready waits in a
// spool until all blocks before it are written.
//
//	text  ──►  | block | block | block | bl...
//	              │       │       └ running
//	              │       └ ready
//	              ▼ written
//
// One goroutine at a time uses it, but Abort may be called at any moment.
type Queue struct {
	o   Options
	out Sink

	// Text waits in spools, so that memory pressure can move it to disk.
	text      *spool.Spool // of the block that is filled; nil: it is empty
	textBytes int64
	blocks    int64          // that are complete
	waiting   []*packedBlock // complete and not yet written, in order
	encoders  sync.Pool      // of *Writer

	// Where Rewind may have to go back to.
	markBlock, markOffset int64 // a block, and where it begins in out once it is written

	running sync.WaitGroup
	mu      struct {
		sync.Mutex
		aborted bool
		spools  map[*spool.Spool]struct{} // that are in use
	}
}

// errAborted ends a write after Abort, as the spools do that Abort has released.
var errAborted = fmt.Errorf("output: compress: %w", os.ErrClosed)

// packedBlock is a block on its way. packed and err are set when ready is closed.
type packedBlock struct {
	text   *spool.Spool
	packed *spool.Spool
	err    error
	ready  chan struct{}
}

// NewQueue makes a Queue that writes to out.
func NewQueue(o Options, out Sink) *Queue {
	o.Workers = max(1, o.Workers)
	k := &Queue{o: o, out: out, markBlock: -1}
	k.mu.spools = make(map[*spool.Spool]struct{})
	return k
}

// Write adds text. It writes out what is ready when the next block is complete.
func (k *Queue) Write(text []byte) (int, error) {
	written := 0
	for len(text) > 0 {
		if k.text == nil {
			var err error
			if k.text, err = k.newSpool(); err != nil {
				return written, err
			}
		}
		n, err := k.text.Write(text[:min(int64(len(text)), blockBytes-k.textBytes)])
		k.textBytes += int64(n)
		written, text = written+n, text[n:]
		if err != nil {
			return written, err
		}
		if k.textBytes == blockBytes {
			if err := k.complete(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// complete compresses the block that is full, now or on another goroutine.
func (k *Queue) complete() error {
	text := k.text
	k.text, k.textBytes = nil, 0
	if err := text.Seal(); err != nil {
		return err
	}
	if lease := k.room(); lease != nil {
		// The oldest blocks are written first. This also bounds how many spools wait.
		for len(k.waiting) >= k.o.Workers {
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

// room reserves memory for an encoder; nil: the block is compressed by the caller, whose
// floor has room for one.
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

// start compresses a block on a goroutine of its own, which needs nothing that another one
// may hold: it always ends.
func (k *Queue) start(text *spool.Spool, lease *membudget.Lease) error {
	packed, err := k.newSpool()
	if err != nil {
		lease.Close()
		return err
	}
	b := &packedBlock{text: text, packed: packed, ready: make(chan struct{})}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.aborted { // Abort waits only for goroutines that it sees
		lease.Close()
		return errAborted
	}
	k.waiting = append(k.waiting, b)
	k.blocks++
	k.running.Go(func() {
		// Deferred calls run last to first: the lease is back before anybody goes on.
		defer close(b.ready)
		defer lease.Close()
		if b.err = k.pack(b.text, b.packed); b.err == nil {
			b.err = b.packed.Seal()
		}
		k.release(b.text)
	})
	return nil
}

// pack writes the compressed text of a block to w.
func (k *Queue) pack(text *spool.Spool, w io.Writer) error {
	c, ok := k.encoders.Get().(*Writer)
	if !ok {
		var err error
		if c, err = NewWriter(k.o.Format, w); err != nil {
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
	// An encoder that has failed is not put back.
	k.encoders.Put(c)
	return nil
}

// writeOldest waits for the oldest block and writes it.
func (k *Queue) writeOldest() error {
	b := k.waiting[0]
	<-b.ready
	if b.err != nil {
		return b.err
	}
	k.beginBlock()
	k.waiting = k.waiting[1:]
	defer k.release(b.packed)
	// The struct hides what else the sink can do: it counts the bytes of Write.
	_, err := b.packed.WriteTo(struct{ io.Writer }{k.out})
	return err
}

// writeAll writes all blocks that are complete.
func (k *Queue) writeAll() error {
	for len(k.waiting) > 0 {
		if err := k.writeOldest(); err != nil {
			return err
		}
	}
	return nil
}

// beginBlock notes where the marked block begins, if it is the next one to be written.
func (k *Queue) beginBlock() {
	if k.blocks-int64(len(k.waiting)) == k.markBlock {
		k.markOffset = k.out.Offset()
	}
}

// Finish writes what is left. An empty result is one member without text.
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

// Mark says that Rewind may be called with the present length of the text.
func (k *Queue) Mark() { k.markBlock, k.markOffset = k.blocks, math.MaxInt64 }

// Rewind takes back all text behind offset, where Mark was called. Text of the marked block
// that came before offset is kept. If the block is written, that text is read back from file.
func (k *Queue) Rewind(offset int64, file io.ReaderAt) error {
	keepBytes := offset % blockBytes
	var before io.Reader
	// The marked block is still being filled, so its text is at hand.
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
	// The text is copied first: Rewind of the sink takes away the bytes that it is read from.
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

// keep copies the first bytes of r to a new spool; none: it returns nil.
func (k *Queue) keep(r io.Reader, bytes int64) (*spool.Spool, error) {
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
func (k *Queue) newSpool() (*spool.Spool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.aborted {
		return nil, errAborted
	}
	s := spool.New(k.o.Memory, k.o.CreateTemp)
	k.mu.spools[s] = struct{}{}
	return s, nil
}

// release frees a spool.
func (k *Queue) release(s *spool.Spool) {
	k.mu.Lock()
	delete(k.mu.spools, s)
	k.mu.Unlock()
	s.Release()
}

// Abort frees everything and waits for the goroutines, which take milliseconds. A write that
// is stuck in a pipe is not waited for.
func (k *Queue) Abort() {
	k.mu.Lock()
	k.mu.aborted = true
	for s := range k.mu.spools {
		s.Release()
	}
	clear(k.mu.spools)
	k.mu.Unlock()
	k.running.Wait()
}
