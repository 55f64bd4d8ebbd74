package membudget

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func newBudget(t testing.TB, chunks int64) *Budget {
	t.Helper()
	b, err := New(chunks * ChunkBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func reserve(t testing.TB, b *Budget, chunks int64) *Lease {
	t.Helper()
	l, err := b.Reserve(context.Background(), chunks*ChunkBytes)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// segment is finished work that holds memory until it is evicted.
type segment struct {
	lease  *Lease
	pinned bool
	err    error
	calls  int
}

func (s *segment) Evict() (int64, error) {
	s.calls++
	if s.pinned || s.err != nil {
		return 0, s.err
	}
	freed := s.lease.Granted()
	s.lease.Close()
	return freed, nil
}

func TestGrowthIsRefusedBeyondTheLimit(t *testing.T) {
	b := newBudget(t, 4)
	l := reserve(t, b, 2)
	if !l.Grow(2*ChunkBytes) || l.Grow(ChunkBytes) {
		t.Error("the limit is 4 chunks")
	}
	l.Shrink(ChunkBytes)
	if b.Free() != ChunkBytes {
		t.Errorf("free %d", b.Free())
	}
}

func TestAFloorEvictsTheOldestFirst(t *testing.T) {
	b := newBudget(t, 4)
	old, young := &segment{lease: reserve(t, b, 1)}, &segment{lease: reserve(t, b, 2)}
	b.Register(old)
	b.Register(young)
	reserve(t, b, 2)
	if old.calls != 1 || young.calls != 0 {
		t.Errorf("evicted: old %d times, young %d times", old.calls, young.calls)
	}
}

func TestAFloorWaitsForWhatIsPinned(t *testing.T) {
	b := newBudget(t, 4)
	pinned := &segment{lease: reserve(t, b, 3), pinned: true}
	b.Register(pinned)
	got := make(chan *Lease)
	go func() {
		l, _ := b.Reserve(context.Background(), 2*ChunkBytes)
		got <- l
	}()
	for pinned.waiting(b) == 0 {
		time.Sleep(time.Millisecond)
	}
	if l, ok := b.TryReserve(ChunkBytes); ok {
		t.Errorf("growth %v was granted while a floor is waited for", l)
	}
	pinned.lease.Close()
	if l := <-got; l.Granted() != 2*ChunkBytes {
		t.Errorf("granted %d", l.Granted())
	}
}

func (s *segment) waiting(b *Budget) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.mu.queue)
}

func TestAFailedEvictionFailsTheFloor(t *testing.T) {
	b := newBudget(t, 1)
	full := errors.New("disk full")
	b.Register(&segment{lease: reserve(t, b, 1), err: full})
	if _, err := b.Reserve(context.Background(), ChunkBytes); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

func TestAWaiterStopsWithTheCauseOfItsContext(t *testing.T) {
	b := newBudget(t, 1)
	reserve(t, b, 1)
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if _, err := b.Reserve(ctx, ChunkBytes); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if (&segment{}).waiting(b) != 0 {
		t.Error("the waiter is still there")
	}
}

func TestDemandEvictsAndNeverWaits(t *testing.T) {
	b := newBudget(t, 4)
	l, other := reserve(t, b, 1), reserve(t, b, 1)
	b.Register(&segment{lease: reserve(t, b, 2)})
	if err := l.GrowByEviction(context.Background(), 2*ChunkBytes); err != nil || l.Granted() != 3*ChunkBytes {
		t.Errorf("%v, granted %d", err, l.Granted())
	}
	if err := l.GrowByEviction(context.Background(), ChunkBytes); !errors.Is(err, ErrNoRoom) {
		t.Errorf("with nothing left: %v", err)
	}
	other.Close()
}

// If enough memory is about to be free, no further work is evicted.
func TestAPromiseIsWaitedFor(t *testing.T) {
	b := newBudget(t, 4)
	read, idle := &promise{lease: reserve(t, b, 2), freed: make(chan bool)}, &segment{lease: reserve(t, b, 2)}
	b.Register(read)
	b.Register(idle)
	go func() {
		<-read.freed
		read.lease.Close()
	}()
	reserve(t, b, 2)
	if idle.calls != 0 {
		t.Error("another was evicted while the first was about to come free")
	}
}

// promise is evicted while somebody reads it.
type promise struct {
	lease *Lease
	freed chan bool
}

func (p *promise) Evict() (int64, error) {
	close(p.freed)
	return p.lease.Granted(), nil
}

func TestFloorsOfManyTasksAreAllServed(t *testing.T) {
	b := newBudget(t, 8)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				l, err := b.Reserve(context.Background(), 2*ChunkBytes)
				if err != nil {
					t.Error(err)
					return
				}
				c, ok := l.Chunk()
				if !ok {
					t.Error("a floor without its chunk")
					return
				}
				c.Data[0]++
				out, _ := b.TryReserve(0)
				l.Transfer(out, c)
				s := &segment{lease: out}
				b.Register(s)
				l.Close()
			}
		})
	}
	wg.Wait()
}

