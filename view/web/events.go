package web

import (
	"bufio"
	"bytes"
	"net/http"
	"strconv"
	"time"
)

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
	id := q.Get("run")
	if id == "" {
		id = "0" // the first run, and mostly the only one
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
	ctx, cancel := s.while(r) // its end ends the reader of a live run
	defer cancel()
	in, err := run.Open(ctx.Done())
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

// wantsSSE reports whether the client asks for server-sent events, as EventSource does.
func wantsSSE(r *http.Request) bool {
	return bytes.Contains([]byte(r.Header.Get("Accept")), []byte("text/event-stream"))
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
