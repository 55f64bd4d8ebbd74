package show

import (
	"bytes"
	"io"
	"sync"
)

// Lines passes what is written to write, whole lines at a time.
func Lines(write func(string)) io.Writer { return &lines{write: write} }

type lines struct {
	write func(string)
	mu    sync.Mutex
	part  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part.Write(p)
	if end := bytes.LastIndexByte(l.part.Bytes(), '\n'); end >= 0 {
		l.write(string(l.part.Next(end + 1)))
	}
	return len(p), nil
}

// BeforeFirst calls before ahead of the first write to w: results and a live
// block on one terminal do not mix.
func BeforeFirst(w io.Writer, before func()) io.Writer { return &firstWrite{w: w, before: before} }

type firstWrite struct {
	w      io.Writer
	before func()
	once   sync.Once
}

func (f *firstWrite) Write(p []byte) (int, error) {
	f.once.Do(f.before)
	return f.w.Write(p)
}
