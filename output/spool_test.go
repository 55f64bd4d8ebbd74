package output

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
)

// kit is a memory budget and a directory of temporary files. Both must be clean when the test
// ends.
type spoolKit struct {
	memory *membudget.Budget
	temp   *disk.TempRoot
}

func newSpoolKit(t testing.TB, memoryBytes int64) *spoolKit {
	t.Helper()
	memory, err := membudget.New(memoryBytes)
	must(t, err)
	dir := t.TempDir()
	w := &spoolKit{memory: memory, temp: disk.NewTempRoot([]string{dir}, 0)}
	t.Cleanup(func() {
		if left := memory.Leased(); left != 0 {
			t.Errorf("%d bytes are still leased", left)
		}
		must(t, errors.Join(w.temp.Close(), memory.Close()))
		if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
			t.Errorf("temp files left: %v, %v", left, err)
		}
	})
	return w
}

func (w *spoolKit) spool() *Spool {
	return NewSpool(w.memory, func() (*disk.TempFile, error) { return w.temp.Create("spool-*") })
}

func TestWhatFitsInMemoryNeverTouchesTheDisk(t *testing.T) {
	w := newSpoolKit(t, 4<<20)
	s := NewSpool(w.memory, func() (*disk.TempFile, error) { return nil, errors.New("the disk was touched") })
	defer s.Release()
	for range 30 {
		if _, err := s.Write(make([]byte, 100_000)); err != nil {
			t.Fatal(err)
		}
	}
	must(t, s.Seal())
	if onDisk(s) || s.Bytes() != 3_000_000 {
		t.Errorf("on disk %v, %d bytes", onDisk(s), s.Bytes())
	}
}

func TestALittleTextTakesALittleMemory(t *testing.T) {
	w := newSpoolKit(t, 1<<20)
	var spools []*Spool
	for range 100 {
		s := w.spool()
		s.Write([]byte("x"))
		spools = append(spools, s)
		defer s.Release()
	}
	if leased := w.memory.Leased(); leased > 100*leastPieceBytes {
		t.Errorf("%d bytes for 100 bytes of text", leased)
	}
	for _, s := range spools {
		if onDisk(s) {
			t.Fatal("on disk")
		}
	}
}

