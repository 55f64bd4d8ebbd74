package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/scan"
)

// textBuffer is the number of bytes that are read at a time.
const textBuffer = 64 << 10

// Headed is a reader of the records of several files, one file after the other, without their headers.
// Each record ends with NUL, if it is one of CSV, or with Delim. At most one file is open at a time.
type Headed struct {
	Files   []string // that are not opened yet
	Open    func(path string) (*TextFile, error)
	CSV     *CSV // nil: lines of text
	Records int  // of a header
	Delim   byte // ends each record

	Header []byte // of the first file, each record with its Delim; nil: no file was opened
	Marked bool   // a byte order mark stands before that header

	text    *TextFile     // the open file; nil: none
	records *bufio.Reader // its records
}

// Begin opens the first file that has a record, and reads its header. The caller must call Close.
func (h *Headed) Begin() error {
	for len(h.Files) > 0 && len(h.Header) == 0 && (h.Records > 0 || h.Header == nil) {
		if err := h.next(); err != nil {
			return err
		}
	}
	return nil
}

// MostHeaderBytes bounds a header, which is kept in memory. A file without a newline is all header.
const MostHeaderBytes = 16 << 20

// next closes the current file, opens the next one and reads its header. It fails if the header differs
// from that of the first file. A file without a record has no header, which is not an error.
func (h *Headed) next() error {
	path := h.Files[0]
	h.Files = h.Files[1:]
	h.Close()
	text, err := h.Open(path)
	if err != nil {
		return err
	}
	h.text, h.records = text, bufio.NewReaderSize(text, textBuffer)
	marked := false
	if h.CSV != nil {
		// A byte order mark does not belong to the name of the first column. The result begins with one
		// if the first file does. The marks of other files are dropped.
		start, _ := h.records.Peek(len(scan.ByteOrderMark)) // the next Read returns its error again
		if marked = string(start) == scan.ByteOrderMark; marked {
			_, _ = h.records.Discard(len(start)) // these bytes are in the buffer, so this cannot fail
		}
		h.records = bufio.NewReaderSize(&csvRecords{name: path, r: h.records, format: *h.CSV, record: 1}, textBuffer)
	}
	header := []byte{}
	for records := 0; records < h.Records; {
		part, err := h.records.ReadSlice(h.Delim)
		switch header = append(header, part...); {
		case len(header) > MostHeaderBytes:
			return errs.Inputf(errs.Quote(path), "its header is longer than %d bytes", MostHeaderBytes)
		case err == nil:
			records++
		case err != bufio.ErrBufferFull && err != io.EOF:
			return err
		case err == io.EOF && len(header) > 0 && header[len(header)-1] != h.Delim: // a last line without its end
			header = append(header, h.Delim)
		}
		if err == io.EOF { // more records than the file has
			break
		}
	}
	switch {
	case len(h.Header) == 0:
		h.Header, h.Marked = header, marked
	case len(header) == 0:
	// One file may have lines that end with CR LF, and another one lines that end with LF.
	case !bytes.Equal(withoutReturn(header), withoutReturn(h.Header)):
		return errs.Inputf(errs.Quote(path), "its header differs from that of the first file")
	}
	return nil
}

// withoutReturn returns a header without its delimiter, and without a carriage return before that.
func withoutReturn(header []byte) []byte {
	return bytes.TrimSuffix(header[:len(header)-1], []byte("\r"))
}

// HeaderRecord returns a header of one record, without its end; nil: there is none.
func (h *Headed) HeaderRecord() []byte {
	if len(h.Header) == 0 {
		return nil
	}
	return withoutReturn(h.Header)
}

// headedError marks an error of Headed.Read, which names its file.
type headedError struct{ error }

// Unwrap returns the error that names the file.
func (e *headedError) Unwrap() error { return e.error }

// HeadedError returns the error that Headed.Read has returned, if err wraps it, and else err. A run reads a
// Headed as standard input, so it wraps the error in one that names standard input.
func HeadedError(err error) error {
	if of, ok := errors.AsType[*headedError](err); ok {
		return of.error
	}
	return err
}

// Read reads records, each with its end, up to the end of the last file.
func (h *Headed) Read(p []byte) (int, error) {
	for {
		if h.text != nil {
			n, err := h.records.Read(p)
			// At the end of a file the loop goes on with the next file.
			switch {
			case err != nil && err != io.EOF:
				return n, &headedError{err}
			case n > 0:
				return n, nil
			}
		}
		if len(h.Files) == 0 {
			return 0, io.EOF
		}
		if err := h.next(); err != nil {
			return 0, &headedError{err}
		}
	}
}

