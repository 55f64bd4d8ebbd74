package tools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/jobs/sort"
	"mrlocal/output/compress"
)

const sortHelp = `Usage: mrlocal sort [FLAG]... [FILE]...
Writes the sorted lines of all FILEs, or of standard input, to standard output. Flags
and results are those of GNU sort in the C locale.

Ordering (each is also a letter of a key):
  -b, --ignore-leading-blanks    -d, --dictionary-order    -f, --ignore-case
  -g, --general-numeric-sort     -i, --ignore-nonprinting  -M, --month-sort
  -h, --human-numeric-sort       -n, --numeric-sort        -R, --random-sort
  -V, --version-sort             -r, --reverse             --sort=WORD
      --random-source=FILE       take the salt of -R from FILE
      --seed=N                   the same order of -R at each call

Keys:
  -k, --key=KEYDEF    F[.C][OPTS][,F[.C][OPTS]]; may be repeated
  -t, --field-separator=SEP      one byte, \t or \0; otherwise blanks begin fields
      --csv           records of CSV: quotes count, the first one is a header and stays;
                      KEYDEF is NAME, NAME:OPTS or F[OPTS]
      --json=KEY      JSON lines, by the value of KEY, as in user.name or user.age:nr;
                      may be repeated

Work:
  -c, --check         report the first line out of order, exit 1;  -C, --check=quiet
  -m, --merge         merge sorted files       -u, --unique   print equal lines once
  -s, --stable        no last comparison       -z, --zero-terminated
  -o, --output=FILE   write to FILE, which may be an input
      --files0-from=F read the names in F, each of which ends with NUL
  -S, --buffer-size=SIZE   -T, --temporary-directory=DIR   --parallel=N
      --batch-size=N  --debug

Exit codes: 0 done; 1 out of order (-c, -C); 2 an error.
--help-all adds the flags of the engine, such as --memory.
`

// sortTool is GNU sort on the engine.
func sortTool() Tool {
	return Tool{Name: "sort", Usage: "sort lines; the flags are those of GNU sort", Help: sortHelp, Flags: sortFlags(), Rewrite: rewriteSort, Run: runSort}
}

// orderings are the flags that are also letters of a key.
func orderings() []argv.Flag {
	return []argv.Flag{
		{Name: "ignore-leading-blanks", Short: "b"}, {Name: "dictionary-order", Short: "d"}, {Name: "ignore-case", Short: "f"},
		{Name: "general-numeric-sort", Short: "g"}, {Name: "ignore-nonprinting", Short: "i"}, {Name: "month-sort", Short: "M"},
		{Name: "human-numeric-sort", Short: "h"}, {Name: "numeric-sort", Short: "n"}, {Name: "random-sort", Short: "R"},
		{Name: "version-sort", Short: "V"}, {Name: "reverse", Short: "r"},
	}
}

// sortFlags are all flags of GNU sort that this tool knows, and three of its own: --csv,
// --json and --seed. The flag --compress-program is there only to be refused with a reason. The
// word after --check= is not a value here; rewriteSort has turned it into -c or -C.
func sortFlags() []argv.Spec {
	flags := append(orderings(),
		argv.Flag{Name: "check", Short: "c"}, argv.Flag{Name: "check-quiet", Short: "C"}, argv.Flag{Name: "merge", Short: "m"},
		argv.Flag{Name: "unique", Short: "u"}, argv.Flag{Name: "stable", Short: "s"}, argv.Flag{Name: "zero-terminated", Short: "z"},
		argv.Flag{Name: "csv"}, argv.Flag{Name: "debug"})
	// These flags take a value.
	for _, f := range []argv.Flag{
		{Name: "key", Short: "k"}, {Name: "field-separator", Short: "t"}, {Name: "output", Short: "o"}, {Name: "buffer-size", Short: "S"},
		{Name: "temporary-directory", Short: "T"}, {Name: "parallel"}, {Name: "batch-size"}, {Name: "compress-program"},
		{Name: "files0-from"}, {Name: "random-source"}, {Name: "sort"}, {Name: "json"}, {Name: "seed"},
	} {
		f.Value = true
		flags = append(flags, f)
	}
	specs := make([]argv.Spec, len(flags))
	for i, f := range flags {
		specs[i].Flag = f
	}
	return specs
}

// sorter is one call of mrlocal sort.
type sorter struct {
	*Call
	order sort.Options
	files []string // "-" is standard input
}

