package jobflags

import (
	"fmt"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
)

// GrepNotes returns notes on what a run of grep does without being asked. It takes
// --reducers away from a job that has no reduces. Other jobs have no notes.
func GrepNotes(line argv.Line, name string, chain jobs.Chain, o *mrlocal.Options) (notes []string) {
	if name != "grep" {
		return nil
	}
	if len(line.Values("regexp")) == 0 {
		// A run without a pattern is allowed, because it is the first example of the documents.
		// The note says what it does.
		notes = append(notes, fmt.Sprintf("no -e PATTERN given: searching for %s, the links of a wiki", grep.DefaultPattern))
	}
	// The user may keep one --reducers for all jobs of a script, so it is no error.
	// Counting has a second job, which sorts the counts. Selecting lines has one job, without
	// reduces.
	if line.Has("reducers") && len(chain) == 1 && chain[0].NewReducer == nil {
		notes = append(notes, "--reducers is ignored: selecting lines has no reduce")
		o.Reducers, o.ReducersPerSlot, o.MapOnly = 0, 0, false
	}
	return notes
}
