package input

import (
	"bufio"
	"bytes"
	"errors"
	"io"

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
	var of *headedError
	if errors.As(err, &of) {
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
