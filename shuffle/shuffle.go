// Package shuffle brings the outputs of maps to reduces, and merges them. Within one machine it moves
// references, not bytes: only what does not fit in memory is written and read back.
//
// # How a reduce gets its data
//
// Package spill fills a MapOutput for a map attempt: runs, each in the order of partition and key.
// All but the last are segments of one file. The last stays in memory until the budget evicts it;
// there it may be divided by partition alone, and reduces sort it (output.go, segment.go). When the map
// commits, Shuffle.Commit takes the output over (shuffle.go). A reduce attempt opens a Fetch of its part. Its copy
// phase, Fetch.Copy, gets each output as it is committed, and ends when the output of every map is there.
// Copies take time only if Copiers or a Bandwidth bound them.
//
// # When a map's output is lost
//
// A lost tracker, or a block whose checksum is wrong (CorruptError), takes an output away. The
// engine calls Shuffle.Lost, and the map runs again. A reduce in its copy phase gives the output
// up and copies the new one. A reduce behind its copy phase holds all outputs until Fetch.Close,
// and reads on. Only the reduce that met the damage fails, and is tried again. Outputs are kept until all reduces have
// committed, because a reduce may be tried again.
//
// # Where merging begins
//
// NewMerge takes Fetch.Outputs, in the order of their maps, and opens one partition of each
// (merge.go). If all its runs are in memory, it may sort them together instead (ahead.go).
// If there are more segments than it can read at once, passes merge some of them first. Then a
// cursor reads each run (cursor.go), and a tree of losers finds the least record (tree.go). Equal
// keys come in the order of their maps, and within a map as it emitted them. The reducer reads
// records or groups (merger.go).
//
// # Memory
//
// A MapOutput owns its run in memory, which has a lease of its own. When the run is evicted, its
// memory is freed as soon as the last Merge that reads it has changed over to the disk. A Merge keeps
// that memory until its Close if it sorts, or if it gets no buffer to read from disk. A Merge takes blocks from
// MergeOptions.Lease, of 64 KiB for each segment that it reads at once, copies of entries that it
// sorts, and large records. Small scratch is on the Go heap. Keys and values are borrowed: they are valid until the
// next step of the Merge or Merger that returned them.
//
// The format on disk is in docs/formats.md. Package record has entries and sorters, and package
// rule says when a buffer spills or merges.
package shuffle

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mrlocal/internal/invariant"
	"mrlocal/shuffle/record"
)

// errClosed ends a copy phase whose job has ended or whose Fetch is closed. It also ends a merge of
// a released output.
var errClosed = errors.New("shuffle: closed")

// Shuffle passes the map outputs of one job to its reduces, as the maps commit.
//
// A reduce attempt is in its copy phase (Fetch.Copy) until it has the output of every map.
// Slot policies take that phase into account. It gets each output once, in the order in which
// the maps committed.
//
// A Shuffle owns the outputs that were committed to it. It releases all outputs when every
// part has committed, because until then a reduce may be tried again. It also releases an
// output that was lost. While an open Fetch holds an output, the release waits. The methods
// may be called from any goroutine.
type Shuffle struct {
	mu struct {
		sync.Mutex
		outputs   []*committed // by map task; nil: not committed, or lost
		commits   []*committed // in the order of the commits, lost ones too
		live      int          // number of outputs that are not nil
		losses    int          // calls of Lost that took an output back
		state     shuffleState
		partsDone []bool        // parts that have committed
		doneCount int           // how many of partsDone are true
		changed   chan struct{} // closed, and made anew, at every change
	}
}

// committed is the output of one map attempt.
type committed struct {
	mapTask int
	out     *MapOutput
	holders int // number of open Fetches that hold it
	state   mapOutputState
}

// shuffleState is how far a Shuffle has come.
type shuffleState uint8

const (
	shuffleOpen   shuffleState = iota // further maps may become known
	shuffleSealed                     // the number of maps is final
	shuffleClosed                     // the job has ended: copy phases end
)

