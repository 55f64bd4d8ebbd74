package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestBarsAreThoseOfTheEvents(t *testing.T) {
	dir, names := recorded(t, borrow, "pi-dhfs")
	tab := open(t, serve(t, dir, "ui", names[0]))
	starts, lent := count(t, filepath.Join(dir, names[0]), `"op":"start"`), count(t, filepath.Join(dir, names[0]), `"op":"start"`, `"lent":true`)
	if starts != 16 || lent != 8 {
		t.Fatalf("%d starts, %d of them lent", starts, lent)
	}
	until(t, tab, fmt.Sprintf("document.querySelector('%s')?.dataset.bars === '%d'", canvas, starts))
	if got := eval(t, tab, "document.querySelector('.lanes canvas').dataset.lent"); got != strconv.Itoa(lent) {
		t.Errorf("the page draws %s lent bars, want %d", got, lent)
	}
	until(t, tab, "document.querySelectorAll('#attempts tbody tr').length === 16") // the table for screen readers
}

// A task counts once, whatever attempts it has: one of the reduces fails twice, and the outputs of a lost tracker
// are computed again.
func TestProgressCountsTasks(t *testing.T) {
	dir, names := recorded(t, `cluster: {trackers: 3, map_slots: 2, reduce_slots: 1}
defaults: {slowstart: 0.1, map_time: 10s, reduce_time: 10s}
faults: [{task: A/r/0, fail: 2}, {at: 35s, tracker: 2, lost: true}]
jobs: [{name: A, maps: 24, reduces: 3}]
`, "fair")
	tab := open(t, serve(t, dir, "ui", names[0]))
	counts := "Array.from(document.querySelectorAll('.job .bar > span:last-child'), e => e.textContent).join()"
	until(t, tab, counts+" === '24/24,100 %,3/3'")
	do(t, tab, chromedp.Evaluate("(e => { e.value = 'all'; e.dispatchEvent(new Event('change')) })(document.querySelector('#which'))", nil))
	press(t, tab, kb.Home) // to a moment at which some tasks are done
	for range 20 {
		press(t, tab, kb.ArrowRight)
	}
	until(t, tab, "(([m, s, r]) => parseInt(m) > 0 && parseInt(m) < 24 && parseInt(s) < 100 && parseInt(r) < 3)("+counts+".split(','))")
}

func TestAClickShowsTheReason(t *testing.T) {
	dir, names := recorded(t, borrow, "pi-dhfs")
	tab := open(t, serve(t, dir, "ui", names[0]))
	until(t, tab, "document.querySelector('.lanes canvas')?.dataset.bars === '16'")
	// The second row is the reduce slot, which is lent at once.
	click(t, tab, canvas, gutter+6, axis+high+high/2, "document.querySelector('#inspector .rule')?.textContent === 'map-borrows'")
	// The first line is a sentence. The numbers are there, and folded.
	for _, word := range []string{"A borrowed reduce slot 1 for map 1: no reduce waited, and 12 maps wanted 1 map slot.", "12 (11 waited)", "reduceSlotsDemand", "map load factor"} {
		if text := eval(t, tab, "document.querySelector('#inspector').textContent"); !strings.Contains(text, word) {
			t.Errorf("the inspector does not say %q: %s", word, text)
		}
	}
	if text := eval(t, tab, "document.querySelector('#inspector').innerText"); strings.Contains(text, "reduceSlotsDemand") {
		t.Errorf("the numbers are not folded: %s", text)
	}
	until(t, tab, "document.querySelector('.decision[aria-selected=true]')?.innerText.includes('A/m/1')") // the list goes along
	press(t, tab, kb.Escape)
	until(t, tab, "document.querySelector('#inspector h2').textContent.startsWith('Why did')")
}

func TestAClickOnABlankSaysWhyItWasIdle(t *testing.T) {
	dir, names := recorded(t, borrow, "fair")
	tab := open(t, serve(t, dir, "ui", names[0]))
	until(t, tab, "document.querySelector('.lanes canvas')?.dataset.bars === '16'")
	// The reduce slot waits for the maps.
	click(t, tab, canvas, gutter+60, axis+high+high/2, "document.querySelector('#inspector .reasons')?.innerText.includes('the gate of A was closed')")
}

func TestTheFirstLoanIsOneClickAway(t *testing.T) {
	dir, names := recorded(t, borrow, "fair", "pi-dhfs")
	tab := open(t, serve(t, dir, append([]string{"ui"}, names...)...))
	until(t, tab, "document.querySelector('#inspector button')?.textContent === 'Show the first of 8 loans under pi-dhfs'")
	push(t, tab, "#inspector button")
	until(t, tab, "document.querySelector('#inspector .lent') !== null && document.querySelector('#inspector .rule')?.textContent === 'map-borrows'")
}

func TestStepsGoFromDecisionToDecision(t *testing.T) {
	dir, names := recorded(t, borrow, "pi-dhfs")
	tab := open(t, serve(t, dir, "ui", names[0]))
	until(t, tab, "document.querySelector('.lanes canvas')?.dataset.bars === '16'")
	press(t, tab, kb.Home)
	chosen := "document.querySelector('.decision[aria-selected=true]')?.getAttribute('aria-posinset')"
	press(t, tab, kb.ArrowRight)
	until(t, tab, chosen+" > 1")
	first, _ := strconv.Atoi(eval(t, tab, chosen))
	press(t, tab, kb.ArrowRight)
	until(t, tab, fmt.Sprintf("%s === '%d'", chosen, first+1))
	press(t, tab, kb.ArrowLeft)
	until(t, tab, fmt.Sprintf("%s === '%d'", chosen, first))
	until(t, tab, "location.hash.startsWith('#run=0&seq=')")
	press(t, tab, "l") // only loans
	until(t, tab, "document.querySelector('#list').getAttribute('aria-label').startsWith('8 of ')")
}

func TestZoomAndBack(t *testing.T) {
	dir, names := recorded(t, borrow, "fair")
	tab := open(t, serve(t, dir, "ui", names[0]))
	until(t, tab, "document.querySelector('.lanes canvas')?.dataset.bars === '16'")
	press(t, tab, "+")
	until(t, tab, "Number(document.querySelector('.lanes canvas').dataset.bars) < 16")
	press(t, tab, "0")
	until(t, tab, "document.querySelector('.lanes canvas').dataset.bars === '16'")
}

func TestTwoRunsStandOnOneAxis(t *testing.T) {
	dir, names := recorded(t, borrow, "fair", "pi-dhfs")
	tab := open(t, serve(t, dir, append([]string{"ui"}, names...)...))
	until(t, tab, "document.querySelectorAll('.lanes canvas').length === 2")
	push(t, tab, "[data-tab=differences]")
	until(t, tab, "document.querySelector('#panel table')?.innerText.includes('80 s (−50.0 %)')")
	push(t, tab, "#panel p button") // shows the first difference
	until(t, tab, "document.querySelector('#inspector .rule') !== null")
}

