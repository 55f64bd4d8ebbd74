package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The page draws a decision, and shows its reason, only after the reader has answered. At the end it
// shows the claims.
func TestALessonAsksBeforeItShows(t *testing.T) {
	tab := open(t, serve(t, t.TempDir(), "demo", "borrow", "--ui"))
	until(t, tab, "document.querySelector('#lesson h2')?.textContent === 'A slot that is borrowed [DHFS13]'")
	until(t, tab, "document.querySelectorAll('.lanes canvas').length === 2")
	bars := "Array.from(document.querySelectorAll('.lanes canvas'), c => Number(c.dataset.bars)).join()"
	do(t, tab, chromedp.SetValue("#speed", "10", chromedp.ByQuery),
		chromedp.Evaluate("document.getElementById('speed').dispatchEvent(new Event('change'))", nil),
		chromedp.Evaluate("Array.from(document.querySelectorAll('#lesson button')).find(b => b.textContent === 'Begin').click()", nil))
	asked := "(e => e && !e.hidden && e.innerText)(document.querySelector('#lesson .question'))"
	until(t, tab, "String("+asked+").startsWith('At 0 s. pi-dhfs: 12 maps wait and no reduce is ready.')")
	until(t, tab, bars+" === '0,0'") // nothing that starts at 0 s or later
	until(t, tab, "document.querySelector('#lesson .dots').textContent === '○ ○ ○ ○' && (r => Math.abs((r.left + r.right) / 2 - (s => (s.left + s.right) / 2)(document.querySelector('#stage').getBoundingClientRect())) < 9)(document.querySelector('#lesson').getBoundingClientRect())")
	for _, hidden := range []string{"#overview", "#below", ".decision.later"} {
		if got := eval(t, tab, "document.querySelector('"+hidden+"').checkVisibility({ visibilityProperty: true })"); got != "false" {
			t.Errorf("%s is seen before the answer", hidden)
		}
	}
	if got := eval(t, tab, "document.querySelector('#headline').textContent + document.querySelector('#inspector').textContent"); strings.Contains(got, "ended last") || strings.Contains(got, "ends first") {
		t.Errorf("the page tells the end before the answer: %s", got)
	}
	// A step to the next decision does not skip the question.
	press(t, tab, "\u2192")
	do(t, tab, chromedp.Evaluate("Array.from(document.querySelectorAll('#lesson .question button')).find(b => b.textContent.startsWith('slot 0')).click()", nil))
	said := "document.querySelector('#lesson .log').innerText"
	until(t, tab, said+".includes('You chose slot 0, and it was slot 1. pi-dhfs lent the reduce slot')")
	until(t, tab, "document.querySelector('#inspector .rule')?.textContent === 'map-borrows'")
	until(t, tab, "document.querySelectorAll('#lesson .primary:not([hidden])').length === 1 && document.querySelectorAll('.lanes canvas')[1].dataset.guess === '✕ your guess,✓ right'")
	do(t, tab, chromedp.Evaluate("Array.from(document.querySelectorAll('#lesson button')).find(b => b.textContent === 'Go on').click()", nil))
	until(t, tab, "String("+asked+").startsWith('At 6 s.')")
	// In the second run the first row is the map slot.
	at := "(() => { const c = document.querySelectorAll('.lanes canvas')[1]; const r = c.getBoundingClientRect(); for (const type of ['pointerdown', 'pointerup']) c.dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0, pointerId: 1, clientX: r.left + 150, clientY: r.top + 34 })); })()"
	do(t, tab, chromedp.Evaluate("Element.prototype.setPointerCapture = () => {}; "+at, nil))
	until(t, tab, said+".includes('You were right: slot 0.')")
	// The way of the data at 6 s: two slots have read all splits, and two of four reduces have copied at once.
	way := "Array.from(document.querySelectorAll('#lesson .way div'), (d) => d.textContent).join()"
	if got := eval(t, tab, way); got != "7 of 12,1 in use,6 outputs,0 %,0 of 4,12 of 12,0 in use,12 outputs,50 %,0 of 4" {
		t.Errorf("the way of the data: %s", got)
	}
	do(t, tab, chromedp.Evaluate("Array.from(document.querySelectorAll('#lesson button')).find(b => b.textContent === 'Show all').click()", nil))
	until(t, tab, bars+" === '16,16'")
	if got := eval(t, tab, "Array.from(document.querySelectorAll('#lesson button')).filter(b => b.checkVisibility()).length"); got != "0" {
		t.Errorf("%s buttons are left at the end of the lesson", got)
	}
	text := eval(t, tab, said)
	for _, want := range []string{"You were right 1 of 2 times.", "pi-dhfs needs about half the time of fair: holds", "pi-dhfs lends slots: holds", "the map slot 0 is idle until the end", "Next lesson: Why slots are lent"} {
		if !strings.Contains(text, want) {
			t.Errorf("the lesson does not say %q: %s", want, text)
		}
	}
	until(t, tab, "getComputedStyle(document.querySelector('#overview')).visibility === 'visible'")
	push(t, tab, "#lesson .following a")
	until(t, tab, "document.querySelector('#lesson h2')?.textContent === 'Why slots are lent [DHFS13]'")
}

