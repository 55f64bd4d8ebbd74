package e2e

import "testing"

// TestOneThingIsNotSeveral: on the page of a run with one map, one reduce and a slot for each, no text has 1 and then a
// plural.
func TestOneThingIsNotSeveral(t *testing.T) {
	dir, names := recorded(t, "cluster: {trackers: 1, map_slots: 1, reduce_slots: 1}\njobs:\n  - {name: A, maps: 1, reduces: 1, map_time: 10s, reduce_time: 5s}\n", "fair")
	tab := open(t, serve(t, dir, "ui", names[0]))
	for _, name := range []string{"shares", "shuffle", "buffers", "differences"} {
		push(t, tab, "[data-tab="+name+"]")
		if name == "shuffle" {
			until(t, tab, "document.querySelector('.told').textContent.includes('copied')")
		}
		const texts = "[document.body, ...document.querySelectorAll('[aria-label]')].map((e) => (e === document.body ? e.innerText : e.getAttribute('aria-label'))).join('\\n')"
		if got := eval(t, tab, "("+texts+".match(/(?<![\\d.,])1 ([a-z]+ )?(maps|reduces|slots|tasks|jobs|moves|loans|attempts|steps|spills|decisions|runs|rows)\\b.*/) ?? [''])[0]"); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	// A band of slots and the strip of whole runs count in the same way.
	const words = "0 map slots,1 map slot,1.5 map slots,2 map slots"
	until(t, tab, "(window.said ??= '', import('./model.js').then((m) => { window.said = [0, 1, 1.5, 2].map((n) => m.counted(n, 'map slot')).join() }), window.said === '"+words+"')")
}