func TestMemoryElsewhereIsCharged(t *testing.T) {
	b := newBudget(t, 4)
	l := reserve(t, b, 3)
	if l.Charge(3*ChunkBytes + 1) {
		t.Error("charged more than is granted")
	}
	if !l.Charge(2*ChunkBytes) || l.usedBytes != 2*ChunkBytes || l.Peak() != 2*ChunkBytes {
		t.Errorf("%d bytes are used", l.usedBytes)
	}
	if _, ok := l.Chunk(); !ok {
		t.Error("no chunk from the rest")
	}
	if _, ok := l.Chunk(); ok {
		t.Error("a chunk of what is charged")
	}
	l.Discharge(ChunkBytes)
	if _, ok := l.Chunk(); !ok {
		t.Error("no chunk after the discharge")
	}
	l.Close()
	if b.Leased() != 0 || b.mu.bigBytes != 0 {
		t.Errorf("%d bytes leased, %d elsewhere", b.Leased(), b.mu.bigBytes)
	}
}

func TestTransferMovesWhatIsGranted(t *testing.T) {
	b := newBudget(t, 4)
	from := reserve(t, b, 3)
	c, _ := from.Chunk()
	big, _ := from.Big(ChunkBytes + 1)
	to, _ := b.TryReserve(0)
	from.Transfer(to, c, big)
	if to.Granted() != to.usedBytes || to.usedBytes != 2*ChunkBytes+pageBytes || from.usedBytes != 0 || to.held[big.place] != big {
		t.Errorf("to %d of %d, from %d", to.usedBytes, to.Granted(), from.usedBytes)
	}
	from.Close()
	to.Close()
	if b.Leased() != 0 {
		t.Errorf("%d bytes are still leased", b.Leased())
	}
}

// Whatever is taken and freed, resident memory is within the limit, chunks never overlap, and in the
// end all memory is free.
func TestChunksNeverOverlapAndKeepToTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limitChunks, bigMost := int64(12), 4*ChunkBytes
		if rapid.Bool().Draw(t, "bigs that are kept") {
			limitChunks, bigMost = 64, 40*ChunkBytes
		}
		b, err := New(limitChunks * ChunkBytes)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		l, _ := b.TryReserve(limitChunks * ChunkBytes)
		var held []*Chunk
		mark := byte(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			var c *Chunk
			var ok bool
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0, 1:
				c, ok = l.Chunk()
			case 2:
				c, ok = l.Piece(rapid.IntRange(0, ChunkBytes/2).Draw(t, "piece"))
			case 3:
				c, ok = l.Big(int64(rapid.IntRange(1, bigMost).Draw(t, "big")))
			default:
				if len(held) > 0 {
					i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
					checkMark(t, held[i])
					l.Free(held[i])
					held = append(held[:i], held[i+1:]...)
				}
			}
			if ok {
				mark++
				for i := 0; i < len(c.Data); i += 512 {
					c.Data[i] = mark
				}
				held = append(held, c)
			}
			checkResident(t, b)
		}
		for _, c := range held {
			checkMark(t, c)
			l.Free(c)
		}
		if l.usedBytes != 0 || len(holds(l)) != 0 || b.mu.bigBytes != b.mu.kept.bytes || len(b.mu.region.cut) != 0 {
			t.Fatalf("%d bytes used after all is freed", l.usedBytes)
		}
	})
}

