package show

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/trace"
)

// defaultWidth is how wide pictures are where no terminal tells.
const defaultWidth = 100

// fig5Step is the time step of seed 000's Fig. 5, in which a simulated run is
// counted unless --step says otherwise, or that makes fewer or more steps than
// a person reads.
const (
	fig5Step  = 10 * time.Second
	fewSteps  = 2
	mostSteps = 100
)

// mostGivenSteps bounds what --step may ask for.
const mostGivenSteps = 10_000

// Picture is --gantt: the runs it is to draw, and how. The zero value draws
// none.
type Picture struct {
	On   bool
	Step time.Duration // of the counts; 0: by the run

	line *trace.Timeline // of the run that is going on
}

// Watch begins a picture with the stream of a run.
func (p *Picture) Watch(s *trace.Stream) {
	if p.On {
		p.line = &trace.Timeline{}
		s.Attach(p.line)
	}
}

// Text is the picture of the run that Watch has seen, for lines of that width.
func (p *Picture) Text(width int, simulated bool) []byte {
	if p.line == nil {
		return nil
	}
	step := p.Step
	if steps := p.line.End / fig5Step; step == 0 && simulated && steps >= fewSteps && steps <= mostSteps {
		step = fig5Step
	}
	var b bytes.Buffer // to which writing never fails
	name := func(job int32) string { return argv.Escape(p.line.Name(job)) }
	_ = p.line.Gantt(&b, trace.GanttOptions{Width: width, Names: name})
	b.WriteByte('\n')
	if step > 0 && p.line.End/step > mostGivenSteps {
		fmt.Fprintf(&b, "no counts: --step %v makes more than %d steps of this run\n", step, mostGivenSteps)
		p.line = nil
		return b.Bytes()
	}
	_ = p.line.Steps(&b, trace.StepOptions{Step: step, Width: width, Word: argv.Escape})
	p.line = nil
	return b.Bytes()
}

// Of is the picture of a policy's run, under its name where there are several.
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

// Width is how many columns a line on w has.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return defaultWidth
}
