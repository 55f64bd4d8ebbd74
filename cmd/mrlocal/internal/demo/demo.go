// Package demo has mrlocal demo. Without a lesson it makes wiki/, runs one grep under two policies, draws
// both runs and compares them. With the name of a lesson (package lesson) it teaches this lesson.
package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/dustin/go-humanize"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/internal/datagen"
	"mrlocal/internal/errs"
	"mrlocal/jobs/grep"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/trace"
)

// Constants of the demo.
const (
	demoDir    = "wiki"    // the input, in the working directory
	inputBytes = 256 << 20 // with this size, both runs take a few seconds on two cores
	inputSeed  = 1
	topLines   = 5       // the number of lines of the result that are shown
	warmBytes  = 1 << 30 // at most this many bytes of an existing wiki are read before the runs
)

// outcome is the outcome of one run of the demo. Its events and its timeline take a few MiB of memory.
type outcome struct {
	policy string
	report *mrlocal.Report
	result [sha256.Size]byte // the digest of the whole result, to compare the runs
	top    []byte            // the first topLines lines of the result
	lines  int               // the number of lines of the result
	line   *trace.Timeline   // for the gantt
	events bytes.Buffer      // for the explanation of the first loan
}

// Demo runs the same job under fair and under the default policy, and writes both gantts and the
// difference to stdout. Half of the cores become map slots and half reduce slots, so that the default
// policy has slots to lend. Demo makes wiki/ unless it exists. It fails if a run fails, if the results
// differ, or if stdout cannot be written. program is what the user types to call mrlocal.
func Demo(ctx context.Context, program string, stdout, stderr io.Writer) error {
	if err := makeWiki(ctx, stdout); err != nil {
		return err
	}
	half := max(1, runtime.NumCPU()/2) // slots of each kind
	fmt.Fprintf(stdout, "counting what %s matches in %s/, slots: %d map, %d reduce:\n", grep.DefaultPattern, demoDir, half, half)
	runs := make([]*outcome, 0, 2)
	// The baseline lends no slots. It comes first, because it is the base of the comparison.
	for _, name := range []string{registry.Baseline, mrlocal.DefaultPolicy} {
		r, err := runGrep(ctx, stderr, name, half)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	// Both gantts have the same time per column, so that a reader can compare them.
	cell := ganttCell(max(runs[0].report.MakespanSeconds, runs[1].report.MakespanSeconds))
	for _, r := range runs {
		if err := r.show(stdout, cell); err != nil {
			return err
		}
	}
	return showDifference(stdout, program, runs[0], runs[1])
}

// makeWiki makes wiki/ unless it exists. If it exists, makeWiki reads its files into the page cache.
// Otherwise the first run alone would wait for the disk, and the comparison would be wrong.
func makeWiki(ctx context.Context, stdout io.Writer) error {
	info, err := os.Stat(demoDir)
	switch {
	case err == nil && !info.IsDir():
		return errs.Optionf(demoDir, "is not a directory; the demo needs that name for its input")
	case err == nil:
		fmt.Fprintf(stdout, "%s/ exists already: the demo uses it\n", demoDir)
		return warm(ctx, demoDir)
	// For any other error, such as a missing permission, this message is clearer than that of the
	// generator.
	case !errors.Is(err, fs.ErrNotExist):
		return errs.Optionf(demoDir, "%v", errs.Cause(err))
	}
	started := time.Now()
	if err := datagen.Generate(ctx, datagen.Wiki, demoDir, inputBytes, inputSeed); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "made %s/: %s of wiki articles in %.1fs\n", demoDir, humanize.IBytes(inputBytes), time.Since(started).Seconds())
	return err
}

// warm reads up to warmBytes of the files below dir into the page cache. It fails only if ctx ends.
func warm(ctx context.Context, dir string) error {
	// The bound keeps a very large directory from delaying the demo.
	left := int64(warmBytes)
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || left <= 0 {
			return nil // the run itself reports files that it cannot read
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		// The run reports a read error.
		n, _ := io.Copy(io.Discard, io.LimitReader(f, left))
		left -= n
		return nil
	})
}