// runSort runs one call. The exit code is 0 when the lines are written or in order, and 1 when
// -c or -C finds disorder. Errors of any kind give exitTrouble.
func runSort(ctx context.Context, c *Call) (int, error) {
	s := &sorter{Call: c}
	if err := s.read(); err != nil {
		return 0, err
	}
	// The columns of CSV are known by name only when the header has been read, so sortCSV
	// compiles the order itself.
	if s.order.CSV {
		return 0, s.sortCSV(ctx)
	}
	order, err := sort.Compile(s.order)
	if err != nil {
		return 0, err
	}
	// GNU sort says first how it compares. Here that is always by bytes, as in the C locale.
	if c.Line.Has("debug") {
		fmt.Fprint(c.Stderr, argv.ErrorLine("sort", errors.New("text ordering performed using simple byte comparison")))
		// The marks follow each line of the output, so the writer must find the ends of lines.
		s.Stdout = &debugWriter{w: s.Stdout, debugger: sort.NewDebugger(order), delim: s.delimiter()}
	}
	switch {
	// Neither -c nor -m sorts. Both read lines in this process and start no job.
	case c.Line.Has("check") || c.Line.Has("check-quiet"):
		return s.check(ctx, order)
	case c.Line.Has("merge"):
		return 0, s.merge(ctx, order)
	}
	return 0, s.sort(ctx)
}

// read reads the flags and checks the files, so that a mistake leaves no file behind.
func (s *sorter) read() error {
	if name, given := s.Line.Value("compress-program"); given {
		return errs.Optionf("--compress-program", "%s: mrlocal sort runs no other program; --compress chooses how it compresses what it spills", argv.Quote(name))
	}
	// The order of the checks is the order of the messages: what is compared, then where to,
	// then with how much.
	for _, err := range []error{s.readOrder(), s.readOutput(), s.readResources()} {
		if err != nil {
			return err
		}
	}
	return s.readFiles()
}

// readOrder reads the flags that say what is compared.
func (s *sorter) readOrder() error {
	on := s.Line.Has
	o := sort.Options{
		Keys: s.Line.Values("key"), Unique: on("unique"), Stable: on("stable"), ZeroEnded: on("zero-terminated"),
		Numeric: on("numeric-sort"), General: on("general-numeric-sort"), Human: on("human-numeric-sort"), Month: on("month-sort"),
		Random: on("random-sort"), Version: on("version-sort"), Reverse: on("reverse"), FoldCase: on("ignore-case"),
		Blanks: on("ignore-leading-blanks"), Printing: on("ignore-nonprinting"), Dictionary: on("dictionary-order"),
		CSV: on("csv"), JSON: s.Line.Values("json"),
	}
	// Records of CSV may hold newlines, and the first record is a header. These flags work on
	// plain lines and would mix both up.
	for _, flag := range []string{"check", "check-quiet", "merge", "zero-terminated", "debug"} {
		if o.CSV && on(flag) {
			return errs.Optionf("--csv, --"+flag, "give one of them, not both")
		}
	}
	if len(o.JSON) > 0 && on("debug") {
		return errs.Optionf("--json, --debug", "give one of them, not both")
	}
	if o.CSV && s.Line.Has("field-separator") {
		if err := checkCSVSeparator("-t", s.Line.Values("field-separator")[0]); err != nil {
			return err
		}
	}
	// The word of --sort= turns on the same ordering as its letter. Two orderings that
	// contradict each other are refused later, by sort.Compile.
	orders := map[string]*bool{
		"general-numeric": &o.General, "human-numeric": &o.Human, "month": &o.Month,
		"numeric": &o.Numeric, "random": &o.Random, "version": &o.Version,
	}
	for _, word := range s.Line.Values("sort") {
		var field *bool
		// The words begin with different letters, so any part of one from its start is clear.
		for name, of := range orders {
			if word != "" && strings.HasPrefix(name, word) {
				field = of
			}
		}
		if field == nil {
			return errs.Optionf("--sort", "%s: one of general-numeric, human-numeric, month, numeric, random, version", argv.Quote(word))
		}
		*field = true
	}
	// As in GNU sort, -t may be repeated only with the same separator.
	tabs := s.Line.Values("field-separator")
	for i, tab := range tabs {
		switch {
		case tab == "":
			return errs.Optionf("-t", "the separator is empty")
		case tab != tabs[0]:
			return errs.Optionf("-t", "given twice, with %s and with %s", argv.Quote(tabs[0]), argv.Quote(tabs[i]))
		}
		// GNU sort has no \t; it is a convenience, since a shell makes a tab hard to type. The
		// form \0 is left to package sort.
		if o.Separator = tab; tab == `\t` {
			o.Separator = "\t"
		}
	}
	s.order = o
	// Only -R needs a salt. The test is coarse: a name of a CSV column with an R costs a salt
	// that nothing uses.
	if o.Random || strings.Contains(strings.Join(o.Keys, ""), "R") {
		return s.readSalt()
	}
	return nil
}

