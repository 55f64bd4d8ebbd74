package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"mrlocal"
	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/machine"
	"mrlocal/internal/scan"
	"mrlocal/internal/setting"
	"mrlocal/jobs/sort"
	"mrlocal/output"
)

// sortCommand is mrlocal sort: GNU sort on the engine, in the C locale.
type sortCommand struct {
	tool
	job      sort.Options
	files    []string // the inputs, at least one; "-" is standard input
	csv      csvFlags
	obsolete map[int]bool // the indices of those keys of the job that were given as +F -F
	header   int          // records that stay first

	check, quiet, merge, debug bool // -c, -C, -m
	seed                       *uint64
	source                     string // of --random-source
	names                      string // the file of --files0-from

	bufferBytes *int64 // of -S; nil: not given
	parallel    *int64
	batch       int
	temporary   []string
}

// sortTool returns mrlocal sort. o has options of the engine that flags replace.
func sortTool(e Env, o mrlocal.Options) *flags.Command {
	c := &sortCommand{tool: tool{Env: e, name: "sort", engine: o}, obsolete: map[int]bool{}}
	made := c.command("sort lines; the flags are those of GNU sort", slices.Concat(c.orderSettings(), c.workSettings(), whole(c.moreSettings()...)), c.run)
	made.OldWords = c.oldKey
	return made
}

// orderSettings returns the flags of GNU sort whose letters are also the options of a key, as the nr in -k2,2nr, and
// the keys.
func (c *sortCommand) orderSettings() []setting.Setting {
	o := &c.job
	return []setting.Setting{
		bareFlag("ignore-leading-blanks,b", &o.Blanks), bareFlag("dictionary-order,d", &o.Dictionary), bareFlag("ignore-case,f", &o.FoldCase), bareFlag("general-numeric-sort,g", &o.General),
		bareFlag("ignore-nonprinting,i", &o.Printing), bareFlag("month-sort,M", &o.Month), bareFlag("human-numeric-sort,h", &o.Human), bareFlag("numeric-sort,n", &o.Numeric),
		bareFlag("random-sort,R", &o.Random), bareFlag("version-sort,V", &o.Version), bareFlag("reverse,r", &o.Reverse), reads("sort", c.readOrder),
		own("key,k,Keys", setting.List(&o.Keys)), reads("field-separator,t,Separator", c.readSeparator),
	}
}

// workSettings returns the other flags of GNU sort.
func (c *sortCommand) workSettings() []setting.Setting {
	return []setting.Setting{
		own("check,c", setting.Value{Bare: true, Set: c.readCheck}), bareFlag("merge,m", &c.merge), bareFlag("unique,u", &c.job.Unique), bareFlag("stable,s", &c.job.Stable),
		bareFlag("zero-terminated,z", &c.job.ZeroEnded), bareFlag("debug", &c.debug), reads("output,o", c.readOutput), reads("buffer-size,S", c.readBufferSize),
		own("temporary-directory,T", setting.List(&c.temporary)), reads("parallel", c.readParallel), own("batch-size", setting.Count(&c.batch, 2, math.MaxInt)),
		own("files0-from", setting.Text(&c.names)), own("random-source", setting.Text(&c.source)),
		reads("compress-program", func(name string) error {
			return fmt.Errorf("%s: mrlocal sort runs no other program; --compress chooses how it compresses what it spills", errs.Quote(name))
		}),
	}
}

// moreSettings returns the flags that GNU sort does not have by these names. oldKey makes those with --obsolete-key.
func (c *sortCommand) moreSettings() []setting.Setting {
	return []setting.Setting{
		reads("obsolete-key", func(key string) error {
			c.obsolete[len(c.job.Keys)] = true
			c.job.Keys = append(c.job.Keys, key)
			return nil
		}),
		bareFlag("check-quiet,C", &c.quiet), own("json,,JSON", setting.List(&c.job.JSON)), own("header", setting.Count(&c.header, 1, math.MaxInt32)), own("top,,Top", setting.Count(&c.job.Top, 1, math.MaxInt32)),
		own("seed", setting.Optional(&c.seed, func(p *uint64) setting.Value { return setting.OrZero(p, setting.Seed(p)) })),
		bareFlag("csv,,CSV", &c.job.CSV), bareFlag("no-header", &c.csv.noHeader), bareFlag("lenient,,Lenient", &c.csv.lenient), reads("delimiter", c.readSeparator),
	}
}

