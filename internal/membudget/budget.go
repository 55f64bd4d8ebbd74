// Package membudget divides the memory of a run. Every large buffer is a chunk that is leased from
// one Budget, so that all of them together keep to its limit.
//
// Memory is leased in two ways, and taken back in one:
//
//   - A floor is reserved before a task starts. The task waits for it. The floor is never taken
//     back.
//   - Growth is memory of a lease beyond its floor. If it is not free, the budget refuses it at once.
//   - Finished work that was not read yet, such as a map output, is evictable. Its owner registers
//     it. When a task waits for a floor, the budget calls Evict, which writes the work to disk.
//
// Memory cannot deadlock, because only a task that holds no lease waits. A task that holds a lease
// goes on, and gives the lease back.
//
//	region, one anonymous mapping          own mappings
//	+-------+-------+-------+-- - - --+    +----------------+
//	| chunk | chunk | pieces|  ...    |    | Big            |
//	+-------+-------+-------+-- - - --+    +----------------+
//	 256 KiB each, lowest address first     for longer buffers
//
// The region is outside of the Go heap, so the garbage collector never scans it (docs/adr/0014).
// Memory of the region that is freed stays resident, and is used again first. The budget gives it
// back to the system, chunk by chunk or page by page, when the room is needed. Bigs that were freed
// are kept for later ones in the same way. Invariant: the resident bytes of the region and of all
// Bigs together are at most the limit.
//
// A Chunk belongs to the lease from which it was taken, until Free, Transfer or the Close of the
// lease. Its Data must not be used afterwards. All methods of a Budget and a Lease may be called
// from several goroutines. Packages input, spill, output and engine use membudget. It imports none
// of them.
package membudget

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"mrlocal/internal/errs"
)

// ChunkBytes is the length of a standard chunk: 256 KiB.
const ChunkBytes = 256 << 10

// ErrNoRoom is the error of a request for more memory than the budget has, or than other leases
// leave.
var ErrNoRoom = errs.Errorf("too little memory; raise %s", errs.Field("Options.MemoryBytes"))

// Evictable is finished work that can go to disk. Evict writes it to disk. It closes the lease of
// the work at once, or as soon as all readers have switched from the memory to the disk. It returns
// how many bytes that frees. Evict is called without any lock of the Budget, and may be called
// again.
type Evictable interface {
	Evict() (freedBytes int64, err error)
}

// Budget bounds the memory of a run. New makes one.
type Budget struct {
	limitBytes int64
	mu         struct {
		sync.Mutex
		region      region
		bigBytes    int64 // resident outside of the region: Bigs, kept mappings, and charged memory
		kept        keeping
		leasedBytes int64         // sum of all Lease.grantedBytes; invariant: at most limitBytes
		queue       []*waiter     // in the order of arrival
		evictables  []*evictable  // oldest first
		changed     chan struct{} // closed, and made anew, when memory may be free
	}
}

// waiter is a place in the queue for memory.
type waiter struct {
	tried bool // it has found too little memory since the last change
}

// evictable is an entry of Budget.mu.evictables. Its address identifies it.
type evictable struct{ Evictable }

// New makes a budget of limitBytes, rounded down to whole chunks. It only maps address space: a
// chunk becomes resident when it is used. It fails if the address space cannot be mapped.
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

// Close unmaps the region. Chunks of leases that are still open must not be used any more.
func (b *Budget) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropKeptLocked(b.limitBytes)
	return b.mu.region.memory.close()
}

// Limit returns the bound in bytes.
func (b *Budget) Limit() int64 { return b.limitBytes }

// Leased returns the bytes that are granted to all leases together.
func (b *Budget) Leased() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.leasedBytes
}

// Free returns the bytes that are granted to no lease.
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
		b.mu.evictables = slices.DeleteFunc(b.mu.evictables, func(e *evictable) bool { return e == entry })
	}
}

// Reserve returns a lease of the given number of bytes, the floor of a task. It waits until they are free.
// Tasks are served in the order of arrival. While memory is short, Reserve evicts the oldest work
// first, on the goroutine of the caller. It fails with ErrNoRoom if the whole budget is too small,
// with the cause of ctx, or if an eviction fails. The caller closes the lease.
func (b *Budget) Reserve(ctx context.Context, bytes int64) (*Lease, error) {
	if bytes > b.limitBytes {
		return nil, fmt.Errorf("%d bytes are needed at once, of %d: %w", bytes, b.limitBytes, ErrNoRoom)
	}
	return b.ReserveMost(ctx, bytes, func() int64 { return bytes })
}

// ReserveMost is Reserve for the smaller of bytes and most(). It calls most when the caller is in
// the queue already. Another goroutine may lower the result of most and then reserve. Either most
// shows the lower result here, or the other goroutine waits behind the caller. most must not call b.
func (b *Budget) ReserveMost(ctx context.Context, bytes int64, most func() int64) (*Lease, error) {
	l := &Lease{budget: b}
	if err := b.wait(ctx, l, bytes, most); err != nil {
		return nil, err
	}
	return l, nil
}

// TryReserve returns a lease of the given number of bytes if they are free now and no task waits for a floor. 0
// bytes are always granted.
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

// wait grants the smaller of bytes and most() to l, when it is first in the queue and they are
// free. Only the first of the queue evicts.
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
				continue // memory was freed during an eviction
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

// evictLocked grants bytes to l if they are free. Until they are, it calls Evict of one evictable
// after the other. It returns false if there is none left, or if enough memory will be free as
// soon as readers have switched to the disk. It releases b.mu during each call of Evict.
func (b *Budget) evictLocked(ctx context.Context, l *Lease, bytes int64) (granted bool, err error) {
	candidates := slices.Clone(b.mu.evictables)
	promised := int64(0) // evicted bytes that readers still hold
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

// leaveLocked takes a waiter out of the queue, and wakes the others.
func (b *Budget) leaveLocked(me *waiter) {
	b.mu.queue = slices.DeleteFunc(b.mu.queue, func(w *waiter) bool { return w == me })
	b.wakeLocked()
}

// freeLocked reports whether a lease may grow by the given number of bytes: they are free, and no task waits for
// a floor.
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

// wakeLocked makes the waiters try again, because memory may be free.
func (b *Budget) wakeLocked() {
	for _, w := range b.mu.queue {
		w.tried = false
	}
	if len(b.mu.queue) > 0 {
		close(b.mu.changed)
		b.mu.changed = make(chan struct{})
	}
}
