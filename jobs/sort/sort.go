// Package sort is a job that sorts lines as GNU sort does in the C locale.
//
// The mapper only finds the ends of lines, and passes the whole block to the kvbuffer (jobs.Taker).
// So each line is copied once. Without keys, the line is its own sort key. Otherwise the options are
// compiled once to an Order. The Order makes a sort key for each line. Comparing these keys byte by
// byte gives the wanted order, so the engine only compares bytes.
//
// A key has one component for each -k. The whole line follows (the last resort of GNU sort), unless
// -s or -u is given. No component is a prefix of another one, so the next component is compared only
// if this one is equal. Descending components are inverted bit by bit, including their end.
//
// Numbers, numbers with units, floats, months, versions and digests each have an encoding of their
// own (appendNumber, appendHuman, appendGeneral, appendMonth, appendVersion, appendRandom). A
// component comes from a part of the line, from a column of CSV or from a value of JSON.
//
// Two details are not the same in all releases of GNU sort. Release 9.1 has another order of names
// such as .a under -V than the other releases. The order of several NaNs is not reliable in any.
//
// With Top, a mapper leaves out what comes behind Top other lines of its split. One reducer writes the result.
//
// Memory: a mapper keeps the spans of one block, eight bytes for each line, and reuses them. With Top, it has 1 MiB of
// keys, too.
package sort

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// Options are options of GNU sort, with their letters. The zero value sorts lines by their
// bytes.
type Options struct {
	Keys       []string // -k POS1[,POS2], each with option letters behind it
	Separator  string   // -t: one byte, or \0; empty: blanks separate fields
	Numeric    bool     // -n: by a decimal number of any length
	General    bool     // -g: by a floating-point number, as on x86
	Human      bool     // -h: by a number with a unit, such as 2K
	Month      bool     // -M: by the name of a month
	Random     bool     // -R: by a digest of Salt and the key
	Version    bool     // -V: by numbers inside of text
	Reverse    bool     // -r
	Unique     bool     // -u: only the first of equal lines
	Stable     bool     // -s: lines with equal keys are not compared as a whole
	FoldCase   bool     // -f: a to z as A to Z
	Blanks     bool     // -b: leading blanks are ignored
	Printing   bool     // -i: only printable ASCII is compared
	Dictionary bool     // -d: only blanks, letters and digits are compared
	Top        int64    // only the first Top lines of the result; 0: all
	ZeroEnded  bool     // -z: lines end with NUL

	// CSV lets Keys name columns: F[OPTS] or NAME[:OPTS]. Header has the names. Records end
	// with NUL, as with ZeroEnded, because a value in quotes may contain newlines. The default
	// Separator is a comma.
	CSV     bool
	Header  []string // nil: there is none
	Lenient bool     // a key may be a column beyond the header

	// JSON has keys of JSON lines, such as user.name, user.age:nr or "first.name". Without OPTS,
	// values are ordered by type: no value, null, false, true, numbers, strings, arrays and objects.
	JSON []string

	Salt [SaltBytes]byte // for Random; each salt gives one order
}

// SaltBytes is the length of the salt of a random order. GNU sort reads as many bytes from its
// random source.
const SaltBytes = 16

// New makes the job. It fails with an options error (package errs) if a key or the separator is
// wrong.
func New(o Options) (jobs.Chain, error) {
	order, err := Compile(o)
	if err != nil {
		return nil, err
	}
	return NewOrdered(o, order), nil
}

// NewOrdered makes the job of an order that Compile has made of o.
func NewOrdered(o Options, order *Order) jobs.Chain {
	job := jobs.Job{
		Name:    "sort",
		Ordered: true,
		BuiltIn: true,
	}
	// The delimiter applies to input and output, as with sort -z.
	if o.ZeroEnded || o.CSV {
		job.Delim = jobs.NUL
	}
	delim := job.Delim
	job.NewMapper = func() jobs.Mapper {
		return &mapper{delim: delim.Byte(), unique: o.Unique, order: order, top: top{n: o.Top, unique: o.Unique}}
	}
	// If the line is the key, the reducer writes keys. Otherwise the line is the value.
	identity := jobs.Identity{Out: jobs.KeyColumn, Unique: o.Unique}
	if order.needsKey() {
		job.AppendKey = order.AppendKey
		identity.Out = jobs.ValueColumn
	}
	job.NewReducer = func() jobs.Reducer { return identity }
	if o.Top > 0 { // one reducer must see all lines
		job.Ordered, job.Reduces = false, 1
		job.Partition = func([]byte, int) int { return 0 }
		job.NewReducer = func() jobs.Reducer { return &head{Identity: identity, left: o.Top} }
	}
	return jobs.Chain{job}
}

