package count

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// span is a range of fields. Fields count from 1, and both ends are included.
type span struct{ first, last uint64 }

// toEnd is the last field of a range without end, such as 3-.
const toEnd = math.MaxUint64

// ranges parses Options.Fields, as cut does. It returns ascending ranges that do not touch each
// other. If Fields is empty, it returns all fields.
func (o *Options) ranges() ([]span, error) {
	if o.Fields == "" {
		return []span{{1, toEnd}}, nil
	}
	var list []span
	// As in cut, blanks separate ranges too. With CSV they do not, because the name of a column
	// may contain blanks. In quotes it may contain commas.
	words := strings.FieldsFunc(o.Fields, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	if o.CSV {
		words = nil
		for rest, more := []byte(o.Fields), true; more; {
			var word []byte
			word, rest, more = lines.CutCSV(rest, ',')
			words = append(words, string(word))
		}
	}
	if len(words) == 0 {
		return nil, errs.Fieldf("Options.Fields", "%q: names no field", o.Fields)
	}
	for _, word := range words {
		s, problem := o.parseRange(word)
		if problem != "" {
			return nil, errs.Fieldf("Options.Fields", "%q: %s", word, problem)
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	merged := list[:1]
	for _, s := range list[1:] {
		if last := &merged[len(merged)-1]; s.first <= last.last || s.first-1 == last.last {
			last.last = max(last.last, s.last)
			continue
		}
		merged = append(merged, s)
	}
	return merged, nil
}

// parseRange parses N, N-, N-M or -M, or the name of a column. A name in quotes is never a number.
// problem is "" if word is right.
func (o *Options) parseRange(word string) (s span, problem string) {
	if numbers := word != "" && word != "-" && strings.Trim(word, "0123456789-") == ""; o.CSV && !numbers {
		name := uint64(slices.Index(o.Header, lines.Unquote(word)) + 1)
		if i := slices.Index(o.Header, word); i >= 0 {
			name = uint64(i + 1)
		}
		switch {
		case o.Header == nil:
			return s, "without a header, columns have only numbers"
		case name == 0:
			return s, "no such column; the columns are " + strings.Join(o.Header, ", ")
		}
		return span{name, name}, ""
	}
	from, to, isRange := strings.Cut(word, "-")
	s = span{1, toEnd}
	var err error
	if from != "" {
		s.first, err = strconv.ParseUint(from, 10, 64)
	}
	if err == nil && to != "" {
		s.last, err = strconv.ParseUint(to, 10, 64)
	} else if err == nil && !isRange {
		s.last = s.first
	}
	switch {
	case o.Header != nil && (err != nil || s.first > uint64(len(o.Header))):
		return s, "no such column; the columns are " + strings.Join(o.Header, ", ")
	case err != nil:
		return s, "not a list of fields; write 2 or 1,3-"
	case from == "" && to == "":
		return s, "a range has a first or a last field"
	case s.first == 0 || s.last == 0:
		return s, "fields count from 1"
	case s.first > s.last:
		return s, "the range ends before it begins"
	}
	// A range may go beyond the last column, where records end.
	if o.Header != nil && to != "" {
		s.last = min(s.last, uint64(len(o.Header)))
	}
	return s, ""
}

// AppendHeader appends the header of a CSV result: the word count, then the names of the
// counted columns. New must accept the options.
func (o *Options) AppendHeader(dst []byte) []byte {
	if o.Distinct {
		return append(dst, "distinct"...)
	}
	dst = append(dst, "count"...)
	values, _ := o.newValues()
	for _, name := range append(o.counted(), values.names...) {
		dst = lines.AppendCSV(append(dst, o.separator()), []byte(name), o.separator())
	}
	return dst
}

// counted returns the names of the counted columns of CSV with a header.
func (o *Options) counted() (names []string) {
	if o.total() {
		return nil
	}
	list, _ := o.ranges() // New has refused what is wrong
	for _, s := range list {
		first := min(s.first-1, uint64(len(o.Header)))
		names = append(names, o.Header[first:max(first, min(s.last, uint64(len(o.Header))))]...)
	}
	return names
}

// column returns the number of the column of value i, from 0, of a key.
func column(list []span, i uint64) uint64 {
	for _, s := range list {
		if n := s.last - s.first + 1; i >= n {
			i -= n
			continue
		}
		return s.first + i
	}
	return i + 1
}

// names returns the names of the values of a key in JSON, which are JSON strings.
func (o *Options) names() (names []string) {
	if !o.CSV {
		return []string{`"key"`}
	}
	for _, name := range o.counted() {
		text, _ := json.Marshal(name) // as in objects.Append
		names = append(names, string(text))
	}
	return names
}

// keys builds the keys of records.
type keys struct {
	list      []span // Options.Fields
	separator byte
	delimited bool // Options.Delimited
}

// appendFields appends the text that cut -f prints for a line, without its newline. It returns
// false if cut prints nothing.
//
// hot: runs once for each line whose fields are counted.
func (k *keys) appendFields(dst, line []byte) ([]byte, bool) {
	end := bytes.IndexByte(line, k.separator) // where field n ends
	if end < 0 {
		return append(dst, line...), !k.delimited
	}
	// Invariant: field n begins at at and ends at end; end is -1 if it is the last one.
	at, n := 0, uint64(1)
	for i, s := range k.list {
		for ; n < s.first; n++ {
			if end < 0 {
				return dst, true
			}
			at = end + 1
			end = k.next(line, at)
		}
		if i > 0 {
			dst = append(dst, k.separator)
		}
		if s.last == toEnd {
			return append(dst, line[at:]...), true
		}
		first := at
		for ; n < s.last && end >= 0; n++ {
			at = end + 1
			end = k.next(line, at)
		}
		if end < 0 {
			return append(dst, line[first:]...), true
		}
		dst = append(dst, line[first:end]...)
	}
	return dst, true
}

// next returns where the field that begins at at ends; -1: it ends with the line.
func (k *keys) next(line []byte, at int) int {
	if n := bytes.IndexByte(line[at:], k.separator); n >= 0 {
		return at + n
	}
	return -1
}

// appendWords appends the words of a line that are in the list, with a space between two of
// them. It returns false if there are none and such lines are left out.
//
// hot: runs once for each line whose words are fields.
func (k *keys) appendWords(dst, line []byte) ([]byte, bool) {
	list, n, found := k.list, uint64(0), false
	for at := 0; len(list) > 0; {
		for at < len(line) && isBlank(line[at]) {
			at++
		}
		if at == len(line) {
			break
		}
		begin := at
		for at < len(line) && !isBlank(line[at]) {
			at++
		}
		if n++; n < list[0].first {
			continue
		}
		if found {
			dst = append(dst, ' ')
		}
		dst, found = append(dst, line[begin:at]...), true
		if n == list[0].last {
			list = list[1:]
		}
	}
	return dst, found || !k.delimited
}

// isBlank reports whether c separates words, as in jobs.BlankSeparated.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }

// appendColumns appends the values of columns of CSV. NUL ends each, because no value contains
// one. A column that the record does not have is empty.
func (k *keys) appendColumns(dst, record []byte) ([]byte, bool) {
	record = bytes.TrimSuffix(record, []byte("\r"))
	list, n := k.list, uint64(0)
	for more := true; len(list) > 0; {
		var value []byte
		if more {
			value, record, more = lines.CutCSV(record, k.separator)
		} else if list[0].last == toEnd {
			break
		}
		if n++; n < list[0].first {
			continue
		}
		dst = append(append(dst, lines.CSVText(value)...), 0)
		if n == list[0].last {
			list = list[1:]
		}
	}
	return dst, true
}

// perStep is the most keys that are emitted together.
const perStep = 512

// lineMapper emits the lines of a block as parts of the block.
type lineMapper struct {
	one   []byte // the count 1 in the format of jobs.Sum
	fold  bool
	delim byte
	lines [perStep]jobs.Span
}

// Map implements jobs.Mapper.
//
// hot: one iteration for each line.
func (m *lineMapper) Map(b jobs.Block, out jobs.Emitter) error {
	data := b.Data
	if m.fold {
		lines.Lower(data)
	}
	n := 0
	for off := 0; off < len(data); {
		length := bytes.IndexByte(data[off:], m.delim)
		if length < 0 { // the last line of a file
			length = len(data) - off
		}
		m.lines[n] = jobs.Span{Off: uint32(off), Len: uint32(length)}
		off += length + 1
		if n++; n == perStep || off >= len(data) {
			jobs.EmitSpans(out, data, m.lines[:n], m.one)
			n = 0
		}
	}
	return nil
}

// wholeMapper passes whole blocks to the kvbuffer, with the spans of their lines.
type wholeMapper struct {
	fold  bool
	delim byte
	lines []jobs.Span // of the current block; reused
}

// Map implements jobs.Mapper. It fails if the Emitter is not a jobs.Taker.
func (m *wholeMapper) Map(b jobs.Block, out jobs.Emitter) error {
	if m.fold {
		lines.Lower(b.Data)
	}
	m.lines = lines.AppendSpans(m.lines[:0], b.Data, m.delim)
	return lines.Take("count", b, m.lines, out)
}

// keyMapper builds the keys of records in memory of its own, and emits them in steps.
type keyMapper struct {
	one       []byte // the count 1 in the format of jobs.Sum
	fold      bool
	delim     byte
	appendKey func(dst, record []byte) ([]byte, bool) // appends the key of record; false: it has none
	room      []byte                                  // the keys of the current step, one after the other
	keys      []jobs.Span                             // where each key lies in room

	charge       func(bytes int64) bool // OwnAttempt.Charge; nil: no bound
	chargedBytes int64                  // capacity of room that is charged or free
}

// roomBytes: a step ends when its keys take this many bytes. One key may be longer.
const roomBytes = 64 << 10

// newKeyMapper makes a mapper for one attempt. appendKey appends the key of a record, or
// returns false if the record has none.
func newKeyMapper(delim byte, fold bool, appendKey func(dst, record []byte) ([]byte, bool)) *keyMapper {
	return &keyMapper{
		one: jobs.AppendUint64(nil, 1), fold: fold, delim: delim, appendKey: appendKey,
		chargedBytes: 2 * roomBytes,
		room:         make([]byte, 0, 2*roomBytes), keys: make([]jobs.Span, 0, perStep),
	}
}

// Begin implements jobs.Attempter.
func (m *keyMapper) Begin(a jobs.OwnAttempt) { m.charge = a.Charge }

// account charges the growth of room to the memory bound of the run. The first 2*roomBytes are
// free, because every attempt has them.
func (m *keyMapper) account() error {
	more := int64(cap(m.room)) - m.chargedBytes
	if more <= 0 || m.charge == nil {
		return nil
	}
	if !m.charge(more) {
		return errs.Errorf("a key of %d bytes does not fit in memory; raise %s", m.keys[len(m.keys)-1].Len, errs.Field("Options.MemoryBytes"))
	}
	m.chargedBytes += more
	return nil
}

// Map implements jobs.Mapper.
//
// hot: one iteration for each record.
func (m *keyMapper) Map(b jobs.Block, out jobs.Emitter) error {
	for rest := b.Data; len(rest) > 0; {
		record := rest
		if n := bytes.IndexByte(rest, m.delim); n >= 0 {
			record, rest = rest[:n], rest[n+1:]
		} else {
			rest = nil
		}
		begin := len(m.room)
		room, ok := m.appendKey(m.room, record)
		m.room = room
		if !ok {
			m.room = room[:begin]
			continue
		}
		m.keys = append(m.keys, jobs.Span{Off: uint32(begin), Len: uint32(len(room) - begin)})
		if len(room) >= roomBytes {
			if err := m.account(); err != nil {
				return err
			}
		}
		if len(m.keys) == perStep || len(room) >= roomBytes {
			m.step(out)
		}
	}
	m.step(out)
	return nil
}

// step emits the keys in room and empties it.
func (m *keyMapper) step(out jobs.Emitter) {
	// The block must not change, because the delimiter may be a letter.
	if m.fold {
		lines.Lower(m.room)
	}
	jobs.EmitSpans(out, m.room, m.keys, m.one)
	m.room, m.keys = m.room[:0], m.keys[:0]
}
