package runs

import (
	"errors"
	"fmt"

	"mrlocal/spill/rule"
)

// passes merges runs on disk into longer ones until no more than fanIn are left. As in
// Hadoop's Merger, the first pass takes so many runs that all later ones can take fanIn, and
// each pass takes the runs of the fewest bytes. Unlike there, a pass takes only neighbours,
// because equal keys have to keep the order of their runs. Runs in memory between them are
// merged too.
func (m *Merge) passes(onDisk, fanIn int) error {
	if onDisk <= fanIn {
		return nil
	}
	room, err := m.chunk(0)
	if err != nil {
		return err
	}
	w, err := NewWriter(room.Data, m.o.Codec)
	if err != nil {
		return err
	}
	defer w.Close()
	for onDisk > fanIn {
		if m.o.Killed != nil && m.o.Killed() {
			return ErrKilled
		}
		take := rule.FirstPass(onDisk, fanIn)
		// Runs in memory between them count in from and to, but not in take.
		from, to := m.lightest(take)
		if err := m.pass(w, from, to); err != nil {
			return err
		}
		onDisk -= take - 1
	}
	// The chunk of the Writer was taken last.
	m.chunks = m.chunks[:len(m.chunks)-1]
	m.o.Lease.Free(room)
	return nil
}

// lightest returns the neighbouring runs, from from to to-1 and take of them on disk, that
// have the fewest bytes on disk.
func (m *Merge) lightest(take int) (from, to int) {
	var at []int
	var bytes []int64
	for i, r := range m.runs {
		if r.file != nil {
			at, bytes = append(at, i), append(bytes, r.index.stored)
		}
	}
	first := rule.Lightest(bytes, take)
	return at[first], at[first+take-1] + 1
}

// pass merges the runs from from to to-1 into one segment of the merge's file.
func (m *Merge) pass(w *Writer, from, to int) error {
	var g Merger
	m.over(&g, m.runs[from:to])
	_, err := m.file.appendSegment(w, m.o.CreateTemp, nil, func(w *Writer) error {
		for n := 1; g.Next(); n++ {
			w.Add(g.Key, g.Value)
			if n%pollRecords == 0 && m.o.Killed != nil && m.o.Killed() {
				g.tree.err = ErrKilled
				break
			}
		}
		for i := range g.tree.cursors {
			if d := g.tree.cursors[i].disk; d != nil {
				d.drop()
			}
		}
		w.EndPart()
		return errors.Join(g.tree.err, m.shared.err)
	})
	if err != nil {
		return fmt.Errorf("merge pass: %w", err)
	}
	index, err := parseIndexEntry(w.index[:indexBytes])
	if err != nil {
		return err
	}
	m.runs = append(append(m.runs[:from:from], mergeRun{file: &m.file, index: index}), m.runs[to:]...)
	m.o.Notify(Event{Kind: MergePass, Bytes: w.TotalBytes, Records: w.TotalRecords})
	return nil
}
