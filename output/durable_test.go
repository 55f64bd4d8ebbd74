package output

import (
	"math"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// badDisk fails from operation number from on, up to and without number to.
type badDisk struct {
	osDisk
	n        atomic.Int64
	from, to int64
}

func (b *badDisk) next(err error) error {
	if n := b.n.Add(1); err == nil && n > b.from && n <= b.to {
		return &os.PathError{Op: "sync", Path: "?", Err: syscall.EIO}
	}
	return err
}

func (b *badDisk) syncFile(f *os.File) error { return b.next(b.osDisk.syncFile(f)) }
func (b *badDisk) syncDir(path string) error { return b.next(b.osDisk.syncDir(path)) }
func (b *badDisk) close(f *os.File) error    { return b.next(b.osDisk.close(f)) }

// A result that cannot be made durable must not look like one, whichever sync or close of it
// fails. A file that has replaced another one stays, and the error says so.
func TestASyncOrCloseThatFailsLeavesNoResult(t *testing.T) {
	for _, spec := range []Spec{{File: "new"}, {File: "old"}, {Dir: "newdir"}, {Dir: "olddir", Overwrite: true}} {
		for name, count := range map[string]int64{"once": 1, "from then on": math.MaxInt32} {
			t.Run(spec.File+spec.Dir+" "+name, func(t *testing.T) {
				for from, failed := int64(0), true; failed; from++ {
					failed = commitOn(t, &badDisk{from: from, to: from + count}, spec)
				}
			})
		}
	}
}

// commitOn writes a result on a disk, checks what is left, and reports whether the commit
// has failed.
func commitOn(t *testing.T, d *badDisk, spec Spec) (failed bool) {
	t.Helper()
	w := newKit(t, 1<<20)
	w.write("old", "old")
	w.write("olddir/_SUCCESS", "")
	w.write("olddir/part-r-00000", "old")
	before := w.list()
	spec.disk = d
	if spec.File != "" {
		spec.File = w.path(spec.File)
	} else {
		spec.Dir = w.path(spec.Dir)
	}
	target := w.begin(spec, w.parts(2))
	err := writeAll(target, spec.Dir != "", 2)
	if err == nil {
		if d.n.Load() > d.from {
			t.Fatalf("operation %d has failed, but the result was committed", d.from)
		}
		return false
	}
	if !strings.Contains(err.Error(), syscall.EIO.Error()) && !strings.Contains(err.Error(), "parts were written") {
		t.Errorf("operation %d: %v", d.from, err)
	}
	mustList(t, w.list(), before...)
	said := strings.Contains(err.Error(), "has replaced")
	if file := w.read("old"); file != "old" && !said {
		t.Errorf("operation %d: the file was replaced, but the error is: %v", d.from, err)
	}
	if said && !strings.HasSuffix(spec.File, "old") || w.read("olddir/part-r-00000") != "old" {
		t.Errorf("operation %d: %v", d.from, err)
	}
	return true
}