// mapper passes on the lines of a block. It belongs to one attempt.
type mapper struct {
	delim  byte
	unique bool
	order  *Order
	top    top
	// Scratch, reused for the next block.
	lines []jobs.Span
}

// Map implements jobs.Mapper. It passes the whole block to the Emitter, which must be a
// jobs.Taker. It fails for a line that is not JSON if the order needs JSON lines.
func (m *mapper) Map(b jobs.Block, out jobs.Emitter) error {
	m.lines = lines.AppendSpans(m.lines[:0], b.Data, m.delim)
	// The check is here because AppendKey cannot fail.
	if m.order.json {
		for _, s := range m.lines {
			if err := m.order.Check(b.Data[s.Off : s.Off+s.Len]); err != nil {
				return errs.Inputf(b.Path, "line at byte %d: %w", b.Offset+int64(s.Off), err)
			}
		}
	}
	// This removes neighbouring repeats only. The reducer removes the others.
	if m.unique {
		m.lines = withoutRepeats(m.lines, b.Data)
	}
	if m.top.n > 0 {
		m.lines = slices.DeleteFunc(m.lines, func(s jobs.Span) bool {
			return m.top.beats(m.order, b.Data[s.Off:s.Off+s.Len])
		})
	}
	return lines.Take("sort", b, m.lines, out)
}

// withoutRepeats removes, in place, each line that equals the one before it. The result keeps
// only the first of equal lines, so the others need not be sorted.
//
// hot: with -u, one iteration for each line; mostly the lengths differ.
func withoutRepeats(all []jobs.Span, data []byte) []jobs.Span {
	if len(all) == 0 {
		return all
	}
	n := 1
	last := data[all[0].Off : all[0].Off+all[0].Len]
	for _, s := range all[1:] {
		line := data[s.Off : s.Off+s.Len]
		if bytes.Equal(line, last) {
			continue
		}
		last = line
		all[n] = s
		n++
	}
	return all[:n]
}

// top knows which lines of a split cannot be among its first n. It belongs to one attempt. With unique, n different
// keys count.
type top struct {
	n      int64 // 0: every line may be
	unique bool
	keys   [][]byte // the least n keys, and some that were added since
	bytes  int      // of keys
	bound  []byte   // the n-th least key of those before; nil: not known
	key    []byte   // scratch
}

const (
	topBatch     = 1024    // number of keys that are added before all are sorted
	mostTopBytes = 1 << 20 // of keys
)

// beats reports whether n lines come before line, which is the next one of the split. If the keys need too much memory,
// no further line is beaten.
func (t *top) beats(order *Order, line []byte) bool {
	if t.n == 0 {
		return false
	}
	key := line
	if order.needsKey() {
		t.key = order.AppendKey(t.key[:0], line)
		key = t.key
	}
	if t.bound != nil && bytes.Compare(key, t.bound) >= 0 {
		return true
	}
	t.keys = append(t.keys, bytes.Clone(key))
	t.bytes += len(key)
	if t.bytes <= mostTopBytes && int64(len(t.keys)) < t.n+topBatch {
		return false
	}
	slices.SortFunc(t.keys, bytes.Compare)
	if t.unique {
		t.keys = slices.CompactFunc(t.keys, bytes.Equal)
	}
	if int64(len(t.keys)) >= t.n {
		t.keys = slices.Delete(t.keys, int(t.n), len(t.keys))
		t.bound = t.keys[t.n-1]
	}
	t.bytes = 0
	for _, key := range t.keys {
		t.bytes += len(key)
	}
	if t.bytes > mostTopBytes/2 { // so that sorting them is rare
		*t = top{}
	}
	return false
}

// head writes the first lines of what Identity writes.
type head struct {
	jobs.Identity
	left int64
}

// Reduce implements jobs.Reducer.
func (h *head) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	for h.left > 0 && vs.Next() {
		h.left--
		if h.Out == jobs.KeyColumn {
			out.Emit(key, nil)
		} else {
			out.Emit(nil, vs.Value())
		}
		if h.Unique {
			break
		}
	}
	return nil
}

