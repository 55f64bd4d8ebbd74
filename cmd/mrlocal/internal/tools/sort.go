package tools

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/jobs/sort"
	"mrlocal/output"
)

// sortTool returns mrlocal sort: GNU sort on the engine, in the C locale.
func sortTool() Tool {
	return Tool{Name: "sort", Usage: "sort lines; the flags are those of GNU sort", Flags: sortFlags(), Forms: sortForms, Run: runSort}
}

// sortFlags returns the flags of GNU sort, and this tool's own, whose names must be whole: a script may
// shorten a name of GNU sort as long as GNU sort has only one that begins so. --compress-program is among
// them so that sorter.read can refuse it with a reason. --check takes no value here, because sortForms
// turns --check=WORD into -c or -C.
func sortFlags() []argv.Spec {
	return slices.Concat(
		// The letters of these are also the options of a key, as the nr in -k2,2nr.
		specs(argv.Flag{}, "ignore-leading-blanks,b", "dictionary-order,d", "ignore-case,f", "general-numeric-sort,g", "ignore-nonprinting,i", "month-sort,M",
			"human-numeric-sort,h", "numeric-sort,n", "random-sort,R", "version-sort,V", "reverse,r"),
		specs(argv.Flag{}, "check,c", "merge,m", "unique,u", "stable,s", "zero-terminated,z", "debug"),
		specs(argv.Flag{Value: true}, "key,k", "field-separator,t", "output,o", "buffer-size,S", "temporary-directory,T", "parallel", "batch-size",
			"compress-program", "files0-from", "random-source", "sort"),
		specs(argv.Flag{Value: true, Whole: true}, obsoleteFlag, "json", "seed", "header", "delimiter"),
		specs(argv.Flag{Whole: true}, "check-quiet,C", "csv", "no-header", "lenient"))
}

// sorter is one call of mrlocal sort. read sets its fields.
type sorter struct {
	*Call
	order sort.Options
	files []string // the inputs, at least one; "-" is standard input
	// obsolete has the indices of those keys of order that were given as +F -F.
	obsolete map[int]bool
}

// runSort is Tool.Run of mrlocal sort. The exit code is 1 if -c or -C finds a line out of order, and 0
// otherwise.
func runSort(ctx context.Context, c *Call) (int, error) {
	s := &sorter{Call: c}
	if err := s.read(); err != nil {
		return 0, err
	}
	// A header is read first. A key may name a column of CSV, so the order is compiled after that.
	if header := s.Count("header", 1, math.MaxInt32); s.Err != nil {
		return 0, s.Err
	} else if s.order.CSV || header > 0 {
		return 0, s.sortHeaded(ctx, header)
	}
	order, err := sort.Compile(s.order)
	if err != nil {
		return 0, err
	}
	// With --debug, GNU sort begins with a line about the locale. In the C locale it is this one.
	if c.Line.Has("debug") {
		fmt.Fprint(c.Stderr, argv.ErrorLine("sort", errors.New("text ordering performed using simple byte comparison")))
		debugger := sort.NewDebugger(order)
		for _, text := range debugger.Warnings(!s.order.Stable && !s.order.Unique, s.obsolete) {
			fmt.Fprint(c.Stderr, argv.ErrorLine("sort", errors.New(text)))
		}
		s.Stdout = debugger.Writer(s.Stdout, delimiter(s.order.ZeroEnded)) // marks below each line
	}
	switch {
	// -c and -m do not sort, so they run without the engine.
	case c.Line.Has("check") || c.Line.Has("check-quiet"):
		return s.check(ctx, order)
	case c.Line.Has("merge"):
		return 0, cmp.Or(s.merge(ctx, order), s.unseen(order))
	}
	return 0, cmp.Or(s.runFiles(ctx, sort.NewOrdered(s.order, order), s.files), s.unseen(order))
}

// source opens a file for -c or -m. bytes is the size of its blocks.
func (s *sorter) source(path string, bytes int) (*sort.Source, *input.TextFile, error) {
	f, err := s.openText(path)
	if err != nil {
		return nil, nil, err
	}
	cut := &input.Cutter{R: f, LastEnd: input.LastEnd(delimiter(s.order.ZeroEnded)), Bytes: bytes}
	return &sort.Source{Next: cut.Next, Close: f.Close, Name: path, Few: f.Regular()}, f, nil
}