// The playground of a site has all lessons. Each ends with a link to the next one.
func TestASiteHasLessons(t *testing.T) {
	tab := open(t, served(t, playground(t)))
	until(t, tab, "document.querySelector('#mistake.good') !== null")
	do(t, tab, chromedp.Evaluate("(e => { e.value = '#lesson=deadlines'; e.dispatchEvent(new Event('change')); })(document.querySelector('#example'))", nil))
	until(t, tab, "document.querySelector('#lesson h2')?.textContent === 'A job with a deadline [RAS11]'")
	until(t, tab, "Array.from(document.querySelectorAll('.lanes canvas'), (c) => c.dataset.deadlines).join() === 'deadline of late,deadline of late'")
	if got := eval(t, tab, "document.querySelector('.lanes canvas').dataset.bars"); got != "0" {
		t.Errorf("%s bars are drawn before the lesson begins", got)
	}
	do(t, tab, chromedp.Evaluate("Array.from(document.querySelectorAll('#lesson button')).find(b => b.textContent === 'Show all').click()", nil))
	until(t, tab, "document.querySelector('#lesson .claims')?.innerText.includes(': holds')")
	push(t, tab, "#inspector button") // the simulator has the events
	until(t, tab, "document.querySelector('#inspector .rule') !== null")
	push(t, tab, "#lesson .following a")
	until(t, tab, "document.querySelector('#lesson h2')?.textContent.startsWith('Reduces that wait')")
	do(t, tab, chromedp.Evaluate("Array.from(document.querySelectorAll('#lesson button')).find(b => b.textContent === 'Show all').click()", nil))
	until(t, tab, "document.querySelector('#lesson .claims') && !document.querySelector('#lesson .following')") // the last one
	push(t, tab, "#other")
	until(t, tab, "document.querySelector('#mistake.good') !== null")
	// Runs that read files were recorded.
	do(t, tab, chromedp.Evaluate("(e => { e.value = '#lesson=spill'; e.dispatchEvent(new Event('change')); })(document.querySelector('#example'))", nil))
	until(t, tab, "document.querySelector('#lesson h2')?.textContent.startsWith('A kvbuffer that spills')")
	do(t, tab, chromedp.Evaluate("Array.from(document.querySelectorAll('#lesson button')).find(b => b.textContent === 'Show all').click()", nil))
	until(t, tab, "document.querySelector('#lesson .claims')?.innerText.includes('growing kvbuffers spill less: holds')")
	push(t, tab, "#other")
	until(t, tab, "document.querySelector('#mistake.good') !== null")
}

// The panel of shares says what the note of the lesson says: under pi-dhfs a pool starves.
func TestALessonAndItsSharesAgree(t *testing.T) {
	tab := open(t, serve(t, t.TempDir(), "demo", "pools", "--ui"))
	until(t, tab, "document.querySelector('#lesson h2')?.textContent.startsWith('Two pools')")
	do(t, tab, chromedp.Evaluate("Array.from(document.querySelectorAll('#lesson button')).find(b => b.textContent === 'Show all').click()", nil))
	until(t, tab, "document.querySelector('.below .by').textContent.includes('of all slots together') && document.querySelector('.below > div:nth-child(2)').textContent.startsWith('pi-dhfs: below its share (hatched): reports, ')")
}

// Each run of a lesson has its own name, also if several have one policy.
func TestRunsOfOnePolicyHaveTheirOwnNames(t *testing.T) {
	tab := open(t, serve(t, t.TempDir(), "demo", "percentages", "--ui"))
	until(t, tab, "document.querySelector('#lesson h2')?.textContent.startsWith('How many slots')")
	do(t, tab, chromedp.Evaluate("Array.from(document.querySelectorAll('#lesson button')).find(b => b.textContent === 'Show all').click()", nil))
	until(t, tab, "document.querySelector('#inspector').textContent.includes('under half lent') && document.querySelector('.below > div')")
	headline := "document.querySelector('#headline').textContent"
	until(t, tab, headline+".includes('all lent ') && "+headline+".includes('half lent ') && "+headline+".includes('ends first')")
	push(t, tab, "[data-tab=differences]")
	until(t, tab, "document.querySelector('#panel thead').innerText.replace(/\\s+/g, ' ').trim() === 'all lent half lent'")
	if got := eval(t, tab, "document.body.innerText.replace(/pi-dhfs · |rule \\S+ of pi-dhfs/g, '').includes('pi-dhfs')"); got != "false" {
		t.Errorf("a run has the name of its policy: %s", eval(t, tab, "document.body.innerText"))
	}
	push(t, tab, "#runs label input") // the other one keeps its name
	until(t, tab, headline+".startsWith('half lent ends after')")
}

// A page of recorded runs loads no lesson.
func TestOtherPagesHaveNoLesson(t *testing.T) {
	dir, names := recorded(t, borrow, "fair")
	tab := open(t, serve(t, dir, "ui", names[0]))
	until(t, tab, "document.querySelector('.lanes canvas')?.dataset.bars === '16'")
	if got := eval(t, tab, "document.getElementById('lesson').hidden + ' ' + performance.getEntriesByType('resource').filter(r => r.name.endsWith('lesson.js')).length"); got != "true 0" {
		t.Errorf("hidden, and how often lesson.js was loaded: %s", got)
	}
}