// Order is the compiled form of Options. It is never changed after Compile, but for the keys that it
// has seen. Several goroutines may use it.
type Order struct {
	// Fields are compared in this order; the first one that differs decides.
	fields    []field
	separator int  // -1: blanks separate fields
	reverse   bool // whole lines are compared in descending order
	whole     bool // lines with equal fields are compared as a whole
	salt      [SaltBytes]byte
	csv, json bool  // fields name columns or paths instead of positions
	seen      *seen // of json
	global    rules // for Debugger.Warnings
}

// field is one -k. Its positions are those that GNU sort keeps after parsing: the number of
// fields to skip, and then the number of bytes. They may be the largest number: a field beyond
// the end of a line is empty.
type field struct {
	line       bool // no -k is given: the field is the whole line
	startField uint64
	startByte  uint64
	toLineEnd  bool // no end is given
	endField   uint64
	endByte    uint64 // 0: the end of the field
	rules
	skipEnd bool // b is given at the end position

	column int      // of CSV: index of the column
	path   []string // of JSON: names from the outermost object on
}

// rules say how a field is compared. check refuses combinations that exclude each other; reverse, fold and blanks go
// with all others.
type rules uint16

// These are the rules in the order of keyLetters.
const (
	blanks rules = 1 << iota
	dictionary
	fold
	general
	human
	printing
	month
	numeric
	random
	reverse
	version
)

// keyLetters are the letters of OPTS, in the order of GNU sort.
const keyLetters = "bdfghiMnRrV"

// has reports whether r has one of some rules.
func (r rules) has(some rules) bool { return r&some != 0 }

// known returns r as GNU sort keeps it. Of -d and -i it knows only one at a time.
func (r rules) known() rules {
	if r.has(dictionary) {
		return r &^ printing
	}
	return r
}

// letters returns the letters of the rules.
func (r rules) letters() (letters string) {
	for i := range keyLetters {
		if r.known().has(1 << i) {
			letters += keyLetters[i : i+1]
		}
	}
	return letters
}

// isPlain reports whether all bytes of the field are compared, as they are or in capitals.
func (r rules) isPlain() bool { return r&^(reverse|fold|blanks) == 0 }

// check refuses rules that exclude each other, as GNU sort does. key is the key that has the rules;
// "" stands for the options of the whole line.
func (r rules) check(key string) error {
	count := bits.OnesCount16(uint16(r & (numeric | general | human | month)))
	if r.has(version | random | dictionary | printing) { // these four may be combined with each other
		count++
	}
	if count <= 1 {
		return nil
	}
	letters := (r &^ (blanks | reverse)).letters()
	if key == "" {
		return errs.Optionf("", "options '-%s' are incompatible", letters)
	}
	return errs.Fieldf("Options.Keys", "%q: options '-%s' are incompatible", key, letters)
}

// Compile returns the order that the options describe. It fails with an options error (package
// errs).
func Compile(o Options) (*Order, error) {
	separator, err := parseSeparator(o.Separator)
	if err != nil {
		return nil, err
	}
	var global rules
	for i, on := range [...]bool{o.Blanks, o.Dictionary, o.FoldCase, o.General, o.Human, o.Printing, o.Month, o.Numeric, o.Random, o.Reverse, o.Version} {
		if on {
			global |= 1 << i
		}
	}
	ord := &Order{separator: separator, reverse: o.Reverse, whole: !o.Stable && !o.Unique, salt: o.Salt}
	ord.global = global
	ord.csv, ord.json = o.CSV, len(o.JSON) > 0
	keys, parse := o.Keys, parseField
	switch {
	case ord.csv && ord.json:
		return nil, errs.Fieldf("Options.CSV, Options.JSON", "give one of them, not both")
	case ord.json && len(keys) > 0:
		return nil, errs.Fieldf("Options.Keys", "JSON lines have the keys of %s", errs.Field("Options.JSON"))
	case ord.json:
		keys, parse = o.JSON, parsePath
	case ord.csv:
		parse = o.parseColumn
		if separator < 0 {
			ord.separator = ','
		}
	}
	for _, text := range keys {
		f, err := parse(text)
		if err != nil {
			return nil, err
		}
		// As in GNU sort, a key without letters takes the global rules, and a key with letters
		// takes none of them.
		if f.rules == 0 && !f.skipEnd {
			f.rules, f.skipEnd = global, o.Blanks
		}
		if err := f.check(text); err != nil {
			return nil, err
		}
		ord.fields = append(ord.fields, f)
	}
	// With -r alone, whole lines are compared, which needs no field.
	if len(keys) == 0 && global&^reverse != 0 {
		if err := global.check(""); err != nil {
			return nil, err
		}
		ord.fields = []field{{line: true, toLineEnd: true, rules: global}}
	}
	if ord.json {
		ord.seen = &seen{found: make([]atomic.Bool, len(ord.fields))}
	}
	if len(ord.fields) == 0 {
		ord.whole = true // nothing else is compared, even with -s and -u
	}
	return ord, nil
}

