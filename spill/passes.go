package spill

import (
	"errors"
	"fmt"
)

// passes merges runs on disk into longer ones until there are no more than
// fanIn. As Hadoop's Merger does, the first pass takes just so many that all
// later ones take fanIn, and each takes the fewest bytes it can; but only
// neighbours, because equal keys have to keep the order of their runs. Runs in
// memory that lie between go along.
func (m *Merge) passes(onDisk, fanIn int) error {
	if onDisk <= fanIn {
		return nil
	}
	room, err := m.chunk(0)
	if err != nil {
		return err
	}
	w, err := newSegmentWriter(room.Data, m.o.Codec)
	if err != nil {
		return err
	}
	defer w.close()
	for onDisk > fanIn {
		if m.o.Killed != nil && m.o.Killed() {
			return ErrKilled
		}
		take := firstPass(onDisk, fanIn)
		from, to := m.lightest(take)
		if err := m.pass(w, from, to); err != nil {
			return err
		}
		onDisk -= take - 1
	}
	m.chunks = m.chunks[:len(m.chunks)-1]
	m.o.Lease.Free(room)
	return nil
}

// firstPass is how many of n runs the next pass merges, so that the passes
// after it are full.
func firstPass(n, fanIn int) int {
	if rest := (n - 1) % (fanIn - 1); rest > 0 {
		return rest + 1
	}
	return fanIn
}

// lightest finds the neighbouring runs, take of them on disk, of fewest bytes.
func (m *Merge) lightest(take int) (from, to int) {
	var disk []int
	for i, r := range m.runs {
		if r.file != nil {
			disk = append(disk, i)
		}
	}
	sum, least := int64(0), int64(-1)
	for i, at := range disk {
		sum += m.runs[at].index.stored
		if i >= take {
			sum -= m.runs[disk[i-take]].index.stored
		}
		if i >= take-1 && (least < 0 || sum < least) {
			least, from, to = sum, disk[i-take+1], at+1
		}
	}
	return from, to
}

// pass merges the runs from up to to into one.
func (m *Merge) pass(w *segmentWriter, from, to int) error {
	file, err := openToAppend(&m.file, m.o.CreateTemp)
	if err != nil {
		return fmt.Errorf("merge pass: %w", err)
	}
	var g merger
	m.over(&g, m.runs[from:to])
	w.begin(file, m.file.bytes, nil)
	for n := 1; g.next(); n++ {
		w.add(g.key, g.value)
		if n%pollEmits == 0 && m.o.Killed != nil && m.o.Killed() {
			g.tree.err = ErrKilled
			break
		}
	}
	for i := range g.tree.cursors {
		if d := g.tree.cursors[i].disk; d != nil {
			d.drop()
		}
	}
	w.endPart()
	_, end, err := w.end()
	err = errors.Join(g.tree.err, m.shared.err, err, file.Close())
	if err != nil {
		return fmt.Errorf("merge pass: %w", err)
	}
	index, err := parseIndexEntry(w.index[:indexBytes])
	if err != nil {
		return err
	}
	m.file.bytes = end
	m.runs = append(append(m.runs[:from:from], run{file: &m.file, index: index}), m.runs[to:]...)
	m.o.Notify(Event{Kind: MergePass, Bytes: w.totalBytes, Records: w.totalRecords})
	return nil
}
