package output

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"mrlocal/internal/invariant"
	"mrlocal/jobs"
	"mrlocal/output/spool"
)

// ordered passes parts on, one after the other.
//
// turn is the part whose turn it is: an attempt at it may write through to the sink, and no
// other may. Attempts at later parts collect in spools. When a part has committed and its
// turn comes, the goroutine that moved the turn passes its spool on.
//
//	parts   0     1     2     3     4
//	      done  done   ...  spool  spool
//	                    ^ turn: its attempt empties its spool, then writes through
//
// An attempt that fails after it has written through leaves bytes in the sink. A file takes
// them back. A stream cannot: the first bytes of the next attempt are compared with those,
// by hash, and must be the same.
//
// Two locks: mu guards the queue and is never held during a write. passing is held while
// bytes go to the sink, is taken before mu, and never by abort.
// A part is committed once. Later parts do not depend on which attempt commits it.
type ordered struct {
	name  string // of the result, for messages
	sink  *sink
	parts Parts

	passing sync.Mutex

	mu struct {
		sync.Mutex
		idle sync.Cond // signals that draining has ended
		// Parts leave it when their turn is over.
		queue    map[int]*turn // parts that were mentioned and not passed on
		turn     int
		total    int   // number of parts; -1: not known yet
		draining bool  // a goroutine is in drain
		current  *turn // is being passed on
		state    queueState
		err      error // of the sink or the Releaser
	}
}

// queueState is how far the queue of parts has come. A state never goes back to an earlier
// one.
type queueState uint8

const (
	queueOpen    queueState = iota // parts are passed on in their turn
	queueEnded                     // the Releaser wants no more parts: the rest is dropped
	queueAborted                   // the result is given up
)

func (s queueState) String() string { return [...]string{"open", "ended", "aborted"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s queueState) Next() []queueState {
	return [...][]queueState{{queueEnded, queueAborted}, {queueAborted}, nil}[s]
}

// turn is a part that was not passed on yet.
// Fields above the blank line are under ordered.mu.
type turn struct {
	index    int
	attempts map[*attemptOutput]struct{}
	owner    *attemptOutput // the attempt that writes through
	done     *attemptOutput // the attempt that has committed; nil: none
	skipped  bool           // the part will not come, or is dropped

	// What was written to the sink. Under passing.
	start, passed int64          // offset in the sink, and bytes from there on
	hash          *xxhash.Digest // of those bytes; nil: a file
}

// over reports whether no attempt may write the part any more. ordered.mu is held.
func (t *turn) over() bool { return t.done != nil || t.skipped }

// attemptOutput is one attempt at a part. write and commit belong to its goroutine.
// dead is read without a lock, so that a write under passing sees an abort.
type attemptOutput struct {
	of    *ordered
	turn  *turn
	spool *spool.Spool // nil: writes through
	dead  atomic.Bool

	// Under passing.
	checked int64          // bytes of the attempt that were compared with, or added to, turn.passed
	hash    *xxhash.Digest // of the bytes that are compared
}

// copyBufferBytes is how many bytes of a temporary file are passed on at once.
const copyBufferBytes = 256 << 10

// errDiffers says that a job is not deterministic, where the result depends on it.
var errDiffers = errors.New("a retried attempt wrote something else than the attempt before, whose output cannot be taken back")

// newOrdered makes a queue that waits for part 0. total is -1 if it is not known.
func newOrdered(name string, s *sink, p Parts, total int) *ordered {
	o := &ordered{name: name, sink: s, parts: p}
	o.mu.queue = make(map[int]*turn)
	o.mu.total = total
	o.mu.idle.L = &o.mu
	return o
}

// at returns the part i, which it makes at its first mention. o.mu is held.
func (o *ordered) at(i int) *turn {
	t := o.mu.queue[i]
	if t == nil {
		t = &turn{index: i, attempts: make(map[*attemptOutput]struct{})}
		o.mu.queue[i] = t
	}
	return t
}

// attempt begins an attempt at part i. It fails if the part has committed, was skipped, or
// does not exist.
// Several attempts at one part may run at once.
func (o *ordered) attempt(i int) (*attemptOutput, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.mu.state == queueAborted:
		return nil, ErrAborted
	case o.mu.err != nil:
		return nil, o.mu.err
	case i < 0 || o.mu.total >= 0 && i >= o.mu.total:
		return nil, fmt.Errorf("there are %d parts", o.mu.total)
	case i < o.mu.turn || o.mu.queue[i] != nil && o.mu.queue[i].over():
		return nil, ErrLost
	}
	t := o.at(i)
	a := &attemptOutput{of: o, turn: t, spool: spool.New(o.parts.Memory, o.parts.CreateTemp)}
	t.attempts[a] = struct{}{}
	return a, nil
}

