package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"mrlocal/engine/pool"
	"mrlocal/input/feed"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/spill"
	"mrlocal/trace"
)

// This file runs attempts on the threads of their slots. A map attempt reads a
// source into a kvbuffer or, in a map-only job, writes its part of the output. A
// reduce attempt copies map outputs, merges them, reduces, and writes its part.
//
// Package engine decides which attempts start and which are killed, and books how
// they end. A killed attempt notices the kill between blocks, in the kvbuffer and
// between values. Pace slows attempts down if the options ask for it.
//
// Memory: an attempt leases its floor before it does anything else, and holds no
// lease while it waits for the floor. It gives the lease back when it ends. A map
// output has a lease of its own.
//
// An attempt reads a feed.Source, uses package spill, and writes to a Sink. A
// Shuffle passes map outputs to reduces. A pool.Pool has the threads of all slots.

// Env is what all attempts of a run share. It does not change once attempts run.
type Env struct {
	Budget          *membudget.Budget
	FloorBytes      int64        // lease of each attempt before it starts
	SortBufferBytes int64        // first size of a kvbuffer, a part of FloorBytes
	Fits            bool         // the map outputs of all inputs are likely to fit in memory
	HeldTotalBytes  int64        // most bytes that pieces of streams lease together
	DecoderBytes    func() int64 // bytes that decoders of streams hold until their streams end; nil: none
	AfmBytes        func() int64 // free memory that a running map may count on: spill.Options.AfmBytes

	spill.KVBuffer
	MergeFactor int    // engine.Options describes it
	HashSeed    uint64 // of the tables of kvbuffers
	CreateTemp  func(kind string) func() (*disk.TempFile, error)
	Pool        *pool.Pool
	Stderr      io.Writer // stacks of failed user code

	// LendsCores lets a merge sort on the cores of slots that are idle.
	LendsCores bool

	FDsPerTask int                 // file descriptors that an attempt may have open
	FDTurns    *semaphore.Weighted // one for each attempt that may have files open; nil: all may
	Pace       *Pace               // nil: nothing is slowed down
	Profile    bool                // label attempts for the profiler and the execution tracer
}

// Listener receives the phases and events of attempts. Its methods are called on the
// threads of attempts and of their helpers.
type Listener interface {
	Phase(a *SlotAttempt, p slots.Phase)   // the attempt enters phase p
	Detail(e trace.Event, texts ...string) // a spill, copy or status; e.At is not set, texts belong to e.Ref
}

// SlotAttempt is one attempt of a task, run on the thread of its slot. The fields above
// the line are set before it runs.
type SlotAttempt struct {
	ID       slots.AttemptID
	Slot     int // index in the pool.Pool
	Tracker  slots.TrackerID
	Env      *Env
	Job      *SharedJob
	Faulty   bool    // an injected fault makes it fail at its end
	Stretch  float64 // factor on its time; 0 or 1: the attempt is not slowed down
	Gate     Gate    // holds a reduce in its copy phase; nil: the reduce goes on when it has its data
	listener Listener

	// ---- shared with other threads
	ctx          context.Context
	cancel       context.CancelCauseFunc
	stopped      atomic.Bool
	Beat         atomic.Int64 // sign of life: rises with every block, or batch of records
	progress     atomic.Int64 // the slots.Progress that the attempt has noted (Done)
	timed        atomic.Pointer[timedWork]
	Waiting      atomic.Bool  // for memory, descriptors or map outputs: no progress is expected
	hasFDs       atomic.Bool  // it holds a token of Env.FDTurns
	helperCPU    atomic.Int64 // nanoseconds of its helpers
	spilledBytes atomic.Int64 // bytes of spills, merge passes and evictions
	onDisk       atomic.Int64 // the same bytes, counted only if disks are slowed down

	// ---- of the slot's thread, and of the caller when the attempt has ended
	Counters  report.Counters
	CopyBytes int64 // of keys and values that a reduce has copied

	// CopyTime is what the bytes of a reduce take to reach its reducer [OMO21, "shuffle
	// estimate"]. It covers taking over map outputs, the merge before the first record,
	// and reading and unpacking segments. Waiting for maps and the gate do not count.
	CopyTime time.Duration

	// Parts of the time of a map. The mapper takes the rest. Reading covers decoding.
	// Sorting and spilling are measured by the kvbuffer (spill.Stats).
	readTime, sortTime, spillTime time.Duration

	// DiskWait is how long the attempt waited for the slowed-down disk of its tracker.
	DiskWait time.Duration

	spills bool // it has begun to spill

	part    output.Part         // where it writes; nil: a map with reduces, or not opened yet
	outputs map[string]*textOut // named outputs that user code has asked for
	texts   []*textOut          // all with a buffer in the lease

	measured  measures
	peakBytes int64 // of the lease that was closed last

	profile    *profiled // nil: the run is not profiled
	begun      []any     // user code whose Begin was called; closeUser closes it
	statuses   statuses
	user       *userTime // since the attempt has its lease
	lease      *membudget.Lease
	floorBytes int64         // what lease got when it was reserved
	roomBytes  int64         // part of floorBytes that is kept for a record larger than usual
	heldBytes  int64         // leased by the piece of a stream that the attempt reads
	workingAt  time.Time     // when it began to work, after it got its floor
	pausedFor  time.Duration // how long it has slept on purpose since workingAt
	stretched  time.Duration // part of pausedFor that is due to Stretch
}

