package argv

import (
	"mrlocal/internal/errs"
	"slices"
	"strconv"
	"strings"
)

// mostValues is the largest number of values of a range or list.
const mostValues = 1000

// Counts parses a list or a range of whole numbers from least to most, as 1,2,4 or 1..8 or 1..9/2.
// A range includes its end if a step reaches it exactly.
func Counts(flag, text string, least, most int) ([]int64, error) {
	return values(flag, text, "1", func(part string) (int64, error) {
		n, err := Count(flag, part, least, most)
		return int64(n), err
	})
}

// Shares parses a list or a range of shares, as 0,0.5,1 or 0..1/0.1. It returns parts per million.
func Shares(flag, text string) ([]int64, error) {
	return values(flag, text, "", func(part string) (int64, error) {
		p, err := Share(flag, part)
		return int64(p), err
	})
}

// values parses a list or a range. read parses one part, of which a value or a step consists. step
// is the default step of a range. If it is "", the range must have a step.
func values(flag, text, step string, read func(part string) (int64, error)) ([]int64, error) {
	from, rest, ranged := strings.Cut(text, "..")
	if !ranged {
		return list(flag, text, read)
	}
	to, given, stepped := strings.Cut(rest, "/")
	if stepped {
		step = given
	}
	if step == "" {
		return nil, bad(flag, text, "a range without a step; write 0..1/0.1")
	}
	// ends has from, to and step.
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
	// This check comes before the loop, so that a huge range takes no memory.
	case (ends[1]-ends[0])/ends[2] >= mostValues:
		return nil, bad(flag, text, "too many values; at most "+strconv.Itoa(mostValues))
	}
	var all []int64
	// v cannot overflow, because the values of flags lie far below 2⁶³.
	for v := ends[0]; v <= ends[1]; v += ends[2] {
		all = append(all, v)
	}
	return all, nil
}

// list parses values with commas between.
func list(flag, text string, read func(part string) (int64, error)) ([]int64, error) {
	var all []int64
	for _, part := range strings.Split(text, ",") {
		v, err := read(part)
		if err != nil {
			return nil, err
		}
		// With a value twice, a sweep would run the same configuration twice.
		if slices.Contains(all, v) {
			return nil, bad(flag, text, "has "+errs.Quote(part)+" twice")
		}
		if all = append(all, v); len(all) > mostValues {
			return nil, bad(flag, text, "too many values; at most "+strconv.Itoa(mostValues))
		}
	}
	return all, nil
}
