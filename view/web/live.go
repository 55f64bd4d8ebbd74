package web

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
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

// events answers with the lines of a run's event file: one JSON object on each line (NDJSON). A
// client that asks for server-sent events gets those, with the event numbers as ids. The parameter
// from is the number of the first event; 0 or missing: the header comes first. If a client has
// lost its connection and sends Last-Event-ID, the stream continues after that event. The stream of
// a live run stays open until the run ends.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if !s.streams.TryAcquire(1) {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many streams are open; at most "+strconv.Itoa(mostStreams), http.StatusServiceUnavailable)
		return
	}
	defer s.streams.Release(1)
	q := r.URL.Query()
	id := cmp.Or(q.Get("run"), "0") // the first run, and mostly the only one
	run, err := s.lab.Run(id)
	if err != nil {
		answer(w, jsonKind, nil, err)
		return
	}
	from, ok := firstWanted(q.Get("from"), r.Header.Get("Last-Event-ID"))
	if !ok {
		http.Error(w, "from and Last-Event-ID are numbers of events", http.StatusBadRequest)
		return
	}
	ctx, cancel := s.while(r) // its end ends the reader of a live run
	defer cancel()
	in, err := run.Open(ctx.Done())
	if err != nil {
		answer(w, jsonKind, nil, err)
		return
	}
	defer in.Close()
	sse := strings.Contains(r.Header.Get("Accept"), "text/event-stream") // server-sent events, for EventSource
	if sse {
		w.Header().Set("Content-Type", "text/event-stream")
	} else {
		w.Header().Set("Content-Type", "application/x-ndjson")
	}
	w.Header().Set("Cache-Control", "no-store")
	send(w, bufio.NewReaderSize(in, 64<<10), from, sse)
}

// firstWanted returns the number of the first event that a client wants. from is the parameter of the
// request, and last the header Last-Event-ID, which wins. ok is false if one is not a number.
func firstWanted(from, last string) (uint64, bool) {
	if last != "" {
		n, err := strconv.ParseUint(last, 10, 63)
		return n + 1, err == nil
	}
	if from == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(from, 10, 63)
	return n, err == nil
}

// send copies lines of an event file to w: those from event number from on, and the last line. A
// client of server-sent events closes its stream at that line.
func send(w http.ResponseWriter, in *bufio.Reader, from uint64, sse bool) {
	control := http.NewResponseController(w)
	out := bufio.NewWriterSize(w, 32<<10)
	_ = control.SetWriteDeadline(time.Now().Add(writeTime))
	_ = control.Flush() // sends the headers now, because the first event may come late
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		seq, numbered := seqOf(line)
		if numbered && seq < from || !numbered && from > 0 && !bytes.HasPrefix(line, []byte(`{"op":"end"`)) {
			continue
		}
		if sse {
			if numbered {
				out.WriteString("id: " + strconv.FormatUint(seq, 10) + "\n")
			}
			// A server-sent event ends with an empty line, and each line of its data needs this
			// word. Our JSON is always one line.
			out.WriteString("data: ")
		}
		out.Write(line)
		if sse {
			out.WriteByte('\n')
		}
		// If no more input is there yet, the client gets everything so far. Otherwise out is only
		// written when it is full.
		if in.Buffered() == 0 {
			_ = control.SetWriteDeadline(time.Now().Add(writeTime))
			if out.Flush() != nil || control.Flush() != nil {
				return
			}
		}
	}
	_ = control.SetWriteDeadline(time.Now().Add(writeTime))
	_ = out.Flush()
}

// seqOf returns the event number in a line. ok is false for the header and the last line, which have
// none.
func seqOf(line []byte) (seq uint64, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	if !ok {
		return 0, false
	}
	digits, _, ok := bytes.Cut(rest, []byte(","))
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseUint(string(digits), 10, 64)
	return seq, err == nil
}
