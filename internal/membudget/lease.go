package membudget

import (
	"context"
	"fmt"

	"mrlocal/internal/invariant"
)

// Lease is the right to use so many bytes of a budget, and the chunks that were taken under
// it.
type Lease struct {
	budget *Budget

	// Under the lock of the budget.
	grantedBytes int64
	usedBytes    int64    // invariant: at most grantedBytes
	elseBytes    int64    // of usedBytes: memory that lies elsewhere (Charge)
	peakBytes    int64    // the most of usedBytes since the last call of Peak
	held         []*Chunk // in no order; Chunk.place is the index
}

// Chunk is memory of a lease. The holder of the lease may write to Data.
type Chunk struct {
	Data []byte

	bytes int64  // charged
	home  int32  // number of the chunk in the region; -1: a mapping of its own
	pages uint64 // of that chunk, for a piece; 0: the whole chunk
	place int    // in Lease.held
}

// Budget returns the budget that the lease belongs to.
func (l *Lease) Budget() *Budget { return l.budget }

// Granted returns how many bytes the lease may use.
func (l *Lease) Granted() int64 {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	return l.grantedBytes
}

// Peak returns how many bytes the chunks of the lease took at most since the last call.
func (l *Lease) Peak() int64 {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	peak := l.peakBytes
	l.peakBytes = l.usedBytes
	return peak
}

// Available returns how many bytes are granted and not used.
func (l *Lease) Available() int64 {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	return l.grantedBytes - l.usedBytes
}

// Grow asks for bytes more. It never waits and never evicts, and is refused while a task
// waits for a floor.
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

// Demand asks for bytes without which the task cannot go on, as for one record that is
// larger than the floor. It evicts, but it never waits, because the task may hold what
// others wait for. After ErrNoRoom the task should end and start again with a larger floor.
func (l *Lease) Demand(ctx context.Context, bytes int64) error {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	granted, err := b.evictLocked(ctx, l, bytes)
	if err == nil && !granted {
		err = fmt.Errorf("%d bytes more are needed, %d of %d are free: %w", bytes, b.limitBytes-b.mu.leasedBytes, b.limitBytes, ErrNoRoom)
	}
	return err
}

// Shrink gives back up to bytes of what is granted and not used.
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

// Close frees the chunks that are still held and gives back everything that is granted. It
// may be called again.
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
	l.grantedBytes, l.usedBytes, l.elseBytes = 0, 0, 0
	b.releaseLocked(granted)
}

// Charge counts bytes of memory that lies elsewhere, such as on the Go heap, as used, until
// Discharge or Close. It reports false if fewer bytes are available.
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
	b.dropKeptLocked(bytes)
	b.mu.bigBytes += bytes
	b.mu.region.giveBack(b.mu.bigBytes + b.mu.region.residentBytes() - b.limitBytes)
	return true
}

// Discharge ends the use of up to bytes that were charged. They stay granted.
func (l *Lease) Discharge(bytes int64) {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	bytes = min(bytes, l.elseBytes)
	l.elseBytes -= bytes
	l.usedBytes -= bytes
	b.mu.bigBytes -= bytes
}

// Charged returns how many bytes are charged.
func (l *Lease) Charged() int64 {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	return l.elseBytes
}

// Chunk takes a standard chunk. It reports false when what is granted is used
// up; the caller may Grow and try again. The memory holds anything.
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
	c := &Chunk{Data: b.mu.region.chunk(home), bytes: ChunkBytes, home: home}
	l.holdLocked(c)
	return c, true
}

// Piece takes a part of a chunk, in whole pages of 4 KiB, for something short that lives
// long. bytes is at most half of ChunkBytes.
func (l *Lease) Piece(bytes int) (*Chunk, bool) {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	pages := max(1, (bytes+pageBytes-1)/pageBytes)
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
		Data:  b.mu.region.chunk(home)[at : at+bytes : at+pages*pageBytes],
		bytes: int64(pages * pageBytes), home: home, pages: pageMask(first, pages),
	}
	l.holdLocked(c)
	return c, true
}

// Big takes contiguous memory of any length, a mapping of its own, for records and tables
// that are longer than a chunk. It is charged in whole pages.
func (l *Lease) Big(bytes int64) (*Chunk, bool) {
	b := l.budget
	charged := max(1, (bytes+pageBytes-1)/pageBytes) * pageBytes
	b.mu.Lock()
	if l.grantedBytes-l.usedBytes < charged {
		b.mu.Unlock()
		return nil, false
	}
	if data, resident := b.mu.kept.take(charged); data != nil {
		b.mu.bigBytes -= resident
		b.dropKeptLocked(charged)
		b.mu.bigBytes += charged
		b.mu.region.giveBack(b.mu.bigBytes + b.mu.region.residentBytes() - b.limitBytes)
		c := &Chunk{Data: data[:bytes], bytes: charged, home: -1}
		l.holdLocked(c)
		b.mu.Unlock()
		return c, true
	}
	l.usedBytes += charged
	b.dropKeptLocked(charged)
	b.mu.bigBytes += charged
	b.mu.region.giveBack(b.mu.bigBytes + b.mu.region.residentBytes() - b.limitBytes)
	b.mu.Unlock()

	data, err := mapMemory(charged)
	b.mu.Lock()
	defer b.mu.Unlock()
	l.usedBytes -= charged
	if err != nil {
		b.mu.bigBytes -= charged
		return nil, false
	}
	c := &Chunk{Data: data[:bytes], bytes: charged, home: -1}
	l.holdLocked(c)
	return c, true
}

// Free ends the use of c, which this lease must hold. The bytes stay granted.
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

// letGoLocked takes c from l. It panics if l does not hold c: that is a mistake of the
// caller that would corrupt memory.
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

// poisonBytes of a chunk are overwritten in a checked build when it is freed. That is enough
// to find a use after it. The whole chunk would take too long, because checked builds are
// slow already.
const poisonBytes = 8 << 10

// dropLocked gives a chunk or piece back to the region. Its holder finds nil instead of the
// memory.
func (b *Budget) dropLocked(c *Chunk) {
	invariant.Mangle(c.Data[:min(len(c.Data), poisonBytes)])
	c.Data = nil
	if c.pages != 0 {
		b.mu.region.putPages(c.home, c.pages)
		return
	}
	b.mu.region.put(c.home)
}

// unmap ends a mapping of its own, or keeps it for the next Big.
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

// Loan is a chunk that its owner lends to a borrower, who reads what is in it
// and may take the chunk over. This is the only place that says who owns such
// a chunk: the lender while Taken is false, and the borrower from Take on. The
// lender looks when the loan ends; it gives back only what was not taken.
type Loan struct {
	Chunk *Chunk
	Lease *Lease // the lender's, which pays for the chunk; nil: the borrower's own
	taken bool
}

// Take makes the borrower, whose lease is to, the owner of the chunk.
func (l *Loan) Take(to *Lease) {
	if l.Lease != nil {
		l.Lease.Transfer(to, l.Chunk)
	}
	l.taken = true
}

// Taken reports whether the borrower has taken the chunk over.
func (l *Loan) Taken() bool { return l.taken }
