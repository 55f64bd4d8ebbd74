package main

import (
	"context"

	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/internal/term"
	"mrlocal/slots/explain"
	"mrlocal/trace"
)

// compareHelp is the help text of mrlocal compare below its usage.
const compareHelp = `FIRST and SECOND are files that --events of run, batch or sim wrote; one of them may be - for standard input. mrlocal prints the first decision that differs with the reasons of both runs, the jobs whose times differ, and both gantts on one axis. sim --compare simulates and compares in one step. The times of two real runs always differ.

Exit codes: 0 the runs are equal; 1 they differ; 2 wrong usage, a file that is cut short or was not written by mrlocal.`

// makeCompare returns mrlocal compare, which shows where two recorded runs differ, and why.
func makeCompare(e Env) *flags.Command {
	var p term.Picture
	// In the order of trace.Grouping, without its default.
	by := setting.OneOf(nil, func(i int) { p.By = trace.Grouping(i + 1) }, "pools", "jobs", "phases")
	return &flags.Command{Usage: "show how two recorded runs differ, and why", Args: "FIRST SECOND", Long: compareHelp, Examples: []string{"mrlocal compare run.jsonl.fair run.jsonl.pi-dhfs"},
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
