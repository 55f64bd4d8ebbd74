// Package lines reads and writes the lines that several jobs have in common:
//
//   - records of CSV (list.go),
//   - points (points.go),
//   - ratings of movies (points.go),
//   - keys with their counts (counts.go),
//   - lists that grow with the data (list.go),
//   - blocks with the spans of their lines (list.go),
//   - text with NUL and newline exchanged (list.go).
//
// Memory: results are parts of the line or belong to the caller. A Growing line belongs to one
// reducer, which reuses it for each group. An attempt that counts has a heap of at most 65,536
// counts, and one record.
package lines

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"regexp/syntax"
	"slices"

	"mrlocal/jobs"
)

// freeBytes is the capacity of a line that is not charged. Each attempt has room for it.
const freeBytes = 64 << 10

// Growing is a line of output whose length grows with the data, such as the documents of a
// word. Check charges it to the memory bound of the run. A reducer embeds it, so that the
// engine calls Begin (jobs.Attempter).
type Growing struct {
	Text    []byte // the line; the caller appends to it
	charge  func(bytes int64) bool
	charged int // capacity of Text that is charged or free, in bytes
}

// Begin implements jobs.Attempter.
func (l *Growing) Begin(a jobs.OwnAttempt) { l.charge, l.charged = a.Charge, freeBytes }

// Check charges the bytes by which the capacity of Text has grown. It fails if the run has no
// memory for them. The reducer calls it after each item; mostly it is one comparison.
func (l *Growing) Check() error {
	if cap(l.Text) > l.charged && l.charge != nil {
		return l.grow()
	}
	return nil
}

// Charge charges bytes, and reports whether the run has memory for them.
func (l *Growing) Charge(bytes int) bool { return l.charge == nil || l.charge(int64(bytes)) }

// grow charges the new capacity.
func (l *Growing) grow() error {
	if more := cap(l.Text) - l.charged; !l.Charge(more) {
		return fmt.Errorf("a line of %d bytes does not fit into the memory of the run", len(l.Text))
	}
	l.charged = cap(l.Text)
	return nil
}

// DocumentName appends path to dst and returns the result, the name of a document in keys and
// lines. TAB and newline become blanks, because they separate the fields of keys and lines.
func DocumentName(dst []byte, path string) []byte {
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '\t' || c == '\n' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}

// ListReducer emits one line for each group: the group without its last byte, TAB, and the
// rests of its keys, separated by commas. The keys of a group come sorted (secondary sort).
// Each rest is written once.
type ListReducer struct {
	Growing
	GroupBytes func(key []byte) int // as in jobs.Job

	last []byte // the last item of the line
}

// Reduce emits the line of one group.
func (r *ListReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	n := r.GroupBytes(key)
	r.Text = append(append(r.Text[:0], key[:n-1]...), '\t') // an Emitter writes no TAB next to an empty key
	for some := false; vs.Next(); some = true {
		item := vs.Key()[n:]
		if some && bytes.Equal(item, r.last) { // the same item from another map
			continue
		}
		if some {
			r.Text = append(r.Text, ',')
		}
		r.last = append(r.last[:0], item...)
		r.Text = append(r.Text, item...)
		if err := r.Check(); err != nil {
			return err
		}
	}
	out.Emit(nil, r.Text)
	return nil
}

// wordCounter emits each word of a block with the count 1.
type wordCounter struct {
	one   [8]byte // the count 1 in the format of jobs.Sum; never changed
	fold  bool
	words *jobs.Words
}

// NewWordCounter returns a mapper for one attempt that emits each word with the count 1. With alnum, words
// are runs of ASCII letters and digits. With fold, it changes A to Z in the block to a to z.
func NewWordCounter(alnum, fold bool) jobs.Mapper {
	m := &wordCounter{fold: fold, words: jobs.BlankSeparated()}
	if alnum {
		m.words = jobs.LettersAndDigits()
	}
	jobs.AppendUint64(m.one[:0], 1)
	return m
}