// overheadBytes is the part of an attempt's floor that is for input and output
// blocks and for writing spills.
const overheadBytes = 2 << 20

// newSlotAttempt makes an attempt. Map or Reduce runs it. Its waits end when ctx ends. The caller
// sets the other fields, and calls End when the attempt has ended.
func newSlotAttempt(ctx context.Context, id slots.AttemptID, slot int, env *Env, job *SharedJob, l Listener) *SlotAttempt {
	a := &SlotAttempt{ID: id, Slot: slot, Env: env, Job: job, listener: l}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	return a
}

// End frees the context of the attempt. It is called when the attempt has ended or is
// abandoned.
func (a *SlotAttempt) End() { a.cancel(nil) }

// Kill asks the attempt to stop. It may be called from any goroutine.
func (a *SlotAttempt) Kill() {
	a.stopped.Store(true)
	// Waits end with this cause. Loops over records read the flag, which is cheaper.
	a.cancel(jobs.ErrKilled)
}

// Killed reports whether Kill was called.
func (a *SlotAttempt) Killed() bool { return a.stopped.Load() }

// Await waits until next brings the source that another attempt has read until then.
// It returns jobs.ErrKilled if this attempt is killed meanwhile.
func (a *SlotAttempt) Await(next <-chan feed.Source) (feed.Source, error) {
	a.Waiting.Store(true)
	defer a.Waiting.Store(false)
	select {
	case src := <-next:
		return src, nil
	case <-a.ctx.Done():
		return nil, jobs.ErrKilled
	}
}

// Name returns the name of the attempt for messages, such as "count m-000007_0".
func (a *SlotAttempt) Name() string {
	kind := "m"
	if a.ID.Kind == slots.Reduce {
		kind = "r"
	}
	return fmt.Sprintf("%s %s-%06d_%d", a.Job.Spec.Name, kind, a.ID.Task, a.ID.N)
}

// ReportFailure prints the stack of the user code, or of the defect of mrlocal,
// that has failed the attempt. It prints nothing for other failures. The stack is
// indented, so that it does not look like a message of mrlocal.
func (a *SlotAttempt) ReportFailure(err error) {
	a.Env.report(&a.Job.Spec, fmt.Errorf("attempt %s failed: %w", a.Name(), err))
}

// OfJob returns an error of user code that has run outside of an attempt, with the name of its job. It
// prints the stack, as ReportFailure does. It returns other errors as they are. Only the coordinator
// calls it, so that Stderr is used by one goroutine at a time.
func (e *Env) OfJob(j *jobs.Job, err error) error {
	err = guard.Named(j.Name, err)
	e.report(j, err)
	return err
}

// report prints an error of user code or a defect of mrlocal, with its stack. It prints nothing for
// other errors, and for errors of the user code of built-in jobs.
func (e *Env) report(j *jobs.Job, err error) {
	var ue *guard.Error
	var internal *guard.Defect
	switch {
	case errors.As(err, &internal):
		WriteStack(e.Stderr, err, internal.Stack)
	case errors.As(err, &ue) && !j.BuiltIn:
		WriteStack(e.Stderr, err, ue.Stack)
	}
}

// WriteStack prints an error with the stack of the user code that has failed, in one piece. If w
// fails, the stack is lost.
func WriteStack(w io.Writer, err error, stack []byte) {
	var b strings.Builder
	fmt.Fprintf(&b, "mrlocal: %s\n", errs.OneLine(err.Error()))
	for line := range strings.Lines(string(stack)) {
		b.WriteString("    ")
		b.WriteString(line)
	}
	_, _ = io.WriteString(w, b.String())
}

// begin calls Begin of user code that is a jobs.Attempter, with what the attempt offers to it.
// It fails if Begin panics.
func (a *SlotAttempt) begin(user any) error {
	if u, ok := user.(jobs.Attempter); ok {
		a.begun = append(a.begun, user)
		return guard.Run("begin", func() error { u.Begin(a.user.own()); return nil })
	}
	return nil
}

