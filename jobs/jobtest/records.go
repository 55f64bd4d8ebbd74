package jobtest

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"mrlocal/jobs"
)

// pair is a record between map and reduce.
type pair struct{ key, value []byte }

// collector is the Emitter of a mapper in a job with reducers. taken is the block of the last Take since
// Map was called: pairs point into it, so it must not change.
type collector struct {
	job   jobs.Job
	of    *attempt
	pairs []pair
	taken loan
}

// Emit implements jobs.Emitter. It copies both slices, because the mapper may reuse them.
func (c *collector) Emit(key, value []byte) {
	if !c.of.emits() {
		return
	}
	c.pairs = append(c.pairs, pair{append([]byte{}, key...), append([]byte{}, value...)})
}

// EmitSpans implements jobs.SpanEmitter.
func (c *collector) EmitSpans(data []byte, keys []jobs.Span, value []byte) {
	for _, s := range keys {
		c.Emit(data[s.Off:s.Off+s.Len], value)
	}
}

// Take implements jobs.Taker. Each record becomes a pair without a copy.
func (c *collector) Take(b jobs.Block, records []jobs.Span) {
	if !c.of.emits() {
		return
	}
	c.taken = loan{bytes: b.Data, own: slices.Clone(b.Data)}
	for _, s := range records {
		record := b.Data[s.Off : s.Off+s.Len]
		if c.job.AppendKey == nil {
			c.pairs = append(c.pairs, pair{record, nil})
			continue
		}
		c.pairs = append(c.pairs, pair{c.job.AppendKey([]byte{}, record), record})
	}
}

// text is the Emitter of a reducer, or of a mapper in a job without reducers.
type text struct {
	w  *writer
	of *attempt
}

// WriteRaw implements jobs.RawWriter. It counts no records.
func (t text) WriteRaw(p []byte) {
	if t.of.emits() {
		t.w.Write(p)
	}
}

// Emit implements jobs.Emitter.
func (t text) Emit(key, value []byte) {
	if t.of.emits() {
		t.w.emit(key, value)
	}
}

// writer is text of records.
type writer struct {
	bytes.Buffer
	delim   byte
	bare    bool
	whole   bool // no record may have delim in it
	pairs   bool // records are pairs (jobs.Block.Pairs)
	records int64
	err     error
}

// emit writes key, TAB, value and delimiter.
func (w *writer) emit(key, value []byte) {
	if w.records++; w.whole && bytes.IndexByte(slices.Concat(key, value), w.delim) >= 0 {
		w.err = fmt.Errorf("a record has a delimiter (%q) in it", w.delim)
	}
	if w.pairs {
		w.Write(jobs.AppendPair(nil, key, value))
		return
	}
	w.Write(key)
	if !w.bare && len(key) > 0 && len(value) > 0 {
		w.WriteByte('\t')
	}
	w.Write(value)
	if !w.bare {
		w.WriteByte(w.delim)
	}
}

// reduce reduces a partition.
func (a *attempt) reduce(job jobs.Job, pairs []pair, w *writer) error {
	out := text{w, a}
	r := job.NewReducer()
	a.begin(r)
	if job.NewFolder != nil {
		sortPairs(pairs)
		pairs = folded(job.NewFolder(), pairs, a.way)
	}
	reduce := func(key []byte, vs *jobs.Values) error { return r.Reduce(key, vs, out) }
	if each, ok := r.(jobs.RecordReducer); ok && job.GroupBytes == nil {
		reduce = func(key []byte, vs *jobs.Values) error { return jobs.ReduceRecords(each, key, vs, out) }
	}
	if err := a.eachGroup(pairs, job.GroupBytes, reduce); err != nil {
		return err
	}
	if f, ok := r.(jobs.Flusher); ok {
		return f.Flush(out)
	}
	return nil
}

// sortPairs sorts by key. It is stable, because the values of a key come in the order in which they
// were emitted.
func sortPairs(pairs []pair) {
	slices.SortStableFunc(pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
}

// eachGroup sorts pairs and calls do for each group, with the key of its first pair. prefix is
// jobs.Job.GroupBytes; nil: a group is a key.
func (a *attempt) eachGroup(pairs []pair, prefix func(key []byte) int, do func(key []byte, vs *jobs.Values) error) error {
	sortPairs(pairs)
	name := func(p pair) []byte {
		if prefix == nil {
			return p.key
		}
		return jobs.GroupOf(p.key, prefix)
	}
	seen := map[string]bool{}
	for len(pairs) > 0 {
		n, first := 1, name(pairs[0])
		for n < len(pairs) && bytes.Equal(name(pairs[n]), first) {
			n++
		}
		if seen[string(first)] {
			return fmt.Errorf("GroupBytes: the group %q comes back", first)
		}
		seen[string(first)] = true
		var vs jobs.Values
		values, key := &group{pairs: pairs[:n], whole: prefix != nil, of: a.shared}, a.lend(pairs[0].key)
		vs.Reset(values)
		err := do(key.bytes, &vs)
		vs.Reset(nil) // user code may have kept it
		values.back()
		if err = cmp.Or(err, values.err, key.back("a key")); err != nil {
			return err
		}
		pairs = pairs[n:]
	}
	return nil
}

// folded returns one pair for each key of sorted pairs.
func folded(f jobs.Folder, pairs []pair, w way) (all []pair) {
	for len(pairs) > 0 {
		n := 1
		for n < len(pairs) && bytes.Equal(pairs[n].key, pairs[0].key) {
			n++
		}
		same := slices.Clone(pairs[:n])
		switch pairs = pairs[n:]; {
		case w == backwards:
			slices.Reverse(same)
		case w >= twice:
			rng := rand.New(rand.NewPCG(uint64(n), 0))
			rng.Shuffle(n, func(i, j int) { same[i], same[j] = same[j], same[i] })
			first := int(w-twice) % n // so that each way has another first value
			same = slices.Concat(same[first:], same[:first])
			for len(same) > 1 {
				parts := slices.Collect(slices.Chunk(same, 2+rng.IntN(2)))
				same = same[:0]
				for _, part := range parts {
					same = append(same, fold(f, part))
				}
			}
		}
		all = append(all, fold(f, same))
	}
	return all
}

// fold returns the pair of the folded values of pairs, which have one key.
func fold(f jobs.Folder, pairs []pair) pair {
	var acc []byte
	for _, p := range pairs {
		if acc = f.Fold(acc, p.value); acc == nil {
			acc = []byte{} // a nil accumulator is that of a new key
		}
	}
	return pair{pairs[0].key, acc}
}

// group is a jobs.Refiller with one value in each window. So it finds reducers that expect a
// whole group in one window.
type group struct {
	pairs      []pair
	whole      bool // the job has GroupBytes, so Values.Key is set
	of         *shared
	key, value loan // of the current window
	err        error
}

// Refill implements jobs.Refiller.
func (g *group) Refill(vs *jobs.Values) bool {
	if g.back(); len(g.pairs) == 0 {
		return false
	}
	g.key, g.value = g.of.lend(g.pairs[0].key), g.of.lend(g.pairs[0].value)
	if g.whole {
		vs.SetKey(g.key.bytes)
	}
	vs.Window(g.value.bytes, []jobs.Span{{Len: uint32(len(g.value.bytes))}})
	g.pairs = g.pairs[1:]
	return true
}

// back ends the loans of the current window.
func (g *group) back() {
	g.err = cmp.Or(g.err, g.key.back("a key"), g.value.back("a value"))
	g.key, g.value = loan{}, loan{}
}