// readOrder reads a word of --sort, which may be shortened. It means the same as the flag with its letter. sort.Compile
// refuses two orders that contradict each other.
func (c *sortCommand) readOrder(word string) error {
	o := &c.job
	orders := map[string]*bool{
		"general-numeric": &o.General, "human-numeric": &o.Human, "month": &o.Month, "numeric": &o.Numeric, "random": &o.Random, "version": &o.Version,
	}
	for name, field := range orders { // no two words share their first letter
		if word != "" && strings.HasPrefix(name, word) {
			*field = true
			return nil
		}
	}
	return fmt.Errorf("%s: one of general-numeric, human-numeric, month, numeric, random, version", errs.Quote(word))
}

// readSeparator reads -t. As in GNU sort, it may be repeated only with the same separator. GNU sort lacks \t, but a TAB
// is hard to type in a shell. Package jobs/sort knows the form \0.
func (c *sortCommand) readSeparator(text string) error {
	if text == `\t` {
		text = "\t"
	}
	switch {
	case text == "":
		return errors.New("the separator is empty")
	case c.job.Separator != "" && c.job.Separator != text:
		return fmt.Errorf("given twice, with %s and with %s", errs.Quote(c.job.Separator), errs.Quote(text))
	}
	c.job.Separator = text
	return nil
}

// readCheck reads --check, which may have a word. As in GNU sort, the word may be shortened.
func (c *sortCommand) readCheck(word string) error {
	switch {
	case word == "":
		return errors.New("the value is empty; one of quiet, silent, diagnose-first")
	case word == "true", strings.HasPrefix("diagnose-first", word): // -c, or --check alone
		c.check = true
	case strings.HasPrefix("quiet", word), strings.HasPrefix("silent", word):
		c.quiet = true
	default:
		return fmt.Errorf("%s: one of quiet, silent, diagnose-first", errs.Quote(word))
	}
	return nil
}

// readBufferSize reads -S. The units are those of GNU sort: none is KiB, b is a byte, and % is a share of the memory
// of the machine. Any other text must be a size as --memory takes it.
func (c *sortCommand) readBufferSize(text string) error {
	digits := strings.TrimRight(text, "bKkMmGgTtPE%")
	unit := text[len(digits):]
	var least, n int64
	if _, err := strconv.ParseUint(digits, 10, 63); err != nil || len(unit) > 1 {
		digits, least = text, 1
	} else if unit == "%" {
		err := setting.Count(&n, 0, 100).Set(digits)
		c.bufferBytes = new(machine.MemoryBytes() / 100 * n)
		return err
	} else {
		digits += strings.TrimSuffix(cmp.Or(unit, "K"), "b")
	}
	err := setting.Size(&n, least, math.MaxInt64).Set(digits)
	c.bufferBytes = &n
	return err
}

// readParallel reads --parallel.
func (c *sortCommand) readParallel(text string) error {
	err := setting.Limit(&c.parallel).Set(text)
	if err == nil && (c.parallel == nil || *c.parallel == 0) {
		err = fmt.Errorf("%s: too small; at least 1", text)
	}
	return err
}

// oldKey reads an obsolete key +F.C -F.C, which counts from 0. A word that begins with a plus sign and a digit
// is one. With any other character after the plus sign it is a file. If the next word is -F.C, it is the end of the
// key.
func (c *sortCommand) oldKey(args []string) (flag string, used int, err error) {
	number := func(i int, sign byte) bool {
		return i < len(args) && len(args[i]) > 1 && args[i][0] == sign && '0' <= args[i][1] && args[i][1] <= '9'
	}
	if !number(0, '+') {
		return "", 0, nil
	}
	end := ""
	if used = 1; number(1, '-') {
		end, used = args[1][1:], 2
	}
	key, err := sort.ObsoleteKey(args[0][1:], end)
	return "--obsolete-key=" + key, used, err
}