// runGrep runs the job grep on wiki/ under the policy of that name. half is the number of map
// slots, and also that of reduce slots. Notes go to stderr.
func runGrep(ctx context.Context, stderr io.Writer, name string, half int) (*outcome, error) {
	p, err := registry.New(name, policy.DefaultOptions())
	if err != nil {
		return nil, err
	}
	chain, err := grep.New(grep.Options{})
	if err != nil {
		return nil, err
	}
	var result bytes.Buffer
	r := &outcome{policy: name, line: &trace.Timeline{}}
	r.report, err = process.RunChain(ctx, chain, mrlocal.Options{
		JobOptions: mrlocal.JobOptions{Inputs: []string{demoDir}, Stdout: &result}, Policy: p, Config: setup.Config{MapSlots: half, ReduceSlots: half},
		Watch: func(s *trace.Stream) { s.Attach(r.line) }, Events: &r.events,
		Note: func(text string) { fmt.Fprint(stderr, argv.ErrorLine("", errors.New(text))) },
	})
	if err != nil {
		return nil, err
	}
	// The outcome keeps only the digest and the first lines, not the whole result.
	r.result, r.lines = sha256.Sum256(result.Bytes()), bytes.Count(result.Bytes(), []byte("\n"))
	first := bytes.SplitAfterN(result.Bytes(), []byte("\n"), topLines+1)
	r.top = bytes.Join(first[:min(len(first), topLines)], nil)
	return r, nil
}

// mapSeconds returns the length of the map phase of the search, in seconds.
func (r *outcome) mapSeconds() float64 {
	// The chain has two jobs: job 0 searches, and job 1 sorts the counts.
	j := &r.report.Jobs[0]
	return j.MapsDoneS - j.StartS
}

// show writes the figures of the run and its gantt. cell is the time of one column.
func (r *outcome) show(w io.Writer, cell time.Duration) error {
	if _, err := fmt.Fprintf(w, "\n%s: %.2fs, map phase %.2fs, slots %.0f%% used, %s\n", r.policy,
		r.report.MakespanSeconds, r.mapSeconds(), 100*r.report.Utilisation, show.Moves(r.report.Moves)); err != nil {
		return err
	}
	return r.line.Gantt(w, trace.GanttOptions{Cell: cell, Names: r.line.Name})
}

// ganttCell returns the time of one column of the gantt for a run of runSeconds: 1, 2 or 5 times a
// power of ten milliseconds. With it, the gantt has 25 to 64 columns, or fewer for a run below 25
// ms.
func ganttCell(runSeconds float64) time.Duration {
	const columns = 64
	for cell := time.Millisecond; ; cell *= 10 {
		for _, step := range []time.Duration{1, 2, 5} {
			if c := step * cell; float64(columns)*c.Seconds() >= runSeconds {
				return c
			}
		}
	}
}

// showDifference compares the times of both runs, explains the first loan, and names the next
// command to try. It fails if the results differ.
func showDifference(w io.Writer, program string, fair, dynamic *outcome) error {
	// A slot policy may change when tasks run, but never the result.
	if fair.result != dynamic.result {
		return fmt.Errorf("a bug in mrlocal: %s and %s gave different results", fair.policy, dynamic.policy)
	}
	fmt.Fprintf(w, "\nBoth gave the same %s lines; the first are\n%s", humanize.Comma(int64(dynamic.lines)), dynamic.top)
	fmt.Fprintf(w, "\nDifference: the map phase took %.2fs instead of %.2fs (%.2f times as fast), the whole %.2fs instead of %.2fs.\n",
		dynamic.mapSeconds(), fair.mapSeconds(), ratio(fair.mapSeconds(), dynamic.mapSeconds()),
		dynamic.report.MakespanSeconds, fair.report.MakespanSeconds)
	if dynamic.mapSeconds() > fair.mapSeconds() {
		fmt.Fprintln(w, "The map phase did not get shorter here: other programs on this machine disturb single runs. Run the demo again.")
	}
	fmt.Fprintf(w, "Under %s, reduce slots wait for the maps to end; %s lends them to maps (lower case above). The first slot that it lent:\n\n", fair.policy, dynamic.policy)
	// Sentences reads the events to their end, which empties the buffer. This is their last use.
	err := explain.Sentences(w, &dynamic.events, explain.Options{Policy: registry.ForReplay, FirstLent: true, WhyIdle: -1})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nNext: %s run grep --input %s/ --sched %s --gantt --events events.jsonl, then %s explain events.jsonl\n", program, demoDir, dynamic.policy, program)
	return err
}

// ratio returns a / b, or 0 if b is not above 0.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}
