package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"mrlocal/internal/errs"
	"mrlocal/view"
)

// Recorded writes the pictures and tables of o, of the recorded runs that words name. The model of one run is in memory at a time, with --html those of all runs. If there are several runs, all
// are checked before the first file is written, so each is read twice. Recorded fails with an options error for
// a wrong line or a file that cannot be written. It fails with an input error for a file that is not a whole event
// file.
func (o *Outputs) Recorded(ctx context.Context, words []string, stdin io.Reader, stdout io.Writer) error {
	switch {
	case len(words) == 0:
		return errs.Inputf("", "name an event file; --events FILE of run, batch and sim writes one")
	case *o == Outputs{}:
		return errs.Optionf("", "give one of --svg, --trace, --csv, --metrics, --html")
	}
	runs, names, w := make([]io.Reader, len(words)), make([]string, len(words)), Work{Stdout: stdout}
	for i, path := range words {
		events, err := OpenEvents(path, stdin)
		if err != nil {
			return errs.Inputf(errs.Quote(path), "%v", errs.Cause(err))
		}
		defer events.Close()
		if runs[i] = events; path != "-" {
			w.Inputs = append(w.Inputs, path)
		}
		if len(words) == 1 {
			break
		}
		again, err := events.Seekable(ctx)
		if err != nil {
			return errs.Inputf(errs.Quote(path), "%v", err)
		}
		m, err := modelOf(ctx, again, path)
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
	for i, path := range words {
		if files.html != nil {
			runs[i] = io.TeeReader(runs[i], files.html.events)
		}
		m, err := modelOf(ctx, runs[i], path)
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

// modelOf returns the model of the events of a run, which stand in the file path.
func modelOf(ctx context.Context, events io.Reader, path string) (*view.Model, error) {
	m, err := view.Load(Until(ctx, events), view.Options{})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil && len(m.Lanes) == 0:
		err = errs.Kind("the run has no slots")
	}
	if path == "-" {
		path = "standard input"
	}
	if err != nil {
		return nil, errs.Inputf(errs.Quote(path), "%v", err)
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
