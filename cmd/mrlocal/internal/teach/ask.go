package teach

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"mrlocal/lesson"
	"mrlocal/trace"
)

// answers are the lines that the reader writes. A goroutine reads them, because a read of a
// terminal cannot be interrupted; it ends with the input or with the process.
type answers struct{ lines chan string }

// newAnswers starts to read answers from r, the terminal. It closes the channel when r ends. Nobody
// else may read r from then on.
func newAnswers(r io.Reader) *answers {
	a := &answers{lines: make(chan string)}
	go func() {
		defer close(a.lines)
		for in := bufio.NewScanner(r); in.Scan(); {
			a.lines <- in.Text()
		}
	}()
	return a
}

// questions asks the questions of run i and returns the chosen slots, by note. It makes the run
// at once, to draw what there is to know before each decision. A question without an answer has no
// entry. This run is dropped afterwards: the notes belong to the run that the reader sees.
func (c *class) questions(ctx context.Context, i int) (picked map[int]int32, err error) {
	picked = map[int]int32{}
	if c.ask == nil {
		return picked, nil
	}
	before, err := c.atOnce(ctx, i)
	if err != nil {
		return nil, err
	}
	models := c.models()
	// The run at once stands in place of the run that is still to come.
	models[i] = before.model
	for _, x := range ofRun(c.lesson.Items(models), i) {
		if x.Ask == "" {
			continue
		}
		// Only events before the decision: a drawing of the decision would give the answer away.
		line := before.timeline(x.Seq)
		fmt.Fprintf(c.Stdout, "\nUntil %.1fs:\n", x.At.Seconds())
		// At the start of a run there is nothing to draw.
		if line.End > 0 {
			if err := line.Gantt(c.Stdout, trace.GanttOptions{Width: c.width, Names: line.Name}); err != nil {
				return nil, err
			}
		}
		if slot, ok, err := c.pick(ctx, &x, before.slots()); err != nil {
			return nil, err
		} else if ok {
			picked[x.Note] = slot
		}
	}
	return picked, nil
}

// slots returns one more than the highest number of the slots that are open at the start or
// used.
func (t *taught) slots() (n int) {
	for _, lane := range t.model.Lanes {
		if !lane.Extra {
			n = max(n, int(lane.Slot)+1)
		}
	}
	for i := range t.model.Bars {
		n = max(n, int(t.model.Bars[i].Slot)+1)
	}
	return n
}

// pick asks until the reader names a slot from 0 to slots-1. ok is false if the reader enters
// nothing or the input has ended. The error is the cause of the end of ctx.
func (c *class) pick(ctx context.Context, x *lesson.Item, slots int) (slot int32, ok bool, err error) {
	c.say("%s\n", x.Ask)
	for {
		fmt.Fprintf(c.Stdout, "slot, 0 to %d (Enter: show me): ", slots-1)
		select {
		case text, open := <-c.ask.lines:
			n, err := strconv.Atoi(strings.TrimSpace(text))
			switch {
			case !open || strings.TrimSpace(text) == "":
				return 0, false, nil
			case err == nil && n >= 0 && n < slots:
				return int32(n), true, nil
			}
		case <-ctx.Done():
			return 0, false, context.Cause(ctx)
		}
	}
}
