package grep

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"math"

	"mrlocal/internal/scan"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// gnuBlock is the number of bytes that GNU grep reads at a time.
const gnuBlock = 96 << 10

// Used implements jobs.PartUser, as GNU grep leaves its standard input: with -m behind the last
// selected line, also if lines after it are written (-A). With -q, -l and -L it is left behind the
// block in which the first selected line ends. All is used if the file has fewer lines. The frames
// have no offsets, so Used searches the start of the file once more.
func (r *releaser) Used(file int32, text io.Reader) (int64, error) {
	binary := r.binary == int64(file) // the mapper has stopped at its first line
	first := r.want > wantCounts
	switch {
	case r.want == wantAny && r.records > 0 && r.file < int64(file): // the job has ended before the file
		return 0, nil
	case r.limit == 0:
		return 0, nil
	case r.want == wantAny && r.records == 0 || first && (binary && r.NoBinary || r.Single && r.want != wantAny && r.selected == 0):
		return -1, nil
	case !first && (!r.limited() || binary && r.limit > 1 || r.Single && !binary && r.selected < r.limit):
		return -1, nil
	}
	s := newSearch(r.program)
	defer s.end()
	// The mappers have given back the memory that their automata charged.
	s.account(jobs.OwnAttempt{Charge: func(int64) bool { return true }})
	const leastBytes = 64 << 10
	blocks := bufio.NewScanner(text)
	left := r.limit
	used := int64(0)
	blocks.Buffer(make([]byte, leastBytes), math.MaxInt)
	blocks.Split(func(data []byte, atEnd bool) (int, []byte, error) {
		whole := bytes.LastIndexByte(data, r.eol) + 1
		if atEnd && len(data) > 0 {
			return len(data), data, nil
		}
		if whole == 0 || r.several {
			return 0, nil, nil
		}
		return whole, data[:whole], nil
	})
	if first {
		left = 1
	}
	for blocks.Scan() {
		data := blocks.Bytes()
		if r.eol == 0 {
			lines.Exchange(data)
		}
		if end := r.skip(s, data, &left); left == 0 && first {
			return (used + int64(end) + gnuBlock - 1) / gnuBlock * gnuBlock, nil
		} else if left == 0 {
			return used + int64(end), nil
		}
		used += int64(len(data))
	}
	return -1, blocks.Err()
}

// skip subtracts the selected lines of data, which has whole lines, from left. With -U, the lines of a
// chunk count once. If left becomes 0, it returns the end of the last line.
func (r *releaser) skip(s *search, data []byte, left *int64) int {
	from := 0
	// With -v, the lines before what is found are selected.
	others := func(high int) int {
		for ; from < high && *left > 0; *left-- {
			from = min(scan.LineEnd(data[:high], from)+1, high)
		}
		return from
	}
	for low, high := range s.found(data, r) {
		if r.Invert {
			if others(low); *left == 0 {
				return from
			}
		} else if *left--; *left == 0 {
			return high
		}
		from = high
	}
	if r.Invert {
		return others(len(data))
	}
	return 0
}

// found returns the lines of data that match, or with -U the chunks.
func (s *search) found(data []byte, r *releaser) iter.Seq2[int, int] {
	if r.several {
		return s.chunks(data, r.Invert)
	}
	return func(yield func(low, high int) bool) {
		s.begin(data)
		s.tune()
		for start, end := s.line(); start < len(data) && yield(start, min(end+1, len(data))); start, end = s.line() {
		}
	}
}
