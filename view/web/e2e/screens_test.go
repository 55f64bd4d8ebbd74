package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var screens = flag.String("screens", "", "write a picture of each screen into this directory, to be looked at")

// TestScreens draws each screen at four sizes, in the light and in the dark theme. The second command
// draws only one screen:
//
//	go test -run TestScreens -screens /tmp/screens .
//	go test -run TestScreens/readme -screens /tmp/screens .
func TestScreens(t *testing.T) {
	if *screens == "" {
		t.Skip("no -screens")
	}
	if err := os.MkdirAll(*screens, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, names := recorded(t, fromFile(t, "../../../bench/workloads/fig5.yaml"), "pi-dhfs", "pd-dhfs")
	two := serve(t, dir, append([]string{"ui"}, names...)...)
	dir, names = recorded(t, fromFile(t, "../../../bench/workloads/two-pools.yaml"), "fair", "pi-dhfs", "dynamicmr")
	pools := serve(t, dir, "ui", names[0], names[1])
	three := serve(t, dir, append([]string{"ui"}, names...)...)
	real := serve(t, dir, "ui", spilling(t, dir))
	play := serve(t, t.TempDir(), "ui")
	live := serveReading(t, t.TempDir(), typing(t), "run", "wordcount", "-", "-o", "out.txt", "--block-size", "256KiB", "--sort-buffer", "512KiB", "--reducers", "2", "--ui", "--progress", "none")
	// A lesson begins with no bars.
	drawn := "Array.from(document.querySelectorAll('.lanes canvas')).some(c => c.dataset.bars > 0) || document.querySelector('#lesson button')"
	// The element to push may appear later than the bars.
	there := func(selector string) chromedp.Action {
		return chromedp.Tasks{chromedp.WaitReady(selector, chromedp.ByQuery), pushed(selector)}
	}
	tab := func(name string) chromedp.Action { return there("[data-tab=" + name + "]") }
	example := func(name string) chromedp.Action {
		return chromedp.Evaluate(fmt.Sprintf("(() => { const e = document.querySelector('#example'); e.value = %q; e.dispatchEvent(new Event('change')) })()", name), nil)
	}
	all := chromedp.Evaluate("Array.from(document.querySelectorAll('#runs input:not(:checked)')).forEach(c => c.click())", nil)
	right := func(times int) (steps chromedp.Tasks) {
		for range times {
			steps = append(steps, chromedp.KeyEvent(kb.ArrowRight))
		}
		return steps
	}
	type screen struct {
		name, url string
		show      []chromedp.Action
	}
	list := []screen{
		{"readme", pools, []chromedp.Action{chromedp.KeyEvent("l"), there("#inspector button"), right(8)}}, // docs/page.png
		{"three", three, []chromedp.Action{all}},
		{"three-differences", three, []chromedp.Action{all, tab("differences")}},
		{"two", two, nil},
		{"loan", two, []chromedp.Action{there("#inspector button")}},
		{"differences", two, []chromedp.Action{tab("differences")}},
		{"zoom", two, []chromedp.Action{chromedp.KeyEvent("+"), chromedp.KeyEvent("+"), chromedp.KeyEvent("+"), chromedp.KeyEvent("+")}},
		{"tables", two, []chromedp.Action{chromedp.KeyEvent("t")}},
		{"share", two, []chromedp.Action{chromedp.KeyEvent("s"), chromedp.WaitVisible("#picture img", chromedp.ByQuery)}},
		{"keys", two, []chromedp.Action{chromedp.KeyEvent("?")}},
		{"kvbuffers", real, []chromedp.Action{tab("buffers")}},
		{"shuffle", real, []chromedp.Action{tab("shuffle"), chromedp.KeyEvent(kb.ArrowRight)}},
		{"live", live, nil},
		{"playground", play, nil},
		{"changed", three, []chromedp.Action{there("#change:not([hidden])"), chromedp.WaitReady("#s-map-slots", chromedp.ByQuery),
			chromedp.Evaluate("(s => { s.value = 4; s.dispatchEvent(new Event('input')) })(document.querySelector('#s-map-slots'))", nil), chromedp.Sleep(2 * time.Second)}},
		{"straggler", play, []chromedp.Action{example("straggler"), chromedp.Sleep(time.Second), tab("differences")}},
		{"spill", play, []chromedp.Action{example("spill"), chromedp.Sleep(time.Second), tab("buffers")}},
		{"starving", play, []chromedp.Action{example("starving")}},
	}
	lessonButton := func(text string) chromedp.Action {
		return chromedp.Evaluate(fmt.Sprintf("Array.from(document.querySelectorAll('#lesson button')).find(b => b.textContent.startsWith(%q)).click()", text), nil)
	}
	fast := chromedp.Evaluate("(e => { e.value = '100'; e.dispatchEvent(new Event('change')) })(document.querySelector('#speed'))", nil)
	asked := chromedp.Poll("document.querySelector('#lesson .question:not([hidden])')", nil)
	lessonAnswer := pushed("#lesson .question button")
	for _, name := range []string{"borrow", "pools", "spill", "straggler", "deadlines", "overlap"} {
		url := serve(t, t.TempDir(), "demo", name, "--ui")
		ready := chromedp.WaitVisible("#lesson button", chromedp.ByQuery)
		begin := chromedp.Tasks{ready, fast, lessonButton("Begin"), asked}
		list = append(list,
			screen{name + "-begin", url, []chromedp.Action{ready}},
			screen{name + "-asked", url, []chromedp.Action{begin}},
			screen{name + "-answered", url, []chromedp.Action{begin, lessonAnswer}},
			screen{name + "-end", url, []chromedp.Action{begin, lessonAnswer, lessonButton("Show all")}})
	}
	for _, s := range list {
		t.Run(s.name, func(t *testing.T) {
			for _, size := range [][2]int64{{390, 844}, {1024, 768}, {1280, 800}, {1920, 1080}} {
				for _, theme := range []string{"light", "dark"} {
					page := open(t, s.url)
					do(t, page, chromedp.EmulateViewport(size[0], size[1]),
						emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}),
						chromedp.Evaluate("localStorage.clear()", nil), chromedp.Reload())
					until(t, page, drawn)
					do(t, page, append(s.show, chromedp.Sleep(700*time.Millisecond))...)
					picture(t, page, fmt.Sprintf("%s-%d-%s.png", s.name, size[0], theme))
					if err := chromedp.Cancel(page); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

func picture(t *testing.T, tab context.Context, name string) {
	t.Helper()
	var png []byte
	do(t, tab, chromedp.CaptureScreenshot(&png))
	if err := os.WriteFile(filepath.Join(*screens, name), png, 0o644); err != nil {
		t.Fatal(err)
	}
}

func fromFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// typing returns an input that gets 100 KB of words ten times a second, until the test ends.
func typing(t *testing.T) *os.File {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		close(done)
		_ = read.Close()
	})
	go func() {
		defer write.Close()
		for {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
				if _, err := write.WriteString(strings.Repeat("to be or not to be\n", 5_000)); err != nil {
					return
				}
			}
		}
	}()
	return read
}

// spilling runs a word count that spills, and returns its event file.
func spilling(t *testing.T, dir string) string {
	t.Helper()
	for _, args := range [][]string{
		{"gen", "corpus", "--size", "16MiB", "text.txt"},
		{"run", "sort", "text.txt", "-o", "out.txt", "--block-size", "2MiB", "--memory", "32MiB", "--sort-buffer", "256KiB", "--reducers", "4", "--map-slots", "2", "--reduce-slots", "1", "--events", "real.jsonl", "--progress", "none"},
	} {
		c := exec.Command(program, args...)
		c.Dir = dir
		if text, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return "real.jsonl"
}
