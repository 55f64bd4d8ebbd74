package runs

import "mrlocal/spill/record"

// leaveMemory makes the merge read evicted runs from disk, from where it is in them, and
// gives up their memory. A run for which there is no buffer stays in memory.
func (m *Merge) leaveMemory() {
	for i := range m.pinned {
		p := &m.pinned[i]
		if p.memory == nil {
			continue
		}
		// The flag is one for all runs of the merge, so each run is asked.
		s, moved := p.out.movedTo(p.memory)
		if !moved || !m.moveRun(p, s) {
			continue
		}
		p.out.leave(p.memory, &m.in.evicted)
		p.memory = nil
	}
}

// moveRun replaces the cursors over the slices of a run in memory by one cursor over s, its
// segment. The slices of a run are neighbours and were merged into the segment in that
// order. So the records that the merge has already taken from them are the first ones of the
// segment.
func (m *Merge) moveRun(p *pinned, s segment) bool {
	t := &m.in.tree
	first, taken, left := -1, int64(0), int64(0)
	for i := range t.cursors {
		c := &t.cursors[i]
		if c.arena != &p.memory.Arena {
			continue
		}
		if first < 0 {
			first = i
		}
		if !c.done {
			left += int64(len(c.entries))
		}
	}
	if left == 0 {
		return true
	}
	for _, slice := range p.memory.Slices {
		taken += int64(len(slice.Part(m.o.Part)))
	}
	taken -= left
	buf, ok := m.oneBuffer()
	if !ok {
		return false
	}
	file, err := m.shared.files.get(&p.out.mu.file)
	if err == nil {
		var index indexEntry
		if index, err = readIndex(file, s, m.o.Part); err == nil {
			d := &diskCursor{shared: &m.shared, file: &p.out.mu.file, at: index.offset, end: index.offset + index.stored, buf: buf}
			err = m.standIn(first, d, taken, &p.memory.Arena)
		} else {
			err = p.out.mu.file.corrupt(s.index, err)
		}
	}
	if err != nil {
		t.err, t.live = err, 0
	}
	return err == nil
}

// standIn puts d, moved behind taken records, in the place of all cursors over the arena a,
// the first of which is cursor first.
func (m *Merge) standIn(first int, d *diskCursor, taken int64, a *record.Arena) error {
	if err := d.skip(taken); err != nil {
		return err
	}
	t := &m.in.tree
	for i := range t.cursors {
		if c := &t.cursors[i]; c.arena == a {
			// Cursors keep their places in the tree, because places decide ties.
			*c = cursor{done: true}
		}
	}
	c := &t.cursors[first]
	c.disk, c.done = d, false
	if _, err := c.advance(); err != nil {
		return err
	}
	// The keys are the same as before, but the prefixes in the nodes may be of cursors that are
	// done now.
	t.rebuild()
	return nil
}

// oneBuffer takes the memory for one more disk cursor. It reports false where there is none.
func (m *Merge) oneBuffer() ([]byte, bool) {
	if m.shared.staging == nil {
		staging, err := m.chunk(1)
		if err != nil {
			return nil, false
		}
		m.shared.useMemory(staging.Data)
	}
	if len(m.spare) < bufferBytes {
		c, err := m.chunk(1)
		if err != nil {
			return nil, false
		}
		m.spare = c.Data
	}
	buf := m.spare[:bufferBytes:bufferBytes]
	m.spare = m.spare[bufferBytes:]
	return buf, true
}
