package main

import (
	"cmp"
	"context"
	"errors"
	"math"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/jobs/count"
)

// countCommand is mrlocal count: sort | uniq -c without the sort of all lines.
type countCommand struct {
	tool
	job count.Options
	csv csvFlags
}

// countTool returns mrlocal count. o has options of the engine that flags replace. The letters are those of
// cut (-f, -d, -s), uniq (-i, -z, -c) and wc (-w). -c changes nothing: it is accepted because users of uniq write it.
func countTool(e Env, o mrlocal.Options) *flags.Command {
	c := &countCommand{tool: tool{Env: e, name: "count", engine: o}}
	job := &c.job
	return c.command("count lines, words or fields, as sort | uniq -c does", []setting.Setting{
		reads("fields,f,Fields", c.readFields), reads("delimiter,d,Delimiter", c.readDelimiter), reads("output,o", c.readOutput),
		own("top,,Top", setting.Count(&job.Top, 1, math.MaxInt32)), own("min,,Min", setting.Count(&job.Min, 0, math.MaxInt64)), own("max,,Max", setting.Count(&job.Max, 1, math.MaxInt64)),
		bareFlag("only-delimited,s,Delimited", &job.Delimited), bareFlag("words,w,Words", &job.Words), does("alnum,,Alnum", func() { job.Words, job.Alnum = true, true }),
		bareFlag("ignore-case,i", &job.IgnoreCase), bareFlag("zero-terminated,z,ZeroEnded", &job.ZeroEnded), does("count,c", func() {}),
		c.number("sum", count.Sum), c.number("mean", count.Mean), c.number("min-of", count.MinOf), c.number("max-of", count.MaxOf), bareFlag("distinct,,Distinct", &job.Distinct),
		bareFlag("csv,,CSV", &job.CSV), bareFlag("json,,JSON", &job.JSON), bareFlag("no-header", &c.csv.noHeader), bareFlag("lenient", &c.csv.lenient),
	}, c.run)
}

// number returns the flag that asks for a number of a column. It may be repeated.
func (c *countCommand) number(flag string, op count.Op) setting.Setting {
	return own(flag+",,Values", setting.Value{Many: true, Set: func(column string) error {
		c.job.Values = append(c.job.Values, count.Value{Op: op, Column: column})
		return nil
	}})
}

// readFields reads -f. As in cut, only one list is allowed.
func (c *countCommand) readFields(list string) error {
	switch {
	case c.job.Fields != "":
		return errors.New("only one list may be given; write -f 1,3")
	case list == "":
		return errors.New("the list is empty")
	}
	c.job.Fields = list
	return nil
}

// readDelimiter reads -d.
func (c *countCommand) readDelimiter(text string) error {
	switch text {
	case `\t`: // cut lacks this form, but a TAB is hard to type in a shell
		text = "\t"
	case "", `\0`: // in cut too, an empty delimiter stands for NUL
		text = "\x00"
	}
	c.job.Delimiter = text
	return nil
}

// run counts. The exit code is always 0.
func (c *countCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	o := &c.job
	if o.CSV && o.ZeroEnded {
		return 0, errs.Optionf("--csv, -z", "give one of them, not both")
	}
	if err := cmp.Or(c.csv.check(o.CSV, "-d", o.Delimiter), c.setOutput()); err != nil {
		return 0, err
	}
	files, err := namedFiles(line.Words)
	if err != nil {
		return 0, err
	}
	if o.CSV {
		return 0, c.countCSV(ctx, files)
	}
	// If most lines differ, sorting them is faster than a table that finds few lines again.
	o.Different = o.MostlyDifferent(files[0])
	chain, err := count.New(*o)
	if err != nil {
		return 0, err
	}
	return 0, c.runFiles(ctx, chain, files)
}

// countCSV counts records of CSV and writes CSV. The header of the result has the word count, then
// the names of the counted columns. If no file has a header, the result has none.
func (c *countCommand) countCSV(ctx context.Context, files []string) error {
	records := c.headedCSV(files, c.csv, c.job.Delimiter)
	defer records.Close()
	// Fields name columns, so the job is made after the header is known.
	if err := records.Begin(); err != nil {
		return err
	}
	c.job.Header = columns(records)
	chain, err := count.New(c.job)
	if err != nil {
		return err
	}
	var header []byte
	if c.job.Header != nil && !c.job.JSON {
		header = append(c.job.AppendHeader(nil), '\n')
	}
	return c.runHeaded(ctx, chain, records, header)
}
