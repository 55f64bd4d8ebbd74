package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Tables take no height from the slots or from the drawings below them. They begin on the screen, below the slots.
func TestTablesLeaveTheDrawingsTheirHeight(t *testing.T) {
	few, two := recorded(t, borrow, "fair", "pi-dhfs")
	many, folded := recorded(t, fromFile(t, "../../../bench/workloads/fig5.yaml"), "pi-dhfs", "pd-dhfs")
	rows, of := recorded(t, strings.Replace(borrow, "map_slots: 1, reduce_slots: 1", "map_slots: 30, reduce_slots: 6", 1), "fair", "pi-dhfs")
	for name, url := range map[string]string{
		"few slots": serve(t, few, append([]string{"ui"}, two...)...), "folded slots": serve(t, many, append([]string{"ui"}, folded...)...), "36 rows": serve(t, rows, append([]string{"ui"}, of...)...),
	} {
		for _, size := range [][2]int64{{1024, 768}, {1280, 800}, {1920, 1080}, {390, 844}} {
			t.Run(fmt.Sprintf("%s, %d pixels", name, size[0]), func(t *testing.T) {
				tab := open(t, url)
				do(t, tab, chromedp.EmulateViewport(size[0], size[1]))
				until(t, tab, "Array.from(document.querySelectorAll('.lanes canvas')).filter(c => c.dataset.bars > 0).length === 2 && document.querySelector('.below .by, .below button, .below > div') && document.querySelector('#headline').textContent")
				until(t, tab, still)
				heights := "Array.from(document.querySelectorAll('.lanes canvas, #panel canvas'), c => Math.round(c.clientHeight)).join()"
				before := eval(t, tab, heights)
				press(t, tab, "t")
				until(t, tab, "document.querySelectorAll('#attempts td').length > 10 && "+still)
				if after := eval(t, tab, heights); after != before {
					t.Errorf("the drawings have the heights %s without tables, and %s with them", before, after)
				}
				if size[0] > 700 {
					until(t, tab, "(r => r.top + 60 < document.querySelector('main').getBoundingClientRect().bottom && r.height > 100)(document.querySelector('#attempts').getBoundingClientRect())")
				}
				press(t, tab, "t")
				until(t, tab, fmt.Sprintf("%s === %q", heights, before))
			})
		}
	}
}

// The slots come first: rows of an unfolded band are so high that bars have their letters, also where the middle column
// must scroll. The tabs below the slots stay in sight, and so does the reason beside them.
func TestUnfoldedSlotsHaveTheRoom(t *testing.T) {
	dir, names := recorded(t, fromFile(t, "../../../bench/workloads/fig5.yaml"), "pi-dhfs", "pd-dhfs")
	url := serve(t, dir, append([]string{"ui"}, names...)...)
	for _, size := range [][2]int64{{1024, 768}, {1280, 800}, {1920, 1080}, {390, 844}} {
		tab := open(t, url)
		do(t, tab, chromedp.EmulateViewport(size[0], size[1]))
		push(t, tab, "#inspector button")
		until(t, tab, "document.querySelector('.lanes canvas').dataset.bands === '1' && document.querySelector('#inspector .sentence') && "+still)
		bars := 0
		for _, w := range texts(t, tab, ".lanes canvas") {
			if strings.HasPrefix(w.Text, "a m") || strings.HasPrefix(w.Text, "b m") {
				bars++
			}
		}
		if bars < 60 {
			t.Errorf("%d pixels: %d bars of the reduce slots have their letters", size[0], bars)
		}
		if size[0] > 700 {
			until(t, tab, "(main => [document.querySelector('#tabs [role=tablist]'), document.querySelector('#inspector'), document.querySelector('#list')].every(e => e.getBoundingClientRect().bottom <= main.bottom + 1))(document.querySelector('main').getBoundingClientRect())")
		}
	}
	// The address has what is selected, so another tab unfolds its band.
	tab := open(t, url)
	push(t, tab, "#inspector button")
	until(t, tab, "location.hash.includes('seq=')")
	until(t, open(t, eval(t, tab, "location.href")), "document.querySelector('.lanes canvas').dataset.bands === '1' && document.querySelector('#inspector .sentence')")
}

