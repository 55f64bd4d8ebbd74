package main

import (
	"context"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/workloads"
	"mrlocal/internal/errs"
	"mrlocal/slots/explain"
)

// compareHelp is the help text of mrlocal compare below its usage.
const compareHelp = `FIRST and SECOND are files that --events of run, batch or sim wrote; one of them may be - for standard input. mrlocal prints the first decision that differs with the reasons of both runs, the jobs whose times differ, and both gantts on one axis. sim --compare simulates and compares in one step. The times of two real runs always differ.

Exit codes: 0 the runs are equal; 1 they differ; 2 wrong usage, a file that is cut short or was not written by mrlocal.`

// compareCommand returns mrlocal compare, which shows where two recorded runs differ, and why.
func compareCommand() command.Command {
	return command.Command{Usage: "show how two recorded runs differ, and why", Args: "FIRST SECOND", Long: compareHelp, Run: runCompare,
		Flags: []argv.Spec{
			argv.ValueSpec("gantt", "give letters in the gantts to `jobs|pools|phases`", "jobs; pools if there are more jobs than letters"),
			argv.ValueSpec("width", "draw the gantts in lines of `N` columns", "the width of the terminal, else 100"),
		}}
}

// runCompare compares two event files. The exit code is 0 or command.Differs.
func runCompare(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	if len(line.Words) != 2 {
		return 0, errs.Optionf("", "name two files that --events FILE of run, batch or sim wrote")
	}
	if line.Words[0] == "-" && line.Words[1] == "-" {
		return 0, errs.Optionf("-", "standard input can be only one of the two runs")
	}
	r := command.NewReader(line)
	picture := r.Picture(true)
	if r.Err != nil {
		return 0, r.Err
	}
	var both [2]explain.Recorded
	for i, word := range line.Words {
		path, events, err := openEvents(e, argv.Line{Words: []string{word}})
		if err != nil {
			return 0, err
		}
		// The comparison reads both files more than once, so they stay open until it has ended.
		defer events.Close()
		both[i].Name = errs.Quote(path)
		if both[i].Events, err = events.Seekable(ctx); err != nil {
			return 0, errs.Inputf(both[i].Name, "%v", err)
		}
	}
	return workloads.CompareRuns(e, picture, both[0], both[1])
}
