package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"mrlocal/internal/guard"
	"mrlocal/jobs"
)

// ordered writes parts to the sink, one after the other.
//
// turn is the index of the part whose turn it is. One attempt at it may write through to the
// sink. Attempts at later parts write to spools. When the part of the turn commits, the
// goroutine that commits advances the turn and copies the spools of the next parts that have
// committed.
//
//	parts   0     1     2     3     4
//	      done  done   ...  spool  spool
//	                    ^ turn: its attempt empties its spool, then writes through
//
// An attempt that fails after it has written through leaves bytes in the sink. A file drops
// them. A stream and a compressed file cannot: then the next attempt must begin with the same bytes.
// ordered compares hashes of them.
//
// There are two locks. mu guards the queue and is never held during a write. passing is held
// while bytes go to the sink. It is taken before mu, and never by abort.
type ordered struct {
	name  string // of the result, for error messages
	sink  *sink
	parts Parts

	passing sync.Mutex

	mu struct {
		sync.Mutex
		idle sync.Cond // signals that drain has ended
		// A part leaves the queue when its turn is over.
		queue    map[int]*turn // by index: parts that have begun or were skipped, and were not passed on
		turn     int           // index of the part whose turn it is
		total    int           // number of parts; -1: not known yet
		draining bool          // a goroutine runs drain
		current  *turn         // the part that drain is passing on
		ended    bool          // the Releaser wants no more parts: the rest is dropped
		err      error         // sticky, of the sink or the Releaser, or ErrAborted; nothing is passed on then
	}
}

// turn is a part that was not passed on yet. ordered.mu guards its fields, except for those
// after the blank line.
type turn struct {
	index    int
	attempts map[*attemptOutput]struct{}
	owner    *attemptOutput // the attempt that writes through
	done     *attemptOutput // the attempt that has committed; nil: none
	skipped  bool           // the part will not come, or is dropped

	// The bytes that were written to the sink. ordered.passing guards these fields.
	start, passed int64          // offset of the part in the sink; number of its bytes there
	hash          *xxhash.Digest // of those bytes; nil: the sink is a file
}

// over reports whether no attempt may write the part any more. ordered.mu is held.
func (t *turn) over() bool { return t.done != nil || t.skipped }

// attemptOutput is one attempt at a part. It implements Part. dead is atomic, so that a Write, which
// holds passing, sees an abort.
type attemptOutput struct {
	of    *ordered
	turn  *turn
	spool *Spool // nil: the attempt writes through
	bytes int64  // that Write was given
	dead  atomic.Bool

	// Under passing.
	checked int64          // bytes of the attempt that are in the sink, from it or from an earlier one
	hash    *xxhash.Digest // of the bytes that were compared; nil: none
}

// copyBufferBytes is the buffer that copies a temporary file where the kernel does not copy.
const copyBufferBytes = 256 << 10

// at returns part i, and makes it if it is new. The caller holds o.mu.
func (o *ordered) at(i int) *turn {
	t := o.mu.queue[i]
	if t == nil {
		t = &turn{index: i, attempts: make(map[*attemptOutput]struct{})}
		o.mu.queue[i] = t
	}
	return t
}

// attempt begins an attempt at part i. Several attempts at one part may run at once. It returns
// ErrLost if the part has committed or was skipped, and fails if the part does not exist or the
// result has failed.
func (o *ordered) attempt(i int) (*attemptOutput, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.mu.err != nil:
		return nil, o.mu.err
	case i < 0 || o.mu.total >= 0 && i >= o.mu.total:
		return nil, fmt.Errorf("there are %d parts", o.mu.total)
	case i < o.mu.turn || o.mu.queue[i] != nil && o.mu.queue[i].over():
		return nil, ErrLost
	}
	t := o.at(i)
	a := &attemptOutput{of: o, turn: t, spool: NewSpool(o.parts.Memory, o.parts.CreateTemp)}
	t.attempts[a] = struct{}{}
	return a, nil
}

// Write implements Part. It writes p to the sink or to the spool. The first Write after the turn has
// come copies the spool to the sink first.
func (a *attemptOutput) Write(p []byte) (int, error) {
	o := a.of
	through, err := o.claim(a)
	a.bytes += int64(len(p))
	switch {
	case err != nil:
		return 0, err
	case !through:
		return a.spool.Write(p)
	}
	if err := a.empty(); err != nil {
		return 0, err
	}
	return len(p), o.pass(a, p)
}

