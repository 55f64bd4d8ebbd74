//go:build faults

package output

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mrlocal/internal/disk"
)

// If any call to the system fails, so that a result cannot be made durable, it must not look
// complete. A file that has replaced another one stays, and the error says so.
func TestACallThatFailsLeavesNoResult(t *testing.T) {
	for _, spec := range []Spec{{File: "new"}, {File: "old"}, {Dir: "newdir"}, {Dir: "olddir", Overwrite: true}} {
		for _, op := range []disk.Op{disk.Sync, disk.Close, disk.Write, disk.Rename, disk.Mkdir, disk.Open} {
			for name, once := range map[string]bool{"once": true, "from then on": false} {
				t.Run(spec.File+spec.Dir+" "+op.String()+" "+name, func(t *testing.T) {
					for n, failed := int64(1), true; failed; n++ {
						failed = commitOn(t, disk.Fault{Op: op, N: n, Once: once, Half: true}, spec)
					}
				})
			}
		}
	}
}

// commitOn writes a result while a call fails, and checks what is left. It reports whether the
// fault was reached.
func commitOn(t *testing.T, f disk.Fault, spec Spec) (reached bool) {
	t.Helper()
	w := newKit(t, 1<<20)
	w.write("old", "old")
	w.write("olddir/_SUCCESS", "")
	w.write("olddir/part-r-00000", "old")
	before := w.list()
	if spec.File != "" {
		spec.File = w.path(spec.File)
	} else {
		spec.Dir = w.path(spec.Dir)
	}
	disk.Inject(f, nil)
	target, err := Open(spec)
	must(t, err)
	if err = target.Start(); err == nil {
		target.Expect(w.parts(2))
		err = writeAll(target, spec.Dir != "", 2)
	}
	calls, failed := disk.Counts(f.Op)
	disk.Inject(disk.Fault{}, nil)
	if err == nil {
		whole(t, w, spec, f)
		return failed > 0
	}
	if failed == 0 {
		t.Fatalf("nothing was made to fail in %d calls: %v", calls, err)
	}
	// A directory whose last file cannot be removed stays. These calls do not fail here.
	said := strings.Contains(err.Error(), "has replaced")
	mustList(t, w.list(), before...)
	if file := w.read("old"); file != "old" && !said {
		t.Errorf("%v: the file was replaced, but the error is: %v", f, err)
	}
	if said && spec.File != w.path("old") || w.read("olddir/part-r-00000") != "old" {
		t.Errorf("%v: %v", f, err)
	}
	if !tellsCause(err) {
		t.Errorf("%v: %v", f, err)
	}
	return true
}

// whole fails the test if the result is not complete.
func whole(t *testing.T, w *kit, spec Spec, f disk.Fault) {
	t.Helper()
	text := ""
	if spec.File != "" {
		text = w.read(filepath.Base(spec.File))
	} else {
		dir := filepath.Base(spec.Dir)
		text = w.read(dir+"/part-r-00000") + w.read(dir+"/part-r-00001") + w.read(dir+"/_SUCCESS")
	}
	if want := string(partText(0, 3000)) + string(partText(1, 3000)); text != want {
		t.Errorf("%v: committed, but there are %d bytes of %d", f, len(text), len(want))
	}
}

// tellsCause reports whether an error names the call that has failed. A failed attempt is not
// tried again here, so the commit may instead report a missing part.
func tellsCause(err error) bool {
	for _, cause := range []string{syscall.EIO.Error(), syscall.ENOSPC.Error(), syscall.EMFILE.Error(), "parts were written", "was not written"} {
		if strings.Contains(err.Error(), cause) {
			return true
		}
	}
	return false
}
