package tools

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"

	"mrlocal/input"
	"mrlocal/internal/errs"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/jobs/sort"
	"mrlocal/output"
)

// openText opens a file that the tool reads itself.
func (c *Call) openText(path string) (*input.TextFile, error) {
	// Outside of the engine no budget has the memory of a decoder.
	return input.OpenTextFile(path, input.TextOptions{
		Stdin: c.Stdin, NoDecode: c.Options.NoDecode, Warn: c.complain,
		WindowBytes: cmp.Or(c.Options.MemoryBytes, machine.MemoryBytes()/4),
	})
}

// resultSpec returns the output that c.Options names.
func (c *Call) resultSpec() output.Spec {
	o := &c.Options
	return output.Spec{File: o.OutputFile, Overwrite: true, Stdout: c.Stdout, PipeMayClose: true, Compress: o.CompressOutput}
}

// headed returns a reader of files with headers of the given number of records. csv is nil for lines. --no-header wins
// over records.
func (c *Call) headed(files []string, records int, csv *input.CSV, delim byte) *input.Headed {
	if c.Line.Has("no-header") {
		records = 0
	}
	own := *c // runHeaded replaces the standard input of c
	return &input.Headed{Files: files, Open: own.openText, CSV: csv, Records: records, Delim: delim}
}

// columns returns the names of the columns of CSV, from the header; nil: there is none.
func columns(h *input.Headed) []string {
	if record := h.HeaderRecord(); record != nil {
		return sort.CSVHeader(record, h.CSV.Separator)
	}
	return nil
}

// csvForm returns the form of CSV for the text of -t or -d. By default a comma stands between values. \0
// stands for NUL, which checkCSVSeparator refuses.
func csvForm(separator string, lenient bool) *input.CSV {
	form := &input.CSV{Separator: ',', Lenient: lenient}
	switch separator {
	case "":
	case `\0`:
		form.Separator = 0
	default:
		form.Separator = separator[0]
	}
	return form
}

// checkCSVSeparator returns an options error if the separator is a quote, NUL or the end of a line.
// Quotes and ends of lines have a meaning in CSV, and the reader ends records with NUL.
func checkCSVSeparator(flag, text string) error {
	if slices.Contains([]string{`"`, `\0`, "\x00", "\n", "\r"}, text) {
		return errs.Optionf(flag, "CSV has no such separator")
	}
	return nil
}

// sortHeaded writes the header of the first file, which has the given number of records, and then the sorted records of
// all files. s.order must not be compiled yet.
func (s *sorter) sortHeaded(ctx context.Context, header int) error {
	var form *input.CSV
	delim := delimiter(s.order.ZeroEnded)
	if s.order.CSV {
		form, header, delim = csvForm(s.order.Separator, s.order.Lenient), 1, 0
	}
	// Only the first file is opened here. The others are opened one by one while the job reads.
	f := s.headed(s.files, header, form, delim)
	defer f.Close()
	if err := f.Begin(); err != nil {
		return err
	}
	text := bytes.Clone(f.Header)
	if s.order.CSV { // a key may name a column, so the job needs the header
		s.order.Header = columns(f)
		text = bytes.ReplaceAll(text, []byte{0}, []byte("\n"))
	}
	if f.Marked {
		text = append([]byte(input.ByteOrderMark), text...)
	}
	order, err := sort.Compile(s.order)
	if err != nil {
		return err
	}
	return cmp.Or(s.runHeaded(ctx, sort.NewOrdered(s.order, order), f, text), s.unseen(order))
}

// runHeaded runs the chain on the records of files. It writes header, then the result of the chain. It
// replaces the streams of c.
func (c *Call) runHeaded(ctx context.Context, chain jobs.Chain, files *input.Headed, header []byte) error {
	result, err := output.OpenSingle(c.resultSpec())
	if err != nil {
		return err
	}
	if _, err = result.Write(header); err == nil {
		// The job reads the records of all files as its standard input, and its output goes to result.
		// The reader has decoded the files, so the engine must not decode again.
		c.Stdin, c.Stdout = files, result
		if files.CSV != nil {
			c.Stdout = csvWriter{result}
		}
		c.Options.Inputs = []string{"-"}
		c.Options.OutputFile = ""
		c.Options.NoDecode = true
		c.Options.CompressOutput = output.None // result compresses
		_, err = c.RunChain(ctx, chain)
		err = input.HeadedError(err)
	}
	return result.End(err)
}

// csvWriter passes records to w with a newline in place of the NUL at their end.
type csvWriter struct{ w io.Writer }

// Write writes p with each NUL replaced by a newline. The reader has refused all other NUL bytes.
func (c csvWriter) Write(p []byte) (int, error) {
	lines := bytes.Clone(p) // a Writer must not change p
	for at := 0; ; {
		n := bytes.IndexByte(lines[at:], 0)
		if n < 0 {
			break
		}
		at += n
		lines[at] = '\n'
	}
	return c.w.Write(lines)
}