// A bar has its letter at 11 pixels, but a copy only where the dashes of its outline do not cover the letter.
func TestLettersOfCopiesAreNotBehindDashes(t *testing.T) {
	tab := open(t, serve(t, t.TempDir(), "ui"))
	var got string
	do(t, tab, chromedp.Evaluate(`import('./draw.js').then(({ Paint, fit }) => {
  const paint = new Paint('light', 1), ctx = fit(document.createElement('canvas'), 60, 20, 1), all = [];
  ctx.fillText = () => all.push(true);
  return [11, 13, 20].flatMap((h) => [false, true].map((copy) => {
    all.length = 0;
    paint.label(ctx, { x: 0, y: 0, w: 60, h, letter: 'A', task: 'm1', segments: [['compute', 0, 60]], copy }, paint.hue(0));
    return all.length;
  })).join(' ');
})`, &got, awaited))
	if got != "1 0 1 0 1 1" {
		t.Errorf("letters of bars and copies at 11, 13 and 20 pixels: %s", got)
	}
}

// still is true if no height on the page has changed for a while.
const still = `(() => {
  const now = Array.from(document.querySelectorAll('canvas, #headline, #inspector, main > *'), e => e.clientHeight).join();
  if (window.heights?.now !== now) window.heights = { now, since: performance.now() };
  return performance.now() - window.heights.since > 400;
})()`

// On a phone and at 200 % zoom, headline, slots and the reason of the selected bar are on one screen.
func TestAPhoneShowsBarAndReasonTogether(t *testing.T) {
	dir, names := recorded(t, borrow, "fair", "pi-dhfs")
	many, of := recorded(t, fromFile(t, "../../../bench/workloads/fig5.yaml"), "pi-dhfs", "pd-dhfs")
	together := `(() => {
  const box = (s) => document.querySelector(s).getBoundingClientRect(), seen = Array.from(document.querySelectorAll('.lanes canvas'), c => c.getBoundingClientRect());
  return document.querySelector('#inspector .sentence') && box('#headline').top >= -1 && seen.every(r => r.top >= 0 && r.bottom <= innerHeight) && box('#inspector .sentence').bottom <= innerHeight && box('#inspector').top >= box('#stack').bottom;
})()`
	for _, c := range []struct {
		name, url string
		show      func(tab context.Context)
	}{
		{"few slots", serve(t, dir, append([]string{"ui"}, names...)...), func(context.Context) {}},
		{"folded slots", serve(t, many, append([]string{"ui"}, of...)...), func(context.Context) {}},
		{"lesson", serve(t, t.TempDir(), "demo", "borrow", "--ui"), func(tab context.Context) {
			push(t, tab, "#lesson button")
			do(t, tab, chromedp.Evaluate("Array.from(document.querySelectorAll('#lesson button')).find(b => b.textContent === 'Show all').click()", nil))
			until(t, tab, "(r => r.top >= -1 && r.bottom < innerHeight)(document.querySelector('#headline').getBoundingClientRect()) && document.querySelector('#headline').textContent")
		}},
	} {
		for _, size := range [][2]int64{{390, 844}, {640, 400}, {512, 384}, {960, 540}} {
			t.Run(fmt.Sprintf("%s, %d pixels", c.name, size[0]), func(t *testing.T) {
				tab := open(t, c.url)
				do(t, tab, chromedp.EmulateViewport(size[0], size[1]))
				until(t, tab, "document.querySelectorAll('.lanes canvas')[1].dataset.bars !== undefined")
				c.show(tab)
				until(t, tab, "document.querySelectorAll('.lanes canvas')[1].dataset.bars > 0 && document.querySelector('#headline').textContent")
				push(t, tab, "#inspector button")
				until(t, tab, together)
				do(t, tab, chromedp.Evaluate("scrollTo(0, document.body.scrollHeight)", nil))
				push(t, tab, ".decision")
				press(t, tab, "\u2190")
				do(t, tab, chromedp.Evaluate("scrollTo(0, 0)", nil))
				push(t, tab, "#forth")
				push(t, tab, "#back")
				until(t, tab, together)
			})
		}
	}
}

