package web_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mrlocal/internal/errs"
	"mrlocal/sim"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
	"mrlocal/view/web"
	"mrlocal/view/web/lab"
	"mrlocal/workload"
)

const twoJobs = `
cluster: {trackers: 1, map_slots: 1, reduce_slots: 1}
defaults: {map_time: 10s, reduce_time: 10s}
jobs:
  - {name: A, maps: 12, reduces: 4}
`

// recorded simulates twoJobs under pi-dhfs and returns the name of its event file.
func recorded(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "run.jsonl")
	var text bytes.Buffer
	simulate(t, sim.Options{Events: &text})
	if err := os.WriteFile(name, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func simulate(t *testing.T, o sim.Options) {
	t.Helper()
	f, err := workload.Parse("two", []byte(twoJobs))
	if err != nil {
		t.Fatal(err)
	}
	if o.Policy, err = registry.New("pi-dhfs", policy.DefaultOptions()); err != nil {
		t.Fatal(err)
	}
	if _, err := sim.Run(t.Context(), f, o); err != nil {
		t.Fatal(err)
	}
}

// load returns the run of an event file.
func load(path string) (*lab.Run, error) {
	return lab.Recorded(path, func(<-chan struct{}) (io.ReadCloser, error) { return os.Open(path) })
}

// serve opens a server with a recorded run.
func serve(t *testing.T) *web.Server {
	t.Helper()
	s, err := web.Listen(web.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	run, err := load(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	s.Add(run)
	return s
}

// get sends a request; header lines are "Name: value".
func get(t *testing.T, method, url, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

func TestRequestsThatAreRefused(t *testing.T) {
	s := serve(t)
	draft := `{"workload":"","policies":["fair"]}`
	for name, c := range map[string]struct {
		method, path, body string
		header             []string
		want               int
	}{
		"the host of another site":            {"GET", "", "", []string{"Host: evil.example"}, 421},
		"the right host without its port":     {"GET", "", "", []string{"Host: 127.0.0.1"}, 421},
		"another port":                        {"GET", "", "", []string{"Host: 127.0.0.1:1"}, 421},
		"a simulation that another site asks": {"POST", "api/simulate", draft, []string{"Content-Type: application/json", "Sec-Fetch-Site: cross-site"}, 403},
		"a form":                              {"POST", "api/simulate", draft, []string{"Content-Type: application/x-www-form-urlencoded"}, 415},
		"a body without end":                  {"POST", "api/simulate", strings.Repeat(" ", 600<<10), []string{"Content-Type: application/json"}, 413},
		"a change by GET":                     {"GET", "api/simulate", "", nil, 404},
		"another method":                      {"DELETE", "api/model", "", nil, 405},
		"a file outside":                      {"GET", "..%2f..%2fserver.go", "", nil, 404},
		"a run that is not there":             {"GET", "api/model?run=7", "", nil, 404},
		"a number that is none":               {"GET", "api/model?run=0&from=x", "", nil, 400},
		"too many steps":                      {"GET", "api/curves?run=0&steps=1000000000", "", nil, 400},
		"a job that is not there":             {"GET", "api/shuffle?run=0&job=99", "", nil, 400},
		"an event that is not a decision":     {"GET", "api/why?run=0&seq=1", "", nil, 400},
		"a wrong number of an event":          {"GET", "api/events?from=-1", "", nil, 400},
	} {
		t.Run(name, func(t *testing.T) {
			if got, text, _ := get(t, c.method, s.URL()+c.path, c.body, c.header...); got != c.want {
				t.Errorf("status %d, want %d: %.200s", got, c.want, text)
			}
		})
	}
}

// TestHostsThatAreAnswered checks that only hosts of a browser on this machine get an answer, with the
// right port.
func TestHostsThatAreAnswered(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "localhost:0", "127.0.0.2:0", "[::1]:0"} {
		s, err := web.Listen(web.Options{Addr: addr})
		if err != nil {
			t.Logf("%s: %v", addr, err) // a machine without IPv6, or with one loopback address
			continue
		}
		defer s.Close()
		_, port, _ := net.SplitHostPort(strings.Trim(strings.TrimPrefix(s.URL(), "http:"), "/"))
		given, _, _ := net.SplitHostPort(addr)
		for host, want := range map[string]int{
			"127.0.0.1:" + port: 200, "localhost:" + port: 200, "LOCALHOST:" + port: 200, "[::1]:" + port: 200, net.JoinHostPort(given, port): 200,
			"127.0.0.3:" + port: 421, "localhost.evil.example:" + port: 421, "evil.example:" + port: 421, "[::2]:" + port: 421,
			"localhost": 421, "[::1]": 421, "127.0.0.1:1": 421, "127.0.0.1:" + port + ".evil.example": 421, "user@127.0.0.1:" + port: 421,
		} {
			if got, text, _ := get(t, "GET", s.URL()+"api/runs", "", "Host: "+host); got != want && (want != 421 || got != 400) {
				t.Errorf("--addr %s, Host %s: status %d, want %d: %s", addr, host, got, want, text)
			}
		}
	}
}

// TestChangesComeFromThePageAlone checks that only a POST with JSON simulates, and not from another
// site.
func TestChangesComeFromThePageAlone(t *testing.T) {
	s := serve(t)
	draft := `{"workload":"jobs: [{name: A, maps: 1, map_time: 1s}]","policies":["fair"]}`
	own := strings.TrimSuffix(s.URL(), "/")
	for name, c := range map[string]struct {
		method string
		header []string
		want   int
	}{
		"the page":                     {"POST", []string{"Content-Type: application/json", "Origin: " + own, "Sec-Fetch-Site: same-origin"}, 200},
		"a program":                    {"POST", []string{"Content-Type: application/json; charset=utf-8"}, 200},
		"another site":                 {"POST", []string{"Content-Type: application/json", "Sec-Fetch-Site: cross-site"}, 403},
		"a site next to it":            {"POST", []string{"Content-Type: application/json", "Sec-Fetch-Site: same-site"}, 403},
		"an old browser, another site": {"POST", []string{"Content-Type: application/json", "Origin: http://evil.example"}, 403},
		"another port":                 {"POST", []string{"Content-Type: application/json", "Origin: http://127.0.0.1:1"}, 403},
		"a frame without an origin":    {"POST", []string{"Content-Type: application/json", "Origin: null"}, 403},
		"text":                         {"POST", []string{"Content-Type: text/plain"}, 415},
		"nothing said":                 {"POST", nil, 415},
		"PUT":                          {"PUT", []string{"Content-Type: application/json"}, 405},
		"PATCH":                        {"PATCH", []string{"Content-Type: application/json"}, 405},
		"DELETE":                       {"DELETE", []string{"Content-Type: application/json"}, 405},
	} {
		if got, text, _ := get(t, c.method, s.URL()+"api/simulate", draft, c.header...); got != c.want {
			t.Errorf("%s: status %d, want %d: %.200s", name, got, c.want, text)
		}
	}
}

func TestHeadersAreBounded(t *testing.T) {
	s := serve(t)
	if got, _, _ := get(t, "GET", s.URL()+"api/runs", "", "X-Long: "+strings.Repeat("x", 32<<10)); got != 431 {
		t.Errorf("a header of 32 KiB has status %d", got)
	}
}

func TestHeadersThatDoNotEndAreDropped(t *testing.T) {
	if testing.Short() {
		t.Skip("waits 5 s")
	}
	t.Parallel() // it only waits
	s := serve(t)
	c, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(s.URL(), "http:"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: ")
	begun := time.Now()
	_ = c.SetReadDeadline(begun.Add(20 * time.Second))
	if _, err := io.ReadAll(c); err != nil || time.Since(begun) > 15*time.Second {
		t.Errorf("the connection stays for %v: %v", time.Since(begun), err)
	}
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	s := serve(t)
	for _, path := range []string{"", "main.js", "api/runs", "api/events", "none"} {
		_, _, h := get(t, "GET", s.URL()+path, "")
		for name, want := range map[string]string{
			"Content-Security-Policy":      "default-src 'self'; img-src 'self' blob:; frame-ancestors 'none'",
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := h.Get(name); !strings.HasPrefix(got, want) {
				t.Errorf("/%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("/%s may be read by other sites", path)
		}
	}
}

func TestThePageIsSmallAndNamesNoOtherHost(t *testing.T) {
	total := 0
	err := filepath.WalkDir("assets", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		total += len(text)
		for _, word := range []string{"https://", "innerHTML", "insertAdjacentHTML", "document.write", "eval("} {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s contains %s", name, word)
			}
		}
		return err
	})
	if err != nil || total > 400<<10 {
		t.Errorf("the page has %d bytes, at most %d (%v)", total, 400<<10, err)
	}
}

func TestAddresses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, o := range map[string]web.Options{
		"a port that is taken":           {Addr: taken.Addr().String()},
		"no port":                        {Addr: "127.0.0.1"},
		"no host":                        {Addr: ":8080"},
		"every address":                  {Addr: "0.0.0.0:0", AllowRemote: true},
		"an address that others reach":   {Addr: "192.0.2.1:0"},
		"a name that may be another one": {Addr: "example.invalid:0"},
	} {
		s, err := web.Listen(o)
		if err == nil {
			s.Close()
		}
		if !errs.IsUsage(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRecordedRunsAreChecked(t *testing.T) {
	text, err := os.ReadFile(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"cut":     text[:len(text)/2],
		"changed": bytes.Replace(text, []byte(`"op":"start"`), []byte(`"op":"stare"`), 1),
		"empty":   nil,
		"other":   []byte("{}\n"),
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := load(path); !errs.IsUsage(err) || !strings.Contains(fmt.Sprint(err), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// model has the fields of a model that the tests read.
type model struct {
	Seq   uint64
	Ended bool
	Bars  struct {
		Seq  []uint64
		Lent []int
	}
	Decisions struct {
		Seq, Op []uint64
	}
	Ops []string
}

func ask(t *testing.T, url string, to any) {
	t.Helper()
	status, text, _ := get(t, "GET", url, "")
	if err := json.Unmarshal([]byte(text), to); err != nil || status != 200 {
		t.Fatalf("%s: status %d, %v: %.200s", url, status, err, text)
	}
}

func TestEachLoanHasItsReason(t *testing.T) {
	s := serve(t)
	var m model
	ask(t, s.URL()+"api/model?run=0", &m)
	lent := 0
	for i, seq := range m.Bars.Seq {
		var why struct {
			Seq        uint64
			Rule, Text string
			Numbers    []struct{ Name, Value string }
		}
		ask(t, fmt.Sprintf("%sapi/why?run=0&seq=%d", s.URL(), seq), &why)
		if why.Seq != seq || why.Rule == "" || len(why.Numbers) == 0 {
			t.Errorf("the reason of %d is %+v", seq, why)
		}
		if m.Bars.Lent[i] == 1 {
			lent++
			if !strings.Contains(why.Text, "lent to it") {
				t.Errorf("the reason of the loan %d does not say so: %s", seq, why.Text)
			}
		}
	}
	if len(m.Bars.Seq) != 16 || lent != 8 || !m.Ended {
		t.Errorf("%d attempts, %d of them lent, ended %v; want 16, 8, true", len(m.Bars.Seq), lent, m.Ended)
	}
	var idle struct{ Text string }
	ask(t, s.URL()+"api/idle?run=0&slot=1&at=75000000000", &idle)
	if idle.Text == "" {
		t.Error("no answer to why a slot is idle")
	}
}

// The page has each column of each table that the server sends. Its list of columns is in model.js.
func TestThePageHasTheColumnsOfTheServer(t *testing.T) {
	text, err := os.ReadFile("assets/model.js")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "const columns = {\n")
	list, _, _ = strings.Cut(list, "};")
	page := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): \[(.*)\],$`).FindAllStringSubmatch(list, -1) {
		page[m[1]] = strings.Split(strings.ReplaceAll(m[2], "'", ""), ", ")
		slices.Sort(page[m[1]])
	}
	s := serve(t)
	var tables map[string]json.RawMessage
	ask(t, s.URL()+"api/model?run=0", &tables)
	delete(page, "statuses") // few runs have them
	delete(tables, "config") // no table, although it is an object
	seen := 0
	for name, raw := range tables {
		var table map[string]json.RawMessage
		if page[name] == nil && json.Unmarshal(raw, &table) != nil {
			continue // no table
		}
		if err := json.Unmarshal(raw, &table); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if names := slices.Sorted(maps.Keys(table)); !slices.Equal(names, page[name]) {
			t.Errorf("%s: the server sends %q, the page reads %q", name, names, page[name])
		}
		seen++
	}
	if seen != len(page) || seen < 9 {
		t.Errorf("the server sends %d tables, the page reads %d", seen, len(page))
	}
}

func TestTheModelComesInParts(t *testing.T) {
	s := serve(t)
	var whole, rest model
	ask(t, s.URL()+"api/model?run=0", &whole)
	half := whole.Bars.Seq[8]
	ask(t, fmt.Sprintf("%sapi/model?run=0&from=%d", s.URL(), half), &rest)
	if len(rest.Bars.Seq) != 7 || rest.Bars.Seq[0] != whole.Bars.Seq[9] {
		t.Errorf("behind event %d come %v, of %v", half, rest.Bars.Seq, whole.Bars.Seq)
	}
}

func TestEventsGoOnBehindTheLastOne(t *testing.T) {
	s := serve(t)
	_, whole, _ := get(t, "GET", s.URL()+"api/events?run=0", "")
	lines := strings.SplitAfter(whole, "\n")
	_, part, _ := get(t, "GET", s.URL()+"api/events?run=0&from=10", "")
	if want := strings.Join(lines[10:], ""); part != want {
		t.Errorf("from event 10:\n%.300s\nwant\n%.300s", part, want)
	}
	_, sse, h := get(t, "GET", s.URL()+"api/events?run=0", "", "Accept: text/event-stream", "Last-Event-ID: 9")
	if want := "id: 10\ndata: " + lines[10] + "\n"; !strings.HasPrefix(sse, want) || h.Get("Content-Type") != "text/event-stream" {
		t.Errorf("behind event 9:\n%.300s\nwant\n%.300s", sse, want)
	}
	if !strings.HasSuffix(sse, "data: "+lines[len(lines)-2]+"\n") {
		t.Errorf("the stream does not end with the last line: %q", sse[max(0, len(sse)-200):])
	}
}

func TestStreamsAreBounded(t *testing.T) {
	s, err := web.Listen(web.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	live := s.Live("a run that is quiet")
	stream := trace.NewStream()
	live.Watch(stream)
	stream.Open(trace.Header{Policy: "fifo", Slots: []trace.Slot{{}}})
	for range 32 {
		res, err := http.Get(s.URL() + "api/events")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"schema":`) {
			t.Fatalf("a stream begins with %q, %v", line, err)
		}
	}
	if status, _, _ := get(t, "GET", s.URL()+"api/events", ""); status != 503 {
		t.Errorf("stream 33 has status %d", status)
	}
	if status, _, _ := get(t, "GET", s.URL()+"api/runs", ""); status != 200 {
		t.Errorf("a question next to 32 streams has status %d", status)
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}

// A reader that never reads must not stop the run.
func TestASlowReaderDoesNotStopTheRun(t *testing.T) {
	s, err := web.Listen(web.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	live := s.Live("pi-dhfs")
	fmt.Fprintf(c, "GET /api/events HTTP/1.1\r\nHost: %s\r\n\r\n", c.RemoteAddr())
	simulate(t, sim.Options{Watch: live.Watch})
	var m model
	for deadline := time.Now().Add(10 * time.Second); !m.Ended; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the model has come to event %d and has not ended", m.Seq)
		}
		ask(t, s.URL()+"api/model?run=0", &m)
	}
	if len(m.Bars.Seq) != 16 {
		t.Errorf("the live run has %d attempts, want 16", len(m.Bars.Seq))
	}
}

// An error of the disk ends the page's view of a run, and not the run.
func TestAFullDiskEndsThePageAndNotTheRun(t *testing.T) {
	s, err := web.Listen(web.Options{TempDir: filepath.Join(t.TempDir(), "missing")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	live := s.Live("pi-dhfs")
	simulate(t, sim.Options{Watch: live.Watch}) // fails the test if the run fails
	var list struct{ Runs []struct{ Ended bool } }
	for deadline := time.Now().Add(10 * time.Second); len(list.Runs) == 0 || !list.Runs[0].Ended; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the page waits for events that never come")
		}
		ask(t, s.URL()+"api/runs", &list)
	}
}

func TestNothingIsLeft(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	s, err := web.Listen(web.Options{TempDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	live := s.Live("pi-dhfs")
	simulate(t, sim.Options{Watch: live.Watch})
	get(t, "GET", s.URL()+"api/events", "")
	s.Close()
	s.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if c, err := net.DialTimeout("tcp", strings.Trim(strings.TrimPrefix(s.URL(), "http:"), "/"), time.Second); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestMetricsAreThoseOfTheRun(t *testing.T) {
	s := serve(t)
	status, text, h := get(t, "GET", s.URL()+"metrics", "")
	if status != 200 || !strings.HasPrefix(h.Get("Content-Type"), "text/plain; version=0.0.4") || !strings.Contains(text, "mrlocal_run_info{policy=\"pi-dhfs\"} 1\n") {
		t.Errorf("status %d, %s: %.300s", status, h.Get("Content-Type"), text)
	}
	if status, _, _ := get(t, "GET", s.URL()+"metrics?run=9", ""); status != 404 {
		t.Errorf("a run that is not there has status %d", status)
	}
}

func TestAServerIsNoProxy(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	s := serve(t)
	if status, _, _ := get(t, "GET", s.URL()+"http://"+strings.TrimPrefix(other.URL, "http://"), ""); status < 300 {
		t.Errorf("status %d", status)
	}
}