func (s shuffleState) String() string { return [...]string{"open", "sealed", "closed"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s shuffleState) Next() []shuffleState {
	return [...][]shuffleState{{shuffleSealed, shuffleClosed}, {shuffleClosed}, nil}[s]
}

// mapOutputState says who needs an output that was committed. An output that is not needed is
// released once holders is 0.
type mapOutputState uint8

const (
	outputNeeded mapOutputState = iota // parts have not committed yet
	outputUnused                       // every part has committed, or the shuffle is closed
	outputLost                         // Lost took it back: its map runs again
)

func (s mapOutputState) String() string { return [...]string{"needed", "unused", "lost"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s mapOutputState) Next() []mapOutputState {
	return [...][]mapOutputState{{outputUnused, outputLost}, {outputLost}, nil}[s]
}

// NewShuffle makes the shuffle of a job of parts partitions. maps is the number of map tasks
// that are known so far. Grow raises it, and Seal makes it final.
func NewShuffle(maps, parts int) *Shuffle {
	s := &Shuffle{}
	s.mu.outputs = make([]*committed, maps)
	s.mu.partsDone = make([]bool, parts)
	s.mu.changed = make(chan struct{})
	return s
}

// notify wakes every Fetch that waits for a change. s.mu is held.
func (s *Shuffle) notify() {
	close(s.mu.changed)
	s.mu.changed = make(chan struct{})
}

// Commit takes the output of a map task over. It releases an output that the job does not
// need. That is the second output of a map task. It is also any output that comes when all
// parts have committed or the shuffle is closed.
func (s *Shuffle) Commit(mapTask int, out *MapOutput) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grow(mapTask + 1)
	if s.mu.state == shuffleClosed || s.mu.outputs[mapTask] != nil {
		out.Release()
		return
	}
	e := &committed{mapTask: mapTask, out: out}
	s.mu.outputs[mapTask] = e
	s.mu.commits = append(s.mu.commits, e)
	s.mu.live++
	if s.allDone() && e.drop(outputUnused) {
		out.Release()
	}
	s.notify()
}

// Lost takes back the output of a map task: no Fetch gets it any more. Reduces in their copy
// phase give it up, and wait until the map has run again. A reduce after its copy phase keeps
// it. The caller makes sure that the loss is that of the present output.
func (s *Shuffle) Lost(mapTask int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if mapTask >= len(s.mu.outputs) || s.mu.outputs[mapTask] == nil {
		return
	}
	e := s.mu.outputs[mapTask]
	s.mu.outputs[mapTask] = nil
	s.mu.live--
	s.mu.losses++
	if e.drop(outputLost) {
		e.out.Release()
	}
	s.notify()
}

// drop notes that an output is unused or lost. It returns true if the caller must release it, because no Fetch holds
// it. s.mu is held.
func (e *committed) drop(to mapOutputState) bool {
	needed := e.state == outputNeeded
	invariant.Reach(&e.state, to)
	return needed && e.holders == 0
}

// Grow raises the number of map tasks to maps, if it is lower.
func (s *Shuffle) Grow(maps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grow(maps)
}

// grow is Grow with s.mu held.
func (s *Shuffle) grow(maps int) {
	for len(s.mu.outputs) < maps {
		s.mu.outputs = append(s.mu.outputs, nil)
	}
}

// Seal makes the number of map tasks final. No copy phase ends before Seal.
func (s *Shuffle) Seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	invariant.Reach(&s.mu.state, shuffleSealed)
	s.notify()
}

// allDone reports whether all parts have committed. s.mu is held.
func (s *Shuffle) allDone() bool { return s.mu.doneCount == len(s.mu.partsDone) }

// Part returns what all committed outputs hold of a part.
func (s *Shuffle) Part(part int) (stat record.PartStat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.mu.outputs {
		if e != nil {
			stat.Add(e.out.Part(part))
		}
	}
	return stat
}

