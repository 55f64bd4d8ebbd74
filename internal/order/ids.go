package order

// IDs is a min-heap of ids: the first element is the least.
type IDs[T ~int32] []T

// Push adds id.
func (h *IDs[T]) Push(id T) {
	*h = append(*h, id)
	h.fix(len(*h) - 1)
}

func (h *IDs[T]) removeAt(i int) {
	s := *h
	last := len(s) - 1
	moved := s[last]
	*h = s[:last]
	if i < last {
		s[i] = moved
		h.fix(i)
	}
}

// fix moves element i up or down to its place in the heap.
func (h *IDs[T]) fix(i int) {
	s := *h
	for i > 0 && s[(i-1)/2] > s[i] {
		s[(i-1)/2], s[i] = s[i], s[(i-1)/2]
		i = (i - 1) / 2
	}
	for {
		low := 2*i + 1
		if low >= len(s) {
			return
		}
		if low+1 < len(s) && s[low+1] < s[low] {
			low++
		}
		if s[i] <= s[low] {
			return
		}
		s[i], s[low] = s[low], s[i]
		i = low
	}
}

// Remove takes id out, if the heap has it. It searches from the front, where callers
// mostly find it.
func (h *IDs[T]) Remove(id T) {
	for i, x := range *h {
		if x == id {
			h.removeAt(i)
			return
		}
	}
}
