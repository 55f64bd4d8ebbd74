// Package web serves the page that shows runs: slots, loans, decisions and their reasons. The page
// shows live runs, recorded runs, and simulations of the playground.
//
// A Server listens on one address, by default of the loopback. Requests can only read, except
// that a POST with JSON starts a simulation. A simulation touches no file. guard.go has all checks
// of a request. The files of the page are in assets, and the page loads nothing from other hosts.
//
// A live run writes its events to a temporary file (Live), and the page reads that file. So the
// run spends one write into memory on each event, and never waits for a browser.
//
// Goroutines: docs/goroutines.md lists those of this package.
package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"mrlocal/internal/errs"
	"mrlocal/view"
	"mrlocal/view/lesson"
	"mrlocal/view/web/lab"
)

//go:generate go run mrlocal/view/web/wasm

// Options are the options of Listen. The zero value stands for any free port of 127.0.0.1.
type Options struct {
	Addr        string // HOST:PORT; "": 127.0.0.1:0
	AllowRemote bool   // Addr may be another address than the loopback; then requests need a token
	TempDir     string // directory for the events of live runs; "": the system's directory
}

// These are limits of requests. A page sends headers of some hundred bytes and gets each answer
// within seconds. A stream of events may stay open for hours, but each write to it has writeTime.
const (
	headerTime     = 5 * time.Second
	requestTime    = 15 * time.Second // for reading a request
	writeTime      = 30 * time.Second
	idleTime       = 2 * time.Minute
	mostHeader     = 16 << 10               // bytes
	mostBody       = 512 << 10              // bytes
	mostStreams    = 32                     // open streams of events; the next client gets an error
	mostQuestions  = 16                     // questions that are answered at the same time; others wait
	shutdownPeriod = 500 * time.Millisecond // shorter than the time between the first signal and the end of the process
)

// Server serves the page. Its methods may be called from any goroutine.
type Server struct {
	lab      lab.Lab
	options  Options
	listener net.Listener
	http     http.Server
	admit    *admission // nil: requests need no token

	streams   *semaphore.Weighted // an open stream holds one of mostStreams places
	questions *semaphore.Weighted // a question that is being answered holds one of mostQuestions places

	open  context.Context // ends with Close
	stop  context.CancelFunc
	once  sync.Once
	done  sync.WaitGroup // all goroutines of the Server
	lives []*Live
	mu    sync.Mutex   // guards lives
	asked atomic.Int64 // the time of the last question, in Unix nanoseconds
}

// Listen opens the address of o, starts to serve the page, and returns. The caller must call Close.
// Listen fails with errs.BadOptions if the address cannot be used.
func Listen(o Options) (*Server, error) {
	host, remote, err := checkAddr(&o)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		// The error of net repeats the address, which the message has already.
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err
		}
		return nil, errs.Fieldf("Options.Addr", "%s: %v; port 0 takes a free one", o.Addr, err)
	}
	s := &Server{options: o, listener: l, streams: semaphore.NewWeighted(mostStreams), questions: semaphore.NewWeighted(mostQuestions)}
	s.open, s.stop = context.WithCancel(context.Background())
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if remote {
		s.admit = newAdmission(port)
	}
	s.http = http.Server{
		Handler:           guard(s.routes(), allowedHosts(host, port), s.admit),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       requestTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    mostHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // mistakes of clients are not output of mrlocal
	}
	s.done.Go(func() {
		_ = s.http.Serve(l)
	})
	return s, nil
}

// URL returns the URL of the page, with the token if requests need one.
func (s *Server) URL() string {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if given, _, err := net.SplitHostPort(s.options.Addr); err == nil && given != "" {
		host = given
	}
	u := "http://" + net.JoinHostPort(host, port) + "/"
	if s.admit != nil {
		u += "?token=" + s.admit.token
	}
	return u
}

// Add adds a recorded run. The page shows the runs in the order of Add and Live.
func (s *Server) Add(r *lab.Run) { s.lab.Add(r) }

// Teach sets the lesson of the runs that were added, as lab.Lab.Teach describes it.
func (s *Server) Teach(l *lesson.Lesson) { s.lab.Teach(l) }

