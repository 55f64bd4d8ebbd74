package main

import (
	"context"
	"math"
	"os"

	"mrlocal/internal/datagen"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
)

// genHelp is the help text of mrlocal gen below its usage.
const genHelp = `KIND is one of these:
  wiki        articles, a directory of several files
  lines       random text
  records     TeraGen's 100-byte rows; also teragen
  words       words by Zipf's law
  corpus      short technical lines, many of them equal
  movies      ratings of movies
  edges       edges of a graph
  points      points around ten centres
  candidates  lists of four items, for self-join

The same KIND, size and seed give the same bytes. An existing file is replaced. An existing directory is refused. The place - is standard output, which takes every kind but wiki.`

// genCommand has the options of mrlocal gen.
type genCommand struct {
	Env
	bytes int64
	seed  uint64
}

// makeGen returns mrlocal gen, which makes inputs for examples and benchmarks.
func makeGen(e Env) *flags.Command {
	c := &genCommand{e, 64 << 20, 1}
	return &flags.Command{Usage: "generate input: wiki, lines, records, words, corpus, movies, edges, points or candidates", Args: "KIND DIR_OR_FILE", Long: genHelp, Run: c.run,
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