// checkResident checks that the resident bytes of region and Bigs are within the limit. It does so
// only on systems that take back pages as small as ours.
func checkResident(t rapid.TB, b *Budget) {
	t.Helper()
	resident := b.mu.region.residentBytes() + b.mu.bigBytes
	if runtime.GOOS == "linux" && os.Getpagesize() <= pageBytes && resident > b.limitBytes {
		t.Fatalf("%d resident of %d", resident, b.limitBytes)
	}
}

// There are a Big and a full huge page. Then comes a piece for which no cut chunk has room.
// A second huge page would be more than the limit.
func TestANewHugePageKeepsToTheLimit(t *testing.T) {
	b := newBudget(t, 12)
	l := reserve(t, b, 12)
	chunks := func(n int) {
		for range n {
			mustHold(t, b)(l.Chunk())
		}
	}
	big := func(bytes int64) { mustHold(t, b)(l.Big(bytes)) }
	piece := func(bytes int) *Chunk { return mustHold(t, b)(l.Piece(bytes)) }
	chunks(3)
	big(1)
	first := piece(53249)
	piece(73729)
	chunks(4)
	l.Free(first)
	big(1044481)
	piece(131072)
}

// Chunks of which only one page is left in use hold no more than that page
// when the room is needed.
func TestPiecesFewAndFarBetweenKeepToTheLimit(t *testing.T) {
	b := newBudget(t, 12)
	l := reserve(t, b, 12)
	var pieces []*Chunk
	for range 12 * ChunkBytes / pageBytes {
		pieces = append(pieces, mustHold(t, b)(l.Piece(pageBytes)))
	}
	for i, p := range pieces {
		if i%(ChunkBytes/pageBytes) != 0 {
			l.Free(p)
		}
	}
	big := mustHold(t, b)(l.Big(12*ChunkBytes - 12*pageBytes))
	l.Free(big)
	for l.Available() > 0 {
		mustHold(t, b)(l.Piece(pageBytes))
	}
	if l.Close(); b.mu.region.nAway != 0 || b.mu.bigBytes != 0 {
		t.Errorf("after all is freed: %d pages away, %d bytes of Bigs", b.mu.region.nAway, b.mu.bigBytes)
	}
}

// The next Big of about that length uses the memory of a Big that was freed, and no new page is
// mapped. The memory is given back if the room is needed for chunks.
func TestABigThatWasFreedIsTakenAgain(t *testing.T) {
	b := newBudget(t, 64)
	l := reserve(t, b, 64)
	first := mustHold(t, b)(l.Big(20 * ChunkBytes))
	first.Data[19*ChunkBytes] = 7
	at := &first.Data[0]
	l.Free(first)
	if b.mu.bigBytes != 20*ChunkBytes || l.usedBytes != 0 {
		t.Errorf("%d bytes of mappings, %d used", b.mu.bigBytes, l.usedBytes)
	}
	second := mustHold(t, b)(l.Big(18*ChunkBytes + 5))
	if at != &second.Data[0] || len(second.Data) != 18*ChunkBytes+5 || l.usedBytes != 18*ChunkBytes+pageBytes || b.mu.bigBytes != l.usedBytes {
		t.Errorf("%d bytes, %d used, %d mapped, the same memory: %v", len(second.Data), l.usedBytes, b.mu.bigBytes, at == &second.Data[0])
	}
	l.Free(second)
	whole := mustHold(t, b)(l.Big(20 * ChunkBytes))
	if at != &whole.Data[0] {
		t.Error("its whole length is not taken again")
	}
	l.Free(whole)
	for range 60 {
		mustHold(t, b)(l.Chunk())
		checkResident(t, b)
	}
	if b.mu.kept.bytes != 0 || b.mu.bigBytes != 0 {
		t.Errorf("%d bytes are kept where there is no room for them", b.mu.kept.bytes)
	}
}