func TestTheShuffleAndTheCurvesAreDrawn(t *testing.T) {
	dir, names := recorded(t, borrow, "pi-dhfs")
	tab := open(t, serve(t, dir, "ui", names[0]))
	until(t, tab, "document.querySelector('#panel .sr table') !== null")
	push(t, tab, "[data-tab=shuffle]")
	until(t, tab, "document.querySelectorAll('#panel .sr tbody tr').length === 4")
	push(t, tab, "[data-tab=buffers]")
	until(t, tab, "document.querySelector('#panel .note').innerText.includes('A simulation has them under cost l2')")
}

func TestThePlayground(t *testing.T) {
	url := serve(t, t.TempDir(), "ui")
	tab := open(t, url)
	until(t, tab, "document.querySelector('#mistake').textContent.startsWith('16 tasks under 2 policies')")
	write(t, tab, strings.Replace(borrow, "maps: 12", "mops: 12", 1))
	until(t, tab, "document.querySelector('#mistake').textContent.startsWith('line 4, column ') && document.querySelector('#numbers b').textContent === '4'")
	write(t, tab, strings.Replace(borrow, "maps: 12", "maps: 20", 1))
	until(t, tab, "document.querySelector('#mistake').textContent.startsWith('24 tasks under 2 policies')")
	until(t, tab, "Array.from(document.querySelectorAll('.lanes canvas'), c => c.dataset.bars).join() === '24,24'")
	do(t, tab, chromedp.Evaluate("(() => { const s = document.getElementById('s-map-slots'); s.value = 4; s.dispatchEvent(new Event('input')) })()", nil))
	until(t, tab, "document.querySelector('.lanes h2').textContent.includes('makespan 90 s')")
	// The link shows the same in another tab.
	other := open(t, eval(t, tab, "location.href"))
	until(t, other, "document.querySelector('.lanes h2')?.textContent.includes('makespan 90 s') && document.querySelector('#text').value.includes('maps: 20')")
	// A decision of a draft has its reason, too.
	push(t, other, "#inspector button")
	until(t, other, "document.querySelector('#inspector .rule') !== null")
}

// TestEachExampleIsDrawn checks that each example shows the signs that it is about. Lessons have their own test.
func TestEachExampleIsDrawn(t *testing.T) {
	tab := open(t, serve(t, t.TempDir(), "ui"))
	until(t, tab, "document.querySelectorAll('#example option').length >= 9")
	signs := map[string]string{
		"borrow": "lent", "fig5": "lent", "table1": "lent", "starving": "killed", "deadline": "late", "straggler": "copies", "overlap": "shuffles", "spill": "spills",
	}
	for name := range strings.FieldsSeq(eval(t, tab, "Array.from(document.querySelectorAll('#example option'), o => o.value).filter(v => !v.startsWith('#')).join(' ')")) {
		sign, ok := signs[name]
		if !ok {
			t.Errorf("nothing is known of the example %q", name)
		}
		do(t, tab, chromedp.Evaluate(fmt.Sprintf("(() => { const e = document.querySelector('#example'); e.value = %q; document.querySelector('#mistake').className = ''; e.dispatchEvent(new Event('change')) })()", name), nil))
		until(t, tab, "document.querySelector('#mistake.good') !== null && document.querySelectorAll('#ticks input:checked').length === document.querySelectorAll('.lanes canvas').length")
		until(t, tab, map[string]string{
			"lent":     "Array.from(document.querySelectorAll('.lanes canvas')).some(c => c.dataset.lent > 0)",
			"late":     "document.querySelector('#jobs').innerText.includes('deadline 230 s: missed')", // under fair
			"killed":   row("killed"),
			"copies":   row("copies"),
			"shuffles": "/ ([0-9]+) attempts/.exec(document.querySelector('.lanes canvas').getAttribute('aria-label'))[1] > 100",
			"spills":   "(document.querySelector('[data-tab=buffers]').click(), document.querySelector('#panel .sr table')?.innerText.includes('begin'))",
		}[sign])
	}
}

// row returns an expression that is true if a line of the table of differences has a number above 0.
func row(name string) string {
	return fmt.Sprintf("(document.querySelector('[data-tab=differences]').click(), Array.from(document.querySelectorAll('#panel tr')).some(r => r.cells[0].textContent === %q && Array.from(r.cells).slice(1).some(c => parseInt(c.textContent) > 0)))", name)
}

// Names are text and never markup.
func TestNamesAreText(t *testing.T) {
	hostile := strings.Replace(borrow, "name: A", `name: "<img src=x onerror=alert(1)>", pool: "<b>"`, 1)
	dir, names := recorded(t, hostile, "pi-dhfs")
	tab := open(t, serve(t, dir, "ui", names[0]))
	until(t, tab, "document.querySelector('.job b')?.textContent === '<img src=x onerror=alert(1)>'")
	push(t, tab, "#inspector button")
	until(t, tab, "document.querySelector('#inspector .rule') !== null")
	if n := eval(t, tab, "document.querySelectorAll('img, #inspector b img').length"); n != "0" {
		t.Errorf("%s images", n)
	}
}

// The page follows a live run to its end, even if the network is gone for a while. The run ends
// with its standard input.
func TestALiveRunIsFollowedToItsEnd(t *testing.T) {
	dir := t.TempDir()
	text, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	tab := open(t, serveReading(t, dir, text, "run", "wordcount", "-", "-o", "out.txt", "--block-size", "64KiB", "--ui=hold", "--events", "run.jsonl", "--progress", "none"))
	more := func() {
		if _, err := typed.WriteString(strings.Repeat("to be or not to be\n", 200_000)); err != nil {
			t.Fatal(err)
		}
	}
	more()
	until(t, tab, "document.querySelector('.lanes h2').textContent.includes('goes on') && document.querySelector('.lanes canvas').dataset.bars > 0")
	until(t, tab, "/[0-9.]+ cores, buffers [0-9.]+ .?i?B of [0-9.]+ .iB, temporary files .*, read .*B\\/s$/.test(document.querySelector('#live').textContent)")
	// Nobody knows how long the input still is.
	until(t, tab, "/^[1-9][0-9]* so far$/.test(document.querySelector('.job .bar span:last-child').textContent)")
	do(t, tab, chromedp.Evaluate("window.fetched = window.fetch; window.fetch = () => Promise.reject(new TypeError('no network')); 0", nil))
	// What lasts is said for as long as it lasts: nothing claims that the run goes on.
	until(t, tab, "document.querySelector('#lasting').textContent.startsWith('The server does not answer')")
	until(t, tab, "document.querySelector('#live').hidden && /^[a-z-]+ was cut off after [0-9.]+ m?s\\.$/.test(document.querySelector('#headline').textContent)")
	time.Sleep(7 * time.Second)
	until(t, tab, "!document.querySelector('#lasting').hidden && document.querySelector('.lanes h2').textContent.includes('cut off at') && document.querySelector('.job .state').textContent === 'ran when the server was lost' && !document.querySelector('#panel canvas').hidden")
	more()
	do(t, tab, chromedp.Evaluate("window.fetch = window.fetched; 0", nil))
	until(t, tab, "document.querySelector('#notice').textContent === 'The server is there again.' && document.querySelector('#lasting').hidden && document.querySelector('.lanes h2').textContent.includes('goes on')")
	until(t, tab, "document.querySelector('#headline').textContent.includes(' goes on; so far ')")
	if err := typed.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, tab, "document.querySelector('.lanes h2').textContent.includes('makespan')")
	until(t, tab, "document.querySelector('#live').hidden")
	want := count(t, filepath.Join(dir, "run.jsonl"), `"op":"start"`)
	until(t, tab, fmt.Sprintf("document.querySelector('.lanes canvas').dataset.bars === '%d'", want))
}

