package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"mrlocal/internal/errs"
)

// mostDocumentBytes bounds a document of a trace in JSON, which has one job.
const mostDocumentBytes = 256 << 20

// eachDocument reads JSON objects, one after the other, and calls do with each and its place. name is the file, for
// messages. It holds one object at a time. The first error ends it.
func eachDocument[T any](name string, r io.Reader, do func(at string, document *T) error) error {
	in := &lineReader{name: name, r: r}
	d := json.NewDecoder(in)
	spaces := int64(0) // between the objects
	for {
		spaces -= d.InputOffset()
		d.More() // goes to the next object
		in.begin(d.InputOffset())
		spaces += in.begins
		document := new(T)
		err := d.Decode(document)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return in.problem(err, spaces)
		}
		if err := do(in.place(in.begins), document); err != nil {
			return err
		}
	}
}

// lineReader counts the lines that it reads, so that an offset has a line.
type lineReader struct {
	name   string
	r      io.Reader
	read   int64   // bytes that were read
	begins int64   // offset of the object that is read now
	lines  int     // line ends before those in ends
	ends   []int64 // offsets of the other line ends
	err    error   // of r, or of an object that is too long
}

// Read reads from r. It fails if an object is longer than mostDocumentBytes.
func (l *lineReader) Read(p []byte) (int, error) {
	if l.read-l.begins > mostDocumentBytes {
		l.err = fmt.Errorf("a single object is longer than %d MiB", mostDocumentBytes>>20)
		return 0, l.err
	}
	n, err := l.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			l.ends = append(l.ends, l.read+int64(i))
		}
	}
	l.read += int64(n)
	if err != nil && err != io.EOF {
		l.err = err
	}
	return n, err
}

// begin says that the next object begins at offset.
func (l *lineReader) begin(offset int64) {
	n := 0
	for n < len(l.ends) && l.ends[n] < offset {
		n++
	}
	l.begins = offset
	l.lines += n
	l.ends = l.ends[n:]
}

// place returns the place of an offset in the object that is read now: "NAME:LINE".
func (l *lineReader) place(offset int64) string {
	line := l.lines + 1
	for _, end := range l.ends {
		if end < offset {
			line++
		}
	}
	return fmt.Sprintf("%s:%d", l.name, line)
}

// problem returns a decoder's error with its place. spaces is the number of bytes before and between the objects, which
// the offset of an error of syntax does not count.
func (l *lineReader) problem(err error, spaces int64) error {
	at := l.begins
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case l.err != nil:
		return errs.Inputf(l.place(l.read), "%w", errs.Cause(l.err))
	case errors.As(err, &syntax):
		at = spaces + syntax.Offset - 1
	case errors.As(err, &kind):
		at += kind.Offset - 1
	case errors.Is(err, io.ErrUnexpectedEOF):
		at = l.read
	}
	return errs.Inputf(l.place(at), "%s", errs.OfJSON(err))
}
