package count

import (
	"bytes"
	"strconv"

	"mrlocal/jobs/internal/csv"
)

// aligned is the format of uniq -c.
type aligned struct{}

// countColumns is the least width of a count.
const countColumns = 7

// Append implements counts.Format.
func (aligned) Append(dst, key []byte, count uint64) []byte {
	var digits [20]byte
	text := strconv.AppendUint(digits[:0], count, 10)
	for n := len(text); n < countColumns; n++ {
		dst = append(dst, ' ')
	}
	dst = append(append(dst, text...), ' ')
	return append(dst, key...)
}

// Cut implements counts.Format. The key may begin with blanks and digits, so the one
// space behind the count ends it.
func (aligned) Cut(record []byte) (key []byte, count uint64, ok bool) {
	text, key, ok := bytes.Cut(bytes.TrimLeft(record, " "), []byte(" "))
	count, err := strconv.ParseUint(string(text), 10, 64)
	return key, count, ok && err == nil
}

// table is CSV: the count, then the columns that are counted.
type table struct {
	separator byte
	key       []byte // of Cut, reused
}

// Append implements counts.Format. NUL ends each text of the key.
func (t *table) Append(dst, key []byte, count uint64) []byte {
	dst = strconv.AppendUint(dst, count, 10)
	for len(key) > 0 {
		n := bytes.IndexByte(key, 0)
		if n < 0 { // keys of this package end with NUL
			n = len(key)
		}
		dst = csv.Append(append(dst, t.separator), key[:n], t.separator)
		key = key[min(n+1, len(key)):]
	}
	return dst
}

// Cut implements counts.Format.
func (t *table) Cut(record []byte) (key []byte, count uint64, ok bool) {
	text, rest, more := csv.Cut(record, t.separator)
	count, err := strconv.ParseUint(string(text), 10, 64)
	t.key = t.key[:0]
	for more {
		var value []byte
		value, rest, more = csv.Cut(rest, t.separator)
		t.key = append(append(t.key, csv.Text(value)...), 0)
	}
	return t.key, count, err == nil
}