// between returns the address of a proxy of a server. A request for which holds is true waits until the function is
// called.
func between(t *testing.T, server string, holds func(r *http.Request) bool) (address string, release func()) {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	wait, proxy := make(chan struct{}), &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if holds(r) {
			<-wait
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	release = sync.OnceFunc(func() { close(wait) })
	t.Cleanup(release)
	return between.URL + "/", release
}

// Until the first picture the page says that it loads, and then it does what keys have asked for before.
func TestKeysBeforeTheFirstPictureAreNotLost(t *testing.T) {
	dir, names := recorded(t, borrow, "fair", "pi-dhfs")
	for name, c := range map[string]struct {
		server string
		holds  func(r *http.Request) bool
	}{
		"the second run is late": {serve(t, dir, append([]string{"ui"}, names...)...), func(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, "run=1") }},
		"the simulator is late":  {served(t, playground(t)), func(r *http.Request) bool { return r.URL.Path == "/lab.wasm.gz" }},
	} {
		t.Run(name, func(t *testing.T) {
			address, release := between(t, c.server, c.holds)
			tab := open(t, address)
			do(t, tab, chromedp.EmulateViewport(390, 844))
			until(t, tab, "document.querySelector('#lasting').checkVisibility() && document.querySelector('#lasting').textContent === 'Loading…' && document.querySelector('#clock').inert && document.querySelector('#stack')")
			for range 4 {
				press(t, tab, "+")
			}
			press(t, tab, "t")
			time.Sleep(4 * pause) // for a page that does not wait
			release()
			// Four times 0.7 of the whole run: the drawing has a quarter of it.
			until(t, tab, "document.querySelectorAll('.lanes canvas').length === 2 && document.querySelector('.lanes canvas').dataset.bars > 0 && document.body.classList.contains('tables') && document.querySelector('#lasting').hidden && !document.querySelector('#clock').inert")
			if got := eval(t, tab, "document.querySelector('.lanes canvas').dataset.bars"); got != "4" && got != "5" {
				t.Errorf("%s bars are drawn, want a quarter of 16", got)
			}
		})
	}
}

// A link is opened, although what was shown before is still to be put into the address. The page is busy for so long
// that both wait: the link, and then the address.
func TestALinkIsOpenedWhileTheAddressIsWritten(t *testing.T) {
	tab := open(t, served(t, playground(t))+"#lesson=overlap")
	until(t, tab, "document.querySelector('#lesson h2')?.textContent.startsWith('Reduces that wait')")
	do(t, tab, chromedp.Evaluate(`(() => {
  setTimeout(() => document.querySelector('#other').click(), 190);
  Array.from(document.querySelectorAll('#lesson button')).find(b => b.textContent === 'Show all').click();
  for (const end = performance.now() + 400; performance.now() < end;);
})()`, nil))
	until(t, tab, "document.querySelector('#mistake.good') !== null")
}

