package membudget

import (
	"math/bits"
	"slices"

	"mrlocal/internal/invariant"
)

// pageBytes is the unit of pieces and of what is charged. A chunk has as many pages as a
// word has bits.
const pageBytes = ChunkBytes / 64

// A group of chunks is one huge page of 2 MiB, which becomes resident as a whole.
const (
	groupChunks    = (2 << 20) / ChunkBytes
	hugeGroupBytes = groupChunks * ChunkBytes
)

// region hands out chunks of one mapping. The mapping is an eighth longer than the limit,
// because chunks that are cut into pieces are rarely full. It is used under the lock of the
// budget.
//
// Whatever is resident and not handed out can be given back: free chunks, and free pages of
// chunks that are cut into pieces. It is given back as soon as there is no room for it. A
// group of chunks gets a huge page only while there is room for the whole of it. It has
// small pages from the moment when a part of it is given back. Otherwise the next write
// would make the whole group resident again.
type region struct {
	memory   regionMemory
	chunks   int
	taken    bitmap // handed out
	touched  bitmap // resident, handed out or not
	nTouched int
	small    bitmap        // groups of small pages
	cut      map[int32]cut // chunks cut into pieces
	nAway    int           // pages of cut chunks that are not resident
}

// cut is a chunk that is cut into pieces: one bit for each page.
type cut struct{ taken, away uint64 } // handed out; not resident

// open maps an eighth more chunks than the limit has, and a group. That costs address space
// alone, because only resident memory counts against the limit.
func (r *region) open(limitBytes int64) error {
	r.chunks = int(limitBytes/ChunkBytes) + int(limitBytes/ChunkBytes)/8 + groupChunks
	r.taken, r.touched = newBitmap(r.chunks), newBitmap(r.chunks)
	r.small = newBitmap(r.chunks/groupChunks + 1)
	r.cut = map[int32]cut{}
	return r.memory.open(r.chunks)
}

func (r *region) close() error            { return r.memory.close() }
func (r *region) chunk(home int32) []byte { return r.memory.chunk(home) }
func (r *region) residentBytes() int64 {
	return int64(r.nTouched)*ChunkBytes - int64(r.nAway)*pageBytes
}

// pageMask returns the bits of so many pages from first on.
func pageMask(first, pages int) uint64 { return (1<<pages - 1) << first }

// take hands out a chunk: one that is resident already, if there is one, and else the one
// with the lowest address. roomBytes is how much may be resident.
func (r *region) take(roomBytes int64) (home int32, ok bool) {
	i := r.taken.firstClear(r.touched)
	if i < 0 {
		if i = r.taken.firstClear(nil); i < 0 || i >= r.chunks {
			return 0, false
		}
		r.touch(i, roomBytes)
	}
	r.taken.set(i)
	return int32(i), true
}

// hasFree reports whether the next chunk that take hands out is resident already.
func (r *region) hasFree() bool { return r.taken.firstClear(r.touched) >= 0 }

// touch counts what becomes resident with chunk i: also the rest of its huge page, if
// nothing of that was resident and there is room.
func (r *region) touch(i int, roomBytes int64) {
	group := i - i%groupChunks
	last := min(group+groupChunks, r.chunks)
	if r.memory.hugePages() && !r.touched.any(group, last) {
		// A search through small files needs a chunk or two. It would wait for the system to find a
		// large page and to clear all of it.
		huge := group > 0 && r.residentBytes()+int64(last-group)*ChunkBytes <= roomBytes
		r.pageSize(group, huge)
		if huge {
			for j := group; j < last; j++ {
				r.touched.set(j)
			}
			r.nTouched += last - group
			return
		}
	}
	r.touched.set(i)
	r.nTouched++
	r.taken.set(i) // not to be given back
	r.giveBack(r.residentBytes() - roomBytes)
}

// pageSize makes the group of chunk i one of huge pages or of small ones.
func (r *region) pageSize(i int, huge bool) {
	group := i / groupChunks
	if !r.memory.hugePages() || r.small.has(group) == !huge {
		return
	}
	r.memory.pageSize(group*groupChunks, min((group+1)*groupChunks, r.chunks), huge)
	if huge {
		r.small.clear(group)
	} else {
		r.small.set(group)
	}
}

func (r *region) put(home int32) { r.taken.clear(int(home)) }

// giveBack returns at least bytes of resident, free memory to the system, or all there is:
// first whole chunks, then free pages of chunks that are cut.
func (r *region) giveBack(bytes int64) {
	for i := r.chunks - 1; i >= 0 && bytes > 0; i-- {
		if r.touched.has(i) && !r.taken.has(i) {
			r.discard(i)
			bytes -= ChunkBytes
		}
	}
	for home, c := range r.cut { // in any order: it does not show
		if bytes <= 0 {
			return
		}
		bytes -= r.discardPages(home, ^c.taken&^c.away)
	}
}

// discard gives a whole chunk back to the system.
func (r *region) discard(i int) {
	r.pageSize(i, false)
	r.memory.discard(int32(i))
	r.touched.clear(i)
	r.nTouched--
}

// discardPages gives back pages of a chunk that is cut. Pages that the system does not take
// still count as resident.
func (r *region) discardPages(home int32, pages uint64) (freedBytes int64) {
	c := r.cut[home]
	if pages != 0 {
		r.pageSize(int(home), false)
	}
	for pages != 0 {
		first := bits.TrailingZeros64(pages)
		n := bits.TrailingZeros64(^(pages >> first))
		run := pageMask(first, n)
		pages &^= run
		if r.memory.discardPages(home, first*pageBytes, n*pageBytes) {
			c.away |= run
			r.nAway += n
			freedBytes += int64(n) * pageBytes
		}
	}
	r.cut[home] = c
	return freedBytes
}

