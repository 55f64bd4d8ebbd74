package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/term"
	"mrlocal/trace"
	"mrlocal/view"
)

// showHelp is the help text of mrlocal show below its usage.
const showHelp = `RUN is a file that --events of run, batch or sim wrote, or - for standard input; it may be compressed. The pictures and tables are those that run, batch and sim write with the same flags; --gantt is printed on standard output. With several runs, --trace and --metrics write into FILE.POLICY.SUFFIX, --csv into DIR.POLICY; the second run of a policy is POLICY-2. The other files have all runs.

Exit codes: 0 done; 2 wrong usage, a file that is cut short or was not written by mrlocal.`

// showCommand has the options of mrlocal show.
type showCommand struct {
	Env
	out     outputs
	picture term.Picture
}

// makeShow returns mrlocal show, which writes pictures and tables of recorded runs.
func makeShow(e Env) *flags.Command {
	c := &showCommand{Env: e}
	return &flags.Command{Usage: "write pictures and tables of recorded runs", Args: "RUN…", Long: showHelp, Run: c.run,
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
	m, err := view.Load(events, view.Options{Timeline: line})
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
	policy := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			return r
		}
		return '-'
	}, m.Policy)
	name := policy
	for n := 2; slices.Contains(names, name); n++ {
		name = fmt.Sprintf("%s-%d", policy, n)
	}
	return name
}
