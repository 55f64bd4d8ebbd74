//go:build unix

package input_test

import (
	"bytes"
	"os"
	"syscall"
	"testing"
	"time"

	"mrlocal/input"
	"mrlocal/internal/disk"
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

// TestALongLineOfAPipeThatPauses: a pause of the writer inside a line changes no byte, whether the
// line is gathered in memory or in a temporary file.
func TestALongLineOfAPipeThatPauses(t *testing.T) {
	text := bytes.Clone(sampleText(1 << 20))
	for i := range text[:len(text)-10] {
		if text[i] == '\n' {
			text[i] = ' '
		}
	}
	root := disk.NewTempRoot([]string{t.TempDir()}, 0)
	defer root.Close()
	createTemp := func() (*disk.TempFile, error) { return root.Create("record-*") }
	for _, gatherBytes := range []int64{1 << 10, 300 << 10, 8 << 20} {
		in, writer, err := os.Pipe()
		must(t, err)
		go func() {
			defer writer.Close()
			for rest := text; len(rest) > 0; {
				n := min(len(rest), 150_001)
				_, _ = writer.Write(rest[:n])
				rest = rest[n:]
				time.Sleep(60 * time.Millisecond) // more than the pause that ends a block
			}
		}()
		o := input.Options{Stdin: in, Prompt: true, NoDecode: true, CreateTemp: createTemp, GatherBytes: gatherBytes}
		got, err := tryRead(t, plan(t, o, "-"), '\n', &memory{}, false)
		if err != nil || !bytes.Equal(got.data[0], text) {
			t.Errorf("gathered up to %d: %d bytes of %d, or others, %v", gatherBytes, len(got.data[0]), len(text), err)
		}
		must(t, in.Close())
	}
}
