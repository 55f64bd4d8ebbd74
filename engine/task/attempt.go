// Package task is what an attempt does on the thread of its slot. A map attempt
// reads a source into a kvbuffer or, in a map-only job, writes its part. A
// reduce attempt copies map outputs, merges them, reduces, and writes its part.
//
// The package decides nothing. Package engine starts and kills attempts and
// books how they end. An attempt sees that it is killed between blocks, in the
// kvbuffer and between values. Pace slows attempts down where the options ask
// for that.
//
// Memory: an attempt leases its floor before it does anything else, and holds
// nothing while it waits for that. It gives everything back when it ends; a map
// output has a lease of its own.
//
// An attempt reads an engine/source, uses package spill, and writes to a Sink.
// A Shuffle passes map outputs to reduces. A Pool has the threads of all slots.
package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"mrlocal/engine/source"
	"mrlocal/errs"
	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/report"
	"mrlocal/slots"
	"mrlocal/spill"
	"mrlocal/spill/runs"
	"mrlocal/trace"
)

// Env is what all attempts of a run share.
type Env struct {
	Budget          *membudget.Budget
	FloorBytes      int64        // every attempt's lease before it starts
	SortBufferBytes int64        // of that, for the first size of a kvbuffer
	Fits            bool         // the map outputs of all inputs are likely to fit in memory
	HeldTotalBytes  int64        // what pieces of streams may take together
	DecoderBytes    func() int64 // what decoders of streams hold as long as the streams last; nil: nothing
	AfmBytes        func() int64 // free memory that a running map may count on

	spill.KVBuffer
	MergeFactor int
	HashSeed    uint64 // of the tables of kvbuffers
	CreateTemp  func(kind string) func() (*disk.TempFile, error)
	Pool        *ThreadPool
	Stderr      io.Writer // stacks of failed user code

	// LendsCores lets a merge sort on the cores of slots that are idle.
	LendsCores bool

	FDsPerTask int
	FDTurns    chan struct{} // holds a token for each attempt that may have files open; nil: all may
	Pace       *Pace         // nil: nothing is slowed down
	Profile    bool          // label attempts for the profiler and the execution tracer
}

// Listener hears what attempts do. Its methods are called on the threads of
// attempts and of their helpers.
type Listener interface {
	Phase(a *SlotAttempt, p slots.Phase)
	Detail(e trace.Event, texts ...string) // of spills, copies and statuses; without a time
}

// SlotAttempt is one attempt of a task, run on the thread of its slot. The fields above
// the line are set before it runs.
type SlotAttempt struct {
	ID       slots.AttemptID
	Slot     int
	Tracker  slots.TrackerID
	Env      *Env
	Job      *SharedJob
	Faulty   bool    // an injected fault makes it fail at its end
	Stretch  float64 // it takes so many times as long; 0: as long as it takes
	Gate     Gate    // holds a reduce in its copy phase; nil: the reduce goes on when it has its data
	listener Listener

	// ---- shared with other threads
	ctx          context.Context
	cancel       context.CancelCauseFunc
	stopped      atomic.Bool
	Beat         atomic.Int64 // rises with every block: the sign of life
	PPM          atomic.Int64 // progress in parts per million; Done has it
	timed        atomic.Pointer[timedWork]
	Waiting      atomic.Bool  // for memory, descriptors or map outputs: no progress is expected
	hasFDs       atomic.Bool  // it holds a token of Env.FDTurns
	helperCPU    atomic.Int64 // nanoseconds of its helpers
	spilledBytes atomic.Int64
	onDisk       atomic.Int64 // bytes it has spilled, counted where disks are slowed down

	// ---- of the slot's thread, and of the caller when the attempt has ended
	Counters  report.Counters
	CopyBytes int64

	// CopyTime is what the bytes of a reduce take to reach its reducer [OMO21, "shuffle
	// estimate"]. It covers taking over map outputs, the merge before the first record,
	// and reading and unpacking segments. Waiting for maps and the gate do not count.
	CopyTime time.Duration

	// Parts of the time of a map; what is left is that of its mapper. Reading covers decoding.
	// Sorting and spilling are those of spill.Stats.
	readTime, sortTime, spillTime time.Duration

	// DiskWait is how long it waited for the slowed-down disk of its tracker.
	DiskWait time.Duration

	spills bool // it has begun to spill

	part    Part                // what it writes; nil: it has no part
	outputs map[string]*textOut // by name

	measured  measures
	peakBytes int64 // of the lease that was closed last

	profile    *profiled // nil: the run is not profiled
	begun      []any     // user code that has its attempt
	statuses   statuses
	lease      *membudget.Lease
	floorBytes int64         // of lease
	roomBytes  int64         // of floorBytes, for a record that is larger than usual
	heldBytes  int64         // leased by the piece of a stream that the attempt reads
	workingAt  time.Time     // when it began to work
	pausedFor  time.Duration // how long it has waited on purpose since workingAt
	dragged    time.Duration // of pausedFor, because of Stretch
	copiers    []time.Time   // when each copier is free; nil: no copy has been throttled
}

