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
	"mrlocal/view"
)

// showHelp is the help text of mrlocal show below its usage.
const showHelp = `RUN is a file that --events of run, batch or sim wrote, or - for standard input; it may be compressed. The pictures and tables are those that run, batch and sim write with the same flags. With several runs, --svg, --trace and --metrics write into FILE.POLICY.SUFFIX, --csv into DIR.POLICY; the second run of a policy is POLICY-2. --html has all runs in one file.

Exit codes: 0 done; 2 wrong usage, a file that is cut short or was not written by mrlocal.`

// makeShow returns mrlocal show, which writes pictures and tables of recorded runs.
func makeShow(e Env) *flags.Command {
	var o outputs
	return &flags.Command{Usage: "write pictures and tables of recorded runs", Args: "RUN…", Long: showHelp, Settings: o.Pictures(),
		Examples: []string{"mrlocal show run.jsonl --svg run.svg", "mrlocal show run.jsonl.fair.zst run.jsonl.pi-dhfs.zst --html runs.html"},
		Run: func(ctx context.Context, line *flags.Line) (int, error) {
			return Done, o.Recorded(ctx, line.Words, e.Stdin, e.Stdout)
		}}
}

// Recorded writes the pictures and tables of o, of the recorded runs that words name. The model of one run is in memory
// at a time, with --html those of all runs. If there are several runs, all are checked before the first file is
// written, so each is read twice. Recorded fails with an options error for a wrong line or a file that cannot be
// written. It fails with an input error for a file that is not a whole event file.
func (o *outputs) Recorded(ctx context.Context, words []string, stdin io.Reader, stdout io.Writer) error {
	switch {
	case len(words) == 0:
		return errs.Inputf("", "name an event file; --events FILE of run, batch and sim writes one")
	case *o == outputs{}:
		return errs.Optionf("", "give one of --svg, --trace, --csv, --metrics, --html")
	}
	opened, runs := make([]*eventFile, len(words)), make([]io.Reader, len(words))
	names := make([]string, len(words))
	w := work{Stdout: stdout}
	for i, path := range words {
		events, err := OpenEvents(ctx, path, stdin)
		if err != nil {
			return err
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
			return err
		}
		m, err := modelOf(again, events)
		if err != nil {
			return err
		}
		runs[i], names[i] = again, nameOf(m, names[:i])
		if _, err = again.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	files, err := o.Open(names, w)
	if err != nil {
		return err
	}
	for i := range words {
		if files.html != nil {
			runs[i] = io.TeeReader(runs[i], files.html.events)
		}
		m, err := modelOf(runs[i], opened[i])
		if err != nil {
			return err
		}
		if len(words) == 1 {
			names[i] = nameOf(m, nil)
		}
		files.models[i] = m
		if err := files.CloseEvents(i); err != nil {
			return err
		}
	}
	return nil
}

// modelOf returns the model of the events of a run, which come from file.
func modelOf(events io.Reader, file *eventFile) (*view.Model, error) {
	m, err := view.Load(events, view.Options{})
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
