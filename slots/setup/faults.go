package setup

import (
	"cmp"
	"slices"
)

// TimedFaults returns the faults that lose something, in the order of their times.
func TimedFaults(faults []Fault) []Fault {
	var timed []Fault
	for _, f := range faults {
		if f.Lost || f.Tracker >= 0 {
			timed = append(timed, f)
		}
	}
	slices.SortStableFunc(timed, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return timed
}
