package lines

import (
	"bytes"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// EachMovie reads the movies of PUMA, Purdue's MapReduce benchmarks. A line is
// "movie:user_rating,user_rating,…", where a rating is a number from 0 to 255. EachMovie calls
// movie once for each line of a block that has ratings. counts has the count of each rating in
// the line; sum and n are their sum and number. counts is borrowed until movie returns.
// EachMovie fails with an input error (package errs) for a line of another form.
func EachMovie(b jobs.Block, movie func(counts *[256]uint64, sum, n uint64)) error {
	var counts [256]uint64
	for line := range b.Lines() {
		colon := bytes.IndexByte(line, ':')
		if len(line) == 0 {
			continue
		}
		if colon < 0 {
			return notAMovie(b, line)
		}
		counts = [256]uint64{}
		var sum, n uint64
		for rest := line[colon+1:]; len(rest) > 0; {
			under := bytes.IndexByte(rest, '_')
			rating, at := uint64(0), under+1
			for ; at < len(rest) && rest[at] != ','; at++ {
				if c := rest[at] - '0'; c <= 9 && rating < 256 {
					rating = rating*10 + uint64(c)
					continue
				}
				rating = 256
			}
			if under < 0 || at == under+1 || rating > 255 {
				return notAMovie(b, line)
			}
			counts[rating]++
			sum, n = sum+rating, n+1
			rest = rest[min(at+1, len(rest)):]
		}
		if n > 0 {
			movie(&counts, sum, n)
		}
	}
	return nil
}

// notAMovie returns the error for a line of another form.
func notAMovie(b jobs.Block, line []byte) error {
	return errs.Inputf(b.Path, "%q is not movie:user_rating,user_rating,…", line[:min(len(line), 60)])
}
