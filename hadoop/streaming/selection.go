package streaming

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

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
