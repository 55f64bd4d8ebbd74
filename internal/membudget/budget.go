// Package membudget divides the memory of a run. Every large buffer is a chunk that is leased from
// one Budget, so that all of them together keep to its limit.
//
// A lease gets memory in two ways, and finished work gives it back:
//
//   - A floor is reserved before a task starts. The task waits for it, and it is never revoked.
//   - Growth is what a lease gets beyond its floor. It is refused at once where there is no room,
//     and never takes memory from others.
//   - Finished work that was not read yet, such as a map output, is evictable: its owner registers
//     it, and a task that waits for a floor makes it write itself to disk.
//
// Memory cannot deadlock, because only a task that holds nothing waits. A task that holds a lease
// runs on, and gives the lease back.
//
//	region, one anonymous mapping          own mappings
//	+-------+-------+-------+-- - - --+    +----------------+
//	| chunk | chunk | pieces|  ...    |    | Big            |
//	+-------+-------+-------+-- - - --+    +----------------+
//	 256 KiB each, lowest address first     for what is longer
//
// The garbage collector never walks the region (docs/adr/0014). Memory of the
// region that was touched stays resident when it is freed, and is used again first. It goes back to
// the system, chunk by chunk or page by page, when the room is needed. Invariant: what is resident of
// the region and of all Bigs together is at most the limit. Bigs that were freed are kept for later
// ones in the same way.
//
// A Chunk belongs to the lease that it was taken from, until Free, Transfer or the Close of the
// lease. Nobody may use its Data afterwards. All methods of a Budget and a Lease may be called from
// several goroutines. Packages input, spill, output and engine use membudget; it knows none of them.
package membudget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ChunkBytes is the length of a standard chunk: 256 KiB.
const ChunkBytes = 256 << 10

// ErrNoRoom says that the budget cannot give the memory that was asked for, while other
// leases hold what they have.
var ErrNoRoom = errors.New("too little memory; raise Options.MemoryBytes")

// Evictable is finished work that can go to disk. Evict writes it out and closes its lease:
// at once, or as soon as those who read the memory have gone over to the disk. It returns
// how many bytes that frees, and 0 if there are none. It is called without any lock of the
// Budget, and may be called again.
type Evictable interface {
	Evict() (freedBytes int64, err error)
}

// Budget bounds the memory of a run. New makes one.
type Budget struct {
	limitBytes int64
	mu         struct {
		sync.Mutex
		region      region
		bigBytes    int64 // resident outside of the region: Bigs, and kept mappings
		kept        keeping
		leasedBytes int64         // invariant: at most limitBytes, and the sum of all grantedBytes
		queue       []*waiter     // in the order of arrival
		evictables  []*evictable  // oldest first
		changed     chan struct{} // closed when memory may have come free
	}
}

// waiter is a place in the queue for memory.
type waiter struct {
	tried bool // it has found too little since memory last came free
}

type evictable struct{ Evictable }

// New makes a budget of limitBytes, rounded down to whole chunks. It touches no memory; each
// chunk is touched when it is used. It fails when the address space cannot be mapped.
func New(limitBytes int64) (*Budget, error) {
	limitBytes -= limitBytes % ChunkBytes
	if limitBytes <= 0 {
		return nil, fmt.Errorf("a memory of %d bytes is less than one chunk of %d", limitBytes, ChunkBytes)
	}
	b := &Budget{limitBytes: limitBytes}
	b.mu.changed = make(chan struct{})
	if err := b.mu.region.open(limitBytes); err != nil {
		return nil, fmt.Errorf("map %d bytes of memory: %w", limitBytes, err)
	}
	return b, nil
}

// Close unmaps the region. Chunks of leases that are still open are void then.
func (b *Budget) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropKeptLocked(b.limitBytes)
	return b.mu.region.close()
}

// Limit returns the bound in bytes.
func (b *Budget) Limit() int64 { return b.limitBytes }

// Leased returns how many bytes all leases are granted.
func (b *Budget) Leased() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.leasedBytes
}

// Free returns how many bytes are granted to no lease.
func (b *Budget) Free() int64 { return b.limitBytes - b.Leased() }

// Register makes e evictable until cancel is called.
func (b *Budget) Register(e Evictable) (cancel func()) {
	entry := &evictable{e}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.evictables = append(b.mu.evictables, entry)
	b.wakeLocked()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if i := slices.Index(b.mu.evictables, entry); i >= 0 {
			b.mu.evictables = slices.Delete(b.mu.evictables, i, i+1)
		}
	}
}