// The page says how long a run of known size still takes.
func TestALiveRunSaysHowLongItStillTakes(t *testing.T) {
	dir := t.TempDir()
	workload := "cluster: {trackers: 1, map_slots: 1, reduce_slots: 1}\njobs:\n  - {name: a, job: sleep, maps: 100, reduces: 1, map_time: 200ms, reduce_time: 1s}\n"
	if err := os.WriteFile(filepath.Join(dir, "w.yaml"), []byte(workload), 0o644); err != nil {
		t.Fatal(err)
	}
	tab := open(t, serve(t, dir, "batch", "w.yaml", "--sched", "fair", "--ui", "--progress", "none"))
	until(t, tab, "document.querySelector('#headline').textContent.startsWith('fair goes on; so far ') && document.querySelector('#headline').ariaLive === 'off'")
	until(t, tab, "/, about [0-9.]+ m?s left$/.test(document.querySelector('#live').textContent)")
	// The headline and the heading of the slots have one time.
	do(t, tab, chromedp.Evaluate("window.apart = []; new MutationObserver(() => requestAnimationFrame(() => { const at = (e) => / ([0-9.]+ m?s)/.exec(document.querySelector(e).textContent.replace(/.*(so far|goes on,)/, ''))?.[1]; if (at('#headline') !== at('.lanes h2')) window.apart.push(at('#headline') + ' and ' + at('.lanes h2')); })).observe(document.querySelector('.lanes h2'), { childList: true, subtree: true, characterData: true }); 0", nil))
	until(t, tab, "Number(document.querySelector('.job .bar span:last-child').textContent.split('/')[0]) > 30")
	if got := eval(t, tab, "window.apart.join('; ')"); got != "" {
		t.Errorf("the headline and the heading differ: %s", got)
	}
	until(t, tab, "/^[1-9][0-9]*\\/100$/.test(document.querySelector('.job .bar span:last-child').textContent)")
}

// The headline says what the runs show. The inspector says what ended last and why, and c draws it.
func TestTheFirstScreenSaysWhatHappened(t *testing.T) {
	dir, names := recorded(t, borrow, "fair", "pi-dhfs")
	tab := open(t, serve(t, dir, append([]string{"ui"}, names...)...))
	until(t, tab, "document.querySelector('#headline').textContent.startsWith('pi-dhfs ends first, after 80 s; fair 80 s later')")
	until(t, tab, "document.querySelector('#inspector').textContent.includes('A/r/3 on slot 1 ended last, at 160 s.')")
	press(t, tab, "c")
	until(t, tab, "document.querySelector('#critical').getAttribute('aria-pressed') === 'true' && Array.from(document.querySelectorAll('.lanes canvas')).every(c => c.dataset.path > 0)")
	push(t, tab, "#runs label:nth-child(1) input") // one run has another headline
	until(t, tab, "document.querySelector('#headline').textContent.startsWith('pi-dhfs ends after 80 s.')")
}

// The name of a copy has the colour of text on a plain ground, because white dashes surround the bar.
func TestTheNameOfACopyIsReadable(t *testing.T) {
	tab := open(t, serve(t, t.TempDir(), "ui"))
	until(t, tab, "document.querySelector('#mistake.good') !== null")
	do(t, tab, chromedp.Evaluate("window.inks = []; const write = CanvasRenderingContext2D.prototype.fillText; CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { if (text === 'A m22' && this.canvas === document.querySelectorAll('.lanes canvas')[2]) window.inks.push(this.fillStyle); write.call(this, text, ...at); }; (e => { e.value = 'straggler'; e.dispatchEvent(new Event('change')); })(document.querySelector('#example'))", nil))
	until(t, tab, "window.inks.length > 1 && "+still)
	// Under late, map 22 has an attempt that is killed and its copy.
	if got := eval(t, tab, "[...new Set(window.inks)].join()"); got != "#16191d" {
		t.Errorf("the names of the attempts of map 22 have the colours %s", got)
	}
}

// The headline names what the example or lesson is about, in three lines on a phone.
func TestTheHeadlineNamesTheCauseOnAPhone(t *testing.T) {
	tab := open(t, serve(t, t.TempDir(), "ui"))
	do(t, tab, chromedp.EmulateViewport(390, 844))
	until(t, tab, "document.querySelector('#mistake.good') !== null")
	headline := "document.querySelector('#headline').textContent"
	for _, c := range [][2]string{
		{"straggler", "; 2 others' copies won."}, {"overlap", "Waiting reduces held slots for 1800 s"}, {"spill", "but maps took 1.5 times as long: 3 ran at a time, 2 under fair."},
		{"fig5", "pool1 was below its share of all slots for 23.9 s, not 74.5 s."}, {"#lesson=spill", "10 spills (kvbuffer 4 MiB), not 0 (25 MiB)."},
	} {
		do(t, tab, chromedp.Evaluate(fmt.Sprintf("(e => { e.value = %q; e.dispatchEvent(new Event('change')); })(document.querySelector('#example'))", c[0]), nil))
		if strings.HasPrefix(c[0], "#lesson") {
			until(t, tab, "document.querySelector('#lesson button') !== null")
			do(t, tab, chromedp.Evaluate("Array.from(document.querySelectorAll('#lesson button')).find(b => b.textContent === 'Show all').click()", nil))
		}
		until(t, tab, fmt.Sprintf("%s.includes(%q)", headline, c[1]))
		if got := eval(t, tab, "(e => { const s = getComputedStyle(e); return Math.round((e.clientHeight - parseFloat(s.paddingTop) - parseFloat(s.paddingBottom)) / parseFloat(s.lineHeight)); })(document.querySelector('#headline'))"); got > "3" {
			t.Errorf("%s: %s lines: %s", c[0], got, eval(t, tab, headline))
		}
	}
}

// More than 40 slots are folded into a band for each kind. A click shows each slot, and runs scroll together.
func TestManySlotsAreFolded(t *testing.T) {
	dir, names := recorded(t, fromFile(t, "../../../bench/workloads/fig5.yaml"), "pi-dhfs", "pd-dhfs")
	tab := open(t, serve(t, dir, append([]string{"ui"}, names...)...))
	all := "Array.from(document.querySelectorAll('.lanes canvas'), c => c.dataset.bands + ' ' + c.dataset.bars + ' ' + c.dataset.lent).join()"
	want := ""
	for i, name := range names {
		path := filepath.Join(dir, name)
		want += []string{"", ","}[i] + fmt.Sprintf("2 %d %d", count(t, path, `"op":"start"`), count(t, path, `"op":"start"`, `"lent":true`))
	}
	until(t, tab, fmt.Sprintf("%s === '%s'", all, want))
	// The band of the other kind stays in sight, and a loan of it unfolds it.
	click(t, tab, canvas, gutter+100, axis+20, "document.querySelector('.lanes canvas').dataset.bands === '1' && document.querySelector('.lanes h2 button').textContent === 'fold the slots'")
	until(t, tab, "Array.from(document.querySelectorAll('.lanes h2 button:nth-of-type(2)')).every(b => b.hidden)")
	do(t, tab, chromedp.Evaluate("document.querySelector('.scroll').scrollTop = 200", nil))
	until(t, tab, "Array.from(document.querySelectorAll('.scroll')).every(s => s.scrollTop === 200)")
	push(t, tab, ".lanes h2 button")
	until(t, tab, fmt.Sprintf("%s === '%s'", all, want))
	// Where each slot has a row, a button goes to the kind of slots that is out of sight.
	push(t, tab, ".lanes h2 button")
	until(t, tab, "document.querySelector('.lanes canvas').dataset.bands === '0' && document.querySelector('.lanes h2 button:nth-of-type(2)').textContent === 'reduce slots ↓'")
	push(t, tab, ".lanes h2 button:nth-of-type(2)")
	until(t, tab, "document.querySelector('.lanes h2 button:nth-of-type(2)').textContent === 'map slots ↑' || document.querySelector('.lanes h2 button:nth-of-type(2)').hidden")
}

