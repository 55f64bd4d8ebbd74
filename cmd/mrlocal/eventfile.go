package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"mrlocal/input/codec"
	"mrlocal/internal/errs"
)

// EventFile reads a recorded run or a trace from a file or from standard input. It decodes a
// compressed one, which it detects by its first bytes. One goroutine uses it.
type EventFile struct {
	name     string // for messages
	ctx      context.Context
	from     io.Reader
	file     *os.File // is from; nil: standard input
	decoders codec.Decoders
	text     io.Reader // the decoded events; nil: nothing was read yet
	at       int64     // decoded bytes that were read
}

// OpenEvents opens the event file of that path, or takes stdin if the path is -. It fails with an input error, also
// if the path is that of a directory. Once ctx has ended, Read fails with its cause; a Read that waits is not
// interrupted. The caller closes the result.
func OpenEvents(ctx context.Context, path string, stdin io.Reader) (*EventFile, error) {
	if path == stdout { // the path - is standard input here
		return &EventFile{name: errs.Quote("standard input"), ctx: ctx, from: stdin}, nil
	}
	name := errs.Quote(path)
	f, err := os.Open(path)
	if err != nil {
		return nil, errs.Inputf(name, "%v", errs.Cause(err))
	}
	// The error of reading a directory would be less clear.
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, errs.Inputf(name, "is a directory; name a file")
	}
	return &EventFile{name: name, ctx: ctx, from: f, file: f}, nil
}

// openEvents opens the event file that the only word names, or standard input for -, as OpenEvents does.
func openEvents(ctx context.Context, e Env, words []string) (*EventFile, error) {
	if len(words) != 1 {
		return nil, errs.Inputf("", "name one EVENTS file; --events FILE of run, batch and sim writes one")
	}
	return OpenEvents(ctx, words[0], e.Stdin)
}

// Read reads decoded text. The error of a corrupt file has the place of the error in the decoded text.
func (e *EventFile) Read(p []byte) (n int, err error) {
	if e.ctx.Err() != nil {
		return 0, context.Cause(e.ctx)
	}
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
// if they are more than mostInMemory.
func (e *EventFile) Seekable() (io.ReadSeeker, error) {
	// Only a regular file can be read from its start again.
	if e.file != nil {
		if info, err := e.file.Stat(); err == nil && info.Mode().IsRegular() {
			return e, nil
		}
	}
	text, err := io.ReadAll(io.LimitReader(e, mostInMemory+1))
	if len(text) > mostInMemory {
		err = fmt.Errorf("more than %d MiB of events that can be read only once; name a file", mostInMemory>>20)
	}
	if err != nil {
		return nil, errs.Inputf(e.name, "%v", err)
	}
	return bytes.NewReader(text), nil
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