// takePages takes neighbouring pages of a chunk that is cut into pieces, and cuts another
// chunk if it has to.
func (r *region) takePages(pages int, roomBytes int64) (home int32, first int, ok bool) {
	best := int32(-1)
	for home, c := range r.cut { // the lowest that fits: no order of the map shows
		if (best < 0 || home < best) && runOfClear(c.taken, pages) >= 0 {
			best = home
		}
	}
	if best < 0 {
		if best, ok = r.take(roomBytes); !ok {
			return 0, 0, false
		}
		r.cut[best] = cut{}
	}
	c := r.cut[best]
	first = runOfClear(c.taken, pages)
	mask := pageMask(first, pages)
	r.nAway -= bits.OnesCount64(c.away & mask)
	r.cut[best] = cut{taken: c.taken | mask, away: c.away &^ mask}
	r.giveBack(r.residentBytes() - roomBytes)
	return best, first, true
}

// putPages gives pages of a chunk back to the region. The chunk is whole again when all are
// free.
func (r *region) putPages(home int32, pages uint64) {
	c := r.cut[home]
	c.taken &^= pages
	if c.taken != 0 {
		r.cut[home] = c
		return
	}
	delete(r.cut, home)
	r.put(home)
	if c.away != 0 {
		r.nAway -= bits.OnesCount64(c.away)
		r.discard(int(home)) // a part of it is not resident: now nothing is
	}
}

// runOfClear returns the first place of n neighbouring clear bits; -1: there is none.
func runOfClear(word uint64, n int) int {
	free := ^word
	for i := 1; i < n && free != 0; i++ {
		free &= ^word >> i
	}
	if free == 0 || n > 64 {
		return -1
	}
	return bits.TrailingZeros64(free)
}

// bitmap is a set of small numbers.
type bitmap []uint64

func newBitmap(n int) bitmap    { return make(bitmap, (n+63)/64) }
func (m bitmap) has(i int) bool { return m[i/64]>>(i%64)&1 != 0 }
func (m bitmap) set(i int)      { m[i/64] |= 1 << (i % 64) }
func (m bitmap) clear(i int)    { m[i/64] &^= 1 << (i % 64) }

// any reports whether a bit of from:to is set. The ranges are short, so it goes bit by bit.
func (m bitmap) any(from, to int) bool {
	for i := from; i < to; i++ {
		if m.has(i) {
			return true
		}
	}
	return false
}

// firstClear returns the first number that is not in m and, unless within is nil, is in
// within; -1: there is none.
func (m bitmap) firstClear(within bitmap) int {
	for w, word := range m {
		free := ^word
		if within != nil {
			free &= within[w]
		}
		if free != 0 {
			return w*64 + bits.TrailingZeros64(free)
		}
	}
	return -1
}

const (
	// keptMax mappings are kept at most: as many as a few tasks free and take in turn.
	keptMax = 8

	// keptLeast: shorter mappings are not kept.
	keptLeast = 16 * ChunkBytes
)

// keeping holds mappings that were freed, resident as they are, for the next Big: touching
// new memory takes longer than sorting what is put there. They count among bigBytes, are
// charged to no lease, and are unmapped as soon as there is no room for them. It is used
// under the lock of the budget.
type keeping struct {
	maps  []freed // shortest first
	bytes int64   // resident
}

// freed is a mapping of which the first bytes are resident.
type freed struct {
	data     []byte
	resident int64
}

// take returns a mapping of at least bytes and less than twice that; nil: there is none.
// Nothing of it beyond bytes is resident.
func (k *keeping) take(bytes int64) (data []byte, resident int64) {
	i := slices.IndexFunc(k.maps, func(m freed) bool { return int64(len(m.data)) >= bytes })
	if i < 0 || int64(len(k.maps[i].data)) >= 2*bytes {
		return nil, 0
	}
	m := k.maps[i]
	k.maps = slices.Delete(k.maps, i, i+1)
	k.bytes -= m.resident
	if m.resident > bytes {
		discardMemory(m.data[bytes:m.resident])
	}
	return m.data, m.resident
}

// keep takes data over and returns what has to be unmapped instead: data itself if it is
// short, or the shortest mapping if there are too many; its data is nil if nothing has to
// be.
func (k *keeping) keep(data []byte, resident int64) (rest freed) {
	m := freed{data, resident}
	if len(data) < keptLeast {
		return m
	}
	invariant.Mangle(data[:poisonBytes])
	i, _ := slices.BinarySearchFunc(k.maps, len(data), func(m freed, n int) int { return len(m.data) - n })
	k.maps = slices.Insert(k.maps, i, m)
	k.bytes += resident
	if len(k.maps) <= keptMax {
		return freed{}
	}
	return k.shortest()
}

// shortest takes out the shortest mapping.
func (k *keeping) shortest() freed {
	m := k.maps[0]
	k.maps = slices.Delete(k.maps, 0, 1)
	k.bytes -= m.resident
	return m
}

// dropKeptLocked unmaps kept memory until bytes more than now can be resident, or until
// nothing is kept.
func (b *Budget) dropKeptLocked(bytes int64) {
	for b.mu.kept.bytes > 0 && b.mu.bigBytes+b.mu.region.residentBytes()+bytes > b.limitBytes {
		m := b.mu.kept.shortest()
		b.mu.bigBytes -= m.resident
		unmapMemory(m.data)
	}
}
