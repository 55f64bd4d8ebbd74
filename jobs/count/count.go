// Package count is a job that counts how often lines, words or fields occur. Its result is that of
// sort | uniq -c, but it sorts only the different keys: the kvbuffer adds the counts in a hash table
// (jobs.Sum).
//
// A key is the whole line, one of its words, the fields that cut would print, or columns of CSV.
// Lines and words are emitted as parts of the block. Other keys are first built in memory of the
// mapper.
//
// A record of the result is a JSON object, or the count, right-aligned in 7 columns, a space and the key, as uniq -c
// writes it. Records come in byte order of the keys. With Top, they come by descending count, then
// by key.
//
// Memory: several hundred spans and keys for each mapper, and the longest key. With IgnoreCase, the
// mapper changes lines and words in the block; a second attempt on the same block changes nothing.
package count

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// Options say what is counted and which keys are printed. The zero value counts lines.
type Options struct {
	// Words counts words: runs of bytes other than space, TAB, newline, carriage return and
	// form feed. With Fields, words are the fields of a line.
	Words bool
	Alnum bool // words are runs of ASCII letters and digits; requires Words, without Fields

	// Fields counts these fields of each line. It is a LIST of cut -f, such as 2 or 1,3-. The
	// delimiter joins several fields to one key. A line without delimiter is a key as a whole.
	Fields    string
	Delimiter string // one byte; empty: TAB, or a comma for CSV
	Delimited bool   // leave out lines without delimiter or, with Words, lines without any of the fields

	// CSV counts columns of CSV, and writes CSV. It counts all columns unless Fields is set.
	// Fields may name columns; Header has the names, nil: there is none. Records end with NUL, as with ZeroEnded,
	// because a value in quotes may contain newlines.
	CSV    bool
	Header []string

	// Different says that most lines are likely to differ from each other. Lines are then
	// sorted where they lie. That costs less than a hash table, because the table would find
	// few lines again. The result is the same. It is ignored unless lines are counted.
	Different bool

	// Values are numbers of each key, printed behind it. Without Fields, all records have one key, which is not
	// printed. Values do not go with ZeroEnded, nor with Words unless Fields is set.
	Values   []Value
	Distinct bool // the result is the number of different keys alone

	JSON       bool  // records of the result are JSON objects
	IgnoreCase bool  // A to Z count as a to z, and are printed as such
	ZeroEnded  bool  // NUL ends each line of input and output
	Top        int64 // only the Top most frequent keys, by descending count, then by key; 0: all keys
	Min, Max   int64 // least and largest count of a printed key; Max 0: no bound
}

// New makes the job. It fails with an options error (package errs) that names the wrong field.
func New(o Options) (jobs.Chain, error) {
	newMapper, err := o.compile()
	if err != nil {
		return nil, err
	}
	keep := lines.Kept{Min: uint64(o.Min), Max: uint64(o.Max), Top: o.Top}
	newFormat := func() lines.CountFormat { return aligned{} }
	if o.CSV {
		separator := o.separator()
		newFormat = func() lines.CountFormat { return &table{separator: separator} }
	}
	delim := jobs.Newline
	if o.ZeroEnded || o.CSV {
		delim = jobs.NUL
	}
	between, last := newFormat, newFormat // between the jobs of the chain, and of the result
	numbers, err := o.newValues()
	if err = cmp.Or(err, o.checkMembers(numbers)); err != nil {
		return nil, err
	}
	if len(o.Values) > 0 && !o.CSV {
		last = func() lines.CountFormat {
			return &withValues{values: numbers, separator: o.separator(), total: o.total()}
		}
	}
	if o.JSON {
		names := o.names()
		list, _ := o.ranges()
		last = func() lines.CountFormat { return &objects{newFormat(), names, list, numbers, o.total()} }
	}
	if o.Top == 0 {
		between = last
	}
	count := jobs.Job{
		Name:       "count",
		Delim:      delim,
		Ordered:    o.Top == 0,
		NewMapper:  newMapper,
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return lines.NewSum(keep, between()) },
		BuiltIn:    true,
	}
	switch {
	case len(o.Values) > 0:
		own := func() *values { return new(*numbers) }
		count.NewMapper = func() jobs.Mapper {
			return &valueMapper{keyMapper: newKeyMapper(delim.Byte(), o.IgnoreCase, o.appendKey()), ends: delim, values: own()}
		}
		count.NewFolder = func() jobs.Folder { return own() }
		count.NewReducer = func() jobs.Reducer {
			return &valueReducer{values: own(), sum: lines.NewSum(keep, between()), end: !o.CSV}
		}
	case o.Distinct:
		count.Ordered = false
		count.NewReducer = func() jobs.Reducer { return &different{keep: keep} }
		return jobs.Chain{count, o.distinctJob(delim)}, nil
	case o.Different && !o.Words && !o.CSV && o.Fields == "":
		count.NewMapper = func() jobs.Mapper { return &wholeMapper{delim: delim.Byte(), fold: o.IgnoreCase} }
		count.NewFolder = nil
		count.NewReducer = func() jobs.Reducer { return lines.NewTally(keep, between()) }
	}
	if o.Top == 0 {
		return jobs.Chain{count}, nil
	}
	return jobs.Chain{count, lines.TopJob("count-top", delim, keep, last)}, nil
}

