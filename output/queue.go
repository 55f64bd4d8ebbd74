package output

import (
	"io"
	"sync"

	"mrlocal/internal/inorder"
	"mrlocal/internal/membudget"
)

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
func (k *packQueue) Write(text []byte) (int, error) {
	written := 0
	for len(text) > 0 {
		if k.text == nil {
			var err error
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
	if k.parts.Compressors > 1 && k.parts.Memory != nil {
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
func (k *packQueue) pack(text *Spool, w io.Writer) error {
	c, ok := k.encoders.Get().(*Compressor)
	if !ok {
		var err error
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