// Map implements jobs.Mapper.
func (m *wordCounter) Map(b jobs.Block, out jobs.Emitter) error {
	if m.fold {
		Lower(b.Data)
	}
	for words := range m.words.In(b.Data) {
		jobs.EmitSpans(out, b.Data, words, m.one[:])
	}
	return nil
}

// DocumentWords emits the words of documents with the count 1. A mapper embeds it. It builds
// the keys of several hundred words and emits them together.
type DocumentWords struct {
	File   int32 // the current document; -1: none yet
	Finder *jobs.Words
	Keys   []byte      // scratch: keys, one after the other
	Spans  []jobs.Span // where each key lies in Keys
	One    []byte      // the count 1 in the format of jobs.Sum
}

// NewDocumentWords returns a DocumentWords for one attempt.
func NewDocumentWords() DocumentWords {
	return DocumentWords{File: -1, Finder: jobs.BlankSeparated(), One: jobs.AppendUint64(nil, 1)}
}

// Emit emits a key for each word of data: head, the word and tail.
func (d *DocumentWords) Emit(data, head, tail []byte, out jobs.Emitter) {
	for words := range d.Finder.In(data) {
		d.Keys, d.Spans = d.Keys[:0], d.Spans[:0]
		for _, w := range words {
			at := len(d.Keys)
			d.Keys = append(append(append(d.Keys, head...), data[w.Off:w.Off+w.Len]...), tail...)
			d.Spans = append(d.Spans, jobs.Span{Off: uint32(at), Len: uint32(len(d.Keys) - at)})
		}
		jobs.EmitSpans(out, d.Keys, d.Spans, d.One)
	}
}

// AppendSpans appends the spans of the lines of data, without their delimiter. The last line
// may lack it. data must have less than 4 GiB.
//
// hot: one iteration for each line; IndexByte does the search.
func AppendSpans(dst []jobs.Span, data []byte, delim byte) []jobs.Span {
	for off := 0; off < len(data); {
		n := bytes.IndexByte(data[off:], delim)
		if n < 0 {
			n = len(data) - off
		}
		dst = append(dst, jobs.Span{Off: uint32(off), Len: uint32(n)})
		off += n + 1
	}
	return dst
}

// Take passes a block with the spans of its records to out, which must be a jobs.Taker. job is the name of the job,
// for messages.
func Take(job string, b jobs.Block, records []jobs.Span, out jobs.Emitter) error {
	taker, ok := out.(jobs.Taker)
	if !ok {
		return fmt.Errorf("%s: the Emitter cannot take blocks (jobs.Taker)", job)
	}
	if len(records) > 0 {
		taker.Take(b, records)
	}
	return nil
}

// Exchange exchanges NUL and newline in place. So a search for lines that end with newlines
// also finds lines that end with NUL. A newline inside such a line is then an ordinary byte.
// The two bytes are 0 and 10, so XOR with 10 turns each into the other. Exchange handles eight
// bytes at a time.
func Exchange(data []byte) {
	const ones = 0x0101010101010101
	for ; len(data) >= 8; data = data[8:] {
		w := binary.LittleEndian.Uint64(data)
		found := zeroBytes(w) | zeroBytes(w^'\n'*ones)
		binary.LittleEndian.PutUint64(data, w^found>>7*'\n')
	}
	for i, c := range data {
		if c == 0 || c == '\n' {
			data[i] = c ^ '\n'
		}
	}
}

// zeroBytes returns a word with 0x80 in each byte that is 0 in w, and 0 in the others.
func zeroBytes(w uint64) uint64 {
	const low = 0x7f7f7f7f7f7f7f7f
	return ^((w&low + low) | w | low)
}

