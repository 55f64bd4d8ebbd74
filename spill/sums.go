package spill

import (
	"encoding/binary"

	"mrlocal/jobs"
	"mrlocal/spill/run"
)

// pendingSums is how many sums are asked for ahead at once. A slot of a table
// larger than the caches arrives while as many others are collected or added.
const pendingSums = 64

// spansAtOnce is how many keys are looked at before the long ones among them
// are added.
const spansAtOnce = 512

// sums are short keys and what is to be added for them: one half is being
// filled; the slots of the other were asked for.
type sums struct {
	pending [2][pendingSums]run.Sum
	filling int
	n       int // in the half being filled
	asked   int // in the other

	long [spansAtOnce]jobs.Span
}

// EmitSpans is Emit for every key, with one value.
//
// hot:
func (b *Buffer) EmitSpans(data []byte, keys []jobs.Span, value []byte) {
	if b.mode == foldMode {
		for len(keys) > 0 {
			n := min(len(keys), pendingSums)
			b.foldSpans(data, keys[:n], value)
			keys = keys[n:]
		}
		return
	}
	if b.mode != sumMode || len(value) != 8 {
		for _, s := range keys {
			b.Emit(data[s.Off:s.Off+s.Len:s.Off+s.Len], value)
		}
		return
	}
	for len(keys) > 0 {
		n := min(len(keys), spansAtOnce)
		b.sumSpans(data, keys[:n], value)
		keys = keys[n:]
	}
}

// sumSpans adds value for keys of data. Long ones are added last, together.
//
// hot:
func (b *Buffer) sumSpans(data []byte, keys []jobs.Span, value []byte) {
	if b.counted -= len(keys); b.counted <= 0 {
		b.counted = pollEmits
		b.alive()
	}
	if len(b.load.table.Directory) == 0 && !b.startTable() {
		return
	}
	delta := binary.LittleEndian.Uint64(value)
	p := &b.sums
	pending, n := &p.pending[p.filling], p.n
	bytes, long := 0, p.long[:0]
	for _, s := range keys {
		bytes += int(s.Len)
		if s.Len > run.InlineKey {
			long = append(long, s)
			continue
		}
		a, w := run.WordsAt(data, s.Off, s.Len)
		pending[n&(pendingSums-1)] = run.Sum{A: a, B: w, Meta: run.SlotMetaOf(int(s.Len), run.HashWords(a, w)), Delta: delta}
		if n++; n == pendingSums {
			p.n = n
			b.turnSums()
			pending, n = &p.pending[p.filling], p.n
		}
	}
	p.n = n
	b.load.records += int64(len(keys))
	b.stats.Bytes += int64(bytes + 8*len(keys))
	b.sumLong(data, long, value)
}

// sumLong adds value for keys longer than a slot holds: all slots are asked for,
// then all keys of those are looked at, and then they are compared and added.
//
// hot:
func (b *Buffer) sumLong(data []byte, keys []jobs.Span, value []byte) {
	for len(keys) > 0 {
		var room [pendingSums]run.Sum
		sums := room[:min(len(keys), pendingSums)]
		for i, s := range keys[:len(sums)] {
			key := data[s.Off : s.Off+s.Len]
			sums[i] = run.Sum{A: binary.LittleEndian.Uint64(key), Meta: run.SlotMetaOf(len(key), run.HashLong(key))}
		}
		t := &b.load.table
		t.Ahead(sums)
		if len(t.Directory) > 0 {
			for i := range sums {
				b.touched += t.ChunkOf(uint32(sums[i].Meta)).LookLong(&b.load.arena, &sums[i])
			}
		}
		for i, s := range keys[:len(sums)] {
			if len(b.load.table.Directory) == 0 && !b.startTable() {
				return
			}
			b.foldLong(data[s.Off:s.Off+s.Len:s.Off+s.Len], value, sums[i].Meta)
		}
		keys = keys[len(sums):]
	}
}

// foldSpans folds value into the accumulators of up to pendingSums keys of
// data: as sumLong does, it asks for all slots first, and then looks at all
// accumulators.
//
// hot:
func (b *Buffer) foldSpans(data []byte, keys []jobs.Span, value []byte) {
	if b.counted -= len(keys); b.counted <= 0 {
		b.counted = pollEmits
		b.alive()
	}
	if len(b.load.table.Directory) == 0 && !b.startTable() {
		return
	}
	var room [pendingSums]run.Sum
	found := room[:len(keys)]
	bytes := 0
	for i, s := range keys {
		bytes += int(s.Len) + len(value)
		if s.Len > run.InlineKey {
			key := data[s.Off : s.Off+s.Len]
			found[i] = run.Sum{A: binary.LittleEndian.Uint64(key), Meta: run.SlotMetaOf(len(key), run.HashLong(key))}
			continue
		}
		a, w := run.WordsAt(data, s.Off, s.Len)
		found[i] = run.Sum{A: a, B: w, Meta: run.SlotMetaOf(int(s.Len), run.HashWords(a, w))}
	}
	b.load.records += int64(len(keys))
	b.stats.Bytes += int64(bytes)
	t := &b.load.table
	t.Ahead(found)
	for i := range found {
		b.touched += t.ChunkOf(uint32(found[i].Meta)).LookAcc(&b.load.arena, &found[i])
	}
	for i, s := range keys {
		if len(b.load.table.Directory) == 0 && !b.startTable() {
			return
		}
		key := data[s.Off : s.Off+s.Len : s.Off+s.Len]
		if s.Len > run.InlineKey {
			b.foldLong(key, value, found[i].Meta)
		} else {
			b.foldShort(key, value, &found[i])
		}
	}
}

// turnSums asks for the slots of what was filled and adds the other half,
// which is filled next.
func (b *Buffer) turnSums() {
	p := &b.sums
	b.load.table.Ahead(p.pending[p.filling][:p.n])
	other := p.pending[1-p.filling][:p.asked]
	p.filling, p.asked, p.n = 1-p.filling, p.n, 0
	b.addSums(other)
}

// addPending adds all that is pending.
func (b *Buffer) addPending() {
	b.turnSums()
	b.turnSums()
}

// hot:
func (b *Buffer) addSums(pending []run.Sum) {
	for i := range pending {
		p := &pending[i]
		if len(b.load.table.Directory) == 0 && !b.startTable() {
			return
		}
		if !b.load.table.AddSum(p) {
			binary.LittleEndian.PutUint64(b.deltaRoom[:], p.Delta)
			b.insert(nil, p.A, p.B, p.Meta, b.deltaRoom[:])
		}
	}
}
