package process

import (
	"bytes"
	"context"
	"io"
	"os"
)

// Until returns a reader that reads from r until ctx ends, and then returns the cause of ctx.
func Until(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read checks ctx once for each read. A read that blocks is not interrupted.
func (c contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

// Seekable returns events as a file that can be read again. A pipe is read into memory.
func Seekable(ctx context.Context, events io.Reader) (io.ReadSeeker, error) {
	if f, ok := events.(*os.File); ok {
		// Only a regular file can be read from its start again.
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return f, nil
		}
	}
	// The memory is that of the whole event file. A file on the disk costs none.
	text, err := io.ReadAll(contextReader{ctx, events})
	return bytes.NewReader(text), err
}
