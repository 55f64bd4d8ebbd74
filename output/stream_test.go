package output

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

func TestAFullDeviceFailsTheResult(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	w := newKit(t, 1<<20)
	target := w.begin(Spec{File: "/dev/full"}, w.parts(2))
	second, err := target.Part(1, 0)
	must(t, put(t, second, err, "b").Commit())
	first, err := target.Part(0, 0)
	if err := put(t, first, err, "a").Commit(); err == nil || err.Error() != "/dev/full: write: no space left on device" {
		t.Errorf("Part.Commit: %v", err)
	}
	if target.Err() == nil {
		t.Error("another attempt would be tried")
	}
	if _, err := target.Part(0, 1); err == nil {
		t.Error("another attempt is let in")
	}
	if err := target.Commit(); err == nil {
		t.Error("committed")
	}
}

func TestADeviceIsWrittenDirectly(t *testing.T) {
	w := newKit(t, 1<<20)
	target := w.begin(Spec{File: os.DevNull}, w.parts(1))
	p, err := target.Part(0, 0)
	must(t, put(t, p, err, "x").Commit())
	must(t, target.Commit())
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is %v, %v", os.DevNull, info.Mode(), err)
	}
}

func TestAReaderThatHasGoneEndsTheResultIfItMay(t *testing.T) {
	w := newKit(t, 1<<20)
	r, system, err := os.Pipe()
	must(t, err)
	defer system.Close()
	r.Close()
	pr, own := io.Pipe()
	pr.Close()
	for _, c := range []struct {
		stdout       io.Writer
		may, success bool
	}{{system, true, true}, {system, false, false}, {own, true, false}, {own, false, false}} {
		target := w.begin(Spec{Stdout: c.stdout, PipeMayClose: c.may}, w.parts(1))
		p, err := target.Part(0, 0)
		err = put(t, p, err, "x").Commit()
		if err == nil || errors.Is(err, ErrClosedPipe) != c.success || errors.Is(target.Err(), ErrClosedPipe) != c.success {
			t.Errorf("%T, which may close: %v: %v, Err: %v", c.stdout, c.may, err, target.Err())
		}
	}
}

func TestAFullDiskIsAnErrorAndNotAShortResult(t *testing.T) {
	w := newKit(t, 1<<20)
	target := w.begin(Spec{Stdout: shortWriter{}}, w.parts(1))
	p, err := target.Part(0, 0)
	if err := put(t, p, err, "xyz").Commit(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
}

// shortWriter breaks the contract of io.Writer.
type shortWriter struct{}

func (shortWriter) Write(p []byte) (int, error) { return len(p) - 1, nil }

func TestTheNamesOfStandardOutputMeanTheOneWeWereGiven(t *testing.T) {
	for _, name := range []string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"} {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		w := newKit(t, 1<<20)
		var out bytes.Buffer
		target := w.begin(Spec{File: name, Stdout: &out}, w.parts(1))
		p, err := target.Part(0, 0)
		must(t, put(t, p, err, "x").Commit())
		must(t, target.Commit())
		if out.String() != "x" {
			t.Errorf("%s: %q", name, out.String())
		}
	}
}

func TestAnotherDescriptorIsWrittenAtItsEndAndNotReplaced(t *testing.T) {
	w := newKit(t, 1<<20)
	f, err := os.OpenFile(w.write("log", "before\n"), os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	name := "/dev/fd/" + itoa(int(f.Fd()))
	if _, err := os.Stat(name); err != nil {
		t.Skip("no /dev/fd here")
	}
	target := w.begin(Spec{File: name}, w.parts(1))
	p, err := target.Part(0, 0)
	must(t, put(t, p, err, "x\n").Commit())
	must(t, target.Commit())
	if got := w.read("log"); got != "before\nx\n" {
		t.Errorf("got %q", got)
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// soon runs f, and fails the test if f does not return within some time.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatalf("%s did not return", what)
	}
}