// checkedBytes is the size of the blocks of -c, in bytes.
const checkedBytes = 256 << 10

// check does the work of -c and -C. It returns the exit code, 0 or 1.
func (s *sorter) check(ctx context.Context, order *sort.Order) (int, error) {
	source, f, err := s.source(s.files[0], checkedBytes)
	if err != nil {
		return 0, err
	}
	d, err := order.FirstDisorder(ctx, source, delimiter(s.order.ZeroEnded), s.order.Unique)
	switch {
	case err != nil:
		return 0, err
	case d == nil:
		f.Leave(-1)
		return 0, nil
	}
	f.Leave(d.End)
	if s.Line.Has("check") {
		s.complain(fmt.Errorf("%s:%d: disorder: %s", s.files[0], d.Number, d.Text))
	}
	return 1, nil
}

// merge does the work of -m: it merges the files, which must be sorted, into the result. All files are open
// at once, whatever --batch-size says.
func (s *sorter) merge(ctx context.Context, order *sort.Order) error {
	var sources []*sort.Source
	for i, path := range s.files {
		// Standard input can be read only once. The second time it would be empty.
		if path == "-" && slices.Contains(s.files[:i], path) {
			continue
		}
		source, f, err := s.source(path, sort.MergeBlockBytes(len(s.files)))
		if err != nil {
			for _, opened := range sources {
				opened.Close()
			}
			return err
		}
		defer f.Leave(-1)
		sources = append(sources, source)
	}
	m, err := order.NewMerger(ctx, sources, delimiter(s.order.ZeroEnded), s.order.Unique)
	if err != nil {
		return err
	}
	defer m.Close()
	// The output may be one of the inputs. It is replaced after all inputs are read. Opening it last means
	// that a missing input leaves no temporary file.
	result, err := output.OpenSingle(s.resultSpec())
	if err != nil {
		return err
	}
	return result.End(m.Merge(ctx, result))
}

// delimiter returns the byte that ends a line. zero says whether it is NUL.
func delimiter(zero bool) byte {
	if zero {
		return 0
	}
	return '\n'
}

// unseen returns the error of a key of JSON that no line has, which is most likely misspelt. The result
// is written: its lines are in the order of the other keys.
func (s *sorter) unseen(order *sort.Order) error {
	if i := order.Unseen(); i >= 0 {
		return errs.Inputf("--json", "%s: no line has this key", errs.Quote(s.order.JSON[i]))
	}
	return nil
}

// read reads all flags and checks that the inputs exist. It comes before any output, so a mistake in
// the line creates no file.
func (s *sorter) read() error {
	if name, given := s.Line.Value("compress-program"); given {
		return errs.Optionf("--compress-program", "%s: mrlocal sort runs no other program; --compress chooses how it compresses what it spills", errs.Quote(name))
	}
	// A line with several mistakes gets the message of the first check that fails.
	for _, err := range []error{s.readOrder(), s.readOutput(), s.readResources()} {
		if err != nil {
			return err
		}
	}
	return s.readFiles()
}

