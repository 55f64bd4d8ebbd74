package jobs

import (
	"strings"

	"mrlocal/errs"
)

// Check returns the options error with which a run refuses the chain; nil: it accepts it.
func (chain Chain) Check() error {
	if len(chain) == 0 {
		return errs.Optionf("job", "an empty chain")
	}
	for i, j := range chain {
		// A job may lack a name.
		object := strings.TrimSpace("job " + j.Name)
		switch {
		case j.NewMapper == nil:
			return errs.Optionf(object, "has no mapper")
		case j.NewReducer == nil && i < len(chain)-1:
			return errs.Optionf(object, "only the last job of a chain may be map-only")
		case j.NewFolder != nil && j.NewCombiner != nil:
			return errs.Optionf(object, "a folder and a combiner exclude each other")
		case j.NewReducer == nil && (j.NewFolder != nil || j.NewCombiner != nil):
			return errs.Optionf(object, "a map-only job combines nothing")
		case j.Reduces < 0 || j.Maps < 0:
			return errs.Optionf(object, "a negative number of tasks")
		case j.NoInput && i > 0:
			return errs.Optionf(object, "only the first job of a chain may be without input")
		case j.RecordBytes < 0 || j.RecordBytes > MaxRecordBytes:
			return errs.Optionf(object, "records of %d bytes; from 1 to %d", j.RecordBytes, MaxRecordBytes)
		case j.RecordBytes > 0 && j.SkipBinary:
			return errs.Optionf(object, "binary records, and binary files are to be skipped")
		case j.Rereads && chain[0].NoInput:
			return errs.Optionf(object, "reads the input of the chain, which has none")
		case j.Rounds < 0 || j.Rounds > 1 && (!j.Rereads || i == len(chain)-1):
			return errs.Optionf(object, "several rounds are for a job that Rereads, before the last one of the chain")
		}
	}
	return nil
}

// Rereads reports whether a later job, or a later round of a job, reads the input of the
// chain again.
func (chain Chain) Rereads() bool {
	for i := range chain {
		if chain[i].Rereads && (i > 0 || chain[i].Rounds > 1) {
			return true
		}
	}
	return false
}
