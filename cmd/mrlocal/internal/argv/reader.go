package argv

import (
	"os"
	"strings"
	"time"

	"mrlocal/errs"
	"mrlocal/internal/ppm"
)

// Reader reads the values of the flags of a line. It keeps the first mistake in
// Err, so that a caller reads all flags and checks once. Unless a method says
// otherwise, a flag that is not set has the zero value.
type Reader struct {
	Line Line
	Err  error
}

// Keep keeps err unless there is a mistake already.
func (r *Reader) Keep(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// Value reads the value of a flag with parse; the zero value if the flag is not set.
func Value[T any](r *Reader, flag string, parse func(flag, text string) (T, error)) (v T) {
	text, ok := r.Line.Value(flag)
	if !ok {
		return v
	}
	v, err := parse(flag, text)
	r.Keep(err)
	return v
}

// Count reads a whole number from least to most.
func (r *Reader) Count(flag string, least, most int) int {
	return Value(r, flag, func(flag, text string) (int, error) { return Count(flag, text, least, most) })
}

// Limit reads a bound; nil: there is none.
func (r *Reader) Limit(flag string) *int64 { return Value(r, flag, Limit) }

// CountOrMultiple reads a count from 0 on, or a multiple of something behind a prefix, as in
// auto:1.75. The other one is 0.
func (r *Reader) CountOrMultiple(flag, prefix string, most int, mostMultiple ppm.Share) (n int, times ppm.Share) {
	if text, _ := r.Line.Value(flag); !strings.HasPrefix(text, prefix) {
		return r.Count(flag, 0, most), 0
	}
	return 0, Value(r, flag, func(flag, text string) (ppm.Share, error) { return Multiple(flag, text, prefix, mostMultiple) })
}

// Size reads a number of bytes.
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

// Mark reads a share above 0.
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

// Time reads a duration above 0. With zero, 0 is allowed as well and turns
// something off.
func (r *Reader) Time(flag string, zero bool) time.Duration {
	return Value(r, flag, func(flag, text string) (time.Duration, error) {
		if zero && (text == "0" || text == "0s") {
			return 0, nil
		}
		return Time(flag, text)
	})
}

// Choice reads one of a few names. The first one is the default.
func (r *Reader) Choice(flag string, names ...string) string {
	if !r.Line.Has(flag) {
		return names[0]
	}
	return Value(r, flag, func(flag, text string) (string, error) { return Choice(flag, text, names...) })
}

// Path reads the name of a file.
func (r *Reader) Path(flag string) string { return Value(r, flag, NonEmpty) }

// ShareOr reads a share that has another default than 0.
func (r *Reader) ShareOr(flag string, otherwise ppm.Share) ppm.Share {
	if p := r.Share(flag); p != nil {
		return *p
	}
	return otherwise
}

// MapAndReduce reads map=N,reduce=N, each from 1 to most. Both must be there.
func (r *Reader) MapAndReduce(flag string, most int) (maps, reduces int32) {
	text, ok := r.Line.Value(flag)
	if !ok {
		return 0, 0
	}
	// A kind may be named once. The order of the two is free.
	for _, part := range strings.Split(text, ",") {
		kind, number, _ := strings.Cut(part, "=")
		of := map[string]*int32{"map": &maps, "reduce": &reduces}[kind]
		if of == nil || *of != 0 {
			r.Keep(errs.Optionf("--"+flag, "%s: not map=N,reduce=N; write map=1,reduce=2", Quote(text)))
			return 0, 0
		}
		n, err := Count(flag, number, 1, most)
		r.Keep(err)
		*of = int32(n)
	}
	// An earlier mistake explains a missing number, so that one message is enough.
	if r.Err == nil && min(maps, reduces) < 1 {
		r.Keep(errs.Optionf("--"+flag, "%s: give map and reduce; write map=1,reduce=2", Quote(text)))
	}
	return maps, reduces
}

// Seed reads --seed, a number above 0.
func (r *Reader) Seed() uint64 {
	n := Value(r, "seed", Seed)
	if r.Err == nil && n == 0 && r.Line.Has("seed") {
		r.Keep(errs.Optionf("--seed", "0: must be more than 0"))
	}
	return n
}

// Rate reads a number of bytes a second; the value may end in /s.
func (r *Reader) Rate(flag string) int64 {
	return Value(r, flag, func(flag, text string) (int64, error) { return Size(flag, strings.TrimSuffix(text, "/s"), 1) })
}

// Directories reads a comma-separated list of directories that must exist.
func (r *Reader) Directories(flag string) []string {
	text, ok := r.Line.Value(flag)
	if !ok {
		return nil
	}
	// Several directories may lie on several disks.
	dirs := strings.Split(text, ",")
	// A directory that cannot be written matters only if something spills.
	for _, d := range dirs {
		if d == "" {
			r.Keep(errs.Optionf("--"+flag, "an empty directory name in %s", Quote(text)))
			continue
		}
		// A directory that is missing is a mistake in the flag, so it is found before the run.
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
