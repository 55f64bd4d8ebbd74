package term

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/slots/report"
	"mrlocal/trace"
)

// mostRows is the largest number of jobs that a table lists. With more, the user would not see the
// summary.
const mostRows = 50

// table returns a row for each job of a run that has ended, and a line on the whole run, in lines of at most width
// columns.
func table(r *report.Report, width int) string {
	var b strings.Builder
	b.WriteString("job\tmaps\treduces\tinput\trecords in\trecords out\tspilled\tmap phase\treduce phase\twall\n")
	for i := range r.Jobs[:min(len(r.Jobs), mostRows)] {
		row(&b, &r.Jobs[i])
	}
	if more := len(r.Jobs) - mostRows; more > 0 {
		fmt.Fprintf(&b, "and %s, which --report lists\n", errs.Counted(more, "more job"))
	}
	return errs.Fit(b.String()+summary(r), width)
}

// row writes the row of a job to w.
func row(w io.Writer, j *report.JobReport) {
	c := &j.Counters
	out := c.ReduceOutputRecords
	reduce := "-" // of a job without reduces
	mapsDone := j.MapsDoneS
	if mapsDone < j.StartS { // the job ended before all its maps were done
		mapsDone = j.FinishS
	}
	if j.Reduces > 0 {
		reduce = seconds(j.FinishS - mapsDone)
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", errs.OneLine(j.Name), j.Maps, j.Reduces,
		bytesOf(c.MapInputBytes), humanize.Comma(c.MapInputRecords), humanize.Comma(out), bytesOf(c.SpilledBytes),
		seconds(mapsDone-j.StartS), reduce, seconds(j.FinishS-j.SubmitS))
}

// summary returns the line below the rows: time, rate, slots, loans and memory of the whole run.
func summary(r *report.Report) string {
	// The input of a batch is that of all jobs. In a chain it is that of the first job, because
	// each other job reads the output of the one before.
	var in int64
	for i := range r.Jobs {
		if i == 0 || r.Kind == "batch" {
			in += r.Jobs[i].Counters.MapInputBytes
		}
	}
	// A job such as sleep reads no input and has no rate.
	rate := ""
	if r.MakespanSeconds > 0 && in > 0 {
		rate = fmt.Sprintf(" (%s/s)", bytesOf(int64(float64(in)/r.MakespanSeconds)))
	}
	lent := "none lent"
	if r.Moves > 0 || r.LentSlotSeconds > 0 {
		lent = fmt.Sprintf("%s, %s of slot time lent", errs.Counted(r.Moves, "move"), seconds(r.LentSlotSeconds))
	}
	return fmt.Sprintf("%s in all%s under %s; %s %.0f%% used, %s; peak memory %s\n",
		seconds(r.MakespanSeconds), rate, r.Policy, errs.Counted(len(r.Slots), "slot"), 100*r.Utilisation, lent, bytesOf(r.PeakRSSBytes))
}

// bytesOf formats a number of bytes with a binary unit, for errs.Fit. A negative number counts as 0.
func bytesOf(n int64) string {
	return strings.Replace(humanize.IBytes(uint64(max(0, n))), " ", errs.Sticky, 1)
}

