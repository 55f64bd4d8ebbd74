package membudget

import (
	"math/bits"
	"slices"

	"mrlocal/internal/invariant"
)

// pageBytes is the unit of pieces and of Bigs. A chunk has as many pages as a word has bits.
const pageBytes = ChunkBytes / 64

// A group is the chunks of one huge page of 2 MiB, which becomes resident as a whole.
const (
	groupChunks    = (2 << 20) / ChunkBytes
	hugeGroupBytes = groupChunks * ChunkBytes
)

// region is a mapping that is divided into chunks. It is an eighth longer than the limit, because
// chunks that are cut into pieces are rarely full. The lock of the budget guards it.
//
// Free chunks, and free pages of chunks that are cut into pieces, may be resident. They are given
// back to the system as soon as there is no room for them. A group gets a huge page only while
// there is room for the whole of it. When a part of the group is given back, the group changes to
// small pages. Otherwise the next write would make the whole group resident again.
type region struct {
	memory   regionMemory
	chunks   int           // number of chunks
	taken    bitmap        // chunks in use
	touched  bitmap        // resident chunks, in use or free
	nTouched int           // number of touched
	small    bitmap        // groups with small pages
	cut      map[int32]cut // chunks cut into pieces, by number
	nAway    int           // pages of cut chunks that are not resident
}

// cut is a chunk that is cut into pieces. Each word has a bit for each page: taken is in use, away
// is not resident.
type cut struct{ taken, away uint64 }

// open maps the chunks of limitBytes, an eighth more, and a group. That takes only address space:
// the limit is for resident memory.
func (r *region) open(limitBytes int64) error {
	r.chunks = int(limitBytes/ChunkBytes) + int(limitBytes/ChunkBytes)/8 + groupChunks
	r.taken, r.touched = newBitmap(r.chunks), newBitmap(r.chunks)
	r.small = newBitmap(r.chunks/groupChunks + 1)
	r.cut = map[int32]cut{}
	return r.memory.open(r.chunks)
}

// residentBytes counts pages of free chunks too.
func (r *region) residentBytes() int64 {
	return int64(r.nTouched)*ChunkBytes - int64(r.nAway)*pageBytes
}

// pageMask returns the bits of the given number of pages from first on.
func pageMask(first, pages int) uint64 { return (1<<pages - 1) << first }

// take returns a free chunk: one that is resident already, if there is one, else the one with the
// lowest address. roomBytes is how many bytes of the region may be resident.
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

// hasFree reports whether the next chunk of take is resident already.
func (r *region) hasFree() bool { return r.taken.firstClear(r.touched) >= 0 }

// touch counts chunk i as resident. If no chunk of its group was resident and there is room, the
// group gets a huge page, and all of it counts as resident.
func (r *region) touch(i int, roomBytes int64) {
	group := i - i%groupChunks
	last := min(group+groupChunks, r.chunks)
	if r.memory.hugePages() && !r.touched.any(group, last) {
		// The first group has small pages. A short run, such as a search in small files, needs a
		// chunk or two. It would wait until the system has cleared a huge page.
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
	r.taken.set(i) // so that giveBack does not give it back
	r.giveBack(r.residentBytes() - roomBytes)
}

// pageSize changes the group of chunk i to a huge page, or to small pages.
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

// giveBack returns at least bytes of resident, free memory to the system, or all there is.
// It returns whole chunks first, then free pages of chunks that are cut.
func (r *region) giveBack(bytes int64) {
	for i := r.chunks - 1; i >= 0 && bytes > 0; i-- {
		if r.touched.has(i) && !r.taken.has(i) {
			r.discard(i)
			bytes -= ChunkBytes
		}
	}
	for home, c := range r.cut { // the order does not matter: no result depends on it
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

// discardPages gives pages of a chunk that is cut back to the system. Pages that the system does
// not take back still count as resident.
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

// takePages takes neighbouring pages of a chunk that is cut into pieces. If none has enough, it
// cuts another chunk. first is the number of the first page in the chunk.
func (r *region) takePages(pages int, roomBytes int64) (home int32, first int, ok bool) {
	best := int32(-1)
	for home, c := range r.cut { // the lowest chunk that fits, whatever the order of the map
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
		r.discard(int(home)) // a chunk that is not cut is resident as a whole or not at all
	}
}

// runOfClear returns the first index of n neighbouring clear bits; -1: there is none. Bit i of free
// is set after the loop if bits i to i+n-1 of word are clear.
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

// any reports whether a bit from..to-1 is set. All of them lie in one word, as those of a group do.
func (m bitmap) any(from, to int) bool { return m[from/64]>>(from%64)&(1<<(to-from)-1) != 0 }

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
	// keptMax is the most mappings that are kept: a few tasks free and take this many in turn.
	keptMax = 8

	// keptLeast is the least length of a mapping that is kept.
	keptLeast = 16 * ChunkBytes
)

// keeping has mappings of Bigs that were freed, still resident, for the next Big. Making new memory
// resident takes longer than sorting the records that are put there. The mappings count in
// bigBytes, and belong to no lease. They are unmapped as soon as there is no room for them. The
// lock of the budget guards keeping.
type keeping struct {
	maps  []freed // shortest first
	bytes int64   // resident, of all maps
}

// freed is a mapping whose first bytes are resident.
type freed struct {
	data     []byte
	resident int64
}

// take returns a mapping of at least the given number of bytes and less than twice as many; nil: there is none.
// It gives resident memory of the mapping behind bytes back to the system. resident is the number
// of bytes that were resident before.
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

// keep takes a mapping over, and returns the mapping that the caller has to unmap. That is data
// itself if it is short, or the shortest one if there are too many. The result has nil data if none
// has to be unmapped.
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

// shortest removes the shortest mapping and returns it.
func (k *keeping) shortest() freed {
	m := k.maps[0]
	k.maps = slices.Delete(k.maps, 0, 1)
	k.bytes -= m.resident
	return m
}

// dropKeptLocked unmaps kept mappings until the given number of bytes more can be resident within the limit, or
// no mapping is kept.
func (b *Budget) dropKeptLocked(bytes int64) {
	for b.mu.kept.bytes > 0 && b.mu.bigBytes+b.mu.region.residentBytes()+bytes > b.limitBytes {
		m := b.mu.kept.shortest()
		b.mu.bigBytes -= m.resident
		unmapMemory(m.data)
	}
}