// write writes p through, or to the spool.
// A spool may be emptied late: the first write after the turn has come does it.
func (a *attemptOutput) write(p []byte) error {
	o := a.of
	through, err := o.claim(a)
	switch {
	case err != nil:
		return err
	case !through:
		_, err := a.spool.Write(p)
		return err
	}
	if err := a.empty(); err != nil {
		return err
	}
	return o.pass(a, p)
}

// claim lets an attempt write through if it is the turn of its part and no other attempt
// does. With a Releaser no attempt writes through.
// The answer stays true until the attempt ends, because the turn waits for its commit.
func (o *ordered) claim(a *attemptOutput) (through bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := a.turn
	switch {
	case t.over():
		return false, ErrLost
	case a.dead.Load() || o.mu.state == queueAborted:
		return false, ErrAborted
	case o.mu.err != nil:
		return false, o.mu.err
	case t.owner == a:
		return true, nil
	case o.parts.Releaser != nil || t.index != o.mu.turn || t.owner != nil:
		return false, nil
	}
	t.owner = a
	return true, nil
}

// empty passes on what the attempt has spooled before its turn.
// It holds no lock while it copies.
func (a *attemptOutput) empty() error {
	if a.spool == nil {
		return nil
	}
	if _, err := a.spool.WriteTo(passer{a.of, a}); err != nil {
		return err
	}
	a.spool.Release()
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.spool = nil
	return nil
}

// pass writes p to the sink, except for what an earlier attempt has written.
// Bytes that were written count even if the write fails, because they may be in the
// stream.
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

// compare returns what of p is new. At the start of an attempt a file takes back what a
// failed attempt has left. In a stream p is compared with that. o.passing is held.
// The hashes are compared only when the attempt has reached the end of the bytes that
// are there.
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

// fail keeps an error of the sink, which no other attempt can avoid.
// It returns err behind the name of the result, so that callers can return its result.
// ErrAborted concerns one attempt and is not kept.
func (o *ordered) fail(err error) error {
	if err == nil || errors.Is(err, ErrAborted) {
		return err
	}
	err = named(o.name, err)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.err == nil {
		o.mu.err = err
	}
	return err
}

// passer is the way of an attempt to the sink, as an io.Writer.
type passer struct {
	o *ordered
	a *attemptOutput
}

// Write passes data on to the sink. Streams and spools in memory use it; a spool in a file
// goes through ReadFrom.
func (p passer) Write(data []byte) (int, error) {
	if err := p.o.pass(p.a, data); err != nil {
		return 0, err
	}
	return len(data), nil
}

// ReadFrom lets the kernel copy a temporary file to a file.
// Text that is hashed, as that of a stream, or compressed takes the way through Write.
func (p passer) ReadFrom(r io.Reader) (int64, error) {
	o, a := p.o, p.a
	if o.sink.file == nil || o.sink.pack != nil {
		return io.CopyBuffer(struct{ io.Writer }{p}, struct{ io.Reader }{r}, make([]byte, copyBufferBytes))
	}
	o.passing.Lock()
	defer o.passing.Unlock()
	if _, err := o.compare(a, nil); err != nil {
		return 0, o.fail(err)
	}
	// The kernel copies without a look at the bytes, so there is nothing to hash.
	n, err := o.sink.file.ReadFrom(r)
	o.sink.advance(n)
	a.turn.passed += n
	a.checked = a.turn.passed
	return n, o.fail(streamError(err))
}