// seconds formats a time in seconds with about three digits.
func seconds(s float64) string {
	// A difference with a time that never came, which is -1 in a report, may be negative. It is
	// shown as 0.
	d := time.Duration(max(0, s) * float64(time.Second))
	switch {
	case d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
	return d.Round(time.Millisecond).String()
}

// Failures returns a line that names the jobs of a run that did not succeed, or nil if there are none.
func Failures(r *report.Report) []string {
	// The line names at most this many jobs. The report has all of them.
	const mostNamed = 5
	failed := r.FailedJobs()
	if len(failed) == 0 {
		return nil
	}
	var names []string
	for _, j := range failed[:min(len(failed), mostNamed)] {
		names = append(names, errs.OneLine(j.Name))
	}
	if len(failed) > mostNamed {
		names = append(names, "…")
	}
	return []string{fmt.Sprintf("under %s %d of %s did not succeed: %s", r.Policy, len(failed), errs.Counted(len(r.Jobs), "job"), strings.Join(names, ", "))}
}

// defaultWidth is the width of pictures without a terminal, in columns.
const defaultWidth = 80

// fig5Step is the default of --step, as in [DHFS13, Fig. 5]. It applies if the
// run then has from fewSteps to mostSteps steps.
const (
	fig5Step  = 10 * time.Second
	fewSteps  = 2
	mostSteps = 100
)

// mostGivenSteps is the largest number of steps that are shown with --step.
const mostGivenSteps = 10_000

// Picture draws the gantt of --gantt, and the counts of running tasks below it. It may watch
// several runs, one after the other. The zero value draws nothing.
type Picture struct {
	On   bool
	Step time.Duration // of the counts; 0: chosen by the length of the run

	By    trace.Grouping  // what the letters stand for
	Width int             // of the lines, in columns; 0: that of the terminal
	line  *trace.Timeline // of the watched run; nil: there is none
	names []string        // of the runs that Of has, and their lines
	lines []*trace.Timeline
}

// Settings returns --gantt, --step and --width. where is a phrase of the help of --gantt: the stream on
// which the gantt appears.
func (p *Picture) Settings(where string) []setting.Setting {
	groups := []string{"true", "pools", "jobs", "phases"} // in the order of trace.Grouping; --gantt alone gives true
	gantt := setting.OneOf(nil, func(i int) { p.On, p.By = true, trace.Grouping(i) }, groups...)
	return setting.In("INPUT AND OUTPUT", []setting.Setting{
		setting.Of("gantt", "", "draw which job used which slot when"+where+". A row is a slot, a letter is a job, lower case means lent, and a dot means idle. A letter stands where a task begins, and - or ~ where it goes on. Below it are the numbers of running maps and reduces of each pool at each step of time. With --gantt=pools a letter is a pool, as when there are more jobs than letters. With --gantt=phases it is a phase of a task, with --gantt=jobs always a job", "",
			setting.Value{Bare: true, Words: groups[1:], Set: gantt.Set}).InShortHelp(),
		setting.Of("step", "", "`TIME` of a step in the counts of --gantt", "10s for runs of 20s to 1000s, otherwise chosen by the length of the run", setting.Time(&p.Step, 1)),
		setting.Of("width", "", "draw --gantt in lines of `N` columns", "the width of the terminal, else 80", setting.Count(&p.Width, leastColumns, mostColumns)),
	})
}

// Bounds of --width, in columns.
const leastColumns, mostColumns = 30, 10_000

// Check refuses flags without effect: the user most likely forgot --gantt. drawn says that the command
// draws gantts even without it.
func (p *Picture) Check(drawn bool) error {
	switch {
	case p.Step > 0 && !p.On:
		return errs.Optionf("--step", "needs --gantt")
	case p.Width > 0 && !p.On && !drawn:
		return errs.Optionf("--width", "needs --gantt")
	}
	return nil
}

// Watch lets the picture watch the stream of a run. It drops the run before.
func (p *Picture) Watch(s *trace.Stream) {
	if line := p.Timeline(); line != nil {
		s.Attach(line)
	}
}

// Timeline returns what the picture draws: a new timeline, which the caller fills. It returns nil if no picture is
// wanted. It drops the run before.
func (p *Picture) Timeline() *trace.Timeline {
	p.line = nil
	if p.On {
		p.line = &trace.Timeline{KeepPhases: p.By == trace.ByPhase}
	}
	return p.line
}

// Watcher returns Watch if a picture is wanted, else nil. A run that nobody watches makes no events.
func (p *Picture) Watcher() func(*trace.Stream) {
	if p.On {
		return p.Watch
	}
	return nil
}

// Of returns the pictures of the runs of a command for the stream w, one below the other, each with an empty line at
// its end. A column has the same time in all of them, so Of returns nil until all of the runs have been watched. If
// there are several, the name of each, that of its policy, stands above its picture. getenv is such as os.Getenv.
func (p *Picture) Of(name string, runs int, w io.Writer, getenv func(string) string) []byte {
	if p.line == nil {
		return nil
	}
	p.names, p.lines, p.line = append(p.names, name), append(p.lines, p.line), nil
	if len(p.lines) < runs {
		return nil
	}
	o := p.Options(w, getenv)
	for _, line := range p.lines {
		o.Cell = max(o.Cell, line.Cell(o.Width))
	}
	var b bytes.Buffer // writing to it cannot fail
	for i, line := range p.lines {
		if runs > 1 {
			fmt.Fprintln(&b, p.names[i])
		}
		o.Names = func(job int32) string { return errs.OneLine(line.Name(job)) }
		_ = line.Gantt(&b, o)
		b.WriteByte('\n')
		p.steps(&b, line, o.Width)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// Options returns the options of gantts on the stream w. getenv is such as os.Getenv.
func (p *Picture) Options(w io.Writer, getenv func(string) string) trace.GanttOptions {
	t := TerminalOf(getenv)
	return trace.GanttOptions{Width: cmp.Or(p.Width, t.Width(w)), By: p.By, Word: errs.OneLine, Marks: true, Colour: IsTerminal(w) && !t.Dumb && !t.NoColor}
}

// steps writes the counts of running tasks below a gantt.
func (p *Picture) steps(b *bytes.Buffer, line *trace.Timeline, width int) {
	step := p.Step
	if steps := line.End / fig5Step; step == 0 && steps >= fewSteps && steps <= mostSteps {
		step = fig5Step
	}
	// More counts would fill the memory and the screen. The gantt is still shown.
	if step > 0 && line.End/step > mostGivenSteps {
		fmt.Fprintf(b, "no counts: --step %v makes more than %d steps of this run\n", step, mostGivenSteps)
		return
	}
	_ = line.Steps(b, trace.StepOptions{Step: step, Width: width, Word: errs.OneLine})
}

// Width returns t.Columns, else the width of the terminal w in columns. If w is not a terminal, it returns
// defaultWidth.
func (t Terminal) Width(w io.Writer) int {
	columns, _ := sizeOf(w)()
	return cmp.Or(t.Columns, columns, defaultWidth)
}
