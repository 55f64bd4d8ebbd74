package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mrlocal/input/feed"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/machine"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/spill"
	"mrlocal/trace"
)

// This file has what map attempts (map.go) and reduce attempts (reduce.go) have in common. An attempt
// runs on the thread of its slot. The coordinator decides which attempts start and which are killed, and
// books how they end (attempts.go). A killed attempt notices the kill between blocks, in the kvbuffer
// and between values.
//
// Memory: an attempt leases its floor before it does anything else, and holds no lease while it waits
// for the floor. It gives the lease back when it ends. A map output has a lease of its own.

// attempt is the part that a mapAttempt and a reduceAttempt have in common.
type attempt struct {
	id       slots.AttemptID
	slot     int // index in the pool.Pool
	tracker  slots.TrackerID
	run      *run
	job      *job
	faulty   bool    // an injected fault makes it fail at its end
	slowdown float64 // factor on its time; 1: the attempt is not slowed down

	// ---- of the coordinator
	state      attemptState
	lastBeat   int64          // beat at the last tick
	lastBeatAt time.Time      // when beat last rose, or the attempt last waited
	shown      slots.Progress // progress in the last event of it
	stopBy     time.Time      // when it is abandoned, because its job has failed; zero: never

	// ---- shared with other threads
	ctx          context.Context
	cancel       context.CancelCauseFunc
	stopped      atomic.Bool
	beat         atomic.Int64 // sign of life: rises with every block, or batch of records
	progress     atomic.Int64 // the slots.Progress that the attempt has noted (done)
	timed        atomic.Pointer[timedWork]
	waiting      atomic.Bool  // for memory, descriptors, map outputs or its source: no progress is expected
	hasFDs       atomic.Bool  // it holds a token of shares.fdTurns
	helperCPU    atomic.Int64 // nanoseconds of its helpers
	spilledBytes atomic.Int64 // bytes of spills, merge passes and evictions

	// ---- of the slot's thread, and of the coordinator when the attempt has ended
	counters report.Counters
	outcome  slots.Outcome // what the Ledger learns if the attempt succeeds
	copyRead int64         // bytes of map outputs that a reduce has read to copy them
	diskWait time.Duration // how long it has waited for the slowed-down disk of its tracker
	measured measures
	profile  *profiled // nil: the run is not profiled

	floorBytes int64 // of its lease: what it asks for, and then what it got
	roomBytes  int64 // part of floorBytes that is kept for a record larger than usual
	lease      *membudget.Lease
	undo       []func()  // what leaveRoom calls, last first, to drop what the attempt has not committed
	user       *userTime // since the attempt has its lease
	begun      []any     // user code whose Begin was called; closeUser closes it
	statuses   statuses

	part    output.Part         // where it writes; nil: a map with reduces, or not opened yet
	bare    output.Part         // of the files that user code of a map with reduces makes; nil: none
	text    *textOut            // of part
	outputs map[string]*textOut // named outputs that user code has asked for
	texts   []*textOut          // all with a buffer in the lease

	workingAt time.Time     // when it began to work, after it got its floor
	pausedFor time.Duration // how long it has slept on purpose since workingAt
	stretched time.Duration // part of pausedFor that is due to slowdown
}

// overheadBytes is the part of an attempt's floor that is for input and output
// blocks and for writing spills.
const overheadBytes = 2 << 20

// kill asks the attempt to stop. It may be called from any goroutine.
func (a *attempt) kill() {
	a.stopped.Store(true)
	// Waits end with this cause. Loops over records read the flag, which is cheaper.
	a.cancel(jobs.ErrKilled)
}

// killed reports whether kill was called.
func (a *attempt) killed() bool { return a.stopped.Load() }

// name returns the name of the attempt for messages, such as "count m-000007_0".
func (a *attempt) name() string {
	kind := "m"
	if a.id.Kind == slots.Reduce {
		kind = "r"
	}
	return fmt.Sprintf("%s %s-%06d_%d", a.job.spec.Name, kind, a.id.Task, a.id.N)
}

// ofJob returns an error of user code that has run outside of an attempt, with the name of its job. It
// prints the stack. It returns other errors as they are. Only the coordinator
// calls it, so that Options.Stderr is used by one goroutine at a time.
func (r *run) ofJob(j *jobs.Job, err error) error {
	err = guard.Named(j.Name, err)
	r.printStack(j.BuiltIn, err)
	return err
}

