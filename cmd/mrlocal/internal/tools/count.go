package tools

import (
	"context"
	"math"
	"slices"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/jobs/count"
)

// countTool returns mrlocal count: sort | uniq -c without the sort of all lines.
func countTool() Tool {
	return Tool{Name: "count", Usage: "count lines, words or fields, as sort | uniq -c does", Flags: countFlags(), Run: runCount}
}

// countFlags returns the flags of mrlocal count. Their letters are those of cut (-f, -d, -s), uniq
// (-i, -z, -c) and wc (-w). -c changes nothing: it is accepted because users of uniq write it.
func countFlags() []argv.Spec {
	return slices.Concat(
		specs(argv.Flag{Value: true}, "fields,f", "delimiter,d", "top", "min", "max", "output,o"),
		specs(argv.Flag{}, "only-delimited,s", "words,w", "alnum", "ignore-case,i", "zero-terminated,z", "csv", "count,c", "no-header", "lenient"))
}

// runCount is Tool.Run of mrlocal count. The exit code is always 0.
func runCount(ctx context.Context, c *Call) (int, error) {
	o, err := c.countOptions()
	if err != nil {
		return 0, err
	}
	if err := c.setOutput(); err != nil {
		return 0, err
	}
	files := c.Line.Words
	if len(files) == 0 {
		files = []string{"-"}
	}
	if err := checkFiles(files); err != nil {
		return 0, err
	}
	if o.CSV {
		return 0, c.countCSV(ctx, o, files)
	}
	// If most lines differ, sorting them is faster than a table that finds few lines again.
	o.Different = areDifferent(files, o.ZeroEnded)
	chain, err := count.New(o)
	if err != nil {
		return 0, err
	}
	return 0, c.runFiles(ctx, chain, files)
}

// countOptions reads the flags of the tool into options of the job. It returns the first mistake.
func (c *Call) countOptions() (count.Options, error) {
	on := c.Line.Has
	o := count.Options{
		Words: on("words") || on("alnum"), Alnum: on("alnum"), Delimited: on("only-delimited"), CSV: on("csv"),
		IgnoreCase: on("ignore-case"), ZeroEnded: on("zero-terminated"),
		Top: int64(c.Count("top", 1, math.MaxInt32)), Min: int64(c.Count("min", 0, maxInt)), Max: int64(c.Count("max", 1, maxInt)),
	}
	// As in cut, only one list is allowed.
	lists := c.Line.Values("fields")
	switch {
	case len(lists) > 1:
		c.Keep(errs.Optionf("-f", "only one list may be given; write -f 1,3"))
	case len(lists) == 1 && lists[0] == "":
		c.Keep(errs.Optionf("-f", "the list is empty"))
	case len(lists) == 1:
		o.Fields = lists[0]
	}
	if text, given := c.Line.Value("delimiter"); given {
		switch text {
		case `\t`: // cut lacks this form, but a TAB is hard to type in a shell
			text = "\t"
		case "", `\0`: // in cut too, an empty delimiter stands for NUL
			text = "\x00"
		}
		if o.Delimiter = text; o.CSV {
			c.Keep(checkCSVSeparator("-d", text))
		}
	}
	for _, flag := range []string{"no-header", "lenient"} {
		if on(flag) && !o.CSV {
			c.Keep(errs.Optionf("--"+flag, "is for --csv"))
		}
	}
	if o.CSV && o.ZeroEnded {
		c.Keep(errs.Optionf("--csv, -z", "give one of them, not both"))
	}
	return o, c.Err
}

// countCSV counts records of CSV and writes CSV. The header of the result has the word count, then
// the names of the counted columns. If no file has a header, the result has none.
func (c *Call) countCSV(ctx context.Context, o count.Options, files []string) error {
	records := c.headed(files, 1, csvForm(o.Delimiter, c.Line.Has("lenient")), 0)
	defer records.Close()
	// Fields name columns, so the job is made after the header is known.
	if err := records.Begin(); err != nil {
		return err
	}
	o.Header = columns(records)
	chain, err := count.New(o)
	if err != nil {
		return err
	}
	var header []byte
	if o.Header != nil {
		header = append(o.AppendHeader(nil), '\n')
	}
	return c.runHeaded(ctx, chain, records, header)
}

// areDifferent reports whether most lines of the first file seem to differ. The result of the job does not
// depend on it, only its time. It returns false for a stream, which can be read only once.
func areDifferent(files []string, zeroEnded bool) bool {
	info, err := disk.Stat(files[0])
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := disk.OpenInput(files[0])
	if err != nil { // the run reports the error
		return false
	}
	defer f.Close() // nothing is written, so no error can be lost
	return count.MostlyDifferent(f, info.Size(), delimiter(zeroEnded))
}
