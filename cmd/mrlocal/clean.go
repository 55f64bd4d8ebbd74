package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/dustin/go-humanize"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/output"
)

// cleanHelp is the help text of mrlocal clean below its usage.
const cleanHelp = `Looks in each DIR for temporary files of killed runs, for journals of --resume, and for results that were not finished. A DIR that is an unfinished result of mrlocal is removed itself. Without DIR it looks in the temporary directory of the system and in the working directory. Only your own files are removed, and none of a run that is alive.`

// makeClean returns mrlocal clean, which removes what killed runs have left behind.
func makeClean(e Env) *flags.Command {
	dry := false
	return &flags.Command{Usage: "remove what killed runs have left", Args: "[DIR…]", Long: cleanHelp, Examples: []string{"mrlocal clean"},
		Settings: []setting.Setting{setting.Of("dry-run", "", "list what would be removed, and remove nothing", "", setting.Toggle(&dry)).Letter("n")},
		Run: func(_ context.Context, line *flags.Line) (int, error) {
			// By default, a killed run leaves files in these two directories.
			dirs := line.Words
			if len(dirs) == 0 {
				dirs = []string{os.TempDir(), "."}
			}
			// After an error, text still lists what was removed.
			text, err := clean(dirs, dry, len(line.Words) > 0)
			return Done, errors.Join(err, e.Write(text))
		}}
}

// clean removes what killed runs have left in dirs: temporary files, journals and unfinished
// results. If itself is true, it also removes those of dirs that are unfinished results themselves.
// If dry is true, it removes nothing. It returns a line for each leftover, and a line with the sum.
// It goes on after an error, and returns the first one with their number.
func clean(dirs []string, dry, itself bool) ([]byte, error) {
	// All words are checked before anything is removed.
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			return nil, errs.Optionf(errs.Quote(dir), "%v", errs.Cause(err))
		case !info.IsDir():
			return nil, errs.Optionf(errs.Quote(dir), "not a directory")
		}
	}
	var text strings.Builder
	var failed []error
	count, bytes := 0, int64(0)
	for _, dir := range dirs {
		// Package disk finds the temporary files and journals of dead runs, and package output the
		// unfinished results.
		found := disk.CleanTemp([]string{dir}, dry)
		beside, err := output.Clean(dir, dry, itself)
		// CleanTemp removes a directory that --resume has created together with its journal. Then
		// dir does not exist any more, and this is not an error.
		if err != nil && !(len(found) > 0 && errors.Is(err, fs.ErrNotExist)) {
			failed = append(failed, fmt.Errorf("%s: %w", errs.Quote(dir), errs.Cause(err)))
		}
		for _, left := range append(found, beside...) {
			if left.Err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", errs.Quote(left.Path), errs.Cause(left.Err)))
				continue
			}
			count, bytes = count+1, bytes+left.Bytes
			fmt.Fprintf(&text, "%10s  %s\n", humanize.IBytes(uint64(left.Bytes)), errs.Quote(left.Path))
		}
	}
	// The line with the sum appears even if there are no leftovers.
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
