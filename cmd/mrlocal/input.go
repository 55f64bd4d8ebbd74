package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"

	"mrlocal/internal/datagen"
	"mrlocal/internal/errs"
)

const (
	wikiDir   = "wiki"  // the articles of a lesson, in the working directory
	warmBytes = 1 << 30 // at most this many bytes of an existing wiki are read before the runs
)

// prepare makes the input of the lesson and sets c.input: wiki/, or a file in a temporary directory. A lesson whose
// tasks sleep needs no input. If there is no error, the caller must call cleanUp, which removes the temporary
// directory.
func (c *session) prepare(ctx context.Context) (cleanUp func(), err error) {
	in := c.lesson.Input
	switch {
	case in == nil:
		return func() {}, nil
	case in.Wiki:
		c.input = wikiDir
		return func() {}, makeWiki(ctx, in.Bytes, c.Stdout)
	}
	dir, err := os.MkdirTemp("", "mrlocal-lesson-")
	if err != nil {
		return nil, err
	}
	c.input = filepath.Join(dir, "records")
	cleanUp = func() { _ = os.RemoveAll(dir) }
	if err := datagen.Generate(ctx, datagen.Records, c.input, in.Bytes, 1); err != nil {
		cleanUp()
		return nil, err
	}
	return cleanUp, nil
}

// makeWiki makes wiki/ of that size unless it exists. If it exists, makeWiki reads its files into the page cache.
// Otherwise the first run alone would wait for the disk, and the comparison would be wrong.
func makeWiki(ctx context.Context, bytes int64, stdout io.Writer) error {
	info, err := os.Stat(wikiDir)
	switch {
	case err == nil && !info.IsDir():
		return errs.Optionf(wikiDir, "is not a directory; the demo needs that name for its input")
	case err == nil:
		fmt.Fprintf(stdout, "%s/ exists already: the demo uses it\n", wikiDir)
		return warm(ctx, wikiDir)
	// For any other error, such as a missing permission, this message is clearer than that of the
	// generator.
	case !errors.Is(err, fs.ErrNotExist):
		return errs.Optionf(wikiDir, "%v", errs.Cause(err))
	}
	started := time.Now()
	if err := datagen.Generate(ctx, datagen.Wiki, wikiDir, bytes, 1); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "made %s/: %s of wiki articles in %.1fs\n", wikiDir, humanize.IBytes(uint64(bytes)), time.Since(started).Seconds())
	return err
}

// warm reads up to warmBytes of the files below dir into the page cache. It fails only if ctx ends.
func warm(ctx context.Context, dir string) error {
	// The bound keeps a very large directory from delaying the demo.
	left := int64(warmBytes)
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || left <= 0 {
			return nil // the run itself reports files that it cannot read
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		// The run reports a read error.
		n, _ := io.Copy(io.Discard, io.LimitReader(f, left))
		left -= n
		return nil
	})
}

// digest is a writer that keeps the hash and the number of lines of a result, to compare the runs of a lesson.
type digest struct {
	hash  hash.Hash
	lines int
}

func newDigest() *digest { return &digest{hash: sha256.New()} }

// Write takes the next bytes. It never fails.
func (d *digest) Write(p []byte) (int, error) {
	d.lines += bytes.Count(p, []byte{'\n'})
	return d.hash.Write(p)
}

// equal reports whether both results are the same.
func (d *digest) equal(o *digest) bool {
	return d.lines == o.lines && bytes.Equal(d.hash.Sum(nil), o.hash.Sum(nil))
}
