package spill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"mrlocal/shuffle"
	"mrlocal/shuffle/rule"
)

// copied makes outs into copies, in the order of their indexes in commits. It returns them, and the
// events of their merges, and of copies that went straight to files.
func (k *kit) copied(outs []*shuffle.MapOutput, part int, merges rule.ReduceMerges, commits []int) (c *shuffle.Copies, passes []shuffle.Event) {
	k.t.Helper()
	c = shuffle.NewCopies(part, merges)
	l := k.lease(4 << 20)
	defer l.Close()
	o := shuffle.MergeOptions{Lease: l, CreateTemp: k.createTemp, Notify: func(e shuffle.Event) {
		if e.Kind == shuffle.MergePass || e.Kind == shuffle.SpillEnd {
			passes = append(passes, e)
		}
	}}
	add := func(err error) {
		if err != nil {
			k.t.Fatal(err)
		}
	}
	for _, i := range commits {
		add(c.Add(context.Background(), i, outs[i], o))
		add(c.Add(context.Background(), i, outs[i], o)) // has no effect
	}
	add(c.Flush(context.Background(), o))
	return c, passes
}

// outputs makes the outputs of maps. Each map emits about records small records, with equal keys
// among them. A map of 7 emits nothing, and one of 3 spills.
func (k *kit) outputs(r *rand.Rand, maps, records int) (outs []*shuffle.MapOutput) {
	k.t.Helper()
	for i := range maps {
		o, done := k.options(4 << 20)
		if i%3 == 0 {
			o.StartBytes = LeastBytes
		}
		b, err := NewBuffer(o)
		if err != nil {
			k.t.Fatal(err)
		}
		for n := range records + r.IntN(records) {
			if i%7 != 6 {
				b.Emit(fmt.Append(nil, "key", r.IntN(50)), fmt.Append(nil, i, " ", n))
			}
		}
		out, err := b.Close()
		if err != nil {
			k.t.Fatal(err)
		}
		outs = append(outs, out)
		done()
	}
	return outs
}

// TestCopiesHaveTheRecordsInTheOrderOfTheMaps copies outputs in a drawn order, with drawn
// thresholds. Equal keys stay in the order of their maps, whatever was merged while copying.
func TestCopiesHaveTheRecordsInTheOrderOfTheMaps(t *testing.T) {
	merged := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		k := newKit(t, 64<<20)
		outs := k.outputs(r, 1+r.IntN(40), 200)
		want := k.read(outs, 0, nil)
		c, passes := k.copied(outs, 0, rule.ReduceMerges{MemoryBytes: int64(r.IntN(40_000)), Segments: r.IntN(20), Factor: 2 + r.IntN(4)}, r.Perm(len(outs)))
		same(t, fmt.Sprint("seed ", seed), k.read(c.Outputs(), 0, nil), want)
		for _, e := range passes {
			if e.Runs > 1 {
				merged++
			}
		}
		c.Close()
		release(t, k, outs)
	}
	if merged < 20 {
		t.Errorf("%d merges of several copies", merged)
	}
}

// TestCopiesMergeAtTheThresholds compares the merges of real copies with those that the rule, and so
// the simulator, counts for as many segments of their size.
func TestCopiesMergeAtTheThresholds(t *testing.T) {
	const maps = 14
	for name, merges := range map[string]rule.ReduceMerges{
		"all fits":                      {MemoryBytes: 1 << 30, Factor: 3},
		"two thirds of the memory":      {MemoryBytes: 100_000, Factor: 3},
		"a quarter goes straight there": {MemoryBytes: 30_000, Factor: 3},
		"a number of segments":          {Segments: 3, Factor: 4},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, 64<<20)
			var outs []*shuffle.MapOutput
			for range maps {
				o, done := k.options(4 << 20)
				b, err := NewBuffer(o)
				if err != nil {
					t.Fatal(err)
				}
				for n := range 1000 {
					b.Emit(fmt.Appendf(nil, "%05d", n), []byte("value"))
				}
				out, err := b.Close()
				if err != nil {
					t.Fatal(err)
				}
				outs = append(outs, out)
				done()
			}
			var order []int
			for i := range maps {
				order = append(order, i)
			}
			c, passes := k.copied(outs, 0, merges, order)
			want := merges.Merge(maps, 10_000)
			direct := 0 // copies that went straight to files
			if !merges.ToMemory(10_000) {
				direct = maps
			}
			// The rule also counts the passes that leave Factor files for the last one, which the merge
			// of the reduce makes.
			files := len(c.Outputs())
			late := 0
			for n := files; n > merges.Factor; late++ {
				n -= rule.FirstPass(n, merges.Factor) - 1
			}
			spills := slices.DeleteFunc(slices.Clone(passes), func(e shuffle.Event) bool { return e.Kind == shuffle.MergePass })
			if got := len(passes) + late; len(spills) != direct || got != direct+want.InMemory+want.OnDisk {
				t.Errorf("%d merges and %d late ones of %d files, %d copies; want %d copies, %d merges in memory and %d of files", len(passes), late, files, len(spills), direct, want.InMemory, want.OnDisk)
			}
			c.Close()
			release(t, k, outs)
		})
	}
}
