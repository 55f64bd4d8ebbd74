// Package workloads has the commands of workload files. The commands batch, sim, sweep, validate and
// profile run such a file. The command workload makes one, at random or from a trace of another
// system.
//
// A batch is a file that runs for real, and a simulation one that runs in virtual time. Both take
// the same flags of scheduling. readBatch and readSimulation read the flags, and then load the
// file, because a flag replaces a value of the file.
package workloads

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/workload"
	"mrlocal/workload/source"
)

// workloadHelp is the help text of mrlocal workload and its subcommands below their usage.
const workloadHelp = `Writes a workload file for sim, sweep and batch, with comments that say how it was made. docs/workloads.md describes the file.`

// Workload returns mrlocal workload, which makes workload files. Its subcommands are generate and
// import.
func Workload() command.Command {
	make := func(text maker) func(context.Context, command.Env, argv.Line) (int, error) {
		return func(_ context.Context, e command.Env, line argv.Line) (int, error) {
			return command.Done, write(line, e, text)
		}
	}
	return command.Command{Usage: "make a workload file: generate one at random, or import a trace", Args: "generate|import", Long: workloadHelp, Sub: []command.Command{
		{Name: "generate", Usage: "draw the jobs of a workload at random", Long: workloadHelp, Flags: generateFlags(), Run: make(generate)},
		{Name: "import", Usage: "make a workload of a trace of SWIM, SLS, Rumen or Hadoop", Args: "[FILE…]", Long: workloadHelp, Flags: importFlags(), Run: make(importTraces)},
	}}
}

// generateFlags returns the flags of mrlocal workload generate.
func generateFlags() []argv.Spec {
	return append([]argv.Spec{
		argv.ValueSpec("jobs", "draw `N` jobs", "100"),
		argv.ValueSpec("seed", "seed `N`: the same flags and seed give the same bytes", "1"),
		argv.ValueSpec("arrivals", "when jobs arrive: `poisson|fixed|bursts`", "poisson"),
		argv.ValueSpec("every", "`TIME` between two jobs on average", "10s"),
		argv.ValueSpec("burst", "`N` jobs of a burst arrive at once; bursts are a Poisson process", "10"),
		argv.ValueSpec("sizes", "bytes of input of a job, a `LAW`: lognormal:MEDIAN,SIGMA, pareto:LEAST,ALPHA, or fb-2009, the ten classes of a trace of Facebook that SWIM published", "lognormal:1GiB,1.5"),
		argv.ValueSpec("most", "no job reads more than `SIZE`, except those of fb-2009", "1TiB"),
		argv.ValueSpec("shuffle", "`X` bytes of map output for each byte of input; 0: no reduces; fb-2009 has its own", "0.5"),
		argv.ValueSpec("pools", "draw the pool of a job from `NAME[=WEIGHT],…`, as prod=2,adhoc", "a pool for each job"),
		argv.ValueSpec("deadlines", "`SHARE` of the jobs that have a deadline", "0"),
		argv.ValueSpec("slack", "a deadline leaves `X` times what the job takes alone on the cluster", "2"),
		argv.ValueSpec("bytes", "multiply all bytes by `X`", "1"),
	}, common()...)
}

// format is a format of traces. Its flag names a file.
type format struct {
	flag, usage string
	read        source.Reader
}

// formats returns the formats of traces.
func formats() []format {
	return []format{
		{"swim", "a trace of SWIM: tabs between name, submission, gap, map input, shuffle and reduce output", source.SWIM},
		{"sls", "a load of YARN's Scheduler Load Simulator", source.SLS},
		{"rumen", "a job trace of Rumen, as for SLS, Gridmix and Mumak", source.Rumen},
		{"history", "a job history of Hadoop (.jhist)", source.History},
		{"history1", "a job history of Hadoop 1.x, or a log file of Rumen with several", source.History1},
	}
}

