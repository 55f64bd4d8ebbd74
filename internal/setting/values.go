package setting

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
)

// value is a Value of one Go type. parse reads a text, and says what is wrong with it. check says what is wrong with
// the value v, which parse has read from text. format is the reverse of parse.
type value[T comparable] struct {
	p      *T
	parse  func(text string) (T, error)
	check  func(v T, text string) error
	format func(v T) string
}

// Set implements Value.
func (v value[T]) Set(text string) error {
	x, err := v.parse(text)
	if err == nil {
		err = v.check(x, text)
	}
	if err == nil {
		*v.p = x
	}
	return err
}

// String implements Value.
func (v value[T]) String() string {
	var zero T
	if v.p == nil || *v.p == zero {
		return ""
	}
	return v.format(*v.p)
}

// Check says what is wrong with the value that is there; nil: nothing.
func (v value[T]) Check() error {
	var zero T
	if *v.p == zero {
		return nil
	}
	return v.check(*v.p, v.format(*v.p))
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
	return value[T]{p, func(text string) (T, error) {
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
	}, check, format}
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
	return value[uint64]{p, func(text string) (uint64, error) {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 0, wrong(text, "not a whole number up to 18446744073709551615")
		}
		return n, nil
	}, between(1, math.MaxUint64, format), format}
}

// Size returns the value of a number of bytes from least to most: 4096, 64MiB, 100MB (decimal), 1.5G
// (binary).
func Size(p *int64, least, most int64) Value {
	return value[int64]{p, func(text string) (int64, error) {
		n, problem := ppm.ParseBytes(text)
		if problem != "" {
			return 0, wrong(text, "%s", problem)
		}
		return n, nil
	}, between(least, most, ppm.FormatBytes), ppm.FormatBytes}
}

// Rate returns the value of a number of bytes a second, at least least. The text may end in /s.
func Rate(p *int64, least int64) Value {
	v := Size(p, least, math.MaxInt64).(value[int64])
	size := v.parse
	v.parse = func(text string) (int64, error) { return size(strings.TrimSuffix(text, "/s")) }
	return v
}

// Share returns the value of a share from 0 to 1, with at most six decimals.
func Share(p *ppm.Share) Value { return value[ppm.Share]{p, parseShare, checkShare, ppm.Share.String} }

// ParseShare reads a share from 0 to 1, with at most six decimals.
func ParseShare(text string) (ppm.Share, error) {
	p, err := parseShare(text)
	if err == nil {
		err = checkShare(p, text)
	}
	return p, err
}

func parseShare(text string) (ppm.Share, error) {
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
	return p, nil
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
	return value[float64]{p, func(text string) (float64, error) {
		share, err := ParseShare(text)
		return float64(share) / float64(ppm.One), err
	}, func(x float64, text string) error {
		if !(x > 0 && x <= 1) { // the negation also refuses NaN
			return wrong(text, "must be more than 0, and at most 1")
		}
		return nil
	}, func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }}
}

// Number returns the value of a finite number above 0.
func Number(p *float64) Value {
	return value[float64]{p, func(text string) (float64, error) {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, wrong(text, "want a number above 0")
		}
		return x, nil
	}, func(x float64, text string) error {
		if !(x > 0) || math.IsInf(x, 0) { // the negation also refuses NaN
			return wrong(text, "want a number above 0")
		}
		return nil
	}, func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }}
}

// Factor returns the value of a decimal number from least to most, as 1.5.
func Factor(p *ppm.Share, least, most ppm.Share) Value {
	return value[ppm.Share]{p, func(text string) (ppm.Share, error) {
		f, err := ppm.Parse(text)
		if err != nil {
			return 0, wrong(text, "not a factor; write a decimal number such as 1.5")
		}
		return f, nil
	}, between(least, most, ppm.Share.String), ppm.Share.String}
}

