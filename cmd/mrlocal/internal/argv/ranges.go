package argv

import (
	"slices"
	"strconv"
	"strings"
)

// mostValues bounds the number of values of a range or list.
const mostValues = 1000

// Counts reads whole numbers from least to most, as a list or a range: 1,2,4 or
// 1..8 or 1..9/2. A range includes its end if a step meets it.
func Counts(flag, text string, least, most int) ([]int64, error) {
	return values(flag, text, "1", func(part string) (int64, error) {
		n, err := Count(flag, part, least, most)
		return int64(n), err
	})
}

// Shares reads shares, as a list or a range with a step: 0,0.5,1 or 0..1/0.1. It
// returns parts per million.
func Shares(flag, text string) ([]int64, error) {
	return values(flag, text, "", func(part string) (int64, error) {
		p, err := Share(flag, part)
		return int64(p), err
	})
}

// values reads a list or a range whose parts read understands. step applies to a
// range without a step; if it is empty, the range must have one.
func values(flag, text, step string, read func(part string) (int64, error)) ([]int64, error) {
	from, rest, ranged := strings.Cut(text, "..")
	if !ranged {
		return list(flag, text, read)
	}
	to, given, stepped := strings.Cut(rest, "/")
	if stepped {
		step = given
	}
	// Shares have no natural step.
	if step == "" {
		return nil, bad(flag, text, "a range without a step; write 0..1/0.1")
	}
	// The parts are from, to and step, in the unit of read.
	var ends [3]int64
	for i, part := range []string{from, to, step} {
		if part == "" {
			return nil, bad(flag, text, "not a range; write FROM..TO or FROM..TO/STEP")
		}
		var err error
		if ends[i], err = read(part); err != nil {
			return nil, err
		}
	}
	switch {
	case ends[2] == 0:
		return nil, bad(flag, text, "the step is 0")
	case ends[1] < ends[0]:
		return nil, bad(flag, text, "ends before it begins")
	// The bound is checked before the values are made, so a huge range takes no memory.
	case (ends[1]-ends[0])/ends[2] >= mostValues:
		return nil, bad(flag, text, "too many values; at most "+strconv.Itoa(mostValues))
	}
	var all []int64
	// The values cannot overflow: the bounds of the flag lie far below 2⁶³.
	for v := ends[0]; v <= ends[1]; v += ends[2] {
		all = append(all, v)
	}
	return all, nil
}

// list reads values that are separated by commas.
func list(flag, text string, read func(part string) (int64, error)) ([]int64, error) {
	var all []int64
	for _, part := range strings.Split(text, ",") {
		v, err := read(part)
		if err != nil {
			return nil, err
		}
		// A value twice would run the same configuration twice.
		if slices.Contains(all, v) {
			return nil, bad(flag, text, "has "+Quote(part)+" twice")
		}
		if all = append(all, v); len(all) > mostValues {
			return nil, bad(flag, text, "too many values; at most "+strconv.Itoa(mostValues))
		}
	}
	return all, nil
}
