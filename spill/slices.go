package spill

// sortedSlice is a sorted run of entries, cut into partitions: partition p is
// entries[ends[p-1]:ends[p]].
type sortedSlice struct {
	entries []entry
	ends    []int
}

func (s sortedSlice) part(p int) []entry {
	if p == 0 {
		return s.entries[:s.ends[0]]
	}
	return s.entries[s.ends[p-1]:s.ends[p]]
}

// writeSorted writes sorted slices as one segment, through a combiner if there
// is one.
func writeSorted(w *segmentWriter, a *arena, slices []sortedSlice, parts int, combine func(*merger) error) error {
	var m merger
	for p := range parts {
		if len(slices) == 1 && combine == nil {
			writePart(w, a, slices[0].part(p))
			w.endPart()
			continue
		}
		m.overSlices(a, slices, p)
		if combine != nil {
			if err := combine(&m); err != nil {
				return err
			}
		} else {
			for m.next() {
				w.add(m.key, m.value)
			}
		}
		w.endPart()
	}
	return w.err
}

// writePart writes one sorted slice.
//
// hot:
func writePart(w *segmentWriter, a *arena, entries []entry) {
	for _, e := range entries {
		w.add(a.record(e.ref))
	}
}

// overSlices makes m merge partition p of slices in memory.
func (m *merger) overSlices(a *arena, slices []sortedSlice, p int) {
	m.tree.cursors = m.tree.cursors[:0]
	for _, s := range slices {
		if e := s.part(p); len(e) > 0 {
			m.tree.cursors = append(m.tree.cursors, cursor{entries: e, arena: a})
		}
	}
	m.reset()
}
