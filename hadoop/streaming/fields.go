package streaming

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// This file handles the fields of keys as Hadoop does. It finds the bytes that a key
// specification such as -k2,3n means, the reduce to which a key goes, and the order of
// keys.
//
// The results are those of Hadoop 3.4.2, oddities included. A separator of several bytes
// moves the start of a field by its first byte only. Bytes are signed in hashes. Invalid
// UTF-8 is replaced before KeyFieldBasedPartitioner hashes, but not before the default
// hash.
//
// An order is an encoding. Order.Append writes bytes that compare as the keys do, so the
// kvbuffer sorts them like any other keys.
//
// The package is pure, and keeps no []byte of its callers. Package streaming makes jobs
// with it.

// errSpec is the error for a specification of another form, in Hadoop's words.
var errSpec = errors.New("invalid -k argument: must be of the form -k pos1,[pos2], where pos is of the form f[.c]nr")

// Spec is a key specification, -k BEGIN[.CHAR][nr][,END[.CHAR][nr]]
// (KeyFieldHelper.KeyDescription). It means the bytes of a key from BeginByte of BeginField
// to EndByte of EndField, both included. Fields and bytes count from 1. EndField 0 is the
// end of the key, and EndByte 0 is the end of the field.
type Spec struct {
	BeginField, BeginByte int
	EndField, EndByte     int
	Numeric, Reverse      bool
}

// Specs is a list of key specifications, with the separator that divides keys into fields.
type Specs struct {
	list      []Spec
	separator []byte
	divided   bool // some -k was given; otherwise a key is one field
}

// Parse reads options such as "-k1,1 -k2nr -r" (KeyFieldHelper.parseOption). The global -n
// and -r apply to specifications that have neither. Parse ignores unknown words, as Hadoop
// does. The result is empty if options is "". It fails if a specification has another form.
func Parse(options, separator string) (Specs, error) {
	s := Specs{separator: []byte(separator)}
	words := strings.Fields(options)
	if options == "" {
		return s, nil
	}
	global := Spec{BeginField: 1, BeginByte: 1}
	for i := 0; i < len(words); i++ {
		w := words[i]
		global.Numeric = global.Numeric || w == "-n" || w == "-nr"
		global.Reverse = global.Reverse || w == "-r" || w == "-nr"
		if !strings.HasPrefix(w, "-k") {
			continue
		}
		text := w[2:]
		if text == "" && i+1 < len(words) { // "-k 2" is "-k2"
			i++
			text = words[i]
		}
		if text == "" {
			continue
		}
		k, err := parseKey(text)
		if err != nil {
			return s, err
		}
		s.list, s.divided = append(s.list, k), true
	}
	for i := range s.list {
		if k := &s.list[i]; !k.Reverse && !k.Numeric {
			k.Reverse, k.Numeric = global.Reverse, global.Numeric
		}
	}
	if len(s.list) == 0 {
		s.list = append(s.list, global)
	}
	return s, nil
}

// First returns a specification of the first n fields, for the property
// num.key.fields.for.partition. It is empty if n is below 1.
func First(n int, separator string) Specs {
	s := Specs{separator: []byte(separator)}
	if n >= 1 {
		s.list, s.divided = []Spec{{BeginField: 1, BeginByte: 1, EndField: n}}, true
	}
	return s
}

// Given reports whether s has a specification.
func (s Specs) Given() bool { return len(s.list) > 0 }

// parseKey reads a specification without its -k.
func parseKey(text string) (Spec, error) {
	k := Spec{BeginField: 1, BeginByte: 1}
	begin, end, hasEnd := strings.Cut(text, ",")
	var err error
	if k.BeginField, k.BeginByte, err = k.parsePos(begin, 1); err != nil {
		return k, err
	}
	if hasEnd {
		k.EndField, k.EndByte, err = k.parsePos(end, 0)
	}
	return k, err
}

// position matches a position of a key: a field, a byte and letters.
var position = lazy(`^([-+]?[0-9]+)(?:\.([-+]?[0-9]+))?([nr]*)$`)

// parsePos reads f[.c][nr]. It returns f and c, or char if c is missing, and sets the flags
// n and r of k.
func (k *Spec) parsePos(text string, char int) (field, at int, err error) {
	parts := position().FindStringSubmatch(text)
	if parts == nil {
		return 0, 0, errSpec
	}
	k.Numeric = k.Numeric || strings.Contains(parts[3], "n")
	k.Reverse = k.Reverse || strings.Contains(parts[3], "r")
	field, err = strconv.Atoi(parts[1])
	if at = char; parts[2] != "" && err == nil {
		at, err = strconv.Atoi(parts[2])
	}
	if err != nil { // beyond 64 bits
		return 0, 0, errSpec
	}
	return field, at, nil
}

// lengths appends the lengths of the fields of key, in bytes, to dst. A separator must match
// as a whole, but the next field begins right behind its first byte, as in Hadoop
// (KeyFieldHelper.getWordLengths).
func (s *Specs) lengths(dst []int, key []byte) []int {
	// One field is enough for the specification without -k, which ends with the key.
	if !s.divided {
		return append(dst, 0)
	}
	start := 0
	for {
		n := bytes.Index(key[start:], s.separator)
		if n < 0 || len(s.separator) == 0 {
			return append(dst, len(key)-start)
		}
		dst = append(dst, n)
		start += n + 1
	}
}

