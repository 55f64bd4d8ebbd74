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
// hot: a turn for some hundred words.
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
// hot: every word passes.
func (b *Buffer) sumSpans(data []byte, keys []jobs.Span, value []byte) {
	if b.counted -= len(keys); b.counted <= 0 {
		b.counted = pollEmits
		b.alive()
	}
	if len(b.load.table.Directory) == 0 && !b.startTable() {
		return
	}
	delta := binary.LittleEndian.Uint64(value)
	bytes, long := 0, 0
	p := &b.sums
	for i := range keys {
		bytes += int(keys[i].Len)
	}
	b.load.records += int64(len(keys))
	b.stats.Bytes += int64(bytes + 8*len(keys))
	for rest := keys; len(rest) > 0; {
		if len(b.load.table.Directory) == 0 && !b.startTable() {
			return
		}
		used, n, longs := b.load.table.Pack(p.pending[p.filling][p.n:], data, rest, delta, p.long[long:])
		rest = rest[used:]
		long += longs
		if p.n += n; p.n == pendingSums {
			b.turnSums()
		} else if len(rest) > 0 { // so near the end of the data that it is packed with care
			long = b.sumLast(data, rest[0], delta, long)
			rest = rest[1:]
		}
	}
	b.sumLong(data, p.long[:long], value)
}

// sumLast adds delta for a key near the end of data.
func (b *Buffer) sumLast(data []byte, s jobs.Span, delta uint64, long int) int {
	p := &b.sums
	if s.Len > run.InlineKey {
		p.long[long] = s
		return long + 1
	}
	x, w := run.Words(data[s.Off : s.Off+s.Len : s.Off+s.Len])
	p.pending[p.filling][p.n] = run.Sum{A: x, B: w, Meta: run.SlotMetaOf(int(s.Len), run.HashWords(x, w)), Delta: delta}
	if p.n++; p.n == pendingSums {
		b.turnSums()
	}
	return long
}

// sumLong adds value for keys longer than a slot holds: all slots are asked for,
// then all keys of those are looked at, and then they are compared and added.
//
// hot: every word longer than a slot holds.
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
// hot: every word passes.
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

// turnSums adds the other half, which is filled next. What was filled has been
// asked for meanwhile.
func (b *Buffer) turnSums() {
	p := &b.sums
	other := p.pending[1-p.filling][:p.asked]
	p.filling, p.asked, p.n = 1-p.filling, p.n, 0
	b.addSums(other)
}

// addPending adds all that is pending.
func (b *Buffer) addPending() {
	b.turnSums()
	b.turnSums()
}

func (b *Buffer) addSums(pending []run.Sum) {
	for {
		pending = pending[b.load.table.AddSums(pending):]
		if len(pending) == 0 || len(b.load.table.Directory) == 0 && !b.startTable() {
			return
		}
		p := &pending[0]
		binary.LittleEndian.PutUint64(b.deltaRoom[:], p.Delta)
		b.insert(nil, p.A, p.B, p.Meta, b.deltaRoom[:])
		pending = pending[1:]
	}
}
