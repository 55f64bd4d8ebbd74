package input

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that becomes shorter while it is read is an error, even if the rest of it is valid.
// Otherwise -m, -c and --csv would use a part of it with exit code 0.
func TestAFileThatShrinksIsAnError(t *testing.T) {
	plain := []byte(strings.Repeat("line\n", 1<<20))
	var packed bytes.Buffer
	for range 2 { // the first half of the file is a whole member
		w, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string][]byte{"plain": plain, "gzip": packed.Bytes()} {
		for _, left := range []int{len(data), len(data) / 2} {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			stdin, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			var sources []*TextFile
			for _, name := range []string{path, "-"} {
				l, err := OpenTextFile(name, TextOptions{Stdin: stdin})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				sources = append(sources, l)
			}
			if err := os.Truncate(path, int64(left)); err != nil {
				t.Fatal(err)
			}
			for _, l := range sources {
				if _, err := io.Copy(io.Discard, l); errors.Is(err, ErrChanged) != (left < len(data)) {
					t.Errorf("%s as %s, %d of %d bytes left: %v", name, l.path, left, len(data), err)
				}
			}
		}
	}
}
