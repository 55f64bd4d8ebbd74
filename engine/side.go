package engine

import (
	"io"
	"os"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// readSide returns the bytes of a file of side data (jobs.OwnAttempt.Side); name "": nil. It fails
// if the file cannot be read, or has more than jobs.MaxSideBytes. Errors are of kind errs.BadInput.
func readSide(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, errs.Inputf(name, "%w", errs.Cause(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, jobs.MaxSideBytes+1))
	switch {
	case err != nil:
		return nil, errs.Inputf(name, "%w", errs.Cause(err))
	case len(data) > jobs.MaxSideBytes:
		return nil, errs.Inputf(name, "side data of more than %dMiB", jobs.MaxSideBytes>>20)
	}
	return data, nil
}
