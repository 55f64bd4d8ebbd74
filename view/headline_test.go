package view_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/viewtest"
)

const oneOfEach = `
cluster: {trackers: 1, map_slots: 1, reduce_slots: 1}
defaults: {slowstart: 1.0, map_time: 10s, reduce_time: 10s}
jobs:
  - {name: A, maps: 12, reduces: 4}
`

const lostAt50 = `
cluster: {trackers: 3, map_slots: 1, reduce_slots: 1}
faults: [{at: 50s, tracker: 2, lost: true}]
jobs:
  - {name: A, maps: 1, reduces: 1, map_time: 25s, reduce_time: 75s}
`

const oneFails = oneOfEach + `
  - {name: B, maps: 1, reduces: 0}
faults: [{task: B/m/0, fail: 4}]
`

// stopped is a run whose events end before any job has ended.
func stopped() *view.Model {
	m := view.New()
	_ = m.Close() // never fails
	return m
}

func named(t *testing.T, workload string, policies ...string) (all []view.Named) {
	for _, name := range policies {
		all = append(all, view.Named{Name: name, Model: viewtest.Simulate(t, workload, name, "l0").Model})
	}
	return all
}

func headline(t *testing.T, workload string, policies ...string) string {
	return view.Headline(named(t, workload, policies...))
}

// TestHeadlines compares the words with the runs, whose numbers are worked out by hand: fair runs 12 maps and then 4
// reduces one after the other, and pi-dhfs two tasks at a time.
func TestHeadlines(t *testing.T) {
	for name, c := range map[string]struct{ got, want string }{
		"two runs":          {headline(t, oneOfEach, "fair", "pi-dhfs"), "pi-dhfs ends first, after 80 s; fair 80 s later (twice the time). The reduce slot was idle for 120 s of 160 s under fair; pi-dhfs lent it 6 times."},
		"one run":           {headline(t, oneOfEach, "fair"), "fair ends after 160 s. The reduce slot was idle for 120 s of 160 s."},
		"equal runs":        {headline(t, oneOfEach, "fair", "fifo"), "Both runs end after 160 s. The reduce slot was idle for 120 s of 160 s under fifo."},
		"two are first":     {headline(t, oneOfEach, "pi-dhfs", "fair", "pd-dhfs"), "pi-dhfs ends first, after 80 s; pd-dhfs at the same time, fair 80 s later. The reduce slot was idle for 120 s of 160 s under fair; pi-dhfs lent it 6 times."},
		"no run":            {view.Headline(nil), ""},
		"a live run":        {view.Headline([]view.Named{{Name: "fair", Model: view.New()}}), "fair goes on; so far 0 s."},
		"a run that failed": {view.Headline([]view.Named{{Name: "fair", Model: stopped()}}), "fair stopped after 0 s; not all jobs had ended."},
		"runs of no time":   {headline(t, "jobs: [{name: A, maps: 1, reduces: 0, map_time: 0s}]", "fair", "pi-dhfs"), "Both runs end after 0 s."},
		// A slot is not idle once its tracker is lost: 225 s of 250 s, and not 275 s of 300 s.
		"a lost tracker":  {headline(t, lostAt50, "fair"), "fair ends after 100 s. Map slots were 90 % idle."},
		"two runs fail":   {headline(t, oneFails, "fair", "fifo"), "Both runs end after 160 s; 1 of 2 jobs of fair did not succeed; 1 of 2 jobs of fifo did not succeed. The reduce slot was idle for 120 s of 160 s under fifo."},
		"three runs fail": {headline(t, oneFails, "fair", "fifo", "late"), "All 3 runs end after 160 s; 1 of 2 jobs did not succeed in each run. The reduce slot was idle for 120 s of 160 s under late."},
		"three of four":   {view.Headline(append(named(t, oneFails, "fair", "fifo", "late"), named(t, oneOfEach, "pi-dhfs")...)), "pi-dhfs ends first, after 80 s; fair 80 s later, fifo 80 s later, late 80 s later; in 3 of 4 runs not all jobs succeeded."},
		"all that is":     {headline(t, oneOfEach, "pi-dhfs"), "pi-dhfs ends after 80 s. pi-dhfs lent the map slot 2 times and the reduce slot 6 times."},
	} {
		if c.got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, c.got, c.want)
		}
	}
}

