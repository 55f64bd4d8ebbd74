package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"mrlocal/internal/membudget"
	"mrlocal/slots"
	"mrlocal/spill"
	"mrlocal/trace"
)

// attempt is one attempt of a task, run on its slot's thread. The coordinator
// owns id, slot and the books; the fields below the line are shared.
type attempt struct {
	id    slots.Attempt
	slot  int
	job   *jobRun
	run   *run
	begun time.Time

	lastBeat   int64     // as the coordinator saw it
	lastBeatAt time.Time // when it last rose
	lastPPM    int64
	abandoned  bool

	// ---- shared with the slot's thread
	ctx     context.Context
	cancel  context.CancelCauseFunc
	stopped atomic.Bool
	beat    atomic.Int64 // rises with every block: the sign of life
	ppm     atomic.Int64 // progress in parts per million
	waiting atomic.Bool  // for memory, descriptors or map outputs: no progress is expected
	hasFDs  atomic.Bool  // the attempt's turn at descriptors is taken

	// ---- of the slot's thread
	counters   Counters
	lease      *membudget.Lease
	floorBytes int64 // of lease
	roomBytes  int64 // of that, for a record that is larger than usual
	heldBytes  int64 // leased by the piece of a stream that the attempt reads
	copyBytes  int64
	copyTime   time.Duration
}

// errKilled ends an attempt that the Ledger or the end of its job has killed:
// KILLED, not FAILED.
var errKilled = errors.New("killed")

// kill asks the attempt to stop: seen at blocks' ends, in the kvbuffer, and
// between values.
func (a *attempt) kill() {
	a.stopped.Store(true)
	a.cancel(errKilled)
}

func (a *attempt) killed() bool { return a.stopped.Load() }

// name is the attempt as messages have it: "m-000007_0".
func (a *attempt) name() string {
	kind := "m"
	if a.id.Kind == slots.Reduce {
		kind = "r"
	}
	return fmt.Sprintf("%s %s-%06d_%d", a.job.job.Name, kind, a.id.Task, a.id.N)
}

// userError is a failure of user code: an error it returned, or a panic.
type userError struct {
	what  string // "map", "reduce", …
	cause error
	stack []byte
}

func (e *userError) Error() string { return e.what + ": " + e.cause.Error() }
func (e *userError) Unwrap() error { return e.cause }

// guard runs user code: its panic becomes an error with the stack, its error
// is given one.
func guard(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			cause, isErr := p.(error)
			if isErr {
				cause = fmt.Errorf("panic: %w", cause)
			} else {
				cause = fmt.Errorf("panic: %v", p)
			}
			err = &userError{what: what, cause: cause, stack: debug.Stack()}
		}
	}()
	if err := f(); err != nil {
		return &userError{what: what, cause: err, stack: debug.Stack()}
	}
	return nil
}

// whole runs an attempt. A panic in mrlocal's own code ends the attempt, not
// the process, so that the run can still clean up behind itself.
func whole(attempt func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &internalError{fault: p, stack: debug.Stack()}
		}
	}()
	return attempt()
}

// internalError is a fault of mrlocal; another attempt does not mend it.
type internalError struct {
	fault any
	stack []byte
}

func (e *internalError) Error() string { return fmt.Sprintf("internal error: %v", e.fault) }

// reportFailure prints what failed an attempt of user code with its stack,
// indented, so that it cannot be taken for mrlocal's own words.
func (a *attempt) reportFailure(err error) {
	var stack []byte
	var ue *userError
	var internal *internalError
	switch {
	case errors.As(err, &internal):
		stack = internal.stack
	case errors.As(err, &ue) && !a.job.job.BuiltIn:
		stack = ue.stack
	default:
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "mrlocal: attempt %s failed: %v\n", a.name(), oneLine(err.Error()))
	for line := range strings.Lines(string(stack)) {
		b.WriteString("    ")
		b.WriteString(line)
	}
	fmt.Fprint(a.run.o.Stderr, b.String())
}