// commit makes the text of this attempt that of the part, and passes on all parts that can
// be passed on then.
// bytes is what the Part has counted. It must be what the spool holds.
func (a *attemptOutput) commit(bytes int64) error {
	o := a.of
	if a.spool != nil {
		if err := a.spool.Seal(); err != nil {
			return err
		}
		// The Part counts by itself, so a spool that has lost bytes cannot commit.
		if held := a.spool.Bytes(); held != bytes {
			return fmt.Errorf("output part %d: %d of %d bytes were kept", a.turn.index, held, bytes)
		}
	}
	if err := o.settle(a, bytes); err != nil {
		return err
	}
	return o.drain()
}

// settle makes a the attempt that has committed and ends the others.
func (o *ordered) settle(a *attemptOutput, bytes int64) error {
	if a.spool == nil {
		if err := o.checkWhole(a, bytes); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	t := a.turn
	switch {
	case t.over():
		return ErrLost
	case a.dead.Load() || o.mu.state == queueAborted:
		return ErrAborted
	case o.mu.err != nil:
		return o.mu.err
	}
	// The first attempt to commit wins, whatever the Ledger knows by then.
	t.done = a
	for other := range t.attempts {
		if other != a {
			other.kill()
		}
	}
	return nil
}

// checkWhole fails for an attempt that has written through less than an earlier one. It
// waits for passing, so it is only called where the attempt has written through itself.
// An attempt that wrote less would leave the rest of the earlier one in the stream.
func (o *ordered) checkWhole(a *attemptOutput, bytes int64) error {
	o.passing.Lock()
	defer o.passing.Unlock()
	switch {
	case a.dead.Load():
		return ErrLost
	case bytes != a.turn.passed:
		return o.fail(fmt.Errorf("output part %d: %w", a.turn.index, errDiffers))
	}
	return nil
}

// kill ends an attempt without waiting for it. of.mu is held.
// The next write of the attempt fails.
func (a *attemptOutput) kill() {
	a.dead.Store(true)
	if a.spool != nil {
		a.spool.Release()
	}
}

// abort gives up the attempt and frees its spool. What it has passed on stays: the next
// attempt takes it back or compares with it.
// It never waits for a write, because a full pipe may hold one up for ever.
func (a *attemptOutput) abort() {
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

// skip says that part i will not come. A part that has committed is dropped, unless it is
// being passed on.
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

// seal says how many parts there are.
func (o *ordered) seal(total int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.total = total
}

// released returns how many parts were passed on.
func (o *ordered) released() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.turn
}

// fatal returns the error that ends the whole result.
func (o *ordered) fatal() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.err
}

// drain passes on the parts that are ready and whose turn it is. Only one goroutine does
// that; another one that comes meanwhile leaves its part to it.
// o.mu is not held while a part is passed on, so attempts go on meanwhile.
func (o *ordered) drain() error {
	for first := true; ; first = false {
		t, ok, err := o.ready(first)
		if !ok {
			return err
		}
		verdict, handed, err := o.release(t)
		o.mu.Lock()
		o.mu.current = nil
		if err != nil && o.mu.err == nil {
			o.mu.err = err
		}
		if err == nil {
			delete(o.mu.queue, t.index)
			// released may say so only now, when the bytes are out.
			o.mu.turn++
			if verdict == jobs.EndJob {
				invariant.Reach(&o.mu.state, queueEnded)
			}
		}
		o.mu.Unlock()
		if err == nil {
			o.notify(t, verdict, handed)
		}
	}
}

