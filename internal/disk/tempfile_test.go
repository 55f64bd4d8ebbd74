package disk

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// content reads a file back.
func content(t *testing.T, f *TempFile) []byte {
	t.Helper()
	in, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheBoundHoldsForAllFilesTogether(t *testing.T) {
	r := NewTempRoot([]string{t.TempDir(), t.TempDir()}, 1000)
	defer r.Close()
	a, b := create(t, r), create(t, r)
	for _, f := range []*TempFile{a, b} {
		if _, err := f.Write(make([]byte, 500)); err != nil {
			t.Fatal(err)
		}
	}
	const limit = "more than the 1000 bytes of Options.MaxTempBytes"
	if _, err := a.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), limit) {
		t.Errorf("byte 1001: %v", err)
	}
	if got := len(content(t, a)); got != 500 {
		t.Errorf("%d bytes were written", got)
	}
	if err := b.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write(make([]byte, 500)); err != nil {
		t.Errorf("after the other file was removed: %v", err)
	}
	// A segment that failed is written over, and counts once.
	if err := errors.Join(a.Close(), a.Append(100)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write(make([]byte, 900)); err != nil {
		t.Errorf("written over: %v", err)
	}
	if _, err := a.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), limit) {
		t.Errorf("byte 1001 again: %v", err)
	}
}

// If a directory gets full, a file that is being written moves to another one. A reader that has the
// old file open can still read it.
func TestAFullDirectoryIsLeftForAnother(t *testing.T) {
	small, large := mountSmall(t), filepath.Join(t.TempDir(), "large")
	r := NewTempRoot([]string{small, large}, 0)
	defer r.Close()
	f := create(t, r) // the large one is not there yet
	if err := os.Mkdir(large, 0o700); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(f.Name(), small) {
		t.Fatalf("the file is %s", f.Name())
	}
	var want []byte
	var early io.ReadCloser
	for i := range 40 { // 4 MiB into 1 MiB
		piece := bytes.Repeat([]byte{byte('a' + i%26)}, 100<<10)
		want = append(want, piece...)
		if n, err := f.Write(piece); err != nil || n != len(piece) {
			t.Fatalf("piece %d: %d bytes, %v", i, n, err)
		}
		if i == 3 {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			early = in
			defer early.Close()
		}
	}
	if !strings.HasPrefix(f.Name(), large) {
		t.Errorf("the file is still %s", f.Name())
	}
	if got := content(t, f); !bytes.Equal(got, want) {
		t.Errorf("%d bytes differ from the %d written", len(got), len(want))
	}
	old, err := io.ReadAll(early)
	if err != nil || len(old) < 400<<10 || !bytes.HasPrefix(want, old) {
		t.Errorf("a reader of the old place: %d bytes, %v", len(old), err)
	}
	// New files go where there is room.
	if g := create(t, r); !strings.HasPrefix(g.Name(), large) {
		t.Errorf("the next file is %s", g.Name())
	}
	if left, _ := filepath.Glob(small + "/*/spill-*"); len(left) > 0 {
		t.Errorf("left in the full directory: %q", left)
	}
	// Where all are full, the error is that of the system.
	only := NewTempRoot([]string{small}, 0)
	defer only.Close()
	g := create(t, only)
	if _, err := g.Write(make([]byte, 4<<20)); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("no room anywhere: %v", err)
	}
}

func TestFilesAreSharedOutByFreeSpace(t *testing.T) {
	small, large := mountSmall(t), t.TempDir()
	r := NewTempRoot([]string{small, large}, 0)
	defer r.Close()
	for range 5 {
		if f := create(t, r); !strings.HasPrefix(f.Name(), large) {
			t.Errorf("%s lies where hardly anything is free", f.Name())
		}
	}
	free, known := NewTempRoot([]string{small, small}, 0).RoomBytes()
	if !known || free > 1<<20 {
		t.Errorf("a directory named twice has %d bytes, %v", free, known)
	}
	if bytes, known := NewTempRoot([]string{large}, 5000).RoomBytes(); !known || bytes != 5000 {
		t.Errorf("the bound: %d, %v", bytes, known)
	}
}

func TestRemoveMayComeAtAnyTime(t *testing.T) {
	r := NewTempRoot([]string{t.TempDir()}, 100)
	defer r.Close()
	f := create(t, r)
	if _, err := f.Write(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Remove: %v", err)
	}
}