// run sorts, checks or merges. The exit code is 1 if -c or -C finds a line out of order, and 0 otherwise. All checks
// come before any output, so a mistake in the line creates no file.
func (c *sortCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	for _, check := range []func(*flags.Line) error{c.checkForms, c.readSalt, c.checkOutput, c.readFiles} {
		if err := check(line); err != nil {
			return 0, err
		}
	}
	c.setResources()
	// A header is read first. A key may name a column of CSV, so the order is compiled after that.
	if c.job.CSV || c.header > 0 {
		return 0, c.sortHeaded(ctx)
	}
	order, err := sort.Compile(c.job)
	if err != nil {
		return 0, err
	}
	// With --debug, GNU sort begins with a line about the locale. In the C locale it is this one.
	if c.debug {
		c.complain(errors.New("text ordering performed using simple byte comparison"))
		debugger := sort.NewDebugger(order)
		for _, text := range debugger.Warnings(!c.job.Stable && !c.job.Unique, c.obsolete) {
			c.complain(errors.New(text))
		}
		c.Stdout = debugger.Writer(c.Stdout, delimiter(c.job.ZeroEnded)) // marks below each line
	}
	switch {
	// -c and -m do not sort, so they run without the engine.
	case c.check || c.quiet:
		return c.findDisorder(ctx, order)
	case c.merge:
		return 0, cmp.Or(c.mergeFiles(ctx, order), c.unseen(order))
	}
	return 0, cmp.Or(c.runFiles(ctx, sort.NewOrdered(c.job, order), c.files), c.unseen(order))
}

// open opens a file for -c or -m. bytes is the size of its blocks.
func (c *sortCommand) open(path string, bytes int) (*sort.Source, *input.TextFile, error) {
	f, err := input.OpenTextFile(path, c.textOptions())
	if err != nil {
		return nil, nil, err
	}
	cut := &input.Cutter{R: f, LastEnd: input.LastEnd(delimiter(c.job.ZeroEnded)), Bytes: bytes}
	return &sort.Source{Next: cut.Next, Close: f.Close, Name: path, Few: f.Regular()}, f, nil
}

// checkedBytes is the size of the blocks of -c, in bytes.
const checkedBytes = 256 << 10

// findDisorder does the work of -c and -C. It returns the exit code, 0 or 1.
func (c *sortCommand) findDisorder(ctx context.Context, order *sort.Order) (int, error) {
	source, f, err := c.open(c.files[0], checkedBytes)
	if err != nil {
		return 0, err
	}
	d, err := order.FirstDisorder(ctx, source, delimiter(c.job.ZeroEnded), c.job.Unique)
	switch {
	case err != nil:
		return 0, err
	case d == nil:
		f.Leave(-1)
		return 0, nil
	}
	f.Leave(d.End)
	if c.check {
		c.complain(fmt.Errorf("%s:%d: disorder: %s", c.files[0], d.Number, d.Text))
	}
	return 1, nil
}

// mergeFiles does the work of -m: it merges the files, which must be sorted, into the result. All files are open
// at once, whatever --batch-size says.
func (c *sortCommand) mergeFiles(ctx context.Context, order *sort.Order) error {
	var sources []*sort.Source
	for i, path := range c.files {
		// Standard input can be read only once. The second time it would be empty.
		if path == "-" && slices.Contains(c.files[:i], path) {
			continue
		}
		source, f, err := c.open(path, sort.MergeBlockBytes(len(c.files)))
		if err != nil {
			for _, opened := range sources {
				opened.Close()
			}
			return err
		}
		defer f.Leave(-1)
		sources = append(sources, source)
	}
	m, err := order.NewMerger(ctx, sources, delimiter(c.job.ZeroEnded), c.job.Unique)
	if err != nil {
		return err
	}
	defer m.Close()
	// The output may be one of the inputs. It is replaced after all inputs are read. Opening it last means
	// that a missing input leaves no temporary file.
	result, err := output.OpenSingle(c.resultSpec())
	if err != nil {
		return err
	}
	return result.End(m.Merge(ctx, result))
}