// Of several trackers, the slots of one band stand above the other bands, and both kinds are in sight.
func TestABandOfSeveralTrackersUnfolds(t *testing.T) {
	dir, names := recorded(t, strings.Replace(borrow, "{trackers: 1, map_slots: 1, reduce_slots: 1}", "{trackers: 5, map_slots: 6, reduce_slots: 4}", 1), "pi-dhfs")
	tab := open(t, serve(t, dir, "ui", names[0]))
	until(t, tab, "document.querySelector('.lanes canvas')?.dataset.bands === '10'")
	click(t, tab, canvas, gutter+100, axis+20, "document.querySelector('.lanes canvas').dataset.bands === '9'")
	seen := map[string]bool{}
	for _, w := range texts(t, tab, ".lanes canvas") {
		seen[w.Text] = seen[w.Text] || w.Y < 260
	}
	for _, want := range []string{"T0", "s0", "s5", "T0 reduce", "T1 map"} {
		if !seen[want] {
			t.Errorf("%s is not in sight: %v", want, seen)
		}
	}
}

// texts returns the texts that the page writes into canvases when it draws again, each with its place.
func texts(t *testing.T, tab context.Context, in string) (all []struct {
	Text string
	X, Y float64
}) {
	t.Helper()
	var text string
	do(t, tab, chromedp.Evaluate(fmt.Sprintf(`new Promise((done) => {
  const write = CanvasRenderingContext2D.prototype.fillText, all = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    if (this.canvas.matches(%q)) all.push({ text, x, y });
    return write.call(this, text, x, y, ...rest);
  };
  document.querySelector('#theme').click();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    CanvasRenderingContext2D.prototype.fillText = write;
    done(JSON.stringify(all));
  }));
})`, in), &text, awaited))
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// On a phone, no letter of a bar is cut by the bar next to it: bars that are too narrow share a letter.
func TestLettersAreWhole(t *testing.T) {
	dir, names := recorded(t, fromFile(t, "../../../bench/workloads/two-pools.yaml"), "fair", "pi-dhfs")
	tab := open(t, "about:blank")
	do(t, tab, chromedp.EmulateViewport(390, 844), chromedp.Navigate(serve(t, dir, "ui", names[0], names[1])))
	until(t, tab, "document.querySelectorAll('.lanes canvas')[1]?.dataset.bars > 0")
	before, letters := 0.0, 0
	for _, w := range texts(t, tab, ".lanes canvas") {
		if len(w.Text) != 1 || w.X < gutter {
			before = 0
			continue
		}
		if letters++; before > 0 && w.X > before && w.X-before < 13 {
			t.Errorf("%s is %.1f pixels after another letter", w.Text, w.X-before)
		}
		before = w.X
	}
	if letters < 6 {
		t.Errorf("%d letters", letters)
	}
}

// The legend has the greys and the hatch of the panel Shares.
func TestTheLegendHasTheSignsOfShares(t *testing.T) {
	dir, names := recorded(t, fromFile(t, "../../../bench/workloads/fig5.yaml"), "pi-dhfs")
	tab := open(t, serve(t, dir, "ui", names[0]))
	legend := "document.querySelector('#legend').textContent"
	until(t, tab, legend+".includes('slots that a pool lacks of its share') && !"+legend+".includes('grey')")
	push(t, tab, "[data-tab=differences]")
	until(t, tab, "!"+legend+".includes('lacks')")
	dir, names = recorded(t, strings.Replace(borrow, "reduces: 4}", "reduces: 4, pool: one}\n  - {name: B, maps: 4, reduces: 1, pool: one}", 1), "fair")
	until(t, open(t, serve(t, dir, "ui", names[0])), legend+".includes('one (several jobs)')")
	dir, names = recorded(t, workloadOf(1_000), "pi-dhfs")
	until(t, open(t, serve(t, dir, "ui", names[0])), legend+".includes('grey: all other jobs')")
}

// The panels of a real run say who waited for whom in the shuffle, and have an axis of time and of bytes.
func TestPanelsOfARealRun(t *testing.T) {
	dir := t.TempDir()
	tab := open(t, serve(t, dir, "ui", spilling(t, dir)))
	push(t, tab, "[data-tab=shuffle]")
	until(t, tab, "/^The 4 reduces have copied all outputs of the 8 maps, [\\d.]+ MiB: r\\d the most, [\\d.]+ MiB, and r\\d the least, [\\d.]+ MiB\\. .*(waited for the last map, m\\d|No reduce had to wait)/.test(document.querySelector('.told').textContent)")
	press(t, tab, kb.Home)
	until(t, tab, "document.querySelector('.told').textContent.startsWith('By 0 s no reduce has started')")
	push(t, tab, "[data-tab=buffers]")
	until(t, tab, "document.querySelector('.told').textContent === 'By 0 s: None of 0 kvbuffers grew. Nothing was spilled.'")
	press(t, tab, kb.End)
	until(t, tab, "/^By [\\d.]+ m?s: \\d of 8 kvbuffers grew: sort.m.\\d from 256.0 KiB to .* spills wrote [\\d.]+ MiB\\.$/.test(document.querySelector('.told').textContent)")
	times, bytes := 0, 0
	for _, w := range texts(t, tab, "#panel canvas") {
		if w.Y < axis && strings.HasSuffix(w.Text, " ms") || strings.HasSuffix(w.Text, " s") {
			times++
		}
		if w.X < gutter && (w.Text == "0" || strings.HasSuffix(w.Text, "iB")) {
			bytes++
		}
	}
	// The height that three slots do not need is for the panel.
	do(t, tab, chromedp.EmulateViewport(1920, 1080))
	until(t, tab, fmt.Sprintf("document.querySelector('.lanes canvas').clientHeight < %g && document.querySelector('#panel canvas').clientHeight > 400", axis+3.5*high))
	if times < 3 || bytes < 2 {
		t.Errorf("the axes have %d times and %d sizes", times, bytes)
	}
}

// The pointer puts a line at its time into all drawings: two runs, the strip of whole runs, and the panel.
func TestTheCursorIsInAllDrawings(t *testing.T) {
	dir, names := recorded(t, borrow, "pi-dhfs", "fair")
	tab := open(t, serve(t, dir, append([]string{"ui"}, names...)...))
	until(t, tab, "document.querySelectorAll('.lanes canvas')[1]?.dataset.bars > 0 && document.querySelector('.below')?.textContent")
	do(t, tab, chromedp.Evaluate("(c => { const r = c.getBoundingClientRect(); c.dispatchEvent(new PointerEvent('pointermove', { clientX: r.left + 300, clientY: r.top + 40, pointerType: 'mouse' })) })(document.querySelector('.lanes canvas'))", nil))
	until(t, tab, "document.querySelectorAll('.cursor:not([hidden])').length === 4 && !document.querySelector('#tip').hidden")
}

// The list begins with loans, copies, failures, kills and ends, and finds jobs, tasks and slots.
func TestTheListHasWhatMatters(t *testing.T) {
	dir, names := recorded(t, borrow, "pi-dhfs")
	tab := open(t, serve(t, dir, "ui", names[0]))
	until(t, tab, "document.querySelector('#list').getAttribute('aria-label').startsWith('9 of ')") // 8 loans and an end
	search := func(text string) {
		do(t, tab, chromedp.Evaluate(fmt.Sprintf("(e => { e.value = %q; e.dispatchEvent(new Event('input')) })(document.querySelector('#search'))", text), nil))
	}
	search("a/m/1")
	until(t, tab, "Array.from(document.querySelectorAll('.decision')).every(d => d.textContent.includes('A/m/1')) && document.querySelectorAll('.decision').length > 0")
	search("nobody")
	until(t, tab, "document.querySelectorAll('.decision').length === 0")
}

// A slider writes its number into the text, so that the text is always what was simulated.
func TestSlidersChangeTheText(t *testing.T) {
	tab := open(t, serve(t, t.TempDir(), "ui"))
	until(t, tab, "document.querySelector('#s-map-slots') !== null")
	slide := func(name string, value int) {
		do(t, tab, chromedp.Evaluate(fmt.Sprintf("(() => { const s = document.getElementById(%q); s.value = %d; s.dispatchEvent(new Event('input')) })()", name, value), nil))
	}
	write := func(text string) {
		do(t, tab, chromedp.Evaluate(fmt.Sprintf("(() => { const e = document.querySelector('#text'); e.value = %q; e.dispatchEvent(new Event('input')) })()", text), nil))
	}
	write(borrow)
	until(t, tab, "document.querySelector('#s-map-slots').value === '1'")
	slide("s-map-slots", 3)
	until(t, tab, "document.querySelector('#text').value.includes('map_slots: 3')")
	slide("s-w:A", 2)
	until(t, tab, "/pools: \\[{name: .A., weight: 2}\\]/.test(document.querySelector('#text').value)")
	write(borrow) // the text wins over a slider that was moved before
	until(t, tab, "document.querySelector('#s-map-slots').value === '1' && document.querySelector('.lanes canvas').dataset.bars === '16'")
}

// TestTheRowsOfALostTrackerAreNotIdle draws the sign of the table there, and the tooltip says so.
func TestTheRowsOfALostTrackerAreNotIdle(t *testing.T) {
	dir, names := recorded(t, `cluster: {trackers: 2, map_slots: 1, reduce_slots: 1}
defaults: {map_time: 10s, reduce_time: 10s}
faults: [{at: 15s, tracker: 1, lost: true}]
jobs: [{name: A, maps: 6, reduces: 1}]
`, "fair")
	tab := open(t, serve(t, dir, "ui", names[0]))
	until(t, tab, "document.querySelector('.lanes canvas')?.dataset.lost === '2' && document.querySelector('#legend').textContent.includes('tracker lost')")
	until(t, tab, "!document.querySelector('#legend').textContent.includes('killed copy') && !document.querySelector('#legend').textContent.includes('spill')")
}

// TestEachSignCanBeSeen paints each sign of the table in each hue and both themes. Any two differ in ten pixels whose
// colours have a contrast of 3 : 1.
func TestEachSignCanBeSeen(t *testing.T) {
	tab := open(t, serve(t, t.TempDir(), "ui"))
	do(t, tab, chromedp.Evaluate(`(async () => {
		const { Paint, fit, legend } = await import('./draw.js');
		const { signs } = await import('./signs.js');
		const light = (p, i) => [0.2126, 0.7152, 0.0722].reduce((sum, w, k) => {
			const v = p[i + k] / 255;
			return sum + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		}, 0);
		const bad = [];
		let pairs = 0;
		for (const theme of ['light', 'dark']) for (let hue = 0; hue < 8; hue++) {
			const paint = new Paint(theme, 1), bar = paint.bar;
			paint.bar = function (ctx, b) { bar.call(this, ctx, { ...b, hue }); };
			const pixels = legend('job', new Set(signs.map((s) => s.name))).slice(1).map(([words, draw]) => {
				const ctx = fit(document.createElement('canvas'), 26, 13, 1);
				ctx.fillStyle = paint.ground;
				ctx.fillRect(0, 0, 26, 13);
				draw(paint, ctx);
				return { words, data: ctx.getImageData(0, 0, 26, 13).data };
			});
			const reduces = new Uint8Array(paint.kind(hue, 'reduce').buffer), [rule, plain] = [light(reduces, 4 * 8 * 4), light(reduces, 0)];
			if ((Math.max(rule, plain) + 0.05) / (Math.min(rule, plain) + 0.05) < 3) bad.push([theme, hue, 'reduces of a panel'].join(' '));
			for (let a = 0; a < pixels.length; a++) for (let b = 0; b < a; b++) {
				let n = 0;
				for (let i = 0; i < pixels[a].data.length; i += 4) {
					const [x, y] = [light(pixels[a].data, i), light(pixels[b].data, i)];
					if ((Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05) >= 3) n++;
				}
				pairs++;
				if (n < 10) bad.push([theme, hue, pixels[a].words, pixels[b].words, n].join(' '));
			}
		}
		window.signs = pairs + ' pairs: ' + bad.join('; ');
	})()`, nil))
	until(t, tab, "window.signs !== undefined")
	if got := eval(t, tab, "window.signs"); got != "1456 pairs: " {
		t.Errorf("%s", got)
	}
}

// The list has the times below a share. Runs whose policies have different definitions are measured by one, unless the
// reader chooses that of each policy.
func TestSharesOfRunsHaveOneDefinition(t *testing.T) {
	dir, names := recorded(t, fromFile(t, "../../../bench/workloads/fig5.yaml"), "pi-dhfs", "pd-dhfs", "fifo")
	tab := open(t, serve(t, dir, append([]string{"ui"}, names...)...))
	until(t, tab, "document.querySelector('.below button')?.textContent.includes(' slots')")
	until(t, tab, "document.querySelector('.below .by').textContent === 'Both runs are measured by one fair share, of all slots together.' && document.querySelector('#options select').value === 'together'")
	line := "document.querySelector('.below > div:nth-child(%d)').textContent"
	for n, want := range []string{"pi-dhfs: below its share (hatched): pool1, 64.96 s to 139.4 s, 53 slots", "pd-dhfs: below its share (hatched): pool1, 64.96 s to 88.9 s, 53 slots"} {
		if got := eval(t, tab, fmt.Sprintf(line, n+2)); !strings.HasPrefix(got, want) {
			t.Errorf("line %d: %s, want %s", n+2, got, want)
		}
	}
	push(t, tab, "#runs label:nth-child(3) input")
	until(t, tab, fmt.Sprintf(line, 4)+".startsWith('fifo: below its share')")
	do(t, tab, chromedp.Evaluate("(e => { e.value = 'own'; e.dispatchEvent(new Event('change')) })(document.querySelector('#options select'))", nil))
	until(t, tab, fmt.Sprintf(line, 2)+".startsWith('pi-dhfs (by kind of slots): below its share') && "+fmt.Sprintf(line, 3)+".startsWith('pd-dhfs (of all slots together): below its share')")
	until(t, tab, fmt.Sprintf(line, 4)+" === 'fifo: no fair shares of pools are known'")
	push(t, tab, "#runs label:nth-child(2) input") // a policy without shares has no other definition
	until(t, tab, "document.querySelector('.below .by') === null && "+fmt.Sprintf(line, 1)+".startsWith('pi-dhfs: below its share')")
	push(t, tab, "#runs label:nth-child(2) input")
	do(t, tab, chromedp.Evaluate("(e => { e.value = 'per-kind'; e.dispatchEvent(new Event('change')) })(document.querySelector('#options select'))", nil))
	until(t, tab, "document.querySelector('.below .by').textContent.includes('one fair share, by kind of slots.') && !document.querySelector('.below').textContent.includes('no fair shares')")
	whole := eval(t, tab, "document.querySelector('.below button').textContent")
	push(t, tab, ".below button") // goes there
	until(t, tab, "document.querySelector('#whole') && Number(document.querySelector('.lanes canvas').dataset.bars) < 600 && "+fmt.Sprintf("document.querySelector('.below button').textContent === %q", whole))
}

// At every size and in both themes, nothing is cut off at the right or at the bottom.
func TestThePageFitsTheScreen(t *testing.T) {
	dir, names := recorded(t, borrow, "fair", "pi-dhfs")
	url := serve(t, dir, append([]string{"ui"}, names...)...)
	for _, size := range [][2]int64{{1280, 800}, {1024, 768}, {1920, 1080}} {
		tab := open(t, url)
		do(t, tab, chromedp.EmulateViewport(size[0], size[1]))
		until(t, tab, "document.querySelectorAll('.lanes canvas').length === 2")
		until(t, tab, "document.documentElement.scrollWidth <= innerWidth && document.querySelector('#legend').getBoundingClientRect().bottom <= innerHeight && document.querySelector('#keys').getBoundingClientRect().right <= innerWidth")
		theme := "document.documentElement.dataset.theme"
		before := eval(t, tab, theme)
		press(t, tab, "d")
		until(t, tab, fmt.Sprintf("%s !== '%s'", theme, before))
	}
}

// On a phone, and at 200 % zoom, the page is one column that scrolls, and the slots come first.
func TestAPhoneShowsOneColumn(t *testing.T) {
	dir, names := recorded(t, borrow, "fair", "pi-dhfs")
	tab := open(t, serve(t, dir, append([]string{"ui"}, names...)...))
	for _, width := range []int64{390, 640} {
		do(t, tab, chromedp.EmulateViewport(width, 844))
		until(t, tab, "document.querySelectorAll('.lanes canvas').length === 2 && document.documentElement.scrollWidth <= innerWidth")
		until(t, tab, "(top => top('#stage') < top('#inspector') && top('#inspector') < top('#below') && top('#below') < top('#left') && top('#left') < top('#list'))(s => document.querySelector(s).getBoundingClientRect().top)")
		until(t, tab, "document.documentElement.scrollHeight > innerHeight && Array.from(document.querySelectorAll('.lanes canvas')).every(c => c.dataset.bars === '16' && c.clientWidth > innerWidth / 2)")
	}
}

// The keyboard reaches tabs, runs and the list.
func TestTheKeyboardReachesEverything(t *testing.T) {
	dir, names := recorded(t, borrow, "fair", "pi-dhfs")
	tab := open(t, serve(t, dir, append([]string{"ui"}, names...)...))
	until(t, tab, "document.querySelectorAll('.lanes canvas').length === 2 && document.querySelector('#list').getAttribute('aria-label').includes(' of ')")
	focus := func(selector string) {
		do(t, tab, chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).focus()", selector), nil))
	}
	focus("[data-tab=shares]")
	press(t, tab, kb.ArrowRight)
	until(t, tab, "document.activeElement.dataset.tab === 'buffers' && document.activeElement.getAttribute('aria-selected') === 'true'")
	focus(".lanes:nth-child(2) h2")
	press(t, tab, kb.Enter)
	until(t, tab, "document.querySelector('#filter h2').textContent === 'Decisions of pi-dhfs'")
	focus("#list")
	press(t, tab, kb.ArrowDown)
	until(t, tab, "document.querySelector('.decision[aria-selected=true]') !== null")
	// Under fair the reduce slot is idle until the maps are done.
	press(t, tab, kb.Escape)
	press(t, tab, kb.Home)
	focus(canvas)
	press(t, tab, ".")
	press(t, tab, kb.ArrowDown)
	until(t, tab, "document.querySelector('#inspector h2')?.textContent.startsWith('A got map slot 0 for map 0')")
	press(t, tab, kb.ArrowDown)
	until(t, tab, "document.querySelector('#inspector .reasons')?.innerText.includes('the gate of A was closed')")
}

// Two fingers zoom, one finger moves the window or taps a bar, and a finger that moves up scrolls the page.
func TestFingersMoveAndZoom(t *testing.T) {
	dir, names := recorded(t, borrow, "fair")
	tab := open(t, serve(t, dir, "ui", names[0]))
	do(t, tab, chromedp.EmulateViewport(390, 844), emulation.SetTouchEmulationEnabled(true).WithMaxTouchPoints(2))
	until(t, tab, "document.querySelector('.lanes canvas')?.dataset.bars === '16'")
	touch := func(kind input.TouchType, at ...[2]float64) {
		// What stands above the lanes may still change, so each touch asks where they are.
		box := strings.Fields(eval(t, tab, "(r => r.left + ' ' + r.top)(document.querySelector('.lanes canvas').getBoundingClientRect())"))
		left, _ := strconv.ParseFloat(box[0], 64)
		top, _ := strconv.ParseFloat(box[1], 64)
		var points []*input.TouchPoint
		for i, p := range at {
			points = append(points, &input.TouchPoint{X: left + p[0], Y: top + p[1], ID: float64(i + 1)})
		}
		do(t, tab, input.DispatchTouchEvent(kind, points))
	}
	window := "(p => p.get('window') ?? 'all')(new URLSearchParams(location.hash.slice(1)))"
	touch(input.TouchStart, [2]float64{200, 60}, [2]float64{240, 60})
	touch(input.TouchMove, [2]float64{150, 60}, [2]float64{290, 60})
	touch(input.TouchEnd)
	until(t, tab, window+" !== 'all'")
	zoomed := eval(t, tab, window)
	touch(input.TouchStart, [2]float64{280, 60})
	for x := 270.0; x >= 180; x -= 10 {
		touch(input.TouchMove, [2]float64{x, 60})
	}
	touch(input.TouchEnd)
	until(t, tab, fmt.Sprintf("(([a, b], [c, d]) => a > c && Math.abs((b - a) - (d - c)) < 1e6)(%s.split(',').map(Number), %q.split(',').map(Number))", window, zoomed))
	if got := eval(t, tab, "document.querySelector('#inspector h2').textContent"); got != "Why did a slot go to a task?" {
		t.Errorf("a swipe selects: %s", got)
	}
	touch(input.TouchStart, [2]float64{200, 60})
	touch(input.TouchEnd)
	until(t, tab, "document.querySelector('#inspector .reasons')")
	touch(input.TouchStart, [2]float64{200, 160})
	for y := 140.0; y >= 20; y -= 20 {
		touch(input.TouchMove, [2]float64{200, y})
	}
	touch(input.TouchEnd)
	until(t, tab, "document.scrollingElement.scrollTop + document.body.scrollTop > 20")
}

// An example replaces the text of the editor, and Back brings it again. A text that is too long is refused.
func TestAnExampleDestroysNoText(t *testing.T) {
	tab := open(t, serve(t, t.TempDir(), "ui"))
	until(t, tab, "document.querySelector('#mistake.good') !== null")
	do(t, tab, chromedp.Evaluate(fmt.Sprintf("(() => { const e = document.querySelector('#text'); e.value = %q; e.dispatchEvent(new Event('input')) })()", "# mine\n"+borrow), nil))
	until(t, tab, "document.querySelector('.lanes canvas')?.dataset.bars === '16' && location.hash.length > 20")
	before := eval(t, tab, "location.hash")
	do(t, tab, chromedp.Evaluate("(() => { const e = document.querySelector('#example'); e.value = 'fig5'; e.dispatchEvent(new Event('change')) })()", nil))
	until(t, tab, fmt.Sprintf("location.hash !== %q && document.querySelector('#text').value.includes('pool1')", before))
	do(t, tab, chromedp.Evaluate("history.back()", nil))
	until(t, tab, "document.querySelector('#text')?.value.startsWith('# mine')")
	// A mebibyte of newlines is refused at once. It does not freeze the page, and the text stays.
	begun := time.Now()
	do(t, tab, chromedp.Evaluate("(() => { const e = document.querySelector('#text'); e.dispatchEvent(new Event('beforeinput')); e.value = '\\n'.repeat(1 << 20); e.dispatchEvent(new Event('input')) })()", nil))
	until(t, tab, "document.querySelector('#mistake').textContent.startsWith('The editor takes at most 10000 lines') && document.querySelector('#text').value.startsWith('# mine')")
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it takes %v", took)
	}
}

