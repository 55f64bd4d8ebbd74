package input

import (
	"bufio"
	"io"

	"mrlocal/internal/errs"
)

// csvRecords is a reader of CSV (RFC 4180) whose records end with NUL instead of a newline. Newlines
// within quotes stay. So the engine, which splits its input at one byte, can split records. All other
// bytes stay as they are.
type csvRecords struct {
	name     string // of the file, for messages
	r        *bufio.Reader
	format   CSV
	state    csvState
	returned bool  // the last byte was a carriage return outside of quotes
	record   int64 // the number of the record that is being read, from 1; the header counts
	begun    bool  // this record has bytes
	err      error // the first error, which all later calls of Read return
}

// CSV is the form of a file of CSV.
type CSV struct {
	Separator byte // between values; not NUL, a quote or the end of a line
	Lenient   bool // a quote within a value, and text behind a closing quote, are parts of the value
}

// csvState says where in a record the reader is.
type csvState uint8

const (
	csvStart  csvState = iota // at the start of a value
	csvPlain                  // in a value without quotes
	csvQuoted                 // within quotes
	csvAfter                  // after a quote that closes the value, or is the first of two
)

// Read reads records that end with NUL. It fails if a record is not valid CSV or has a NUL byte.
func (c *csvRecords) Read(p []byte) (int, error) {
	if c.err != nil || len(p) == 0 {
		return 0, c.err
	}
	// Each byte is replaced in place. Only a last record without a newline gets a byte more, its NUL.
	// So the last byte of p stays free.
	n, err := c.r.Read(p[:max(1, len(p)-1)])
	for i, b := range p[:n] {
		returned := c.returned
		c.returned = b == '\r' && c.state != csvQuoted
		switch {
		// A NUL within a record would look like its end.
		case b == 0:
			c.err = c.wrong("has a NUL byte")
		case c.state == csvQuoted:
			if b == '"' {
				c.state = csvAfter
			}
		case b == '\n':
			p[i], c.state = 0, csvStart
			c.record++
		// Most likely all records end so, and the file would be one header.
		case returned && !c.format.Lenient:
			c.err = c.wrong("has a carriage return without a newline; change them, as tr '\\r' '\\n' does")
		case b == c.format.Separator:
			c.state = csvStart
		case b == '"' && c.state != csvPlain:
			c.state = csvQuoted // the quote opens a value, or is the second of two that stand for one
		case b == '"' && !c.format.Lenient:
			c.err = c.wrong("has a quote inside of a value without quotes")
		case c.state == csvAfter && b != '\r' && !c.format.Lenient:
			c.err = c.wrong("has text after a closing quote")
		case c.state == csvStart, c.state == csvAfter && b != '\r':
			c.state = csvPlain
		}
		if c.err != nil {
			return 0, c.err
		}
	}
	// A record has begun unless the last byte ended the record before.
	if n > 0 {
		c.begun = p[n-1] != 0
	}
	if err == io.EOF {
		// A file that ends within quotes was most likely cut short.
		if c.state == csvQuoted && !c.format.Lenient {
			c.err = c.wrong("has a quote that is not closed")
			return n, c.err
		}
		if c.begun {
			p[n], c.begun = 0, false
			n++
		}
	}
	c.err = err
	return n, err
}

// wrong returns the input error for the record that is being read. what completes the sentence "record
// 3 …".
func (c *csvRecords) wrong(what string) error {
	return errs.Inputf(errs.Quote(c.name), "record %d %s", c.record, what)
}
