// Package order keeps small ids in order: a Ranking by keys that change, a heap
// of bare ids, and a set that is walked in id order. All cost at most the
// logarithm of what they hold, allocate only to grow, and break ties by id, so
// that whoever decides by them decides the same each time.
//
// Memory: each value owns its slices. Neighbours: package slots and its policies
// keep slots, trackers, pools and jobs in them.
package order

// Ranking is the ordering a policy keeps: ids by key, the least first. A key
// is a copy of what the order rests on, so it stays valid while the live counts
// move; the policy sets it again for what View.Changed reports. Ties go to the
// smaller id. The zero value with Less set is empty.
type Ranking[K any] struct {
	Less func(a, b *K) bool // a strict order of keys

	heap  []ranked[K]
	place []int32 // by id: place in heap + 1; 0: absent
}

type ranked[K any] struct {
	key K
	id  int32
}

// Len is how many ids are ranked.
func (r *Ranking[K]) Len() int { return len(r.heap) }

// First is the least id.
func (r *Ranking[K]) First() (id int32, ok bool) {
	if len(r.heap) == 0 {
		return -1, false
	}
	return r.heap[0].id, true
}

// Firsts appends the n least ids to dst, in order. They are taken out and put
// back.
func (r *Ranking[K]) Firsts(dst []int32, n int) []int32 {
	var out []ranked[K]
	for range min(n, len(r.heap)) {
		out = append(out, r.heap[0])
		r.Remove(r.heap[0].id)
	}
	for _, e := range out {
		dst = append(dst, e.id)
		r.Set(e.id, e.key)
	}
	return dst
}

// Set adds id, or changes its key.
func (r *Ranking[K]) Set(id int32, key K) {
	for int(id) >= len(r.place) {
		r.place = append(r.place, 0)
	}
	i := int(r.place[id]) - 1
	if i < 0 {
		i = len(r.heap)
		r.heap = append(r.heap, ranked[K]{})
	}
	r.put(i, ranked[K]{key, id})
	r.fix(i)
}

// Remove takes id out, if it is there.
func (r *Ranking[K]) Remove(id int32) {
	if int(id) >= len(r.place) || r.place[id] == 0 {
		return
	}
	i := int(r.place[id]) - 1
	last := len(r.heap) - 1
	moved := r.heap[last]
	r.heap = r.heap[:last]
	r.place[id] = 0
	if i < last {
		r.put(i, moved)
		r.fix(i)
	}
}

func (r *Ranking[K]) put(i int, e ranked[K]) {
	r.heap[i] = e
	r.place[e.id] = int32(i + 1)
}

func (r *Ranking[K]) less(i, j int) bool {
	a, b := &r.heap[i], &r.heap[j]
	if r.Less(&a.key, &b.key) {
		return true
	}
	return a.id < b.id && !r.Less(&b.key, &a.key)
}

func (r *Ranking[K]) swap(i, j int) {
	a, b := r.heap[i], r.heap[j]
	r.put(i, b)
	r.put(j, a)
}

// fix moves element i to where it belongs.
func (r *Ranking[K]) fix(i int) {
	for i > 0 && r.less(i, (i-1)/2) {
		r.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		low := 2*i + 1
		if low >= len(r.heap) {
			return
		}
		if low+1 < len(r.heap) && r.less(low+1, low) {
			low++
		}
		if !r.less(low, i) {
			return
		}
		r.swap(i, low)
		i = low
	}
}
