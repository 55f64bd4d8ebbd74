package e2e

import (
	"context"
	"fmt"
	"testing"
)

// student does a task on a page, and counts the clicks.
type student struct {
	t      *testing.T
	tab    context.Context
	clicks int
}

func (s *student) push(selector string) {
	s.t.Helper()
	s.clicks++
	push(s.t, s.tab, selector)
}

// at clicks a point of the first drawing of slots. slot is its row, and seconds the time there, of a run of total
// seconds.
func (s *student) at(slot int, seconds, total float64, answer string) {
	s.t.Helper()
	s.clicks++
	wide := "(document.querySelector('.lanes canvas').getBoundingClientRect().width - %g)"
	var width float64
	if _, err := fmt.Sscan(eval(s.t, s.tab, fmt.Sprintf(wide, gutter)), &width); err != nil {
		s.t.Fatal(err)
	}
	click(s.t, s.tab, canvas, gutter+width*seconds/total, axis+high*(float64(slot)+0.5), answer)
}

func (s *student) sees(answer string) {
	s.t.Helper()
	until(s.t, s.tab, answer)
}

const (
	says     = "document.querySelector('#inspector').textContent.includes('%s')"
	headline = "document.querySelector('#headline').textContent"
)

// TestTasksOfAStudent does what a student is asked to do. Each task takes at most two clicks from the first screen to
// the right answer.
func TestTasksOfAStudent(t *testing.T) {
	dir, names := recorded(t, borrow, "pi-dhfs", "fair")
	pools, of := recorded(t, `cluster: {trackers: 1, map_slots: 4, reduce_slots: 1}
defaults: {map_time: 10s, reduce_time: 10s}
jobs:
  - {name: A, maps: 24, reduces: 1, pool: first}
  - {name: B, maps: 12, reduces: 1, pool: second, submit: 15s}
`, "fair")
	real := t.TempDir()
	for task, c := range map[string]struct {
		dir  string
		runs []string
		do   func(s *student)
	}{
		"who borrowed the reduce slot at 35 s, and why": {dir, names[:1], func(s *student) {
			s.at(1, 35, 80, fmt.Sprintf(says, "A borrowed reduce slot 1 for map 7: no reduce waited"))
		}},
		"why was the reduce slot idle at 60 s": {dir, names[1:], func(s *student) {
			s.at(1, 60, 160, fmt.Sprintf(says, "the gate of A was closed"))
		}},
		"which pool was below its share, and when": {pools, of, func(s *student) {
			s.sees("/second, 15 s to [0-9.]+ s, [0-9.]+ slots/.test(document.querySelector('#below').innerText)")
			s.push("#below .below button")
			s.sees("location.hash.includes('window=')")
		}},
		"what would two more reduce slots do": {dir, names[1:], func(s *student) {
			s.push("#change")
			s.push("[aria-label='reduce slots']")
			eval(s.t, s.tab, "(e => { e.value = 3; e.dispatchEvent(new Event('input')) })(document.querySelector(\"[aria-label='reduce slots']\"))")
			s.sees(headline + ".includes('fair ends 20 s earlier')")
		}},
		"who ends first, and by how much": {dir, names, func(s *student) {
			s.sees(headline + ".startsWith('pi-dhfs ends first, after 80 s; fair 80 s later')")
		}},
		"when did a kvbuffer grow and spill, at which sizes": {real, []string{spilling(t, real)}, func(s *student) {
			s.push("[data-tab=buffers]")
			s.sees("/sort.m.\\d+ from 256.0 KiB to [0-9.]+ MiB at [0-9.]+ m?s.* \\d+ spills wrote [0-9.]+ MiB/.test(document.querySelector('#panel .told').innerText)")
			s.sees("Array.from(document.querySelectorAll('#panel .sr tbody tr')).some(r => /^sort.m.\\d+\\s[0-9.]+ ms\\sgrow\\s256.0 KiB\\s[0-9.]+ MiB$/.test(r.innerText))")
		}},
		"which reduce copied most": {real, []string{"real.jsonl"}, func(s *student) {
			s.push("[data-tab=shuffle]")
			s.sees("/: r\\d the most, [0-9.]+ MiB, and r\\d the least/.test(document.querySelector('#panel .told').innerText)")
			s.sees("document.querySelectorAll('#panel .sr tbody tr').length === 4 && Array.from(document.querySelectorAll('#panel .sr tbody tr')).every(r => r.innerText.includes('100 %'))")
		}},
		"what had the reduces copied at a time": {real, []string{"real.jsonl"}, func(s *student) {
			s.push("[data-tab=shuffle]")
			s.clicks++
			point := func(name string) {
				eval(s.t, s.tab, "(e => { const r = e.getBoundingClientRect(); e.dispatchEvent(new PointerEvent('"+name+"', { bubbles: true, button: 0, pointerId: 1, clientX: r.left + 0.6 * r.width, clientY: r.top + 20 })); })(document.querySelector('#overview canvas'))")
			}
			point("pointermove")
			s.sees("document.querySelector('#tip').textContent.endsWith(' · a click shows this moment')")
			eval(s.t, s.tab, "Element.prototype.setPointerCapture = () => {}")
			point("pointerdown")
			point("pointerup")
			s.sees("/^By [0-9.]+ m?s .* copied[ ;]/.test(document.querySelector('#panel .told').innerText)")
		}},
		"a picture for a slide": {dir, names, func(s *student) {
			s.push("#share")
			s.sees(offered)
			s.push("#png")
		}},
	} {
		t.Run(task, func(t *testing.T) {
			s := &student{t: t, tab: open(t, serve(t, c.dir, append([]string{"ui"}, c.runs...)...))}
			s.sees("document.querySelector('.lanes canvas')?.dataset.bars > 0")
			c.do(s)
			if s.clicks > 2 {
				t.Errorf("%d clicks", s.clicks)
			}
		})
	}
}