// Runs of one policy have the shortest ends of their paths that tell them apart, on a site and on a server.
func TestRunsOfOnePolicyHaveShortNames(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, name := range []string{"first/run.jsonl", "second/run.jsonl", "second/half.jsonl"} {
		from, names := recorded(t, strings.Replace(borrow, "maps: 12", fmt.Sprintf("maps: %d", 12+4*i), 1), "pi-dhfs")
		paths = append(paths, filepath.Join(dir, name))
		if err := os.MkdirAll(filepath.Dir(paths[i]), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(from, names[0]), paths[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := export(filepath.Join(dir, "site"), paths...); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{served(t, filepath.Join(dir, "site")), serve(t, dir, append([]string{"ui"}, paths...)...)} {
		tab := open(t, address)
		until(t, tab, "/^first.run.jsonl ends first, after [0-9]+ s; second.run.jsonl [0-9]+ s later/.test(document.querySelector('#headline').textContent)")
		if got := eval(t, tab, "document.querySelector('#runs').innerText.replace(/\\s+/g, ' ').trim()"); got != "first/run.jsonl second/run.jsonl half.jsonl" {
			t.Errorf("the runs: %s", got)
		}
		if got := eval(t, tab, "document.body.innerText"); strings.Contains(got, dir) {
			t.Errorf("a path of this machine: %s", got)
		}
	}
}

// The text of a changed run has the settings that were given, unless the policy ignores them, and makes the same run.
func TestAChangedRunHasWhatWasGiven(t *testing.T) {
	plain := strings.Replace(borrow, "defaults: {slowstart: 1.0, ", "defaults: {", 1)
	given := strings.Replace(borrow, "slowstart: 1.0", "slowstart: 0.5, attempts: 3", 1)
	for _, c := range []struct{ policy, workload, want string }{
		{"omo", plain, ""}, {"ras", plain, ""}, {"dynsplit", plain, ""}, {"fresh", plain, ""}, {"fair-deficit", plain, ""}, {"batch-finish", plain, ""}, {"fair", plain, ""},
		{"omo", given, "defaults: {attempts: 3}"}, {"fair", given, "defaults: {slowstart: 0.5, attempts: 3}"},
	} {
		t.Run(c.policy+" "+c.want, func(t *testing.T) {
			dir, names := recorded(t, c.workload, c.policy)
			tab := open(t, serve(t, dir, "ui", names[0]))
			push(t, tab, "#change:not([hidden])")
			until(t, tab, fmt.Sprintf("document.querySelector('#headline').textContent.startsWith('Nothing differs yet from %s of %[1]s.jsonl, drawn in grey. %[1]s ends at the same time')", c.policy))
			text := eval(t, tab, "document.querySelector('#text').value")
			if got := strings.Contains(text, "defaults:"); got != (c.want != "") || !strings.Contains(text, c.want) || strings.Contains(text, "weight") {
				t.Errorf("want %q:\n%s", c.want, text)
			}
		})
	}
}

// No button of the slots, no name of a setting and no name of a run is cut, on any screen.
func TestNoButtonOrNameIsCut(t *testing.T) {
	url := serve(t, t.TempDir(), "ui")
	for _, size := range [][2]int64{{390, 844}, {1024, 768}, {1280, 800}, {1920, 1080}} {
		tab := open(t, url)
		do(t, tab, chromedp.EmulateViewport(size[0], size[1]))
		until(t, tab, "document.querySelector('#mistake.good') !== null")
		do(t, tab, chromedp.Evaluate("(e => { e.value = 'fig5'; e.dispatchEvent(new Event('change')); })(document.querySelector('#example'))", nil))
		until(t, tab, "document.querySelectorAll('.lanes h2 button:not([hidden])').length === 2 && document.querySelectorAll('.slider label').length > 7 && "+still)
		cut := "Array.from(document.querySelectorAll('.slider label, #filter h2, .lanes h2 button'), (e) => e.scrollWidth > e.clientWidth || e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right ? e.textContent : '').filter(Boolean).join()"
		if got := eval(t, tab, cut); got != "" {
			t.Errorf("%d pixels: cut are %s", size[0], got)
		}
	}
}

// The page follows the theme of the system while it is open, until the reader chooses one.
func TestThePageFollowsTheThemeOfTheSystem(t *testing.T) {
	dir, names := recorded(t, borrow, "fair")
	tab := open(t, serve(t, dir, "ui", names[0]))
	until(t, tab, "document.querySelector('.lanes canvas')?.dataset.bars === '16'")
	for _, scheme := range []string{"dark", "light"} {
		do(t, tab, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		until(t, tab, "document.documentElement.dataset.theme === '"+scheme+"'")
	}
}
