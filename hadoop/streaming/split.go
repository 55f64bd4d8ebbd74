package streaming

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file divides the input of a streaming job into splits, and reads the
// records of a split, as Hadoop's input formats do. One map reads one split.
//
// The splits are those of Hadoop, because users can see them. A map-only job writes one
// part for each split, and the largest split has number 0. A command may read the name of
// its file. The values of a key come in the order of the maps.
//
// A line belongs to the split in which it begins. A line that begins at the first byte
// behind a split still belongs to that split (LineRecordReader).
//
// Memory: a Reader has one buffer, which grows to the longest record if
// ReaderOptions.Charge allows. Slices that it returns are borrowed until the next call.
//
// Package input/codec decodes compressed files. Package streaming makes the maps.

// Split is the input of one map: Length bytes of a file, from byte Start on.
type FileSplit struct {
	Path          string
	Start, Length int64  // in the file as it is stored, compressed or not
	Codec         string // the suffix of a compressed file, such as ".gz"; "": it is not compressed
}

// Options say how files are divided into splits.
type SplitOptions struct {
	Maps          int64 // number of splits to aim at; below 1 counts as 1
	LeastBytes    int64 // least length of a split
	BlockBytes    int64 // greatest length of a split, unless LeastBytes is greater
	Lines         int   // lines of a split (NLineInputFormat); 0: files are divided by bytes
	Recursive     bool  // read directories inside directories; false: they are an error, unless IgnoreSubdirs is set
	IgnoreSubdirs bool  // leave them out
	NoHidden      bool  // a hidden file that an input names by itself does not exist, as in Hadoop
}

// file is an input file, with its length when Plan looked.
type file struct {
	path  string
	bytes int64
}

// Plan finds the files of the inputs and divides them. inputs are paths, file: URIs and
// patterns. It returns the longest split first, as Hadoop numbers maps; splits of equal
// length keep the order of the inputs. If paths or patterns find nothing, the error has a line for
// each.
func Plan(inputs []string, o SplitOptions) ([]FileSplit, error) {
	files, err := o.find(inputs)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, f := range files {
		total += f.bytes
	}
	var splits []FileSplit
	for _, f := range files {
		if o.Lines > 0 {
			if splits, err = divideLines(splits, f, o.Lines); err != nil {
				return nil, err
			}
			continue
		}
		splits = o.divide(splits, f, total/max(1, o.Maps))
	}
	slices.SortStableFunc(splits, func(a, b FileSplit) int { return cmp.Compare(b.Length, a.Length) })
	return splits, nil
}

// find returns the files of all inputs, in order (FileInputFormat.listStatus). Its
// error names all inputs that are missing, as Hadoop prints them.
func (o *SplitOptions) find(inputs []string) ([]file, error) {
	var files []file
	var missing []error
	for _, in := range inputs {
		path := Local(in)
		matches, err := glob(path)
		if err != nil {
			return nil, err
		}
		if o.NoHidden {
			matches = slices.DeleteFunc(matches, func(m string) bool { return hidden(filepath.Base(m)) })
		}
		if len(matches) == 0 {
			says := "Input Pattern %s matches 0 files"
			if !isPattern(path) {
				says = "Input path does not exist: %s"
			}
			missing = append(missing, fmt.Errorf(says, Qualify(in)))
		}
		for _, m := range matches {
			if files, err = o.add(files, m, true); err != nil {
				return nil, err
			}
		}
	}
	return files, errors.Join(missing...)
}

