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
	"mrlocal/internal/invariant"
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
	defer func() { // it leaves the queue, and wakes the others
		b.mu.queue = slices.DeleteFunc(b.mu.queue, func(w *waiter) bool { return w == me })
		b.wakeLocked()
	}()
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

// Lease is the right to use a number of bytes of a budget, and the chunks that were taken with it.
type Lease struct {
	budget *Budget

	// The lock of the budget guards these fields.
	grantedBytes int64
	usedBytes    int64    // invariant: at most grantedBytes
	elseBytes    int64    // part of usedBytes that is charged: memory elsewhere (Charge)
	peakBytes    int64    // highest usedBytes since the last call of Peak
	held         []*Chunk // in no order; Chunk.place is the index
}

// Chunk is memory of a lease. The holder of the lease may write to Data. A new chunk has any bytes.
type Chunk struct {
	Data []byte

	bytes int64  // counted in Lease.usedBytes
	home  int32  // number of the chunk in the region; -1: a mapping of its own
	pages uint64 // of a piece: its pages of the chunk, a bit each; 0: the whole chunk
	place int    // index in Lease.held
}

// Budget returns the budget of the lease.
func (l *Lease) Budget() *Budget { return l.budget }

// Granted returns the bytes that the lease may use.
func (l *Lease) Granted() int64 {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	return l.grantedBytes
}

// Peak returns the most bytes that were in use at a time since the last call.
func (l *Lease) Peak() int64 {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	peak := l.peakBytes
	l.peakBytes = l.usedBytes
	return peak
}

// Available returns the bytes that are granted and not used.
func (l *Lease) Available() int64 {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	return l.grantedBytes - l.usedBytes
}

// Grow asks for the given number of bytes more, and reports whether it got them. It never waits and never
// evicts. It is refused while a task waits for a floor.
func (l *Lease) Grow(bytes int64) bool {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes <= 0 {
		return true
	}
	if !b.freeLocked(bytes) {
		return false
	}
	b.grantLocked(l, bytes)
	return true
}

// GrowByEviction asks for bytes without which the task cannot go on, such as for a record that is larger
// than the floor. It evicts other work, but it never waits: the task may hold memory for which
// others wait. If it fails with ErrNoRoom, the task should end and start again with a larger floor.
func (l *Lease) GrowByEviction(ctx context.Context, bytes int64) error {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	granted, err := b.evictLocked(ctx, l, bytes)
	if err == nil && !granted {
		err = fmt.Errorf("%d bytes more are needed, %d of %d are free: %w", bytes, b.limitBytes-b.mu.leasedBytes, b.limitBytes, ErrNoRoom)
	}
	return err
}

// Shrink gives back up to the given number of bytes that are granted and not used.
func (l *Lease) Shrink(bytes int64) {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	bytes = min(bytes, l.grantedBytes-l.usedBytes)
	if bytes <= 0 {
		return
	}
	l.grantedBytes -= bytes
	b.releaseLocked(bytes)
}

