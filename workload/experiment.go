package workload

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"mrlocal/internal/setting"
)

// Experiment is an experiment of a paper with the jobs of the file. It has simulated runs,
// and the paper's figures, which are computed anew from these runs. Strings stay as the
// file has them, with their units. This package checks only which keys there are. Package
// bench interprets flags, expressions and numbers.
type Experiment struct {
	Name, Title, Paper string
	Assumed            []string // prose: each assumption about a detail that the paper leaves open
	Fitted             []string // prose: each fitted constant, and the figure it was fitted to
	With               []Arg    // flags of every run, as mrlocal sim has them
	Runs               []Trial
	Seeds              int // number of seeds of every run: 1, 2, …; 0: only the seed of its flags
	Figures            []Figure
	Readings           []Reading
	Charts             []ChartOf
	Pos                Pos
}

// Trial is a run of an experiment. If a flag has several values, it stands for several runs.
type Trial struct {
	Name      string
	Jobs      []string // names of the jobs that run, in their order; nil: all jobs of the file
	EachOrder bool     // a run for each order of Jobs
	Without   []string // names of jobs that are left out
	Set       []Arg    // values of the file by paths (Change), several as in Args
	Scale     []Arg    // factors of map_time, reduce_time or map_output of all jobs, several as in Args
	Args      []Arg    // flags, as mrlocal sim has them
	Pos       Pos
}

// Figure is a figure of the paper, and the expression that computes it from the runs.
type Figure struct {
	What   string // the quantity, in words
	Target string // the claim of docs/papers that the figure shows; "": none
	Paper  string // the paper's value: 29 %, 32..55 %, 1319 s; prose if Ours is a comparison
	// Ours is an expression of docs/workloads.md over the results of the runs. It is empty if the
	// experiment is not built. Then Because begins with NotBuilt.
	Ours      string
	Band      []string // the least and the most value inside; nil: the paper's range, or 25 % about its value
	Beyond    string   // the value of no change: values on one side of it have the same direction; "": none
	Fitted    bool     // a constant was fitted to the figure, or chosen after a run that showed it
	Withdrawn string   // the band, limit or wording that was set after a run and no longer counts; "": none
	Check     string   // why the figure is not a result: input, formula or repeat (docs/workloads.md); "": it is a result
	Because   string   // the reason why our value is outside its band, or the comparison false
	Isolate   []Trial  // changes that are tried one at a time to find the reason; one with a name changes the runs of that name, others all runs
	Pos       Pos
}

// Reading is a computed number for which the paper has no figure. It shows by how much two
// readings of the paper's text differ, or how the model behaves. It has no band and no
// verdict.
type Reading struct {
	What string
	Unit string // %, s or "": it is written after the number
	Ours string // an expression, as in Figure
	Pos  Pos
}

// NotBuilt is the beginning of Because in a figure without Ours.
const NotBuilt = "not built: "

// ChartOf is a chart of an experiment.
type ChartOf struct {
	Name, Title, X, Y string // X and Y name the axes
	Lines             []LineOf
}

// LineOf is a line of a chart. Y is an expression. If it is about several runs, X is the value in
// which they differ. If it is about one run, X is time in steps of 10 s.
type LineOf struct {
	Name, Y string
	Pos     Pos
}

// experiment reads an item of experiments. Package bench checks the flags of its runs and
// the expressions of its figures.
func (d *decoder) experiment(n *yaml.Node) {
	e := Experiment{Pos: placeOf(d.resolve(n))}
	d.mapping(n, "experiment", []field{
		{"name", into(&e.Name, d.name)},
		{"title", into(&e.Title, d.word)},
		{"paper", into(&e.Paper, d.word)},
		{"assumed", into(&e.Assumed, d.values)},
		{"fitted", into(&e.Fitted, d.values)},
		{"with", func(v *yaml.Node, _ string) { e.With = d.trial(v, flagsOnly).Args }},
		{"runs", appended(d, &e.Runs, func(item *yaml.Node) Trial { return d.trial(item, namedRun) })},
		{"seeds", d.set(count(&e.Seeds, 1))},
		{"figures", appended(d, &e.Figures, d.figure)},
		{"readings", appended(d, &e.Readings, d.reading)},
		{"charts", appended(d, &e.Charts, d.chart)},
	})
	d.must(n, "experiment", e.Name != "", "name")
	d.must(n, "experiment", e.Paper != "", "paper")
	d.must(n, "experiment", len(e.Runs) > 0, "runs")
	d.must(n, "experiment", len(e.Figures)+len(e.Readings) > 0, "figures")
	d.file.Experiments = append(d.file.Experiments, e)
}