// closeUser closes the user code that begin has called, if it is an io.Closer. It returns the first
// error. An attempt calls it before the commit, because the error fails the attempt. If a Close ends the
// goroutine, a second call of closeUser closes the rest.
func (a *SlotAttempt) closeUser() error {
	var first error
	for len(a.begun) > 0 {
		user := a.begun[0]
		a.begun = a.begun[1:]
		if c, ok := user.(io.Closer); ok {
			first = cmp.Or(first, guard.Run("close", c.Close))
		}
	}
	a.user.over.Store(true)
	return cmp.Or(first, a.user.end())
}

// timedWork is work whose end is known from its start, such as a sleep.
type timedWork struct {
	begun time.Time
	takes time.Duration // on this tracker, Stretch included
}

// lasts notes that the rest of the attempt takes total. On a tracker with a Stretch it takes
// Stretch times as long.
func (a *SlotAttempt) lasts(total time.Duration) {
	if a.Stretch > 1 {
		total += time.Duration(float64(total) * (a.Stretch - 1))
	}
	a.timed.Store(&timedWork{time.Now(), total})
}

// Done returns the progress of the attempt. maps of the all map tasks of its job are done.
// Done may be called from any goroutine.
//
//   - Work whose time is known (lasts) is done in proportion to the time that has passed. This
//     is all of a map, and the part of a reduce after its copy phase, as in the simulator.
//   - The copy phase of a reduce is done in proportion to the maps that are done: within one
//     machine a copy moves references. If Pace bounds the bandwidth, copyPhase counts copies.
//   - All else is done in proportion to its bytes or records.
func (a *SlotAttempt) Done(maps, all int32) slots.Progress {
	const whole = float64(slots.AllDone)
	w, done := a.timed.Load(), slots.Progress(a.progress.Load())
	switch {
	case w == nil && a.Copying(done) && a.Env.Pace == nil && all > 0:
		return slots.Progress(float64(float64(maps) / float64(all) / 3 * whole))
	case w == nil && a.Job.Spec.Timed:
		return min(done, slots.Progress(third)) // a sleeping task that has not begun
	case w == nil:
		return done
	}
	share := 1.0
	if w.takes > 0 {
		share = 1 - float64(max(0, w.takes-time.Since(w.begun)))/float64(w.takes)
	}
	if a.ID.Kind == slots.Reduce {
		// The conversion keeps the compiler from fusing the product with the sum (FMA), so that
		// every machine gets the same number.
		share = 1./3 + float64(share*2/3)
	}
	return slots.Progress(float64(share * whole))
}

// read counts records and bytes that a map has read from a source of its own
// (jobs.OwnAttempt.Read).
func (a *SlotAttempt) read(records, bytes int64) {
	a.Counters.MapInputRecords += records
	a.Counters.MapInputBytes += bytes
}

// charge counts bytes of memory of user code against the lease (jobs.OwnAttempt.Charge). It
// reports false if the lease has no room beside the least memory of the kvbuffer and of the
// blocks. A reduce has neither, and keeps the buffer of its text.
func (a *SlotAttempt) charge(bytes int64) bool {
	// The kvbuffer cannot do without its memory. User code can. For instance, it emits the
	// records that it has folded. A large record may take memory twice: in user code, and here.
	keep := a.roomBytes/2 + spill.LeastBytes + overheadBytes
	if a.ID.Kind == slots.Reduce {
		keep = membudget.ChunkBytes
	}
	if short := bytes + keep - a.lease.Available(); short > 0 && !a.lease.Grow(short) {
		return false
	}
	return a.lease.Charge(bytes)
}

// tick notes a sign of life and the progress of the attempt: doneBytes of totalBytes, or any
// other unit. totalBytes 0: the progress is not known.
func (a *SlotAttempt) tick(doneBytes, totalBytes int64) {
	a.Beat.Add(1)
	// The input is two thirds of the progress of a map with reduces (third).
	whole := int64(slots.AllDone)
	if a.ID.Kind == slots.Map && !a.Job.MapOnly() {
		whole = 2 * third
	}
	if totalBytes > 0 {
		a.progress.Store(scaled(whole, doneBytes, totalBytes))
	}
}

// scaled returns the part of whole that done is of total, at most whole. No product overflows.
func scaled(whole, done, total int64) int64 {
	hi, lo := bits.Mul64(uint64(whole), uint64(max(0, min(done, total))))
	q, _ := bits.Div64(hi, lo, uint64(total))
	return int64(q)
}

// withRoom waits for descriptors, reserves the attempt's floor and runs body. If body finds
// that a record does not fit, withRoom runs it again on a larger floor. The attempt holds no
// lease while it waits for a floor, so that attempts do not wait for each other for ever.
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
		err = a.inRoom(lease, body)
		// need is 0 unless a larger floor would help. Then err is how the attempt ends.
		need := a.roomFor(err)
		room := need - a.usualFloor()
		if need <= floorBytes && room <= a.roomBytes {
			if need == 0 || floorBytes >= a.mostBytes() {
				return a.withBound(err)
			}
			need = a.mostBytes() // the kvbuffer may hold, and spill, more records of that size
		}
		floorBytes, a.roomBytes = max(floorBytes, need), room
		// The attempt begins anew, so what the first try has counted must not count twice.
		a.Counters = report.Counters{}
	}
}