// compile checks the options and returns the constructor of the mapper.
func (o *Options) compile() (func() jobs.Mapper, error) {
	for _, n := range []struct {
		field string
		value int64
	}{{"Top", o.Top}, {"Min", o.Min}, {"Max", o.Max}} {
		if n.value < 0 {
			return nil, errs.Fieldf("Options."+n.field, "%d: must not be negative", n.value)
		}
	}
	delim := byte('\n')
	if o.ZeroEnded || o.CSV {
		delim = 0
	}
	switch {
	case o.CSV && o.Words:
		return nil, errs.Fieldf("Options.CSV, Options.Words", "give one of them, not both")
	case o.Alnum && (!o.Words || o.Fields != ""):
		return nil, errs.Fieldf("Options.Alnum", "is for words, without fields")
	case o.Words && o.ZeroEnded && o.Fields == "":
		return nil, errs.Fieldf("Options.Words, Options.ZeroEnded", "give one of them, not both: no word has a newline")
	case o.Delimiter != "" && (o.Words || o.Fields == "" && !o.CSV && len(o.Values) == 0):
		return nil, errs.Fieldf("Options.Delimiter", "needs %s, and does not go with %s", errs.Field("Options.Fields"), errs.Field("Options.Words"))
	case len(o.Delimiter) > 1:
		return nil, errs.Fieldf("Options.Delimiter", "%q: must be one byte", o.Delimiter)
	case o.Delimited && (o.CSV || o.Fields == ""):
		return nil, errs.Fieldf("Options.Delimited", "is for fields, and not for CSV")
	case len(o.Values) > 0 && (o.ZeroEnded || o.Words && o.Fields == ""):
		return nil, errs.Fieldf("Options.Values", "does not go with %s, nor with %s without %s", errs.Field("Options.ZeroEnded"), errs.Field("Options.Words"), errs.Field("Options.Fields"))
	case o.Distinct && (o.Top > 0 || len(o.Values) > 0):
		return nil, errs.Fieldf("Options.Distinct", "is one number: it goes without a top and without numbers of columns")
	case o.Fields != "" && !o.Words && !o.CSV && o.separator() == delim:
		return nil, errs.Fieldf("Options.Delimiter", "is the byte that ends lines")
	}
	if o.Fields == "" && !o.CSV {
		if o.Words {
			return func() jobs.Mapper { return lines.NewWordCounter(o.Alnum, o.IgnoreCase) }, nil
		}
		return func() jobs.Mapper {
			return &lineMapper{one: jobs.AppendUint64(nil, 1), fold: o.IgnoreCase, delim: delim}
		}, nil
	}
	if _, err := o.ranges(); err != nil {
		return nil, err
	}
	appendKey := o.appendKey()
	return func() jobs.Mapper { return newKeyMapper(delim, o.IgnoreCase, appendKey) }, nil
}

