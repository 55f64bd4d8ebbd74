package show

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"mrlocal/errs"
	"mrlocal/trace"
)

// defaultWidth is the width of pictures, in columns, where there is no terminal.
const defaultWidth = 100

// fig5Step is the time step of the counts of a simulated run, as in
// [DHFS13, Fig. 5]. It applies unless --step is set, or unless the run has fewer
// or more steps than a person wants to read.
const (
	fig5Step  = 10 * time.Second
	fewSteps  = 2
	mostSteps = 100
)

// mostGivenSteps bounds the number of steps that --step leads to.
const mostGivenSteps = 10_000

// Picture draws the runs for --gantt. The zero value draws none.
type Picture struct {
	On   bool
	Step time.Duration // of the counts; 0: chosen by the length of the run

	By    trace.Grouping  // what has a letter
	Width int             // of the lines, in columns; 0: that of the screen
	line  *trace.Timeline // of the current run; nil: not watched
}

// Watch begins a picture with the stream of a run. It forgets the run before.
func (p *Picture) Watch(s *trace.Stream) {
	if p.On {
		p.line = &trace.Timeline{KeepPhases: p.By == trace.ByPhase}
		s.Attach(p.line)
	}
}

// Text returns the picture of the watched run, in lines of the given width, or
// nil.
func (p *Picture) Text(width int, simulated bool) []byte {
	if p.line == nil {
		return nil
	}
	step := p.Step
	if steps := p.line.End / fig5Step; step == 0 && simulated && steps >= fewSteps && steps <= mostSteps {
		step = fig5Step
	}
	width = cmp.Or(p.Width, width)
	var b bytes.Buffer // to which writing never fails
	name := func(job int32) string { return errs.OneLine(p.line.Name(job)) }
	_ = p.line.Gantt(&b, trace.GanttOptions{Width: width, By: p.By, Names: name, Word: errs.OneLine})
	b.WriteByte('\n')
	// The counts would fill the memory and the screen; the gantt is shown all the same.
	if step > 0 && p.line.End/step > mostGivenSteps {
		fmt.Fprintf(&b, "no counts: --step %v makes more than %d steps of this run\n", step, mostGivenSteps)
		// A picture is drawn once. The timeline of the run is then free.
		p.line = nil
		return b.Bytes()
	}
	_ = p.line.Steps(&b, trace.StepOptions{Step: step, Width: width, Word: errs.OneLine})
	p.line = nil
	return b.Bytes()
}

// Of returns the picture of the watched run, with the name of its policy above if
// there are several runs.
func (p *Picture) Of(name string, runs, width int, simulated bool) []byte {
	text := p.Text(width, simulated)
	if len(text) == 0 {
		return nil
	}
	text = append(text, '\n')
	if runs > 1 {
		text = append([]byte(name+"\n"), text...)
	}
	return text
}

// Width returns the width of the terminal w in columns, or a default.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return defaultWidth
}
