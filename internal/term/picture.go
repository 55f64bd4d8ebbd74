package term

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/trace"
)

// defaultWidth is the width of pictures without a terminal, in columns.
const defaultWidth = 100

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
	Width int             // of the lines, in columns; 0: the width that Text gets
	line  *trace.Timeline // of the watched run; nil: there is none
}

// Settings returns --gantt, --step and --width. where is a phrase of the help of --gantt: the stream on
// which the gantt appears.
func (p *Picture) Settings(where string) []setting.Setting {
	groups := []string{"true", "pools", "jobs", "phases"} // in the order of trace.Grouping; --gantt alone gives true
	gantt := setting.OneOf(nil, func(i int) { p.On, p.By = true, trace.Grouping(i) }, groups...)
	return setting.In("INPUT AND OUTPUT", []setting.Setting{
		setting.Of("gantt", "", "draw which job used which slot when"+where+". A row is a slot, a letter is a job, lower case means lent, and a dot means idle. Below it are the numbers of running maps and reduces of each pool at each step of time. With --gantt=pools a letter is a pool, as when there are more jobs than letters. With --gantt=phases it is a phase of a task, with --gantt=jobs always a job", "",
			setting.Value{Bare: true, Words: groups[1:], Set: gantt.Set}).InShortHelp(),
		setting.Of("step", "", "`TIME` of a step in the counts of --gantt", "10s for runs of 20s to 1000s, otherwise chosen by the length of the run", setting.Time(&p.Step, 1)),
		setting.Of("width", "", "draw --gantt in lines of `N` columns", "the width of the terminal, else 100", setting.Count(&p.Width, leastColumns, mostColumns)),
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

// Text returns the picture of the watched run, or nil if there is none. The lines have Width or
// else width columns. Text drops the run.
func (p *Picture) Text(width int) []byte {
	if p.line == nil {
		return nil
	}
	line, step := p.line, p.Step
	p.line = nil
	if steps := line.End / fig5Step; step == 0 && steps >= fewSteps && steps <= mostSteps {
		step = fig5Step
	}
	width = cmp.Or(p.Width, width)
	var b bytes.Buffer // writing to it cannot fail
	name := func(job int32) string { return errs.OneLine(line.Name(job)) }
	_ = line.Gantt(&b, trace.GanttOptions{Width: width, By: p.By, Names: name, Word: errs.OneLine})
	b.WriteByte('\n')
	// More counts would fill the memory and the screen. The gantt is still shown.
	if step > 0 && line.End/step > mostGivenSteps {
		fmt.Fprintf(&b, "no counts: --step %v makes more than %d steps of this run\n", step, mostGivenSteps)
	} else {
		_ = line.Steps(&b, trace.StepOptions{Step: step, Width: width, Word: errs.OneLine})
	}
	return b.Bytes()
}

// Of returns the picture of the watched run as Text does, with an empty line at its end. runs is
// the number of runs of the command. If it is above 1, name, that of the policy, stands above the
// picture.
func (p *Picture) Of(name string, runs, width int) []byte {
	text := p.Text(width)
	if len(text) == 0 {
		return nil
	}
	text = append(text, '\n')
	if runs > 1 {
		text = append([]byte(name+"\n"), text...)
	}
	return text
}

// Width returns the width of the terminal w in columns. If w is not a terminal, it returns
// defaultWidth.
func Width(w io.Writer) int {
	columns, _ := sizeOf(w)()
	return cmp.Or(columns, defaultWidth)
}
