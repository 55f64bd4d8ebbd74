package output

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func fifo(t *testing.T, w *kit) string {
	t.Helper()
	must(t, unix.Mkfifo(w.path("fifo"), 0o600))
	return w.path("fifo")
}

func TestAFIFOIsWrittenToItsReader(t *testing.T) {
	for _, text := range []string{"", "some text\n"} {
		w := newKit(t, 1<<20)
		path := fifo(t, w)
		got := make(chan string)
		go func() {
			f, err := os.Open(path)
			if err != nil {
				got <- err.Error()
				return
			}
			defer f.Close()
			data, _ := io.ReadAll(f)
			got <- string(data)
		}()
		target := w.begin(Spec{File: path}, w.parts(1))
		p, err := target.Part(0, 0)
		must(t, put(t, p, err, text).Commit())
		must(t, target.Commit())
		if data := <-got; data != text {
			t.Errorf("the reader got %q, want %q", data, text)
		}
		mustList(t, w.list(), "fifo")
	}
}

func TestAbortEndsAWriterThatWaitsForAFIFOsReader(t *testing.T) {
	w := newKit(t, 1<<20)
	target := w.begin(Spec{File: fifo(t, w)}, w.parts(1))
	p, err := target.Part(0, 0)
	must(t, err)
	time.AfterFunc(30*time.Millisecond, func() { target.Abort() })
	soon(t, "Write", func() {
		if _, err := p.Write([]byte("x")); !errors.Is(err, ErrAborted) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAbortEndsAWriterThatWaitsForAFIFOToDrain(t *testing.T) {
	w := newKit(t, 1<<20)
	path := fifo(t, w)
	r, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer r.Close()
	target := w.begin(Spec{File: path}, w.parts(1))
	p, err := target.Part(0, 0)
	must(t, err)
	time.AfterFunc(30*time.Millisecond, func() { target.Abort() })
	soon(t, "Write", func() {
		for {
			if _, err := p.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
				if !errors.Is(err, ErrAborted) {
					t.Errorf("got %v", err)
				}
				return
			}
		}
	})
}

func TestAbortDoesNotWaitForAStalledPipe(t *testing.T) {
	w := newKit(t, 4<<20)
	r, pipe, err := os.Pipe()
	must(t, err)
	target := w.begin(Spec{Stdout: pipe}, w.parts(2))
	later, err := target.Part(1, 0)
	must(t, put(t, later, err, "kept").Commit())
	p, err := target.Part(0, 0)
	must(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Write(make([]byte, 1<<20))
	}()
	time.Sleep(20 * time.Millisecond)
	soon(t, "Abort", func() { p.Abort(); target.Abort() })
	r.Close()
	<-ended
	pipe.Close()
}

func TestAFullDiskFailsPartFilesAndLeavesNothing(t *testing.T) {
	w := newKit(t, 1<<20)
	dir := w.path("small")
	must(t, os.Mkdir(dir, 0o777))
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no small file system: %v", err)
	}
	defer unix.Unmount(dir, 0)
	text := bytes.Repeat([]byte("x"), 1<<20)
	for _, spec := range []Spec{{Dir: dir + "/out"}, {File: dir + "/result"}} {
		for _, sized := range []bool{false, true} {
			target := w.begin(spec, w.parts(1))
			if sized {
				if _, err := target.SetSizes([]int64{int64(len(text))}); err != nil {
					t.Fatal(err)
				}
			}
			make := target.Part
			if target.byTask() {
				make = target.Attempt
			}
			p, err := make(0, 0)
			must(t, err)
			p.Write(text)
			if err := p.Commit(); !errors.Is(err, unix.ENOSPC) {
				t.Errorf("Part.Commit: %v", err)
			}
			if err := target.Commit(); err == nil {
				t.Error("committed")
			}
			mustList(t, tree(t, dir))
		}
	}
}
