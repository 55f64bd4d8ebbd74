package hadoop

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/jobs"
	"mrlocal/streaming"
	"mrlocal/streaming/parse"
)

// lint is mrlocal lint streaming: it writes what will differ on a cluster. It returns 1 if
// there is anything, and 2 for arguments that no job can have.
func lint(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] != "streaming" {
		fmt.Fprintln(stderr, "mrlocal: lint: give streaming and the arguments of hadoop-streaming")
		return 2
	}
	run := true
	// The one flag of ours stands first: all that follows belongs to hadoop-streaming.
	if args = args[1:]; len(args) > 0 && args[0] == "--no-run" {
		run, args = false, args[1:]
	}
	job, err := parse.Args(args)
	if err == nil && (job.Help || job.Info) {
		usage(stdout)
		return 0
	}
	var found []string
	if err == nil {
		// First what the arguments alone show, then what runs of the job show.
		found = streaming.Lint(job)
		if run {
			var more []string
			// Findings that come with an error are valid, and are printed before it.
			more, err = lintRuns(ctx, args)
			found = append(found, more...)
		}
	}
	for _, f := range found {
		fmt.Fprintln(stdout, f)
	}
	switch {
	case err != nil:
		fmt.Fprint(stderr, argv.ErrorLine("lint", command.StreamingMistake(err)))
		return 2
	case len(found) > 0:
		return 1
	}
	return 0
}

// lintTimeout is how long a command may show no sign of life, if the arguments do not say.
const lintTimeout = time.Minute

// lintRuns runs the job with the values of each key in three orders. If two results differ, one more
// run, in the first order, shows whether the order is the cause. It returns findings as lines for
// the user; an error means that a run could not be made. It keeps the results in a temporary
// directory, which it removes; the output directory that the arguments name is not written.
func lintRuns(ctx context.Context, args []string) (found []string, err error) {
	dir, err := os.MkdirTemp("", "mrlocal-lint-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// An empty result means that there is nothing to compare: the job failed or has no reduces.
	first, found, err := lintRun(ctx, args, dir, streaming.AsTheyAre)
	if first == "" || err != nil {
		return found, err
	}
	for _, order := range []struct {
		streaming.ValueOrder
		words string
	}{{streaming.Reversed, "in reverse"}, {streaming.Shuffled, "shuffled"}} {
		other, more, err := lintRun(ctx, args, dir, order.ValueOrder)
		if err != nil {
			return found, err
		}
		if other == "" {
			// The last finding says that the job fails; the others were found before.
			return append(found, more[len(more)-1]), nil
		}
		if other == first {
			continue
		}
		// A job may give another result each time, for example because it prints the time of day.
		if again, _, err := lintRun(ctx, args, dir, streaming.AsTheyAre); err != nil || again != first {
			return append(found, "two runs on the same input give two results, so it is not known whether the order of the values of a key matters"), err
		}
		return append(found, "the result depends on the order of the values of a key, which Hadoop leaves open: a second run with the values "+order.words+" gave another result"), nil
	}
	return found, nil
}

// lintRun runs the job once. It returns a hash of its result, and what the run warns of. The hash
// is "" if the job has failed, which is a finding, or if it has no reduces, so that one run is enough.
// The last finding of a failed job says why it failed. The result lies below dir, which the caller
// removes.
func lintRun(ctx context.Context, args []string, dir string, order streaming.ValueOrder) (result string, found []string, err error) {
	job, err := parse.Args(args)
	if err != nil {
		return "", nil, err
	}
	var heard warnings
	w, err := streaming.New(job, streaming.Options{Environ: os.Environ(), TempDir: dir, ValueOrder: order, Friendly: true, Apart: true, Warn: heard.add})
	if err != nil {
		return "", nil, err
	}
	o := mrlocal.Options{}
	command.ApplyStreaming(w, &o)
	// A command that hangs must not hang the check. The timeout counts from its last sign of
	// life.
	if o.TaskTimeout == 0 {
		o.TaskTimeout = lintTimeout
	}
	if o.OutputDir, err = os.MkdirTemp(dir, "run-"); err != nil {
		return "", nil, err
	}
	// The engine makes the output directory itself, so it must not exist yet.
	o.OutputDir = filepath.Join(o.OutputDir, "result")
	_, err = process.RunChain(ctx, jobs.Chain{w.Job}, o)
	if err = errors.Join(err, w.Close()); err != nil {
		return "", append(heard.all, "the job fails: "+err.Error()), nil
	}
	// Without reduces no values are grouped, so their order cannot matter.
	if w.MapOnly {
		return "", heard.all, nil
	}
	result, err = content(o.OutputDir)
	return result, heard.all, err
}

// warnings collects what a run warns of, each text once. Attempts warn at the same time, so it has
// a lock.
type warnings struct {
	sync.Mutex
	all []string
}

// add keeps text unless it is there. It may be called from several goroutines.
func (w *warnings) add(text string) {
	w.Lock()
	defer w.Unlock()
	if !slices.Contains(w.all, text) {
		w.all = append(w.all, text)
	}
}

// content returns a hash of all parts of a result, with their names. It reads the parts as streams,
// because a result may be large. Glob returns the names in order, so equal results give equal hashes.
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
