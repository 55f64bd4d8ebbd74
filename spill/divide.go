package spill

import "mrlocal/spill/record"

// newDivider returns what divides the entries of a buffer whose records the
// reduces sort (Options.SortLate), and nil where this buffer has to sort them.
func (b *Buffer) newDivider() *record.Divider {
	if !b.o.SortLate || b.mode != sortMode || b.o.Combiner != nil || b.o.Parts > record.MostParts {
		return nil
	}
	if b.part == nil {
		return record.NewDivider(b.o.Parts, b.o.Cuts, nil)
	}
	return record.NewDivider(b.o.Parts, nil, b.sorting.partOf)
}

// divide divides the index chunks that are full, and at the end the last one,
// while the records that they stand for are in the cache.
func (b *Buffer) divide() {
	l := b.load
	for i := len(l.ends); i < len(l.full) && b.err == nil; i++ {
		// Divide needs as much scratch as a chunk has entries, which is what NewBuffer took.
		ends, err := b.divider.Divide(&l.arena, l.indexed(i), b.sorting.sorter.Scratch)
		if err != nil {
			b.fail(err)
			return
		}
		l.ends = append(l.ends, ends)
	}
}

// stopDividing is called when the load has to be sorted here after all. It
// gives divided entries the prefixes of whole keys; they only keep their new
// order. From then on the buffer sorts.
func (b *Buffer) stopDividing(l *load) {
	if b.divider == nil {
		return
	}
	for i, ends := range l.ends {
		b.divider.Restore(record.Slice{Entries: l.indexed(i), Ends: ends})
	}
	b.divider, l.ends = nil, nil
}

// keepDivided makes the load the output's run in memory, unsorted. It reports
// false where the load is so small that it is sorted and copied (shrunk), or
// where a part of the output is on disk.
func (b *Buffer) keepDivided(l *load) bool {
	if b.divider == nil || b.out.OnDisk() || l.heldBytes < b.o.lateLeastBytes || l.empty() || b.err != nil {
		return false
	}
	if b.divide(); b.err != nil {
		return false
	}
	slices := make([]record.Slice, len(l.full))
	for i, ends := range l.ends {
		slices[i] = record.Slice{Entries: l.indexed(i), Ends: ends}
	}
	b.adopt(l, slices, record.CountParts(&l.arena, slices, b.o.Parts), b.divider.Unsorted())
	return true
}
