package argv

import (
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

// Count reads a whole number from least to most.
func (r *Reader) Count(flag string, least, most int) int {
	text, ok := r.Line.Value(flag)
	if !ok {
		return 0
	}
	n, err := Count(flag, text, least, most)
	r.Keep(err)
	return n
}

// Size reads a number of bytes.
func (r *Reader) Size(flag string, least int64) int64 {
	text, ok := r.Line.Value(flag)
	if !ok {
		return 0
	}
	n, err := Size(flag, text, least)
	r.Keep(err)
	return n
}

// Share reads a decimal from 0 to 1. It returns nil if the flag is not set.
func (r *Reader) Share(flag string) *ppm.Share {
	text, ok := r.Line.Value(flag)
	if !ok {
		return nil
	}
	n, err := Share(flag, text)
	r.Keep(err)
	p := ppm.Share(n)
	return &p
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
	text, ok := r.Line.Value(flag)
	if !ok || zero && (text == "0" || text == "0s") {
		return 0
	}
	d, err := Time(flag, text)
	r.Keep(err)
	return d
}

// Choice reads one of a few names. The first one is the default.
func (r *Reader) Choice(flag string, names ...string) string {
	text, ok := r.Line.Value(flag)
	if !ok {
		return names[0]
	}
	name, err := Choice(flag, text, names...)
	r.Keep(err)
	return name
}

// Path reads the name of a file.
func (r *Reader) Path(flag string) string {
	text, ok := r.Line.Value(flag)
	if !ok {
		return ""
	}
	path, err := NonEmpty(flag, text)
	r.Keep(err)
	return path
}

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
	text, ok := r.Line.Value("seed")
	if !ok {
		return 0
	}
	n, err := Seed("seed", text)
	r.Keep(err)
	if err == nil && n == 0 {
		r.Keep(errs.Optionf("--seed", "0: must be more than 0"))
	}
	return n
}

// Rate reads a number of bytes a second; the value may end in /s.
func (r *Reader) Rate(flag string) int64 {
	text, ok := r.Line.Value(flag)
	if !ok {
		return 0
	}
	n, err := Size(flag, strings.TrimSuffix(text, "/s"), 1)
	r.Keep(err)
	return n
}
