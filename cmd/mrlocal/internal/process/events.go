package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"mrlocal/input/codec"
)

// EventFile is a recorded run that is read, a file or standard input. What is compressed is
// decoded, whatever its name. One goroutine uses it.
type EventFile struct {
	from     io.Reader
	file     *os.File // from, if OpenEvents has opened it
	decoders codec.Decoders
	text     io.Reader // decoded; nil: nothing was read yet
	at       int64     // decoded bytes that were read
}

// OpenEvents opens the file of that path, or standard input if the path is -. The caller
// closes what it returns.
func OpenEvents(path string, stdin io.Reader) (*EventFile, error) {
	if path == stdout { // - is standard input where something is read
		return &EventFile{from: stdin}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	// Reading a directory would fail later, with an error that does not say why.
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.Join(errors.New("is a directory; name a file that --events wrote"), f.Close())
	}
	return &EventFile{from: f, file: f}, nil
}

// Read reads decoded text.
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

// Seekable returns the events as a file that can be read again. Those of a pipe are read into
// memory, until ctx ends.
func (e *EventFile) Seekable(ctx context.Context) (io.ReadSeeker, error) {
	// Only a regular file can be read from its start again.
	if e.file != nil {
		if info, err := e.file.Stat(); err == nil && info.Mode().IsRegular() {
			return e, nil
		}
	}
	// The memory is that of all events. A file on the disk costs none.
	text, err := io.ReadAll(Until(ctx, e))
	return bytes.NewReader(text), err
}

// Seek goes back to the start; it can do nothing else.
func (e *EventFile) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart || e.file == nil {
		return 0, errors.New("events are read from their start only")
	}
	e.text, e.at = nil, 0
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

// Until returns a reader of r that ends with ctx, with the cause of ctx. A read that
// blocks is not interrupted.
func Until(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read checks ctx once for each read.
func (c contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}