// ExchangeRunes exchanges NUL and newline in the literals and classes of a pattern. In
// exchanged text, the pattern then finds what it found in the original text. It changes re.
func ExchangeRunes(re *syntax.Regexp) {
	for _, sub := range re.Sub {
		ExchangeRunes(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		for i, r := range re.Rune {
			if r == 0 || r == '\n' {
				re.Rune[i] = r ^ '\n'
			}
		}
	case syntax.OpCharClass:
		re.Rune = exchangedClass(re.Rune)
	}
}

// exchangedClass returns a class, as pairs of first and last runes in order, with NUL and newline exchanged.
func exchangedClass(class []rune) (all []rune) {
	has := func(r rune) (found bool) {
		for i := 0; i < len(class); i += 2 {
			found = found || class[i] <= r && r <= class[i+1]
		}
		return found
	}
	gone, come := rune(0), '\n'
	switch null := has(0); {
	case null == has('\n'):
		return class
	case !null:
		gone, come = come, gone
	}
	ranges := [][2]rune{{come, come}}
	for i := 0; i < len(class); i += 2 {
		ranges = append(ranges, [2]rune{class[i], min(class[i+1], gone-1)}, [2]rune{max(class[i], gone+1), class[i+1]})
	}
	slices.SortFunc(ranges, func(a, b [2]rune) int { return cmp.Compare(a[0], b[0]) })
	for _, r := range ranges {
		switch n := len(all); {
		case r[0] > r[1]: // there is none on this side of the rune that is gone
		case n > 0 && all[n-1]+1 == r[0]: // ranges that touch must be one range
			all[n-1] = r[1]
		default:
			all = append(all, r[0], r[1])
		}
	}
	return all
}

// CSV is that of RFC 4180: a value in quotes may contain separators, newlines and doubled quotes. These
// functions check nothing: for a record that is not CSV they return some values, but they never panic.
// The command finds the ends of records and refuses input that is not CSV.
//
// encoding/csv is not used, because it reads from an io.Reader and copies. Here the record lies in a
// block already, and most values are used in place.

// CutCSV returns the first value of record, with its quotes, and the rest behind the separator.
// more is false if there is no separator. The results are parts of record. A carriage return at
// the end of a record belongs to its last value.
func CutCSV(record []byte, separator byte) (value, rest []byte, more bool) {
	end := 0
	if len(record) > 0 && record[0] == '"' {
		end = quotedEnd(record)
	}
	n := bytes.IndexByte(record[end:], separator)
	if n < 0 {
		return record, nil, false
	}
	return record[:end+n], record[end+n+1:], true
}

// quotedEnd returns the end of the quoted value at the start of record. A doubled quote stands
// for one quote and does not end the value. Without a closing quote, the value ends with the
// record.
func quotedEnd(record []byte) int {
	for at := 1; at < len(record); at++ {
		if record[at] != '"' {
			continue
		}
		if at+1 == len(record) || record[at+1] != '"' {
			return at + 1
		}
		at++
	}
	return len(record)
}

// CSVText returns the text of a value of CutCSV: without quotes, and with one quote for two. It
// is a part of value, unless value has doubled quotes.
func CSVText(value []byte) []byte {
	if len(value) == 0 || value[0] != '"' {
		return value
	}
	value = bytes.TrimSuffix(value[1:], []byte(`"`))
	if bytes.IndexByte(value, '"') < 0 {
		return value
	}
	return bytes.ReplaceAll(value, []byte(`""`), []byte(`"`))
}

// Unquote returns the text of a name that a user has put in quotes, as CSVText does. Other names stay.
func Unquote(name string) string { return string(CSVText([]byte(name))) }

// AppendCSV appends text to dst as a value and returns the result. It adds quotes if text
// contains a separator, a quote or a line break.
func AppendCSV(dst, text []byte, separator byte) []byte {
	if bytes.IndexByte(text, separator) < 0 && !bytes.ContainsAny(text, "\"\r\n") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for _, c := range text {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// CSVTexts returns the texts of all values of a record. The caller owns the list.
func CSVTexts(record []byte, separator byte) (texts []string) {
	for more := true; more; {
		var value []byte
		value, record, more = CutCSV(record, separator)
		texts = append(texts, string(CSVText(value)))
	}
	return texts
}