// A spool returns the text that was written, to readers of any kind, whatever was evicted when.
func TestASpoolGivesBackWhatWasWritten(t *testing.T) {
	w := newSpoolKit(t, 1<<20)
	rapid.Check(t, func(rt *rapid.T) {
		s := w.spool()
		defer s.Release()
		var want []byte
		for range rapid.IntRange(0, 10).Draw(rt, "writes") {
			p := partText(len(want), rapid.OneOf(rapid.IntRange(0, 50), rapid.IntRange(0, 300_000)).Draw(rt, "bytes"))
			if _, err := s.Write(p); err != nil {
				rt.Fatal(err)
			}
			want = append(want, p...)
			if rapid.IntRange(0, 9).Draw(rt, "evict") == 0 {
				if _, err := s.Evict(); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if rapid.Bool().Draw(rt, "before seal") {
			checkSpool(rt, s, want)
		}
		if err := s.Seal(); err != nil {
			rt.Fatal(err)
		}
		r := s.NewReader()
		defer r.Close()
		cut := rapid.IntRange(0, len(want)).Draw(rt, "cut")
		got := make([]byte, cut)
		if _, err := io.ReadFull(r, got); err != nil && cut > 0 {
			rt.Fatal(err)
		}
		if rapid.Bool().Draw(rt, "evict while reading") {
			if _, err := s.Evict(); err != nil {
				rt.Fatal(err)
			}
		}
		rest, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(append(got, rest...), want) {
			rt.Fatalf("Read: %v, or differs", err)
		}
		if n, err := r.ReadAt(got, int64(len(want)-cut)); n != cut || err != nil && cut > 0 && !errors.Is(err, io.EOF) || !bytes.Equal(got, want[len(want)-cut:]) {
			rt.Fatalf("ReadAt: %d, %v, or differs", n, err)
		}
		checkSpool(rt, s, want)
	})
}

func checkSpool(rt *rapid.T, s *Spool, want []byte) {
	var out bytes.Buffer
	if n, err := s.WriteTo(&out); err != nil || n != int64(len(want)) || !bytes.Equal(out.Bytes(), want) {
		rt.Fatalf("WriteTo: %d, %v, or differs", n, err)
	}
}

func TestAnEvictedSpoolHoldsNeitherMemoryNorADescriptor(t *testing.T) {
	w := newSpoolKit(t, 1<<20)
	lock, err := w.temp.Create("first-*") // the lock of the directory takes a descriptor too
	must(t, err)
	must(t, lock.Close())
	s := w.spool()
	defer s.Release()
	s.Write(make([]byte, 500_000))
	must(t, s.Seal())
	before := descriptors(t)
	freed, err := s.Evict()
	if err != nil || freed < 500_000 || w.memory.Leased() != 0 || !onDisk(s) {
		t.Errorf("freed %d, %v; %d still leased", freed, err, w.memory.Leased())
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if freed, err := s.Evict(); freed != 0 || err != nil {
		t.Errorf("again: %d, %v", freed, err)
	}
}

func TestWhoWaitsForMemoryGetsThatOfASpool(t *testing.T) {
	w := newSpoolKit(t, 1<<20)
	s := w.spool()
	defer s.Release()
	s.Write(make([]byte, 900_000))
	must(t, s.Seal())
	lease, err := w.memory.Reserve(t.Context(), 1<<20)
	must(t, err)
	lease.Close()
}

func TestAFullTempDiskFailsTheSpoolAndKeepsWhatIsInMemory(t *testing.T) {
	w := newSpoolKit(t, 1<<20)
	root := disk.NewTempRoot([]string{t.TempDir()}, 50_000)
	defer root.Close()
	s := NewSpool(w.memory, func() (*disk.TempFile, error) { return root.Create("spool-*") })
	defer s.Release()
	text := partText(1, 100_000)
	s.Write(text)
	if _, err := s.Evict(); err == nil {
		t.Error("evicted to a full disk")
	}
	var out bytes.Buffer
	if _, err := s.WriteTo(&out); err != nil || !bytes.Equal(out.Bytes(), text) {
		t.Errorf("what was in memory: %v", err)
	}
	if _, err := s.Write(make([]byte, 2<<20)); err == nil {
		t.Error("wrote to a full disk")
	}
	if err := s.Seal(); err == nil {
		t.Error("the error is forgotten")
	}
}

func TestWithoutATempDirectoryWhatDoesNotFitIsAnError(t *testing.T) {
	w := newSpoolKit(t, 1<<20)
	s := NewSpool(w.memory, nil)
	defer s.Release()
	if _, err := s.Write(make([]byte, 2<<20)); !errors.Is(err, membudget.ErrNoRoom) {
		t.Errorf("got %v", err)
	}
}

func TestReleaseFromElsewhereAtAnyMoment(t *testing.T) {
	w := newSpoolKit(t, 1<<20)
	for round := range 50 {
		s := w.spool()
		var group sync.WaitGroup
		group.Go(func() {
			for range 20 {
				if _, err := s.Write(make([]byte, 50_000)); err != nil {
					return
				}
			}
			s.Seal()
			s.WriteTo(io.Discard)
		})
		group.Go(func() {
			for range round {
				s.Evict()
			}
			s.Release()
		})
		group.Wait()
		s.Release()
		if _, err := s.Write([]byte("x")); err == nil {
			t.Fatal("written after the release")
		}
		if left := w.memory.Leased(); left != 0 {
			t.Fatalf("%d bytes are still leased", left)
		}
	}
}

// TestEachCallInEachState also shows, in a checked build, that no call returns to an earlier
// state.
func TestEachCallInEachState(t *testing.T) {
	enter := map[spoolState]func(*Spool) error{
		writing:  func(*Spool) error { return nil },
		sealed:   (*Spool).Seal,
		released: func(s *Spool) error { s.Release(); return nil },
	}
	for from, reach := range enter {
		for _, next := range enter {
			w := newSpoolKit(t, 4<<20)
			s := w.spool()
			_, err := s.Write([]byte("text"))
			must(t, errors.Join(err, reach(s)))
			must(t, next(s))
			if s.mu.state < from {
				t.Errorf("a spool that was %v is %v", from, s.mu.state)
			}
			if _, err := s.Write([]byte("x")); (err == nil) != (s.mu.state == writing) {
				t.Errorf("written while %v: %v", s.mu.state, err)
			}
			if _, err := s.WriteTo(io.Discard); (err == nil) != (s.mu.state != released) {
				t.Errorf("read while %v: %v", s.mu.state, err)
			}
			s.Release()
		}
	}
}

// releasing is a writer that releases the spool from which it gets text.
type releasing struct {
	spool *Spool
	got   []byte
}

func (w *releasing) Write(p []byte) (int, error) {
	w.spool.Release()
	if freed, err := w.spool.Evict(); freed != 0 || err != nil {
		return 0, errors.New("text was evicted while it was passed on")
	}
	w.got = append(w.got, p...)
	return len(p), nil
}

func TestTextThatIsPassedOnIsFreedAfterThat(t *testing.T) {
	w := newSpoolKit(t, 4<<20)
	s := w.spool()
	want := partText(1, 1<<20)
	_, err := s.Write(want)
	must(t, errors.Join(err, s.Seal()))
	to := &releasing{spool: s}
	_, err = s.WriteTo(to)
	must(t, err)
	if !bytes.Equal(to.got, want) {
		t.Error("the text that was passed on is wrong")
	}
	if left := w.memory.Leased(); left != 0 {
		t.Errorf("%d bytes are still leased", left)
	}
}

func onDisk(s *Spool) bool { return s.mu.file != nil }
