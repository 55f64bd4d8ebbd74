package tools

import (
	"bytes"
	"context"
	"math"
	"os"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/jobs/count"
)

const countHelp = `Usage: mrlocal count [FLAG]... [FILE]...
Counts how often each line of all FILEs, or of standard input, occurs. The result is
that of LC_ALL=C sort FILE... | uniq -c: the count in 7 columns, a space, the line, in
byte order of the lines. Lines that repeat are added up in a table, not sorted.

What is counted:
  -f, --fields=LIST      these fields of each line, as cut -f prints them: 2 or 1,3-
  -d, --delimiter=BYTE   ends fields; one byte, \t or \0; otherwise a TAB
  -s, --only-delimited   leave out lines without delimiter; else they count as a whole
  -w, --words            words, which white space divides; with -f, words are the
                         fields, as in awk '{print $2}'
      --alnum            words are runs of letters and digits of ASCII
  -i, --ignore-case      count A to Z as a to z, and print them so
  -z, --zero-terminated  NUL ends lines, of input and output
      --csv              records of CSV: quotes count, the first one is a header; LIST
                         may name columns; the result is CSV, with a header

What is printed:
      --top=N            the N most frequent, by falling count, then in byte order
      --min=N            what occurs at least N times; --min=2 is uniq -d
      --max=N            what occurs at most N times; --max=1 is uniq -u
  -c, --count            counts, as always
  -o, --output=FILE      write to FILE, which may be an input

Compressed files are decoded; --decode none takes their bytes as they are.
Exit codes: 0 done; 2 an error. --help-all adds the flags of the engine, such as --memory.
`

// countTool is sort | uniq -c on the engine, without the sort.
func countTool() Tool {
	return Tool{Name: "count", Usage: "count lines, words or fields, as sort | uniq -c does", Help: countHelp, Flags: countFlags(), Run: runCount}
}

// countFlags have the letters of cut and uniq, except that -d is the delimiter of cut, and -w
// is that of wc. The flag -c of uniq is accepted because habit writes it.
func countFlags() []argv.Spec {
	var specs []argv.Spec
	for _, f := range []argv.Flag{
		{Name: "fields", Short: "f", Value: true}, {Name: "delimiter", Short: "d", Value: true}, {Name: "only-delimited", Short: "s"},
		{Name: "words", Short: "w"}, {Name: "alnum"}, {Name: "ignore-case", Short: "i"}, {Name: "zero-terminated", Short: "z"}, {Name: "csv"},
		{Name: "top", Value: true}, {Name: "min", Value: true}, {Name: "max", Value: true}, {Name: "count", Short: "c"},
		{Name: "output", Short: "o", Value: true},
	} {
		specs = append(specs, argv.Spec{Flag: f})
	}
	return specs
}

// runCount runs one call. The exit code is 0 unless there is an error.
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
	o.Different = areDifferent(files, o.ZeroEnded)
	chain, err := count.New(o)
	if err != nil {
		return 0, err
	}
	return 0, c.runFiles(ctx, chain, files)
}

// countOptions reads the flags of the job.
func (c *Call) countOptions() (count.Options, error) {
	on := c.Line.Has
	o := count.Options{
		Words: on("words") || on("alnum"), Alnum: on("alnum"), Delimited: on("only-delimited"), CSV: on("csv"),
		IgnoreCase: on("ignore-case"), ZeroEnded: on("zero-terminated"),
		Top: int64(c.Count("top", 1, math.MaxInt32)), Min: int64(c.Count("min", 0, maxInt)), Max: int64(c.Count("max", 1, maxInt)),
	}
	// As in cut, there is one list. A second one would be a mistake more often than not.
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
		case `\t`: // which a shell makes hard to type
			text = "\t"
		case "", `\0`: // as cut has it
			text = "\x00"
		}
		if o.Delimiter = text; o.CSV {
			c.Keep(checkCSVSeparator("-d", text))
		}
	}
	if o.CSV && o.ZeroEnded {
		c.Keep(errs.Optionf("--csv, -z", "give one of them, not both"))
	}
	return o, c.Err
}

// countCSV counts records of CSV and writes CSV. Its header is the word count and the names
// of the columns.
func (c *Call) countCSV(ctx context.Context, o count.Options, files []string) error {
	records, err := c.readCSV(files, csvSeparator(o.Delimiter))
	if err != nil {
		return err
	}
	defer records.close()
	// Fields name columns, so the job is made after the header is known.
	o.Header = records.names()
	chain, err := count.New(o)
	if err != nil {
		return err
	}
	var header []byte
	if records.header != nil {
		header = o.AppendHeader(nil)
	}
	return c.runCSV(ctx, chain, records, header)
}

// areDifferent guesses from a few places of the first file whether most lines of the input
// differ from each other (docs/adr/0021). Only the time depends on it. A stream cannot be
// looked at twice, and is taken for one with many equal lines.
func areDifferent(files []string, zeroEnded bool) bool {
	const (
		places     = 8
		placeBytes = 128 << 10
		leastLines = 1000
	)
	info, err := os.Stat(files[0])
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(files[0])
	if err != nil { // the run will say so
		return false
	}
	defer f.Close() // nothing was written
	delim := byte('\n')
	if zeroEnded {
		delim = 0
	}
	times, lines, bytesRead := map[string]int{}, 0, 0
	buffer := make([]byte, placeBytes)
	for i := range int64(places) {
		// Multiples of the golden ratio lie far apart, and in no step with lines that repeat.
		_, part := math.Modf(float64(i) * math.Phi)
		n, _ := f.ReadAt(buffer, int64(part*float64(max(0, info.Size()-placeBytes))))
		parts := bytes.Split(buffer[:n], []byte{delim})
		bytesRead += n
		// The first and the last part are ends of lines.
		for _, line := range parts[min(1, len(parts)):max(1, len(parts)-1)] {
			times[string(line)]++
			lines++
		}
	}
	if lines <= leastLines {
		return false
	}
	// A few lines, such as empty ones, are in most texts far more frequent than all others. They
	// are left out: differentLines takes lines for equally frequent.
	const rareTimes = 2
	rare, rareDifferent := 0, 0
	for _, n := range times {
		if n <= rareTimes {
			rare += n
			rareDifferent++
		}
	}
	all := float64(lines) * float64(info.Size()) / float64(bytesRead)
	return differentLines(float64(rare), float64(rareDifferent), all*float64(rare)/float64(lines)) > all/2
}

// differentLines estimates how many of all lines differ, if so many of a sample do. Of different
// lines that are equally frequent, a sample has different × (1 - e^(-sample/different)).
func differentLines(sample, inSample, all float64) float64 {
	least, most := inSample, all
	// Each step halves the range, so the result is exact to a millionth.
	for range 20 {
		if d := (least + most) / 2; d*-math.Expm1(-sample/d) < inSample {
			least = d
		} else {
			most = d
		}
	}
	return most
}