// The address holds what the page shows: another tab with it shows the same.
func TestTheAddressHoldsThePage(t *testing.T) {
	dir, names := recorded(t, borrow, "fair", "pi-dhfs", "fifo")
	tab := open(t, serve(t, dir, append([]string{"ui"}, names...)...))
	until(t, tab, "document.querySelectorAll('.lanes canvas').length === 2")
	push(t, tab, "#runs label:nth-child(3) input")
	push(t, tab, "[data-tab=differences]")
	push(t, tab, ".decision")
	press(t, tab, "+")
	do(t, tab, chromedp.Evaluate("(() => { const e = document.querySelector('#hue'); e.value = 'pool'; e.dispatchEvent(new Event('change')) })()", nil))
	until(t, tab, "['on=', 'tab=differences', 'seq=', 'window=', 'hue=pool'].every(w => location.hash.includes(w))")
	hash := eval(t, tab, "location.hash")
	other := open(t, eval(t, tab, "location.href"))
	until(t, other, "document.querySelectorAll('.lanes canvas').length === 3 && document.querySelector('[data-tab=differences]').getAttribute('aria-selected') === 'true' && document.querySelector('#hue').value === 'pool' && document.querySelector('#inspector h2').textContent === 'A job ended'")
	press(t, other, "d") // the address is written again after the next drawing, and is the same
	until(t, other, fmt.Sprintf("location.hash === %q", hash))
}

