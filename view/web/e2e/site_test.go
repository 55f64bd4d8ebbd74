package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// site is the directory of a site with the playground. TestMain removes it. The site is made only once,
// because compiling the simulator for browsers takes long on a busy machine.
var site = sync.OnceValues(func() (dir string, err error) {
	dir = filepath.Join(filepath.Dir(program), "site")
	return dir, export(dir)
})

func export(dir string, args ...string) error {
	text, err := exec.Command(program, append([]string{"ui", "--export", dir}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	if !strings.Contains(string(text), "compiling the simulator for browsers") {
		return fmt.Errorf("it does not say what it does: %s", text)
	}
	return nil
}

func playground(t *testing.T) (dir string) {
	t.Helper()
	dir, err := site()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// served returns the address of a site on a plain file server.
func served(t *testing.T, dir string) string {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

const mostModuleBytes = 3 << 20

// write puts a text into the editor, with the event that typing causes.
func write(t *testing.T, tab context.Context, text string) {
	t.Helper()
	do(t, tab, chromedp.Evaluate(fmt.Sprintf("(() => { const e = document.querySelector('#text'); e.value = %q; e.dispatchEvent(new Event('input')) })()", text), nil)) // SetValue would make two edits
}

// TestASiteNeedsNoServer checks that the playground simulates in the browser and shows reasons, and
// that its link shows the same in another tab.
func TestASiteNeedsNoServer(t *testing.T) {
	dir := playground(t)
	if info, err := os.Stat(filepath.Join(dir, "lab.wasm.gz")); err != nil || info.Size() > mostModuleBytes {
		t.Errorf("the module has more than %d bytes: %v, %v", mostModuleBytes, info, err)
	}
	tab := open(t, served(t, dir))
	until(t, tab, "document.querySelector('#mistake').textContent.startsWith('16 tasks under 2 policies')")
	until(t, tab, "Array.from(document.querySelectorAll('.lanes canvas'), c => c.dataset.bars).join() === '16,16'")
	write(t, tab, strings.Replace(borrow, "maps: 12", "mops: 12", 1))
	until(t, tab, "document.querySelector('#mistake').textContent.startsWith('line 4, column ')")
	write(t, tab, strings.Replace(borrow, "maps: 12", "maps: 20", 1))
	until(t, tab, "Array.from(document.querySelectorAll('.lanes canvas'), c => c.dataset.bars).join() === '24,24'")
	push(t, tab, "#inspector button")
	until(t, tab, "document.querySelector('#inspector .rule')?.textContent === 'map-borrows'")
	other := open(t, eval(t, tab, "location.href"))
	until(t, other, "document.querySelector('#text').value.includes('maps: 20') && document.querySelectorAll('.lanes canvas').length === 2")
	push(t, tab, "#share") // the simulator draws the picture
	shares(t, tab, "1920,1080,true,rgb 255")
}

// TestAnEditCancelsTheSimulationOfASite checks that an edit ends the worker with its simulation.
// The runs on the screen still have their reasons.
func TestAnEditCancelsTheSimulationOfASite(t *testing.T) {
	tab := open(t, served(t, playground(t)))
	until(t, tab, "document.querySelector('#mistake').textContent.startsWith('16 tasks under 2 policies')")
	long := "cluster: {trackers: 100, map_slots: 10, reduce_slots: 2}\ndefaults: {map_time: {uniform: [1s, 90s]}, reduce_time: 9s}\njobs:\n" + strings.Repeat("  - {name: J, maps: 40, reduces: 4}\n", 1000)
	for i := range 1000 {
		long = strings.Replace(long, "name: J,", "name: K"+string(rune('a'+i%26))+strings.Repeat("x", i/26)+",", 1)
	}
	write(t, tab, long)
	write(t, tab, "jobs: [")
	until(t, tab, "document.querySelector('#mistake').textContent.startsWith('line 1, column ')")
	push(t, tab, "#inspector button") // a loan of the runs that are still shown
	until(t, tab, "document.querySelector('#inspector .rule')?.textContent === 'map-borrows'")
}

// TestRecordedRunsStandOnASite checks a site with recorded runs in addition to the playground.
func TestRecordedRunsStandOnASite(t *testing.T) {
	dir, names := recorded(t, borrow, "fair", "pi-dhfs")
	for i := range names {
		names[i] = filepath.Join(dir, names[i])
	}
	if err := export(filepath.Join(dir, "site"), names...); err != nil {
		t.Fatal(err)
	}
	tab := open(t, served(t, filepath.Join(dir, "site")))
	until(t, tab, "Array.from(document.querySelectorAll('.lanes canvas'), c => c.dataset.bars).join() === '16,16'")
	push(t, tab, "#inspector button")
	until(t, tab, "document.querySelector('#inspector .rule')?.textContent === 'map-borrows'")
	press(t, tab, kb.Escape)
	press(t, tab, kb.End)
	// The reduce slot under fair. Rows of two runs are lower than those of one.
	click(t, tab, canvas, gutter+60, axis+high+4, "document.querySelector('#inspector .reasons')?.innerText.includes('the gate of A was closed')")
	push(t, tab, "#share")
	shares(t, tab, "1920,1080,true,rgb 255")
	push(t, tab, "#shared button")
	push(t, tab, "#other")
	until(t, tab, "document.querySelector('#mistake').textContent.startsWith('16 tasks under 2 policies')")
}

// The first screen of recorded runs does not wait for the simulator.
func TestASiteShowsItsRunsBeforeTheSimulatorIsLoaded(t *testing.T) {
	dir, names := recorded(t, borrow, "fair", "pi-dhfs")
	for i := range names {
		names[i] = filepath.Join(dir, names[i])
	}
	if err := export(filepath.Join(dir, "site"), names...); err != nil {
		t.Fatal(err)
	}
	files, wait := http.FileServer(http.Dir(filepath.Join(dir, "site"))), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lab.wasm.gz" {
			<-wait
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	load := sync.OnceFunc(func() { close(wait) })
	t.Cleanup(load)
	tab := open(t, server.URL+"/")
	until(t, tab, "Array.from(document.querySelectorAll('.lanes canvas'), c => c.dataset.bars).join() === '16,16'")
	until(t, tab, "document.querySelector('#headline').textContent.includes('pi-dhfs') && document.querySelector('#inspector').innerText.includes('ended last')")
	load()
	push(t, tab, "#inspector button")
	until(t, tab, "document.querySelector('#inspector .rule') !== null")
}

// TestASiteOfPython serves a site with Python's file server, which most people have.
func TestASiteOfPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python here")
	}
	c := exec.Command(python, "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", playground(t), "0")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, rest, _ := strings.Cut(line, "(http://")
	address, _, ok := strings.Cut(rest, "/)")
	if !ok {
		t.Fatalf("python3 printed no address: %q, %v", line, err)
	}
	tab := open(t, "http://"+address+"/")
	until(t, tab, "document.querySelector('#mistake').textContent.startsWith('16 tasks under 2 policies')")
}

// A site that is opened from disk says why it does not work.
func TestASiteOnDiskSaysWhyItDoesNotWork(t *testing.T) {
	tab := open(t, "file://"+filepath.Join(playground(t), "index.html"))
	until(t, tab, "(e => e.checkVisibility({ visibilityProperty: true }) && e.innerText.includes('python3 -m http.server'))(document.querySelector('#disk'))")
	page := open(t, served(t, playground(t)))
	until(t, page, "document.querySelector('#mistake.good') && !document.querySelector('#disk')")
}