// readSalt reads or makes the salt of -R.
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
		f, err := os.Open(path)
		if err != nil {
			return errs.Optionf("--random-source", "%s: %w", path, bare(err))
		}
		defer f.Close()
		source = f
	}
	// GNU sort reads as many bytes as its digest needs; a short file is an error there too.
	if _, err := io.ReadFull(source, salt); err != nil {
		return errs.Inputf(path, "a random source has at least %d bytes: %w", len(salt), bare(err))
	}
	return nil
}

// readOutput reads the flags that say what is done and where the result goes.
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
	// Marks below lines make no sense where no line is written, or where the result is a file
	// that others read.
	for letter, on := range map[string]bool{"c": check, "C": quiet, "o": len(outputs) > 0} {
		if on && s.Line.Has("debug") {
			return errs.Optionf("", "options '-%s --debug' are incompatible", letter)
		}
	}
	return s.setOutput()
}

// setOutput reads -o. As in GNU sort, it may be repeated only with the same file. The path -
// is standard output. It also chooses how the result is compressed.
func (c *Call) setOutput() error {
	outputs := c.Line.Values("output")
	for _, path := range outputs {
		if path != outputs[0] {
			return errs.Optionf("-o", "given twice, with %s and with %s", argv.Quote(outputs[0]), argv.Quote(path))
		}
		if path == "" {
			return errs.Optionf("-o", "the path is empty")
		}
		if c.Options.OutputFile = path; path == "-" {
			c.Options.OutputFile = ""
		}
	}
	// The format is known before any work. Marks below lines are for the eye.
	format, err := c.Options.CompressOutput.Of(c.Options.OutputFile)
	if err == nil && format != compress.None && c.Line.Has("debug") {
		err = errs.Optionf("--compress-output, --debug", "give one of them, not both")
	}
	c.Options.CompressOutput = format
	return err
}

// readResources reads the flags that say with how much the engine works. A size below
// what the slots need is raised to that, as GNU sort does.
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
		// More threads than the memory has room for are lowered to that. GNU sort bounds them
		// too. The split of N threads into slots is the split of a run: one sixth are reduce
		// slots, at least one.
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
		// GNU sort counts merged files; the engine counts sorted runs that it merges at a time.
		o.MergeFactor = min(n, mostParallel)
	}
	if sized {
		// Setup fills in the default slots, so that the least memory follows from all slots of
		// all trackers.
		c := o.Setup()
		o.MemoryBytes = max(size, int64(c.Trackers*(c.MapSlots+c.ReduceSlots))*leastSlotBytes)
	}
	// The flag -T adds to --tmp. Its directories come first. As with GNU sort, they may be
	// missing while nothing spills.
	o.TempDirs, o.TempAtNeed = append(s.Line.Values("temporary-directory"), o.TempDirs...), s.Line.Has("temporary-directory")
	return nil
}

const (
	// maxInt is the largest int. A larger number than a bound is lowered to it, as GNU sort
	// does, and no error.
	maxInt = int(^uint(0) >> 1)
	// mostParallel bounds --parallel in threads and --batch-size in runs.
	mostParallel = 1024
	// leastParallel threads are a map slot and a reduce slot, of which a sort has one each.
	leastParallel = 2

	leastSlotBytes = 8 << 20 // of memory; the engine refuses less
)

