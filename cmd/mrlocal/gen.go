package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/dustin/go-humanize"

	"mrlocal/internal/datagen"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/output"
)

// genCommand has the options of mrlocal gen.
type genCommand struct {
	Env
	bytes int64
	seed  uint64
}

// makeGen returns mrlocal gen, which makes inputs for examples and benchmarks.
func makeGen(e Env) *flags.Command {
	c := &genCommand{e, 64 << 20, 1}
	return &flags.Command{Usage: "generate input: wiki, lines, records, words, corpus, movies, edges, points or candidates", Args: "KIND DIR_OR_FILE", Long: helpText("gen"), Run: c.run,
		Examples: []string{"mrlocal gen wiki --size 256MiB wiki", "mrlocal gen records --size 1GiB -"},
		Settings: []setting.Setting{
			setting.Of("size", "", "make `SIZE` bytes", "64MiB", setting.Size(&c.bytes, 1, math.MaxInt64)),
			setting.Of("seed", "", "seed `N`, a whole number", "1", setting.Seed(&c.seed)),
		}}
}

// run writes the data of one kind to a file, a directory or standard output.
func (c *genCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	if len(line.Words) == 0 {
		return 0, errs.Optionf("", "give a kind and a place: mrlocal gen wiki|lines|records|words|corpus|movies|edges|points|candidates --size SIZE DIR_OR_FILE")
	}
	// The message is about the first wrong word from the left.
	name := line.Words[0]
	kind, err := datagen.ParseKind(name)
	switch {
	case err != nil:
		return 0, err
	case len(line.Words) == 1:
		return 0, errs.Optionf(name, "give a place: mrlocal gen %s --size SIZE DIR_OR_FILE", name)
	case len(line.Words) > 2:
		return 0, errs.Optionf(errs.Quote(line.Words[2]), "one word too many")
	}
	place := line.Words[1]
	// Generate writes a temporary file and renames it. This would replace a device, or the file of
	// standard output.
	if place == "-" || kind != datagen.Wiki && isOpen(place, c.Stdout) {
		return Done, c.stream(ctx, kind)
	}
	return Done, datagen.Generate(ctx, kind, place, c.bytes, c.seed)
}

// stream writes data to standard output. A closed pipe is success. It refuses a wiki, which is a
// directory.
func (c *genCommand) stream(ctx context.Context, kind datagen.Kind) error {
	if kind == datagen.Wiki {
		return errs.Optionf("-", "a wiki is a directory; name one")
	}
	return unlessGone(datagen.Write(ctx, kind, c.Stdout, c.bytes, c.seed))
}

// isOpen reports whether name is the file of a stream, as /dev/stdout is for standard output.
func isOpen(name string, stream any) bool {
	info, open := os.Stat(name)
	own := fileInfo(stream) // nil in tests, which write to memory
	return open == nil && own != nil && os.SameFile(info, own)
}

// makeClean returns mrlocal clean, which removes what killed runs have left behind.
func makeClean(e Env) *flags.Command {
	dry := false
	return &flags.Command{Usage: "remove what killed runs have left", Args: "[DIR…]", Long: helpText("clean"), Examples: []string{"mrlocal clean"},
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