// claim reports whether an attempt may write through: it is the turn of its part, and no other
// attempt writes through. Once true, the result stays true until the attempt ends, because the
// turn waits for its commit. With a Releaser no attempt writes through.
func (o *ordered) claim(a *attemptOutput) (through bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t, err := a.turn, a.refused()
	if err == nil && t.owner == nil && o.parts.Releaser == nil && t.index == o.mu.turn {
		t.owner = a
	}
	return t.owner == a, err
}

// refused says why a must not go on. The caller holds the lock of the queue.
func (a *attemptOutput) refused() error {
	switch {
	case a.turn.over():
		return ErrLost
	case a.dead.Load():
		return ErrAborted
	}
	return a.of.mu.err
}

// empty copies the spool of the attempt to the sink and frees it. It holds no lock while it
// copies.
func (a *attemptOutput) empty() error {
	if a.spool == nil {
		return nil
	}
	if _, err := a.spool.WriteTo(passer{a}); err != nil {
		return err
	}
	a.spool.Release()
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.spool = nil
	return nil
}

// fail makes err the error of the whole result, because no other attempt can avoid an error of
// the sink. It returns err with the name of the result. ErrAborted concerns one attempt only
// and is not kept.
func (o *ordered) fail(err error) error {
	if err == nil || errors.Is(err, ErrAborted) {
		return err
	}
	err = named(o.name, err)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.err = cmp.Or(o.mu.err, err)
	return err
}

// Commit implements Part. It makes the text of this attempt that of the part, and then passes on all
// parts that are ready.
func (a *attemptOutput) Commit() error {
	if a.spool != nil {
		if err := a.spool.Seal(); err != nil {
			return err
		}
		// Write counts independently, so this finds a spool that has lost bytes.
		if held := a.spool.Bytes(); held != a.bytes {
			return fmt.Errorf("output part %d: %d of %d bytes were kept", a.turn.index, held, a.bytes)
		}
	}
	if err := a.of.win(a); err != nil {
		return err
	}
	return a.of.drain()
}

// win makes a the attempt that has committed, and ends the other attempts at the part.
func (o *ordered) win(a *attemptOutput) error {
	if a.spool == nil {
		if err := o.checkWhole(a); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := a.refused(); err != nil {
		return err
	}
	t := a.turn
	// The first attempt that commits wins, whichever of them the Ledger prefers.
	t.done = a
	for other := range t.attempts {
		if other != a {
			other.kill()
		}
	}
	return nil
}

// checkWhole fails if an attempt has written through less than an earlier one. The rest of the
// earlier attempt would stay in the stream. It waits for passing, so only attempts that write
// through call it.
func (o *ordered) checkWhole(a *attemptOutput) error {
	o.passing.Lock()
	defer o.passing.Unlock()
	switch {
	case a.dead.Load():
		return ErrLost
	case a.bytes != a.turn.passed:
		return o.fail(fmt.Errorf("output part %d: %w", a.turn.index, errDiffers))
	}
	return nil
}

// kill ends an attempt without waiting for it. The next write of the attempt fails. The caller
// holds of.mu.
func (a *attemptOutput) kill() {
	a.dead.Store(true)
	if a.spool != nil {
		a.spool.Release()
	}
}

// Abort implements Part. It ends the attempt and frees its spool. Bytes that it has
// written to the sink stay; the next attempt drops them or compares with them. Abort never
// waits for a write, because a full pipe may hold up a write forever.
func (a *attemptOutput) Abort() {
	o := a.of
	o.mu.Lock()
	defer o.mu.Unlock()
	t := a.turn
	if t.done == a {
		return
	}
	a.kill()
	delete(t.attempts, a)
	if t.owner == a {
		t.owner = nil
	}
}

// skip says that part i is not needed. A part that has committed is dropped, unless it is being
// passed on or was passed on.
func (o *ordered) skip(i int) error {
	o.mu.Lock()
	if i < o.mu.turn || o.mu.current != nil && i == o.mu.current.index {
		o.mu.Unlock()
		return nil
	}
	t := o.at(i)
	t.skipped = true
	for a := range t.attempts {
		a.kill()
	}
	o.mu.Unlock()
	return o.drain()
}

// fatal returns the error that ends the whole result, or nil.
func (o *ordered) fatal() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.err
}

