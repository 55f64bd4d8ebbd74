// Package datagen makes input data for jobs: text, wikitext, TeraGen rows, and tables.
//
// Kind, size and seed determine the data. It consists of units of about 1 MiB. Each unit has its own
// random generator, which depends on the seed and the number of the unit. So several cores can fill
// units in parallel, and the bytes do not depend on the number of cores. Units are written in order.
//
// Memory: a few units for each core, which are freed when a call returns.
package datagen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/inorder"
)

// Kind says what the data looks like.
type Kind string

const (
	Wiki    Kind = "wiki"    // a directory of files of wikitext articles
	Lines   Kind = "lines"   // sentences of 1 to about 200 bytes, one on each line
	Records Kind = "records" // TeraGen's 100-byte rows
	Words   Kind = "words"   // words by Zipf's law, about ten on each line
	Corpus  Kind = "corpus"  // short technical lines, many of them equal

	Movies     Kind = "movies"     // movie:user_rating,user_rating,…
	Edges      Kind = "edges"      // node TAB node; their frequencies follow a power law
	Points     Kind = "points"     // six numbers on each line, around ten centres
	Candidates Kind = "candidates" // sorted lists of four items
)

// Kinds returns all kinds, in the order of error messages. The caller owns the slice.
func Kinds() []Kind {
	return []Kind{Wiki, Lines, Records, Words, Corpus, Movies, Edges, Points, Candidates}
}

// ParseKind returns the kind with the given name. It fails with an options error (package errs)
// for another name.
func ParseKind(name string) (Kind, error) {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
		if string(k) == name || k == Records && name == "teragen" { // Hadoop's name
			return k, nil
		}
	}
	return "", errs.Optionf(errs.Quote(name), "no such kind of data%s", errs.Suggest(name, names))
}

// generator fills units. fill fills dst to its end. dst has the length of a unit; only the last
// unit may be shorter. The capacity of dst exceeds its length by at least overrunBytes, which
// fill may use as scratch. Several goroutines call fill.
type generator interface {
	unitBytes() int
	fill(dst []byte, unit int64)
}

// generator returns the generator of the kind. It fails with an options error for an unknown
// kind.
func (k Kind) generator(seed uint64) (generator, error) {
	switch _, err := ParseKind(string(k)); {
	case err != nil:
		return nil, err
	case k == Records:
		// Seeds 0 and 1 start where TeraGen starts. Other seeds start elsewhere in the only cycle of its random
		// generator.
		return teraGen{lcgJump(0, (max(seed, 1)-1)*seedStride*drawsPerRow)}, nil
	case k == Movies || k == Edges || k == Points || k == Candidates:
		return tables{k, seed}, nil
	}
	return text{k, newVocabulary(), seed}, nil
}

// Write writes sizeBytes of data to w. For Records it writes as many whole rows as fit. It
// fails with the first error of w, or with the cause of ctx when ctx ends. Seed 0 means 1.
func Write(ctx context.Context, kind Kind, w io.Writer, sizeBytes int64, seed uint64) error {
	g, err := kind.generator(seed)
	if err != nil {
		return err
	}
	return writeUnits(ctx, g, w, 0, kind.bytes(sizeBytes))
}

// bytes returns the number of bytes that Write writes for sizeBytes.
func (k Kind) bytes(sizeBytes int64) int64 {
	if k == Records {
		return sizeBytes / rowBytes * rowBytes
	}
	return max(sizeBytes, 0)
}

// Generate makes the file dst, or for Wiki the directory dst. It replaces a file. A directory
// must not exist or must be empty. The data gets its name only when it is complete. Seed 0
// means 1. A wrong size, kind or place is an options error (package errs). When ctx ends,
// Generate returns the cause of ctx and leaves nothing behind.
func Generate(ctx context.Context, kind Kind, dst string, sizeBytes int64, seed uint64) error {
	if sizeBytes < 0 {
		return errs.Optionf("size", "%d is negative", sizeBytes)
	}
	if _, err := ParseKind(string(kind)); err != nil {
		return err
	}
	if dst == "" {
		return errs.Optionf("", "no name for the data")
	}
	dst = filepath.Clean(dst)
	if real, err := filepath.EvalSymlinks(dst); err == nil {
		dst = real // replace the target of a link, not the link
	}
	parent := filepath.Dir(dst)
	if fi, err := os.Stat(parent); err != nil {
		return errs.Optionf(parent, "%v", errs.Cause(err))
	} else if !fi.IsDir() {
		return errs.Optionf(parent, "is not a directory")
	}
	if kind == Wiki {
		return generateDir(ctx, dst, sizeBytes, seed)
	}
	return generateFile(ctx, kind, dst, sizeBytes, seed)
}

