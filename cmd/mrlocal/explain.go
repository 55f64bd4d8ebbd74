package main

import (
	"bytes"
	"context"
	"math"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/internal/errs"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
)

// explainHelp is the help text of mrlocal explain below its usage.
const explainHelp = `EVENTS is a file that --events of run, batch or sim wrote, or - for standard input; it may be compressed. mrlocal replays its facts and prints each decision with its rule, the numbers behind it and the candidates that it beat. Why was slot 2 lent at 5.3 s? --slot 2 --at 5.3s. --slot, --lent and --job go together; the answer to --task, --lent and --job ends at --at.

Exit codes: 0 done; 2 wrong usage, a file that is cut short or was not written by mrlocal, a task or slot that the run does not have.`

// explainCommand returns mrlocal explain, which explains the decisions of a recorded run, real or
// simulated.
func explainCommand() command.Command {
	return command.Command{Usage: "explain in sentences why a recorded run decided as it did", Args: "EVENTS", Long: explainHelp,
		Flags: []argv.Spec{
			argv.ValueSpec("at", "the state at `TIME` after the start of the run, and the last decision before it; with --slot, what the slot held and why", ""),
			argv.ValueSpec("slot", "the decisions about slot `N`, numbered as in --gantt; with --at the last one before, or why the slot was idle", ""),
			argv.ToggleSpec("lent", "", "all loans of slots, one line each"),
			argv.ValueSpec("job", "what was decided about `JOB`, a name or a number", ""),
			argv.ValueSpec("task", "the story of `TASK`, written J01/m/7: name or number of the job, m or r, number of the task", ""),
			argv.ValueSpec("why-idle", "why nothing ran on `SLOT` at the time of --at, or in its longest idle period", ""),
			argv.ValueSpec("releases", "draw a bar for each window of `TIME`: how many containers were released in it; + marks the number that omo would expect", ""),
			argv.ValueSpec("limit", "print at most `N` decisions", "all"),
		},
		Run: runExplain}
}

// runExplain prints the answer to the question that the flags ask. Without a question it prints all
// decisions of the run.
func runExplain(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	r := command.NewReader(line)
	o := explain.Options{
		Policy: registry.ForReplay,
		At:     r.Time("at", true), HasAt: line.Has("at"), Task: r.Path("task"),
		WhyIdle: -1, // no slot, since slots count from 0
		Limit:   r.Count("limit", 1, math.MaxInt32),
	}
	// 0 is a slot too, so Count alone does not show whether the flag was given.
	if line.Has("why-idle") {
		o.WhyIdle = r.Count("why-idle", 0, math.MaxInt32)
	}
	o.HasSlot, o.Slot = line.Has("slot"), r.Count("slot", 0, math.MaxInt32)
	o.Lent, o.Job = line.Has("lent"), r.Path("job")
	windows := r.Time("releases", false)
	// --slot, --lent and --job filter decisions. --task and --why-idle ask other questions.
	switch filtered := o.HasSlot || o.Lent || o.Job != ""; {
	case o.Task != "" && o.WhyIdle >= 0:
		r.Keep(errs.Optionf("--task, --why-idle", "give one of them, not both"))
	case filtered && (o.Task != "" || o.WhyIdle >= 0):
		r.Keep(errs.Optionf("--task, --why-idle", "cannot be combined with --slot, --lent or --job"))
	}
	if r.Err != nil {
		return 0, r.Err
	}
	path, events, err := openEvents(e, line)
	if err != nil {
		return 0, err
	}
	defer events.Close()
	o.Name = errs.Quote(path) // for messages
	// The file may be large, so reading stops when ctx ends.
	read := process.Until(ctx, events)
	if asked := o.HasAt || o.Task != "" || o.WhyIdle >= 0 || o.HasSlot || o.Lent || o.Job != ""; asked {
		var b bytes.Buffer // so that nothing is printed of an answer that fails
		if err := explain.Sentences(&b, read, o); err != nil {
			return 0, err
		}
		return command.Done, e.Write(b.Bytes())
	}
	if line.Has("releases") {
		return command.Done, writeReleases(e.Stdout, read, o.Name, windows)
	}
	// There may be millions of decisions, so they are printed while the events are read. In explain
	// run.jsonl | head, head closes the pipe early, which is success.
	if err = explain.Sentences(e.Stdout, read, o); command.Gone(err) {
		err = nil
	}
	return command.Done, err
}