// ready returns the part whose turn it is, if it can be passed on. The first call of a drain
// also takes the right to pass parts on, and a call that returns false gives it back.
// finish waits on idle until the right is given back.
func (o *ordered) ready(first bool) (*turn, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if first && o.mu.draining {
		return nil, false, nil
	}
	t := o.mu.queue[o.mu.turn]
	if o.mu.err == nil && o.mu.state < queueAborted && t != nil && t.over() {
		o.mu.draining, o.mu.current = true, t
		return t, true, nil
	}
	o.mu.draining = false
	o.mu.idle.Broadcast()
	if o.mu.state == queueAborted {
		return nil, false, ErrAborted
	}
	return nil, false, o.mu.err
}

// notify calls OnVerdict and OnRelease for a part that was passed on.
// No lock is held, because the callbacks may call Skip.
func (o *ordered) notify(t *turn, verdict jobs.Verdict, handed bool) {
	if o.parts.OnVerdict != nil && handed {
		o.parts.OnVerdict(t.index, verdict)
	}
	if o.parts.OnRelease != nil {
		o.parts.OnRelease(t.index + 1)
	}
}

// release passes one part on, or hands it to the Releaser.
// The spool is freed in all cases, also if the Releaser fails.
func (o *ordered) release(t *turn) (verdict jobs.Verdict, handed bool, err error) {
	a := t.done
	if a == nil || a.spool == nil { // skipped, or written through
		return jobs.Continue, false, nil
	}
	defer a.spool.Release()
	o.mu.Lock()
	over := o.mu.state >= queueEnded || t.skipped
	o.mu.Unlock()
	switch {
	case over:
		return jobs.Continue, false, nil
	case o.parts.Releaser == nil:
		return jobs.Continue, false, o.passWhole(a)
	}
	// The Releaser may stop reading at any byte; the rest of the part is then left out.
	r := a.spool.NewReader()
	defer r.Close()
	verdict, err = o.parts.Releaser.Release(r, sinkWriter{o})
	return verdict, true, errors.Join(err, o.fatal())
}

// passWhole passes on a part that has not written through. An earlier attempt may have, and
// may have written more.
func (o *ordered) passWhole(a *attemptOutput) error {
	if err := o.pass(a, nil); err != nil {
		return err
	}
	if _, err := a.spool.WriteTo(passer{o, a}); err != nil {
		return err
	}
	o.passing.Lock()
	defer o.passing.Unlock()
	if a.checked != a.turn.passed {
		return fmt.Errorf("output part %d: %w", a.turn.index, errDiffers)
	}
	return nil
}

// sinkWriter is the sink as a Releaser sees it.
type sinkWriter struct{ o *ordered }

// Write writes to the sink. It holds the lock passing, as every write to the sink does,
// because a committed part may be passed on at the same time.
func (w sinkWriter) Write(p []byte) (int, error) {
	w.o.passing.Lock()
	defer w.o.passing.Unlock()
	n, err := w.o.sink.Write(p)
	return n, w.o.fail(err)
}

// finish waits for parts that are being passed on, fails if a part is missing, and lets the
// Releaser finish.
// All parts have committed or were skipped by then, or the Releaser has ended the job.
func (o *ordered) finish(total int) error {
	o.mu.Lock()
	for o.mu.draining && o.mu.state < queueAborted {
		o.mu.idle.Wait()
	}
	turn, state, err := o.mu.turn, o.mu.state, o.mu.err
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

// finishPack compresses what is left of the text.
func (o *ordered) finishPack() error {
	if o.sink.pack == nil {
		return nil
	}
	o.passing.Lock()
	defer o.passing.Unlock()
	return o.fail(packError(o.sink.pack.Finish()))
}

// abort ends everything: later calls fail, and all spools are freed, also those of attempts
// that are still writing.
// It does not take passing: a write that waits must not hold it up.
func (o *ordered) abort() {
	if o.sink.pack != nil {
		o.sink.pack.Abort()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	invariant.Reach(&o.mu.state, queueAborted)
	o.mu.idle.Broadcast()
	for _, t := range o.mu.queue {
		for a := range t.attempts {
			a.kill()
		}
	}
}
