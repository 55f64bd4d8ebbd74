package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"mrlocal/input/codec"
)

// EventFile reads a recorded run or a trace from a file or from standard input. It decodes a
// compressed one, which it detects by its first bytes. One goroutine uses it.
type EventFile struct {
	from     io.Reader
	file     *os.File // is from; nil: standard input
	decoders codec.Decoders
	text     io.Reader // the decoded events; nil: nothing was read yet
	at       int64     // decoded bytes that were read
}

// OpenEvents opens the event file of that path, or takes stdin if the path is -. It fails if the
// path is that of a directory. The caller closes the result.
func OpenEvents(path string, stdin io.Reader) (*EventFile, error) {
	if path == stdout { // the path - is standard input here
		return &EventFile{from: stdin}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	// The error of reading a directory would be less clear.
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.Join(errors.New("is a directory; name a file"), f.Close())
	}
	return &EventFile{from: f, file: f}, nil
}

// Read reads decoded text. The error of a corrupt file has the place of the error in the decoded text.
func (e *EventFile) Read(p []byte) (n int, err error) {
	if e.text == nil {
		if e.text, err = e.decoders.Open(e.from, false); err != nil {
			return 0, e.decoders.Explain(err, e.at)
		}
	}
	n, err = e.text.Read(p)
	if e.at += int64(n); err != nil && err != io.EOF {
		err = e.decoders.Explain(err, e.at)
	}
	return n, err
}

// Seekable returns the events as a reader that can be read again from its start. It is e itself for
// a regular file. Otherwise Seekable reads all events into memory, and fails
// if they are more than mostInMemory, or if ctx ends before.
func (e *EventFile) Seekable(ctx context.Context) (io.ReadSeeker, error) {
	// Only a regular file can be read from its start again.
	if e.file != nil {
		if info, err := e.file.Stat(); err == nil && info.Mode().IsRegular() {
			return e, nil
		}
	}
	text, err := io.ReadAll(io.LimitReader(Until(ctx, e), mostInMemory+1))
	if len(text) > mostInMemory {
		return nil, fmt.Errorf("more than %d MiB of events that can be read only once; name a file", mostInMemory>>20)
	}
	return bytes.NewReader(text), err
}

// mostInMemory bounds the events that are kept in memory, in bytes.
const mostInMemory = 256 << 20

// Seek goes back to the start of a regular file. Any other seek is an error.
func (e *EventFile) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart || e.file == nil {
		return 0, errors.New("events are read from their start only")
	}
	e.decoders.Close()
	e.decoders, e.text, e.at = codec.Decoders{}, nil, 0
	return e.file.Seek(0, io.SeekStart)
}

// Close closes the file. Standard input stays open.
func (e *EventFile) Close() error {
	e.decoders.Close()
	if e.file == nil {
		return nil
	}
	return e.file.Close()
}

// Until returns a reader of r whose Read fails with the cause of ctx once ctx has ended. A Read
// that waits for r is not interrupted.
func Until(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

// contextReader is the reader of Until.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read checks ctx and then reads from r.
func (c contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}