// readOrder reads the flags that say how to compare lines, into s.order.
func (s *sorter) readOrder() error {
	on := s.Line.Has
	o := sort.Options{
		Unique: on("unique"), Stable: on("stable"), ZeroEnded: on("zero-terminated"),
		Numeric: on("numeric-sort"), General: on("general-numeric-sort"), Human: on("human-numeric-sort"), Month: on("month-sort"),
		Random: on("random-sort"), Version: on("version-sort"), Reverse: on("reverse"), FoldCase: on("ignore-case"),
		Blanks: on("ignore-leading-blanks"), Printing: on("ignore-nonprinting"), Dictionary: on("dictionary-order"),
		CSV: on("csv"), Lenient: on("lenient"), JSON: s.Line.Values("json"),
	}
	if err := s.checkForms(&o); err != nil {
		return err
	}
	s.obsolete = map[int]bool{}
	for _, f := range s.Line.Flags {
		if f.Flag.Name == "key" || f.Flag.Name == obsoleteFlag {
			s.obsolete[len(o.Keys)] = f.Flag.Name == obsoleteFlag
			o.Keys = append(o.Keys, f.Value)
		}
	}
	// A word of --sort means the same as the flag with its letter. sort.Compile refuses two orders that
	// contradict each other.
	orders := map[string]*bool{
		"general-numeric": &o.General, "human-numeric": &o.Human, "month": &o.Month,
		"numeric": &o.Numeric, "random": &o.Random, "version": &o.Version,
	}
	for _, word := range s.Line.Values("sort") {
		var field *bool
		// GNU sort accepts the beginning of a word. No two words share their first letter, so at most
		// one matches.
		for name, of := range orders {
			if word != "" && strings.HasPrefix(name, word) {
				field = of
			}
		}
		if field == nil {
			return errs.Optionf("--sort", "%s: one of general-numeric, human-numeric, month, numeric, random, version", errs.Quote(word))
		}
		*field = true
	}
	// As in GNU sort, -t may be repeated only with the same separator.
	tabs := append(s.Line.Values("field-separator"), s.Line.Values("delimiter")...)
	for i, tab := range tabs {
		switch {
		case tab == "":
			return errs.Optionf("-t", "the separator is empty")
		case tab != tabs[0]:
			return errs.Optionf("-t", "given twice, with %s and with %s", errs.Quote(tabs[0]), errs.Quote(tabs[i]))
		}
		// GNU sort lacks \t, but a TAB is hard to type in a shell. Package jobs/sort knows the form \0.
		if o.Separator = tab; tab == `\t` {
			o.Separator = "\t"
		}
	}
	s.order = o
	// Only -R needs a salt. The name of a CSV column may have an R too. Then the salt is made but has
	// no effect.
	if o.Random || strings.Contains(strings.Join(o.Keys, ""), "R") {
		return s.readSalt()
	}
	return nil
}