// needsKey reports whether the sort key of a line differs from the line itself.
func (o *Order) needsKey() bool { return len(o.fields) > 0 || o.reverse }

// parseSeparator returns the byte of -t, or -1 if there is none.
func parseSeparator(s string) (int, error) {
	switch {
	case s == "":
		return -1, nil
	case s == `\0`:
		return 0, nil
	case len(s) == 1:
		return int(s[0]), nil
	}
	return 0, errs.Fieldf("Options.Separator", `%q: must be one byte; \0 stands for NUL`, s)
}

// keyParser parses a KEYDEF of GNU sort: F[.C][OPTS][,F[.C][OPTS]].
type keyParser struct {
	text string
	pos  int // offset of the next byte
}

// parseField parses one -k. Positions in text count from 1. Those of a field are numbers to
// skip.
func parseField(text string) (f field, err error) {
	p := &keyParser{text: text}
	if f.startField, err = p.count("field number"); err != nil {
		return f, err
	}
	f.startField--
	if p.skip('.') {
		if f.startByte, err = p.count("character position"); err != nil {
			return f, err
		}
		f.startByte--
	}
	f.rules = p.options()
	if !p.skip(',') {
		f.toLineEnd = true
		return f, p.atEnd()
	}
	if f.endField, err = p.count("field number"); err != nil {
		return f, err
	}
	if p.skip('.') {
		// The end byte may be 0, which means the end of the field.
		if f.endByte, err = p.number(); err != nil {
			return f, err
		}
	}
	atEnd := p.options()
	f.rules, f.skipEnd = f.rules|atEnd&^blanks, atEnd.has(blanks)
	return f, p.atEnd()
}

