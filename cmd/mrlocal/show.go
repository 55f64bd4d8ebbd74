package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/internal/term"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/omo"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
	"mrlocal/view"
)

// showCommand has the options of mrlocal show.
type showCommand struct {
	Env
	out     outputs
	picture term.Picture
}

// makeShow returns mrlocal show, which writes pictures and tables of recorded runs.
func makeShow(e Env) *flags.Command {
	c := &showCommand{Env: e}
	return &flags.Command{Usage: "write pictures and tables of recorded runs", Args: "RUN…", Long: helpText("show"), Run: c.run,
		Settings: append(c.picture.Settings(""), c.out.Pictures()...),
		Examples: []string{"mrlocal show run.jsonl --gantt", "mrlocal show run.jsonl --svg run.svg", "mrlocal show run.jsonl.fair.zst run.jsonl.pi-dhfs.zst --html runs.html"}}
}

// run writes the pictures and tables of the recorded runs that the line names. The model of one run is in memory
// at a time, for files of all runs those of all. If there are several runs, all are checked before the first file is
// written, so each is read twice. It fails with an options error for a wrong line or a file that cannot be
// written. It fails with an input error for a file that is not a whole event file.
func (c *showCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	if err := c.picture.Check(false); err != nil {
		return 0, err
	}
	words := line.Words
	switch {
	case len(words) == 0:
		return 0, errs.Inputf("", "name an event file; --events FILE of run, batch and sim writes one")
	case c.out == outputs{Title: c.out.Title} && !c.picture.On:
		return 0, errs.Optionf("", "give one of --gantt, --svg, --cdf, --usage, --trace, --csv, --metrics, --html")
	}
	opened, runs := make([]*eventFile, len(words)), make([]io.Reader, len(words))
	names := make([]string, len(words))
	w := work{Stdout: c.Stdout}
	for i, path := range words {
		events, err := OpenEvents(ctx, path, c.Stdin)
		if err != nil {
			return 0, err
		}
		defer events.Close()
		if opened[i], runs[i] = events, events; path != "-" {
			w.Inputs = append(w.Inputs, path)
		}
		if len(words) == 1 {
			break
		}
		again, err := events.Seekable()
		if err != nil {
			return 0, err
		}
		m, err := modelOf(again, events, nil)
		if err != nil {
			return 0, err
		}
		runs[i], names[i] = again, nameOf(m, names[:i])
		if _, err = again.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
	}
	files, err := c.out.Open(names, w)
	if err != nil {
		return 0, err
	}
	if files.toStdout {
		c.Stdout = c.Stderr // gantts do not mix with the file
	}
	for i := range words {
		if files.html != nil {
			runs[i] = io.TeeReader(runs[i], files.html.events)
		}
		m, err := modelOf(runs[i], opened[i], c.picture.Timeline())
		if err != nil {
			return 0, err
		}
		if len(words) == 1 {
			names[i] = nameOf(m, nil)
		}
		files.models[i] = m
		if err := files.CloseEvents(i); err != nil {
			return 0, err
		}
		if err := c.Write(c.picture.Of(names[i], len(words), c.Stdout, c.Getenv)); err != nil {
			return 0, err
		}
	}
	return Done, nil
}

// modelOf returns the model of the events of a run, which come from file. line gets the events, too; it may be nil.
func modelOf(events io.Reader, file *eventFile, line *trace.Timeline) (*view.Model, error) {
	m, err := view.Load(events, line)
	switch {
	case file.ctx.Err() != nil:
		return nil, context.Cause(file.ctx)
	case err == nil && len(m.Lanes) == 0:
		err = errs.Kind("the run has no slots")
	}
	if err != nil {
		return nil, errs.Inputf(file.name, "%v", err)
	}
	return m, nil
}

// nameOf returns the policy of a run as a part of names of files, with a number if names has it already.
func nameOf(m *view.Model, names []string) string {
	policy := regexp.MustCompile(`[^\pL\p{Nd}_]`).ReplaceAllString(m.Policy, "-")
	name := policy
	for n := 2; slices.Contains(names, name); n++ {
		name = fmt.Sprintf("%s-%d", policy, n)
	}
	return name
}