// Close closes the current file. It may be called again.
func (h *Headed) Close() {
	if h.text != nil {
		h.text.Leave(-1)
		h.text.Close()
		h.text = nil
	}
}

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

// TextFile reads the decoded text of one file, or of standard input, for programs that have no Plan. Only
// one goroutine may use it.
type TextFile struct {
	path       string   // "-" is standard input
	file       *os.File // nil: standard input
	regular    *os.File // file or standard input, if this is a regular file; else nil
	at         int64    // the offset of regular when it was opened
	bytes      int64    // of regular from there to its end
	decode     codec.Decoders
	text       io.Reader // the decoded text
	decoded    int64     // bytes of text that were read
	compressed bool      // Leave may be called after Close
}

// TextOptions are the options of OpenTextFile.
type TextOptions struct {
	Stdin       io.Reader
	NoDecode    bool        // take the bytes of compressed files as they are
	WindowBytes int64       // the most memory that a decoder may take
	Warn        func(error) // is called if bytes follow the compressed data
}

// OpenTextFile opens the file at path, or takes the standard input of o for "-". Its errors name the file.
func OpenTextFile(path string, o TextOptions) (_ *TextFile, err error) {
	l := &TextFile{path: path}
	// Close leaves standard input open, because it belongs to the caller.
	var raw io.Reader = o.Stdin
	if path != "-" {
		f, err := disk.OpenInput(path)
		if err != nil {
			return nil, errs.Inputf(errs.Quote(path), "open failed: %w", errs.Cause(err))
		}
		l.file, raw = f, f
	}
	if f, ok := raw.(*os.File); ok {
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() {
			l.at, _ = f.Seek(0, io.SeekCurrent) // a regular file has an offset, so this cannot fail
			l.regular, l.bytes = f, info.Size()-l.at
			// Other processes may share the offset of standard input, so only Leave moves it. In
			// /proc the size is 0, and pread may not work.
			if l.file == nil && l.bytes > 0 {
				raw = io.NewSectionReader(f, l.at, math.MaxInt64-l.at)
			}
		}
	}
	// As in a run, bytes after the end of the compressed data are only a warning.
	l.decode.Garbage = func(of codec.Codec) {
		o.Warn(fmt.Errorf("%s: trailing garbage behind the %s data is ignored", errs.Quote(path), of))
	}
	l.decode.Charge = func(bytes int64) (func(), error) {
		if bytes > o.WindowBytes {
			return nil, errs.Errorf("a decoder's window of %d bytes does not fit in memory; raise %s", bytes, errs.Field("Options.MemoryBytes"))
		}
		return func() {}, nil
	}
	if l.text, err = l.decode.Open(raw, o.NoDecode); err != nil {
		err = l.explain(err)
		l.Close()
		return nil, err
	}
	l.compressed = l.decode.Codec() != codec.None
	return l, nil
}

// Regular reports whether the text is that of a regular file, and not of standard input.
func (l *TextFile) Regular() bool { return l.file != nil && l.regular != nil }

// Read reads decoded text. Its errors name the file. A regular file that became shorter since it was opened
// is an error at its end.
func (l *TextFile) Read(p []byte) (int, error) {
	n, err := l.text.Read(p)
	l.decoded += int64(n)
	switch {
	case err == io.EOF && l.regular != nil && l.decode.Ended():
		// io.EOF alone does not show whether the file became shorter.
		if short := Shorter(l.regular, l.decode.StoredBytes(), l.bytes); short != nil {
			err = errs.Inputf(errs.Quote(l.path), "%w", short)
		}
	case err != nil && err != io.EOF:
		err = l.explain(err)
	}
	return n, err
}

// Leave sets the offset of standard input behind this number of bytes of its text, where a process that
// shares it reads on (POSIX.1-2017, XCU 1.4). A negative number stands for all. Of a compressed file
// all counts as used. Another input stays as it is.
func (l *TextFile) Leave(bytes int64) {
	if l.file != nil || l.regular == nil || l.bytes <= 0 {
		return
	}
	if bytes < 0 || bytes > l.bytes || l.compressed {
		bytes = l.bytes
	}
	_, _ = l.regular.Seek(l.at+bytes, io.SeekStart) // the result is complete, whatever the offset
}

// explain returns err with the name of the file and, for a compressed file, its format and the place
// of the error. It asks the decoders, so it must be called before Close.
func (l *TextFile) explain(err error) error {
	return errs.Inputf(errs.Quote(l.path), "read failed: %w", l.decode.Explain(err, l.decoded))
}

// Close closes the decoders and the file, but not standard input. It must not be called twice.
func (l *TextFile) Close() {
	l.decode.Close()
	if l.file != nil {
		l.file.Close() // nothing was written, so no error can be lost
	}
}