// drain passes on the parts that are ready, in their turn. Only one goroutine at a time does
// that. A goroutine that calls drain meanwhile returns at once, and the first one passes on its
// part too. o.mu is not held while a part is passed on, so attempts can continue.
func (o *ordered) drain() error {
	for first := true; ; first = false {
		t, ok, err := o.ready(first)
		if !ok {
			return err
		}
		verdict, handed, err := o.release(t)
		o.mu.Lock()
		o.mu.current = nil
		o.mu.err = cmp.Or(o.mu.err, err)
		if err == nil {
			delete(o.mu.queue, t.index)
			// The turn advances after the bytes are written, because Target.Released reports it.
			o.mu.turn++
			if verdict == jobs.EndJob {
				o.mu.ended = true
			}
		}
		o.mu.Unlock()
		// No lock is held, because the callbacks may call Skip.
		if err == nil && o.parts.OnVerdict != nil && handed {
			o.parts.OnVerdict(t.index, verdict)
		}
		if err == nil && o.parts.OnRelease != nil {
			o.parts.OnRelease(t.index + 1)
		}
	}
}

// ready returns the part whose turn it is, if it can be passed on. With first, it also takes
// the right to pass parts on, unless another goroutine has it. When it returns false, it gives
// the right back; finish waits for that.
func (o *ordered) ready(first bool) (*turn, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if first && o.mu.draining {
		return nil, false, nil
	}
	t := o.mu.queue[o.mu.turn]
	if o.mu.err == nil && t != nil && t.over() {
		o.mu.draining, o.mu.current = true, t
		return t, true, nil
	}
	o.mu.draining = false
	o.mu.idle.Broadcast()
	return nil, false, o.mu.err
}

// release passes one part on: to the sink, or to the Releaser. handed reports whether the
// Releaser got it. The spool is freed in all cases.
func (o *ordered) release(t *turn) (verdict jobs.Verdict, handed bool, err error) {
	a := t.done
	if a == nil || a.spool == nil { // skipped, or it has written through
		return jobs.Continue, false, nil
	}
	defer a.spool.Release()
	o.mu.Lock()
	over, err := o.mu.ended || t.skipped, o.mu.err
	o.mu.Unlock()
	switch {
	case over || err != nil:
		return jobs.Continue, false, err
	case o.parts.Releaser == nil:
		return jobs.Continue, false, o.passWhole(a)
	}
	// The Releaser may stop reading at any byte. The rest of the part is then dropped.
	r := a.spool.NewReader()
	defer r.Close()
	// If Release ends the goroutine, no other attempt can pass the part on.
	err = guard.ErrEnded
	defer func() {
		if err == guard.ErrEnded {
			_ = o.fail(err)
		}
	}()
	verdict, err = o.parts.Releaser.Release(r, sinkWriter{o})
	return verdict, true, errors.Join(err, o.fatal())
}

// abort ends everything. Later calls fail, and all spools are freed, also those of attempts
// that are still writing. It does not take passing, because a write may wait for a reader
// forever.
func (o *ordered) abort() {
	if o.sink.pack != nil {
		o.sink.pack.abort()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.err = cmp.Or(o.mu.err, ErrAborted)
	o.mu.idle.Broadcast()
	for _, t := range o.mu.queue {
		for a := range t.attempts {
			a.kill()
		}
	}
}

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
	return len(data), p.a.of.pass(p.a, data)
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

// finish waits until drain has ended, or an error ends it soon. It fails if a part is missing, unless the Releaser has
// ended the job. Then it calls Releaser.Finish and ends the compressed text.
func (o *ordered) finish(total int) error {
	o.mu.Lock()
	for o.mu.draining && o.mu.err == nil {
		o.mu.idle.Wait()
	}
	turn, ended, err := o.mu.turn, o.mu.ended, o.mu.err
	o.mu.Unlock()
	switch {
	case err != nil:
		return err
	case turn < total && !ended:
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