// A recorded run opens in the playground with its jobs. It stays behind each variant, with the differences in words.
// Back shows it again.
func TestARunIsChanged(t *testing.T) {
	dir, names := recorded(t, borrow, "fair")
	tab := open(t, serve(t, dir, "ui", names[0]))
	until(t, tab, "document.querySelector('.lanes canvas')?.dataset.bars === '16'")
	push(t, tab, "#change")
	until(t, tab, "document.querySelector('.lanes canvas').dataset.behind === '16' && document.querySelector('#text').value.includes('maps: 12, map_time: 10000000us, reduces: 4, reduce_time: 10000000us')")
	until(t, tab, "document.querySelector('#headline').textContent === 'Nothing differs yet from fair of fair.jsonl, drawn in grey. fair ends at the same time, after 160 s.'")
	push(t, tab, "#ticks input[value=pi-dhfs]")
	until(t, tab, "document.querySelector('#headline').textContent === 'Only the policy differs from fair of fair.jsonl, drawn in grey. fair ends at the same time, after 160 s. pi-dhfs instead of fair ends 80 s earlier, after 80 s instead of 160 s, 8 more loans.'")
	link := eval(t, tab, "location.href")
	do(t, tab, chromedp.Evaluate("history.back()", nil))
	until(t, tab, "document.querySelector('#editor').hidden && document.querySelector('.lanes canvas')?.dataset.bars === '16'")
	other := open(t, link)
	until(t, other, "document.querySelectorAll('.lanes canvas')[1].dataset.behind === '16'")
	// The headline says what was changed, and what that did.
	push(t, other, "#ticks input[value=pi-dhfs]")
	do(t, other, chromedp.Evaluate("(e => { e.value = e.value.replace('map_slots: 1', 'map_slots: 2').replace('reduces: 4, reduce_time: 10', 'reduces: 4, reduce_time: 20'); e.dispatchEvent(new Event('input')) })(document.querySelector('#text'))", nil))
	until(t, other, "document.querySelector('#headline').textContent === 'Changed against fair of fair.jsonl, drawn in grey: 2 instead of 1 map slots, a reduce of A takes 20 s instead of 10 s. fair ends 20 s earlier, after 140 s instead of 160 s.'")
	// Its lost trackers and failed attempts come along, and the text says what does not.
	dir, names = recorded(t, strings.NewReplacer("trackers: 1", "trackers: 2", "jobs:", "faults: [{at: 15s, tracker: 1, lost: true}, {task: A/m/9, fail: 2}]\njobs:").Replace(borrow), "fair")
	faulty := open(t, serve(t, dir, "ui", names[0]))
	push(t, faulty, "#change:not([hidden])")
	until(t, faulty, "(text => text.includes('tracker: 1, lost: true}') && text.includes('{task: \"A/m/9\", fail: 2}') && text.includes('# Not here: the speed of slow trackers'))(document.querySelector('#text').value) && document.querySelector('#mistake.good')")
	// It stands behind folded slots, too.
	dir, names = recorded(t, fromFile(t, "../../../bench/workloads/fig5.yaml"), "pi-dhfs")
	many := open(t, serve(t, dir, "ui", names[0]))
	push(t, many, "#change:not([hidden])")
	until(t, many, "(d => d.bands === '2' && d.behind === '640')(document.querySelector('.lanes canvas').dataset) && document.querySelector('#legend').textContent.includes('before the change')")
	// Of a real run it has what each task took.
	real := open(t, serve(t, dir, "ui", spilling(t, dir)))
	push(t, real, "#change:not([hidden])")
	until(t, real, "/map_time: .list: .\\d+us, \\d+us/.test(document.querySelector('#text').value) && document.querySelector('#mistake.good') && document.querySelector('.lanes canvas').dataset.behind > 8")
}

