package main

import (
	"cmp"
	"context"
	"io"
	"os"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/internal/datagen"
	"mrlocal/internal/errs"
)

// Defaults of --size and --seed. The help of the flags repeats them.
const (
	genDefaultBytes = 64 << 20
	genDefaultSeed  = 1
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

// genCommand returns mrlocal gen, which makes inputs for examples and benchmarks.
func genCommand() command.Command {
	return command.Command{Usage: "generate input: wiki, lines, records, words, corpus, movies, edges, points or candidates", Args: "KIND DIR_OR_FILE", Long: genHelp,
		Flags: []argv.Spec{
			argv.ValueSpec("size", "make `SIZE` bytes", "64MiB"),
			argv.ValueSpec("seed", "seed `N`, a whole number", "1"),
		},
		Run: runGen}
}

// runGen writes the data of one kind to a file, a directory or standard output.
func runGen(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	if len(line.Words) == 0 {
		return 0, errs.Optionf("", "give a kind and a place: mrlocal gen wiki|lines|records|words|corpus|movies|edges|points|candidates --size SIZE DIR_OR_FILE")
	}
	// The message is about the first wrong word from the left.
	name := line.Words[0]
	kind, err := kindOf(name)
	switch {
	case err != nil:
		return 0, err
	case len(line.Words) == 1:
		return 0, errs.Optionf(name, "give a place: mrlocal gen %s --size SIZE DIR_OR_FILE", name)
	case len(line.Words) > 2:
		return 0, errs.Optionf(errs.Quote(line.Words[2]), "one word too many")
	}
	place := line.Words[1]
	r := command.NewReader(line)
	bytes, seed := cmp.Or(r.Size("size", 1), genDefaultBytes), uint64(genDefaultSeed)
	if line.Has("seed") { // the seed may be 0
		seed = argv.Value(&r.Reader, "seed", argv.Seed)
	}
	if r.Err != nil {
		return 0, r.Err
	}
	// Generate writes a temporary file and renames it. This would replace a device, or the file of
	// standard output.
	if place == "-" || kind != datagen.Wiki && isOpen(place, e.Stdout) {
		return command.Done, genStream(ctx, e, kind, bytes, seed)
	}
	return command.Done, datagen.Generate(ctx, kind, place, bytes, seed)
}

// kindOf parses a KIND. The error for an unknown kind suggests the nearest one, or lists all kinds.
func kindOf(name string) (datagen.Kind, error) {
	var names []string
	for _, k := range datagen.Kinds() {
		names = append(names, string(k))
	}
	// If no kind is near, the error of ParseKind lists all of them.
	if near := errs.Nearest(name, names); near != "" && near != name {
		return "", errs.Optionf(errs.Quote(name), "no such kind of data; did you mean %s?", near)
	}
	return datagen.ParseKind(name)
}

// genStream writes data to standard output. A closed pipe is success. It refuses a wiki, which is a
// directory.
func genStream(ctx context.Context, e command.Env, kind datagen.Kind, bytes int64, seed uint64) error {
	if kind == datagen.Wiki {
		return errs.Optionf("-", "a wiki is a directory; name one")
	}
	if err := datagen.Write(ctx, kind, e.Stdout, bytes, seed); !command.Gone(err) {
		return err
	}
	return nil
}

// isOpen reports whether name is the file to which w writes, as /dev/stdout is for standard output.
func isOpen(name string, w io.Writer) bool {
	// Tests write to memory, which has no name.
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	// Stat follows the link /dev/stdout to the file itself.
	a, err := os.Stat(name)
	if err != nil {
		return false
	}
	b, err := f.Stat()
	return err == nil && os.SameFile(a, b)
}
