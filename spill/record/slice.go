package record

// LookAhead is how many records a loop touches before it reads them, so that
// their cache misses overlap.
const LookAhead = 32

// Slice is a sorted list of entries, divided by partition: partition p is
// Entries[Ends[p-1]:Ends[p]]. The entries lie in memory of the maker of the
// Slice.
type Slice struct {
	Entries []Entry
	Ends    []int
}

// Part returns the entries of partition p, without a copy.
func (s Slice) Part(p int) []Entry {
	if p == 0 {
		return s.Entries[:s.Ends[0]]
	}
	return s.Entries[s.Ends[p-1]:s.Ends[p]]
}

// Walk calls visit with the key and value of each entry, in order, until visit
// returns false. It reports whether visit always returned true. Key and value
// lie in the arena.
//
// It touches LookAhead records before it visits them: first the records, among
// them the slots of a table, and then the keys that lie outside of their slots.
//
// hot: once a record that leaves memory.
func Walk(a *Arena, entries []Entry, visit func(key, value []byte) bool) bool {
	touched := byte(0)
	for len(entries) > 0 {
		batch := entries[:min(len(entries), LookAhead)]
		entries = entries[len(batch):]
		for _, e := range batch {
			touched += a.Touch(e.Ref)
		}
		for _, e := range batch {
			if e.Ref&KindMask == CodeSlot {
				touched += a.touchSlotKey(e.Ref)
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

// CopiedBytes returns how many bytes the records of slices take when they are
// written with PutEmitted, all together, and the longest of them.
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

// PartStat counts what one partition holds.
type PartStat struct{ Records, KeyBytes, ValueBytes int64 }

// Count adds one record.
func (s *PartStat) Count(key, value []byte) {
	s.Records++
	s.KeyBytes += int64(len(key))
	s.ValueBytes += int64(len(value))
}

// Add adds the counts of t.
func (s *PartStat) Add(t PartStat) {
	s.Records += t.Records
	s.KeyBytes += t.KeyBytes
	s.ValueBytes += t.ValueBytes
}

// CountParts returns the counts of each of the parts partitions of slices.
func CountParts(a *Arena, slices []Slice, parts int) []PartStat {
	stats := make([]PartStat, parts)
	for p := range stats {
		for _, slice := range slices {
			stats[p].countAll(a, slice.Part(p))
		}
	}
	return stats
}

// countAll adds the records of entries. The ref of a taken record holds its
// length; only the other records are read, after LookAhead of them were
// touched.
//
// hot: once a record of a run.
func (s *PartStat) countAll(a *Arena, entries []Entry) {
	s.Records += int64(len(entries))
	touched := byte(0)
	for len(entries) > 0 {
		batch := entries[:min(len(entries), LookAhead)]
		entries = entries[len(batch):]
		for i := range batch {
			if ref := batch[i].Ref; ref&CodeMask >= CodeLongTaken {
				touched += a.Touch(ref)
			}
		}
		for i := range batch {
			if code := batch[i].Ref & CodeMask; code < CodeLongTaken {
				s.KeyBytes += int64(code)
				continue
			}
			key, value := a.Record(batch[i].Ref)
			s.KeyBytes += int64(len(key))
			s.ValueBytes += int64(len(value))
		}
	}
	a.touched = touched
}