// sortHeaded writes the header of the first file, and then the sorted records of all files.
func (c *sortCommand) sortHeaded(ctx context.Context) error {
	// Only the first file is opened here. The others are opened one by one while the job reads.
	f := c.headed(c.files, c.header, nil, delimiter(c.job.ZeroEnded))
	if c.job.CSV {
		f = c.headedCSV(c.files, c.csv, c.job.Separator)
	}
	defer f.Close()
	if err := f.Begin(); err != nil {
		return err
	}
	text := bytes.Clone(f.Header)
	if c.job.CSV { // a key may name a column, so the job needs the header
		c.job.Header = columns(f)
		text = bytes.ReplaceAll(text, []byte{0}, []byte("\n"))
	}
	if f.Marked {
		text = append([]byte(scan.ByteOrderMark), text...)
	}
	order, err := sort.Compile(c.job)
	if err != nil {
		return err
	}
	return cmp.Or(c.runHeaded(ctx, sort.NewOrdered(c.job, order), f, text), c.unseen(order))
}

// unseen returns the error of a key of JSON that no line has, which is most likely misspelt. The result
// is written: its lines are in the order of the other keys.
func (c *sortCommand) unseen(order *sort.Order) error {
	if i := order.Unseen(); i >= 0 {
		return errs.Inputf("--json", "%s: no line has this key", errs.Quote(c.job.JSON[i]))
	}
	return nil
}

// checkForms refuses flags that contradict each other about the form of the lines.
func (c *sortCommand) checkForms(line *flags.Line) error {
	c.job.Lenient = c.csv.lenient
	// These flags work on plain lines. Records of CSV may contain newlines, and a header is not a line.
	for _, flag := range []string{"check", "check-quiet", "merge", "debug", "zero-terminated", "header"} {
		switch given := line.Has(flag); {
		case given && c.job.CSV:
			return errs.Optionf("--csv, --"+flag, "give one of them, not both")
		case given && c.header > 0 && flag != "header" && flag != "zero-terminated":
			return errs.Optionf("--header, --"+flag, "give one of them, not both")
		case given && c.job.Top > 0 && strings.Contains("check-quiet merge", flag):
			return errs.Optionf("--top, --"+flag, "give one of them, not both")
		}
	}
	if len(c.job.JSON) > 0 && c.debug {
		return errs.Optionf("--json, --debug", "give one of them, not both")
	}
	if line.Has("delimiter") && !c.job.CSV {
		return errs.Optionf("--delimiter", "is for --csv")
	}
	return c.csv.check(c.job.CSV, "-t", c.job.Separator)
}

// readSalt sets the salt of -R from --seed, from the file of --random-source, or at random. Lines with
// equal keys stay together under any salt.
func (c *sortCommand) readSalt(*flags.Line) error {
	// Only -R needs a salt. The name of a CSV column may have an R too. Then the salt is made but has
	// no effect.
	if !c.job.Random && !strings.Contains(strings.Join(c.job.Keys, ""), "R") {
		return nil
	}
	salt := c.job.Salt[:]
	if c.seed != nil { // the same order at each call and on each machine
		binary.LittleEndian.PutUint64(salt, *c.seed)
		return nil
	}
	source := io.Reader(rand.Reader)
	switch c.source {
	case "":
	case "-":
		source = c.Stdin
	default:
		f, err := disk.OpenInput(c.source)
		if err != nil {
			return errs.Optionf("--random-source", "%s: %w", c.source, errs.Cause(err))
		}
		defer f.Close()
		source = f
	}
	// As in GNU sort, a file that is shorter than the salt is an error.
	if _, err := io.ReadFull(source, salt); err != nil {
		return errs.Inputf(c.source, "a random source has at least %d bytes: %w", len(salt), errs.Cause(err))
	}
	return nil
}

