package setting

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
)

// Value reads the value of a setting from text, and keeps it where its maker has said.
type Value struct {
	// Set reads text. It fails if text has another form or is out of range. The error does not have
	// the name of the setting. A user may repeat a flag, so it may be called several times.
	Set   func(text string) error
	Show  func() string // text that Set reads; "" if the zero value is there, which stands for the default. nil: always ""
	Valid func() error  // says what is wrong with the value that is there; nil: nothing
	Bare  bool          // the flag takes no value; Set gets "true"
	Many  bool          // each call of Set adds a value; else the last one counts
	Words []string      // words that Set takes, the default first; nil: it takes others
}

// String returns the value that is there as a text.
func (v Value) String() string {
	if v.Show == nil {
		return ""
	}
	return v.Show()
}

// Check says what is wrong with the value that is there; nil: nothing.
func (v Value) Check() error {
	if v.Valid == nil {
		return nil
	}
	return v.Valid()
}

// typed returns a Value of one Go type. parse reads a text, and says what is wrong with it. check says what is wrong
// with a value, which parse has read from text. format is the reverse of parse.
func typed[T comparable](p *T, parse func(text string) (T, error), check func(v T, text string) error, format func(v T) string) Value {
	var zero T
	return Value{
		Set: func(text string) error {
			x, err := parse(text)
			if err == nil {
				err = check(x, text)
			}
			if err == nil {
				*p = x
			}
			return err
		},
		Show: func() string {
			if *p == zero {
				return ""
			}
			return format(*p)
		},
		Valid: func() error {
			if *p == zero {
				return nil
			}
			return check(*p, format(*p))
		},
	}
}

// worded returns parse with problem as the message of each of its errors.
func worded[T any](problem string, parse func(string) (T, error)) func(string) (T, error) {
	return func(text string) (T, error) {
		x, err := parse(text)
		if err != nil {
			err = wrong(text, "%s", problem)
		}
		return x, err
	}
}

// between returns a check that a number lies from least to most.
func between[T int | int32 | int64 | uint64 | ppm.Share | time.Duration](least, most T, format func(T) string) func(T, string) error {
	return func(x T, text string) error {
		switch {
		case x < least:
			return wrong(text, "too small; at least %s", format(least))
		case x > most:
			return wrong(text, "too large; at most %s", format(most))
		}
		return nil
	}
}

// Count returns the value of a whole number from least to most.
func Count[T int | int32 | int64](p *T, least, most T) Value {
	format := func(n T) string { return strconv.FormatInt(int64(n), 10) }
	check := between(least, most, format)
	return typed(p, func(text string) (T, error) {
		// ParseInt would accept a plus sign.
		digits := strings.TrimPrefix(text, "-")
		if digits == "" || strings.Trim(digits, "0123456789") != "" {
			return 0, wrong(text, "not a whole number")
		}
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil && text[0] == '-' || err == nil && n < int64(least):
			return 0, check(least-1, text)
		case err != nil || n > int64(most):
			return 0, wrong(text, "too large; at most %d", most)
		}
		return T(n), nil
	}, check, format)
}

// Limit returns the value of a bound as GNU tools read it. A negative number means that there is none, which is nil.
// A number that is too large is lowered to the largest int64.
func Limit(p **int64) Value {
	return Func(func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return wrong(text, "not a whole number")
		}
		if *p = &n; n < 0 {
			*p = nil
		}
		return nil
	})
}

// Seed returns the value of a seed of drawn numbers, from 1 on.
func Seed(p *uint64) Value {
	format := func(n uint64) string { return strconv.FormatUint(n, 10) }
	parse := func(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }
	return typed(p, worded("not a whole number up to 18446744073709551615", parse), between(1, math.MaxUint64, format), format)
}

// Size returns the value of a number of bytes from least to most: 4096, 64MiB, 100MB (decimal), 1.5G
// (binary).
func Size(p *int64, least, most int64) Value {
	return typed(p, parseSize, between(least, most, ppm.FormatBytes), ppm.FormatBytes)
}