// importFlags returns the flags of mrlocal workload import.
func importFlags() (flags []argv.Spec) {
	for _, f := range formats() {
		s := argv.ValueSpec(f.flag, "read `FILE`, "+f.usage+"; may be repeated, and plain FILEs are read too", "")
		s.Repeat = true
		flags = append(flags, s)
	}
	return append(append(flags,
		argv.ToggleSpec("skip-failed", "", "leave out jobs that failed and jobs that cannot be read, and count them"),
		argv.ValueSpec("bytes", "multiply all bytes by `X`; where a trace has tasks instead, their number", "1"),
		argv.ValueSpec("time", "multiply the moments of submission by `X`; tasks take as long as before", "1"),
		argv.ValueSpec("jobs", "take the first `N` jobs", "all"),
	), common()...)
}

// common returns the flags that generate and import share. reader.common reads them, except
// --output-file.
func common() []argv.Spec {
	out := argv.ValueSpec("output-file", "write the workload to `FILE`", "standard output")
	out.Short = "o"
	return []argv.Spec{out,
		argv.ValueSpec("trackers", "`N` trackers of the cluster", "10"),
		argv.ValueSpec("map-slots", "`N` map slots on each tracker", "4"),
		argv.ValueSpec("reduce-slots", "`N` reduce slots on each tracker", "2"),
		argv.ValueSpec("block-size", "a map for each `SIZE` of input, or of its output if that is more", "64MiB"),
		argv.ValueSpec("reduce-bytes", "a reduce for each `SIZE` of shuffle and output, as in SWIM", "64MiB"),
		argv.ValueSpec("rate", "a task works through `SIZE` a second, where nothing says how long it takes", "10MB"),
		argv.ValueSpec("startup", "`TIME` that each such task takes in addition", "1s"),
		argv.ValueSpec("most-tasks", "fail if the jobs have more than `N` tasks", strconv.Itoa(source.DefaultMostTasks)),
	}
}

// reader is argv.Reader with methods for the flags of generate and import.
type reader struct{ *argv.Reader }

// factor reads a decimal above 0, at most a million. If zero is true, it may also be 0. If the flag
// is not set, factor returns otherwise.
func (r reader) factor(flag string, otherwise ppm.Share, zero bool) ppm.Share {
	text, ok := r.Line.Value(flag)
	if !ok {
		return otherwise
	}
	p, err := ppm.Parse(text)
	if err != nil || p > 1_000_000*ppm.One || p == 0 && !zero {
		r.Keep(errs.Optionf("--"+flag, "%s: not a factor; write a decimal number such as 0.1 or 10", errs.Quote(text)))
	}
	return p
}

// mostCluster is the largest number of trackers, and of slots of one kind on a tracker.
const mostCluster = 100_000

// common reads the flags of the cluster and of the size of tasks. A value of 0 stands for the default.
func (r reader) common() (source.Cluster, source.Tasks) {
	return source.Cluster{Trackers: r.Count("trackers", 1, mostCluster), MapSlots: r.Count("map-slots", 1, mostCluster), ReduceSlots: r.Count("reduce-slots", 1, mostCluster)},
		source.Tasks{BlockBytes: r.Size("block-size", 1<<10), ReduceBytes: r.Size("reduce-bytes", 1<<10), Rate: r.Rate("rate"), Startup: r.Time("startup", false), Most: r.Count("most-tasks", 1, 40_000_000)}
}

// pools reads --pools, NAME[=WEIGHT] with commas between. It returns nil if the flag is not set or
// wrong. The default weight is 1.
func (r reader) pools() (all []source.TracePool) {
	text, ok := r.Line.Value("pools")
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for _, part := range strings.Split(text, ",") {
		name, weight, given := strings.Cut(part, "=")
		p := source.TracePool{Name: name, Weight: ppm.One}
		var err error
		if given {
			p.Weight, err = ppm.Parse(weight)
		}
		if err != nil || p.Weight == 0 || name == "" || seen[name] {
			r.Keep(errs.Optionf("--pools", "%s: not names with weights; write prod=2,adhoc, each name once", errs.Quote(text)))
			return nil
		}
		seen[name] = true
		all = append(all, p)
	}
	return all
}

