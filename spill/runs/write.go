package runs

import "mrlocal/spill/record"

// WriteSorted writes partitions 0 to parts-1 of sorted slices to the segment
// that w has begun. combine, where it is not nil, reads each partition from the
// Merger and adds what it makes of it to w. It returns the first error of
// combine; w keeps its own.
func WriteSorted(w *Writer, a *record.Arena, slices []record.Slice, parts int, combine func(*Merger) error) error {
	var m Merger
	for p := range parts {
		m.OverSlices(a, slices, p)
		switch {
		case combine != nil:
			if err := combine(&m); err != nil {
				return err
			}
		// One slice needs no merge.
		case len(slices) == 1:
			record.Walk(a, slices[0].Part(p), func(key, value []byte) bool {
				w.Add(key, value)
				return true
			})
		default:
			for m.Next() {
				w.Add(m.Key, m.Value)
			}
		}
		w.EndPart()
	}
	return nil
}

// OverSlices makes m merge partition p of slices that lie in memory. Equal keys
// come in the order of the slices.
func (m *Merger) OverSlices(a *record.Arena, slices []record.Slice, p int) {
	m.tree.cursors = m.tree.cursors[:0]
	for _, s := range slices {
		if e := s.Part(p); len(e) > 0 {
			m.tree.cursors = append(m.tree.cursors, cursor{entries: e, arena: a})
		}
	}
	m.reset()
}
