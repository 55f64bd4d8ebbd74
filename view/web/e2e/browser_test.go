// Package e2e tests the page in a browser. It is a separate module, so that mrlocal does not depend on
// the protocol of the browser:
//
//	cd view/web/e2e && go test ./...
//
// The tests need Chromium, and are skipped without it.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const borrow = `cluster: {trackers: 1, map_slots: 1, reduce_slots: 1}
defaults: {slowstart: 1.0, map_time: 10s, reduce_time: 10s}
jobs:
  - {name: A, maps: 12, reduces: 4}
`

var (
	program string // mrlocal
	browser context.Context
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		fmt.Println("skipped: there is no Chromium here")
		return 0
	}
	dir, err := os.MkdirTemp("", "mrlocal-e2e-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "mrlocal")
	build := exec.Command("go", "build", "-o", program, "./cmd/mrlocal")
	build.Dir = "../../.."
	if text, err := build.CombinedOutput(); err != nil {
		fmt.Printf("go build: %v\n%s", err, text)
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 800), chromedp.WSURLReadTimeout(longestWait))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	var cancel context.CancelFunc
	browser, cancel = chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Run(browser); err != nil {
		fmt.Println("the browser does not start:", err)
		return 1
	}
	return m.Run()
}

// serve starts mrlocal with arguments and returns the address of its page.
func serve(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return serveReading(t, dir, nil, args...)
}

// serveReading does the same as serve, with a standard input for mrlocal.
func serveReading(t *testing.T, dir string, stdin *os.File, args ...string) string {
	t.Helper()
	c := exec.Command(program, args...)
	c.Dir = dir
	if stdin != nil {
		c.Stdin = stdin
	}
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
	lines := bufio.NewReader(stderr)
	for {
		line, err := lines.ReadString('\n')
		if url, ok := strings.CutPrefix(line, "mrlocal: page: "); ok && strings.HasPrefix(url, "http") {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return strings.TrimSpace(url)
		}
		if err != nil {
			t.Fatalf("mrlocal %v printed no address: %q, %v", args, line, err)
		}
	}
}

// open opens an address in a new tab. The test fails if the page throws an error.
func open(t *testing.T, url string) context.Context {
	t.Helper()
	tab, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	chromedp.ListenTarget(tab, func(e any) {
		if thrown, ok := e.(*runtime.EventExceptionThrown); ok {
			t.Errorf("the page throws: %s", thrown.ExceptionDetails.Error())
		}
	})
	if err := chromedp.Run(tab); err != nil { // the tab lives as long as the context of its first call
		t.Fatal(err)
	}
	do(t, tab, chromedp.Navigate(url))
	return tab
}

func do(t *testing.T, tab context.Context, actions ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab, longestWait)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval returns the value of an expression as text.
func eval(t *testing.T, tab context.Context, expression string) string {
	t.Helper()
	var text string
	do(t, tab, chromedp.Evaluate("String("+expression+")", &text))
	return text
}

// longestWait is the most time that a page may take for one step, on a slow and busy machine.
const (
	longestWait = 2 * time.Minute
	pause       = 50 * time.Millisecond
)

// until waits until the expression is true.
func until(t *testing.T, tab context.Context, expression string) {
	t.Helper()
	for deadline := time.Now().Add(longestWait); !isTrue(tab, expression); time.Sleep(pause) {
		if time.Now().After(deadline) {
			t.Fatalf("it never comes true: %s\nthe page: %.2000s", expression, eval(t, tab, "document.body.innerText"))
		}
	}
}

// isTrue reports whether the expression is true now. It returns false if the page is still loading and
// lacks elements, if the page is closing, or if no answer comes: a question that meets a reload may stay without one,
// and until must still have time to ask again.
func isTrue(tab context.Context, expression string) bool {
	ctx, cancel := context.WithTimeout(tab, longestWait/8)
	defer cancel()
	var yes bool
	err := chromedp.Run(ctx, chromedp.Evaluate("(() => { try { return Boolean("+expression+") } catch { return false } })()", &yes))
	return err == nil && yes
}

// push clicks an element by its selector. A click at a point could miss the element while the page is
// still laid out.
func push(t *testing.T, tab context.Context, selector string) {
	t.Helper()
	until(t, tab, fmt.Sprintf("document.querySelector(%q) !== null", selector))
	do(t, tab, pushed(selector))
}

func pushed(selector string) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).click()", selector), nil)
}

func press(t *testing.T, tab context.Context, key string) {
	t.Helper()
	do(t, tab, chromedp.KeyEvent(key))
}

// click clicks a point of a canvas, in pixels from its upper left corner, until the expression is true.
// While the page is laid out, a click may miss, so one click is not enough.
func click(t *testing.T, tab context.Context, canvas string, x, y float64, expression string) {
	t.Helper()
	for deadline := time.Now().Add(longestWait); ; {
		at := strings.Fields(eval(t, tab, fmt.Sprintf("(() => { const r = document.querySelector(%q).getBoundingClientRect(); return r.left + ' ' + r.top })()", canvas)))
		left, _ := strconv.ParseFloat(at[0], 64)
		top, _ := strconv.ParseFloat(at[1], 64)
		do(t, tab, chromedp.MouseEvent(input.MouseMoved, left+x, top+y), chromedp.MouseClickXY(left+x, top+y))
		for again := time.Now().Add(2 * time.Second); time.Now().Before(again); time.Sleep(pause) {
			if isTrue(tab, expression) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("clicks at %v, %v do not make it true: %s\nthe page: %.2000s", x, y, expression, eval(t, tab, "document.body.innerText"))
		}
	}
}

// recorded simulates the workload under policies. It returns the directory and the names of the event
// files.
func recorded(t *testing.T, workload string, policies ...string) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w.yaml"), []byte(workload), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range policies {
		c := exec.Command(program, "sim", "w.yaml", "--sched", p, "--events", p+".jsonl")
		c.Dir = dir
		if text, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		names = append(names, p+".jsonl")
	}
	return dir, names
}

// count counts the lines of an event file that contain all words.
func count(t *testing.T, name string, words ...string) int {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, line := range bytes.Split(text, []byte("\n")) {
		all := 0
		for _, w := range words {
			if bytes.Contains(line, []byte(w)) {
				all++
			}
		}
		if all == len(words) {
			n++
		}
	}
	return n
}

const (
	canvas = ".lanes canvas"
	gutter = 84.0 // as in lanes.js
	axis   = 20.0
	high   = 72.0 // row of few slots
)
