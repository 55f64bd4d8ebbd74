package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"syscall"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/slots/policy/registry"
)

func policiesCommand() command {
	return command{name: "policies", usage: "list the slot policies: name, one line, and below it the paper",
		run: func(_ context.Context, e env, line argv.Line) (int, error) {
			if err := noWords(line); err != nil {
				return 0, err
			}
			var text bytes.Buffer
			width := 0
			for _, p := range registry.All() {
				width = max(width, len(p.Name))
			}
			for _, p := range registry.All() {
				fmt.Fprintf(&text, "%-*s  %s\n%*s  %s\n", width, p.Name, p.Line, width, "", p.Paper)
			}
			return exitDone, write(e, text.Bytes())
		}}
}

// version is this program's; releases are listed in CHANGELOG.md.
const version = "0.2.0"

func versionCommand() command {
	return command{name: "version", usage: "tell the version",
		run: func(_ context.Context, e env, line argv.Line) (int, error) {
			if err := noWords(line); err != nil {
				return 0, err
			}
			return printVersion(e), nil
		}}
}

func printVersion(e env) int {
	commit := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = " " + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	text := fmt.Sprintf("mrlocal %s%s %s %s/%s\n", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if err := write(e, []byte(text)); err != nil {
		fmt.Fprint(e.stderr, argv.ErrorLine("version", err))
		return exitFailed
	}
	return exitDone
}

// write writes a command's result; a reader that has gone is success.
func write(e env, text []byte) error {
	_, err := e.stdout.Write(text)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

func noWords(line argv.Line) error {
	if len(line.Words) > 0 {
		return errs.Optionf(argv.Quote(line.Words[0]), "one word too many")
	}
	return nil
}
