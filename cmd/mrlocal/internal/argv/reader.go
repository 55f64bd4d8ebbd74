package argv

import (
	"os"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
)

// Reader reads the values of the flags of a line. Err keeps the first mistake, so a caller reads
// all flags and then checks Err once. For a flag that is not set, and after a mistake in its value,
// a method returns the zero value unless its comment says otherwise.
type Reader struct {
	Line Line
	Err  error
}

// Keep sets Err to err unless Err has an earlier mistake. err may be nil.
func (r *Reader) Keep(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// Value reads a flag with parse, which gets the name and the text of the flag. If the flag is not
// set, it returns the zero value.
func Value[T any](r *Reader, flag string, parse func(flag, text string) (T, error)) (v T) {
	text, ok := r.Line.Value(flag)
	if !ok {
		return v
	}
	v, err := parse(flag, text)
	r.Keep(err)
	return v
}

// Count reads a whole number from least to most. A flag that is not set gives 0, even if least is
// above 0.
func (r *Reader) Count(flag string, least, most int) int {
	return Value(r, flag, func(flag, text string) (int, error) { return Count(flag, text, least, most) })
}

// Limit reads a bound as GNU tools do. nil means that there is no bound.
func (r *Reader) Limit(flag string) *int64 { return Value(r, flag, Limit) }

// CountOrMultiple reads a count from 0 to most, or a factor after a prefix, as in auto:1.75, which
// is at most mostMultiple. One of the two results is 0.
func (r *Reader) CountOrMultiple(flag, prefix string, most int, mostMultiple ppm.Share) (n int, times ppm.Share) {
	if text, _ := r.Line.Value(flag); !strings.HasPrefix(text, prefix) {
		return r.Count(flag, 0, most), 0
	}
	return 0, Value(r, flag, func(flag, text string) (ppm.Share, error) { return Multiple(flag, text, prefix, mostMultiple) })
}

// Size reads a number of bytes, at least least.
func (r *Reader) Size(flag string, least int64) int64 {
	return Value(r, flag, func(flag, text string) (int64, error) { return Size(flag, text, least) })
}

// Share reads a decimal from 0 to 1. It returns nil if the flag is not set.
func (r *Reader) Share(flag string) *ppm.Share {
	return Value(r, flag, func(flag, text string) (*ppm.Share, error) {
		p, err := Share(flag, text)
		return &p, err
	})
}

// Mark reads a share above 0, and returns it as a number up to 1.
func (r *Reader) Mark(flag string) float64 {
	p := r.Share(flag)
	if p == nil {
		return 0
	}
	if *p == 0 {
		r.Keep(errs.Optionf("--"+flag, "0: must be more than 0"))
	}
	return float64(*p) / float64(ppm.One)
}

// Time reads a duration above 0. If zero is true, the duration may be 0 too.
func (r *Reader) Time(flag string, zero bool) time.Duration {
	return Value(r, flag, func(flag, text string) (time.Duration, error) {
		if zero && (text == "0" || text == "0s") {
			return 0, nil
		}
		return Time(flag, text)
	})
}

// TimeGiven reads a duration, which may be 0. It returns nil if the flag was not given.
func (r *Reader) TimeGiven(flag string) *time.Duration {
	if !r.Line.Has(flag) {
		return nil
	}
	return new(r.Time(flag, true))
}

// Choice reads one of names. The first one is the default.
func (r *Reader) Choice(flag string, names ...string) string {
	if !r.Line.Has(flag) {
		return names[0]
	}
	return Value(r, flag, func(flag, text string) (string, error) { return Choice(flag, text, names...) })
}

// Path reads the name of a file, which must not be empty. It does not look at the file.
func (r *Reader) Path(flag string) string { return Value(r, flag, NonEmpty) }

// Seed reads --seed, a number above 0.
func (r *Reader) Seed() uint64 {
	n := Value(r, "seed", Seed)
	if r.Err == nil && n == 0 && r.Line.Has("seed") {
		r.Keep(errs.Optionf("--seed", "0: must be at least 1"))
	}
	return n
}

// Rate reads a number of bytes a second, at least 1. The text may end in /s.
func (r *Reader) Rate(flag string) int64 {
	return Value(r, flag, func(flag, text string) (int64, error) { return Size(flag, strings.TrimSuffix(text, "/s"), 1) })
}

// Directories reads a list of directories with commas between. Each must exist. It need not be
// writable, because this matters only if something spills.
func (r *Reader) Directories(flag string) []string {
	text, ok := r.Line.Value(flag)
	if !ok {
		return nil
	}
	dirs := strings.Split(text, ",")
	for _, d := range dirs {
		if d == "" {
			r.Keep(errs.Optionf("--"+flag, "an empty directory name in %s", errs.Quote(text)))
			continue
		}
		info, err := os.Stat(d)
		switch {
		case err != nil:
			r.Keep(errs.Optionf("--"+flag, "%s: %v", d, errs.Cause(err)))
		case !info.IsDir():
			r.Keep(errs.Optionf("--"+flag, "%s: not a directory", d))
		}
	}
	return dirs
}
