package main

import (
	"bytes"
	"context"
	"io"
	"slices"

	"mrlocal/input"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/sort"
	"mrlocal/output"
)

// csvFlags are the flags of --csv that tools share.
type csvFlags struct{ noHeader, lenient bool }

// check refuses flags that only --csv has, and a separator that CSV cannot have: a quote, NUL or the end of a line.
// Quotes and ends of lines have a meaning in CSV, and the reader ends records with NUL. flag is that of the separator.
func (f csvFlags) check(csv bool, flag, separator string) error {
	switch {
	case f.noHeader && !csv:
		return errs.Optionf("--no-header", "is for --csv")
	case f.lenient && !csv:
		return errs.Optionf("--lenient", "is for --csv")
	case csv && slices.Contains([]string{`"`, `\0`, "\x00", "\n", "\r"}, separator):
		return errs.Optionf(flag, "CSV has no such separator")
	}
	return nil
}

// headed returns a reader of files with headers of the given number of records. csv is nil for lines.
func (t *tool) headed(files []string, records int, csv *input.CSV, delim byte) *input.Headed {
	how := t.textOptions() // runHeaded replaces the standard input of t
	open := func(path string) (*input.TextFile, error) { return input.OpenTextFile(path, how) }
	return &input.Headed{Files: files, Open: open, CSV: csv, Records: records, Delim: delim}
}

// headedCSV returns a reader of records of CSV. By default a comma stands between values.
func (t *tool) headedCSV(files []string, f csvFlags, separator string) *input.Headed {
	form, records := &input.CSV{Separator: ',', Lenient: f.lenient}, 1
	if separator != "" {
		form.Separator = separator[0]
	}
	if f.noHeader {
		records = 0
	}
	return t.headed(files, records, form, 0)
}

// columns returns the names of the columns of CSV, from the header; nil: there is none.
func columns(h *input.Headed) []string {
	if record := h.HeaderRecord(); record != nil {
		return sort.CSVHeader(record, h.CSV.Separator)
	}
	return nil
}

// runHeaded runs the chain on the records of files. It writes header, then the result of the chain. It
// replaces the streams of t.
func (t *tool) runHeaded(ctx context.Context, chain jobs.Chain, files *input.Headed, header []byte) error {
	result, err := output.OpenSingle(t.resultSpec())
	if err != nil {
		return err
	}
	if _, err = result.Write(header); err == nil {
		// The job reads the records of all files as its standard input, and its output goes to result.
		// The reader has decoded the files, so the engine must not decode again.
		t.Stdin, t.Stdout = files, result
		if files.CSV != nil {
			t.Stdout = csvWriter{result}
		}
		t.engine.Inputs = []string{"-"}
		t.engine.OutputFile = ""
		t.engine.NoDecode = true
		t.engine.CompressOutput = output.None // result compresses
		_, err = t.runChain(ctx, chain)
		err = input.HeadedError(err)
	}
	return result.End(err)
}

// csvWriter passes records to w with a newline in place of the NUL at their end.
type csvWriter struct{ w io.Writer }

// Write writes p with each NUL replaced by a newline. The reader has refused all other NUL bytes.
func (c csvWriter) Write(p []byte) (int, error) {
	return c.w.Write(bytes.ReplaceAll(p, []byte{0}, []byte("\n"))) // a copy: a Writer must not change p
}
