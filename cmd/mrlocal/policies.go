package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/licenses"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/errs"
	"mrlocal/slots/policy/registry"
)

// policiesCommand lists the table of policies, in its order: simplest first.
func policiesCommand() command {
	return command{name: "policies", usage: "list the slot policies, each with one line and its paper",
		run: func(_ context.Context, e env, line argv.Line) (int, error) {
			if err := noWords(line); err != nil {
				return 0, err
			}
			var text bytes.Buffer
			// A second line, below the description, has the reference.
			width := 0 // of the first column: the longest name
			for _, p := range registry.All() {
				width = max(width, len(p.Name))
			}
			for _, p := range registry.All() {
				fmt.Fprintf(&text, "%-*s  %s\n%*s  %s\n", width, p.Name, p.Line, width, "", p.Paper)
			}
			return exitDone, write(e, text.Bytes())
		}}
}

// versionCommand prints the same as --version.
func versionCommand() command {
	all := toggle("licenses", "", "print the notices of the modules and files in this program that others wrote")
	return command{name: "version", usage: "print the version", flags: []flagSpec{all},
		run: func(_ context.Context, e env, line argv.Line) (int, error) {
			if err := noWords(line); err != nil || !line.Has("licenses") {
				return printVersion(e, err)
			}
			text, err := licenses.Text()
			return exitDone, errors.Join(err, write(e, text))
		}}
}

// printVersion writes the version with commit, Go release and platform, unless there is an
// error already.
func printVersion(e env, err error) (code int, _ error) {
	if err != nil {
		return exitUsage, err
	}
	return exitDone, write(e, []byte(process.Version(mrlocal.Version)+"\n"))
}

// write writes the result of a command to standard output. If the reader of a
// pipe has gone, that is success.
func write(e env, text []byte) error {
	// One write for the whole text, so that lines of standard error do not tear it.
	_, err := e.stdout.Write(text)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// noWords refuses positional words.
func noWords(line argv.Line) error {
	if len(line.Words) > 0 {
		return errs.Optionf(argv.Quote(line.Words[0]), "one word too many")
	}
	return nil
}
