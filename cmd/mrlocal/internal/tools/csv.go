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

// csvRecords is a reader of CSV (RFC 4180) whose records end with NUL instead of a newline. Newlines
// within quotes stay. So the engine, which splits its input at one byte, can split records. All other
// bytes stay as they are.
type csvRecords struct {
	name      string // of the file, for errors
	r         *bufio.Reader
	separator byte
	state     csvState
	record    int64 // the number of the record that is being read, from 1; the header counts
	begun     bool  // this record has bytes
	err       error // the first error, which all later calls of Read return
}

// csvState says where in a record the reader is.
type csvState uint8

const (
	csvStart  csvState = iota // at the start of a value
	csvPlain                  // in a value without quotes
	csvQuoted                 // within quotes
	csvAfter                  // after a quote that closes the value, or is the first of two
)

// newCSVRecords returns a reader of the CSV of r, which the caller closes. name is the file in errors.
// separator is the byte between values. It must not be NUL, a quote or the end of a line.
func newCSVRecords(name string, r io.Reader, separator byte) *csvRecords {
	return &csvRecords{name: name, r: bufio.NewReaderSize(r, lineBuffer), separator: separator, record: 1}
}

// Read reads records that end with NUL. It fails if a record is not valid CSV or has a NUL byte.
func (c *csvRecords) Read(p []byte) (int, error) {
	if c.err != nil || len(p) == 0 {
		return 0, c.err
	}
	// Each byte is replaced in place. Only a last record without a newline gets a byte more, its NUL.
	// So the last byte of p stays free.
	n, err := c.r.Read(p[:max(1, len(p)-1)])
	for i, b := range p[:n] {
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
		case b == c.separator:
			c.state = csvStart
		case b == '"' && c.state != csvPlain:
			c.state = csvQuoted // the quote opens a value, or is the second of two that stand for one
		case b == '"':
			c.err = c.wrong("has a quote inside of a value without quotes")
		case c.state == csvAfter && b != '\r':
			c.err = c.wrong("has text after a closing quote")
		case c.state == csvStart:
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

// wrong returns the input error for the record that is being read. what completes the sentence "record
// 3 …".
func (c *csvRecords) wrong(what string) error {
	return errs.Inputf(argv.Quote(c.name), "record %d %s", c.record, what)
}

// csvFiles is a reader of the records of several files of CSV, one file after the other, without their
// headers. Each record ends with NUL. At most one file is open at a time.
type csvFiles struct {
	call      *Call    // a copy of the call: runCSV replaces the standard input of the original
	files     []string // that are not opened yet
	separator byte
	header    []byte      // of the first file that has a record, without its end; nil: no file has one
	marked    bool        // a byte order mark stands before that header
	source    *lineSource // the open file; nil: none
}

// readCSV opens the first file that has a record, and reads its header. The caller closes the result.
// If readCSV fails, it has closed everything.
func (c *Call) readCSV(files []string, separator byte) (*csvFiles, error) {
	own := *c
	f := &csvFiles{call: &own, files: files, separator: separator}
	if err := f.first(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// byteOrderMark is the first character of UTF-8 texts that some programs write, such as spreadsheets.
const byteOrderMark = "\ufeff"

// names returns the names of the columns, from the header.
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

// next closes the current file, opens the next one and reads its header. It fails if the header differs
// from that of the first file. A file without a record has no header, which is no error.
func (c *csvFiles) next() error {
	name := c.files[0]
	c.files = c.files[1:]
	c.close()
	source := &lineSource{name: name}
	if err := source.open(c.call); err != nil {
		return err
	}
	c.source = source
	// A byte order mark does not belong to the name of the first column. The result begins with one if
	// the first file does. The marks of other files are dropped.
	ahead := bufio.NewReaderSize(source, lineBuffer)
	start, _ := ahead.Peek(len(byteOrderMark)) // the next Read returns its error again
	marked := string(start) == byteOrderMark
	if marked {
		_, _ = ahead.Discard(len(start)) // these bytes are in the buffer, so this cannot fail
	}
	source.r = bufio.NewReaderSize(newCSVRecords(name, ahead, c.separator), lineBuffer)
	// csvRecords ends each record with NUL, also the header.
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
	// One file may have lines that end with CR LF, and another one lines that end with LF.
	case !bytes.Equal(bytes.TrimSuffix(header, []byte("\r")), bytes.TrimSuffix(c.header, []byte("\r"))):
		return errs.Inputf(argv.Quote(name), "its header differs from that of the first file")
	}
	return nil
}

// csvFileError marks an error that already names its file. The engine reads csvFiles as standard input
// and wraps the error in one that names standard input. runCSV removes this wrapping.
type csvFileError struct{ error }

// Unwrap returns the error of the file.
func (e *csvFileError) Unwrap() error { return e.error }

// Read reads records, each with its NUL, up to the end of the last file. Its errors are of type
// *csvFileError.
func (c *csvFiles) Read(p []byte) (int, error) {
	for {
		if c.source != nil {
			n, err := c.source.r.Read(p)
			// At the end of a file the loop goes on with the next file.
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

// close closes the current file. It may be called again.
func (c *csvFiles) close() {
	if c.source != nil {
		c.source.leave(-1)
		c.source.close()
		c.source = nil
	}
}

// csvSeparator returns the byte between values for the text of -t or -d. It is a comma by default. \0
// stands for NUL, which checkCSVSeparator refuses.
func csvSeparator(text string) byte {
	switch text {
	case "":
		return ','
	case `\0`:
		return 0
	}
	return text[0]
}

// checkCSVSeparator returns an options error if the separator is a quote, NUL or the end of a line.
// Quotes and ends of lines have a meaning in CSV, and csvRecords ends records with NUL.
func checkCSVSeparator(flag, text string) error {
	if slices.Contains([]string{`"`, `\0`, "\x00", "\n", "\r"}, text) {
		return errs.Optionf(flag, "CSV has no such separator")
	}
	return nil
}

// sortCSV writes the header of the first file and then the sorted records of all files. s.order must
// not be compiled yet.
func (s *sorter) sortCSV(ctx context.Context) error {
	separator := csvSeparator(s.order.Separator)
	// Only the first file is opened here. The others are opened one by one while the job reads.
	c, err := s.readCSV(s.files, separator)
	if err != nil {
		return err
	}
	defer c.close()
	// A key may name a column, so the job needs the header.
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

// runCSV runs the chain on the records of files. It writes header, unless it is nil, then the result of
// the chain, whose records must end with NUL. It replaces the streams of c.
func (c *Call) runCSV(ctx context.Context, chain jobs.Chain, files *csvFiles, header []byte) error {
	result, err := c.openResult()
	if err != nil {
		return err
	}
	if header != nil {
		err = result.writeLine(header, '\n')
	}
	if err == nil {
		// The job reads the records of all files as its standard input, and its output goes to result.
		// lineSource has decoded the files, so the engine must not decode again.
		c.Stdin, c.Stdout = files, csvWriter{result}
		c.Options.Inputs, c.Options.OutputFile, c.Options.NoDecode = []string{"-"}, "", true
		c.Options.CompressOutput = compress.None // result compresses
		_, err = c.RunChain(ctx, chain)
		var of *csvFileError
		if errors.As(err, &of) {
			err = of.error
		}
	}
	return result.end(err)
}

// csvWriter passes records to w with a newline in place of the NUL at their end.
type csvWriter struct{ w io.Writer }

// Write writes p with each NUL replaced by a newline. csvRecords has refused all other NUL bytes.
func (c csvWriter) Write(p []byte) (int, error) {
	lines := bytes.Clone(p) // a Writer must not change p
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
