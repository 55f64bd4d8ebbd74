package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/usage"
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

// ganttFlags are what --gantt takes.
func ganttFlags(where string) []flagSpec {
	return []flagSpec{
		toggle("gantt", "", "draw who used which slot when: a row a slot, a letter a job, lower case when lent, . idle; below it the maps and reduces of each pool that run as each step of time starts"+where),
		value("step", "`TIME` of a step of --gantt's counts", "10s for simulated runs of 20s to 1000s, else by the length of the run"),
	}
}

// picture is --gantt: the runs it is to draw, and how.
type picture struct {
	on   bool
	step time.Duration
	line *trace.Timeline // of the run that is going on
}

func (r *reader) picture() *picture {
	p := &picture{on: r.line.Has("gantt"), step: r.time("step", false)}
	if p.step > 0 && !p.on {
		r.keep(usage.Errorf("--step", "goes with --gantt"))
	}
	return p
}

// watch begins a picture with the stream of a run.
func (p *picture) watch(s *trace.Stream) {
	if p.on {
		p.line = trace.NewTimeline(nil)
		s.Attach(p.line)
	}
}

// text is the picture of the run that watch has seen, for lines of that width.
func (p *picture) text(width int, simulated bool) []byte {
	if p.line == nil {
		return nil
	}
	step := p.step
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

// widthOf is how many columns a line on w has.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return defaultWidth
}