// The bars of the shuffle are as high as the bytes that a reduce has copied of a map, and those at the end of a row as
// long as their sum, with a contrast of 3 : 1 in both themes.
func TestBarsOfTheShuffleAreItsBytes(t *testing.T) {
	dir := t.TempDir()
	tab := open(t, serve(t, dir, "ui", spilling(t, dir)))
	push(t, tab, "[data-tab=shuffle]")
	until(t, tab, "document.querySelector('.told').textContent.startsWith('The 4 reduces have copied all')")
	for range 2 { // themes
		var said []string
		for _, w := range texts(t, tab, "#panel canvas") {
			said = append(said, w.Text)
		}
		if got := strings.Join(said, " "); !strings.HasPrefix(got, "m0 m1 m2 m3 m4 m5 m6 m7 sum r0 ") || strings.Count(got, "MiB") != 4 {
			t.Errorf("the texts: %s", got)
		}
		var wrong string
		do(t, tab, chromedp.Evaluate(`(async () => {
  const { cells } = await (await fetch('api/shuffle?run=0&job=0&most=60')).json(), fill = CanvasRenderingContext2D.prototype.fillRect, all = [];
  CanvasRenderingContext2D.prototype.fillRect = function (x, y, w, h) {
    if (this.canvas.matches('#panel canvas')) all.push({ x, w, h, style: this.fillStyle });
    return fill.call(this, x, y, w, h);
  };
  document.querySelector('#hue').dispatchEvent(new Event('change'));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  CanvasRenderingContext2D.prototype.fillRect = fill;
  const ground = all.shift(), light = (style) => [1, 3, 5].map((i) => parseInt(style.slice(i, i + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0.05);
  const contrast = (style) => Math.max(light(style), light(ground.style)) / Math.min(light(style), light(ground.style)), bad = [];
  const largest = Math.max(...cells.map((c) => c.bytes)), sums = [0, 1, 2, 3].map((r) => cells.reduce((sum, c, i) => sum + (i % 4 === r ? c.bytes : 0), 0));
  const bars = all.filter((b) => b.h > 1), highest = Math.max(...bars.filter((_, i) => i % 9 < 8).map((b) => b.h)), longest = Math.max(...bars.map((b) => b.w));
  if (bars.length !== 36 || longest < 60) bad.push(bars.length + ' bars, the longest ' + longest);
  bars.forEach((b, i) => {
    const r = Math.floor(i / 9), m = i % 9, want = m < 8 ? (highest * cells[m * 4 + r].bytes) / largest : (longest * sums[r]) / Math.max(...sums);
    if (Math.abs((m < 8 ? b.h : b.w) - want) > 0.5) bad.push('bar ' + m + ' of r' + r + ': ' + b.w + ' x ' + b.h + ', want ' + want);
    if (contrast(b.style) < 3) bad.push(b.style + ' on ' + ground.style);
  });
  return bad.join('; ');
})()`, &wrong, awaited))
		if wrong != "" {
			t.Error(wrong)
		}
	}
}

