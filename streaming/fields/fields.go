// Package fields holds what Hadoop does with the fields of a key: which bytes a
// key specification such as -k2,3n means, to which reduce a key goes, and in
// which order keys come.
//
// The functions give the answers of Hadoop 3.4.2, its oddities included. A separator of
// several bytes moves the start of a field by its first byte only. Bytes are signed in
// hashes. Invalid UTF-8 is replaced before KeyFieldBasedPartitioner hashes, but not
// before the default hash.
//
// An order is an encoding: Order.Append writes bytes that compare as the keys do,
// so that the kvbuffer sorts them as it sorts everything.
//
// The package is pure. It keeps no []byte of its callers. Neighbours: package
// streaming builds jobs from it.
package fields

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// errSpec is what is wrong with a specification that is not of the form.
var errSpec = errors.New("invalid -k argument: must be of the form -k pos1,[pos2], where pos is of the form f[.c]nr")

// Spec is one key specification, -k BEGIN[.CHAR][nr][,END[.CHAR][nr]]
// (KeyFieldHelper.KeyDescription). Fields and bytes count from 1. EndField 0 is
// the end of the key, EndByte 0 that of the field.
type Spec struct {
	BeginField, BeginByte int
	EndField, EndByte     int
	Numeric, Reverse      bool
}

// Specs is a list of specifications and how keys are cut into fields.
type Specs struct {
	list      []Spec
	separator []byte
	divided   bool // some -k was given; else a key is one field
}

// Parse reads options such as "-k1,1 -k2nr -r" (KeyFieldHelper.parseOption). Words
// that it does not know are ignored, as Hadoop ignores them. No options give no
// specifications.
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

// First returns the specification of the first n fields, which the property
// num.key.fields.for.partition asks for.
func First(n int, separator string) Specs {
	s := Specs{separator: []byte(separator)}
	if n >= 1 {
		s.list, s.divided = []Spec{{BeginField: 1, BeginByte: 1, EndField: n}}, true
	}
	return s
}

// Given reports whether there is a specification.
func (s Specs) Given() bool { return len(s.list) > 0 }

// parseKey reads what follows -k.
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

// parsePos reads f[.c][nr] and adds the letters to k. Where c is missing it is char.
func (k *Spec) parsePos(text string, char int) (field, at int, err error) {
	letters := strings.TrimLeft(text, "0123456789.-+")
	digits := text[:len(text)-len(letters)]
	for _, c := range letters {
		switch c {
		case 'n':
			k.Numeric = true
		case 'r':
			k.Reverse = true
		default:
			return 0, 0, errSpec
		}
	}
	f, c, hasChar := strings.Cut(digits, ".")
	if field, err = strconv.Atoi(f); err != nil {
		return 0, 0, errSpec
	}
	at = char
	if hasChar {
		if at, err = strconv.Atoi(c); err != nil {
			return 0, 0, errSpec
		}
	}
	return field, at, nil
}

// lengths appends the lengths of the fields of key to dst. A separator of several
// bytes is found whole, but the next field begins one byte behind its first byte:
// Hadoop advances by one (KeyFieldHelper.getWordLengths).
func (s *Specs) lengths(dst []int, key []byte) []int {
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

// span returns the bytes of key that k means, as key[begin:end]. ok is false if
// the key has no such place. end may lie before begin: the field is empty then.
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
	begin--
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
	if at += k.EndByte; at <= len(key) {
		end = at
	}
	return max(begin, 0), end, true
}