// sizes reads --most and --sizes, which is LAW:BYTES,SHAPE or fb-2009. SHAPE is the sigma of a
// lognormal law or the alpha of a Pareto law. If --sizes is not set, Law is "", which stands for
// the default.
func (r reader) sizes() (s source.Sizes) {
	s.Most = r.Size("most", 1)
	text, ok := r.Line.Value("sizes")
	if !ok {
		return s
	}
	law, of, given := strings.Cut(text, ":")
	bytes, shape, _ := strings.Cut(of, ",")
	s.Law = law
	var problem string
	var err error
	if given {
		s.Bytes, problem = ppm.ParseBytes(bytes)
		s.Shape, err = strconv.ParseFloat(shape, 64)
	}
	// A shape above 20 would give sizes beyond any bound.
	switch bad := problem != "" || err != nil || s.Bytes == 0 || math.IsNaN(s.Shape) || s.Shape <= 0 || s.Shape > 20; {
	case law == "fb-2009" && !given:
	case law != "lognormal" && law != "pareto" || bad:
		r.Keep(errs.Optionf("--sizes", "%s: not a law; write lognormal:1GiB,1.5, pareto:64MiB,1.1 or fb-2009", errs.Quote(text)))
	}
	return s
}

// maker returns the text of a workload file. It reads the flags of its subcommand, and maybe a
// trace from the standard input of e. Notes for the user go to the standard error. It fails with the
// first mistake in the flags or in a trace.
type maker = func(flags *argv.Reader, e command.Env) ([]byte, error)

// write calls text and writes the result to --output-file, or to the standard output of e. A file is
// replaced as a whole, or not at all after an error. A closed pipe on stdout is not an error.
func write(line argv.Line, e command.Env, text maker) error {
	r := argv.Reader{Line: line}
	path := r.Path("output-file")
	// The traces count as inputs, so that the output cannot replace one of them.
	beside := process.Work{Stdout: e.Stdout, Inputs: line.Words}
	for _, f := range formats() {
		beside.Inputs = append(line.Values(f.flag), beside.Inputs...)
	}
	out, err := beside.Open("output-file", cmp.Or(path, "-"))
	if err = cmp.Or(r.Err, err); err != nil {
		return err
	}
	made, err := text(&r, e)
	if err != nil {
		return err
	}
	return out.Replace(made)
}

// generate draws a workload and returns its file. It is a maker.
func generate(flags *argv.Reader, _ command.Env) ([]byte, error) {
	r := reader{flags}
	o := source.Options{
		Jobs: r.Count("jobs", 1, workload.MostJobs), Seed: r.Seed(),
		Arrivals: r.Choice("arrivals", "poisson", "fixed", "bursts"), Every: r.Time("every", false), Burst: r.Count("burst", 1, 1_000_000),
		Sizes: r.sizes(), Bytes: r.factor("bytes", 0, false), Shuffle: r.factor("shuffle", 0, true),
		Pools: r.pools(), Deadlines: r.ShareOr("deadlines", 0), Slack: r.factor("slack", 0, false),
	}
	// In the options, a shuffle of 0 stands for the default, and -1 for none.
	if r.Line.Has("shuffle") && o.Shuffle == 0 {
		o.Shuffle = -1
	}
	if r.Line.Has("shuffle") && o.Sizes.Law == "fb-2009" {
		r.Keep(errs.Optionf("--shuffle", "cannot be combined with --sizes fb-2009, whose classes have their own shuffle"))
	}
	if r.Line.Has("burst") && o.Arrivals != "bursts" {
		r.Keep(errs.Optionf("--burst", "needs --arrivals bursts"))
	}
	if r.Line.Has("slack") && o.Deadlines == 0 {
		r.Keep(errs.Optionf("--slack", "needs --deadlines"))
	}
	// The cluster and the size of tasks set the numbers of tasks and the deadlines of the jobs.
	o.Cluster, o.Tasks = r.common()
	if r.Err == nil && len(r.Line.Words) > 0 {
		r.Keep(errs.Optionf(errs.Quote(r.Line.Words[0]), "one word too many; generate reads no file"))
	}
	if r.Err != nil {
		return nil, r.Err
	}
	s, err := source.Generate(o)
	if err != nil {
		return nil, err
	}
	s.Notes = append(append([]string{made(r.Line, "generate")}, s.Notes...), o.Tasks.Note())
	return file(s, o.Cluster, o.Tasks)
}

