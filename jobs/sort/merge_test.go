package sort

import (
	"errors"
	"strings"
	"testing"
)

// fails is a writer that fails after some bytes.
type fails struct{ left int }

var errFull = errors.New("full")

func (f *fails) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteBehindReportsAFailedWrite(t *testing.T) {
	line := []byte(strings.Repeat("x", 999) + "\n")
	for _, left := range []int{0, 1, writeBytes, 3 * writeBytes} {
		for lines := range 1200 {
			if lines%97 > 0 {
				continue
			}
			w := &writeBehind{w: &fails{left}, buf: make([]byte, 0, writeBytes)}
			var err error
			for n := 0; n < lines && err == nil; n++ {
				err = w.write(line)
			}
			if closed := w.close(); err == nil {
				err = closed
			}
			if full := lines*len(line) > left; errors.Is(err, errFull) != full {
				t.Fatalf("%d lines, room for %d bytes: %v", lines, left, err)
			}
		}
	}
}
