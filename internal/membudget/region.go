package membudget

import "math/bits"

// pageBytes is the unit of pieces and of what is charged; a chunk has as many
// pages as a word has bits.
const pageBytes = ChunkBytes / 64

// groupChunks chunks are one huge page, which becomes resident as a whole.
const groupChunks = (2 << 20) / ChunkBytes

// region hands out chunks of one mapping. It holds an eighth more than the
// limit, because chunks cut into pieces are rarely full. It has no lock.
type region struct {
	memory   regionMemory
	chunks   int
	taken    bitmap
	touched  bitmap // resident, taken or not
	nTouched int
	cut      map[int32]uint64 // chunks cut into pieces: their taken pages
}

func (r *region) open(limitBytes int64) error {
	r.chunks = int(limitBytes/ChunkBytes) + int(limitBytes/ChunkBytes)/8 + groupChunks
	r.taken, r.touched = newBitmap(r.chunks), newBitmap(r.chunks)
	r.cut = map[int32]uint64{}
	return r.memory.open(r.chunks)
}

func (r *region) close() error            { return r.memory.close() }
func (r *region) chunk(home int32) []byte { return r.memory.chunk(home) }
func (r *region) residentBytes() int64    { return int64(r.nTouched) * ChunkBytes }
func pageMask(first, pages int) uint64    { return (1<<pages - 1) << first }

// take prefers what is resident already, then the lowest address.
func (r *region) take() (home int32, ok bool) {
	i := r.taken.firstClear(r.touched)
	if i < 0 {
		if i = r.taken.firstClear(nil); i < 0 || i >= r.chunks {
			return 0, false
		}
		r.touch(i)
	}
	r.taken.set(i)
	return int32(i), true
}

// touch notes what becomes resident with chunk i: the rest of its huge page
// too, when nothing of it was.
func (r *region) touch(i int) {
	group := i - i%groupChunks
	last := min(group+groupChunks, r.chunks)
	if r.memory.hugePages() && !r.touched.any(group, last) {
		for j := group; j < last; j++ {
			r.touched.set(j)
		}
		r.nTouched += last - group
		return
	}
	r.touched.set(i)
	r.nTouched++
}

func (r *region) put(home int32) { r.taken.clear(int(home)) }

// giveBack returns at least bytes of resident, free memory to the system, or
// all there is.
func (r *region) giveBack(bytes int64) {
	for i := r.chunks - 1; i >= 0 && bytes > 0; i-- {
		if r.touched.has(i) && !r.taken.has(i) {
			r.memory.discard(int32(i))
			r.touched.clear(i)
			r.nTouched--
			bytes -= ChunkBytes
		}
	}
}

// takePages takes neighbouring pages of a chunk that is cut into pieces.
func (r *region) takePages(pages int) (home int32, first int, ok bool) {
	best := int32(-1)
	for home, taken := range r.cut { // the lowest that fits: no order of the map shows
		if (best < 0 || home < best) && runOfClear(taken, pages) >= 0 {
			best = home
		}
	}
	if best < 0 {
		if best, ok = r.take(); !ok {
			return 0, 0, false
		}
		r.cut[best] = 0
	}
	first = runOfClear(r.cut[best], pages)
	r.cut[best] |= pageMask(first, pages)
	return best, first, true
}

func (r *region) putPages(home int32, pages uint64) {
	r.cut[home] &^= pages
	if r.cut[home] == 0 {
		delete(r.cut, home)
		r.put(home)
	}
}

// runOfClear is the first place of n neighbouring clear bits, or -1.
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

// bitmap is a set of small numbers with a hint where the first clear one is.
type bitmap []uint64

func newBitmap(n int) bitmap    { return make(bitmap, (n+63)/64) }
func (m bitmap) has(i int) bool { return m[i/64]>>(i%64)&1 != 0 }
func (m bitmap) set(i int)      { m[i/64] |= 1 << (i % 64) }
func (m bitmap) clear(i int)    { m[i/64] &^= 1 << (i % 64) }

func (m bitmap) any(from, to int) bool {
	for i := from; i < to; i++ {
		if m.has(i) {
			return true
		}
	}
	return false
}

// firstClear is the first number not in m, and in within unless that is nil;
// -1 when there is none.
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
