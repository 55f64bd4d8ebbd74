package run

// PartStat is what a partition holds.
type PartStat struct{ Records, KeyBytes, ValueBytes int64 }

// Count adds one record.
func (s *PartStat) Count(key, value []byte) {
	s.Records++
	s.KeyBytes += int64(len(key))
	s.ValueBytes += int64(len(value))
}

// Add adds what another part of the partition holds.
func (s *PartStat) Add(t PartStat) {
	s.Records += t.Records
	s.KeyBytes += t.KeyBytes
	s.ValueBytes += t.ValueBytes
}

// CountAll adds the records of entries. It looks at those ahead that have to be
// looked at, so that their cache misses overlap.
//
// hot: once a record of a run.
func (s *PartStat) CountAll(a *Arena, entries []Entry) {
	s.Records += int64(len(entries))
	touched := byte(0)
	for len(entries) > 0 {
		batch := entries[:min(len(entries), aheadRecords)]
		entries = entries[len(batch):]
		for i := range batch {
			if ref := batch[i].Ref; ref&CodeMask >= CodeLongTaken {
				touched += a.touch(ref)
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
