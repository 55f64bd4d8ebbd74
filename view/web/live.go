package web

import (
	"io"
	"os"
	"sync"
	"time"

	"mrlocal/trace"
	"mrlocal/view/web/lab"
)

// Live writes the events of a live run to a temporary file, from which the page reads them. It is
// a trace.Sink of the run. After an error, such as a full disk, the page gets no more events. The
// run itself continues.
//
// The goroutine of the run encodes each event into a buffer in memory, and writes full buffers to
// the file. A reader at the end of the file writes the buffer to the file before it reads on.
type Live struct {
	server *Server
	run    *lab.Run

	mu struct {
		sync.Mutex
		lines *trace.JSONL
		file  *os.File // nil: not created, or removed
		bytes int64    // size of file
		ended bool     // no more events follow
		err   error    // the first error; nothing is written after it
	}
}

// Live adds a run that will start now. The caller passes Live.Watch to the run. name is shown to
// users.
func (s *Server) Live(name string) *Live {
	l := &Live{server: s}
	l.run = s.lab.Add(lab.NewRun(name, l.open))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives = append(s.lives, l)
	return l
}

// Watch attaches l to the stream of a run, and starts a goroutine that reads the events into the
// model of the page. It must be called before the first event.
func (l *Live) Watch(stream *trace.Stream) {
	stream.Attach(l)
	l.server.done.Go(func() {
		l.run.Follow(l.server.open.Done())
	})
}

// Open creates the temporary file and writes the header to it. Like Record and Close, it never
// returns an error: it keeps the error in l.
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

// Record writes an event to the buffer. It never returns an error.
func (l *Live) Record(s *trace.Stream, e *trace.Event) error {
	l.mu.Lock()
	if l.mu.err == nil {
		l.fail(l.mu.lines.Record(s, e))
	}
	l.mu.Unlock()
	return nil
}

// Close writes the last line of the event file. It never returns an error.
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

// tape is the io.Writer through which the lines of a Live go to its file.
type tape struct{ l *Live }

// Write appends p to the file. The caller holds the lock of the Live, which guards bytes.
func (t tape) Write(p []byte) (int, error) {
	if t.l.mu.file == nil {
		return 0, os.ErrClosed
	}
	n, err := t.l.mu.file.WriteAt(p, t.l.mu.bytes)
	t.l.mu.bytes += int64(n)
	return n, err
}

// temporary creates a temporary file and removes its name, if the system allows that for an open
// file. Then the file disappears even if the process is killed.
func temporary(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "mrlocal-page-*")
	if err == nil {
		_ = os.Remove(f.Name()) // if this fails, Live.remove removes the file
	}
	return f, err
}

// remove closes and removes the file. Readers that are still open get io.EOF.
func (l *Live) remove() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.mu.file; f != nil {
		l.mu.file, l.mu.ended = nil, true
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
}

// open opens the events of the run, as a lab.Opener.
func (l *Live) open(wait <-chan struct{}) (io.ReadCloser, error) {
	return &reader{live: l, wait: wait}, nil
}

// reader reads the file of a Live from its start. Each reader has its own place in the file.
type reader struct {
	live *Live
	wait <-chan struct{} // as in lab.Opener; nil: do not wait for more events
	at   int64           // offset in the file
}

// pollTime is the time between two reads at the end of the events. People do not notice it.
const pollTime = 50 * time.Millisecond

// Read reads the bytes that are there. At the end of the file it waits for more. It returns io.EOF if
// no more bytes follow, if wait is closed, or at once if wait is nil.
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

// Close does nothing, because the file belongs to the Live.
func (r *reader) Close() error { return nil }

// read reads from the file at an offset. At the end of the file it first writes the buffer to the file.
// ended reports that no more events follow.
func (l *Live) read(p []byte, at int64) (n int, ended bool, err error) {
	l.mu.Lock()
	if at == l.mu.bytes && l.mu.lines != nil && !l.mu.ended {
		l.fail(l.mu.lines.Flush())
	}
	file := l.mu.file
	end := l.mu.bytes
	ended = l.mu.ended
	l.mu.Unlock()
	// Bytes before end never change, so they are read without the lock. The run need not wait.
	if file == nil {
		return 0, ended, nil
	}
	if n = int(min(int64(len(p)), end-at)); n == 0 {
		return 0, ended, nil
	}
	n, err = file.ReadAt(p[:n], at)
	return n, ended, err
}
