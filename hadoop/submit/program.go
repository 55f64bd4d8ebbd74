package submit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"mrlocal/hadoop/stream"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// Program returns the chain of a program with jobs of its own, whose main function calls
// stream.Main. It runs the program at path with the words "stream describe". The mappers of the
// chain start the program, so that the caller can sample keys. Its reducers and partitioners only
// show that there are some. Errors are of kind errs.BadOptions.
func Program(path string) (jobs.Chain, error) {
	found, err := exec.LookPath(path)
	if err != nil {
		return nil, errs.Optionf(path, "%w", errs.Cause(err))
	}
	if found, err = filepath.Abs(found); err != nil {
		return nil, err
	}
	// A program that does not call stream.Main gives these words another meaning. It then prints no
	// Description, and the error below says what the user must change.
	text, err := exec.Command(found, "stream", stream.DescribeWord).Output()
	var d stream.Description
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil || len(d.Jobs) == 0 {
		return nil, errs.Optionf(path, "%s stream describe lists no job (%s); begin main with stream.Main, or rebuild the program", filepath.Base(path), errs.OneLine(causeOf(err)))
	}
	var chain jobs.Chain
	for i, j := range d.Jobs {
		if j.Refused != "" {
			return nil, errs.Optionf(path, "%s", errs.OneLine(j.Refused))
		}
		job := jobs.Job{Name: j.Name, Text: true, Reduces: j.Reduces, Ordered: j.Ordered, NewMapper: mapperOf(found, i, 1)}
		// A plan only asks whether the function is set. The program itself computes partitions.
		if j.Partitioned {
			job.Partition = func([]byte, int) int { return 0 }
		}
		if !j.MapOnly {
			job.NewReducer = func() jobs.Reducer { return jobs.ReducerFunc(remoteReducer) }
		}
		// The program itself calls Begin. It must get the same number of files for a sample.
		if j.Begins {
			begun := job
			job.Begin = func(files int) (jobs.Job, error) {
				begun.NewMapper = mapperOf(found, i, files)
				return begun, nil
			}
		}
		chain = append(chain, job)
	}
	return chain, nil
}

// remoteReducer takes the place of a reducer in another program. A plan only asks whether the job
// has a reducer. A call fails.
func remoteReducer([]byte, *jobs.Values, jobs.Emitter) error {
	return errors.New("the job runs on a cluster only")
}

// mapperOf returns a function that makes mappers for job step of the chain, from 0. The input has so
// many files. A mapper starts
// the program once for each block, with the block as standard input. It emits the keys that the
// program writes, with empty values. It holds the output for a block in memory, which is little
// because a sample reads few blocks.
func mapperOf(program string, step, files int) func() jobs.Mapper {
	return func() jobs.Mapper {
		return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
			c := exec.Command(program, "stream", "map", fmt.Sprintf("--step=%d", step+1), fmt.Sprintf("--files=%d", files))
			// Hadoop sets this variable for a map, and a mapper may ask for the name of its file.
			c.Env = append(os.Environ(), "mapreduce_map_input_file="+b.Path)
			c.Stdin = bytes.NewReader(b.Data)
			text, err := c.Output()
			if err != nil {
				return fmt.Errorf("%s stream map: %s", program, causeOf(err))
			}
			return stream.EachKey(bytes.NewReader(text), func(key []byte) { out.Emit(key, nil) })
		})
	}
}

// causeOf returns the cause of a command's error: the last line on its standard error, or the text
// of err. It returns "nothing" if err is nil.
func causeOf(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(bytes.TrimSpace(exit.Stderr)) > 0 {
		return lastLine(string(exit.Stderr))
	}
	if err == nil {
		return "nothing"
	}
	return err.Error()
}