// checkForms refuses flags that contradict each other about the form of the lines.
func (s *sorter) checkForms(o *sort.Options) error {
	on := s.Line.Has
	// These flags work on plain lines. Records of CSV may contain newlines, and a header is not a line.
	for _, flag := range []string{"check", "check-quiet", "merge", "zero-terminated", "debug", "header"} {
		if o.CSV && on(flag) {
			return errs.Optionf("--csv, --"+flag, "give one of them, not both")
		}
		if on("header") && on(flag) && flag != "header" && flag != "zero-terminated" {
			return errs.Optionf("--header, --"+flag, "give one of them, not both")
		}
	}
	for _, flag := range []string{"no-header", "lenient", "delimiter"} {
		if on(flag) && !o.CSV {
			return errs.Optionf("--"+flag, "is for --csv")
		}
	}
	if len(o.JSON) > 0 && on("debug") {
		return errs.Optionf("--json, --debug", "give one of them, not both")
	}
	for _, flag := range []string{"field-separator", "delimiter"} {
		if text, given := s.Line.Value(flag); o.CSV && given {
			if err := checkCSVSeparator("--"+flag, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// readSalt sets the salt of -R from --seed, from the file of --random-source, or at random. Lines with
// equal keys stay together under any salt.
func (s *sorter) readSalt() error {
	salt := s.order.Salt[:]
	if text, given := s.Line.Value("seed"); given {
		// The same seed gives the same order at each call and on each machine.
		seed, err := argv.Seed("seed", text)
		binary.LittleEndian.PutUint64(salt, seed)
		return err
	}
	path, given := s.Line.Value("random-source")
	if !given {
		_, err := rand.Read(salt)
		return err
	}
	source := s.Stdin
	if path != "-" {
		f, err := disk.OpenInput(path)
		if err != nil {
			return errs.Optionf("--random-source", "%s: %w", path, errs.Cause(err))
		}
		defer f.Close()
		source = f
	}
	// As in GNU sort, a file that is shorter than the salt is an error.
	if _, err := io.ReadFull(source, salt); err != nil {
		return errs.Inputf(path, "a random source has at least %d bytes: %w", len(salt), errs.Cause(err))
	}
	return nil
}

// readOutput checks that -c, -C, -o and --debug do not contradict each other, and reads -o. The words
// of its errors are those of GNU sort.
func (s *sorter) readOutput() error {
	on := s.Line.Has
	outputs := s.Line.Values("output")
	check, quiet := on("check"), on("check-quiet")
	switch {
	case check && quiet:
		return errs.Optionf("", "options '-cC' are incompatible")
	case check && len(outputs) > 0:
		return errs.Optionf("", "options '-co' are incompatible")
	case quiet && len(outputs) > 0:
		return errs.Optionf("", "options '-Co' are incompatible")
	}
	// The marks of --debug are for a person, so lines with marks must not go to a file. With -c and -C
	// no line is written.
	for letter, on := range map[string]bool{"c": check, "C": quiet, "o": len(outputs) > 0} {
		if on && s.Line.Has("debug") {
			return errs.Optionf("", "options '-%s --debug' are incompatible", letter)
		}
	}
	return s.setOutput()
}

// setOutput reads -o and --compress-output into c.Options. As in GNU sort, -o may be given again only
// with the same file. The path - is standard output. The suffix of the file chooses the compression
// unless --compress-output does.
func (c *Call) setOutput() error {
	outputs := c.Line.Values("output")
	for _, path := range outputs {
		if path != outputs[0] {
			return errs.Optionf("-o", "given twice, with %s and with %s", errs.Quote(outputs[0]), errs.Quote(path))
		}
		if path == "" {
			return errs.Optionf("-o", "the path is empty")
		}
		if c.Options.OutputFile = path; path == "-" {
			c.Options.OutputFile = ""
		}
	}
	format, err := c.Options.CompressOutput.Of(c.Options.OutputFile)
	if err == nil && format != output.None && c.Line.Has("debug") {
		err = errs.Optionf("--compress-output, --debug", "give one of them, not both")
	}
	c.Options.CompressOutput = format
	return err
}

// readResources reads -S, -T, --parallel and --batch-size into the options of the engine. As GNU sort
// does, it raises a -S that is too small to the least size that works, and lowers numbers that are too
// large.
func (s *sorter) readResources() error {
	o := &s.Options
	sizeText, sized := s.Line.Value("buffer-size")
	size, err := int64(0), error(nil)
	if sized {
		if size, err = bufferSize(sizeText); err != nil {
			return err
		}
	}
	if n := s.Limit("parallel"); s.Err != nil {
		return s.Err
	} else if s.Line.Has("parallel") && (n == nil || *n == 0) {
		return errs.Optionf("--parallel", "too small; at least 1")
	} else if n != nil {
		// Each slot needs leastSlotBytes of memory, which bounds the number of threads. As in a
		// run, one sixth of the threads are reduce slots, and at least one.
		memory := cmp.Or(size, o.MemoryBytes, machine.MemoryBytes()/4)
		n := int(min(*n, mostParallel, max(memory/leastSlotBytes, leastParallel)))
		o.ReduceSlots = max(1, n/6)
		o.MapSlots = max(1, n-o.ReduceSlots)
	}
	if text, given := s.Line.Value("batch-size"); given {
		n, err := argv.Count("batch-size", text, 2, maxInt)
		if err != nil {
			return err
		}
		// GNU sort counts the files that it merges at once. Here these are sorted runs.
		o.MergeFactor = min(n, mostParallel)
	}
	if sized {
		// Setup returns the slots with defaults filled in. They set the least memory.
		c := o.Setup()
		o.MemoryBytes = max(size, int64(c.Trackers*(c.MapSlots+c.ReduceSlots))*leastSlotBytes)
	}
	// The directories of -T come before those of --tmp. As in GNU sort, a missing one is an error only
	// when something spills.
	o.TempDirs, o.TempAtNeed = append(s.Line.Values("temporary-directory"), o.TempDirs...), o.TempAtNeed || s.Line.Has("temporary-directory")
	return nil
}

const (
	// maxInt is the bound of flags whose numbers, as in GNU sort, may be as large as an int holds.
	maxInt = int(^uint(0) >> 1)
	// mostParallel is the largest number of threads that --parallel sets, and the largest number of
	// sorted runs that --batch-size sets. Larger values of the flags are lowered to it.
	mostParallel = 1024
	// leastParallel is the least number of threads: a map slot and a reduce slot.
	leastParallel = 2

	leastSlotBytes = 8 << 20 // of memory for each slot; the engine refuses less
)

// bufferSize parses the value of -S and returns bytes. The units are those of GNU sort: none is KiB, b
// is a byte, and % is a share of the memory of the machine. Any other text must be a size as --memory
// takes it.
func bufferSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "bKkMmGgTtPE%")
	unit := text[len(digits):]
	if _, err := strconv.ParseUint(digits, 10, 63); err != nil || len(unit) > 1 {
		return argv.Size("buffer-size", text, 1)
	}
	switch unit {
	case "":
		unit = "K"
	case "%":
		share, err := argv.Count("buffer-size", digits, 0, 100)
		return machine.MemoryBytes() / 100 * int64(share), err
	case "b":
		unit = ""
	}
	return argv.Size("buffer-size", digits+unit, 0)
}

// readFiles sets s.files from the positional words or from --files0-from, and checks that the files
// exist.
func (s *sorter) readFiles() error {
	s.files = s.Line.Words
	if from, given := s.Line.Value("files0-from"); given {
		if len(s.files) > 0 {
			return errs.Optionf(errs.Quote(s.files[0]), "extra operand; file operands cannot be combined with --files0-from")
		}
		var err error
		if s.files, err = s.readNames(from); err != nil {
			return err
		}
	}
	if len(s.files) == 0 {
		s.files = []string{"-"}
	}
	// As in GNU sort, -c and -C take one file.
	if len(s.files) > 1 && (s.Line.Has("check") || s.Line.Has("check-quiet")) {
		letter := "c"
		if s.Line.Has("check-quiet") {
			letter = "C"
		}
		return errs.Optionf(errs.Quote(s.files[1]), "extra operand not allowed with -%s", letter)
	}
	return checkFiles(s.files)
}

// checkFiles returns an error for the first file that does not exist or is a directory. It comes
// before any file is read, so that a user learns of a wrong name before a long run. A file that
// exists but cannot be read is found when it is opened.
func checkFiles(files []string) error {
	for _, name := range files {
		if name == "-" {
			continue
		}
		info, err := disk.Stat(name)
		if err == nil && info.IsDir() {
			return errs.Inputf(errs.Quote(name), "is a directory")
		}
		if err != nil {
			return errs.Inputf(errs.Quote(name), "cannot read: %w", errs.Cause(err))
		}
	}
	return nil
}

// readNames reads the file of --files0-from, or standard input for -, and returns the names in it. NUL
// ends each name. As in GNU sort, an empty name and - are errors.
func (s *sorter) readNames(from string) ([]string, error) {
	var data []byte
	var err error
	if from == "-" {
		data, err = io.ReadAll(s.Stdin)
	} else {
		data, err = os.ReadFile(from)
	}
	if err != nil {
		return nil, errs.Inputf(errs.Quote(from), "open failed: %w", errs.Cause(err))
	}
	// Without this check an empty list would mean standard input.
	if len(data) == 0 {
		return nil, errs.Inputf(errs.Quote(from), "no file names in it")
	}
	names := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	for i, name := range names {
		switch {
		case name == "":
			return nil, errs.Inputf(fmt.Sprintf("%s:%d", from, i+1), "invalid zero-length file name")
		// GNU sort 9.1 refuses this name in every list, not only in a list on standard input.
		case name == "-":
			return nil, errs.Inputf(fmt.Sprintf("%s:%d", from, i+1), "no file name of - is allowed in a list of names")
		}
	}
	return names, nil
}

// runFiles runs the chain on files, where "-" is standard input, and writes the result to the output of
// c.Options.
func (c *Call) runFiles(ctx context.Context, chain jobs.Chain, files []string) error {
	o := &c.Options
	// If all files are null devices, no input is left. The job then runs on an empty text, so that it
	// still makes the file of -o.
	if o.Inputs = engineInputs(files); len(o.Inputs) == 0 {
		o.Inputs, c.Stdin = []string{"-"}, strings.NewReader("")
	}
	// The output may be one of the inputs. The engine replaces it only at the end.
	o.Overwrite = o.OutputFile != ""
	_, err := c.RunChain(ctx, chain)
	return err
}

// engineInputs returns the files as the engine takes them. It replaces the device names of a standard
// input that is a stream by "-", keeps only the first of several, and drops null devices. A regular file
// is read from its beginning by such a name, as open does on Linux.
func engineInputs(files []string) []string {
	var inputs []string
	seen := false
	// Scripts often name the null device. It adds no line, and the engine would refuse it as a
	// device.
	null, nullErr := os.Stat(os.DevNull)
	for _, name := range files {
		info, err := disk.Stat(name)
		switch {
		// A stream can be read only once. In GNU sort too, the second time adds no line.
		case name == "-", (name == "/dev/stdin" || name == "/dev/fd/0") && (err != nil || !info.Mode().IsRegular()):
			if !seen {
				inputs, seen = append(inputs, "-"), true
			}
		case err == nil && nullErr == nil && os.SameFile(info, null):
		default:
			inputs = append(inputs, name)
		}
	}
	return inputs
}
