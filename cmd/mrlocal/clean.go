package main

import (
	"context"
	"errors"
	"os"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/process"
)

const cleanHelp = `Looks in each DIR for temporary files of killed runs, for journals of --resume, and for results that were not finished; a DIR that is an unfinished result of mrlocal is removed itself. Without DIR it looks in the temporary directory of the system and in the working directory. Only your own files are removed, and none of a run that is alive.`

// cleanCommand removes what killed runs have left.
func cleanCommand() command {
	return command{name: "clean", usage: "remove what killed runs have left", args: "[DIR…]", long: cleanHelp,
		flags: []flagSpec{toggle("dry-run", "n", "list what would be removed, and remove nothing")},
		run: func(_ context.Context, e env, line argv.Line) (int, error) {
			// Without words, the places where a killed run leaves files by default.
			dirs := line.Words
			if len(dirs) == 0 {
				dirs = []string{os.TempDir(), "."}
			}
			// The list is printed even if something could not be removed.
			text, err := process.Clean(dirs, line.Has("dry-run"), len(line.Words) > 0)
			return exitDone, errors.Join(err, write(e, text))
		}}
}
