// Package web serves the page on which a person sees a run: slots, loans, decisions and
// their reasons. It shows runs that still go on, recorded ones, and simulations of the
// playground.
//
// A Server listens on one address, the loopback unless its options say otherwise. It only
// reads, apart from the simulations that a POST with JSON starts; these touch no file.
// guard.go has all checks of a request. The page is in assets; it needs no other host.
//
// A live run writes its events to a temporary file (Live), from which the page reads. So
// the run waits for one write into memory an event, and for no browser.
//
// Goroutines: docs/goroutines.md lists those of this package. Neighbours: web/lab answers the
// questions of the page, view has the model of a run; cmd/mrlocal starts servers.
package web

//go:generate go run mrlocal/web/wasm

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"mrlocal/errs"
	"mrlocal/lesson"
	"mrlocal/web/lab"
)

// Options say where a Server listens. The zero value is any free port of 127.0.0.1.
type Options struct {
	Addr        string // HOST:PORT; "": 127.0.0.1:0
	AllowRemote bool   // Addr need not be a loopback address; requests then need a token
	TempDir     string // for the events of live runs; "": the system's
}

// Limits of requests. A page sends headers of some hundred bytes and needs an answer in
// seconds. A stream of events may stay open, but each write has a limit.
const (
	headerTime     = 5 * time.Second
	requestTime    = 15 * time.Second
	writeTime      = 30 * time.Second
	idleTime       = 2 * time.Minute
	mostHeader     = 16 << 10
	mostBody       = 512 << 10
	mostStreams    = 32
	mostQuestions  = 16                     // answered at the same time; others wait for their turn
	shutdownPeriod = 500 * time.Millisecond // less than the grace of a signal
)

// Server serves the page. Its methods may be called from any goroutine.
type Server struct {
	lab      lab.Lab
	options  Options
	listener net.Listener
	http     http.Server
	token    string // "": none is needed

	streams   chan struct{} // that are open
	questions chan struct{} // that are being answered

	stop  chan struct{} // closed by Close
	once  sync.Once
	done  sync.WaitGroup
	lives []*Live
	mu    sync.Mutex   // of lives
	asked atomic.Int64 // when the last question came, in Unix nanoseconds
}

// Listen opens the address and serves the page from then on, until Close. It fails with an
// error of kind errs.BadOptions if the address cannot be used.
func Listen(o Options) (*Server, error) {
	host, remote, err := checkAddr(&o)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		// The error of net repeats the address, which the message has already.
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, errs.Optionf("Options.Addr "+o.Addr, "%v; port 0 takes a free one", err)
	}
	s := &Server{options: o, listener: l, stop: make(chan struct{}), streams: make(chan struct{}, mostStreams), questions: make(chan struct{}, mostQuestions)}
	if remote {
		s.token = newToken()
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	s.http = http.Server{
		Handler:           guard(s.routes(), allowedHosts(host, port), s.token),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       requestTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    mostHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // what a client does wrong is not our output
	}
	s.done.Go(func() {
		_ = s.http.Serve(l)
	})
	return s, nil
}

// URL returns the address of the page, with the token if one is needed.
func (s *Server) URL() string {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if given, _, err := net.SplitHostPort(s.options.Addr); err == nil && given != "" {
		host = given
	}
	u := "http://" + net.JoinHostPort(host, port) + "/"
	if s.token != "" {
		u += "?token=" + s.token
	}
	return u
}

// Add adds a recorded run.
func (s *Server) Add(r *lab.Run) { s.lab.Add(r) }

// Teach makes the runs that were added the runs of a lesson.
func (s *Server) Teach(l *lesson.Lesson) { s.lab.Teach(l) }

// Close ends all streams, waits a moment for requests, and frees the port. Events of live
// runs are removed.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.stop)
		ctx, cancel := context.WithTimeout(context.Background(), shutdownPeriod)
		defer cancel()
		// Streams have ended by stop. A request that takes longer is cut.
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close()
		}
		s.done.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, l := range s.lives {
			l.remove()
		}
	})
}

// Finish waits until a page that is open has had time to get the end of the runs: not at
// all if there is none, and less than a second otherwise.
func (s *Server) Finish(ctx context.Context) {
	if time.Since(time.Unix(0, s.asked.Load())) > finishPeriod {
		return
	}
	select {
	case <-time.After(finishPeriod):
	case <-ctx.Done():
	}
}

// finishPeriod is more than the time between two looks of a page at a run that goes on.
const finishPeriod = 900 * time.Millisecond

// routes lists the paths of the page. Only one of them is a POST: guard refuses it from other
// sites.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/events", s.events)
	mux.HandleFunc("POST /api/simulate", s.simulate)
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /api/{question}", s.question)
	mux.Handle("GET /", assetHandler())
	return mux
}

// question answers one question about a run, and notes that a page is open.
func (s *Server) question(w http.ResponseWriter, r *http.Request) {
	s.asked.Store(time.Now().UnixNano())
	release, ok := s.turn(w, r)
	if !ok {
		return
	}
	defer release()
	text, err := s.lab.Answer(r.Context(), r.PathValue("question"), r.URL.Query())
	s.answer(w, text, err)
}

// metrics answers a Prometheus server.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	release, ok := s.turn(w, r)
	if !ok {
		return
	}
	defer release()
	text, err := s.lab.Metrics(r.URL.Query().Get("run"))
	if err != nil {
		s.answer(w, nil, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text)
}

// simulate runs a draft of the playground.
func (s *Server) simulate(w http.ResponseWriter, r *http.Request) {
	if !isJSON(r) {
		http.Error(w, "send JSON, with Content-Type application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		http.Error(w, "the request is too long or was cut", http.StatusRequestEntityTooLarge)
		return
	}
	release, ok := s.turn(w, r)
	if !ok {
		return
	}
	defer release()
	text, err := s.lab.Simulate(r.Context(), body)
	s.answer(w, text, err)
}

// turn waits until a question may be answered. It sets the time that the answer may take.
func (s *Server) turn(w http.ResponseWriter, r *http.Request) (release func(), ok bool) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	select {
	case s.questions <- struct{}{}:
		return func() { <-s.questions }, true
	case <-r.Context().Done():
	case <-s.stop:
		http.Error(w, "the server ends", http.StatusServiceUnavailable)
	}
	return nil, false
}

// answer writes the JSON of an answer or of an error.
func (s *Server) answer(w http.ResponseWriter, text []byte, err error) {
	status := http.StatusOK
	if err != nil {
		status, text = lab.Problem(err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
