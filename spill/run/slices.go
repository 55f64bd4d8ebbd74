package run

// Slice is a sorted run of entries, cut into partitions: partition p is
// entries[ends[p-1]:ends[p]].
type Slice struct {
	Entries []Entry
	Ends    []int
}

func (s Slice) Part(p int) []Entry {
	if p == 0 {
		return s.Entries[:s.Ends[0]]
	}
	return s.Entries[s.Ends[p-1]:s.Ends[p]]
}

// WriteSorted writes sorted slices as one segment, through a combiner if there
// is one.
func WriteSorted(w *Writer, a *Arena, slices []Slice, parts int, combine func(*Merger) error) error {
	var m Merger
	for p := range parts {
		if len(slices) == 1 && combine == nil {
			writePart(w, a, slices[0].Part(p))
			w.EndPart()
			continue
		}
		m.OverSlices(a, slices, p)
		if combine != nil {
			if err := combine(&m); err != nil {
				return err
			}
		} else {
			for m.Next() {
				w.Add(m.Key, m.Value)
			}
		}
		w.EndPart()
	}
	return w.Err
}

// writePart writes one sorted slice.
func writePart(w *Writer, a *Arena, entries []Entry) {
	Walk(a, entries, func(key, value []byte) bool {
		w.Add(key, value)
		return true
	})
}

// Walk visits the records of entries, as long as visit says so. It looks at
// records some way ahead, so that their cache misses overlap: those of the
// slots of a table, and then those of keys that lie elsewhere.
//
// hot: once a record that leaves memory.
func Walk(a *Arena, entries []Entry, visit func(key, value []byte) bool) bool {
	touched := byte(0)
	for len(entries) > 0 {
		batch := entries[:min(len(entries), aheadRecords)]
		entries = entries[len(batch):]
		for _, e := range batch {
			touched += a.touch(e.Ref)
		}
		for _, e := range batch {
			if e.Ref&KindMask == CodeSlot {
				touched += a.touchSlot(e.Ref)
			}
		}
		for _, e := range batch {
			if !visit(a.Record(e.Ref)) {
				return false
			}
		}
	}
	a.touched = touched
	return true
}

// OverSlices makes m merge partition p of slices in memory.
func (m *Merger) OverSlices(a *Arena, slices []Slice, p int) {
	m.Tree.Cursors = m.Tree.Cursors[:0]
	for _, s := range slices {
		if e := s.Part(p); len(e) > 0 {
			m.Tree.Cursors = append(m.Tree.Cursors, Cursor{Entries: e, Arena: a})
		}
	}
	m.Reset()
}

// CopiedBytes is what the records of slices take when they are copied, and the
// longest of them.
func CopiedBytes(a *Arena, slices []Slice) (total, longest int) {
	for _, s := range slices {
		for i := range s.Entries {
			n := EmittedBytes(a.Record(s.Entries[i].Ref))
			total += n
			longest = max(longest, n)
		}
	}
	return total, longest
}