// PartDone notes that the reduce of a part has committed, so that its input is not needed
// again. After the last part it releases all outputs.
func (s *Shuffle) PartDone(part int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.partsDone[part] {
		return
	}
	s.mu.partsDone[part] = true
	s.mu.doneCount++
	if s.allDone() {
		s.dropAll()
	}
}

// dropAll marks all outputs as unused. The system takes long to get much memory back, so all cores release them. s.mu
// is held.
func (s *Shuffle) dropAll() {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, e := range s.mu.outputs {
		if e != nil && e.drop(outputUnused) {
			g.Go(func() error { e.out.Release(); return nil })
		}
	}
	_ = g.Wait()
}

// Close ends the shuffle of the job. Copy phases end with errClosed. Close releases
// every output that no open Fetch holds. The others are released when their last Fetch is
// closed. Close may be called again.
func (s *Shuffle) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.state == shuffleClosed {
		return
	}
	invariant.Move(&s.mu.state, shuffleClosed)
	s.dropAll()
	s.notify()
}

// release counts one holder off, and releases an output that is not needed with its last holder. It returns
// true, so that slices.DeleteFunc can call it. s.mu is held.
func (e *committed) release() bool {
	e.holders--
	if e.state > outputNeeded && e.holders == 0 {
		e.out.Release()
	}
	return true
}

// Fetch holds the outputs that one reduce attempt has copied. They are not released until it
// is closed. The attempt closes it when it has read the outputs, and also when it fails. Copy
// and Outputs are called from one goroutine; Close from any.
type Fetch struct {
	Bytes int64         // of the keys and values that Copy has copied, lost outputs included
	Took  time.Duration // by these copies; waiting for maps does not count

	shuffle *Shuffle
	part    int
	seen    int // number of commits that next has looked at
	losses  int // losses of the shuffle when held was last checked for lost outputs

	// Under shuffle.mu.
	held   []*committed
	closed bool
}

// Fetch begins the copy phase of a reduce attempt.
func (s *Shuffle) Fetch(part int) *Fetch { return &Fetch{shuffle: s, part: part} }

// CopyOptions are the options of a copy phase. All functions but Take are required. They run on
// the goroutine of Copy.
type CopyOptions struct {
	Copiers    Copiers
	Network    *Bandwidth                              // of the reduce's tracker; nil: unbounded
	SleepUntil func(t time.Time) error                 // an error ends the copy phase
	Take       func(mapTask int, out *MapOutput) error // copies the bytes of an output, or does nothing: a copy then moves a reference only
	Copied     func(copied, maps int)                  // after each copy: outputs held, maps known
	Fetched    func(firstMap, copies int, bytes int64) // firstMap is -1 if the copies are not a range of maps
}

// mostFetchEvents is about how often a copy phase calls Fetched at most. A job of many maps and
// reduces would fill the events otherwise.
const mostFetchEvents = 64

// Copy is the copy phase: it copies the output of each map, once, in the order in which the maps
// committed. A copy moves a reference, and takes only the time that Copiers and Network need, and
// that of Take. If an output is lost meanwhile, Copy gives it up, waits for the map to run again,
// and copies the new output. If Copy is called again after an error, it first takes the outputs
// that it held.
//
// Copy returns nil when the shuffle is sealed and the outputs of all maps are copied. It fails
// when the shuffle is closed, with the error of SleepUntil, or with the cause of ctx.
func (f *Fetch) Copy(ctx context.Context, o CopyOptions) error {
	copiers := copiersAtWork{CopyOptions: o}
	_, maps := f.progress()
	events := fetched{every: 1 + (maps-1)/mostFetchEvents, post: o.Fetched}
	for _, e := range f.heldNow() {
		if err := o.Take(e.mapTask, e.out); err != nil {
			return err
		}
	}
	err := f.each(ctx, func(mapTask int, out *MapOutput) error {
		begun := time.Now() // waiting for the next output does not count
		bytes := out.Part(f.part).Bytes()
		f.Bytes += bytes
		events.add(mapTask, bytes)
		err := copiers.copy(bytes)
		if err == nil {
			err = o.Take(mapTask, out)
		}
		f.Took += time.Since(begun)
		o.Copied(f.progress())
		return err
	})
	begun := time.Now()
	for i := 0; i < len(copiers.free) && err == nil; i++ { // until all copiers are free
		err = o.SleepUntil(copiers.free[i])
	}
	f.Took += time.Since(begun)
	events.flush()
	return err
}

