package main

import (
	"bytes"
	"context"
	"math"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/omo"
	"mrlocal/slots/policy/registry"
)

// explainHelp is the help text of mrlocal explain below its usage.
const explainHelp = `EVENTS is a file that --events of run, batch or sim wrote, or - for standard input; it may be compressed. mrlocal replays its facts and prints each decision with its rule, the numbers behind it and the candidates that it beat. Why was slot 2 lent at 5.3 s? --slot 2 --at 5.3s. --slot, --lent and --job go together; the answer to --task, --lent and --job ends at --at.

Exit codes: 0 done; 2 wrong usage, a file that is cut short or was not written by mrlocal, a task or slot that the run does not have.`

// explainCommand has the options of mrlocal explain.
type explainCommand struct {
	Env
	explain.Options
	windows time.Duration // of --releases; 0: not given
}

// makeExplain returns mrlocal explain, which explains the decisions of a recorded run, real or simulated.
func makeExplain(e Env) *flags.Command {
	c := &explainCommand{Env: e, Options: explain.Options{Policy: registry.ForReplay, WhyIdle: -1}} // slots count from 0
	return &flags.Command{Usage: "explain in sentences why a recorded run decided as it did", Args: "EVENTS", Long: explainHelp, Run: c.run,
		Examples: []string{"mrlocal explain run.jsonl --slot 1 --at 5.3s", "mrlocal explain run.jsonl --lent"},
		Settings: []setting.Setting{
			setting.Of("at", "At", "the state at `TIME` after the start of the run, and the last decision before it; with --slot, what the slot held and why", "", setting.Time(&c.At, 0)),
			setting.Of("slot", "Slot", "the decisions about slot `N`, numbered as in --gantt; with --at the last one before, or why the slot was idle", "", setting.Count(&c.Slot, 0, math.MaxInt32)),
			setting.Of("lent", "", "all loans of slots, one line each", "", setting.Toggle(&c.Lent)),
			setting.Of("job", "Job", "what was decided about `JOB`, a name or a number", "", setting.Text(&c.Job)),
			setting.Of("task", "Task", "the story of `TASK`, written J01/m/7: name or number of the job, m or r, number of the task", "", setting.Text(&c.Task)),
			setting.Of("why-idle", "WhyIdle", "why nothing ran on `SLOT` at the time of --at, or in its longest idle period", "", setting.Count(&c.WhyIdle, 0, math.MaxInt32)),
			setting.Of("releases", "", "draw a bar for each window of `TIME`: how many containers were released in it; + marks the number that omo would expect", "", setting.Time(&c.windows, 1)),
			setting.Of("limit", "", "print at most `N` decisions", "all", setting.Count(&c.Limit, 1, math.MaxInt32)),
		}}
}

// run prints the answer to the question that the flags ask. Without a question it prints all decisions
// of the run.
func (c *explainCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	c.HasAt, c.HasSlot = line.Has("at"), line.Has("slot")
	filtered := c.HasSlot || c.Lent || c.Job != ""
	// --slot, --lent and --job filter decisions. --task and --why-idle ask other questions.
	switch {
	case c.Task != "" && c.WhyIdle >= 0:
		return 0, errs.Optionf("--task, --why-idle", "give one of them, not both")
	case filtered && (c.Task != "" || c.WhyIdle >= 0):
		return 0, errs.Optionf("--task, --why-idle", "cannot be combined with --slot, --lent or --job")
	}
	events, err := openEvents(ctx, c.Env, line.Words)
	if err != nil {
		return 0, err
	}
	defer events.Close()
	c.Name = events.name // for messages
	if filtered || c.HasAt || c.Task != "" || c.WhyIdle >= 0 {
		var b bytes.Buffer // so that nothing is printed of an answer that fails
		if err := explain.Sentences(&b, events, c.Options); err != nil {
			return 0, err
		}
		return Done, c.Write(b.Bytes())
	}
	if c.windows > 0 {
		return Done, omo.PlotReleases(c.Stdout, events, c.Name, c.windows)
	}
	// There may be millions of decisions, so they are printed while the events are read. In explain
	// run.jsonl | head, head closes the pipe early, which is success.
	return Done, unlessGone(explain.Sentences(c.Stdout, events, c.Options))
}
