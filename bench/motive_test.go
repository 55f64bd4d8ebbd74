package bench_test

import (
	"slices"
	"testing"

	"mrlocal/bench"
	"mrlocal/internal/testkit"
)

// TestWhySlotsAreLent: fixed times of tasks give the numbers of the sections I to III of [DHFS13] that have no figure
// there. Those of starve are worked by hand. Alone, 96 reduces of 60 s on 4 slots end at 10 + 24 * 60 = 1450 s. If all
// slots are lent, 24 reduces run from 10 to 70 s, and then the 20 maps of the job that came at 20 s.
func TestWhySlotsAreLent(t *testing.T) {
	for name, want := range map[string][]string{
		"motive": {
			"true: 0.639 to 0.675 < 0.774 to 0.836",                  // HFS, FIFO
			"true: 0.962 to 0.989 > 0.774 to 0.836 > 0.639 to 0.675", // PI-DHFS, FIFO, HFS
			"true: 1.29 > 1.05",                                      // orders of jobs under FIFO
			"true: 1 <= 1.05",                                        // under PI-DHFS
			"true: 0.156 > 0.026",                                    // idle in the best order on the best configuration, and under PI-DHFS
		},
		"starve":     {"true: 60 > 10", "true: 60 > 0", "true: 70 > 10", "true: 60 > 0"},
		"dependent":  {"true: 1659 < 2019", "true: 1623 < 2019", "true: 0.935 > 0.768"},
		"fig4-range": {"true: 0.183 < 0.44 < 0.68 < 2.06", "true: 0.184 < 0.44 < 0.68 < 2.09"},
	} {
		if name == "motive" && !testkit.Long() {
			continue
		}
		r := resultOf(t, name)
		if len(r.Lines) != len(want) {
			t.Errorf("%s: %d figures, want %d", name, len(r.Lines), len(want))
		}
		for i, l := range r.Lines {
			if i >= len(want) || l.Shown != want[i] {
				t.Errorf("%s: %s: %s; want %v", name, l.What, l.Shown, want)
			}
		}
	}
}

// TestYARNsReducesRunAndWait: with the jobs of Table I more reduces run under YARN than under DynamicMR, and they wait
// longer for maps. The network makes no difference between both.
func TestYARNsReducesRunAndWait(t *testing.T) {
	all := results(t)
	r := all[slices.IndexFunc(all, func(r *bench.Result) bool { return r.Name == "dynamicmr-network" })]
	for i, want := range []bench.Cell{"true", "true", "false"} {
		if l := &r.Lines[i]; l.Ours != want {
			t.Errorf("%s: %s", l.What, l.Shown)
		}
	}
}