// fetched collects copies of map outputs for one call of CopyOptions.Fetched.
type fetched struct {
	post   func(firstMap, copies int, bytes int64)
	every  int   // copies for one call
	first  int   // first map of a range of maps; -1: the maps are not a range
	copies int   // since the last call
	bytes  int64 // of these copies
}

// add counts the copy of one map output, and calls post if there are enough.
func (f *fetched) add(mapTask int, bytes int64) {
	switch {
	case f.copies == 0:
		f.first = mapTask
	case mapTask != f.first+f.copies:
		f.first = -1
	}
	f.copies++
	f.bytes += bytes
	if f.copies >= f.every {
		f.flush()
	}
}

// flush calls post with the copies that were collected, if there are any.
func (f *fetched) flush() {
	if f.copies > 0 {
		f.post(f.first, f.copies, f.bytes)
		f.copies, f.bytes = 0, 0
	}
}

// each calls fn with the output of each map, once, as Copy says. It fails with errClosed, the
// error of fn, or the cause of ctx. fn may be nil.
func (f *Fetch) each(ctx context.Context, fn func(mapTask int, out *MapOutput) error) error {
	for {
		e, changed, err := f.next()
		switch {
		case err != nil:
			return err
		case e == nil && changed == nil:
			return nil
		case e == nil:
			select {
			case <-changed:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case fn != nil:
			if err := fn(e.mapTask, e.out); err != nil {
				return err
			}
		}
	}
}

// next holds and returns the next committed output. If there is none, e is nil, and changed is
// closed when there may be one. If all maps have been copied, both are nil.
func (f *Fetch) next() (e *committed, changed <-chan struct{}, err error) {
	s := f.shuffle
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.state == shuffleClosed || f.closed {
		return nil, nil, errClosed
	}
	if f.losses != s.mu.losses {
		f.held = slices.DeleteFunc(f.held, func(e *committed) bool { return e.state == outputLost && e.release() })
		f.losses = s.mu.losses
	}
	for f.seen < len(s.mu.commits) {
		e := s.mu.commits[f.seen]
		f.seen++
		if e.state > outputNeeded {
			continue
		}
		e.holders++
		f.held = append(f.held, e)
		return e, nil, nil
	}
	if s.mu.state == shuffleSealed && s.mu.live == len(s.mu.outputs) && len(f.held) == s.mu.live {
		return nil, nil, nil
	}
	return nil, s.mu.changed, nil
}

// progress returns how many outputs are copied, of how many. Lost outputs count until Copy gives
// them up.
func (f *Fetch) progress() (copied, maps int) {
	f.shuffle.mu.Lock()
	defer f.shuffle.mu.Unlock()
	return len(f.held), max(len(f.shuffle.mu.outputs), len(f.held))
}

// Outputs returns the outputs that were copied, by the number of their maps: a merge returns
// equal keys in this order. The outputs are borrowed until Close.
func (f *Fetch) Outputs() []*MapOutput {
	held := f.heldNow()
	slices.SortFunc(held, func(a, b *committed) int { return a.mapTask - b.mapTask })
	outs := make([]*MapOutput, len(held))
	for i, e := range held {
		outs[i] = e.out
	}
	return outs
}

// heldNow returns the outputs that are held, in no order.
func (f *Fetch) heldNow() []*committed {
	f.shuffle.mu.Lock()
	defer f.shuffle.mu.Unlock()
	return slices.Clone(f.held)
}

// Input returns what the copied outputs hold for the reduce. It does not count outputs that Copy
// has given up.
func (f *Fetch) Input() (stat record.PartStat) {
	for _, out := range f.Outputs() {
		stat.Add(out.Part(f.part))
	}
	return stat
}

// Close gives up all outputs. It may be called again.
func (f *Fetch) Close() {
	f.shuffle.mu.Lock()
	defer f.shuffle.mu.Unlock()
	f.closed = true
	for _, e := range f.held {
		e.release()
	}
	f.held = nil
}

// Copiers are the copiers of each reduce: Hadoop's mapred.reduce.parallel.copies. They matter
// only if a bandwidth is bounded. In the simulator, cost level l2 has the same copiers
// (cluster: {shuffle: ...}). The zero value is one copier, as fast as the tracker's network.
type Copiers struct {
	Parallel       int   // how many outputs a reduce copies at a time; 0: one
	BytesPerSecond int64 // most that one copier copies; 0: as much as the network of the tracker
}

// copiersAtWork are the copiers of one copy phase.
type copiersAtWork struct {
	CopyOptions
	free []time.Time // when each copier is free
}

// copy makes a copier copy the given number of bytes of a map output. The copy takes as long as the network
// and the rate of the copier need. The copier that is free first takes it, so that copies of one
// rate end in their order. copy waits until that copier is free. With one copier it also waits
// for the end of the copy; with several, Fetch.Copy does at its end.
func (c *copiersAtWork) copy(bytes int64) error {
	rate := c.Copiers.BytesPerSecond
	if c.Network == nil && rate == 0 {
		return nil
	}
	if c.free == nil {
		c.free = make([]time.Time, max(1, c.Copiers.Parallel))
	}
	first := &c.free[0]
	for i := range c.free {
		if c.free[i].Before(*first) {
			first = &c.free[i]
		}
	}
	if err := c.SleepUntil(*first); err != nil {
		return err
	}
	// The copier may be free a little later than now, because the sleep was too short to be
	// worth it. The copy begins at that time all the same.
	ends := *first
	if now := time.Now(); ends.Before(now) {
		ends = now
	}
	if rate > 0 {
		ends = ends.Add((&Bandwidth{BytesPerSecond: rate}).takes(bytes))
	}
	if c.Network != nil && bytes > 0 {
		if through := c.Network.Read(bytes); through.After(ends) {
			ends = through
		}
	}
	*first = ends
	if len(c.free) > 1 {
		return nil
	}
	return c.SleepUntil(ends)
}

// Bandwidth is a line, such as a disk or a network. The bytes of all attempts of a tracker go
// through it one after the other. Reads go before writes, as in a system that writes pages back
// in the background. Writes go through while nothing is read, or while an attempt waits for them.
// The methods may be called from any goroutine.
type Bandwidth struct {
	BytesPerSecond int64
	mu             struct {
		sync.Mutex
		free    time.Time     // when the last read that is booked ends
		written time.Duration // how long the writes take that are left at that time
	}
}

// takes returns how long the given number of bytes occupy the line.
func (b *Bandwidth) takes(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / float64(b.BytesPerSecond) * float64(time.Second))
}

// advance brings the state of the line up to now. b.mu is held.
func (b *Bandwidth) advance() {
	// Nothing was read from free until now, so writes went through in that time.
	if now := time.Now(); b.mu.free.Before(now) {
		b.mu.written = max(0, b.mu.written-now.Sub(b.mu.free))
		b.mu.free = now
	}
}

// Read puts a read of bytes behind all other reads. It returns the time at which the read ends.
func (b *Bandwidth) Read(bytes int64) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	b.mu.free = b.mu.free.Add(b.takes(bytes))
	return b.mu.free
}

// Write puts a write of bytes behind all reads and other writes.
func (b *Bandwidth) Write(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	b.mu.written += b.takes(bytes)
}

// Flushed returns the time at which all writes end, if nothing more is read until then.
func (b *Bandwidth) Flushed() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	return b.mu.free.Add(b.mu.written)
}
