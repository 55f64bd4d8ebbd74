package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mrlocal"
	"mrlocal/hadoop/streaming"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/jobs"
)

// makeLint returns mrlocal lint, which reports what would differ if a streaming job ran on a cluster.
// Its exit code is 0 if it finds nothing, 1 if it finds something, and 2 for wrong arguments.
func makeLint(e Env) *flags.Command {
	return &flags.Command{Usage: "report what would differ if a streaming job ran on a cluster", Args: "streaming [--no-run] ARGS…",
		Raw: func(ctx context.Context, args []string) (int, error) { return lint(ctx, args, e) }}
}

// lint does the work of mrlocal lint streaming. It prints a line for each finding, and
// returns the exit code. args are the words after lint.
func lint(ctx context.Context, args []string, e Env) (int, error) {
	if len(args) == 0 || args[0] != "streaming" {
		return 0, errs.Optionf("", "give streaming and the arguments of hadoop-streaming")
	}
	run := true
	// --no-run is the only flag of lint itself, and must come first. All other words are arguments of
	// hadoop-streaming.
	if args = args[1:]; len(args) > 0 && args[0] == "--no-run" {
		run, args = false, args[1:]
	}
	job, err := streaming.Args(args)
	if err == nil && job.Help {
		return Done, e.Print([]byte(helpText("streaming")))
	}
	// An error in the arguments leaves nothing to check. It is reported below.
	var found []string
	if err == nil {
		// Findings from the arguments alone come first, then those from runs of the job.
		found = streaming.Lint(job)
		if run {
			var more []string
			// With an error, lintRuns may also return findings. They are valid.
			more, err = lintRuns(ctx, args)
			found = append(found, more...)
		}
	}
	code := Done
	if len(found) > 0 {
		code = Differs
		found = append(found, "") // the last newline
	}
	if wrote := e.Write([]byte(strings.Join(found, "\n"))); wrote != nil || err == nil {
		return code, wrote
	}
	// A run that cannot be made is a mistake in the arguments.
	return 0, errs.Optionf("", "%w", streamingMistake(err))
}

// lintTimeout is the task timeout if the arguments set none.
const lintTimeout = time.Minute

// lintRuns runs the job with the values of each key in three orders, and compares the results. If two
// results differ, one more run in the first order shows whether the order is the cause. It returns
// findings as lines for the user. It fails if a run could not be made. The results go to a temporary
// directory, which it removes, and not to the output directory in the arguments.
func lintRuns(ctx context.Context, args []string) (found []string, err error) {
	dir, err := os.MkdirTemp("", "mrlocal-lint-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// If the hash is empty, there is nothing to compare: the job failed, or it has no reduces.
	first, found, err := lintRun(ctx, args, dir, streaming.DefaultOrder)
	if first == "" || err != nil {
		return found, err
	}
	// Hadoop sorts by key only, so a job must give the same result with the values in any order.
	for _, order := range []struct {
		streaming.ValueOrder
		words string
	}{{streaming.Reversed, "in reverse"}, {streaming.Shuffled, "shuffled"}} {
		other, more, err := lintRun(ctx, args, dir, order.ValueOrder)
		if err != nil {
			return found, err
		}
		if other == "" {
			// The last finding is that the job fails. The first run has found all others.
			return append(found, more[len(more)-1]), nil
		}
		if other == first {
			continue
		}
		// A job may give another result in each run, for example because it prints the time of day.
		if again, _, err := lintRun(ctx, args, dir, streaming.DefaultOrder); err != nil || again != first {
			return append(found, "two runs on the same input give two results, so it is not known whether the order of the values of a key matters"), err
		}
		return append(found, "the result depends on the order of the values of a key, which Hadoop leaves open; a second run with the values "+order.words+" gave another result"), nil
	}
	return found, nil
}

// lintRun runs the job once, with the values of each key in the given order. It returns a hash of
// the result, and the warnings of the run as findings. The hash is "" if the job has no reduces,
// and if the job has failed. In the latter case the last finding is the cause. The result lies
// below dir, which the caller removes.
func lintRun(ctx context.Context, args []string, dir string, order streaming.ValueOrder) (result string, found []string, err error) {
	job, err := streaming.Args(args)
	if err != nil {
		return "", nil, err
	}
	var warned warnings
	w, err := streaming.New(job, streaming.Options{Environ: os.Environ(), TempDir: dir, ValueOrder: order, Friendly: true, SeparateFiles: true, Warn: warned.add})
	if err != nil {
		return "", nil, err
	}
	o := mrlocal.Options{}
	applyStreaming(w, &o)
	// A command that hangs must not stop the check for ever.
	o.TaskTimeout = cmp.Or(o.TaskTimeout, lintTimeout)
	if o.OutputDir, err = os.MkdirTemp(dir, "run-"); err != nil {
		return "", nil, err
	}
	// The engine creates the output directory and refuses one that exists.
	o.OutputDir = filepath.Join(o.OutputDir, "result")
	_, err = runChain(ctx, jobs.Chain{w.Job}, o)
	if err = errors.Join(err, w.Close()); ctx.Err() != nil { // a signal is not a finding
		return "", nil, context.Cause(ctx)
	} else if err != nil {
		return "", append(warned.all, "the job fails: "+errs.Word(err, flagOf(nil))), nil
	}
	// Without reduces, the values of a key are not grouped, so they have no order.
	if w.MapOnly {
		return "", warned.all, nil
	}
	result, err = content(o.OutputDir)
	return result, warned.all, err
}

// warnings collects the warnings of a run, each text once. The lock is needed because several
// attempts may warn at the same time.
type warnings struct {
	sync.Mutex
	all []string
}

// add adds text unless all has it. Several goroutines may call it.
func (w *warnings) add(text string) {
	w.Lock()
	defer w.Unlock()
	if !slices.Contains(w.all, text) {
		w.all = append(w.all, text)
	}
}

// content returns a hash of the names and the bytes of all part files in dir. Equal results have equal
// hashes, because Glob returns the names in order. It does not hold a part in memory.
func content(dir string) (string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil {
		return "", err
	}
	all := sha256.New()
	for _, p := range paths {
		part := sha256.New()
		f, err := os.Open(p)
		if err == nil {
			_, err = io.Copy(part, f)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(all, "%s %x\n", filepath.Base(p), part.Sum(nil))
	}
	return string(all.Sum(nil)), nil
}