// Close ends all streams, waits up to 500 ms for other requests, and frees the port. It removes the
// temporary files of live runs. A second call does nothing.
func (s *Server) Close() {
	s.once.Do(func() {
		s.stop()
		ctx, cancel := context.WithTimeout(context.Background(), shutdownPeriod)
		defer cancel()
		// stop ends the streams. A request that takes longer than the period loses its connection.
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

// Finish gives an open page time to get the last events of the runs. It waits less than a second,
// and not at all if no page has asked a question lately. It returns earlier if ctx ends.
func (s *Server) Finish(ctx context.Context) {
	if time.Since(time.Unix(0, s.asked.Load())) > finishPeriod {
		return
	}
	select {
	case <-time.After(finishPeriod):
	case <-ctx.Done():
	}
}

// finishPeriod is longer than the time between two questions of a page about a live run (POLL in
// main.js).
const finishPeriod = 900 * time.Millisecond

// routes returns the handler of all paths. The only POST is api/simulate. guard refuses it if another
// site sends it.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/events", s.events)
	mux.HandleFunc("POST /api/simulate", s.simulate)
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /api/{question}", s.question)
	mux.Handle("GET /", assetHandler())
	return mux
}

// question answers a question of the page about runs. It stores the time for Finish.
func (s *Server) question(w http.ResponseWriter, r *http.Request) {
	s.asked.Store(time.Now().UnixNano())
	s.inTurn(w, r, jsonKind, func() ([]byte, error) {
		return s.lab.Answer(r.Context(), r.PathValue("question"), r.URL.Query())
	})
}

// metrics answers with the metrics of a run, for a Prometheus server.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	s.inTurn(w, r, "text/plain; version=0.0.4; charset=utf-8", func() ([]byte, error) { return s.lab.Metrics(r.URL.Query().Get("run")) })
}

// simulate simulates a draft of the playground.
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
	s.inTurn(w, r, jsonKind, func() ([]byte, error) { return s.lab.Simulate(r.Context(), body) })
}

// inTurn waits until fewer than mostQuestions questions are being answered, and then answers with the text of ask,
// which is of a kind. It also sets the deadline of the answer.
func (s *Server) inTurn(w http.ResponseWriter, r *http.Request, kind string, ask func() ([]byte, error)) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	ctx, cancel := s.while(r)
	defer cancel()
	switch {
	case s.questions.Acquire(ctx, 1) == nil:
		defer s.questions.Release(1)
		text, err := ask()
		answer(w, kind, text, err)
	// Else the client has gone.
	case s.open.Err() != nil:
		http.Error(w, "the server is closing", http.StatusServiceUnavailable)
	}
}

// while returns a context that ends with the request or with the server. The caller must call cancel.
func (s *Server) while(r *http.Request) (ctx context.Context, cancel func()) {
	ctx, end := context.WithCancel(r.Context())
	forget := context.AfterFunc(s.open, end)
	return ctx, func() { forget(); end() }
}

const jsonKind = "application/json; charset=utf-8"

// answer writes text, an answer of a kind, or the JSON of err if that is not nil.
func answer(w http.ResponseWriter, kind string, text []byte, err error) {
	status := http.StatusOK
	if err != nil {
		kind = jsonKind
		status, text = lab.Problem(err)
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

//go:embed assets
var assets embed.FS

// asset is a file of the page with its headers.
type asset struct {
	kind, tag string // Content-Type, ETag
	text      []byte
}

// kindOf returns the Content-Type of a file of the page. It does not use the system's table of types,
// which may differ between machines.
func kindOf(name string) string {
	return map[string]string{
		".html": "text/html; charset=utf-8",
		".js":   "text/javascript; charset=utf-8",
		".css":  "text/css; charset=utf-8",
		".svg":  "image/svg+xml",
	}[path.Ext(name)]
}

// Files returns the files of the page by name, such as index.html or main.js. The map and the texts
// belong to the caller.
func Files() map[string][]byte {
	files := map[string][]byte{}
	_ = fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[strings.TrimPrefix(name, "assets/")], err = assets.ReadFile(name)
		}
		return err // this never happens, because the files are in the program
	})
	files["signs.js"] = view.SignsScript()
	return files
}

// SiteIndex returns index.html for a page without a server. It has an attribute data-site, which the
// scripts look for, and the security policy that a Server would send as a header. A policy inside of
// a page cannot forbid frames; only a host can.
func SiteIndex() string {
	text, _ := assets.ReadFile("assets/index.html")
	meta := `<meta http-equiv="Content-Security-Policy" content="` + sitePolicy + "\">\n" + `<meta name="referrer" content="no-referrer">` + "\n"
	return strings.NewReplacer(`<html lang="en">`, `<html lang="en" data-site>`, "<title>", meta+"<title>").Replace(string(text))
}

// sitePolicy is the security policy of a page without a server: it may load its own files and run the
// compiled simulator.
const sitePolicy = "default-src 'self'; img-src 'self' blob:; script-src 'self' 'wasm-unsafe-eval'; base-uri 'none'; form-action 'none'"

// assetHandler returns a handler that serves the files of the page, and no lists of directories.
func assetHandler() http.Handler {
	files := map[string]asset{}
	for name, text := range Files() {
		sum := sha256.Sum256(text)
		files["/"+name] = asset{kindOf(name), `"` + hex.EncodeToString(sum[:12]) + `"`, text}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path
		if name == "/" {
			name = "/index.html"
		}
		f, ok := files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", f.kind)
		w.Header().Set("ETag", f.tag)
		w.Header().Set("Cache-Control", "no-cache") // browsers check the ETag each time, because a new program has a new page
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.text))
	})
}
