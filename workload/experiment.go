package workload

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Experiment is what a paper did with the file's jobs, and what the paper found: runs
// of the simulator, and figures that are computed from them. Assumed and Fitted list
// what was assumed and fitted. Package bench reads Ours, Y and Paper.
// This package checks the form. The strings stay as the file has them, with their
// units.
type Experiment struct {
	Name, Title, Paper string
	Assumed, Fitted    []string // prose: what the paper does not say; which constants were fitted, and to what
	With               []Arg    // flags of every run, as mrlocal sim has them
	Runs               []Trial
	Seeds              int // number of seeds of every run: 1, 2, …; 0: only the seed of its flags
	Figures            []Figure
	Readings           []Reading
	Charts             []ChartOf
	Pos                Pos
}

// Trial is a run. With lists of values it is several runs.
type Trial struct {
	Name    string
	Jobs    []string // of the file's; nil: all
	Without []string // jobs that are left out
	Set     []Change // of the file
	Scale   []Arg    // map_time, reduce_time or map_output of all jobs, times a number
	Args    []Arg    // flags, as mrlocal sim has them
	Pos     Pos
}

// Figure is a figure of the paper, and how it is computed from the runs.
type Figure struct {
	What   string
	Target string // the claim of docs/papers that the figure shows; "": none
	Paper  string // 29 %, 32..55 %, 1319 s, or prose if Ours is a comparison
	// A formula of docs/workloads.md over the results of the runs; "" if the experiment is not
	// built, which Because then begins with.
	Ours      string
	Band      []string // least and most that are inside; nil: the paper's range, or 25 % about its figure
	Beyond    string   // the value that means no change; figures on one side of it have the same direction; "": none
	Fitted    bool     // a constant was fitted to it, or chosen after a run that showed it
	Withdrawn string   // what was set after a run and no longer counts: a band, a limit, a wording; "": nothing
	Because   string   // why ours is outside, or the comparison false
	Isolate   []Trial  // changes, each made alone, that show why; of the runs with their name, or of all
	Pos       Pos
}

// Reading is a number of the runs of which the paper has no figure: what two readings of its
// text differ by, or what the model does. It has no band and no verdict.
type Reading struct {
	What string
	Unit string // % or s, which is written behind the number; "": none
	Ours string // a formula, as that of a Figure
	Pos  Pos
}

// NotBuilt begins the reason of a figure without Ours.
const NotBuilt = "not built: "

// ChartOf is a chart of an experiment.
type ChartOf struct {
	Name, Title, X, Y string // X and Y name the axes
	Lines             []LineOf
}

// LineOf is a line of a chart: Y of several runs over the value that was swept, or Y of
// one run over steps of 10 s.
type LineOf struct {
	Name, Y string
	Pos     Pos
}

// experiment reads an item of experiments. Package bench checks the flags of its runs and
// the formulas of its figures.
// Experiments of a file are few, so names are compared in pairs.
func (d *decoder) experiment(n ast.Node) {
	e := Experiment{Pos: placeOf(d.resolve(n))}
	d.mapping(n, "experiment", []field{
		{"name", into(&e.Name, d.name)},
		{"title", into(&e.Title, d.word)},
		{"paper", into(&e.Paper, d.word)},
		{"assumed", into(&e.Assumed, d.values)},
		{"fitted", into(&e.Fitted, d.values)},
		{"with", func(v ast.Node, _ string) { e.With = d.trial(v, flagsOnly).Args }},
		{"runs", appended(d, &e.Runs, func(item ast.Node) Trial { return d.trial(item, namedRun) })},
		{"seeds", into(&e.Seeds, positive(d, d.count))},
		{"figures", appended(d, &e.Figures, d.figure)},
		{"readings", appended(d, &e.Readings, d.reading)},
		{"charts", appended(d, &e.Charts, d.chart)},
	})
	d.must(n, "experiment", e.Name != "", "name")
	d.must(n, "experiment", e.Paper != "", "paper")
	d.must(n, "experiment", len(e.Runs) > 0, "runs")
	d.must(n, "experiment", len(e.Figures)+len(e.Readings) > 0, "figures")
	for i := range d.file.Experiments {
		if d.file.Experiments[i].Name == e.Name {
			d.failAt(e.Pos, "experiment "+e.Name, "the name is given twice, first on line %d", d.file.Experiments[i].Pos.Line)
		}
	}
	d.file.Experiments = append(d.file.Experiments, e)
}

// form says which keys a trial may have besides flags.
type form uint8

const (
	flagsOnly form = iota // of all runs
	changed               // a change of all runs, or of those of a name: set, scale, without, name
	namedRun              // these and jobs
)