// span returns the bytes of key that k means, as key[begin:end]. lengths are those of its
// fields. If end is less than begin, the part is empty. ok is false if the key ends before
// the part begins (KeyFieldHelper.getStartOffset, getEndOffset).
func (s *Specs) span(key []byte, lengths []int, k *Spec) (begin, end int, ok bool) {
	if len(lengths) < k.BeginField {
		return 0, 0, false
	}
	for i := range max(0, k.BeginField-1) {
		begin += lengths[i] + len(s.separator)
	}
	if begin += k.BeginByte; begin > len(key) {
		return 0, 0, false
	}
	begin-- // bytes count from 1
	end = len(key)
	if k.EndField == 0 || len(lengths) < k.EndField {
		return max(begin, 0), end, true
	}
	at := 0
	for i := range k.EndField - 1 {
		at += lengths[i] + len(s.separator)
	}
	if k.EndByte == 0 {
		at += lengths[k.EndField-1]
	}
	// An end behind the key means the end of the key.
	if at += k.EndByte; at <= len(key) {
		end = at
	}
	return max(begin, 0), end, true
}

// Order encodes keys for the order of KeyFieldBasedComparator. Of two keys, the one that
// sorts first has the smaller encoding, byte by byte. Keys that the comparator takes for
// equal have equal encodings.
//
// An encoding is a sequence of parts, one for each specification:
//
//	field missing  00                 and no further part, because Hadoop compares no further
//	text           01 bytes 00 00     with each 00 of the field as 00 ff
//	number         01 sign …          see appendNumber
//
// All bits of a part are flipped if its specification is reversed. Without specifications the
// encoding is that of a text, without its 01. No encoding is the start of another one.
type Order struct{ Specs }

// Append appends the encoding of key to dst.
func (o *Order) Append(dst, key []byte) []byte {
	if !o.Given() {
		return appendText(dst, key)
	}
	var room [16]int
	lengths := o.lengths(room[:0], key)
	for i := range o.list {
		k, from := &o.list[i], len(dst)
		begin, end, ok := o.span(key, lengths, k)
		switch {
		case !ok:
			dst = append(dst, 0)
		case k.Numeric:
			dst = appendNumber(append(dst, 1), key[begin:max(begin, end)])
		default:
			dst = appendText(append(dst, 1), key[begin:max(begin, end)])
		}
		if k.Reverse {
			for i := from; i < len(dst); i++ {
				dst[i] = ^dst[i]
			}
		}
		if !ok {
			break
		}
	}
	return dst
}

// appendText appends bytes that compare as text does. None is the start of another one.
func appendText(dst, text []byte) []byte {
	for _, c := range text {
		if dst = append(dst, c); c == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 0)
}

// number is a number as the comparator reads it: an optional minus, digits, and perhaps a
// point with further digits. Any other byte ends it.
type number struct {
	negative       bool
	whole, decimal []byte // without leading and trailing zeros, respectively
	mark           byte   // decides between numbers with equal digits
}

// parseNumber reads text as KeyFieldBasedComparator.numericalCompare does. The slices of the
// result are parts of text. An empty text is zero.
func parseNumber(text []byte) number {
	var n number
	if len(text) == 0 {
		return n
	}
	// Hadoop compares the first bytes of two fields if both end with their numbers.
	n.mark = text[0]
	i := 0
	if text[0] == '-' {
		n.negative, i = true, 1
	}
	for i < len(text) && text[i] == '0' {
		i++
	}
	from := i
	for i < len(text) && digit(text[i]) {
		i++
	}
	n.whole = text[from:i]
	switch {
	case i < len(text) && text[i] == '.':
		from = i + 1
		for i++; i < len(text) && digit(text[i]); i++ {
		}
		n.decimal = text[from:i]
		for len(n.decimal) > 0 && n.decimal[len(n.decimal)-1] == '0' {
			n.decimal = n.decimal[:len(n.decimal)-1]
		}
		// Numbers with decimals and equal digits are equal: 010.50 is 10.5. With no decimals but
		// zeros, 10.0 has the mark of 10.
		switch {
		case len(n.decimal) > 0:
			n.mark = 0
		case !n.negative && len(n.whole) > 0:
			n.mark = n.whole[0]
		case !n.negative:
			n.mark = '0'
		}
	// Otherwise Hadoop compares the bytes behind the numbers.
	case i < len(text):
		n.mark = text[i]
	}
	// A negative zero is equal to zero.
	if n.negative && len(n.whole)+len(n.decimal) == 0 {
		n.negative = false
		if n.mark == '-' {
			n.mark = '0'
		}
	}
	return n
}

// digit reports whether c is an ASCII digit. Bytes below '0' wrap around to large numbers.
func digit(c byte) bool { return c-'0' < 10 }