// Reserve returns a lease of bytes, the floor of a task. It waits until they are free; tasks
// are served in the order of arrival. While memory is short it evicts on the goroutine of
// the caller, the oldest work first. It fails with ErrNoRoom where the whole budget is too
// small, with the cause of ctx, and where an eviction fails.
func (b *Budget) Reserve(ctx context.Context, bytes int64) (*Lease, error) {
	if bytes > b.limitBytes {
		return nil, fmt.Errorf("%d bytes are needed at once, of %d: %w", bytes, b.limitBytes, ErrNoRoom)
	}
	return b.ReserveMost(ctx, bytes, func() int64 { return bytes })
}

// ReserveMost reserves the smaller of bytes and most(). It calls most when the caller has
// its place in the queue. Another goroutine may lower most and then reserve: it is counted
// here, or it waits behind the caller. most must not call b.
func (b *Budget) ReserveMost(ctx context.Context, bytes int64, most func() int64) (*Lease, error) {
	l := &Lease{budget: b}
	if err := b.wait(ctx, l, bytes, most); err != nil {
		return nil, err
	}
	return l, nil
}

// TryReserve returns a lease of bytes if they are free now. 0 bytes are always granted.
func (b *Budget) TryReserve(bytes int64) (*Lease, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > 0 && !b.freeLocked(bytes) {
		return nil, false
	}
	l := &Lease{budget: b}
	b.grantLocked(l, bytes)
	return l, true
}

// wait grants bytes, at most most(), to l when its turn has come and they are free. Only
// the first of the queue evicts.
func (b *Budget) wait(ctx context.Context, l *Lease, bytes int64, most func() int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	me := &waiter{}
	b.mu.queue = append(b.mu.queue, me)
	defer b.leaveLocked(me)
	bytes = min(bytes, most())
	for {
		if b.mu.queue[0] == me && !me.tried {
			me.tried = true
			granted, err := b.evictLocked(ctx, l, bytes)
			if granted || err != nil {
				return err
			}
			if !me.tried {
				continue // something came free meanwhile
			}
		}
		changed := b.mu.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		b.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// evictLocked grants bytes to l as soon as they are free. Until then it calls Evict of one
// evictable after the other; it stops when enough is about to come free. It releases b.mu
// during each call.
func (b *Budget) evictLocked(ctx context.Context, l *Lease, bytes int64) (granted bool, err error) {
	candidates := slices.Clone(b.mu.evictables)
	promised := int64(0)
	for {
		free := b.limitBytes - b.mu.leasedBytes
		if free >= bytes {
			b.grantLocked(l, bytes)
			return true, nil
		}
		if len(candidates) == 0 || free+promised >= bytes {
			return false, nil
		}
		next := candidates[0]
		candidates = candidates[1:]
		b.mu.Unlock()
		freed, err := next.Evict()
		b.mu.Lock()
		if err != nil {
			return false, fmt.Errorf("making room in memory: %w", err)
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if now := b.limitBytes - b.mu.leasedBytes; now < free+freed {
			promised += free + freed - now
		}
	}
}

// leaveLocked takes me out of the queue.
func (b *Budget) leaveLocked(me *waiter) {
	if i := slices.Index(b.mu.queue, me); i >= 0 {
		b.mu.queue = slices.Delete(b.mu.queue, i, i+1)
	}
	b.wakeLocked()
}

// freeLocked reports whether a lease may grow by bytes: not while a task waits for a floor.
func (b *Budget) freeLocked(bytes int64) bool {
	return len(b.mu.queue) == 0 && b.limitBytes-b.mu.leasedBytes >= bytes
}

// grantLocked grants bytes, which must be free, to l.
func (b *Budget) grantLocked(l *Lease, bytes int64) {
	l.grantedBytes += bytes
	b.mu.leasedBytes += bytes
}

// releaseLocked makes bytes that were granted free.
func (b *Budget) releaseLocked(bytes int64) {
	b.mu.leasedBytes -= bytes
	b.wakeLocked()
}

// wakeLocked makes every waiter look again.
func (b *Budget) wakeLocked() {
	for _, w := range b.mu.queue {
		w.tried = false
	}
	b.broadcastLocked()
}

// broadcastLocked wakes the goroutines that wait.
func (b *Budget) broadcastLocked() {
	if len(b.mu.queue) > 0 {
		close(b.mu.changed)
		b.mu.changed = make(chan struct{})
	}
}