// bufferSize reads the value of -S and returns bytes. A number alone counts in KiB. A unit is
// one of GNU sort, where b is a byte, and % is a share of the memory. Anything else is a size
// as --memory takes it.
func bufferSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "bKkMmGgTtPE%")
	unit := text[len(digits):]
	if _, err := strconv.ParseUint(digits, 10, 63); err != nil || len(unit) > 1 {
		return argv.Size("buffer-size", text, 1)
	}
	switch unit {
	// Without a unit, GNU sort counts in KiB.
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

// readFiles finds the names of the inputs and checks that they can be read.
func (s *sorter) readFiles() error {
	s.files = s.Line.Words
	if from, given := s.Line.Value("files0-from"); given {
		if len(s.files) > 0 {
			return errs.Optionf(argv.Quote(s.files[0]), "extra operand; file operands cannot be combined with --files0-from")
		}
		var err error
		if s.files, err = s.readNames(from); err != nil {
			return err
		}
	}
	if len(s.files) == 0 {
		s.files = []string{"-"}
	}
	// GNU sort checks one file at a time.
	if len(s.files) > 1 && (s.Line.Has("check") || s.Line.Has("check-quiet")) {
		letter := "c"
		if s.Line.Has("check-quiet") {
			letter = "C"
		}
		return errs.Optionf(argv.Quote(s.files[1]), "extra operand not allowed with -%s", letter)
	}
	return checkFiles(s.files)
}

// checkFiles refuses files that are missing and directories. All are checked before any is
// read, so that a missing file is reported before hours of work. A later failure is
// reported by the engine.
func checkFiles(files []string) error {
	for _, name := range files {
		if name == "-" {
			continue
		}
		info, err := os.Stat(name)
		if err == nil && info.IsDir() {
			return errs.Inputf(argv.Quote(name), "is a directory")
		}
		if err != nil {
			return errs.Inputf(argv.Quote(name), "cannot read: %w", bare(err))
		}
	}
	return nil
}

// readNames reads the names in a file, each of which ends with NUL.
func (s *sorter) readNames(from string) ([]string, error) {
	var data []byte
	var err error
	if from == "-" {
		data, err = io.ReadAll(s.Stdin)
	} else {
		data, err = os.ReadFile(from)
	}
	if err != nil {
		return nil, errs.Inputf(argv.Quote(from), "open failed: %w", bare(err))
	}
	// GNU sort refuses an empty list: it would otherwise read standard input, which nobody asked
	// for.
	if len(data) == 0 {
		return nil, errs.Inputf(argv.Quote(from), "no input from it")
	}
	names := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	for i, name := range names {
		switch {
		case name == "":
			return nil, errs.Inputf(fmt.Sprintf("%s:%d", from, i+1), "invalid zero-length file name")
		// GNU sort 9.1 refuses it too, wherever the list comes from.
		case name == "-":
			return nil, errs.Inputf(fmt.Sprintf("%s:%d", from, i+1), "no file name of - is allowed in a list of names")
		}
	}
	return names, nil
}

// sort runs the job.
func (s *sorter) sort(ctx context.Context) error {
	chain, err := sort.New(s.order)
	if err != nil {
		return err
	}
	return s.runFiles(ctx, chain, s.files)
}

// runFiles runs the chain on files. "-" is standard input.
func (c *Call) runFiles(ctx context.Context, chain jobs.Chain, files []string) error {
	o := &c.Options
	// Only null devices were named. The job runs on an empty input, so that -o still makes its
	// file.
	if o.Inputs = engineInputs(files); len(o.Inputs) == 0 {
		o.Inputs, c.Stdin = []string{"-"}, strings.NewReader("")
	}
	o.Overwrite = o.OutputFile != "" // an output that is an input too is replaced at the end
	_, err := c.RunChain(ctx, chain)
	return err
}

// debugWriter writes each line with marks below what is compared.
type debugWriter struct {
	w        io.Writer
	debugger *sort.Debugger
	delim    byte
	line     []byte // that has no end yet
	out      []byte
}

// Write keeps an unfinished line until its end comes. It reports all of p as written, because
// the bytes that it writes are others.
func (d *debugWriter) Write(p []byte) (int, error) {
	d.out = d.out[:0]
	for rest := p; len(rest) > 0; {
		n := bytes.IndexByte(rest, d.delim)
		if n < 0 {
			d.line = append(d.line, rest...)
			break
		}
		d.out = d.debugger.AppendLine(d.out, append(d.line, rest[:n]...))
		d.line, rest = d.line[:0], rest[n+1:]
	}
	_, err := d.w.Write(d.out)
	return len(p), err
}

// engineInputs returns the files as the engine takes them: standard input once and
// under its name, and no null device.
func engineInputs(files []string) []string {
	var inputs []string
	seen := false
	// The null device is common in scripts. It adds no line and is no regular file, so the
	// engine never sees it.
	null, nullErr := os.Stat(os.DevNull)
	for _, name := range files {
		info, err := os.Stat(name)
		switch {
		// A stream can be read only once. GNU sort reads nothing the second time, either.
		case name == "/dev/stdin" || name == "/dev/fd/0" || name == "-":
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

// bare returns the cause of an error of package os.
func bare(err error) error {
	// GNU tools print the cause alone, as "No such file or directory". The path stands in front
	// of it already.
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok || inner.Unwrap() == nil {
			return err
		}
		err = inner.Unwrap()
	}
}