// overheadBytes is the part of an attempt's floor that is for input and output
// blocks and for writing spills.
const overheadBytes = 2 << 20

// New makes an attempt, which Map or Reduce runs. It is killed when ctx ends.
func New(ctx context.Context, id slots.AttemptID, slot int, env *Env, job *SharedJob, l Listener) *SlotAttempt {
	a := &SlotAttempt{ID: id, Slot: slot, Env: env, Job: job, listener: l}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	return a
}

// End frees what the context of an attempt holds that has ended.
func (a *SlotAttempt) End() { a.cancel(nil) }

// ErrKilled ends an attempt that was killed, by the Ledger or because its job has
// ended. Such an attempt counts as killed, not as failed.
var ErrKilled = errors.New("killed")

// Kill asks the attempt to stop. It may be called from any goroutine.
func (a *SlotAttempt) Kill() {
	a.stopped.Store(true)
	// Readers of ctx find this cause; loops that only want a flag read stopped.
	a.cancel(ErrKilled)
}

// Killed reports whether Kill was called.
func (a *SlotAttempt) Killed() bool { return a.stopped.Load() }

// Await waits until another attempt hands over the source that it reads. It fails
// with ErrKilled.
func (a *SlotAttempt) Await(next <-chan source.Source) (source.Source, error) {
	a.Waiting.Store(true)
	defer a.Waiting.Store(false)
	select {
	case src := <-next:
		return src, nil
	case <-a.ctx.Done():
		return nil, ErrKilled
	}
}

// Name returns the attempt as in messages, such as "count m-000007_0".
func (a *SlotAttempt) Name() string {
	kind := "m"
	if a.ID.Kind == slots.Reduce {
		kind = "r"
	}
	return fmt.Sprintf("%s %s-%06d_%d", a.Job.Spec.Name, kind, a.ID.Task, a.ID.N)
}

// Whole runs an attempt. A panic in mrlocal's own code fails the attempt and does
// not end the process, so that the run can still remove its files.
func Whole(attempt func() error) (err error) {
	defer func() {
		p := recover()
		if user, is := p.(*source.UserError); is { // from a constructor (source.GuardNew)
			err = user
		} else if p == any(runs.ErrKilled) { // by an Emitter that no user code called
			err = ErrKilled
		} else if p != nil {
			err = &internalError{fault: p, stack: debug.Stack()}
		}
	}()
	return attempt()
}

// internalError is a defect of mrlocal. Another attempt would meet it too.
type internalError struct {
	fault any
	stack []byte
}

func (e *internalError) Error() string { return fmt.Sprintf("internal error: %v", e.fault) }

// ReportFailure prints the stack of the user code, or of the defect of mrlocal,
// that has failed the attempt. It prints nothing for other failures. The stack is
// indented, so that it does not look like a message of mrlocal.
func (a *SlotAttempt) ReportFailure(err error) {
	var stack []byte
	var ue *source.UserError
	var internal *internalError
	switch {
	case errors.As(err, &internal):
		stack = internal.stack
	case errors.As(err, &ue) && !a.Job.Spec.BuiltIn:
		stack = ue.Stack
	default:
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "mrlocal: attempt %s failed: %v\n", a.Name(), errs.OneLine(err.Error()))
	for line := range strings.Lines(string(stack)) {
		b.WriteString("    ")
		b.WriteString(line)
	}
	fmt.Fprint(a.Env.Stderr, b.String())
}

// begin describes the attempt to user code that is a jobs.Attempter. It fails if the code panics.
func (a *SlotAttempt) begin(user any) error {
	if u, ok := user.(jobs.Attempter); ok {
		a.begun = append(a.begun, user)
		own := jobs.OwnAttempt{Context: a.ctx, Task: int(a.ID.Task), Number: int(a.ID.N), Progress: a.tick, Lasts: a.lasts, Side: a.Job.Side, Read: a.read, Status: a.status, Charge: a.charge}
		if len(a.Job.Spec.Outputs) > 0 {
			own.Output = a.output
		}
		return source.Guard("begin", func() error { u.Begin(own); return nil })
	}
	return nil
}

