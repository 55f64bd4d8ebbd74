package membudget

import (
	"context"
	"fmt"

	"mrlocal/internal/invariant"
)

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
	if l.grantedBytes-l.usedBytes < charged {
		b.mu.Unlock()
		return nil, false
	}
	if data, resident := b.mu.kept.take(charged); data != nil {
		b.mu.bigBytes -= resident
		b.addBigLocked(charged)
		c := &Chunk{Data: data[:bytes], bytes: charged, home: -1}
		l.holdLocked(c)
		b.mu.Unlock()
		return c, true
	}
	l.usedBytes += charged
	b.addBigLocked(charged)
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