// Time returns the value of a duration, as 250ms, 20s or 1m30s. With a least value of 0 it may be 0
// too.
func Time(p *time.Duration, least time.Duration) Value {
	return value[time.Duration]{p, ParseTime, func(d time.Duration, text string) error {
		switch {
		case d <= 0 && least == 1:
			return wrong(text, "must be more than 0s")
		case d < least:
			return wrong(text, "too small; at least %v", least)
		}
		return nil
	}, time.Duration.String}
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

// choice is a Value that is one of some words. index is that of the word.
type choice struct {
	words []string // the default first
	get   func() string
	set   func(index int)
}

// Set implements Value. Its error suggests the nearest word, or lists all words if several are equally
// near.
func (c choice) Set(text string) error {
	if i := slices.Index(c.words, text); i >= 0 {
		c.set(i)
		return nil
	}
	// Nearest returns the first of several equally near names. With the reversed list it returns
	// another one if there is a tie.
	backwards := slices.Clone(c.words)
	slices.Reverse(backwards)
	if n := errs.Nearest(text, c.words); n != "" && n == errs.Nearest(text, backwards) {
		return wrong(text, "no such choice; did you mean %s?", n)
	}
	return wrong(text, "no such choice; one of %s", strings.Join(c.words, ", "))
}

// String implements Value.
func (c choice) String() string {
	if c.get == nil {
		return ""
	}
	return c.get()
}

// Choices returns the words.
func (c choice) Choices() []string { return c.words }

// Check says that the value that is there is none of the words.
func (c choice) Check() error {
	if text := c.get(); text != "" && !slices.Contains(c.words, text) {
		return wrong(text, "no such choice; one of %s", strings.Join(c.words, ", "))
	}
	return nil
}

// OneOf returns the value of a choice between words. get returns the word that is chosen, and set gets
// the index of another. The first one is the default.
func OneOf(get func() string, set func(index int), words ...string) Value {
	return choice{words, get, set}
}

// Choice returns the value of a text that is one of words. The first one is the default, as is "".
func Choice(p *string, words ...string) Value {
	return choice{words, func() string { return *p }, func(i int) { *p = words[i] }}
}

// Enum returns the value of a number whose names are words, from 0 on. The first one is the default.
func Enum[T ~int | ~int8 | ~uint8](p *T, words ...string) Value {
	return choice{words, func() string {
		if int(*p) >= len(words) {
			return strconv.Itoa(int(*p))
		}
		return words[*p]
	}, func(i int) { *p = T(i) }}
}

// Either returns the value of a choice between two words. yes is the word that sets *p, and no clears
// it. otherwise is the default.
func Either(p *bool, yes, no string, otherwise bool) Value {
	words := []string{no, yes}
	if otherwise {
		words = []string{yes, no}
	}
	return choice{words, func() string {
		if *p {
			return yes
		}
		return no
	}, func(i int) { *p = words[i] == yes }}
}

// Toggle returns the value of a flag without a value, which sets *p.
func Toggle(p *bool) Value { return Call(func() { *p = true }) }

// Text returns the value of a text that is not empty, as a path.
func Text(p *string) Value {
	return value[string]{p, func(text string) (string, error) {
		if text == "" {
			return "", errors.New("the value is empty")
		}
		return text, nil
	}, func(string, string) error { return nil }, func(s string) string { return s }}
}

// Custom is a Value made of functions. Read may be called several times, for a flag that adds to a list.
type Custom struct {
	Read  func(text string) error // as Value.Set
	Show  func() string           // as Value.String; nil: ""
	Valid func() error            // says what is wrong with the value that is there; nil: nothing
	Bare  bool                    // the flag takes no value; Read gets "true"
	Words []string                // some words that Read takes; nil: unknown
	Many  bool                    // each call of Read adds a value; else the last one counts
}

// Set implements Value.
func (c Custom) Set(text string) error { return c.Read(text) }

// String implements Value.
func (c Custom) String() string {
	if c.Show == nil {
		return ""
	}
	return c.Show()
}

// IsBoolFlag reports whether the flag takes no value.
func (c Custom) IsBoolFlag() bool { return c.Bare }

// Choices returns c.Words.
func (c Custom) Choices() []string { return c.Words }

// Adds returns c.Many.
func (c Custom) Adds() bool { return c.Many }

// Check calls Valid.
func (c Custom) Check() error {
	if c.Valid == nil {
		return nil
	}
	return c.Valid()
}

// Func returns a value that read reads.
func Func(read func(text string) error) Value { return Custom{Read: read} }

// Call returns the value of a flag without a value, for which f is called.
func Call(f func()) Value {
	return Custom{Bare: true, Read: func(text string) error {
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
func Each(add func(text string) error) Value { return Custom{Read: add, Many: true} }

// optional is a Value that may be missing: *p is nil until it is set.
type optional[T any] struct {
	p  **T
	of func(*T) Value
}

// Set implements Value.
func (o optional[T]) Set(text string) error {
	var x T
	err := o.of(&x).Set(text)
	if err == nil {
		*o.p = &x
	}
	return err
}

// String implements Value. A zero that was given is a text, too.
func (o optional[T]) String() string {
	if o.p == nil || *o.p == nil {
		return ""
	}
	if text := o.of(*o.p).String(); text != "" {
		return text
	}
	return "0"
}

// Check says what is wrong with the value that is there; nil: nothing.
func (o optional[T]) Check() error {
	if *o.p == nil {
		return nil
	}
	return Valid(o.of(*o.p))
}

// OrZero returns a value that also takes 0, which clears *p.
func OrZero[T any](p *T, v Value) Value {
	return Custom{Read: func(text string) error {
		if text == "0" || text == "0s" {
			var zero T
			*p = zero
			return nil
		}
		return v.Set(text)
	}, Show: v.String, Valid: func() error { return Valid(v) }}
}

// Optional returns the value of something that a user may leave out, and for which zero is a value of its own. of makes the
// value of the thing itself, such as Share.
func Optional[T any](p **T, of func(*T) Value) Value { return optional[T]{p, of} }