func parseSize(text string) (int64, error) {
	n, problem := ppm.ParseBytes(text)
	if problem != "" {
		return 0, wrong(text, "%s", problem)
	}
	return n, nil
}

// Rate returns the value of a number of bytes a second, at least least. The text may end in /s.
func Rate(p *int64, least int64) Value {
	parse := func(text string) (int64, error) { return parseSize(strings.TrimSuffix(text, "/s")) }
	return typed(p, parse, between(least, math.MaxInt64, ppm.FormatBytes), ppm.FormatBytes)
}

// Share returns the value of a share from 0 to 1, with at most six decimals.
func Share(p *ppm.Share) Value { return typed(p, ParseShare, checkShare, ppm.Share.String) }

// ParseShare reads a share from 0 to 1, with at most six decimals.
func ParseShare(text string) (ppm.Share, error) {
	_, fraction, dotted := strings.Cut(text, ".")
	if strings.Trim(text, "0123456789.") != "" || text == "" || strings.Contains(fraction, ".") || dotted && fraction == "" {
		return 0, wrong(text, "not a share; write a decimal from 0 to 1, such as 0.5")
	}
	// Zeros at the end do not count, so 0.5000000 is valid.
	if len(strings.TrimRight(fraction, "0")) > 6 {
		return 0, wrong(text, "too fine; at most six decimals")
	}
	p, err := ppm.Parse(text)
	if err != nil {
		return 0, wrong(text, "more than 1; write a decimal from 0 to 1, such as 0.5")
	}
	return p, checkShare(p, text)
}

func checkShare(p ppm.Share, text string) error {
	switch {
	case p < 0:
		return wrong(text, "not a share; write a decimal from 0 to 1, such as 0.5")
	case p > ppm.One:
		return wrong(text, "more than 1; write a decimal from 0 to 1, such as 0.5")
	}
	return nil
}

// Mark returns the value of a share above 0, as a number up to 1.
func Mark(p *float64) Value {
	return typed(p, func(text string) (float64, error) {
		share, err := ParseShare(text)
		return float64(share) / float64(ppm.One), err
	}, func(x float64, text string) error {
		if !(x > 0 && x <= 1) { // the negation also refuses NaN
			return wrong(text, "must be more than 0, and at most 1")
		}
		return nil
	}, func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) })
}

// Number returns the value of a finite number above 0.
func Number(p *float64) Value {
	parse := func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
	return typed(p, worded("want a number above 0", parse), func(x float64, text string) error {
		if !(x > 0) || math.IsInf(x, 0) { // the negation also refuses NaN
			return wrong(text, "want a number above 0")
		}
		return nil
	}, func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) })
}

// Factor returns the value of a decimal number from least to most, as 1.5.
func Factor(p *ppm.Share, least, most ppm.Share) Value {
	return typed(p, worded("not a factor; write a decimal number such as 1.5", ppm.Parse), between(least, most, ppm.Share.String), ppm.Share.String)
}

// Time returns the value of a duration, as 250ms, 20s or 1m30s. With a least value of 0 it may be 0
// too.
func Time(p *time.Duration, least time.Duration) Value {
	return typed(p, ParseTime, func(d time.Duration, text string) error {
		switch {
		case d <= 0 && least == 1:
			return wrong(text, "must be more than 0s")
		case d < least:
			return wrong(text, "too small; at least %v", least)
		}
		return nil
	}, time.Duration.String)
}

// ParseTime reads a duration: 250ms, 20s, 1m30s, or 0.
func ParseTime(text string) (time.Duration, error) {
	// Without a unit a number could mean seconds or milliseconds.
	if text != "" && text != "0" && strings.Trim(text, "0123456789.") == "" {
		return 0, wrong(text, "no unit; write 20s or 250ms")
	}
	d, err := time.ParseDuration(text)
	switch {
	// The text has only characters of durations, so a wrong unit or an overflow is the likely mistake.
	case err != nil && strings.TrimLeft(text, "0123456789.hmsuµn") == "" && text != "":
		return 0, wrong(text, "not a time, or too long; write 20s or 250ms")
	case err != nil:
		return 0, wrong(text, "not a time; write 20s or 250ms")
	}
	return d, nil
}

