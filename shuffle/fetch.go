package shuffle

import (
	"context"
	"slices"
	"sync"
	"time"

	"mrlocal/shuffle/record"
)

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
	Take       func(mapTask int, out *MapOutput) error // copies the bytes of an output; nil: a copy moves a reference only
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
	if o.Take == nil {
		o.Take = func(int, *MapOutput) error { return nil }
	}
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
