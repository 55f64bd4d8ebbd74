package lines

import "bytes"

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
func CSVTexts(record []byte, separator byte) []string {
	var texts []string
	for more := true; more; {
		var value []byte
		value, record, more = CutCSV(record, separator)
		texts = append(texts, string(CSVText(value)))
	}
	return texts
}