// trial reads a run, the flags of all runs, or a change of them.
// Keys that form does not have are flags. Only package bench knows which flags there
// are.
func (d *decoder) trial(n ast.Node, form form) Trial {
	t := Trial{Pos: placeOf(d.resolve(n))}
	m, ok := d.resolve(n).(ast.MapNode)
	if !ok {
		d.fail(n, "runs", "keys and values are expected here")
	}
	for it := entriesOf(m); d.err == nil && it.Next(); {
		switch key := d.name(it.Key(), "runs"); {
		case form >= changed && key == "name":
			t.Name = d.name(it.Value(), key)
		case form == namedRun && key == "jobs":
			t.Jobs = d.values(it.Value(), key)
		case form >= changed && key == "without":
			t.Without = d.values(it.Value(), key)
		case form >= changed && key == "set":
			d.pairs(it.Value(), key, func(a Arg) { t.Set = append(t.Set, Change{Path: a.Name, Value: a.Values[0]}) })
		case form >= changed && key == "scale":
			d.pairs(it.Value(), key, func(a Arg) { t.Scale = append(t.Scale, a) })
		default:
			t.Args = append(t.Args, Arg{Name: key, Values: d.values(it.Value(), key), Pos: placeOf(it.Key())})
		}
	}
	d.must(n, "runs", form != namedRun || t.Name != "", "name")
	return t
}

// pairs calls f with each key of a mapping and its one value.
func (d *decoder) pairs(n ast.Node, what string, f func(Arg)) {
	m, ok := d.resolve(n).(ast.MapNode)
	if !ok {
		d.fail(n, what, "keys and values are expected here")
	}
	for it := entriesOf(m); d.err == nil && it.Next(); {
		key := d.name(it.Key(), what)
		f(Arg{Name: key, Values: []string{d.word(it.Value(), key)}, Pos: placeOf(it.Key())})
	}
}

// figure reads an item of figures.
// Band is not checked here to be ascending: its values may have units.
func (d *decoder) figure(n ast.Node) Figure {
	f := Figure{Pos: placeOf(d.resolve(n))}
	d.mapping(n, "figure", []field{
		{"what", into(&f.What, d.word)},
		{"target", into(&f.Target, d.name)},
		{"paper", into(&f.Paper, d.word)},
		{"ours", into(&f.Ours, d.word)},
		{"band", func(v ast.Node, key string) {
			if f.Band = d.values(v, key); d.err == nil && len(f.Band) != 2 {
				d.fail(v, key, "is [least, most]")
			}
		}},
		{"beyond", into(&f.Beyond, d.word)},
		{"fitted", into(&f.Fitted, d.yes)},
		{"withdrawn", into(&f.Withdrawn, d.word)},
		{"because", into(&f.Because, d.word)},
		{"isolate", appended(d, &f.Isolate, func(item ast.Node) Trial { return d.trial(item, changed) })},
	})
	d.must(n, "figure", f.What != "", "what")
	d.must(n, "figure", f.Paper != "", "paper")
	notBuilt := strings.HasPrefix(f.Because, NotBuilt)
	d.must(n, "figure", f.Ours != "" || notBuilt, "ours")
	if d.err == nil && f.Ours != "" && notBuilt {
		d.fail(n, "figure", "has ours, and is not built")
	}
	return f
}

// reading reads an item of readings.
func (d *decoder) reading(n ast.Node) Reading {
	r := Reading{Pos: placeOf(d.resolve(n))}
	d.mapping(n, "reading", []field{
		{"what", into(&r.What, d.word)},
		{"unit", into(&r.Unit, d.word)},
		{"ours", into(&r.Ours, d.word)},
	})
	d.must(n, "reading", r.What != "", "what")
	d.must(n, "reading", r.Ours != "", "ours")
	return r
}

// chart reads an item of charts.
// The names of runs in the lines are looked up by package bench.
func (d *decoder) chart(n ast.Node) ChartOf {
	var c ChartOf
	d.mapping(n, "chart", []field{
		{"name", into(&c.Name, d.name)},
		{"title", into(&c.Title, d.word)},
		{"x", into(&c.X, d.word)},
		{"y", into(&c.Y, d.word)},
		{"lines", appended(d, &c.Lines, func(item ast.Node) LineOf {
			l := LineOf{Pos: placeOf(d.resolve(item))}
			d.mapping(item, "lines", []field{{"name", into(&l.Name, d.word)}, {"y", into(&l.Y, d.word)}})
			return l
		})},
	})
	d.must(n, "chart", c.Name != "", "name")
	d.must(n, "chart", len(c.Lines) > 0, "lines")
	return c
}