// printStack prints a panic of user code or a defect of mrlocal, with its stack. It prints nothing for
// other errors, and for panics of the user code of jobs that are built in.
func (r *run) printStack(builtIn bool, err error) {
	if internal, ok := errors.AsType[*guard.Defect](err); ok {
		writeStack(r.o.Stderr, err, internal.Stack)
	} else if user, ok := errors.AsType[*guard.Error](err); ok && !builtIn && user.Stack != nil {
		writeStack(r.o.Stderr, err, user.Stack)
	}
}

// writeStack prints an error with the stack of the user code that has failed, in one piece. The stack is
// indented, so that it does not look like a message of mrlocal. If w fails, the stack is lost.
func writeStack(w io.Writer, err error, stack []byte) {
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
func (a *attempt) begin(user any) error {
	if u, ok := user.(jobs.Attempter); ok {
		a.begun = append(a.begun, user)
		return guard.Run("begin", func() error { u.Begin(a.user.own()); return nil })
	}
	return nil
}

// closeUser closes the user code that begin has called, if it is an io.Closer. It returns the first
// error. An attempt calls it before the commit, because the error fails the attempt. If a Close ends the
// goroutine, a second call of closeUser closes the rest.
func (a *attempt) closeUser() error {
	defer a.user.during(func() { a.user.mu.over = true })
	var first error
	for len(a.begun) > 0 {
		user := a.begun[0]
		a.begun[0] = nil // a map output refers to the attempt, and outlives it
		a.begun = a.begun[1:]
		if c, ok := user.(io.Closer); ok {
			first = cmp.Or(first, guard.Run("close", c.Close))
		}
	}
	return cmp.Or(first, a.user.check())
}

// openPart opens the part that the attempt writes, and the text of the part.
func (a *attempt) openPart() (err error) {
	if a.part, err = a.job.sink.Part(int(a.id.Task), int(a.id.N)); err != nil {
		return err
	}
	a.undo = append(a.undo, a.part.Abort)
	a.text, err = newTextOut(a, a.part, membudget.ChunkBytes)
	return err
}

// emitter returns the Emitter by which user code writes to text.
func (a *attempt) emitter(text *textOut) jobs.Emitter {
	switch chain, next := a.job.chain.job.Chain, a.job.step+1; {
	case a.job.spec.Bare:
		return bareOut{text}
	case chain.Paired(next):
		return pairsOut{text}
	case a.job.readAsRecords():
		return wholeOut{text}
	}
	return text
}

// closePart writes what the part and the named outputs have buffered. Part.Commit follows.
func (a *attempt) closePart() error {
	if err := a.text.end(); err != nil {
		return err
	}
	a.counters.OutputBytes += a.text.bytes
	a.counters.ReduceOutputRecords += a.text.records
	return a.endOutputs()
}

// finish closes the user code of an attempt that has done its work, and calls commit. All that may fail comes
// before the commit, which cannot be undone.
func (a *attempt) finish(commit func() error) error {
	for _, step := range []func() error{a.closeUser, a.atEnd, commit} {
		if err := step(); err != nil {
			return err
		}
	}
	a.undo = nil
	a.user.commit()
	return nil
}

// timedWork is work whose end is known from its start, such as a sleep.
type timedWork struct {
	begun time.Time
	takes time.Duration // on this tracker, slowdown included
}

// done returns the progress of the attempt. maps of the all map tasks of its job are done.
// done may be called from any goroutine.
//
//   - Work whose time is known (jobs.OwnAttempt.Lasts) is done in proportion to the time that has passed. This
//     is all of a map, and the part of a reduce after its copy phase, as in the simulator.
//   - The copy phase of a reduce is done in proportion to the maps that are done: within one
//     machine a copy moves references. If copies take time, copyPhase counts them.
//   - All else is done in proportion to its bytes or records.
func (a *attempt) done(maps, all int32) slots.Progress {
	const whole = float64(slots.AllDone)
	w, done := a.timed.Load(), slots.Progress(a.progress.Load())
	switch {
	case w == nil && a.copying(done) && !a.run.slowsData() && !a.run.o.CopyOutputs && all > 0:
		return slots.Progress(float64(float64(maps) / float64(all) / 3 * whole))
	case w == nil && a.job.spec.Timed:
		return min(done, slots.Progress(third)) // a sleeping task that has not begun
	case w == nil:
		return done
	}
	share := 1.0
	if w.takes > 0 {
		share = 1 - float64(max(0, w.takes-time.Since(w.begun)))/float64(w.takes)
	}
	if a.id.Kind == slots.Reduce {
		// The conversion keeps the compiler from fusing the product with the sum (FMA), so that
		// every machine gets the same number.
		share = 1./3 + float64(share*2/3)
	}
	return slots.Progress(float64(share * whole))
}

// charge counts bytes of memory of user code against the lease (jobs.OwnAttempt.Charge). It
// reports false if the lease has no room in addition to the least memory of the kvbuffer and of the
// blocks. A reduce has neither, and keeps the buffer of its text.
func (a *attempt) charge(bytes int64) bool {
	// The kvbuffer cannot do without its memory. User code can. For instance, it emits the
	// records that it has folded. A large record may take memory twice: in user code, and here.
	keep := a.roomBytes/2 + spill.LeastBytes + overheadBytes
	if a.id.Kind == slots.Reduce {
		keep = membudget.ChunkBytes
	}
	if short := bytes + keep - a.lease.Available(); short > 0 && !a.lease.Grow(short) {
		return false
	}
	return a.lease.Charge(bytes)
}

// tick notes a sign of life and the progress of the attempt: doneBytes of totalBytes, or any
// other unit. totalBytes 0: the progress is not known.
func (a *attempt) tick(doneBytes, totalBytes int64) {
	a.beat.Add(1)
	// The input is two thirds of the progress of a map with reduces (third).
	whole := int64(slots.AllDone)
	if a.id.Kind == slots.Map && !a.job.mapOnly() {
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

// getRoom waits until the attempt may open files, and until it has its floor. The attempt holds no lease
// meanwhile, so that attempts do not wait for each other for ever. leaveRoom gives the room back.
func (a *attempt) getRoom() error {
	if err := a.reserve(); err != nil {
		return err
	}
	a.floorBytes = a.lease.Granted()
	a.user = &userTime{attempt: a}
	a.workingAt = time.Now()
	a.pausedFor, a.stretched = 0, 0
	return nil
}

// reserve waits until the attempt may open files, and then until it has a lease of its floor. No other attempt can
// wait for this one meanwhile.
func (a *attempt) reserve() (err error) {
	defer a.waiting.Store(a.waiting.Swap(true)) // in a copy phase, waiting was true before and stays so
	if a.run.fdTurns != nil {
		if a.run.fdTurns.Acquire(a.ctx, 1) != nil {
			return jobs.ErrKilled
		}
		a.hasFDs.Store(true)
	}
	if a.lease, err = a.run.budget.ReserveMost(a.ctx, a.floorBytes, a.run.mostFloorBytes); err != nil {
		a.leaveFDs()
	}
	return err
}

// leaveRoom closes the user code that is still open, drops what the attempt has not committed, and gives
// back lease and descriptors. It does so even if user code has ended the goroutine, or ends it in a Close.
func (a *attempt) leaveRoom() {
	defer a.leaveFDs()
	defer func() {
		for _, t := range a.texts {
			t.drop()
		}
		a.measure(slots.PhaseNone)
		a.lease.Close()
		a.lease, a.texts, a.outputs, a.bare = nil, nil, nil, nil
	}()
	// What is dropped comes after the user code, whose commands may write files until it is closed.
	defer func() {
		for _, f := range slices.Backward(a.undo) {
			f()
		}
		a.undo = nil
	}()
	// Code that is still open belongs to an attempt that has failed, which keeps its error.
	_ = a.closeUser()
}

// needsMore reports whether the attempt starts again on a larger floor, because a record did not fit.
// Otherwise *err is how the attempt ends, and needsMore adds to it the bound that would be enough.
func (a *attempt) needsMore(err *error) bool {
	// need is 0 unless a larger floor would help.
	need, most := a.roomFor(*err), a.run.mostFloorBytes()
	room := need - a.run.usualFloor()
	if need <= a.floorBytes && room <= a.roomBytes {
		if need == 0 || a.floorBytes >= most {
			if tooLarge, ok := errors.AsType[*feed.RoomError](*err); ok {
				*err = tooLarge.Enough(*err, a.run.budget.Limit(), most-a.run.usualFloor())
			}
			return false
		}
		need = most // the kvbuffer may hold, and spill, more records of that size
	}
	a.floorBytes, a.roomBytes = max(a.floorBytes, need), room
	// The attempt begins anew, so what the first try has counted must not count twice.
	a.counters = report.Counters{}
	return true
}

// usualFloor returns the bytes of a floor that a large record leaves to all else. An eighth
// of the budget suffices, so that a large record may take most of it.
func (r *run) usualFloor() int64 { return min(r.floorBytes, r.budget.Limit()/8) }

// roomFor returns the bytes of the floor with which an attempt that ended with err should
// start again; 0: no floor helps.
func (a *attempt) roomFor(err error) int64 {
	most := a.run.mostFloorBytes()
	if room, ok := errors.AsType[*feed.RoomError](err); ok {
		if need := a.run.usualFloor() + room.Bytes; need <= most {
			return need
		}
	} else if errors.Is(err, membudget.ErrNoRoom) {
		return most
	}
	return 0
}

// notifySpill counts an event of the kvbuffer or of a merge, and makes an event of the trace.
// They call it on any thread of the attempt.
func (a *attempt) notifySpill(e shuffle.Event) {
	switch e.Kind {
	case shuffle.SpillEnd, shuffle.MergePass, shuffle.Evict:
		a.spilledBytes.Add(e.Bytes)
		if disk := a.lineOf(a.run.disks); disk != nil {
			disk.Write(e.Bytes) // it does not wait
		}
	}
	op := [...]trace.Op{
		shuffle.Begin: trace.OpBuffer, shuffle.Grow: trace.OpGrow, shuffle.Refuse: trace.OpRefuse, shuffle.SpillStart: trace.OpSpillStart, shuffle.SpillEnd: trace.OpSpillEnd,
		shuffle.Evict: trace.OpEvict, shuffle.MergePass: trace.OpMergeEnd,
	}[e.Kind]
	first, second := e.Bytes, cmp.Or(e.Records, e.ToBytes) // no event has both
	if e.Kind == shuffle.MergePass {
		first, second = int64(e.Runs), e.Bytes
	}
	a.detail(op, first, second, 0)
}

// detail makes an event of the attempt. trace.Op says what the three numbers mean.
func (a *attempt) detail(op trace.Op, first, second, third int64, texts ...string) {
	a.run.coordinator.detail(trace.Event{
		Op: op, Kind: a.id.Kind, Job: int32(a.id.Job), Task: int32(a.id.Task), N: a.id.N, Slot: int32(a.slot), A: first, B: second, C: third,
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
func (a *attempt) status(text string) {
	text = errs.OneLine(strings.ToValidUTF8(text[:min(len(text), mostStatusBytes)], "\ufffd"))
	s, now := &a.statuses, time.Now()
	if text == s.last || s.count == mostStatuses || s.count > 0 && now.Sub(s.at) < statusPause {
		return
	}
	*s = statuses{text, now, s.count + 1}
	a.detail(trace.OpStatus, 0, 0, 0, text)
}

// errInjected ends an attempt that an injected fault makes fail.
var errInjected = errors.New("fails by an injected fault")

// permanent reports whether another attempt would fail with err too, so that the job fails at
// once.
func permanent(err error) bool {
	return errs.Is[feed.InputError](err) || errs.Is[*guard.Defect](err) || errs.Is[*feed.RoomError](err) ||
		errors.Is(err, membudget.ErrNoRoom) || errors.Is(err, output.ErrClosedPipe) || errs.IsUsage(err)
}

// This file slows attempts down, to show effects that one machine does not have: narrow networks
// and disks, slow trackers, remote inputs. An attempt is slowed down by sleeping. A kill ends the
// sleep, and a sleeping attempt does not time out. The file also measures attempts by phase.

// bandwidths returns a line of bytesPerSecond for each tracker; nil for 0: unbounded.
func bandwidths(trackers int, bytesPerSecond int64) (lines []*shuffle.Bandwidth) {
	for i := 0; i < trackers && bytesPerSecond > 0; i++ {
		lines = append(lines, &shuffle.Bandwidth{BytesPerSecond: bytesPerSecond})
	}
	return lines
}

// slowsData reports whether a network, a disk or a copier is slowed down.
func (r *run) slowsData() bool {
	return r.networks != nil || r.disks != nil || r.o.Copiers.BytesPerSecond > 0
}

// lineOf returns the attempt's line of a network or disk of each tracker; nil: unbounded.
func (a *attempt) lineOf(trackers []*shuffle.Bandwidth) *shuffle.Bandwidth {
	if trackers == nil {
		return nil
	}
	return trackers[a.tracker]
}

// leastPause is the shortest sleep. Shorter ones cost more than they are worth: they add up
// until they are as long as this.
const leastPause = time.Millisecond

// pause sleeps for d, or until the attempt is killed. It returns the time that it has slept, and adds it to
// pausedFor.
func (a *attempt) pause(d time.Duration) (slept time.Duration) {
	defer a.waiting.Store(a.waiting.Swap(true)) // a copy phase waits on behind its sleeps
	timer := time.NewTimer(d)
	defer timer.Stop()
	begun := time.Now()
	select {
	case <-timer.C:
	case <-a.ctx.Done():
	}
	slept = time.Since(begun)
	a.pausedFor += slept
	return slept
}

// readFromDisk waits as long as the tracker's disk takes to read the given number of bytes. It does not wait
// if disks are unbounded.
func (a *attempt) readFromDisk(bytes int64) {
	disk := a.lineOf(a.run.disks)
	if disk == nil || bytes <= 0 {
		return
	}
	if d := time.Until(disk.Read(bytes)); d >= leastPause {
		a.diskWait += a.pause(d)
	}
}

// sleepUntil waits until t. It fails when the attempt is killed.
func (a *attempt) sleepUntil(t time.Time) error {
	if d := time.Until(t); d >= leastPause {
		a.pause(d)
	}
	return context.Cause(a.ctx)
}

// awaitDisk waits until the tracker's disk has written what the attempt has spilled. The I/O
// period of a map lasts until then.
func (a *attempt) awaitDisk() {
	disk := a.lineOf(a.run.disks)
	if disk == nil || a.spilledBytes.Load() == 0 {
		return
	}
	// Another attempt may read meanwhile, and reads go first. So the time is computed anew after
	// each sleep.
	for a.ctx.Err() == nil {
		d := time.Until(disk.Flushed())
		if d < leastPause {
			return
		}
		a.diskWait += a.pause(d)
	}
}

// readSpills waits as long as the disk takes to read the reduce's part of all spills of the
// maps. For each output it counts the bytes that the map has spilled, times the part's share
// of the output.
func (a *reduceAttempt) readSpills(outputs []*shuffle.MapOutput) {
	if a.run.disks == nil {
		return
	}
	var bytes int64
	for _, out := range outputs {
		var total int64
		for p := range out.Parts() {
			total += out.Part(p).Bytes()
		}
		if maker, known := a.job.makers.Load(out); known && total > 0 {
			part := out.Part(int(a.id.Task)).Bytes()
			bytes += int64(float64(maker.(*attempt).spilledBytes.Load()) * float64(part) / float64(total))
		}
	}
	a.readFromDisk(bytes)
}

// stretch sleeps, so that the work done so far takes slowdown times as long. It does not sleep
// for less than least. A slowdown below 1 has no effect, because no sleep makes an attempt faster.
func (a *attempt) stretch(least time.Duration) {
	if a.slowdown <= 1 {
		return
	}
	// Sleeps of this function and at slowed-down lines are not work, and are not stretched.
	worked := time.Since(a.workingAt) - a.pausedFor
	if owed := time.Duration(float64(worked)*(a.slowdown-1)) - a.stretched; owed >= least {
		a.stretched += a.pause(owed)
	}
}

// atEnd is called by every attempt between its work and its commit. It sleeps for what stretch
// has left to sleep. It returns an error if the attempt is killed, or if an injected fault makes
// it fail.
func (a *attempt) atEnd() error {
	a.stretch(1)
	switch {
	case a.killed():
		return jobs.ErrKilled
	case a.faulty:
		return errInjected
	}
	return nil
}

// usage is what attempts have used, by phase.
type usage [slots.PhaseHeld + 1]report.Usage

// measures is what an attempt has used so far, by phase. It belongs to the
// attempt's thread.
type measures struct {
	phases usage
	now    slots.Phase // the current phase; PhaseNone: not begun, or ended
	// The fields from here on are the readings at the start of the current phase.
	begun time.Time
	cpu   time.Duration // of the thread and the helpers
	read  int64         // bytes of input and copies; of copied bytes, only those from files
	wrote int64         // bytes of spills and output
}

// measure ends a phase and begins the next one.
func (a *attempt) measure(next slots.Phase) {
	m := &a.measured
	cpu, read := machine.ThreadCPU()+time.Duration(a.helperCPU.Load()), a.counters.MapInputBytes+a.copyRead
	wrote := a.spilledBytes.Load() + a.counters.OutputBytes
	// An attempt that starts again enters a phase twice, and its usage adds up.
	if m.now != slots.PhaseNone {
		u := &m.phases[m.now]
		u.Attempts = 1
		u.WallS += time.Since(m.begun).Seconds()
		u.CPUS += (cpu - m.cpu).Seconds()
		u.ReadBytes += read - m.read
		u.WrittenBytes += wrote - m.wrote
		if a.lease != nil {
			u.PeakBytes = max(u.PeakBytes, a.lease.Peak())
		}
	}
	m.now = next
	m.begun = time.Now()
	m.cpu = cpu
	m.read = read
	m.wrote = wrote
}