// TestTheHeadlineOfFigure5 names the job that pd-dhfs serves earlier although it ends later.
func TestTheHeadlineOfFigure5(t *testing.T) {
	var all []view.Named
	for _, name := range []string{"pi-dhfs", "pd-dhfs"} {
		all = append(all, view.Named{Name: name, Model: viewtest.Simulate(t, fig5(t), name, "l0").Model})
	}
	got := view.Headline(all)
	first, second := all[0].Model, all[1].Model
	early := first.Jobs[0].Finish - second.Jobs[0].Finish
	for _, want := range []string{"pi-dhfs ends first", "pd-dhfs ", " later", fmt.Sprintf("But pd-dhfs ends job J1 %.1f s earlier: pool1 was below its share of all slots for 23.9 s, not 74.5 s.", early.Seconds())} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %q", got, want)
		}
	}
}

// TestCriticalPaths follows the chains that are worked out by hand.
func TestCriticalPaths(t *testing.T) {
	m := viewtest.Simulate(t, oneOfEach, "fair", "l0").Model
	path := m.CriticalPath()
	if len(path) != 16 { // every task: 12 maps on the map slot, 4 reduces on the reduce slot
		t.Fatalf("%d links: %+v", len(path), path)
	}
	for i, link := range path {
		want := view.CauseSlot
		switch i {
		case 0:
			want = view.CauseArrival
		case 12:
			want = view.CauseMaps
		}
		if link.Cause != want {
			t.Errorf("link %d: %v, want %v", i, link.Cause, want)
		}
	}
	if got, want := m.TellPath(path), "A/r/3 on slot 1 ended last, at 160 s. Slot 1 ran 3 attempts before it, from 120 s on. A/r/0 had to wait for the last map, A/m/11 on slot 0, until 120 s. Slot 0 ran 11 attempts before it, from 0 s on."; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if none := view.New(); len(none.CriticalPath()) != 0 || none.TellPath(nil) != "" {
		t.Error("a path of no run")
	}
}

// TestACriticalPathIsAChain checks each link of many runs: what it waited for ended before it began, or before it
// could go on, and the path ends with the run.
func TestACriticalPathIsAChain(t *testing.T) {
	for _, run := range viewtest.Runs() {
		m := run.Model(t)
		path := m.CriticalPath()
		if len(path) == 0 {
			t.Fatalf("%s: no path", run.Name)
		}
		last := time.Duration(0)
		for i := range m.Jobs {
			last = max(last, m.Jobs[i].Finish)
		}
		if end := m.Bars[path[len(path)-1].Bar].To; end != last {
			t.Errorf("%s: the path ends at %v, the run at %v", run.Name, end, last)
		}
		for i, link := range path {
			b := &m.Bars[link.Bar]
			waits := b.Kind == trace.Reduce && link.Cause == view.CauseMaps
			if link.Ready > b.From && !waits || link.Ready > b.To {
				t.Errorf("%s: link %d was ready at %v, after its start at %v", run.Name, i, link.Ready, b.From)
			}
			if i > 0 && link.Cause != view.CauseArrival && m.Bars[path[i-1].Bar].To != link.Ready {
				t.Errorf("%s: link %d was ready at %v, the link before ended at %v", run.Name, i, link.Ready, m.Bars[path[i-1].Bar].To)
			}
			if (i == 0) != (link.Cause == view.CauseArrival) {
				t.Errorf("%s: link %d: %v", run.Name, i, link.Cause)
			}
		}
	}
}