func oneLine(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", `\n`) }

// phase tells the Ledger what the attempt is doing now.
func (a *attempt) phase(p slots.Phase) {
	c := a.run.coordinator
	c.inbox.post(func() {
		if c.running[a.id] == a {
			c.ledger.Phase(a.run.now(), a.id, p)
		}
	})
}

// tick notes a sign of life, doneBytes of totalBytes into the attempt.
func (a *attempt) tick(doneBytes, totalBytes int64) {
	a.beat.Add(1)
	if totalBytes > 0 {
		a.ppm.Store(min(1_000_000, doneBytes*1_000_000/totalBytes))
	}
}

// roomError says that a record, or records that must be in memory together,
// need more than the attempt's lease; the attempt starts over with a larger
// floor, holding nothing while it waits for it.
type roomError struct {
	bytes int64
	what  string
}

func (e *roomError) Error() string {
	return fmt.Sprintf("%s needs %d bytes of memory at once; raise --memory", e.what, e.bytes)
}

// withRoom waits for descriptors, reserves the attempt's floor and runs body; where body finds that
// a record does not fit, it runs again on a floor as large as needed. Nothing
// is held while waiting, so attempts cannot block each other for good.
func (a *attempt) withRoom(body func() error) error {
	if err := a.takeFDs(); err != nil {
		return err
	}
	defer a.leaveFDs()
	floorBytes := min(a.run.floorBytes, a.run.budget.Limit()-a.heldBytes)
	for {
		a.waiting.Store(true)
		lease, err := a.run.budget.Reserve(a.ctx, floorBytes)
		a.waiting.Store(false)
		if err != nil {
			return err
		}
		a.lease, a.floorBytes = lease, floorBytes
		err = body()
		lease.Close()
		a.lease = nil
		need := a.roomFor(err)
		if need <= floorBytes {
			return err
		}
		floorBytes, a.roomBytes = need, need-min(a.run.floorBytes, a.run.budget.Limit()/8)
		a.counters = Counters{}
	}
}

// roomFor is the floor with which an attempt that ended with err should start
// over; 0 where another floor cannot help.
func (a *attempt) roomFor(err error) int64 {
	r := a.run
	var room *roomError
	most := r.budget.Limit() - r.heldTotalBytes()
	switch {
	case errors.As(err, &room):
		if need := min(r.floorBytes, r.budget.Limit()/8) + room.bytes; need <= most {
			return need
		}
	case errors.Is(err, membudget.ErrNoRoom):
		return most
	}
	return 0
}

// taskMemory hands out an attempt's leased memory for input blocks.
type taskMemory struct{ lease *membudget.Lease }

// Get returns a chunk of at least n bytes, growing the lease where it must.
// Small files get pieces of a chunk: a kvbuffer may keep very many of them.
func (m taskMemory) Get(n int) (*membudget.Chunk, error) {
	take, charged := m.lease.Chunk, int64(membudget.ChunkBytes)
	switch {
	case n > membudget.ChunkBytes:
		take, charged = func() (*membudget.Chunk, bool) { return m.lease.Big(int64(n)) }, int64(n)+bigSlackBytes
	case n <= membudget.ChunkBytes/2:
		take = func() (*membudget.Chunk, bool) { return m.lease.Piece(n) }
	}
	if c, ok := take(); ok {
		return c, nil
	}
	if m.lease.Grow(charged) {
		if c, ok := take(); ok {
			return c, nil
		}
	}
	if n > membudget.ChunkBytes {
		return nil, &roomError{charged + membudget.ChunkBytes, fmt.Sprintf("a record of %d bytes", n)}
	}
	return nil, &roomError{charged, "an input block"}
}

// bigSlackBytes is what rounding to pages may add to a large chunk.
const bigSlackBytes = 64 << 10

// Charge accounts for memory that a decoder keeps on the Go heap.
func (m taskMemory) Charge(bytes int64) (release func(), err error) {
	if !m.lease.Grow(bytes) {
		return nil, &roomError{bytes, fmt.Sprintf("a decoder's window of %d bytes", bytes)}
	}
	return func() { m.lease.Shrink(bytes) }, nil
}

// Put gives a chunk back.
func (m taskMemory) Put(c *membudget.Chunk) { m.lease.Free(c) }

// notifySpill puts what the kvbuffer or a merge tells of on the timeline.
func (a *attempt) notifySpill(e spill.Event) {
	op := [...]trace.Op{
		spill.Grow: trace.OpGrow, spill.Refuse: trace.OpRefuse, spill.SpillStart: trace.OpSpillStart, spill.SpillEnd: trace.OpSpillEnd,
		spill.Evict: trace.OpEvict, spill.MergePass: trace.OpMergeEnd,
	}[e.Kind]
	c := a.run.coordinator
	c.inbox.post(func() {
		c.run.stream.Append(trace.Event{
			At: c.run.now(), Op: op, Kind: a.id.Kind, Job: int32(a.id.Job), Task: int32(a.id.Task), N: a.id.N, Slot: int32(a.slot),
			A: e.Bytes, B: e.Records,
		})
	})
}
