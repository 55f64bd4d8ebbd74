package workload

import "github.com/goccy/go-yaml/ast"

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
	Charts             []ChartOf
	Pos                Pos
}

// Trial is a run. With lists of values it is several runs.
type Trial struct {
	Name string
	Jobs []string // of the file's; nil: all
	Args []Arg    // flags, as mrlocal sim has them
	Pos  Pos
}

// Figure is a figure of the paper, and how it is computed from the runs.
type Figure struct {
	What   string
	Target string // the claim of docs/papers that the figure shows; "": none
	Paper  string // 29 %, 32..55 %, 1319 s, or prose if Ours is a comparison
	// A formula of docs/workloads.md over the results of the runs.
	Ours    string
	Band    []string // least and most that count as reproduced; nil: the paper's range, or its last digit
	Beyond  string   // the value that means no change; figures on one side of it have the same direction; "": none
	Fitted  bool     // constants were fitted to it, or settings or its wording were chosen after a run that showed it
	Because string   // why our figure differs
	Pos     Pos
}

// ChartOf is a chart of an experiment.
type ChartOf struct {
	Name, Title, X, Y string // X and Y name the axes
	Lines             []LineOf
	Pos               Pos
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
	names := []string{"name", "title", "paper", "assumed", "fitted", "with", "runs", "seeds", "figures", "charts"}
	d.mapping(n, "experiment", names, func(key string, v ast.Node) {
		switch key {
		case "name":
			e.Name = d.name(v, key)
		case "title":
			e.Title = d.word(v, key)
		case "paper":
			e.Paper = d.word(v, key)
		case "assumed":
			e.Assumed = d.values(v, key)
		case "fitted":
			e.Fitted = d.values(v, key)
		case "with":
			e.With = d.trial(v, false).Args
		case "runs":
			d.list(v, key, func(item ast.Node) { e.Runs = append(e.Runs, d.trial(item, true)) })
		case "seeds":
			e.Seeds = positive(d, v, key, d.count(v, key))
		case "figures":
			d.list(v, key, func(item ast.Node) { e.Figures = append(e.Figures, d.figure(item)) })
		case "charts":
			d.list(v, key, func(item ast.Node) { e.Charts = append(e.Charts, d.chart(item)) })
		}
	})
	d.must(n, "experiment", e.Name != "", "name")
	d.must(n, "experiment", e.Paper != "", "paper")
	d.must(n, "experiment", len(e.Runs) > 0, "runs")
	d.must(n, "experiment", len(e.Figures) > 0, "figures")
	for i := range d.file.Experiments {
		if d.file.Experiments[i].Name == e.Name {
			d.failAt(e.Pos, "experiment "+e.Name, "the name is given twice, first on line %d", d.file.Experiments[i].Pos.Line)
		}
	}
	d.file.Experiments = append(d.file.Experiments, e)
}

// trial reads a run; if it is not named, the flags of all runs.
// Keys other than name and jobs are flags. Only package bench knows which flags there
// are.
func (d *decoder) trial(n ast.Node, named bool) Trial {
	t := Trial{Pos: placeOf(d.resolve(n))}
	m, ok := d.resolve(n).(ast.MapNode)
	if !ok {
		d.fail(n, "runs", "keys and values are expected here")
	}
	for it := entriesOf(m); d.err == nil && it.Next(); {
		switch key := d.name(it.Key(), "runs"); {
		case named && key == "name":
			t.Name = d.name(it.Value(), key)
		case named && key == "jobs":
			t.Jobs = d.values(it.Value(), key)
		default:
			t.Args = append(t.Args, Arg{Name: key, Values: d.values(it.Value(), key), Pos: placeOf(it.Key())})
		}
	}
	d.must(n, "runs", !named || t.Name != "", "name")
	return t
}

// figure reads an item of figures.
// Band is not checked here to be ascending: its values may have units.
func (d *decoder) figure(n ast.Node) Figure {
	f := Figure{Pos: placeOf(d.resolve(n))}
	names := []string{"what", "target", "paper", "ours", "band", "beyond", "fitted", "because"}
	d.mapping(n, "figure", names, func(key string, v ast.Node) {
		switch key {
		case "what":
			f.What = d.word(v, key)
		case "target":
			f.Target = d.name(v, key)
		case "paper":
			f.Paper = d.word(v, key)
		case "ours":
			f.Ours = d.word(v, key)
		case "band":
			if f.Band = d.values(v, key); d.err == nil && len(f.Band) != 2 {
				d.fail(v, key, "is [least, most]")
			}
		case "beyond":
			f.Beyond = d.word(v, key)
		case "fitted":
			f.Fitted = d.yes(v, key)
		case "because":
			f.Because = d.word(v, key)
		}
	})
	d.must(n, "figure", f.What != "", "what")
	d.must(n, "figure", f.Paper != "", "paper")
	d.must(n, "figure", f.Ours != "", "ours")
	return f
}

// chart reads an item of charts.
// The names of runs in the lines are looked up by package bench.
func (d *decoder) chart(n ast.Node) ChartOf {
	c := ChartOf{Pos: placeOf(d.resolve(n))}
	d.mapping(n, "chart", []string{"name", "title", "x", "y", "lines"}, func(key string, v ast.Node) {
		switch key {
		case "name":
			c.Name = d.name(v, key)
		case "title":
			c.Title = d.word(v, key)
		case "x":
			c.X = d.word(v, key)
		case "y":
			c.Y = d.word(v, key)
		case "lines":
			d.list(v, key, func(item ast.Node) {
				l := LineOf{Pos: placeOf(d.resolve(item))}
				d.mapping(item, key, []string{"name", "y"}, func(key string, v ast.Node) {
					switch key {
					case "name":
						l.Name = d.word(v, key)
					case "y":
						l.Y = d.word(v, key)
					}
				})
				c.Lines = append(c.Lines, l)
			})
		}
	})
	d.must(n, "chart", c.Name != "", "name")
	d.must(n, "chart", len(c.Lines) > 0, "lines")
	return c
}
