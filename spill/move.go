package spill

import "mrlocal/spill/run"

// leaveMemory makes the merge read evicted runs from disk, from where it is in
// them, and gives their memory up. A run for which there is no buffer stays.
func (m *Merge) leaveMemory() {
	for i := range m.pinned {
		p := &m.pinned[i]
		if p.memory == nil {
			continue
		}
		s, moved := p.out.movedTo(p.memory)
		if !moved || !m.moveRun(p, s) {
			continue
		}
		p.out.leave(p.memory, &m.in.Evicted)
		p.memory = nil
	}
}

// moveRun replaces the cursors over a run's slices by one over its segment.
// The slices of a run are neighbours, in order, and so the records that the
// merge took from them are just the first ones of the segment.
func (m *Merge) moveRun(p *pinned, s run.Segment) bool {
	t := &m.in.Tree
	first, taken, left := -1, int64(0), int64(0)
	for i := range t.Cursors {
		c := &t.Cursors[i]
		if c.Arena != &p.memory.arena {
			continue
		}
		if first < 0 {
			first = i
		}
		if !c.Done {
			left += int64(len(c.Entries))
		}
	}
	if left == 0 {
		return true
	}
	for _, slice := range p.memory.slices {
		taken += int64(len(slice.Part(m.o.Part)))
	}
	taken -= left
	buf, ok := m.oneBuffer()
	if !ok {
		return false
	}
	file, err := m.shared.Files.Get(&p.out.mu.file)
	if err == nil {
		var index run.IndexEntry
		if index, err = run.ReadIndex(file, s, m.o.Part); err == nil {
			d := &run.DiskCursor{Shared: &m.shared, File: &p.out.mu.file, At: index.Offset, End: index.Offset + index.Stored, Buf: buf}
			err = m.standIn(first, d, taken, &p.memory.arena)
		} else {
			err = p.out.mu.file.Corrupt(s.Index, err)
		}
	}
	if err != nil {
		t.Err, t.Live = err, 0
	}
	return err == nil
}

// standIn puts d, moved behind taken records, in the place of the cursors over
// an arena, the first of which is at first.
func (m *Merge) standIn(first int, d *run.DiskCursor, taken int64, a *run.Arena) error {
	if err := d.Skip(taken); err != nil {
		return err
	}
	t := &m.in.Tree
	for i := range t.Cursors {
		if c := &t.Cursors[i]; c.Arena == a {
			*c = run.Cursor{Done: true}
		}
	}
	c := &t.Cursors[first]
	c.Disk, c.Done = d, false
	if _, err := c.Advance(); err != nil {
		return err
	}
	t.Rebuild()
	return nil
}

// oneBuffer is the memory of one more disk cursor.
func (m *Merge) oneBuffer() ([]byte, bool) {
	if m.shared.Staging == nil {
		staging, err := m.chunk(1)
		if err != nil {
			return nil, false
		}
		m.shared.UseMemory(staging.Data)
	}
	if len(m.spare) < run.BufferBytes {
		c, err := m.chunk(1)
		if err != nil {
			return nil, false
		}
		m.spare = c.Data
	}
	buf := m.spare[:run.BufferBytes:run.BufferBytes]
	m.spare = m.spare[run.BufferBytes:]
	return buf, true
}