// checkMembers refuses objects with two members of one name, because most readers would take one of them alone.
func (o *Options) checkMembers(numbers *values) error {
	if !o.JSON || o.Distinct || numbers == nil {
		return nil
	}
	members := append(append([]string{"count"}, o.counted()...), numbers.names...)
	for i, name := range members {
		if slices.Contains(members[:i], name) {
			return errs.Fieldf("Options.JSON", "an object would have two members %q; choose with %s", name, errs.Field("Options.Fields"))
		}
	}
	return nil
}

// total reports whether all records have one key, which is not printed.
func (o *Options) total() bool { return len(o.Values) > 0 && o.Fields == "" }

// appendKey returns the function that appends the key of a record. compile has checked the options.
func (o *Options) appendKey() func(dst, record []byte) ([]byte, bool) {
	if o.total() {
		return func(dst, _ []byte) ([]byte, bool) { return dst, true }
	}
	list, _ := o.ranges()
	k := keys{list: list, separator: o.separator(), delimited: o.Delimited}
	switch {
	case o.CSV:
		return k.appendColumns
	case o.Words:
		return k.appendWords
	}
	return k.appendFields
}

// separator returns the byte between fields.
func (o *Options) separator() byte {
	switch {
	case o.Delimiter != "":
		return o.Delimiter[0]
	case o.CSV:
		return ','
	}
	return '\t'
}

// aligned is the format of uniq -c. It has no state.
type aligned struct{}

// countColumns is the least width of a count.
const countColumns = 7

// Append implements lines.CountFormat.
func (aligned) Append(dst, key []byte, count uint64) []byte {
	var digits [20]byte
	text := strconv.AppendUint(digits[:0], count, 10)
	for n := len(text); n < countColumns; n++ {
		dst = append(dst, ' ')
	}
	dst = append(append(dst, text...), ' ')
	return append(dst, key...)
}

// Cut implements lines.CountFormat. Exactly one space follows the count, because the key may
// begin with blanks and digits.
func (aligned) Cut(record []byte) (key []byte, count uint64, ok bool) {
	text, key, ok := bytes.Cut(bytes.TrimLeft(record, " "), []byte(" "))
	count, err := strconv.ParseUint(string(text), 10, 64)
	return key, count, ok && err == nil
}

// objects is a format of JSON: an object with the count and the values of the key. Cut takes records of another format.
type objects struct {
	lines.CountFormat
	names []string // of the values, as JSON; behind them, the numbers of columns stand
	list  []span   // the columns
	*values
	total bool // there is no key
}

// Append implements lines.CountFormat. NUL ends each value in the key of a table.
func (f *objects) Append(dst, key []byte, count uint64) []byte {
	dst = strconv.AppendUint(append(dst, `{"count":`...), count, 10)
	key, numbers := f.cut(key)
	_, isTable := f.CountFormat.(*table)
	if isTable || len(numbers) > 0 {
		key = bytes.TrimSuffix(key, []byte{0})
	}
	values := [][]byte{key}
	switch {
	case f.total:
		values = nil
	case isTable:
		values = bytes.Split(key, []byte{0})
	}
	for i, value := range values {
		name := ""
		if i < len(f.names) {
			name = f.names[i]
		} else {
			name = strconv.Quote(strconv.FormatUint(column(f.list, uint64(i)), 10))
		}
		text, _ := json.Marshal(string(value)) // a string has a form in JSON
		dst = append(append(append(append(dst, ','), name...), ':'), text...)
	}
	for i, number := range numbers {
		name, _ := json.Marshal(f.values.names[i])
		if len(number) == 0 {
			number = []byte("null")
		}
		dst = append(append(append(append(dst, ','), name...), ':'), number...)
	}
	return append(dst, '}')
}

// table is the format of CSV: the count, then the counted columns.
type table struct {
	separator byte
	key       []byte // result of Cut, reused
}

