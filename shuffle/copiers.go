package shuffle

import (
	"sync"
	"time"
)

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