// skip moves behind the next byte if it is c. It reports whether it is.
func (p *keyParser) skip(c byte) bool {
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// count reads a number that must be at least 1. what names it in the error.
func (p *keyParser) count(what string) (uint64, error) {
	n, err := p.number()
	if err == nil && n == 0 {
		err = p.errorf("%s is zero: they count from 1", what)
	}
	return n, err
}

// number reads a decimal number. A number that is too large becomes the largest one, as in GNU
// sort.
func (p *keyParser) number() (uint64, error) {
	begin := p.pos
	for p.pos < len(p.text) && p.text[p.pos]-'0' < 10 {
		p.pos++
	}
	if begin == p.pos {
		return 0, p.errorf("a number is missing")
	}
	n, err := strconv.ParseUint(p.text[begin:p.pos], 10, 64)
	if err != nil {
		return math.MaxUint64, nil
	}
	return n, nil
}

// options reads letters and returns their rules. It stops at the first byte that is not one of keyLetters.
func (p *keyParser) options() (r rules) {
	for ; p.pos < len(p.text); p.pos++ {
		i := strings.IndexByte(keyLetters, p.text[p.pos])
		if i < 0 {
			break
		}
		r |= 1 << i
	}
	return r
}

// atEnd fails if the key has more text.
func (p *keyParser) atEnd() error {
	if p.pos == len(p.text) {
		return nil
	}
	return p.errorf("%q is not understood: a key is F[.C][OPTS][,F[.C][OPTS]], and OPTS are letters of bdfghiMnRrV", p.text[p.pos:])
}

// errorf returns an options error with the key and the position of the next byte, which counts
// from 1.
func (p *keyParser) errorf(format string, args ...any) error {
	return errs.Fieldf("Options.Keys", "%q: position %d: %s", p.text, p.pos+1, fmt.Sprintf(format, args...))
}

// appendHuman appends a key for a number with a unit, such as 2K or 1.5G. Sign and unit are
// compared first, and then the number, so 1G comes after 1030M. As in GNU sort, a unit must
// follow the number directly, and zero has none.
func appendHuman(dst, text []byte) []byte {
	text = text[skipBlanks(text, 0):]
	minus, whole, fraction, at := decimal(text)
	// The index of the letter is the power of 1000 or 1024. GNU sort does not compare 1000K and
	// 1M by value.
	order := byte(0)
	if at < len(text) && len(bytes.Trim(whole, "0"))+len(bytes.Trim(fraction, "0")) > 0 {
		// IndexByte returns -1, FF as a byte, if the letter is not a unit.
		if order = byte(strings.IndexByte(" KMGTPEZYRQ", text[at])); text[at] == 'k' {
			order = 1
		}
		if order == 0xff { // no unit
			order = 0
		}
	}
	// A negative number with a greater unit is smaller.
	if minus {
		order = -order
	}
	// 80 is the middle, so that negative orders come before it.
	return appendNumber(append(dst, 0x80+order), text)
}

// appendMonth appends 1 to 12 for text that begins with the English name of a month in three
// letters, and 0 for other text. It ignores blanks before the name, its case, and bytes behind
// the third letter: March and Mar are equal.
func appendMonth(dst, text []byte) []byte {
	text = text[skipBlanks(text, 0):]
	if len(text) >= 3 {
		// The list has a space behind each name, so that a name is found only where one begins.
		// The check for letters excludes bytes that |0x20 turns into letters.
		name := [3]byte{text[0] | 0x20, text[1] | 0x20, text[2] | 0x20}
		if at := strings.Index("jan feb mar apr may jun jul aug sep oct nov dec", string(name[:])); at >= 0 && isLetter(text[0]) && isLetter(text[1]) && isLetter(text[2]) {
			return append(dst, byte(at/4)+1)
		}
	}
	return append(dst, 0)
}

// appendRandom appends the digest of the salt and text, and then the text, which decides
// between texts with the same digest. Equal texts have equal digests, so -R keeps equal keys
// together. If the salt is from the same random source, the order is that of GNU sort
// (compare_random).
func appendRandom(dst, text []byte, salt *[SaltBytes]byte, open bool) []byte {
	start := len(dst)
	dst = append(append(dst, salt[:]...), text...)
	// GNU sort uses MD5. It need not be secure here.
	digest := md5.Sum(dst[start:])
	dst = append(dst[:start], digest[:]...)
	return appendText(dst, text, false, open)
}

// appendKept appends the bytes of text that -d or -i keeps, in capitals if -f is set.
func (r rules) appendKept(dst, text []byte) []byte {
	start := len(dst)
	for _, c := range text {
		switch {
		// -d takes precedence over -i, as in GNU sort.
		case r.has(dictionary) && !isLetter(c) && !isDigit(c) && !isBlank(c):
		case r.known().has(printing) && (c < ' ' || c > '~'):
		default:
			dst = append(dst, c)
		}
	}
	if r.has(fold) {
		lines.Upper(dst[start:])
	}
	return dst
}

// ObsoleteKey returns the KEYDEF of -k that means the same as the words +begin -end. end is "" if the
// key goes to the end of the line.
func ObsoleteKey(begin, end string) (string, error) {
	field, char, letters, err := obsoletePosition(begin)
	if err != nil {
		return "", err
	}
	// The old form counts fields and characters from 0, -k counts from 1.
	key := strconv.FormatUint(field+1, 10)
	if char > 0 {
		key += "." + strconv.FormatUint(char+1, 10)
	}
	key += letters
	if end == "" {
		return key, nil
	}
	if field, char, letters, err = obsoletePosition(end); err != nil {
		return "", err
	}
	// The old end is the first character after the key, counted from 0. The end of -k is the last
	// character of the key, counted from 1. The two numbers of the character are equal. If the old
	// number is 0, the key ends with the field before.
	if char > 0 {
		return key + "," + strconv.FormatUint(field+1, 10) + "." + strconv.FormatUint(char, 10) + letters, nil
	}
	return key + "," + strconv.FormatUint(max(field, 1), 10) + letters, nil
}

// obsoletePosition parses a position F[.C][OPTS] of an obsolete key. field and char count from 0. A
// missing C is 0. letters are the OPTS.
func obsoletePosition(text string) (field, char uint64, letters string, err error) {
	end := len(text) - len(strings.TrimLeft(text, "0123456789."))
	fieldText, charText, _ := strings.Cut(text[:end], ".")
	// 62 bits leave room for the 1 that ObsoleteKey adds.
	field, err = strconv.ParseUint(fieldText, 10, 62)
	if err == nil && charText != "" {
		char, err = strconv.ParseUint(charText, 10, 62)
	}
	letters = text[end:]
	if err != nil || strings.Trim(letters, keyLetters) != "" {
		return 0, 0, "", errs.Optionf(text, "invalid field specification")
	}
	return field, char, letters, nil
}
