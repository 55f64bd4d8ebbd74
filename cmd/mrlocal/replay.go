package main

import (
	"context"
	"fmt"

	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// replayHelp is the help text of mrlocal replay below its usage.
const replayHelp = `EVENTS is a file that --events wrote, or - for standard input; it may be compressed. mrlocal feeds its facts to a new Ledger with the same policy, and compares every decision with the recorded one.

Exit codes: 0 every decision is the same; 1 a decision differs (the first one is printed); 2 the file is cut short, was changed or was not written by mrlocal.`

// makeReplay returns mrlocal replay, which checks that the facts of a recorded run lead to the same
// decisions again.
func makeReplay(e Env) *flags.Command {
	return &flags.Command{Usage: "decide a recorded run again and compare", Args: "EVENTS", Long: replayHelp, Examples: []string{"mrlocal replay run.jsonl"},
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
	return Done, e.Write(fmt.Appendf(nil, "the same %d decisions\n", decisions))
}
