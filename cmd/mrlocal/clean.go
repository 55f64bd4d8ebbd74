package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/dustin/go-humanize"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/errs"
	"mrlocal/internal/disk"
	"mrlocal/output"
)

const cleanHelp = `Looks in each DIR for temporary files of killed runs, for journals of --resume, and for results that were not finished; a DIR that is an unfinished result of mrlocal is removed itself. Without DIR it looks in the temporary directory of the system and in the working directory. Only your own files are removed, and none of a run that is alive.`

// cleanCommand removes what killed runs have left.
func cleanCommand() command.Command {
	return command.Command{Usage: "remove what killed runs have left", Args: "[DIR…]", Long: cleanHelp,
		Flags: []argv.Spec{argv.ToggleSpec("dry-run", "n", "list what would be removed, and remove nothing")},
		Run: func(_ context.Context, e command.Env, line argv.Line) (int, error) {
			// Without words, the places where a killed run leaves files by default.
			dirs := line.Words
			if len(dirs) == 0 {
				dirs = []string{os.TempDir(), "."}
			}
			// The list is printed even if something could not be removed.
			text, err := clean(dirs, line.Has("dry-run"), len(line.Words) > 0)
			return command.Done, errors.Join(err, e.Write(text))
		}}
}

// clean removes what killed runs have left in directories: temporary files, journals and
// unfinished results. If itself is set, it also removes a directory that is an unfinished
// result. If dry is set, it removes nothing. It returns a line for each thing, and the sum.
// What cannot be removed is an error, after all else was removed.
func clean(dirs []string, dry, itself bool) ([]byte, error) {
	// A mistake in a later word must not leave half of the work done.
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			return nil, errs.Optionf(argv.Quote(dir), "%v", errs.Cause(err))
		case !info.IsDir():
			return nil, errs.Optionf(argv.Quote(dir), "not a directory")
		}
	}
	var text strings.Builder
	// An error about one thing does not keep the others from being removed.
	var failed []error
	count, bytes := 0, int64(0)
	for _, dir := range dirs {
		// Package disk knows what belongs to a live run, package output which results are
		// unfinished.
		found := disk.CleanTemp([]string{dir}, dry)
		beside, err := output.Clean(dir, dry, itself)
		// A directory that --resume has made goes with its journal.
		if err != nil && !(len(found) > 0 && errors.Is(err, fs.ErrNotExist)) {
			failed = append(failed, fmt.Errorf("%s: %w", argv.Quote(dir), errs.Cause(err)))
		}
		for _, left := range append(found, beside...) {
			if left.Err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", argv.Quote(left.Path), errs.Cause(left.Err)))
				continue
			}
			count, bytes = count+1, bytes+left.Bytes
			fmt.Fprintf(&text, "%10s  %s\n", humanize.IBytes(uint64(left.Bytes)), argv.Quote(left.Path))
		}
	}
	// The sum is printed without any leftovers too, so that the user sees that mrlocal has looked.
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	fmt.Fprintf(&text, "%10s  %s: %d\n", humanize.IBytes(uint64(bytes)), verb, count)
	if len(failed) > 0 {
		return []byte(text.String()), fmt.Errorf("%d could not be removed; the first: %w", len(failed), failed[0])
	}
	return []byte(text.String()), nil
}