// made returns the first comment of a file: the command that makes the same file again. sub is the
// subcommand.
func made(line argv.Line, sub string) string {
	words := []string{"mrlocal", "workload", sub}
	for _, f := range line.Flags {
		switch {
		case f.Flag.Name == "output-file":
		case f.Flag.Value:
			words = append(words, "--"+f.Flag.Name+" "+errs.Quote(f.Value))
		default:
			words = append(words, "--"+f.Flag.Name)
		}
	}
	for _, w := range line.Words {
		words = append(words, errs.Quote(w))
	}
	return "made by: " + strings.Join(words, " ")
}

// importTraces reads traces of one format and returns a workload file with their jobs. A path - is
// stdin. What was read, dropped and assumed goes to standard error and to the comments of the file.
// It is a maker.
func importTraces(flags *argv.Reader, e command.Env) ([]byte, error) {
	r := reader{flags}
	by := source.Scaling{Bytes: r.factor("bytes", 0, false), Time: r.factor("time", 0, false), Jobs: r.Count("jobs", 1, 1_000_000_000)}
	cluster, tasks := r.common()
	// The flag that names a trace also names its format, so there must be exactly one such flag.
	var chosen format
	for _, f := range formats() {
		if !r.Line.Has(f.flag) {
			continue
		}
		if chosen.flag != "" {
			r.Keep(errs.Optionf("--"+chosen.flag+", --"+f.flag, "one format at a time"))
		}
		chosen = f
	}
	if chosen.flag == "" {
		r.Keep(errs.Optionf("", "name traces of one format: --swim, --sls, --rumen, --history or --history1 FILE…"))
	}
	if r.Err != nil {
		return nil, r.Err
	}
	var sets []*source.Set
	// Positional words are further files of the same format.
	for _, path := range append(r.Line.Values(chosen.flag), r.Line.Words...) {
		s, err := read(path, e.Stdin, chosen.read, source.Reading{SkipFailed: r.Line.Has("skip-failed"), MostTasks: tasks.Most})
		if err != nil {
			return nil, hint(err)
		}
		sets = append(sets, s)
	}
	all, err := source.Join(sets)
	if err != nil {
		return nil, err
	}
	account := all.Account(cluster, tasks)
	all.Notes = slices.Concat([]string{made(r.Line, "import")}, all.Notes, account)
	all.Scale(by)
	text, err := file(all, cluster, tasks)
	if err == nil {
		for _, line := range account {
			_, _ = io.WriteString(e.Stderr, argv.ErrorLine("workload import", errors.New(line)))
		}
	}
	return text, err
}

// read reads the trace at path, or standard input for "-". A compressed trace is decoded. A file
// that cannot be read gives an error of kind errs.BadInput.
func read(path string, stdin io.Reader, parse source.Reader, o source.Reading) (*source.Set, error) {
	if path == "" {
		return nil, errs.Optionf("FILE", "the name is empty")
	}
	f, err := process.OpenEvents(path, stdin)
	if err != nil {
		return nil, errs.Inputf(path, "%w", errs.Cause(err))
	}
	defer f.Close()
	if path == "-" {
		path = "standard input"
	}
	return parse(path, f, o)
}

// hint adds to a Failure the flags that avoid it.
func hint(err error) error {
	var f *source.Failure
	var placed *errs.Error
	switch {
	case !errors.As(err, &f) || !errors.As(err, &placed):
		return err
	case f.TooMany:
		return errs.Inputf(placed.Object, "%w; raise --most-tasks, or set --bytes or --jobs", placed.Cause)
	}
	return errs.Inputf(placed.Object, "%w; --skip-failed leaves it out", placed.Cause)
}

// file returns the text of a workload file with the jobs of s. It parses the text again, so that it
// returns only files that mrlocal can read.
func file(s *source.Set, c source.Cluster, t source.Tasks) ([]byte, error) {
	text, err := s.File(c, t)
	if err != nil {
		return nil, hint(err)
	}
	_, err = workload.Parse("the workload that was made", text)
	return text, err
}
