package tools

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/sort"
	"mrlocal/output"
)

// csvRecords is a reader of CSV (RFC 4180) whose records end with NUL instead of a newline. Newlines
// within quotes stay. So the engine, which splits its input at one byte, can split records. All other
// bytes stay as they are.
type csvRecords struct {
	name     string // of the file, for errors
	r        *bufio.Reader
	format   csvFormat
	state    csvState
	returned bool  // the last byte was a carriage return outside of quotes
	record   int64 // the number of the record that is being read, from 1; the header counts
	begun    bool  // this record has bytes
	err      error // the first error, which all later calls of Read return
}

// csvFormat says what CSV looks like.
type csvFormat struct {
	separator byte // between values; not NUL, a quote or the end of a line
	lenient   bool // a quote within a value, and text behind a closing quote, are parts of the value
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
func newCSVRecords(name string, r io.Reader, format csvFormat) *csvRecords {
	return &csvRecords{name: name, r: bufio.NewReaderSize(r, lineBuffer), format: format, record: 1}
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
		case returned && !c.format.lenient:
			c.err = c.wrong("has a carriage return without a newline; change them, as tr '\\r' '\\n' does")
		case b == c.format.separator:
			c.state = csvStart
		case b == '"' && c.state != csvPlain:
			c.state = csvQuoted // the quote opens a value, or is the second of two that stand for one
		case b == '"' && !c.format.lenient:
			c.err = c.wrong("has a quote inside of a value without quotes")
		case c.state == csvAfter && b != '\r' && !c.format.lenient:
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
		if c.state == csvQuoted && !c.format.lenient {
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

// headedFiles is a reader of the records of several files, one file after the other, without their
// headers. Each record ends with NUL, if it is one of CSV, or with the delimiter of lines. At most one
// file is open at a time.
type headedFiles struct {
	call    *Call       // a copy of the call: runHeaded replaces the standard input of the original
	files   []string    // that are not opened yet
	csv     *csvFormat  // nil: lines of text
	records int         // of a header
	delim   byte        // ends each record
	header  []byte      // of the first file, each record with its delim; nil: no file was opened
	marked  bool        // a byte order mark stands before that header
	source  *lineSource // the open file; nil: none
}

// readHeader opens the first file that has a record, and reads its header. The caller closes f. If
// readHeader fails, it has closed everything.
func (c *Call) readHeader(f *headedFiles) error {
	own := *c
	f.call = &own
	for len(f.files) > 0 && len(f.header) == 0 && (f.records > 0 || f.header == nil) {
		if err := f.next(); err != nil {
			f.close()
			return err
		}
	}
	return nil
}

// mostHeaderBytes bounds a header, which is kept in memory. A file without a newline is all header.
const mostHeaderBytes = 16 << 20

// byteOrderMark is the first character of UTF-8 texts that some programs write, such as spreadsheets.
const byteOrderMark = "\ufeff"

// names returns the names of the columns, from the header; nil: there is no header.
func (f *headedFiles) names() []string {
	if len(f.header) == 0 {
		return nil
	}
	return sort.CSVHeader(bytes.TrimSuffix(f.header[:len(f.header)-1], []byte("\r")), f.csv.separator)
}

// next closes the current file, opens the next one and reads its header. It fails if the header differs
// from that of the first file. A file without a record has no header, which is not an error.
func (f *headedFiles) next() error {
	name := f.files[0]
	f.files = f.files[1:]
	f.close()
	source := &lineSource{name: name}
	if err := source.open(f.call); err != nil {
		return err
	}
	f.source = source
	ahead := bufio.NewReaderSize(source, lineBuffer)
	marked := false
	source.r = ahead
	if f.csv != nil {
		// A byte order mark does not belong to the name of the first column. The result begins with one
		// if the first file does. The marks of other files are dropped.
		start, _ := ahead.Peek(len(byteOrderMark)) // the next Read returns its error again
		if marked = string(start) == byteOrderMark; marked {
			_, _ = ahead.Discard(len(start)) // these bytes are in the buffer, so this cannot fail
		}
		source.r = bufio.NewReaderSize(newCSVRecords(name, ahead, *f.csv), lineBuffer)
	}
	header := []byte{}
	for records := 0; records < f.records; {
		part, err := source.r.ReadSlice(f.delim)
		switch header = append(header, part...); {
		case len(header) > mostHeaderBytes:
			return errs.Inputf(errs.Quote(name), "its header is longer than %d bytes", mostHeaderBytes)
		case err == nil:
			records++
		case err != bufio.ErrBufferFull && err != io.EOF:
			return err
		case err == io.EOF && len(header) > 0 && header[len(header)-1] != f.delim: // a last line without its end
			header = append(header, f.delim)
		}
		if err == io.EOF { // more records than the file has
			break
		}
	}
	switch {
	case len(f.header) == 0:
		f.header, f.marked = header, marked
	case len(header) == 0:
	// One file may have lines that end with CR LF, and another one lines that end with LF.
	case !bytes.Equal(withoutReturn(header), withoutReturn(f.header)):
		return errs.Inputf(errs.Quote(name), "its header differs from that of the first file")
	}
	return nil
}

// withoutReturn returns a header without a carriage return at its end. The delimiter follows it.
func withoutReturn(header []byte) []byte {
	return bytes.TrimSuffix(header[:len(header)-1], []byte("\r"))
}

// csvFileError marks an error that already names its file. The engine reads headedFiles as standard
// input and wraps the error in one that names standard input. runHeaded removes this wrapping.
type csvFileError struct{ error }

// Unwrap returns the error of the file.
func (e *csvFileError) Unwrap() error { return e.error }

// Read reads records, each with its NUL, up to the end of the last file. Its errors are of type
// *csvFileError.
func (c *headedFiles) Read(p []byte) (int, error) {
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
func (c *headedFiles) close() {
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

// sortHeaded writes the header of the first file and then the sorted records of all files. s.order must
// not be compiled yet.
func (s *sorter) sortHeaded(ctx context.Context, header int) error {
	// Only the first file is opened here. The others are opened one by one while the job reads.
	f := &headedFiles{files: s.files, records: header, delim: s.delimiter()}
	if s.order.CSV {
		f.csv, f.delim = &csvFormat{separator: csvSeparator(s.order.Separator), lenient: s.order.Lenient}, 0
	}
	if err := s.readHeader(f); err != nil {
		return err
	}
	defer f.close()
	if s.order.CSV { // a key may name a column, so the job needs the header
		s.order.Header = f.names()
	}
	order, err := sort.Compile(s.order)
	if err != nil {
		return err
	}
	text := bytes.Clone(f.header)
	if n := len(text); s.order.CSV && n > 0 {
		text[n-1] = '\n'
	}
	if f.marked {
		text = append([]byte(byteOrderMark), text...)
	}
	return cmp.Or(s.runHeaded(ctx, sort.NewOrdered(s.order, order), f, text), s.unseen(order))
}

// runHeaded runs the chain on the records of files. It writes header, then the result of the chain. It
// replaces the streams of c.
func (c *Call) runHeaded(ctx context.Context, chain jobs.Chain, files *headedFiles, header []byte) error {
	result, err := c.openResult()
	if err != nil {
		return err
	}
	if _, err = result.Write(header); err == nil {
		// The job reads the records of all files as its standard input, and its output goes to result.
		// lineSource has decoded the files, so the engine must not decode again.
		c.Stdin, c.Stdout = files, result
		if files.csv != nil {
			c.Stdout = csvWriter{result}
		}
		c.Options.Inputs = []string{"-"}
		c.Options.OutputFile = ""
		c.Options.NoDecode = true
		c.Options.CompressOutput = output.None // result compresses
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
