package web

import (
	"bufio"
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// events sends the events of a run as they are in its event file: one JSON object a line
// (NDJSON), or as server-sent events with their numbers as ids if the client asks for them.
// from is the first number that is wanted; 0 or none: the header too. A client that comes
// back with Last-Event-ID goes on behind that event. The stream of a run that still goes on
// stays open until the run ends.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many streams are open; at most "+strconv.Itoa(mostStreams), http.StatusServiceUnavailable)
		return
	}
	q := r.URL.Query()
	id := q.Get("run")
	if id == "" {
		id = "0" // the only one, mostly
	}
	run, err := s.lab.Run(id)
	if err != nil {
		s.answer(w, nil, err)
		return
	}
	from, ok := firstWanted(q.Get("from"), r.Header.Get("Last-Event-ID"))
	if !ok {
		http.Error(w, "from and Last-Event-ID are numbers of events", http.StatusBadRequest)
		return
	}
	gone := make(chan struct{})
	finished := make(chan struct{})
	defer close(finished)
	s.done.Go(func() { // the reader of a live run waits for either end
		defer close(gone)
		select {
		case <-r.Context().Done():
		case <-s.stop:
		case <-finished:
		}
	})
	in, err := run.Open(gone)
	if err != nil {
		s.answer(w, nil, err)
		return
	}
	defer in.Close()
	sse := wantsSSE(r)
	if sse {
		w.Header().Set("Content-Type", "text/event-stream")
	} else {
		w.Header().Set("Content-Type", "application/x-ndjson")
	}
	w.Header().Set("Cache-Control", "no-store")
	send(w, bufio.NewReaderSize(in, 64<<10), from, sse)
}

// firstWanted returns the number of the first event that a client wants.
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

// wantsSSE reports whether the client asks for server-sent events, as EventSource does.
func wantsSSE(r *http.Request) bool {
	return bytes.Contains([]byte(r.Header.Get("Accept")), []byte("text/event-stream"))
}

// send copies the lines from the event from on. The line "end" is the last one; a client
// of server-sent events closes the stream when it gets it.
func send(w http.ResponseWriter, in *bufio.Reader, from uint64, sse bool) {
	control := http.NewResponseController(w)
	out := bufio.NewWriterSize(w, 32<<10)
	_ = control.SetWriteDeadline(time.Now().Add(writeTime))
	_ = control.Flush() // the headers, before the first event of a run that is quiet
	for {
		line, err := in.ReadSlice('\n')
		if err == bufio.ErrBufferFull { // the header of a large cluster
			rest, more := in.ReadBytes('\n')
			line, err = append(bytes.Clone(line), rest...), more
		}
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
			// An event of SSE ends with an empty line, and its data must not contain a line end.
			// JSON has none.
			out.WriteString("data: ")
		}
		out.Write(line)
		if sse {
			out.WriteByte('\n')
		}
		// Nothing more is there yet, so the client gets what there is. Otherwise full buffers go
		// out.
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

// seqOf returns the number of the event in a line. The header and the last line have none.
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
