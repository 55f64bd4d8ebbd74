package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"mrlocal/trace"
	"mrlocal/view/lesson"
)

// answers receives the lines that the user types. A goroutine reads them, because a read from a
// terminal cannot be interrupted. The goroutine ends with the input or with the process.
type answers struct{ lines chan string }

// newAnswers starts the goroutine that reads lines from r, the terminal. It closes the channel at
// the end of r. A line keeps its newline. No other code may read r after this.
func newAnswers(r io.Reader) *answers {
	a := &answers{lines: make(chan string)}
	go func() {
		defer close(a.lines)
		for in := bufio.NewReader(r); ; {
			line, err := in.ReadString('\n')
			if err != nil && line == "" {
				return
			}
			a.lines <- line
		}
	}()
	return a
}

// questions asks the questions of run i and returns the chosen slots, by note. A question without
// an answer has no entry. Before each question it draws the gantt up to the decision. For this it
// makes the run with atOnce, and drops it at the end.
func (c *session) questions(ctx context.Context, i int) (picked map[int]int32, err error) {
	picked = map[int]int32{}
	if c.ask == nil || !slices.ContainsFunc(c.lesson.Notes, func(n lesson.Note) bool { return n.Run == i && n.Ask != "" }) {
		return picked, nil
	}
	before, err := c.atOnce(ctx, i)
	if err != nil {
		return nil, err
	}
	models := c.models()
	// Run i has not begun, so the fast run takes its place.
	models[i] = before.model
	for _, x := range ofRun(c.lesson.Items(models), i) {
		if x.Ask == "" {
			continue
		}
		// The gantt ends before the decision, because it must not show the answer.
		line := before.timeline(x.Seq)
		fmt.Fprintf(c.Stdout, "\nUntil %.1fs:\n", x.At.Seconds())
		// For a decision at the start of the run, the gantt is empty.
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

// slots returns the number of slots from which the user may choose. These are all slots up to the last
// one that is a home slot or that ran an attempt.
func (t *lessonRun) slots() (n int) {
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

// pick asks the question of x until the user enters a slot from 0 to slots-1. ok is false if the
// user enters an empty line, or if the input has ended. The error is the cause of ctx, if ctx ends.
func (c *session) pick(ctx context.Context, x *lesson.Item, slots int) (slot int32, ok bool, err error) {
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