// Close frees the chunks that the lease still holds, and gives back all bytes. It may be called
// again.
func (l *Lease) Close() {
	b := l.budget
	b.mu.Lock()
	held := l.held
	l.held = nil
	for _, c := range held {
		if c.home >= 0 {
			b.dropLocked(c)
		}
	}
	b.mu.Unlock()
	for _, c := range held {
		if c.home < 0 {
			l.unmap(c)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	granted := l.grantedBytes
	b.mu.bigBytes -= l.elseBytes
	l.grantedBytes, l.usedBytes = 0, 0
	l.elseBytes = 0
	b.releaseLocked(granted)
}

// Charge counts bytes of memory elsewhere, such as on the Go heap, as used until Discharge or
// Close. It reports false if fewer bytes are available.
func (l *Lease) Charge(bytes int64) bool {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.grantedBytes-l.usedBytes < bytes {
		return false
	}
	l.elseBytes += bytes
	l.usedBytes += bytes
	l.peakBytes = max(l.peakBytes, l.usedBytes)
	b.addBigLocked(bytes)
	return true
}

// addBigLocked counts bytes outside of the region as resident, and makes room for them.
func (b *Budget) addBigLocked(bytes int64) {
	b.dropKeptLocked(bytes)
	b.mu.bigBytes += bytes
	b.mu.region.giveBack(b.mu.bigBytes + b.mu.region.residentBytes() - b.limitBytes)
}

// Discharge counts up to the given number of charged bytes as not used any more. They stay granted.
func (l *Lease) Discharge(bytes int64) {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	bytes = min(bytes, l.elseBytes)
	l.elseBytes -= bytes
	l.usedBytes -= bytes
	b.mu.bigBytes -= bytes
}

// Charged returns the bytes that are charged.
func (l *Lease) Charged() int64 {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	return l.elseBytes
}

// Chunk takes a standard chunk. It reports false if fewer bytes are available. The caller may then
// call Grow and try again.
func (l *Lease) Chunk() (*Chunk, bool) {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.grantedBytes-l.usedBytes < ChunkBytes {
		return nil, false
	}
	if b.mu.kept.bytes > 0 && !b.mu.region.hasFree() {
		b.dropKeptLocked(hugeGroupBytes)
	}
	home, ok := b.mu.region.take(b.limitBytes - b.mu.bigBytes)
	if !ok {
		return nil, false
	}
	c := &Chunk{Data: b.mu.region.memory.chunk(home), bytes: ChunkBytes, home: home}
	l.holdLocked(c)
	return c, true
}

// Piece takes a part of a chunk, in whole pages of 4 KiB, for a short buffer that is held for long.
// bytes is at most half of ChunkBytes. It reports false if too few bytes are available.
func (l *Lease) Piece(bytes int) (*Chunk, bool) {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	pages := int(pagesOf(int64(bytes)))
	if l.grantedBytes-l.usedBytes < int64(pages*pageBytes) {
		return nil, false
	}
	b.dropKeptLocked(hugeGroupBytes)
	home, first, ok := b.mu.region.takePages(pages, b.limitBytes-b.mu.bigBytes)
	if !ok {
		return nil, false
	}
	at := first * pageBytes
	c := &Chunk{
		Data:  b.mu.region.memory.chunk(home)[at : at+bytes : at+pages*pageBytes],
		bytes: int64(pages * pageBytes), home: home, pages: pageMask(first, pages),
	}
	l.holdLocked(c)
	return c, true
}

// Big takes contiguous memory of any length, a mapping of its own, for records and tables
// that are longer than a chunk. It uses whole pages of the lease. It reports false if too few bytes
// are available or the system refuses the mapping.
func (l *Lease) Big(bytes int64) (*Chunk, bool) {
	b := l.budget
	charged := pagesOf(bytes) * pageBytes
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.grantedBytes-l.usedBytes < charged {
		return nil, false
	}
	data, resident := b.mu.kept.take(charged)
	b.mu.bigBytes -= resident
	b.addBigLocked(charged)
	if data == nil {
		l.usedBytes += charged
		b.mu.Unlock()
		var err error
		data, err = mapMemory(charged)
		b.mu.Lock()
		l.usedBytes -= charged
		if err != nil {
			b.mu.bigBytes -= charged
			return nil, false
		}
	}
	c := &Chunk{Data: data[:bytes], bytes: charged, home: -1}
	l.holdLocked(c)
	return c, true
}

// Take takes contiguous memory: a Piece, a Chunk or a Big, by its length. If the lease has too little, it grows
// by grown bytes, which the caller may give back by Shrink when it has freed the memory. Take reports false if
// the budget refuses. The lease is as before then.
func (l *Lease) Take(bytes int64) (c *Chunk, grown int64, ok bool) {
	take, charged := l.Chunk, pagesOf(bytes)*pageBytes
	switch {
	case bytes > ChunkBytes:
		take = func() (*Chunk, bool) { return l.Big(bytes) }
	case bytes <= ChunkBytes/2:
		take = func() (*Chunk, bool) { return l.Piece(int(bytes)) }
	default:
		charged = ChunkBytes
	}
	if c, ok = take(); ok {
		return c, 0, true
	}
	if !l.Grow(charged) {
		return nil, 0, false
	}
	if c, ok = take(); !ok {
		l.Shrink(charged)
		return nil, 0, false
	}
	return c, charged, true
}

// pagesOf returns the number of pages that bytes take, at least one.
func pagesOf(bytes int64) int64 { return max(1, (bytes+pageBytes-1)/pageBytes) }

// Free gives back c, which this lease must hold. The bytes stay granted.
func (l *Lease) Free(c *Chunk) {
	b := l.budget
	b.mu.Lock()
	l.letGoLocked(c)
	if c.home >= 0 {
		b.dropLocked(c)
		b.mu.Unlock()
		return
	}
	b.mu.Unlock()
	l.unmap(c)
}

// Transfer moves chunks, and the bytes granted for them, to another lease of the same
// budget.
func (l *Lease) Transfer(to *Lease, cs ...*Chunk) {
	if to == l {
		return
	}
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	for _, c := range cs {
		l.letGoLocked(c)
		l.grantedBytes -= c.bytes
		to.grantedBytes += c.bytes
		to.holdLocked(c)
	}
}

// holdLocked makes l the lease of c.
func (l *Lease) holdLocked(c *Chunk) {
	c.place = len(l.held)
	l.held = append(l.held, c)
	l.usedBytes += c.bytes
	l.peakBytes = max(l.peakBytes, l.usedBytes)
}

// letGoLocked takes c from l. It panics if l does not hold c, because such a mistake of a caller
// would corrupt memory.
func (l *Lease) letGoLocked(c *Chunk) {
	if c.place >= len(l.held) || l.held[c.place] != c {
		panic(fmt.Sprintf("membudget: a chunk of %d bytes is not of this lease, or was freed before", c.bytes))
	}
	last := l.held[len(l.held)-1]
	l.held[c.place] = last
	last.place = c.place
	l.held[len(l.held)-1] = nil
	l.held = l.held[:len(l.held)-1]
	l.usedBytes -= c.bytes
}

// poisonBytes is the number of bytes of a chunk that a checked build overwrites when the chunk is
// freed. That suffices to find a use after the free, and is faster than the whole chunk.
const poisonBytes = 8 << 10

// dropLocked gives a chunk or piece back to the region. It sets Data to nil.
func (b *Budget) dropLocked(c *Chunk) {
	invariant.Mangle(c.Data[:min(len(c.Data), poisonBytes)])
	c.Data = nil
	if c.pages != 0 {
		b.mu.region.putPages(c.home, c.pages)
		return
	}
	b.mu.region.put(c.home)
}

// unmap unmaps the memory of a Big, or keeps it for the next Big. It sets Data to nil.
func (l *Lease) unmap(c *Chunk) {
	b := l.budget
	data := c.Data[:cap(c.Data)]
	c.Data = nil
	b.mu.Lock()
	rest := b.mu.kept.keep(data, c.bytes)
	b.mu.Unlock()
	if rest.data == nil {
		return
	}
	unmapMemory(rest.data)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.bigBytes -= rest.resident
}

// Loan is a chunk that its owner lends to a borrower. The borrower reads the chunk, and may take it
// over. The loan says who owns the chunk: the lender while Taken is false, and the borrower from
// Take on. At the end of the loan, the lender gives the chunk back only if it was not taken. A Loan
// belongs to one goroutine.
type Loan struct {
	Chunk *Chunk
	Lease *Lease // the lender's lease, which holds the chunk; nil: the borrower's lease holds it
	taken bool
}

// Take makes the borrower the owner of the chunk. to is the lease of the borrower. The chunk moves
// there.
func (l *Loan) Take(to *Lease) {
	if l.Lease != nil {
		l.Lease.Transfer(to, l.Chunk)
	}
	l.taken = true
}

// Taken reports whether the borrower has taken the chunk over.
func (l *Loan) Taken() bool { return l.taken }
