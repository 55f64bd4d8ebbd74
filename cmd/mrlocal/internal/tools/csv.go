package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/sort"
	"mrlocal/output/compress"
)

// csvRecords reads CSV (RFC 4180) and gives the same bytes with a NUL behind each record,
// in place of the newline. Newlines in quotes stay.
type csvRecords struct {
	name      string
	r         *bufio.Reader
	separator byte
	state     csvState
	record    int64 // that is being read, from 1
	begun     bool  // the record has bytes
	err       error
}

// csvState says where in a record the reader is.
type csvState uint8

const (
	csvStart  csvState = iota // a value begins
	csvPlain                  // in a value without quotes
	csvQuoted                 // in quotes
	csvAfter                  // behind a quote inside of quotes
)

// newCSVRecords reads r, which the caller closes. The name is for errors. The separator is a
// byte, never NUL, quote or newline.
func newCSVRecords(name string, r io.Reader, separator byte) *csvRecords {
	return &csvRecords{name: name, r: bufio.NewReaderSize(r, lineBuffer), separator: separator, record: 1}
}

// Read implements io.Reader.
//
// hot: it sees each byte of CSV.
func (c *csvRecords) Read(p []byte) (int, error) {
	if c.err != nil || len(p) == 0 {
		return 0, c.err
	}
	// The output has the length of the input, except that a last record without newline gets a
	// NUL. So one byte of p stays free.
	n, err := c.r.Read(p[:max(1, len(p)-1)]) // the last record may need a NUL
	for i, b := range p[:n] {
		switch {
		// NUL ends records behind this reader, so a NUL inside of one would split it.
		case b == 0:
			c.err = c.wrong("has a NUL byte")
		case c.state == csvQuoted:
			if b == '"' {
				c.state = csvAfter
			}
		case b == '\n':
			p[i], c.state = 0, csvStart
			c.record++
		case b == c.separator:
			c.state = csvStart
		case b == '"' && c.state != csvPlain:
			c.state = csvQuoted // opened, or a quote that stands for itself
		case b == '"':
			c.err = c.wrong("has a quote inside of a value without quotes")
		case c.state == csvAfter && b != '\r':
			c.err = c.wrong("goes on behind a closing quote")
		case c.state == csvStart:
			c.state = csvPlain
		}
		if c.err != nil {
			return 0, c.err
		}
	}
	// A record has begun unless the last byte ended one.
	if n > 0 {
		c.begun = p[n-1] != 0
	}
	if err == io.EOF {
		// A file that ends inside quotes was cut short. Its last record could hold anything.
		if c.state == csvQuoted {
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

// wrong returns the error about the record that is being read. Records count from 1, the header
// with them.
func (c *csvRecords) wrong(what string) error {
	return errs.Inputf(argv.Quote(c.name), "record %d %s", c.record, what)
}

// csvFiles are the records of several files of CSV without their headers, one file after
// the other.
type csvFiles struct {
	call      *Call // keeps its standard input, when that of another Call is what this reads
	files     []string
	separator byte
	header    []byte // of the first file, without its end; nil: no file has any
	marked    bool   // a byte order mark stands before that header
	source    *lineSource
}

// readCSV opens the first file and reads the header. The caller closes the result.
func (c *Call) readCSV(files []string, separator byte) (*csvFiles, error) {
	own := *c
	f := &csvFiles{call: &own, files: files, separator: separator}
	if err := f.first(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// byteOrderMark begins a text of UTF-8 that some programs write, such as spreadsheets.
const byteOrderMark = "\ufeff"

// names returns the names of the columns.
func (c *csvFiles) names() []string {
	return sort.CSVHeader(bytes.TrimSuffix(c.header, []byte("\r")), c.separator)
}

// first opens the first file that has a record, and keeps the header.
func (c *csvFiles) first() error {
	for len(c.files) > 0 && c.header == nil {
		if err := c.next(); err != nil {
			return err
		}
	}
	return nil
}

// next opens the next file and reads its header, which must be that of the first one.
func (c *csvFiles) next() error {
	name := c.files[0]
	c.files = c.files[1:]
	c.close()
	source := &lineSource{name: name}
	if err := source.open(c.call); err != nil {
		return err
	}
	c.source = source
	// A byte order mark is no part of the name of the first column. Only that of the first file
	// stays, since it would mean nothing in the middle.
	ahead := bufio.NewReaderSize(source, lineBuffer)
	start, _ := ahead.Peek(len(byteOrderMark)) // Read returns the error
	marked := string(start) == byteOrderMark
	if marked {
		_, _ = ahead.Discard(len(start)) // Peek has read it
	}
	// Each record is a line that NUL ends, because records of CSV may hold newlines.
	source.r = bufio.NewReaderSize(newCSVRecords(name, ahead, c.separator), lineBuffer)
	// NUL ends the header, as every record behind csvRecords.
	header, err := source.r.ReadBytes(0)
	if err == io.EOF {
		return nil
	}
	header = header[:max(0, len(header)-1)]
	switch {
	case err != nil:
		return err
	case c.header == nil:
		c.header, c.marked = header, marked
	// Lines may end with CR LF in one file and with LF in another.
	case !bytes.Equal(bytes.TrimSuffix(header, []byte("\r")), bytes.TrimSuffix(c.header, []byte("\r"))):
		return errs.Inputf(argv.Quote(name), "its header differs from that of the first file")
	}
	return nil
}

// csvFileError is an error that names its file. The engine puts standard input in front of it.
type csvFileError struct{ error }

// Unwrap returns what is wrong with the file.
func (e *csvFileError) Unwrap() error { return e.error }

// Read implements io.Reader.
func (c *csvFiles) Read(p []byte) (int, error) {
	for {
		if c.source != nil {
			n, err := c.source.r.Read(p)
			// The end of a file is not the end of the records: the next file follows.
			switch {
			case err != nil && err != io.EOF:
				return n, &csvFileError{err}
			case n > 0:
				return n, nil
			}
		}
		if len(c.files) == 0 {
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, &csvFileError{err}
		}
	}
}

// close closes the file that is being read. It may be called again.
func (c *csvFiles) close() {
	if c.source != nil {
		c.source.close()
		c.source = nil
	}
}

// csvSeparator returns the byte between values that the value of a flag stands for.
func csvSeparator(text string) byte {
	switch text {
	case "":
		return ','
	case `\0`:
		return 0
	}
	return text[0]
}

// checkCSVSeparator refuses a quote, NUL and the end of a line as separator, which would
// make CSV ambiguous. The reader of CSV puts NUL behind each record.
func checkCSVSeparator(flag, text string) error {
	if slices.Contains([]string{`"`, `\0`, "\x00", "\n", "\r"}, text) {
		return errs.Optionf(flag, "CSV has no such separator")
	}
	return nil
}

// sortCSV writes the header of the first file and then the sorted records of all.
func (s *sorter) sortCSV(ctx context.Context) error {
	separator := csvSeparator(s.order.Separator)
	// The header must be known before the job starts. The other files are opened one by one as
	// the job reads.
	c, err := s.readCSV(s.files, separator)
	if err != nil {
		return err
	}
	defer c.close()
	// Keys name columns, so the order is compiled after the header is known.
	s.order.Header = c.names()
	chain, err := sort.New(s.order)
	if err != nil {
		return err
	}
	header := c.header
	if c.marked {
		header = append([]byte(byteOrderMark), header...)
	}
	return s.runCSV(ctx, chain, c, header)
}

// runCSV runs the chain on the records of files, and writes its result behind header; nil:
// there is none.
func (c *Call) runCSV(ctx context.Context, chain jobs.Chain, files *csvFiles, header []byte) error {
	result, err := c.openResult()
	if err != nil {
		return err
	}
	// The header is written before the job starts: the result follows it on the same writer.
	if header != nil {
		err = result.writeLine(header, '\n')
	}
	if err == nil {
		// The job reads the records of all files as standard input, and writes to the result.
		// The files are decoded already, so the engine must not decode again.
		c.Stdin, c.Stdout = files, csvWriter{result}
		c.Options.Inputs, c.Options.OutputFile, c.Options.NoDecode = []string{"-"}, "", true
		c.Options.CompressOutput = compress.None // the result compresses what it gets
		_, err = c.RunChain(ctx, chain)
		var of *csvFileError
		if errors.As(err, &of) {
			err = of.error
		}
	}
	return result.end(err)
}

// csvWriter writes records that end with NUL as CSV.
type csvWriter struct{ w io.Writer }

// Write turns each NUL back into a newline. Records have no other NUL.
func (c csvWriter) Write(p []byte) (int, error) {
	lines := bytes.Clone(p) // p is borrowed
	for at := 0; ; {
		n := bytes.IndexByte(lines[at:], 0)
		if n < 0 {
			break
		}
		at += n
		lines[at] = '\n'
	}
	return c.w.Write(lines)
}
