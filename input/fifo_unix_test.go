//go:build unix

package input_test

import (
	"bytes"
	"os"
	"syscall"
	"testing"

	"mrlocal/input"
)

func TestAFIFOIsReadWhenNamedAndSkippedInADirectory(t *testing.T) {
	tree(t, "d/f")
	must(t, syscall.Mkfifo("d/pipe", 0o666))
	p := plan(t, input.Options{}, "d")
	if len(p.Files) != 1 || len(p.Notes) != 1 {
		t.Errorf("files %v, notes %q", paths(p), p.Notes)
	}
	p = plan(t, input.Options{}, "d/*")
	if len(p.Files) != 1 || len(p.Notes) != 1 {
		t.Errorf("by a glob: files %v, notes %q", paths(p), p.Notes)
	}
	p = plan(t, input.Options{}, "d/pipe", "d/f")
	text := sampleText(600 << 10)
	done := make(chan error, 1)
	go func() {
		f, err := os.OpenFile("d/pipe", os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write(text)
			f.Close()
		}
		done <- err
	}()
	c := readAll(t, p, '\n')
	must(t, <-done)
	if !bytes.Equal(c.data[0], text) || string(c.data[1]) != "d/f" {
		t.Errorf("%d bytes of %d, then %q", len(c.data[0]), len(text), c.data[1])
	}
}