// Append implements lines.CountFormat. NUL ends each value in key.
func (t *table) Append(dst, key []byte, count uint64) []byte {
	dst = strconv.AppendUint(dst, count, 10)
	for len(key) > 0 {
		n := bytes.IndexByte(key, 0)
		if n < 0 { // keys of this package end with NUL
			n = len(key)
		}
		dst = lines.AppendCSV(append(dst, t.separator), key[:n], t.separator)
		key = key[min(n+1, len(key)):]
	}
	return dst
}

// Cut implements lines.CountFormat. The key is valid until the next Cut.
func (t *table) Cut(record []byte) (key []byte, count uint64, ok bool) {
	text, rest, more := lines.CutCSV(record, t.separator)
	count, err := strconv.ParseUint(string(text), 10, 64)
	t.key = t.key[:0]
	for more {
		var value []byte
		value, rest, more = lines.CutCSV(rest, t.separator)
		t.key = append(append(t.key, lines.CSVText(value)...), 0)
	}
	return t.key, count, err == nil
}

// MostlyDifferent estimates from a sample of a file whether more than half of all its lines differ from
// each other (docs/adr/0021). It returns false for a small sample, and for a file that is not regular or cannot be
// read.
func (o *Options) MostlyDifferent(path string) bool {
	info, err := disk.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // a stream can be read only once
		return false
	}
	f, err := disk.OpenInput(path)
	if err != nil { // the run reports the error
		return false
	}
	defer f.Close() // nothing is written, so no error can be lost
	delim := byte('\n')
	if o.ZeroEnded {
		delim = 0
	}
	return mostlyDifferent(f, info.Size(), delim)
}

// mostlyDifferent does the work of MostlyDifferent. delim ends lines.
func mostlyDifferent(f io.ReaderAt, fileBytes int64, delim byte) bool {
	const (
		places     = 8         // at which the sample is read
		placeBytes = 128 << 10 // that are read at each place
		leastLines = 1000      // of a sample that is large enough
	)
	times := map[string]int{}
	var lines, bytesRead int
	buffer := make([]byte, placeBytes)
	for i := range int64(places) {
		// The fractions of multiples of the golden ratio are spread evenly over the file. They match
		// no period of lines that repeat.
		_, part := math.Modf(float64(i) * math.Phi)
		n, _ := f.ReadAt(buffer, int64(part*float64(max(0, fileBytes-placeBytes))))
		parts := bytes.Split(buffer[:n], []byte{delim})
		bytesRead += n
		// The place begins and ends within a line, so the first and the last part are left out.
		for _, line := range parts[min(1, len(parts)):max(1, len(parts)-1)] {
			times[string(line)]++
			lines++
		}
	}
	if lines <= leastLines {
		return false
	}
	// In most texts a few lines, such as empty ones, are far more frequent than all others.
	// differentLines assumes equally frequent lines, so lines with more than rareTimes are left out.
	const rareTimes = 2
	rare, rareDifferent := 0, 0
	for _, n := range times {
		if n <= rareTimes {
			rare += n
			rareDifferent++
		}
	}
	// all estimates the number of lines in the file. Its rare lines have the same share as those of
	// the sample.
	all := float64(lines) * float64(fileBytes) / float64(bytesRead)
	return differentLines(float64(rare), float64(rareDifferent), all*float64(rare)/float64(lines)) > all/2
}

// differentLines estimates the number of different lines in a file of all lines. sample is the number
// of lines in a sample, and inSample how many of them are different. If a file has d different lines,
// each equally frequent, a sample is expected to have d × (1 - e^(-sample/d)) different ones. The
// function solves this equation for d by bisection.
func differentLines(sample, inSample, all float64) float64 {
	least, most := inSample, all
	// 20 halvings leave a millionth of the range.
	for range 20 {
		if d := (least + most) / 2; d*-math.Expm1(-sample/d) < inSample {
			least = d
		} else {
			most = d
		}
	}
	return most
}
