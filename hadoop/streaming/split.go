package streaming

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
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

// codecOf returns the suffix of a file that Hadoop takes for compressed, in lower case, or "".
func codecOf(path string) string {
	if ext := strings.ToLower(filepath.Ext(path)); slices.Contains([]string{".gz", ".bz2", ".zst", ".deflate", ".snappy", ".lz4"}, ext) {
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

// inputFormat says how a map reads records from its split: the class of -inputformat or
// -inputreader, and its properties.
type inputFormat struct {
	format     string // TextInputFormat, KeyValueTextInputFormat, NLineInputFormat or StreamXmlRecordReader
	key        Kind   // of the records' keys; their values are Text
	auto       bool   // AutoInputFormat, which reads sequence files too; they are refused
	ignoresKey bool   // by default, the command gets lines without their offsets
	separator  byte   // between key and value, of KeyValueTextInputFormat
	delimiter  []byte // ends a record; nil: LF, CR or CR LF
	maxBytes   int64  // a line of this many bytes is skipped (ReaderOptions); 0: no limit
	begin, end string // marks around a record of StreamXmlRecordReader
}

// chooseInput sets w.input from -inputformat and -inputreader (StreamJob.setJobConf).
func (w *Work) chooseInput() error {
	in := &w.input
	in.format, in.key = "TextInputFormat", Long
	switch name := w.args.InputFormat; name {
	case "", "TextInputFormat", "org.apache.hadoop.mapred.TextInputFormat":
		in.ignoresKey = true
		// Hadoop ignores a reader together with a named TextInputFormat. A reader without -inputformat
		// chooses StreamInputFormat.
		if name == "" && w.args.InputReader != "" {
			return w.chooseReader()
		}
	case "KeyValueTextInputFormat", "org.apache.hadoop.mapred.KeyValueTextInputFormat":
		if w.args.InputReader != "" {
			return w.chooseReader()
		}
		in.format, in.key = "KeyValueTextInputFormat", Text
		const name = "mapreduce.input.keyvaluelinerecordreader.key.value.separator"
		separator := w.separator(name)
		if len(separator) == 0 {
			return failed("%s: is empty", name)
		}
		in.separator = separator[0]
	case "AutoInputFormat", "org.apache.hadoop.streaming.AutoInputFormat": // TextInputFormat whose keys are not left out
		in.auto = true
	case "org.apache.hadoop.mapred.lib.NLineInputFormat":
		in.format = "NLineInputFormat"
	case "StreamInputFormat", "org.apache.hadoop.streaming.StreamInputFormat":
		return w.chooseReader()
	case "SequenceFileInputFormat", "SequenceFileAsTextInputFormat":
		return refuse(1, "-inputformat : class not built here : %s", name)
	default:
		return noClass("inputformat", name)
	}
	var err error
	if in.maxBytes, err = w.conf.Int("mapreduce.input.linerecordreader.line.maxlength", 0); err != nil {
		return failed("%v", err)
	}
	if d := w.conf.Get("textinputformat.record.delimiter", ""); d != "" && in.format == "TextInputFormat" {
		in.delimiter = []byte(d)
	}
	return nil
}

// chooseReader sets w.input from -inputreader, such as
// "StreamXmlRecordReader,begin=<a>,end=</a>". The text behind the name of the class becomes
// properties of the job.
func (w *Work) chooseReader() error {
	in := &w.input
	in.ignoresKey = false
	parts := strings.Split(w.args.InputReader, ",")
	switch simpleName(parts[0]) {
	case "":
		in.format, in.key = "KeyValueTextInputFormat", Text // StreamInputFormat without a reader
		in.separator = '\t'
		return nil
	case "StreamXmlRecordReader":
	default:
		return fail("-inputreader: class not found: %s", parts[0])
	}
	in.format, in.key = "StreamXmlRecordReader", Text
	for _, p := range parts[1:] {
		name, value, _ := strings.Cut(p, "=")
		w.conf.Set("stream.recordreader."+name, value)
	}
	in.begin, in.end = w.conf.Get("stream.recordreader.begin", ""), w.conf.Get("stream.recordreader.end", "")
	if w.conf.Bool("stream.recordreader.slowmatch", false) {
		return refuse(1, "-inputreader: slowmatch is not built here")
	}
	return nil
}

// isSequenceFile reports whether a file begins as Hadoop's sequence files do. It reports false for a file that
// cannot be read, so that its reader says why.
func isSequenceFile(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 3)
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == "SEQ"
}

// linesPerMap returns the number of lines of a split, or 0 if splits are cut by bytes.
func (in *inputFormat) linesPerMap(c Conf) (int, error) {
	if in.format != "NLineInputFormat" {
		return 0, nil
	}
	n, err := c.Int("mapreduce.input.lineinputformat.linespermap", 1)
	if err != nil {
		return 0, refuse(1, "%v", err)
	}
	return int(max(1, n)), nil
}

// each calls record with the key and value of each record of a split, in the form in which
// the engine stores them (package streaming). They are borrowed during the call.
//
// raw, if it is not nil, gets whole lines at once instead, each ending with LF, also
// borrowed. A command that gets lines unchanged runs much faster this way. Lines that need
// care still go to record. charge asks the run for bytes of memory. read gets the number
// of records since its last call, and the bytes of the split that were read so far. each
// returns the first error of the functions or of reading.
func (in *inputFormat) each(s FileSplit, charge func(int64) error, read func(records, done int64), raw func(lines []byte) error, record func(key, value []byte) error) error {
	if in.format == "StreamXmlRecordReader" {
		return in.eachXML(s, charge, read, record)
	}
	if in.auto && isSequenceFile(s.Path) {
		return fmt.Errorf("%s: sequence files are not read here", s.Path)
	}
	r, err := Open(s, ReaderOptions{Delimiter: in.delimiter, MaxBytes: in.maxBytes, Charge: charge})
	if err != nil {
		return err
	}
	defer r.Close()
	var key []byte
	for {
		if raw != nil {
			text, lines, err := r.Chunk()
			if err == nil && lines > 0 {
				err = raw(text)
			}
			if err != nil {
				return err
			}
			read(lines, r.Done()-s.Start)
		}
		line, offset, ok, err := r.Next()
		if err != nil || !ok {
			return err
		}
		if in.format == "KeyValueTextInputFormat" {
			k, v := line, line[len(line):]
			if at := bytes.IndexByte(line, in.separator); at >= 0 {
				k, v = line[:at], line[at+1:]
			}
			err = record(k, v)
		} else {
			key = AppendLong(key[:0], offset)
			err = record(key, line)
		}
		if err != nil {
			return err
		}
		read(1, r.Done()-s.Start)
	}
}

// eachXML is each for StreamXmlRecordReader. The key is the element with its marks, and the
// value is empty.
func (in *inputFormat) eachXML(s FileSplit, charge func(int64) error, read func(records, done int64), record func(key, value []byte) error) error {
	x, err := OpenXML(s, in.begin, in.end, ReaderOptions{Charge: charge})
	if err != nil {
		return err
	}
	defer x.Close()
	for {
		element, ok, err := x.Next()
		if err != nil || !ok {
			return err
		}
		if err := record(element, []byte{}); err != nil {
			return err
		}
		read(1, x.Done()-s.Start)
	}
}
