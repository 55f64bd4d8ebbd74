package web

import (
	"io"
	"os"
	"sync"
	"time"

	"mrlocal/trace"
	"mrlocal/web/lab"
)

// Live writes the events of a run that goes on to a temporary file, for the page. It is a
// sink of the run's stream. An error, such as a full disk, ends the page's view of the run
// and never the run.
//
// The goroutine of the run encodes an event into memory; full buffers go to the file.
// Readers of the file have the buffer written when they have come to its end.
type Live struct {
	server *Server
	run    *lab.Run

	mu struct {
		sync.Mutex
		lines *trace.JSONL
		file  *os.File // nil: removed, or never made
		bytes int64    // written to file
		ended bool     // no more events come
		err   error    // the first one; nothing is written after it
	}
}

// Live adds a run that is about to start. Its Watch gets the stream of the run.
func (s *Server) Live(name string) *Live {
	l := &Live{server: s}
	l.run = s.lab.Add(lab.NewRun(name, l.open))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives = append(s.lives, l)
	return l
}

// Watch attaches the page to the stream of the run, and starts to read the events.
func (l *Live) Watch(stream *trace.Stream) {
	stream.Attach(l)
	l.server.done.Go(func() {
		l.run.Follow(l.server.stop)
	})
}

// Open writes the header. It returns no error, as Record and Close.
func (l *Live) Open(h *trace.Header) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.file, l.mu.err = temporary(l.server.options.TempDir); l.mu.err != nil {
		l.mu.ended = true
		return nil
	}
	l.mu.lines = trace.NewJSONL(tape{l})
	l.fail(l.mu.lines.Open(h))
	return nil
}

// Record writes an event.
func (l *Live) Record(s *trace.Stream, e *trace.Event) error {
	l.mu.Lock()
	if l.mu.err == nil {
		l.fail(l.mu.lines.Record(s, e))
	}
	l.mu.Unlock()
	return nil
}

// Close writes the last line.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.err == nil {
		l.fail(l.mu.lines.Close())
	}
	l.mu.ended = true
	return nil
}

// fail keeps the first error. The caller holds the lock.
func (l *Live) fail(err error) {
	if err != nil {
		l.mu.err, l.mu.ended = err, true
	}
}

// tape is where the lines of a Live go. Its writer holds the lock.
type tape struct{ l *Live }

// Write appends to the file. It is called with the lock of Live, because readers ask for its
// length.
func (t tape) Write(p []byte) (int, error) {
	if t.l.mu.file == nil {
		return 0, os.ErrClosed
	}
	n, err := t.l.mu.file.WriteAt(p, t.l.mu.bytes)
	t.l.mu.bytes += int64(n)
	return n, err
}

// temporary makes a file without a name, where the system allows that: nothing is left of
// it if the process is killed.
func temporary(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "mrlocal-page-*")
	if err == nil {
		_ = os.Remove(f.Name()) // elsewhere remove does it
	}
	return f, err
}

// remove frees the file. Readers that still run get the end.
func (l *Live) remove() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.mu.file; f != nil {
		l.mu.file, l.mu.ended = nil, true
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
}

// open is the lab.Opener of the run.
func (l *Live) open(wait <-chan struct{}) (io.ReadCloser, error) {
	return &reader{live: l, wait: wait}, nil
}

// reader reads the file of a Live from its start. Each reader has its own place in the file,
// so several follow one run.
type reader struct {
	live *Live
	wait <-chan struct{} // nil: reading ends with what is there
	at   int64
}

// pollTime is how long a reader waits at the end of the events: less than a person notices.
const pollTime = 50 * time.Millisecond

// Read reads what is there. At the end it waits for more, or returns io.EOF.
func (r *reader) Read(p []byte) (int, error) {
	for {
		n, ended, err := r.live.read(p, r.at)
		r.at += int64(n)
		switch {
		case n > 0:
			return n, nil
		case err != nil:
			return 0, err
		case ended || r.wait == nil:
			return 0, io.EOF
		}
		select {
		case <-r.wait:
			return 0, io.EOF
		case <-time.After(pollTime):
		}
	}
}

// Close implements io.Closer: the file belongs to the Live.
func (r *reader) Close() error { return nil }

// read reads from the file at an offset, after the buffer is written if the offset is the
// end.
func (l *Live) read(p []byte, at int64) (n int, ended bool, err error) {
	l.mu.Lock()
	if at == l.mu.bytes && l.mu.lines != nil && !l.mu.ended {
		l.fail(l.mu.lines.Flush())
	}
	file, end, ended := l.mu.file, l.mu.bytes, l.mu.ended
	l.mu.Unlock()
	if file == nil {
		return 0, ended, nil
	}
	if n = int(min(int64(len(p)), end-at)); n == 0 {
		return 0, ended, nil
	}
	n, err = file.ReadAt(p[:n], at)
	return n, ended, err
}
