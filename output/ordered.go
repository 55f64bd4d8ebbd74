package output

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"mrlocal/jobs"
)

// ordered passes parts on one after the other.
//
// turn is the part whose turn it is: it may write through to the sink, and
// nobody else does. Attempts at later parts collect in spools. When a part has
// committed and its turn comes, whoever moved the turn passes its spool on.
//
//	parts   0     1     2     3     4
//	      done  done   ...  spool  spool
//	                    ^ turn: its attempt empties its spool, then writes through
//
// An attempt that fails after it has written through leaves bytes in the sink.
// A file takes them back. A stream cannot: the next attempt's first bytes are
// compared with those, by hash, and must be the same.
type ordered struct {
	sink  *sink
	parts Parts

	// passing is held while bytes go to the sink: an attempt that takes over
	// waits for what the one before had begun. Never taken by abort.
	passing sync.Mutex

	mu struct {
		sync.Mutex
		idle     sync.Cond
		queue    map[int]*turn
		turn     int
		total    int   // -1: not known yet
		draining bool  // somebody passes parts on
		current  *turn // is being passed on
		ended    bool  // the Releaser wants no more
		aborted  bool
		err      error
	}
}

// turn is a part that has not been passed on yet.
type turn struct {
	index    int
	attempts map[*attempt]struct{}
	owner    *attempt // writes through
	done     *attempt // has committed
	skipped  bool

	// Under passing: what has gone to the sink.
	start, passed int64
	hash          *xxhash.Digest
}

// attempt is one attempt at a part; write and commit belong to its goroutine.
type attempt struct {
	of      *ordered
	turn    *turn
	spool   *Spool // nil: writes through
	dead    atomic.Bool
	checked int64          // under passing: bytes compared with, or added to, turn.passed
	hash    *xxhash.Digest // under passing
}

var errDiffers = errors.New("a retried attempt wrote something else than the attempt before, whose output cannot be taken back")

func newOrdered(s *sink, p Parts, total int) *ordered {
	o := &ordered{sink: s, parts: p}
	o.mu.queue = make(map[int]*turn)
	o.mu.total = total
	o.mu.idle.L = &o.mu
	return o
}

// at is the part, made at first mention. o.mu is held.
func (o *ordered) at(i int) *turn {
	t := o.mu.queue[i]
	if t == nil {
		t = &turn{index: i, attempts: make(map[*attempt]struct{})}
		o.mu.queue[i] = t
	}
	return t
}

func (o *ordered) attempt(i int) (*attempt, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.mu.aborted:
		return nil, ErrAborted
	case o.mu.err != nil:
		return nil, o.mu.err
	case i < 0 || o.mu.total >= 0 && i >= o.mu.total:
		return nil, fmt.Errorf("there are %d parts", o.mu.total)
	case i < o.mu.turn || o.mu.queue[i] != nil && (o.mu.queue[i].done != nil || o.mu.queue[i].skipped):
		return nil, ErrLost
	}
	t := o.at(i)
	a := &attempt{of: o, turn: t, spool: NewSpool(o.parts.Memory, o.parts.CreateTemp)}
	t.attempts[a] = struct{}{}
	return a, nil
}