// closeUser closes the user code that has begun, where it holds something.
func (a *SlotAttempt) closeUser() {
	for _, user := range a.begun {
		if c, ok := user.(io.Closer); ok {
			_ = c.Close() // the attempt has ended, and with it all that the code could lose
		}
	}
	a.begun = nil
}

// timedWork is work that time alone gets done.
type timedWork struct {
	begun time.Time
	takes time.Duration // on this tracker
}

// lasts notes that what is left of the attempt takes total, and Stretch times as long
// here.
func (a *SlotAttempt) lasts(total time.Duration) {
	if a.Stretch > 1 {
		total += time.Duration(float64(total) * (a.Stretch - 1))
	}
	a.timed.Store(&timedWork{time.Now(), total})
}

// Done returns the progress of the attempt, from any goroutine. Of the job's maps, which
// are all in number, maps are done. Work that takes a known time is done in proportion to
// it: all of a map, and of a reduce what comes after its copy phase, as in the simulator. A
// reduce has copied what the maps have committed, because within one machine a copy moves
// references; where bandwidth is bounded it counts by itself.
func (a *SlotAttempt) Done(maps, all int32) slots.PPM {
	const whole = float64(slots.One)
	w, done := a.timed.Load(), slots.PPM(a.PPM.Load())
	switch {
	case w == nil && a.Copying(done) && a.Env.Pace == nil && all > 0:
		return slots.PPM(float64(float64(maps) / float64(all) / 3 * whole))
	case w == nil && a.Job.Spec.Timed:
		return min(done, third) // a sleeping task that has not begun
	case w == nil:
		return done
	}
	share := 1.0
	if w.takes > 0 {
		share = 1 - float64(max(0, w.takes-time.Since(w.begun)))/float64(w.takes)
	}
	if a.ID.Kind == slots.Reduce {
		share = 1./3 + float64(share*2/3)
	}
	return slots.PPM(float64(share * whole))
}

// read counts what user code has read by itself.
func (a *SlotAttempt) read(records, bytes int64) {
	a.Counters.MapInputRecords += records
	a.Counters.MapInputBytes += bytes
}

// charge counts memory of user code against the lease. It leaves what the kvbuffer
// and the blocks need at least.
func (a *SlotAttempt) charge(bytes int64) bool {
	// User code is refused memory before the kvbuffer is: it can do without, for instance by
	// emitting what it has folded.
	keep := a.roomBytes + spill.LeastBytes + overheadBytes
	if short := bytes + keep - a.lease.Available(); short > 0 && !a.lease.Grow(short) {
		return false
	}
	return a.lease.Charge(bytes)
}

// tick notes a sign of life, and that doneBytes of totalBytes are done.
func (a *SlotAttempt) tick(doneBytes, totalBytes int64) {
	a.Beat.Add(1)
	// The input of a map with reduces is two thirds of its progress (third).
	whole := int64(1_000_000)
	if a.ID.Kind == slots.Map && !a.Job.MapOnly() {
		whole = 2 * third
	}
	if totalBytes > 0 {
		a.PPM.Store(min(whole, doneBytes*whole/totalBytes))
	}
}

// withRoom waits for descriptors, reserves the attempt's floor and runs body. If
// body finds that a record does not fit, it runs again on a floor that is large
// enough. The attempt holds no memory while it waits, so that attempts do not
// wait for each other for ever.
func (a *SlotAttempt) withRoom(body func() error) error {
	if err := a.takeFDs(); err != nil {
		return err
	}
	defer a.LeaveFDs()
	// A giant piece of a stream may leave less than a usual floor.
	floorBytes := min(a.Env.FloorBytes, a.Env.Budget.Limit()-a.heldBytes)
	for {
		a.Waiting.Store(true)
		lease, err := a.Env.Budget.ReserveMost(a.ctx, floorBytes, a.mostBytes)
		a.Waiting.Store(false)
		if err != nil {
			return err
		}
		floorBytes = lease.Granted()
		a.lease, a.floorBytes = lease, floorBytes
		a.workingAt, a.pausedFor, a.dragged = time.Now(), 0, 0
		err = body()
		a.closeUser()
		a.peakBytes = lease.Peak()
		lease.Close()
		a.lease = nil
		// body ended for want of room if a larger floor would help. Otherwise err is
		// how the attempt ends.
		need := a.roomFor(err)
		room := need - min(a.Env.FloorBytes, a.Env.Budget.Limit()/8)
		if need <= floorBytes && room <= a.roomBytes {
			if need == 0 || floorBytes >= a.mostBytes() {
				return a.enough(err)
			}
			need = a.mostBytes() // the kvbuffer may hold, and spill, more records of that size
		}
		floorBytes, a.roomBytes = max(floorBytes, need), room
		// The attempt begins anew, so what the first try has counted must not count twice.
		a.Counters = report.Counters{}
	}
}

