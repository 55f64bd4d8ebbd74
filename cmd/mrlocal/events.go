package main

import (
	"context"
	"fmt"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/errs"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/replay"
	"mrlocal/trace"
)

const replayHelp = `EVENTS is a file that --events wrote, or - for standard input; it may be compressed. mrlocal feeds its facts to a new Ledger with the same policy, and compares every decision with the recorded one.

Exit codes: 0 every decision is the same; 1 a decision differs (the first one is printed); 2 the file is cut short, was changed or was not written by mrlocal.`

// replayCommand shows that decisions depend on the recorded facts alone.
func replayCommand() command.Command {
	return command.Command{Usage: "decide a recorded run again and compare", Args: "EVENTS", Long: replayHelp, Run: runReplay}
}

// runReplay decides every decision of the recorded run again. It counts the decisions
// as it goes, and stops when ctx ends.
func runReplay(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	path, events, err := openEvents(e, line)
	if err != nil {
		return 0, err
	}
	defer events.Close()
	// The count shows that there was something to compare. The callback also ends a
	// replay of a large file when ctx ends.
	decisions := 0
	diff, err := replay.Run(events, registry.ForReplay, replay.Options{Event: func(ev *trace.Event, _ []string) bool {
		// Facts are not compared: they are the input of the replay.
		if ev.Op.Class() == trace.Decision {
			decisions++
		}
		return ctx.Err() == nil
	}})
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, notEvents(path, err)
	case diff != nil:
		// Names of jobs come from the file and may hold control characters.
		return command.Differs, e.Write([]byte(errs.OneLine(diff.String()) + "\n"))
	}
	return command.Done, e.Write(fmt.Appendf(nil, "the same %d decisions\n", decisions))
}

// convertCommand writes recorded runs of older versions as this one writes them.
func convertCommand() command.Command {
	return command.Command{Usage: "write an event file of an older schema in the newest one, to standard output", Args: "EVENTS", Long: "Exit codes: 0 done; 2 the file is cut short, was changed or was not written by mrlocal.",
		Run: func(ctx context.Context, e command.Env, line argv.Line) (int, error) {
			path, events, err := openEvents(e, line)
			if err != nil {
				return 0, err
			}
			defer events.Close()
			if err = trace.Convert(e.Stdout, process.Until(ctx, events)); err != nil && !command.Gone(err) {
				return 0, notEvents(path, err)
			}
			return command.Done, nil
		}}
}

// uiCommand shows recorded runs, or the playground, on a page.
func uiCommand() command.Command {
	return command.Command{Usage: "show recorded runs, or a playground, on a page in the browser", Args: "[RUN…]", Long: pictures.UIHelp, Flags: pictures.UIFlags(),
		Run: func(ctx context.Context, e command.Env, line argv.Line) (int, error) {
			return command.Done, pictures.ShowPage(ctx, e.Stderr, line)
		}}
}

// openEvents opens the event file that the command line names, or standard input. What is
// compressed is decoded. The name is for messages. The caller closes the events.
func openEvents(e command.Env, line argv.Line) (path string, events *process.EventFile, err error) {
	if len(line.Words) != 1 {
		return "", nil, errs.Inputf("", "name one EVENTS file; --events FILE of run, batch and sim writes one")
	}
	path = line.Words[0]
	if events, err = process.OpenEvents(path, e.Stdin); err != nil {
		return "", nil, errs.Inputf(argv.Quote(path), "%v", errs.Cause(err))
	}
	if path == "-" {
		path = "standard input"
	}
	return path, events, nil
}

// notEvents returns the error for a file that is not a whole event file.
func notEvents(path string, err error) error {
	// The names of our own packages do not help a user.
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "replay: "), "read events: ")
	return errs.Inputf(argv.Quote(path), "%s", text)
}