// form says which keys a trial may have in addition to flags. Each form has the keys of the ones
// before it.
type form uint8

const (
	flagsOnly form = iota // with of an experiment: no other keys
	changed               // isolate of a figure: name, without, set and scale
	namedRun              // an item of runs: also jobs and each_order; name is required
)

// trial reads a trial of the given form. It takes every other key for a flag. Package bench
// refuses unknown flags later.
func (d *decoder) trial(n *yaml.Node, form form) Trial {
	t := Trial{Pos: placeOf(d.resolve(n))}
	seen := map[string]Pos{}
	for k, v := range d.entriesOf(n, "runs") {
		switch key := d.once(seen, k, "runs", ""); {
		case form >= changed && key == "name":
			t.Name = d.name(v, key)
		case form == namedRun && key == "jobs":
			t.Jobs = d.values(v, key)
		case form == namedRun && key == "each_order":
			t.EachOrder = d.yes(v, key)
		case form >= changed && key == "without":
			t.Without = d.values(v, key)
		case form >= changed && key == "set":
			t.Set = d.flags(v, key)
		case form >= changed && key == "scale":
			t.Scale = d.flags(v, key)
		default:
			t.Args = append(t.Args, Arg{Name: key, Values: d.values(v, key), Pos: placeOf(k)})
		}
	}
	d.must(n, "runs", form != namedRun || t.Name != "", "name")
	return t
}

// once returns the name of a key of the mapping what, in which seen has the keys before it. It fails if the key is
// among them. advice is the end of the message, in which %[1]s stands for the key.
func (d *decoder) once(seen map[string]Pos, k *yaml.Node, what, advice string) string {
	key := d.name(k, what)
	if before, twice := seen[key]; twice {
		d.failAt(placeOf(k), what, "%[1]s is given twice, first %[2]s"+advice, key, before.line())
	}
	seen[key] = placeOf(k)
	return key
}

// flags reads the mapping n, each key of which has one value or several.
func (d *decoder) flags(n *yaml.Node, what string) (all []Arg) {
	seen := map[string]Pos{}
	for k, v := range d.entriesOf(n, what) {
		all = append(all, Arg{Name: d.once(seen, k, what, ""), Values: d.values(v, what), Pos: placeOf(k)})
	}
	return all
}

// figure reads an item of figures. Package bench checks the values of band, which may have
// units.
func (d *decoder) figure(n *yaml.Node) Figure {
	f := Figure{Pos: placeOf(d.resolve(n))}
	d.mapping(n, "figure", []field{
		{"what", into(&f.What, d.word)},
		{"target", into(&f.Target, d.name)},
		{"paper", into(&f.Paper, d.word)},
		{"ours", into(&f.Ours, d.word)},
		{"band", func(v *yaml.Node, key string) {
			if f.Band = d.values(v, key); d.err == nil && len(f.Band) != 2 {
				d.fail(v, key, "give [least, most]")
			}
		}},
		{"beyond", into(&f.Beyond, d.word)},
		{"fitted", into(&f.Fitted, d.yes)},
		{"withdrawn", into(&f.Withdrawn, d.word)},
		{"check", d.set(setting.Choice(&f.Check, "input", "formula", "repeat"))},
		{"because", into(&f.Because, d.word)},
		{"isolate", appended(d, &f.Isolate, func(item *yaml.Node) Trial { return d.trial(item, changed) })},
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
func (d *decoder) reading(n *yaml.Node) Reading {
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

// chart reads an item of charts. Package bench looks up the names of runs in its lines.
func (d *decoder) chart(n *yaml.Node) ChartOf {
	var c ChartOf
	d.mapping(n, "chart", []field{
		{"name", into(&c.Name, d.name)},
		{"title", into(&c.Title, d.word)},
		{"x", into(&c.X, d.word)},
		{"y", into(&c.Y, d.word)},
		{"lines", appended(d, &c.Lines, func(item *yaml.Node) LineOf {
			l := LineOf{Pos: placeOf(d.resolve(item))}
			d.mapping(item, "lines", []field{{"name", into(&l.Name, d.word)}, {"y", into(&l.Y, d.word)}})
			return l
		})},
	})
	d.must(n, "chart", c.Name != "", "name")
	d.must(n, "chart", len(c.Lines) > 0, "lines")
	return c
}
