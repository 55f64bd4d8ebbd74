package bench

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"mrlocal/internal/stats"
	"mrlocal/workload"
)

// TestAnIntervalOutOfTheBandIsOutside: a mean alone is not enough.
func TestAnIntervalOutOfTheBandIsOutside(t *testing.T) {
	f := &workload.Figure{Paper: "100 s"}
	for _, c := range []struct {
		low, high float64
		want      Verdict
	}{{76, 124, Inside}, {74, 124, Outside}, {76, 126, Outside}, {99.8, 100.2, Exact}, {70, 130, Outside}} {
		l := Line{Seeds: 20}
		err := l.measure(f, stats.Interval{Mean: (c.low + c.high) / 2, Low: c.low, High: c.high}, false)
		if c.want == Inside && l.Verdict == Exact {
			l.Verdict = Inside // the mean is that of the paper
		}
		if err != nil || l.Verdict != c.want {
			t.Errorf("%v to %v: %s, not %s: %v", c.low, c.high, l.Verdict, c.want, err)
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "docs", filepath.FromSlash(FiguresFile)))
	var lines []Line
	if err == nil {
		err = json.Unmarshal(text, &lines)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if (l.Verdict == Inside || l.Verdict == Exact) && l.CILow != "" && l.Low != "" && (less(l.CILow, l.Low) || less(l.High, l.CIHigh)) {
			t.Errorf("%s: %s: %s to %s is not in %s to %s", l.Experiment, l.What, l.CILow, l.CIHigh, l.Low, l.High)
		}
	}
}

// readOnce returns all experiments, prepared. Tests share them, also those in the package bench_test.
var readOnce = sync.OnceValues(func() ([]*Experiment, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	return all, Prepare(all)
})

// figuresOf calls see with each figure that is a result.
func figuresOf(t *testing.T, see func(e *Experiment, f *workload.Figure)) {
	t.Helper()
	all, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		for i := range e.Figures {
			if f := &e.Figures[i]; f.Ours != "" && f.Check == "" {
				see(e, f)
			}
		}
	}
}

// TestTheBandOfAShareLeavesRoom: a share of all cores that is near 0 or 100 % has a band of a quarter of
// what is left. A quarter of 94 % would reach beyond 100 %, where nothing can be.
func TestTheBandOfAShareLeavesRoom(t *testing.T) {
	share := regexp.MustCompile(`^(map_)?(user|sys|iowait|idle)\[[^\]]*\]$`)
	n := 0
	figuresOf(t, func(e *Experiment, f *workload.Figure) {
		if !share.MatchString(f.Ours) || bandless(f) {
			return
		}
		n++
		paper, err := parseQuantity(f.Paper)
		if err != nil {
			t.Fatal(err)
		}
		least, most, err := band(f, &paper)
		room := math.Min(paper.least, 1-paper.least)/4 + 2*paper.half()
		if err != nil || paper.least-least > room || most-paper.least > room {
			t.Errorf("%s: %s: the band %v to %v is wider than %v on a side: %v", e.Name, f.What, least, most, room, err)
		}
	})
	if n < 10 {
		t.Errorf("%d shares", n)
	}
}

// meaning returns an expression with the command lines of its runs instead of their names, so that equal
// results have equal texts in all experiments.
func meaning(e *Experiment, ours string) string {
	return regexp.MustCompile(`\[[^,\]]*`).ReplaceAllStringFunc(ours, func(name string) string {
		var lines []string
		for i := range e.trials {
			if e.trials[i].matches(strings.TrimSpace(name[1:])) {
				lines = append(lines, strings.ReplaceAll(e.trials[i].line(), "=", ":"))
			}
		}
		return "[" + strings.Join(lines, " & ")
	})
}

// TestNoResultIsCountedTwice: two figures that compute the same from the same runs are one result, and the
// other one is a repeat. A comparison has different sides.
func TestNoResultIsCountedTwice(t *testing.T) {
	seen := map[string]string{}
	signs := regexp.MustCompile(`[<>=]=?`)
	figuresOf(t, func(e *Experiment, f *workload.Figure) {
		text := meaning(e, f.Ours)
		if _, err := parseQuantity(f.Paper); err == nil {
			text += " for " + f.Paper // the paper may have two numbers where we have one
		}
		if other := seen[text]; other != "" {
			t.Errorf("%s: %s: %s has the same; say check: repeat", e.Name, f.What, other)
		}
		seen[text] = e.Name + ": " + f.What
		sides := map[string]bool{}
		for _, side := range signs.Split(text, -1) {
			if side = strings.TrimSpace(side); sides[side] {
				t.Errorf("%s: %s: compared with itself: %s", e.Name, f.What, side)
			}
			sides[side] = true
		}
	})
	if len(seen) < 200 {
		t.Errorf("%d figures", len(seen))
	}
}

// TestAFlatLineDoesNotMeetIt: if all sides of a true comparison were equal, it would say nothing, unless the
// paper says that they are equal.
func TestAFlatLineDoesNotMeetIt(t *testing.T) {
	weak := regexp.MustCompile(`^[^<>=]*([<>]=[^<>=]*)+$`)
	figuresOf(t, func(e *Experiment, f *workload.Figure) {
		if strings.Contains(f.Ours, "rise(") && weak.MatchString(f.Ours) && f.Because == "" && f.Withdrawn == "" {
			t.Errorf("%s: %s: a flat line meets %s", e.Name, f.What, f.Ours)
		}
		if e.Seeds > 1 && strings.Contains(f.Ours, "min(inner(") {
			t.Errorf("%s: %s: of equal numbers that differ by seed, the least of four is less than that of two", e.Name, f.What)
		}
	})
}

// TestRowsOfPapersNameExperiments: the last cell of a row of docs/papers names experiments, and a row names each.
func TestRowsOfPapersNameExperiments(t *testing.T) {
	all, err := readOnce()
	pages, globbed := filepath.Glob("../docs/papers/*.md")
	if err = errors.Join(err, globbed); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		in := false
		for line := range strings.Lines(string(text)) {
			cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), "|"), "|")
			if in = strings.HasPrefix(line, "| place |") || in && line[0] == '|'; in && !strings.HasPrefix(line, "| place |") && !strings.HasPrefix(line, "| ---") {
				for name := range strings.SplitSeq(strings.TrimSpace(cells[len(cells)-1]), ", ") {
					named[name] = true
				}
			}
		}
	}
	delete(named, "—")
	for _, e := range all {
		if !named[e.Name] {
			t.Errorf("no row names %s", e.Name)
		}
		delete(named, e.Name)
	}
	if len(named) > 0 {
		t.Errorf("no such experiment: %v", named)
	}
}
