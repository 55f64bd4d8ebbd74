package settings

import (
	"strconv"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/slots/setup"
)

// mostPenalty bounds --remote-penalty and the factors of --slow.
const mostPenalty = 1000

// placementFlags returns the flags that say where inputs are, and how fast trackers are.
func placementFlags(elsewhere string) []argv.Spec {
	slow := argv.ValueSpec("slow", "`TRACKER=FACTOR`: that tracker has FACTOR times the speed of the others, as in 3=0.5; may be repeated", elsewhere+"none")
	slow.Repeat = true
	return []argv.Spec{
		argv.ValueSpec("replicas", "place the input of each map on `N` trackers, at random", elsewhere+"no placement"),
		argv.ValueSpec("remote-penalty", "a map away from its input takes `X` times as long", "1"),
		slow,
	}
}

// penalty reads --remote-penalty, a number of at least 1. It returns 0 if the flag was not
// given.
func penalty(r *argv.Reader) ppm.Share {
	const flag = "remote-penalty"
	text, ok := r.Line.Value(flag)
	if !ok {
		return 0
	}
	p, err := ppm.Parse(text)
	switch {
	case err != nil:
		r.Keep(errs.Optionf("--"+flag, "%s: not a factor; write a decimal number such as 1.5", argv.Quote(text)))
	// A penalty below 1 would make a map faster away from its input.
	case p < ppm.One || p > mostPenalty*ppm.One:
		r.Keep(errs.Optionf("--"+flag, "%s: a factor from 1 (none) to %d", argv.Quote(text), mostPenalty))
	}
	return p
}

// slow reads --slow TRACKER=FACTOR.
func slow(r *argv.Reader) []setup.Slow {
	var all []setup.Slow
	// Two factors for one tracker contradict each other.
	seen := map[int]bool{}
	for _, text := range r.Line.Values("slow") {
		// The tracker is a number from 0. complete checks it against the number of trackers,
		// which the file may set.
		number, factor, ok := strings.Cut(text, "=")
		tracker, err := strconv.Atoi(number)
		share, shareErr := ppm.Parse(factor)
		switch {
		case !ok || err != nil || shareErr != nil || tracker < 0:
			r.Keep(errs.Optionf("--slow", "%s: not TRACKER=FACTOR; write 3=0.5", argv.Quote(text)))
		// The share is in parts per million, so 1 is the least factor above 0.
		case share < 1 || share > mostPenalty*ppm.One:
			r.Keep(errs.Optionf("--slow", "%s: a factor above 0, at most %d", argv.Quote(text), mostPenalty))
		case seen[tracker]:
			r.Keep(errs.Optionf("--slow", "tracker %d is given twice", tracker))
		}
		seen[tracker] = true
		all = append(all, setup.Slow{Tracker: tracker, Factor: share})
	}
	return all
}