// generateFile writes a file under a hidden name next to dst, and renames it when it is
// complete. A FIFO or a device is written directly, because it must not be replaced.
func generateFile(ctx context.Context, kind Kind, dst string, sizeBytes int64, seed uint64) error {
	fi, err := os.Stat(dst)
	switch {
	case err == nil && fi.IsDir():
		return errs.Optionf(dst, "is a directory")
	case err == nil && (!fi.Mode().IsRegular() || isLink(dst)): // dst is a link here only if its target has vanished meanwhile
		f, err := os.OpenFile(dst, os.O_WRONLY, 0)
		if err != nil {
			return errs.Optionf(dst, "%v", errs.Cause(err))
		}
		return errors.Join(Write(ctx, kind, f, sizeBytes, seed), f.Close())
	}
	f, err := disk.Beside(dst)
	if err != nil {
		return errs.Optionf(dst, "%v", errs.Cause(err))
	}
	if err = Write(ctx, kind, f, sizeBytes, seed); err != nil {
		err = errors.Join(errs.Cause(err), f.Close(), os.Remove(f.Name()))
	} else {
		err = errs.Cause(disk.Publish(disk.Of(f), dst))
	}
	return errs.About("gen: "+dst, err)
}

// isLink reports whether path is a symbolic link.
func isLink(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.Mode()&fs.ModeSymlink != 0
}

const (
	// wikiFileBytes is about the length of each file of a large wiki.
	wikiFileBytes = 32 << 20

	// wikiFiles is the least number of files of a wiki. A wiki of fewer units has a file for
	// each unit.
	wikiFiles = 8
)

// generateDir writes a directory of files under a hidden name next to dst, and renames it when
// it is complete. dst must not exist or must be empty.
func generateDir(ctx context.Context, dst string, sizeBytes int64, seed uint64) error {
	entries, err := os.ReadDir(dst)
	switch {
	case err == nil && len(entries) > 0:
		return errs.Optionf(dst, "exists and is not empty; remove it or name another")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return errs.Optionf(dst, "%v", errs.Cause(err))
	}
	temp, err := disk.DirBeside(dst)
	if err != nil {
		return errs.Optionf(dst, "%v", errs.Cause(err))
	}
	if err = writeDir(ctx, temp, sizeBytes, seed); err == nil {
		_ = os.Remove(dst) // dst is an empty directory; some systems do not rename over it
		err = os.Rename(temp, dst)
	}
	if err != nil {
		err = errors.Join(errs.Cause(err), os.RemoveAll(temp))
	}
	return errs.About("gen: "+dst, err)
}

// writeDir writes the files of a wiki. Their concatenation is the output of Write.
func writeDir(ctx context.Context, dir string, sizeBytes int64, seed uint64) error {
	g, err := Wiki.generator(seed)
	if err != nil {
		return err
	}
	unit := int64(g.unitBytes())
	units := (sizeBytes + unit - 1) / unit
	files := max(units*unit/wikiFileBytes, min(units, wikiFiles), 1)
	for i := range files {
		from := units * i / files * unit
		to := min(units*(i+1)/files*unit, sizeBytes)
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("articles-%05d.wiki", i)))
		if err != nil {
			return err
		}
		if err := errors.Join(writeUnits(ctx, g, f, from, to), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// writeUnits writes the bytes from..to-1 of g's data. from is the start of a unit. Goroutines
// fill units, and the calling goroutine writes them in order.
func writeUnits(ctx context.Context, g generator, w io.Writer, from, to int64) error {
	type made struct {
		data   []byte
		number int64
	}
	unit := int64(g.unitBytes())
	workers := runtime.GOMAXPROCS(0)
	free := sync.Pool{New: func() any { return &made{data: make([]byte, unit+overrunBytes)} }}
	units := func(yield func(*made) bool) {
		more := true
		for at := from; more && at < to; at += unit {
			m := free.Get().(*made)
			m.data, m.number = m.data[:min(unit, to-at)], at/unit
			more = yield(m)
		}
	}
	fill := func(_ context.Context, m *made) { g.fill(m.data, m.number) }
	return inorder.Each(ctx, workers, workers+1, units, fill, func(m *made) error {
		_, err := w.Write(m.data)
		free.Put(m)
		return err
	})
}