// roomFor returns the floor, in bytes, with which an attempt that ended with err
// should start again; 0: no floor helps.
func (a *SlotAttempt) roomFor(err error) int64 {
	e := a.Env
	var room *source.RoomError
	switch {
	case errors.As(err, &room):
		if need := min(e.FloorBytes, e.Budget.Limit()/8) + room.Bytes; need <= a.mostBytes() {
			return need
		}
	case errors.Is(err, membudget.ErrNoRoom):
		return a.mostBytes()
	}
	return 0
}

// enough adds to an error about memory the bound that would do.
func (a *SlotAttempt) enough(err error) error {
	limit := a.Env.Budget.Limit()
	var room *source.RoomError
	if errors.As(err, &room) {
		return room.Enough(err, limit, a.mostBytes()-min(a.Env.FloorBytes, limit/8))
	}
	return err
}

// mostBytes returns the largest floor that an attempt may wait for.
func (a *SlotAttempt) mostBytes() int64 {
	e := a.Env
	bytes := e.Budget.Limit() - e.HeldTotalBytes
	if e.DecoderBytes != nil {
		bytes -= e.DecoderBytes()
	}
	return bytes
}

// notifySpill is called by the kvbuffer and by merges, on any thread of the
// attempt.
func (a *SlotAttempt) notifySpill(e runs.Event) {
	if e.Kind == runs.SpillStart { // on the attempt's thread
		a.spills = true
	}
	a.wrote(&e)
	a.spilled(&e)
	op := [...]trace.Op{
		runs.Begin: trace.OpBuffer, runs.Grow: trace.OpGrow, runs.Refuse: trace.OpRefuse, runs.SpillStart: trace.OpSpillStart, runs.SpillEnd: trace.OpSpillEnd,
		runs.Evict: trace.OpEvict, runs.MergePass: trace.OpMergeEnd,
	}[e.Kind]
	a.detail(op, e.Bytes, cmp.Or(e.Records, e.ToBytes), 0) // no event has both
}

// detail notifies the Listener of an event of the attempt.
func (a *SlotAttempt) detail(op trace.Op, first, second, third int64, texts ...string) {
	a.listener.Detail(trace.Event{
		Op: op, Kind: a.ID.Kind, Job: int32(a.ID.Job), Task: int32(a.ID.Task), N: a.ID.N, Slot: int32(a.Slot), A: first, B: second, C: third,
	}, texts...)
}

// Bounds on the statuses of an attempt that become events: the bytes of one, how many, and
// the time between two.
const (
	mostStatusBytes = 256
	mostStatuses    = 100
	statusPause     = time.Second
)

// statuses are those of an attempt.
type statuses struct {
	last  string
	at    time.Time
	count int
}

// status makes an event of what the user's code says. A text that comes too soon is left out.
func (a *SlotAttempt) status(text string) {
	text = errs.OneLine(strings.ToValidUTF8(text[:min(len(text), mostStatusBytes)], "\ufffd"))
	s, now := &a.statuses, time.Now()
	if text == s.last || s.count == mostStatuses || s.count > 0 && now.Sub(s.at) < statusPause {
		return
	}
	*s = statuses{text, now, s.count + 1}
	a.detail(trace.OpStatus, 0, 0, 0, text)
}

// addBuffer adds the counts of a kvbuffer.
func (a *SlotAttempt) addBuffer(s spill.Stats) {
	c := &a.Counters
	c.MapOutputRecords += s.Records
	c.MapOutputBytes += s.Bytes
	c.CombineInputRecords += s.CombineIn
	c.CombineOutputRecords += s.CombineOut
	c.SpilledRecords += s.SpilledRecords
	c.SpilledBytes += s.SpilledBytes
	c.Spills += s.Spills
	c.KVBufferExpansions += s.Expansions
	a.sortTime, a.spillTime = a.sortTime+s.SortTime, a.spillTime+s.SpillTime
}

// errInjected ends an attempt that an injected fault makes fail.
var errInjected = errors.New("fails by an injected fault")

// Permanent reports whether another attempt would fail with err too.
func Permanent(err error) bool {
	var in source.InputError
	var room *source.RoomError
	var internal *internalError
	return errors.As(err, &in) || errors.As(err, &internal) || errors.As(err, &room) || errors.Is(err, membudget.ErrNoRoom) ||
		errors.Is(err, output.ErrClosedPipe) || errs.IsUsage(err)
}
