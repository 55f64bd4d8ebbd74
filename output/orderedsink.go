package output

import (
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
)

// errDiffers says that the job is not deterministic. The result depends on that, because a
// stream cannot take back what a failed attempt has written.
var errDiffers = errors.New("a retried attempt wrote other bytes than the failed one, whose output cannot be taken back")

// pass writes p to the sink, except for bytes that an earlier attempt has written. Bytes count
// even if the write fails later, because they may be in the stream.
func (o *ordered) pass(a *attemptOutput, p []byte) error {
	o.passing.Lock()
	defer o.passing.Unlock()
	p, err := o.compare(a, p)
	if err != nil || len(p) == 0 {
		return o.fail(err)
	}
	t := a.turn
	n, err := o.sink.Write(p)
	if t.hash != nil {
		_, _ = t.hash.Write(p[:n])
	}
	t.passed += int64(n)
	a.checked = t.passed
	return o.fail(err)
}

// compare returns the rest of p that is not in the sink yet. At the start of an attempt, a file
// drops the bytes of a failed attempt. A stream keeps them, and compare adds the same bytes of
// p to a hash. When it has as many bytes as the failed attempt wrote, it compares the hashes.
// It fails if they differ. The caller holds o.passing.
func (o *ordered) compare(a *attemptOutput, p []byte) ([]byte, error) {
	t := a.turn
	if a.dead.Load() {
		return nil, ErrAborted
	}
	if a.checked == 0 {
		if t.passed == 0 {
			t.start = o.sink.offset
		}
		taken, err := o.sink.rewind(t.start)
		if err != nil {
			return nil, err
		}
		switch {
		case taken:
			t.passed = 0
		case t.hash == nil:
			t.hash = xxhash.New()
		case t.passed > 0:
			a.hash = xxhash.New()
		}
	}
	if a.checked >= t.passed {
		return p, nil
	}
	n := min(int64(len(p)), t.passed-a.checked)
	_, _ = a.hash.Write(p[:n])
	a.checked += n
	if a.checked == t.passed && a.hash.Sum64() != t.hash.Sum64() {
		return nil, fmt.Errorf("output part %d: %w", t.index, errDiffers)
	}
	return p[n:], nil
}

// passer is an io.Writer for an attempt that writes to the sink.
type passer struct{ a *attemptOutput }

// Write writes data to the sink. io.Copy uses ReadFrom instead where it can.
func (p passer) Write(data []byte) (int, error) {
	if err := p.a.of.pass(p.a, data); err != nil {
		return 0, err
	}
	return len(data), nil
}

// ReadFrom copies a temporary file to a file inside the kernel. If the text has to be hashed or
// compressed, it copies through Write.
func (p passer) ReadFrom(r io.Reader) (int64, error) {
	a, o := p.a, p.a.of
	if o.sink.file == nil {
		return io.CopyBuffer(struct{ io.Writer }{p}, struct{ io.Reader }{r}, make([]byte, copyBufferBytes))
	}
	o.passing.Lock()
	defer o.passing.Unlock()
	if _, err := o.compare(a, nil); err != nil {
		return 0, o.fail(err)
	}
	// Text of a file is not hashed, so the bytes need not pass through this process.
	n, err := o.sink.file.ReadFrom(r)
	o.sink.advance(n)
	a.turn.passed += n
	a.checked = a.turn.passed
	return n, o.fail(writeError(err))
}

// passWhole copies the spool of a committed attempt to the sink. An earlier attempt may have
// written through. If it wrote more than this one to a stream, passWhole fails.
func (o *ordered) passWhole(a *attemptOutput) error {
	if err := o.pass(a, nil); err != nil {
		return err
	}
	if _, err := a.spool.WriteTo(passer{a}); err != nil {
		return err
	}
	o.passing.Lock()
	defer o.passing.Unlock()
	if a.checked != a.turn.passed {
		return fmt.Errorf("output part %d: %w", a.turn.index, errDiffers)
	}
	return nil
}

// sinkWriter is the io.Writer of a Releaser.
type sinkWriter struct{ o *ordered }

// Write writes to the sink. Like every write to the sink, it holds passing.
func (w sinkWriter) Write(p []byte) (int, error) {
	w.o.passing.Lock()
	defer w.o.passing.Unlock()
	n, err := w.o.sink.Write(p)
	return n, w.o.fail(err)
}

// finish waits until drain has ended. It fails if a part is missing, unless the Releaser has
// ended the job. Then it calls Releaser.Finish and ends the compressed text.
func (o *ordered) finish(total int) error {
	o.mu.Lock()
	for o.mu.draining && o.mu.state < queueAborted {
		o.mu.idle.Wait()
	}
	turn := o.mu.turn
	state := o.mu.state
	err := o.mu.err
	o.mu.Unlock()
	switch {
	case state == queueAborted:
		return ErrAborted
	case err != nil:
		return err
	case turn < total && state < queueEnded:
		return fmt.Errorf("output part %d of %d: was not written", turn, total)
	case o.parts.Releaser == nil:
		return o.finishPack()
	}
	if err := o.parts.Releaser.Finish(sinkWriter{o}); err != nil {
		return err
	}
	return errors.Join(o.fatal(), o.finishPack())
}

// finishPack compresses the rest of the text and writes it.
func (o *ordered) finishPack() error {
	if o.sink.pack == nil {
		return nil
	}
	o.passing.Lock()
	defer o.passing.Unlock()
	return o.fail(o.sink.pack.finish())
}
