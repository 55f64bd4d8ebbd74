// Package order keeps small ids in order. It has a Ranking by keys that change, a list
// of ids (IDs), and a Set that is read in the order of ids. Most operations take the
// logarithm of the size, and allocate only to grow. Ties are broken by id, so that
// decisions that depend on an order are the same in every run.
//
// Memory: each value owns its slices.
package order

import (
	"math/bits"
	"slices"
)

// Ranking keeps ids in the order of their keys, the least key first. If keys are equal,
// the smaller id comes first. A key is a copy of the numbers on which the order depends.
// When these change, the caller sets the key anew. The zero value with Less set is an
// empty ranking. Ids must not be negative.
type Ranking[K any] struct {
	Less func(a, b *K) bool // a strict weak order of keys

	heap  []ranked[K]
	place []int32 // by id: index in heap plus one; 0: absent

	// moving is the element that settle puts into the heap. It is a field, because Less gets its
	// address, and so a local variable would be allocated.
	moving ranked[K]
}

// ranked is an element of the heap: an id with the key that it was given.
type ranked[K any] struct {
	key K
	id  int32
}

// Len returns the number of ids.
func (r *Ranking[K]) Len() int { return len(r.heap) }

// First returns the id with the least key; ok is false if the ranking is empty.
func (r *Ranking[K]) First() (id int32, ok bool) {
	if len(r.heap) == 0 {
		return -1, false
	}
	return r.heap[0].id, true
}

// Firsts appends to dst the n ids with the least keys, in order, or all if there are
// fewer.
func (r *Ranking[K]) Firsts(dst []int32, n int) []int32 {
	if n <= 0 {
		return dst
	}
	r.Each(func(id int32) bool {
		dst = append(dst, id)
		n--
		return n > 0
	})
	return dst
}

// Each calls visit with the ids in order until visit returns false. It takes the ids out, and puts
// them back at the end, so visit must not use the ranking.
func (r *Ranking[K]) Each(visit func(id int32) bool) {
	var out []ranked[K]
	for more := true; more && len(r.heap) > 0; {
		out = append(out, r.heap[0])
		more = visit(r.heap[0].id)
		r.Remove(out[len(out)-1].id)
	}
	for _, e := range out {
		r.Set(e.id, e.key)
	}
}

// Set adds id with the given key, or changes its key.
func (r *Ranking[K]) Set(id int32, key K) {
	for int(id) >= len(r.place) {
		r.place = append(r.place, 0)
	}
	i := int(r.place[id]) - 1
	if i < 0 {
		i = len(r.heap)
		r.heap = append(r.heap, ranked[K]{})
	}
	r.moving = ranked[K]{key, id}
	r.sift(i)
}

// Keep sets the key of id if wanted is true, and else takes id out.
func (r *Ranking[K]) Keep(id int32, wanted bool, key K) {
	if wanted {
		r.Set(id, key)
	} else {
		r.Remove(id)
	}
}

// Remove takes id out, if the ranking has it.
func (r *Ranking[K]) Remove(id int32) {
	if int(id) >= len(r.place) || r.place[id] == 0 {
		return
	}
	i := int(r.place[id]) - 1
	last := len(r.heap) - 1
	// The last element fills the gap, and may have to go up or down from there.
	r.moving = r.heap[last]
	r.heap = r.heap[:last]
	r.place[id] = 0
	if i < last {
		r.sift(i)
	}
}

// put writes an element to heap[i] and updates place. Only put writes elements.
func (r *Ranking[K]) put(i int, e *ranked[K]) {
	r.heap[i] = *e
	r.place[e.id] = int32(i + 1)
}

// less reports whether a comes before b. If their keys are equal, the smaller id comes first. It
// calls Less a second time only if the ids could decide.
func (r *Ranking[K]) less(a, b *ranked[K]) bool {
	return r.Less(&a.key, &b.key) || a.id < b.id && !r.Less(&b.key, &a.key)
}

// sift puts moving into the heap. heap[i] is free. sift moves the free place up or down until
// moving fits there.
func (r *Ranking[K]) sift(i int) {
	for i > 0 {
		up := (i - 1) / 2
		if !r.less(&r.moving, &r.heap[up]) {
			break
		}
		r.put(i, &r.heap[up])
		i = up
	}
	for {
		low := 2*i + 1
		if low >= len(r.heap) {
			break
		}
		if low+1 < len(r.heap) && r.less(&r.heap[low+1], &r.heap[low]) {
			low++
		}
		if !r.less(&r.heap[low], &r.moving) {
			break
		}
		r.put(i, &r.heap[low])
		i = low
	}
	r.put(i, &r.moving)
}

// IDs is a list of ids in ascending order. Callers may read the slice. Push and Remove move the ids behind.
type IDs[T ~int32] []T

// Push adds id.
func (l *IDs[T]) Push(id T) {
	at, _ := slices.BinarySearch(*l, id)
	*l = slices.Insert(*l, at, id)
}

// Remove takes id out, if the list has it.
func (l *IDs[T]) Remove(id T) {
	if at, found := slices.BinarySearch(*l, id); found {
		*l = slices.Delete(*l, at, at+1)
	}
}

// Set is a set of ids, one bit each. The zero value is empty.
type Set[T ~int32] []uint64

// Put adds t if in is true, and else takes it out.
func (s *Set[T]) Put(t T, in bool) {
	for int(t)/64 >= len(*s) {
		*s = append(*s, 0)
	}
	if in {
		(*s)[t/64] |= 1 << (t % 64)
	} else {
		(*s)[t/64] &^= 1 << (t % 64)
	}
}

// Has reports whether t is in the set.
func (s *Set[T]) Has(t T) bool { return int(t)/64 < len(*s) && (*s)[t/64]>>(t%64)&1 == 1 }

// Next returns the first id from t on that is in the set, or -1 if there is none.
func (s Set[T]) Next(t T) T {
	w := int(t) / 64
	if w >= len(s) {
		return -1
	}
	word := s[w] & (^uint64(0) << (t % 64)) // without the ids before t in the same word
	for word == 0 {
		if w++; w >= len(s) {
			return -1
		}
		word = s[w]
	}
	return T(w*64 + bits.TrailingZeros64(word))
}
