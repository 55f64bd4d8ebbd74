package spill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"mrlocal/internal/membudget"
	"mrlocal/shuffle"
)

// Any byte of a temporary file may be damaged. The merge then returns the right records, or an
// error that names the output.
func TestDamageIsFoundAndNamesTheMapOutput(t *testing.T) {
	for _, codec := range []shuffle.Codec{shuffle.None, shuffle.S2, shuffle.Zstd} {
		k := newKit(t, 32<<20)
		o, done := k.options(8 << 20)
		o.Codec = codec
		b, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3000 {
			b.Emit(fmt.Append(nil, i%700), fmt.Append(nil, "value ", i))
		}
		b.Emit([]byte("large"), bytes.Repeat([]byte("0123456789"), 20_000))
		out, err := b.Close()
		if err != nil {
			t.Fatal(err)
		}
		done()
		outs := []*shuffle.MapOutput{out}
		want := k.read(outs, 0, nil)
		if _, err := out.Evict(); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(k.dir, "*", "spill-*"))
		if len(files) != 1 {
			t.Fatalf("%d files, want one", len(files))
		}
		path := files[0]
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 6))
		found := 0
		for i := range 300 {
			damaged := bytes.Clone(whole)
			at := r.IntN(len(whole))
			if i < 64 {
				at = i // the magic and the first header
			}
			damaged[at] ^= 1 << r.IntN(8)
			if i%50 == 49 {
				damaged = damaged[:at]
			}
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := k.tryRead(outs)
			var corrupt *shuffle.CorruptError
			switch {
			case err == nil:
				same(t, fmt.Sprint(codec, ", byte ", at), got, want)
			case errors.As(err, &corrupt) && corrupt.Output == out:
				found++
			default:
				t.Fatalf("%v, byte %d: %v", codec, at, err)
			}
		}
		if found < 200 {
			t.Errorf("%v: only %d of 300 damages found", codec, found)
		}
		os.Remove(path)
		if _, err := k.tryRead(outs); err == nil {
			t.Error("a file that is gone was read")
		}
		out.Release()
	}
}

func (k *kit) tryRead(outs []*shuffle.MapOutput) (got []pair, err error) {
	l := k.mergeLease(outs)
	defer l.Close()
	m, err := shuffle.NewMerge(context.Background(), shuffle.MergeOptions{Inputs: outs, Lease: l})
	if err != nil {
		return nil, err
	}
	for m.Next() {
		got = append(got, pair{string(m.Key()), string(m.Value())})
	}
	return got, m.Close()
}

// startMerge spills the records that emit emits, and opens a merge of them. The caller releases
// the three results.
func (k *kit) startMerge(floorBytes int64, emit func(*Buffer)) (*shuffle.MapOutput, *shuffle.Merge, *membudget.Lease) {
	k.t.Helper()
	o, done := k.options(floorBytes)
	b, err := NewBuffer(o)
	if err != nil {
		k.t.Fatal(err)
	}
	emit(b)
	out, err := b.Close()
	if err != nil {
		k.t.Fatal(err)
	}
	done()
	l := k.lease(2 << 20)
	m, err := shuffle.NewMerge(context.Background(), shuffle.MergeOptions{Inputs: []*shuffle.MapOutput{out}, Lease: l})
	if err != nil {
		k.t.Fatal(err)
	}
	return out, m, l
}

func TestReleaseWaitsForMergesThatRead(t *testing.T) {
	k := newKit(t, 32<<20)
	out, m, l := k.startMerge(8<<20, func(b *Buffer) {
		for i := range 1000 {
			b.Emit(fmt.Append(nil, i), nil)
		}
	})
	out.Release()
	n := 0
	for m.Next() {
		n++
	}
	if err := m.Close(); err != nil || n != 1000 {
		t.Errorf("%d records, %v", n, err)
	}
	l.Close()
	if _, err := k.tryRead([]*shuffle.MapOutput{out}); err == nil {
		t.Error("an output was read after its release")
	}
}