// glob returns path alone if it exists. Otherwise it returns the paths that match it as a
// pattern, sorted, each once.
func glob(path string) ([]string, error) {
	if _, err := os.Stat(path); err == nil {
		return []string{path}, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []string
	for _, p := range braces(path) {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, fmt.Errorf("illegal file pattern %s: %w", path, err)
		}
		// Hidden files match no pattern.
		all = append(all, slices.DeleteFunc(found, func(m string) bool { return hidden(filepath.Base(m)) })...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// isPattern reports whether path has characters with a meaning in patterns.
func isPattern(path string) bool { return strings.ContainsAny(path, "*?[{\\") }

// braces returns the patterns without braces that pattern stands for: "x{a,b}" gives "xa"
// and "xb". Hadoop's patterns have braces, and those of filepath.Glob do not.
func braces(pattern string) []string {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}
	}
	depth := 0
	for i := open; i < len(pattern); i++ {
		switch pattern[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth > 0 {
				continue
			}
			var all []string
			for _, part := range commaPaths(pattern[open+1 : i]) {
				all = append(all, braces(pattern[:open]+part+pattern[i+1:])...)
			}
			return all
		}
	}
	return []string{pattern} // the brace is not closed
}

// hidden reports whether a file or directory of that name is left out of the input.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") }

// add appends the file at path to files, or the files of the directory there, in the order of their
// names. As in Hadoop, a directory is an error if enter is false. With IgnoreSubdirs it is left out instead.
func (o *SplitOptions) add(files []file, path string, enter bool) ([]file, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return append(files, file{path, info.Size()}), nil
	case !enter && o.IgnoreSubdirs:
		return files, nil
	case !enter:
		//lint:ignore ST1005 as Hadoop words it
		return nil, fmt.Errorf("Not a file: %s", Qualify(path))
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if err == nil && !hidden(e.Name()) {
			files, err = o.add(files, filepath.Join(path, e.Name()), o.Recursive)
		}
	}
	return files, err
}

// Local returns the path that a file: URI names. It returns any other text as it is.
func Local(uri string) string {
	rest, ok := strings.CutPrefix(uri, "file:")
	if !ok {
		return uri
	}
	return "/" + strings.TrimLeft(rest, "/")
}

// Qualify returns a path or file: URI as Hadoop shows it in messages and properties:
// file:/absolute/path.
func Qualify(path string) string {
	abs, err := filepath.Abs(Local(path))
	if err != nil {
		return path
	}
	return "file:" + abs
}

// codecOf returns the suffix of a file that Hadoop takes for compressed, or "".
func codecOf(path string) string {
	if ext := filepath.Ext(path); slices.Contains([]string{".gz", ".bz2", ".zst", ".deflate", ".snappy", ".lz4"}, ext) {
		return ext
	}
	return ""
}

// divide appends the splits of a file (FileInputFormat.getSplits). goal is the length of a
// split, in bytes, at which there are as many splits as Options.Maps. The last split may be
// 10 % longer than the others. Of the compressed formats only bzip2 is divided, as in
// Hadoop.
func (o *SplitOptions) divide(splits []FileSplit, f file, goal int64) []FileSplit {
	codec := codecOf(f.path)
	if f.bytes == 0 || codec != "" && codec != ".bz2" {
		return append(splits, FileSplit{Path: f.path, Length: f.bytes, Codec: codec})
	}
	// FileInputFormat.computeSplitSize
	size := max(o.LeastBytes, 1, min(goal, o.BlockBytes))
	left := f.bytes
	for float64(left)/float64(size) > 1.1 {
		splits = append(splits, FileSplit{f.path, f.bytes - left, size, codec})
		left -= size
	}
	return append(splits, FileSplit{f.path, f.bytes - left, left, codec})
}

// divideLines appends the splits of a file, with n lines each (NLineInputFormat). It reads
// the whole file, as Hadoop's client does.
func divideLines(splits []FileSplit, f file, n int) ([]FileSplit, error) {
	r, err := Open(FileSplit{Path: f.path, Length: f.bytes, Codec: codecOf(f.path)}, ReaderOptions{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// These are the first byte of the next split, its bytes and its lines so far.
	var begin, length int64
	lines := 0
	add := func() {
		s := FileSplit{Path: f.path, Start: begin - 1, Length: length, Codec: codecOf(f.path)}
		// A line that begins right behind a split still belongs to it. So each split ends, and the
		// next one starts, a byte before the next line.
		if begin == 0 {
			s.Start, s.Length = 0, length-1
		}
		splits = append(splits, s)
		begin += length
		length, lines = 0, 0
	}
	for {
		_, bytes, err := r.line()
		if err != nil {
			return nil, err
		}
		if bytes == 0 {
			break
		}
		length += int64(bytes)
		if lines++; lines == n {
			add()
		}
	}
	if lines > 0 {
		add()
	}
	return splits, nil
}
