package source

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
)

// mostLineBytes bounds a line of a trace, and a text in an Avro file. The event of a finished task
// has all its counters on one line.
const mostLineBytes = 64 << 20

// eachLine calls f with each line of r, without its line end. at is the place of the line for
// messages: "NAME:LINE", with lines counted from 1. eachLine returns the first error of f or of r.
func eachLine(name string, r io.Reader, f func(at, line string) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), mostLineBytes)
	n := 0 // lines that were read; an error of r belongs to the next one
	for s.Scan() {
		n++
		if err := f(fmt.Sprintf("%s:%d", name, n), s.Text()); err != nil {
			return err
		}
	}
	if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
		return errs.Inputf(fmt.Sprintf("%s:%d", name, n+1), "longer than %d MiB", mostLineBytes>>20)
	} else if err != nil {
		return errs.Inputf(fmt.Sprintf("%s:%d", name, n+1), "%w", errs.Cause(err))
	}
	return nil
}

// SWIM reads a trace of SWIM, the Statistical Workload Injector for MapReduce
// (github.com/SWIMProjectUCB/SWIM, workloadSuite/README, 1.1). Each line is a job. Its fields are
// separated by tabs. They are name, submission and gap to the job before, in seconds, and the
// bytes of map input, shuffle and reduce output. Some traces have up to three more fields with
// paths. SWIM checks the gap, but uses neither gap nor paths. name is the file, for messages and
// notes.
//
// SWIM is a Reader.
func SWIM(name string, r io.Reader, o Reading) (*Set, error) {
	s := &Set{Notes: []string{"jobs of the SWIM trace " + name}}
	err := eachLine(name, r, func(at, line string) error {
		if strings.TrimSpace(line) == "" {
			return nil
		}
		b := o.building(at)
		b.err = b.readSWIM(strings.Split(strings.TrimSuffix(line, "\r"), "\t"))
		return s.add(&b, o, 1)
	})
	return s.result(name, err)
}

// readSWIM sets the job from the fields of a line.
func (j *TraceJob) readSWIM(fields []string) error {
	if len(fields) < 6 || len(fields) > 9 {
		return fmt.Errorf("%d fields between tabs; a job of SWIM has 6 (name, submission, gap, map input, shuffle and reduce output) and up to 3 paths", len(fields))
	}
	j.Name = fields[0]
	for i, to := range []*time.Duration{&j.Submit, new(time.Duration)} { // the gap is checked and dropped
		seconds, err := strconv.ParseFloat(fields[1+i], 64)
		if err != nil || seconds < 0 || math.IsNaN(seconds) || seconds > mostSeconds {
			return fmt.Errorf("field %d: %s is not a time in seconds from 0 to %d", 2+i, errs.Quote(fields[1+i]), int64(mostSeconds))
		}
		*to = time.Duration(math.Round(seconds * 1e9))
	}
	for i, to := range []*int64{&j.InputBytes, &j.ShuffleBytes, &j.OutputBytes} {
		n, err := strconv.ParseInt(fields[3+i], 10, 64)
		if err != nil || n < 0 || n > mostBytes {
			return fmt.Errorf("field %d: %s is not a number of bytes from 0 to %d", 4+i, errs.Quote(fields[3+i]), int64(mostBytes))
		}
		*to = n
	}
	return nil
}

// These bounds keep sums and products of numbers in traces within 64 bits.
const (
	mostSeconds = 5e9     // a time; large enough for seconds since 1970
	mostBytes   = 1 << 56 // the bytes of a job
)