// A job that waited for another one waits in the playground, too. The text has what the events know of pools, users and
// jobs. A line below the headline says what they do not know.
func TestAChangedRunKeepsWhatItsEventsKnow(t *testing.T) {
	dir, names := recorded(t, strings.Replace(fromFile(t, "../../../bench/workloads/two-pools.yaml"), "min_maps: 1", "min_maps: 1, preempt_after: 9s", 1), "fair")
	tab := open(t, serve(t, dir, "ui", names[0]))
	push(t, tab, "#change:not([hidden])")
	for _, want := range []string{
		"name: \"frequent\", pool: \"prod\", user: \"ann\", after: [\"count\"], priority: high, maps: 16", "- {name: \"ann\", max_running_jobs: 2}",
		"{name: \"prod\", weight: 2, min_maps: 1, preempt_after: 9000000us}", "name: \"links\", pool: \"adhoc\", submit: 500000us",
	} {
		until(t, tab, fmt.Sprintf("document.querySelector('#text').value.includes(%q)", want))
	}
	until(t, tab, "document.querySelector('#headline').textContent === 'Nothing differs yet from fair of fair.jsonl, drawn in grey. fair ends at the same time, after 10.3 s.'")
	until(t, tab, "(text => text.includes('come at their recorded times: links. ') && text.includes('the speed of trackers, copying'))(document.querySelector('#unsaid').textContent)")
	// mrlocal sim two-pools.yaml --sched fair --map-slots 4 takes 7.727 s. Nothing but the slots was changed.
	do(t, tab, chromedp.Evaluate("(e => { e.value = e.value.replace('map_slots: 2', 'map_slots: 4'); e.dispatchEvent(new Event('input')) })(document.querySelector('#text'))", nil))
	until(t, tab, "document.querySelector('#headline').textContent.startsWith('Changed against fair of fair.jsonl, drawn in grey: 4 instead of 2 map slots. fair ends 2.58 s earlier, after 7.73 s instead of 10.3 s')")
	// Events without such a word: only names and times tell that one job follows the other.
	dir, names = recorded(t, "cluster: {map_slots: 1}\ndefaults: {map_time: 10s}\njobs: [{name: X, maps: 4}, {name: X.2, submit: 40s, maps: 4}, {name: X.3, submit: 200s, maps: 4}]", "fair")
	old := open(t, serve(t, dir, "ui", names[0]))
	push(t, old, "#change:not([hidden])")
	until(t, old, `(text => text.includes('name: "X.2", pool: "X.2", after: ["X"], maps: 4') && text.includes('name: "X.3", pool: "X.3", submit: 200000000us'))(document.querySelector('#text').value)`)
	until(t, old, "document.querySelector('#unsaid').textContent.startsWith('The events do not say that these jobs waited for others, so they come at their recorded times: X.3. By name and time: X.2 follows X.')")
}

// The bars before the change are behind the slot of the same tracker and kind, whatever its number is.
func TestBarsBehindAreOfTheSameKindOfSlot(t *testing.T) {
	dir, names := recorded(t, strings.Replace(borrow, "map_slots: 1", "map_slots: 2", 1), "fair")
	tab := open(t, serve(t, dir, "ui", names[0]))
	push(t, tab, "#change:not([hidden])")
	until(t, tab, "document.querySelector('.lanes canvas').dataset.behind === '16'")
	// Of the two map slots one is left, with 6 maps before the change. The reduce slot had 4 reduces.
	do(t, tab, chromedp.Evaluate("(e => { e.value = e.value.replace('map_slots: 2', 'map_slots: 1'); e.dispatchEvent(new Event('input')) })(document.querySelector('#text'))", nil))
	until(t, tab, "document.querySelector('#headline').textContent.includes('1 instead of 2 map slots') && document.querySelector('.lanes canvas').dataset.behind === '10'")
}