// explainCommand has the options of mrlocal explain.
type explainCommand struct {
	Env
	explain.Options
	windows time.Duration // of --releases; 0: not given
}

// makeExplain returns mrlocal explain, which explains the decisions of a recorded run, real or simulated.
func makeExplain(e Env) *flags.Command {
	c := &explainCommand{Env: e, Options: explain.Options{Policy: registry.ForReplay, WhyIdle: -1}} // slots count from 0
	return &flags.Command{Usage: "explain in sentences why a recorded run decided as it did", Args: "EVENTS", Long: helpText("explain"), Run: c.run,
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
	c.Width = c.Env.width()
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

// makeCompare returns mrlocal compare, which shows where two recorded runs differ, and why.
func makeCompare(e Env) *flags.Command {
	var p term.Picture
	// In the order of trace.Grouping, without its default.
	by := setting.OneOf(nil, func(i int) { p.By = trace.Grouping(i + 1) }, "pools", "jobs", "phases")
	return &flags.Command{Usage: "show how two recorded runs differ, and why", Args: "FIRST SECOND", Long: helpText("compare"), Examples: []string{"mrlocal compare run.jsonl.fair run.jsonl.pi-dhfs"},
		Settings: append([]setting.Setting{
			setting.Of("gantt", "", "give letters in the gantts to `jobs|pools|phases`", "jobs; pools if there are more jobs than letters", by),
		}, *setting.Named(p.Settings(""), "width")),
		Run: func(ctx context.Context, line *flags.Line) (int, error) { return compareFiles(ctx, e, &p, line.Words) }}
}

// compareFiles compares two event files. The exit code is 0 or Differs.
func compareFiles(ctx context.Context, e Env, p *term.Picture, words []string) (int, error) {
	if len(words) != 2 {
		return 0, errs.Optionf("", "name two files that --events FILE of run, batch or sim wrote")
	}
	if words[0] == "-" && words[1] == "-" {
		return 0, errs.Optionf("-", "standard input can be only one of the two runs")
	}
	var both [2]explain.Recorded
	for i := range words {
		events, err := openEvents(ctx, e, words[i:i+1])
		if err != nil {
			return 0, err
		}
		// The comparison reads both files more than once, so they stay open until it has ended.
		defer events.Close()
		both[i].Name = events.name
		if both[i].Events, err = events.Seekable(); err != nil {
			return 0, err
		}
	}
	return compareRuns(e, p, both[0], both[1])
}

// makeReplay returns mrlocal replay, which checks that the facts of a recorded run lead to the same
// decisions again.
func makeReplay(e Env) *flags.Command {
	return &flags.Command{Usage: "decide a recorded run again and compare", Args: "EVENTS", Long: helpText("replay"), Examples: []string{"mrlocal replay run.jsonl"},
		Run: func(ctx context.Context, line *flags.Line) (int, error) { return replay(ctx, e, line.Words) }}
}

// replay replays the events of the file that words name, and writes the number of equal decisions or
// the first decision that differs. The exit code is Done or Differs.
func replay(ctx context.Context, e Env, words []string) (int, error) {
	events, err := openEvents(ctx, e, words)
	if err != nil {
		return 0, err
	}
	defer events.Close()
	// The number shows the user that there was something to compare.
	decisions := 0
	diff, err := explain.Replay(events, registry.ForReplay, explain.ReplayOptions{Event: func(ev *trace.Event, _ []string) bool {
		// Other events are facts, the input of the replay.
		if ev.Op.Class() == trace.Decision {
			decisions++
		}
		return ctx.Err() == nil // false ends the replay
	}})
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, errs.Inputf(events.name, "%v", err)
	case diff != nil:
		// Names of jobs come from the file and may have control characters.
		return Differs, e.Write([]byte(errs.OneLine(diff.String()) + "\n"))
	}
	return Done, e.Write(fmt.Appendf(nil, "the same %s\n", errs.Counted(decisions, "decision")))
}
