package streaming

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// sums is the reducer "aggregate" (ValueAggregatorReducer, ValueAggregatorCombiner).
// A key is KIND:NAME, such as LongValueSum:the. KIND says how the values of the key
// become one result. The fields hold the key of the last record and its values so far.
type sums struct {
	combine bool   // it is a combiner: results are values for a later sums
	begun   bool   // key is set
	key     []byte // owned
	kind    string // as in aggregations, however the key spells it
	at      int    // index of the colon in key

	total    int64            // of the kinds that begin with Long
	decimal  float64          // of DoubleValueSum
	text     string           // of StringValueMax and StringValueMin
	values   map[string]int64 // of UniqValueCount and ValueHistogram: how often each value came
	distinct []string         // the keys of values, in the order in which they came
	count    int64            // values so far
}

// add takes a record. Records with equal keys must come one after the other. If the key is
// new, emit first gets the result of the key before. add borrows key and value during the
// call. It fails if the key has no kind, or the value does not suit the kind.
func (s *sums) add(key, value []byte, emit func(key, value []byte)) error {
	if !s.begun || !bytes.Equal(s.key, key) {
		if err := s.end(emit); err != nil {
			return err
		}
		at := bytes.IndexByte(key, ':')
		if at < 0 {
			return fmt.Errorf("aggregate: the key %q has no KIND before a colon", key)
		}
		*s = sums{combine: s.combine, begun: true, key: append(s.key[:0], key...), kind: aggregation(string(key[:at])), at: at}
	}
	return s.value(string(value))
}

// aggregations lists the kinds that Hadoop knows.
var aggregations = []string{
	"LongValueSum", "LongValueMax", "LongValueMin", "DoubleValueSum", "StringValueMax", "StringValueMin", "UniqValueCount", "ValueHistogram",
}

// aggregation returns a kind as aggregations spells it. Hadoop takes upper and lower case for the
// same (ValueAggregatorBaseDescriptor.generateValueAggregator). An unknown kind stays as it is.
func aggregation(text string) string {
	for _, kind := range aggregations {
		if strings.EqualFold(text, kind) {
			return kind
		}
	}
	return text
}

// value takes a value of the current key. Its error has the text of Hadoop's exception.
func (s *sums) value(text string) error {
	number := func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			err = fmt.Errorf("aggregate: For input string: %q", text)
		}
		return n, err
	}
	// The first value is both the greatest and the least so far.
	first := s.count == 0
	s.count++
	switch s.kind {
	case "LongValueSum", "LongValueMax", "LongValueMin":
		n, err := number(text)
		switch {
		case err != nil:
			return err
		case s.kind == "LongValueSum":
			s.total += n
		case first || s.kind == "LongValueMax" && n > s.total || s.kind == "LongValueMin" && n < s.total:
			s.total = n
		}
	case "DoubleValueSum":
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return fmt.Errorf("aggregate: For input string: %q", text)
		}
		s.decimal += f
	case "StringValueMax", "StringValueMin":
		if first || s.kind == "StringValueMax" && text > s.text || s.kind == "StringValueMin" && text < s.text {
			s.text = text
		}
	case "UniqValueCount":
		s.note(text, 1)
	case "ValueHistogram": // VALUE or, from a combiner, VALUE<TAB>COUNT
		at := strings.LastIndexByte(text, '\t')
		if at < 0 {
			s.note(text, 1)
			return nil
		}
		n, err := number(text[at+1:])
		if err != nil {
			return err
		}
		s.note(text[:at], n)
	default: // Hadoop's task fails too, with a NullPointerException
		return fmt.Errorf("aggregate: %s is not a kind of aggregation", s.kind)
	}
	return nil
}

// note counts a value n times. It holds all distinct values of a key in memory, as Hadoop does.
func (s *sums) note(v string, n int64) {
	if s.values == nil {
		s.values = map[string]int64{}
	}
	if _, ok := s.values[v]; !ok {
		s.distinct = append(s.distinct, v)
	}
	s.values[v] += n
}

// end emits the result of the current key, if there is one. A reduce leaves KIND and the
// colon out of the key. emit borrows its arguments.
func (s *sums) end(emit func(key, value []byte)) error {
	if !s.begun {
		return nil
	}
	s.begun = false
	key := s.key
	if !s.combine {
		key = key[s.at+1:]
	}
	switch s.kind {
	case "UniqValueCount":
		if !s.combine {
			emit(key, strconv.AppendInt(nil, int64(len(s.distinct)), 10))
			return nil
		}
		for _, v := range s.distinct {
			emit(key, []byte(v))
		}
	case "ValueHistogram":
		s.histogram(key, emit)
	case "DoubleValueSum":
		emit(key, wireDouble(s.decimal))
	case "StringValueMax", "StringValueMin":
		emit(key, []byte(s.text))
	default:
		emit(key, strconv.AppendInt(nil, s.total, 10))
	}
	return nil
}

// histogram emits the result of ValueHistogram. A combiner emits VALUE<TAB>COUNT for each
// value. A reduce emits six numbers: how many distinct values there are, then the least,
// median, greatest, mean and standard deviation of their counts.
func (s *sums) histogram(key []byte, emit func(key, value []byte)) {
	if s.combine {
		slices.Sort(s.distinct)
		for _, v := range s.distinct {
			emit(key, fmt.Appendf(nil, "%s\t%d", v, s.values[v]))
		}
		return
	}
	counts, sum := make([]int64, 0, len(s.distinct)), int64(0)
	for _, v := range s.distinct {
		counts = append(counts, s.values[v])
		sum += s.values[v]
	}
	slices.Sort(counts)
	mean, deviation := float64(sum)/float64(len(counts)), 0.0
	for _, c := range counts {
		// The conversion keeps the product from being fused with the sum, which would give other
		// last digits on some processors.
		d := float64(c) - mean
		deviation += float64(d * d)
	}
	deviation = math.Sqrt(deviation / float64(len(counts)))
	emit(key, fmt.Appendf(nil, "%d\t%d\t%d\t%d\t%s\t%s", len(counts), counts[0], counts[len(counts)/2], counts[len(counts)-1], wireDouble(mean), wireDouble(deviation)))
}

// wireDouble returns a number in decimal, as Java prints a double.
func wireDouble(f float64) []byte { return appendFloat(nil, f, 64) }