func TestNotTooManyBigsAreKept(t *testing.T) {
	b := newBudget(t, 1024)
	l := reserve(t, b, 1024)
	var held []*Chunk
	for i := range keptMax + 4 {
		held = append(held, mustHold(t, b)(l.Big(int64(16+i)*ChunkBytes)))
	}
	for _, c := range held {
		l.Free(c)
	}
	if n := len(b.mu.kept.maps); n != keptMax || b.mu.bigBytes != b.mu.kept.bytes {
		t.Errorf("%d are kept, %d bytes of %d", n, b.mu.kept.bytes, b.mu.bigBytes)
	}
}

// mustHold writes every page of what was taken and checks the limit.
func mustHold(t *testing.T, b *Budget) func(*Chunk, bool) *Chunk {
	return func(c *Chunk, ok bool) *Chunk {
		t.Helper()
		if !ok {
			t.Fatal("refused within what is granted")
		}
		for i := 0; i < len(c.Data); i += 512 {
			c.Data[i] = 1
		}
		checkResident(t, b)
		return c
	}
}

func checkMark(t *rapid.T, c *Chunk) {
	for i := 0; i < len(c.Data); i += 512 {
		if c.Data[i] != c.Data[0] {
			t.Fatalf("byte %d of a chunk of %d was written by another", i, len(c.Data))
		}
	}
}

func BenchmarkChunk(b *testing.B) {
	budget := newBudget(b, 1024)
	l := reserve(b, budget, 1024)
	b.SetBytes(ChunkBytes)
	for b.Loop() {
		c, _ := l.Chunk()
		l.Free(c)
	}
}

// holds returns the chunks of a lease, in no order.
func holds(l *Lease) []*Chunk { return slices.Clone(l.held) }

// ReserveMost calls most when the floor is in the queue. A reservation that lowers most later waits
// behind that floor.
func TestAFloorIsKnownWhenItHasItsPlace(t *testing.T) {
	b := newBudget(t, 8)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var taken atomic.Int64
	other := make(chan error, 1)
	floor, err := b.ReserveMost(ctx, 8*ChunkBytes, func() int64 {
		most := 8*ChunkBytes - taken.Load()
		go func() { // too late for most
			taken.Add(4 * ChunkBytes)
			lease, err := b.Reserve(ctx, 4*ChunkBytes)
			if err == nil {
				defer lease.Close()
				_, err = b.ReserveMost(ctx, 8*ChunkBytes, func() int64 { return 8*ChunkBytes - taken.Load() })
			}
			other <- err
		}()
		time.Sleep(50 * time.Millisecond)
		return most
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := floor.Granted(); got != 8*ChunkBytes {
		t.Errorf("floor of %d bytes", got)
	}
	floor.Close()
	if err := <-other; err != nil {
		t.Error(err)
	}
}

// Take asks for no more than its memory is charged. Pieces and long mappings are charged by the page, others
// as a whole chunk.
func TestTakeIsRefusedOnlyIfTheMemoryDoesNotFit(t *testing.T) {
	const page, chunk = pageBytes, ChunkBytes
	for _, c := range []struct{ bytes, charged int64 }{
		{1, page}, {page, page}, {page + 1, 2 * page}, {chunk / 2, chunk / 2},
		{chunk/2 + 1, chunk}, {chunk, chunk}, {chunk + 1, chunk + page},
	} {
		b := newBudget(t, 4)
		others, _ := b.TryReserve(4*chunk - c.charged)
		l, _ := b.TryReserve(0)
		got, grown, ok := l.Take(c.bytes)
		if !ok || int64(len(got.Data)) < c.bytes || grown != c.charged {
			t.Errorf("%d bytes: %v, grown by %d; %d are free", c.bytes, ok, grown, c.charged)
		}
		if _, grown, ok := l.Take(1); ok || grown != 0 || l.Granted() != c.charged {
			t.Error("a full budget gives more")
		}
		l.Close()
		others.Close()
	}
}