// OneOf returns the value of a choice between words. get returns the word that is chosen, and set gets
// the index of another. The first one is the default. get is nil if nobody asks for the word. The error of
// a mistake suggests the nearest word, or lists all words if several are equally near.
func OneOf(get func() string, set func(index int), words ...string) Value {
	v := Value{Words: words, Show: get, Set: func(text string) error {
		if i := slices.Index(words, text); i >= 0 {
			set(i)
			return nil
		}
		// Nearest returns the first of several equally near names. With the reversed list it returns
		// another one if there is a tie.
		backwards := slices.Clone(words)
		slices.Reverse(backwards)
		if n := errs.Nearest(text, words); n != "" && n == errs.Nearest(text, backwards) {
			return wrong(text, "no such choice; did you mean %s?", n)
		}
		return wrong(text, "no such choice; one of %s", strings.Join(words, ", "))
	}}
	v.Valid = func() error {
		if text := v.String(); text != "" && !slices.Contains(words, text) {
			return wrong(text, "no such choice; one of %s", strings.Join(words, ", "))
		}
		return nil
	}
	return v
}

// Choice returns the value of a text that is one of words. The first one is the default, as is "".
func Choice(p *string, words ...string) Value {
	return OneOf(func() string { return *p }, func(i int) { *p = words[i] }, words...)
}

// Enum returns the value of a number whose names are words, from 0 on. The first one is the default.
func Enum[T ~int | ~int8 | ~uint8](p *T, words ...string) Value {
	return OneOf(func() string {
		if int(*p) >= len(words) {
			return strconv.Itoa(int(*p))
		}
		return words[*p]
	}, func(i int) { *p = T(i) }, words...)
}

// Either returns the value of a choice between two words. yes is the word that sets *p, and no clears
// it. otherwise is the default.
func Either(p *bool, yes, no string, otherwise bool) Value {
	words := []string{no, yes}
	if otherwise {
		words = []string{yes, no}
	}
	return OneOf(func() string {
		if *p {
			return yes
		}
		return no
	}, func(i int) { *p = words[i] == yes }, words...)
}

// Toggle returns the value of a flag without a value, which sets *p.
func Toggle(p *bool) Value { return Call(func() { *p = true }) }

// Text returns the value of a text that is not empty, as a path.
func Text(p *string) Value {
	return typed(p, func(text string) (string, error) {
		if text == "" {
			return "", errors.New("the value is empty")
		}
		return text, nil
	}, func(string, string) error { return nil }, func(s string) string { return s })
}

// Func returns a value that read reads.
func Func(read func(text string) error) Value { return Value{Set: read} }

// Call returns the value of a flag without a value, for which f is called.
func Call(f func()) Value {
	return Value{Bare: true, Set: func(text string) error {
		if text != "true" {
			return errors.New("takes no value")
		}
		f()
		return nil
	}}
}

// List returns the value of a list of texts. Each flag adds one, which may be empty.
func List(p *[]string) Value {
	return Each(func(text string) error {
		*p = append(*p, text)
		return nil
	})
}

// Each returns a value that may be given several times. add reads each.
func Each(add func(text string) error) Value { return Value{Set: add, Many: true} }

// OrZero returns a value that also takes 0, which clears *p.
func OrZero[T any](p *T, v Value) Value {
	return Value{Show: v.Show, Valid: v.Valid, Set: func(text string) error {
		if text == "0" || text == "0s" {
			*p = *new(T)
			return nil
		}
		return v.Set(text)
	}}
}

// Optional returns the value of something that a user may leave out: *p is nil until it is set. Zero is a value of its
// own. of makes the value of the thing itself, such as Share.
func Optional[T any](p **T, of func(*T) Value) Value {
	return Value{
		Set: func(text string) error {
			var x T
			err := of(&x).Set(text)
			if err == nil {
				*p = &x
			}
			return err
		},
		Show: func() string {
			if *p == nil {
				return ""
			}
			return cmp.Or(of(*p).String(), "0")
		},
		Valid: func() error {
			if *p == nil {
				return nil
			}
			return of(*p).Check()
		},
	}
}