// appendNumber appends the encoding of a number. It begins with a sign (0 for negative) and
// the count of digits before the point, in 4 bytes. These digits, the digits behind the
// point, 00 and the mark follow. In negative numbers all bits but those of the sign are
// flipped.
func appendNumber(dst, text []byte) []byte {
	n := parseNumber(text)
	if n.negative {
		dst = append(dst, 0)
	} else {
		dst = append(dst, 1)
	}
	from := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(n.whole)))
	dst = append(append(dst, n.whole...), n.decimal...)
	dst = append(dst, 0, n.mark) // 0 is less than any digit, so it ends the digits
	if n.negative {
		for i := from; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// fieldSelection chooses the fields of records as FieldSelectionMapReduce does, by a specification such as
// "6,5,1-3:0-". The fields before the colon are the new key, and those behind it the new value. They count from 0.
type fieldSelection struct {
	separator    string
	divides      *regexp.Regexp // of separator, which Hadoop takes for a regular expression
	keys, values []int
	rest         int  // the value also gets all fields from this one on; -1: it does not
	withoutKey   bool // the fields are those of the value alone
}

// chooseFields reads the specifications of stages that are selections.
func (w *Work) chooseFields() error {
	for _, s := range []*stage{&w.mapper, &w.combiner, &w.reducer} {
		if s.kind != selection {
			continue
		}
		side := "reduce"
		if s == &w.mapper {
			side = "map"
		}
		separator := w.conf.Get("mapreduce.fieldsel.data.field.separator", "\t")
		divides, err := regexp.Compile(separator)
		if err != nil || separator == "" {
			return failed("mapreduce.fieldsel.data.field.separator: %q is not a regular expression that is read here", separator)
		}
		s.fields = &fieldSelection{separator: separator, divides: divides, withoutKey: s == &w.mapper && w.input.ignoresKey}
		key, value, _ := strings.Cut(w.conf.Get("mapreduce.fieldsel."+side+".output.key.value.fields.spec", "0-:"), ":")
		value, _, _ = strings.Cut(value, ":")
		if s.fields.keys, _, err = parseFields(key); err == nil { // an open range in a key has no effect
			s.fields.values, s.fields.rest, err = parseFields(value)
		}
		if err != nil {
			return failed("mapreduce.fieldsel.%s.output.key.value.fields.spec: %v", side, err)
		}
		if s == &w.combiner && s.fields.kinds() != [2]Kind{Text, Text} {
			return failed("-combiner : the fields of FieldSelectionMapReduce must give a key and a value")
		}
	}
	return nil
}

// parseFields reads a list of fields: numbers below 2^20, ranges a-b, and one range a- that is open. rest is the
// start of the open range, or -1.
func parseFields(list string) (fields []int, rest int, err error) {
	rest = -1
	for item := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(item, "-")
		open := isRange && to == ""
		switch {
		case item == "":
			continue
		case isRange && from == "":
			from = "0"
		case !isRange:
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 20)
		last := first
		if err == nil && !open {
			last, err = strconv.ParseUint(to, 10, 20)
		}
		switch {
		case err != nil:
			return nil, 0, fmt.Errorf("%q is not a list of fields: %w", list, err)
		case open:
			rest = int(first)
			continue
		}
		for f := first; f <= last; f++ {
			fields = append(fields, int(f))
		}
	}
	return fields, rest, nil
}

// kinds returns the kinds of the keys and values that a reduce emits. Without fields they are Null.
func (s *fieldSelection) kinds() (kinds [2]Kind) {
	if len(s.keys) == 0 {
		kinds[0] = Null
	}
	if len(s.values) == 0 && s.rest < 0 {
		kinds[1] = Null
	}
	return kinds
}

// choose returns the new key and value of a record. A map without fields for the key has those of the value as its key.
func (s *fieldSelection) choose(key, value []byte, isMap bool) (newKey, newValue []byte) {
	text := string(ReplaceInvalid(value))
	switch {
	case s.withoutKey:
	case isMap:
		text = string(key) + text
	default:
		text = string(ReplaceInvalid(key)) + s.separator + text
	}
	// As String.split of Java: empty fields at the end do not count, unless nothing divides the text.
	fields := s.divides.Split(text, -1)
	for n := len(fields); len(fields) > 0 && n > 1 && fields[len(fields)-1] == ""; {
		fields = fields[:len(fields)-1]
	}
	newKey, newValue = s.join(fields, s.keys, -1), s.join(fields, s.values, s.rest)
	if isMap && len(s.keys) == 0 {
		return newValue, nil
	}
	return newKey, newValue
}

// join returns the fields of a list, and those from rest on. As in Hadoop, a field that is missing is empty, and only
// the last character is cut off behind the last field.
func (s *fieldSelection) join(fields []string, list []int, rest int) []byte {
	var text []byte
	for _, f := range list {
		if f < len(fields) {
			text = append(text, fields[f]...)
		}
		text = append(text, s.separator...)
	}
	for f := rest; f >= 0 && f < len(fields); f++ {
		text = append(append(text, fields[f]...), s.separator...)
	}
	if len(text) > 0 {
		text = text[:len(text)-1]
	}
	return text
}