// inRoom runs body with a lease. Then it closes the user code that body has not closed, and the lease.
// It closes both even if user code has ended the goroutine.
func (a *SlotAttempt) inRoom(lease *membudget.Lease, body func() error) error {
	a.lease, a.floorBytes, a.user, a.outputs = lease, lease.Granted(), &userTime{attempt: a}, nil
	a.workingAt, a.pausedFor, a.stretched = time.Now(), 0, 0
	defer func() {
		for _, t := range a.texts {
			t.drop()
		}
		a.texts = nil
		a.peakBytes = lease.Peak()
		lease.Close()
		a.lease = nil
	}()
	// Code that is still open belongs to an attempt that has failed, which keeps its error.
	defer func() { _ = a.closeUser() }()
	return body()
}

// usualFloor returns the bytes of a floor that a large record leaves to all else. An eighth
// of the budget suffices, so that a large record may take most of it.
func (a *SlotAttempt) usualFloor() int64 {
	return min(a.Env.FloorBytes, a.Env.Budget.Limit()/8)
}

// roomFor returns the bytes of the floor with which an attempt that ended with err should
// start again; 0: no floor helps.
func (a *SlotAttempt) roomFor(err error) int64 {
	var room *feed.RoomError
	switch {
	case errors.As(err, &room):
		if need := a.usualFloor() + room.Bytes; need <= a.mostBytes() {
			return need
		}
	case errors.Is(err, membudget.ErrNoRoom):
		return a.mostBytes()
	}
	return 0
}

// withBound adds to a *feed.RoomError the bound of memory that would be enough. It returns
// other errors as they are.
func (a *SlotAttempt) withBound(err error) error {
	var room *feed.RoomError
	if errors.As(err, &room) {
		return room.Enough(err, a.Env.Budget.Limit(), a.mostBytes()-a.usualFloor())
	}
	return err
}

// mostBytes returns the largest floor that an attempt may wait for. It is the bound minus
// the memory that the streams of the run may hold until they end.
func (a *SlotAttempt) mostBytes() int64 {
	e := a.Env
	bytes := e.Budget.Limit() - e.HeldTotalBytes
	if e.DecoderBytes != nil {
		bytes -= e.DecoderBytes()
	}
	return bytes
}

// notifySpill counts an event of the kvbuffer or of a merge, and passes it to the Listener.
// They call it on any thread of the attempt.
func (a *SlotAttempt) notifySpill(e shuffle.Event) {
	if e.Kind == shuffle.SpillStart { // on the attempt's thread
		a.spills = true
	}
	a.countSpilled(&e)
	a.bookSpill(&e)
	op := [...]trace.Op{
		shuffle.Begin: trace.OpBuffer, shuffle.Grow: trace.OpGrow, shuffle.Refuse: trace.OpRefuse, shuffle.SpillStart: trace.OpSpillStart, shuffle.SpillEnd: trace.OpSpillEnd,
		shuffle.Evict: trace.OpEvict, shuffle.MergePass: trace.OpMergeEnd,
	}[e.Kind]
	a.detail(op, e.Bytes, cmp.Or(e.Records, e.ToBytes), 0) // no event has both
}

// detail passes an event of the attempt to the Listener. trace.Op says what the three numbers
// mean.
func (a *SlotAttempt) detail(op trace.Op, first, second, third int64, texts ...string) {
	a.listener.Detail(trace.Event{
		Op: op, Kind: a.ID.Kind, Job: int32(a.ID.Job), Task: int32(a.ID.Task), N: a.ID.N, Slot: int32(a.Slot), A: first, B: second, C: third,
	}, texts...)
}

// Bounds on the statuses of an attempt that become events. Without them user code could fill
// the events.
const (
	mostStatusBytes = 256         // of one status
	mostStatuses    = 100         // of an attempt
	statusPause     = time.Second // between two
)

// statuses is what an attempt has shown so far: the last text, when, and how many.
type statuses struct {
	last  string
	at    time.Time
	count int
}

// status makes an event of a text of user code (jobs.OwnAttempt.Status). It drops a text that
// repeats the last one, or exceeds the bounds above.
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

// Permanent reports whether another attempt would fail with err too, so that the job fails at
// once.
func Permanent(err error) bool {
	var in feed.InputError
	var room *feed.RoomError
	var internal *guard.Defect
	return errors.As(err, &in) || errors.As(err, &internal) || errors.As(err, &room) || errors.Is(err, membudget.ErrNoRoom) ||
		errors.Is(err, output.ErrClosedPipe) || errs.IsUsage(err)
}