// checkOutput checks that -c, -C, -o and --debug do not contradict each other. The words of its errors are those
// of GNU sort. The marks of --debug are for a person, so lines with marks must not go to a file. With -c and -C no
// line is written.
func (c *sortCommand) checkOutput(*flags.Line) error {
	given := ""
	for _, f := range []struct {
		letter string
		on     bool
	}{{"c", c.check}, {"C", c.quiet}, {"o", c.output != ""}} {
		if f.on {
			given += f.letter
		}
	}
	switch {
	case len(given) > 1:
		return errs.Optionf("", "options '-%.2s' are incompatible", given)
	case given != "" && c.debug:
		return errs.Optionf("", "options '-%s --debug' are incompatible", given)
	}
	err := c.setOutput()
	if err == nil && c.debug && c.engine.CompressOutput != output.None {
		err = errs.Optionf("--compress-output, --debug", "give one of them, not both")
	}
	return err
}

const (
	// mostParallel is the largest number of threads that --parallel sets, and the largest number of
	// sorted runs that --batch-size sets. Larger values of the flags are lowered to it.
	mostParallel = 1024
	// leastParallel is the least number of threads: a map slot and a reduce slot.
	leastParallel = 2

	leastSlotBytes = 8 << 20 // of memory for each slot; the engine refuses less
)

// setResources puts -S, -T, --parallel and --batch-size into the options of the engine. As GNU sort
// does, it raises a -S that is too small to the least size that works, and lowers numbers that are too
// large.
func (c *sortCommand) setResources() {
	o := &c.engine
	if c.parallel != nil {
		// Each slot needs memory, which bounds the number of threads. As in a
		// run, one sixth of the threads are reduce slots, and at least one.
		memory := cmp.Or(*cmp.Or(c.bufferBytes, new(int64(0))), o.MemoryBytes, machine.MemoryBytes()/4)
		n := int(min(*c.parallel, mostParallel, max(memory/leastSlotBytes, leastParallel)))
		o.ReduceSlots = max(1, n/6)
		o.MapSlots = max(1, n-o.ReduceSlots)
	}
	if c.batch > 0 { // GNU sort counts the files that it merges at once; here these are sorted runs
		o.MergeFactor = min(c.batch, mostParallel)
	}
	if c.bufferBytes != nil {
		// Setup returns the slots with defaults filled in. They set the least memory.
		s := o.Setup()
		o.MemoryBytes = max(*c.bufferBytes, int64(s.Trackers*(s.MapSlots+s.ReduceSlots))*leastSlotBytes)
	}
	// The directories of -T come before those of --tmp. As in GNU sort, a missing one is an error only
	// when something spills.
	o.TempDirs, o.TempAtNeed = append(c.temporary, o.TempDirs...), o.TempAtNeed || len(c.temporary) > 0
}

// readFiles sets c.files from the positional words or from --files0-from, and checks that the files
// exist.
func (c *sortCommand) readFiles(line *flags.Line) (err error) {
	names := line.Words
	if c.names != "" {
		if len(names) > 0 {
			return errs.Optionf(errs.Quote(names[0]), "extra operand; file operands cannot be combined with --files0-from")
		}
		if names, err = c.readNames(); err != nil {
			return err
		}
	}
	switch { // as in GNU sort, -c and -C take one file
	case len(names) > 1 && c.check:
		return errs.Optionf(errs.Quote(names[1]), "extra operand not allowed with -c")
	case len(names) > 1 && c.quiet:
		return errs.Optionf(errs.Quote(names[1]), "extra operand not allowed with -C")
	}
	c.files, err = namedFiles(names)
	return err
}

// readNames returns the names in the file of --files0-from. NUL ends each name. As in GNU sort, an empty name
// and - are errors.
func (c *sortCommand) readNames() ([]string, error) {
	data, err := c.readAll(c.names)
	if err != nil {
		return nil, errs.Inputf(errs.Quote(c.names), "open failed: %w", errs.Cause(err))
	}
	// Without this check an empty list would mean standard input.
	if len(data) == 0 {
		return nil, errs.Inputf(errs.Quote(c.names), "no file names in it")
	}
	names := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	for i, name := range names {
		switch {
		case name == "":
			return nil, errs.Inputf(fmt.Sprintf("%s:%d", c.names, i+1), "invalid zero-length file name")
		// GNU sort 9.1 refuses this name in every list, not only in a list on standard input.
		case name == "-":
			return nil, errs.Inputf(fmt.Sprintf("%s:%d", c.names, i+1), "no file name of - is allowed in a list of names")
		}
	}
	return names, nil
}