func (a *attempt) write(p []byte) error {
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

// claim makes an attempt whose part's turn it is the one that writes through.
// With a Releaser nobody does.
func (o *ordered) claim(a *attempt) (through bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := a.turn
	switch {
	case t.done != nil || t.skipped:
		return false, ErrLost
	case a.dead.Load() || o.mu.aborted:
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

// empty passes on what the attempt spooled before its turn.
func (a *attempt) empty() error {
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

// pass sends p to the sink, except for what an attempt before has sent.
func (o *ordered) pass(a *attempt, p []byte) error {
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

// compare begins an attempt's passing: in a file it takes back what a failed
// attempt left; in a stream it compares p with that and returns what is new.
func (o *ordered) compare(a *attempt, p []byte) ([]byte, error) {
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

// fail notes an error of the sink, which no further attempt can mend.
func (o *ordered) fail(err error) error {
	if err == nil || errors.Is(err, ErrAborted) {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.err == nil {
		o.mu.err = err
	}
	return err
}

// passer is an attempt's way to the sink.
type passer struct {
	o *ordered
	a *attempt
}

func (p passer) Write(data []byte) (int, error) {
	if err := p.o.pass(p.a, data); err != nil {
		return 0, err
	}
	return len(data), nil
}

// ReadFrom lets the kernel copy a temporary file into a file.
func (p passer) ReadFrom(r io.Reader) (int64, error) {
	o, a := p.o, p.a
	if o.sink.file == nil {
		return io.CopyBuffer(struct{ io.Writer }{p}, struct{ io.Reader }{r}, make([]byte, partBufferBytes))
	}
	o.passing.Lock()
	defer o.passing.Unlock()
	if _, err := o.compare(a, nil); err != nil {
		return 0, o.fail(err)
	}
	n, err := o.sink.file.ReadFrom(r)
	o.sink.advance(n)
	a.turn.passed += n
	a.checked = a.turn.passed
	return n, o.fail(streamError(err))
}

// commit makes the attempt the one whose text counts, and passes on whatever
// can be passed on then.
func (a *attempt) commit(bytes int64) error {
	o := a.of
	if a.spool != nil {
		if err := a.spool.Seal(); err != nil {
			return err
		}
		if held := a.spool.Bytes(); held != bytes {
			return fmt.Errorf("output part %d: %d of %d bytes were kept", a.turn.index, held, bytes)
		}
	}
	if err := o.settle(a, bytes); err != nil {
		return err
	}
	return o.drain()
}

func (o *ordered) settle(a *attempt, bytes int64) error {
	if a.spool == nil {
		if err := o.checkWhole(a, bytes); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	t := a.turn
	switch {
	case t.done != nil || t.skipped:
		return ErrLost
	case a.dead.Load() || o.mu.aborted:
		return ErrAborted
	case o.mu.err != nil:
		return o.mu.err
	}
	t.done = a
	for other := range t.attempts {
		if other != a {
			other.kill()
		}
	}
	return nil
}

// checkWhole finds a retried attempt that wrote through less than the one
// before. Only then, and not behind a stalled stream, does it take passing.
func (o *ordered) checkWhole(a *attempt, bytes int64) error {
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
func (a *attempt) kill() {
	a.dead.Store(true)
	if a.spool != nil {
		a.spool.Release()
	}
}

// abort gives the attempt up. Its spool goes; what it has passed on stays for
// the next attempt to take back or to compare with.
func (a *attempt) abort() {
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

// skip says that part i will not come. One that has committed is dropped,
// unless it is being passed on.
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

func (o *ordered) seal(total int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.total = total
}

func (o *ordered) released() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.turn
}

func (o *ordered) fatal() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.err
}

// drain passes on the parts that are ready and whose turn it is. Only one
// goroutine does; another that comes meanwhile leaves its part to it.
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
			o.mu.turn++
			o.mu.ended = o.mu.ended || verdict == jobs.EndJob
		}
		o.mu.Unlock()
		if err == nil {
			o.tell(t, verdict, handed)
		}
	}
}

// ready takes the part whose turn it is, if it can be passed on. The first
// call of a drain also takes the right to, the last gives it back.
func (o *ordered) ready(first bool) (*turn, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if first && o.mu.draining {
		return nil, false, nil
	}
	t := o.mu.queue[o.mu.turn]
	if o.mu.err == nil && !o.mu.aborted && t != nil && (t.done != nil || t.skipped) {
		o.mu.draining, o.mu.current = true, t
		return t, true, nil
	}
	o.mu.draining = false
	o.mu.idle.Broadcast()
	if o.mu.aborted {
		return nil, false, ErrAborted
	}
	return nil, false, o.mu.err
}

func (o *ordered) tell(t *turn, verdict jobs.Verdict, handed bool) {
	if o.parts.OnVerdict != nil && handed {
		o.parts.OnVerdict(t.index, verdict)
	}
	if o.parts.OnRelease != nil {
		o.parts.OnRelease(t.index + 1)
	}
}

// release passes one part on, or hands it to the Releaser.
func (o *ordered) release(t *turn) (verdict jobs.Verdict, handed bool, err error) {
	a := t.done
	if a == nil || a.spool == nil { // skipped, or written through
		return jobs.Continue, false, nil
	}
	defer a.spool.Release()
	o.mu.Lock()
	over := o.mu.ended || t.skipped
	o.mu.Unlock()
	switch {
	case over:
		return jobs.Continue, false, nil
	case o.parts.Releaser == nil:
		return jobs.Continue, false, o.passWhole(a)
	}
	r := a.spool.NewReader()
	defer r.Close()
	verdict, err = o.parts.Releaser.Release(r, sinkWriter{o})
	return verdict, true, errors.Join(err, o.fatal())
}

// passWhole passes on a part that never wrote through. An attempt before may
// have, and have written more.
func (o *ordered) passWhole(a *attempt) error {
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

func (w sinkWriter) Write(p []byte) (int, error) {
	w.o.passing.Lock()
	defer w.o.passing.Unlock()
	n, err := w.o.sink.Write(p)
	return n, w.o.fail(err)
}

// finish reports a part that is missing, and lets the Releaser finish.
func (o *ordered) finish(total int) error {
	o.mu.Lock()
	for o.mu.draining && !o.mu.aborted {
		o.mu.idle.Wait()
	}
	turn, ended, err, aborted := o.mu.turn, o.mu.ended, o.mu.err, o.mu.aborted
	o.mu.Unlock()
	switch {
	case aborted:
		return ErrAborted
	case err != nil:
		return err
	case turn < total && !ended:
		return fmt.Errorf("output part %d of %d: was not written", turn, total)
	case o.parts.Releaser == nil:
		return nil
	}
	if err := o.parts.Releaser.Finish(sinkWriter{o}); err != nil {
		return err
	}
	return o.fatal()
}

// abort ends everything: later calls fail and the spools go, also those of
// attempts that still write.
func (o *ordered) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.aborted = true
	o.mu.idle.Broadcast()
	for _, t := range o.mu.queue {
		for a := range t.attempts {
			a.kill()
		}
	}
}
