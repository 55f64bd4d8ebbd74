package trace

import (
	"errors"
	"fmt"
	"io"
)

// Convert reads an event file of any schema that this program knows, and writes it in the
// newest one. It fails with the error of a Decoder if the file is not whole.
func Convert(w io.Writer, r io.Reader) error {
	d, err := NewDecoder(r)
	if err != nil {
		return err
	}
	j := NewJSONL(w)
	if err := j.Open(d.Header()); err != nil {
		return err
	}
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return j.Close()
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		j.count++
		j.line = append(AppendJSON(j.line[:0], &e, d.Texts(e.Ref)), '\n')
		if err := j.write(j.line); err != nil {
			return err
		}
	}
}
