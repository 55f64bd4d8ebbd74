package typed

import "time"

// Most times are as 2006-01-02T15:04:05Z. For these, parseTime and clock take a part of the time that package time
// takes.

// parseTime is time.Parse with time.RFC3339Nano.
func parseTime(text string) (time.Time, error) {
	if len(text) == 20 && text[4] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':' && text[16] == ':' && text[19] == 'Z' {
		year := 100*twoDigits(text, 0) + twoDigits(text, 2)
		month, day := twoDigits(text, 5), twoDigits(text, 8)
		hour, minute := twoDigits(text, 11), twoDigits(text, 14)
		second := twoDigits(text, 17)
		if year <= 9999 && 1 <= month && month <= 12 && 1 <= day && day <= 28 && hour < 24 && minute < 60 && second < 60 {
			if month -= 3; month < 0 { // years begin with March, so that a leap day is the last one
				month, year = month+12, year-1
			}
			year += 400 // not negative
			days := 365*year + year/4 - year/100 + year/400 + (153*month+2)/5 + day - 865566
			return time.Unix(int64(((24*days+hour)*60+minute)*60+second), 0).UTC(), nil
		}
	}
	return time.Parse(time.RFC3339Nano, text)
}

// twoDigits returns the number of two digits in text; more than 9999 if there are other characters.
func twoDigits(text string, at int) int {
	high, low := text[at]-'0', text[at+1]-'0'
	if high > 9 || low > 9 {
		return 10000
	}
	return 10*int(high) + int(low)
}

// clock has the text of the last time.
type clock struct {
	day  int64 // since 1970
	text [20]byte
}

// append is t.AppendFormat with time.RFC3339Nano.
func (c *clock) append(dst []byte, t time.Time) []byte {
	const endOf9999 = 253402300800
	sec := t.Unix()
	if t.Location() != time.UTC || t.Nanosecond() != 0 || sec < 0 || sec >= endOf9999 {
		return t.AppendFormat(dst, time.RFC3339Nano)
	}
	day, at := sec/86400, uint(sec%86400)
	if day != c.day || c.text[0] == 0 {
		year, month, of := t.Date()
		c.day = day
		copy(c.text[:], "0000-00-00T00:00:00Z")
		putTwo(c.text[0:], uint(year)/100)
		putTwo(c.text[2:], uint(year)%100)
		putTwo(c.text[5:], uint(month))
		putTwo(c.text[8:], uint(of))
	}
	putTwo(c.text[11:], at/3600)
	putTwo(c.text[14:], at/60%60)
	putTwo(c.text[17:], at%60)
	return append(dst, c.text[:]...)
}

// putTwo puts a number below 100 into text as two digits.
func putTwo(text []byte, n uint) { text[0], text[1] = byte('0'+n/10), byte('0'+n%10) }
