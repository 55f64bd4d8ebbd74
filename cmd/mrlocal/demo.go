package main

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

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/auxiliary"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/datagen"
	"mrlocal/engine"
	"mrlocal/errs"
	"mrlocal/jobs/grep"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/policy/settings"
	"mrlocal/slots/setup"
	"mrlocal/trace"
)

const (
	demoDir   = "wiki"
	demoBytes = 256 << 20 // both runs together in seconds on two cores
	demoSeed  = 1
	demoTop   = 5
	warmBytes = 1 << 30
)

const demoHelp = `Makes wiki/ where there is none, runs the same grep under fair and under pi-dhfs, with half of the cores' slots for maps and half for reduces, and shows both and the difference. Nothing but wiki/ is written.`

func demoCommand() command {
	return command{name: "demo", usage: "make wiki/, run one grep under two policies, show the difference", long: demoHelp,
		run: func(ctx context.Context, e env, line argv.Line) (int, error) {
			if err := noWords(line); err != nil {
				return 0, err
			}
			err := demo(ctx, e)
			if gone(err) {
				err = nil
			}
			return exitDone, err
		}}
}

// demoRun is what one run left to show.
type demoRun struct {
	policy string
	report *engine.Report
	result [sha256.Size]byte
	top    []byte
	lines  int
	line   *trace.Timeline
	events bytes.Buffer // for the explanation
}

func demo(ctx context.Context, e env) error {
	if err := makeWiki(ctx, e); err != nil {
		return err
	}
	half := max(1, runtime.NumCPU()/2)
	fmt.Fprintf(e.stdout, "counting what %s matches in %s/, %d map and %d reduce slots:\n", grep.DefaultPattern, demoDir, half, half)
	runs := make([]*demoRun, 0, 2)
	for _, name := range []string{"fair", defaultPolicy} {
		r, err := runDemo(ctx, e, name, half)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	cell := ganttCell(max(runs[0].report.MakespanSeconds, runs[1].report.MakespanSeconds))
	for _, r := range runs {
		if err := r.show(e.stdout, cell); err != nil {
			return err
		}
	}
	return showDifference(e.stdout, runs[0], runs[1])
}

// makeWiki makes demoDir where there is none. Files that are there already are
// read once, so that both runs find them in memory.
func makeWiki(ctx context.Context, e env) error {
	info, err := os.Stat(demoDir)
	switch {
	case err == nil && !info.IsDir():
		return errs.Optionf(demoDir, "is not a directory; the demo needs that name for its input")
	case err == nil:
		fmt.Fprintf(e.stdout, "%s/ is there already: taken as it is\n", demoDir)
		return warm(ctx, demoDir)
	case !errors.Is(err, fs.ErrNotExist):
		return errs.Optionf(demoDir, "%v", auxiliary.Cause(err))
	}
	started := time.Now()
	if err := datagen.Generate(ctx, datagen.Wiki, demoDir, demoBytes, demoSeed); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "made %s/: %s of wiki articles in %.1fs\n", demoDir, humanize.IBytes(demoBytes), time.Since(started).Seconds())
	return err
}

func warm(ctx context.Context, dir string) error {
	left := int64(warmBytes)
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || left <= 0 {
			return nil // the run itself tells what cannot be read
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		n, _ := io.Copy(io.Discard, io.LimitReader(f, left))
		left -= n
		return nil
	})
}

func runDemo(ctx context.Context, e env, name string, half int) (*demoRun, error) {
	p, err := registry.New(name, settings.Defaults())
	if err != nil {
		return nil, err
	}
	chain, err := grep.New(grep.Options{})
	if err != nil {
		return nil, err
	}
	var result bytes.Buffer
	r := &demoRun{policy: name, line: &trace.Timeline{}}
	r.report, err = process.RunChain(ctx, chain, engine.Options{
		JobOptions: engine.JobOptions{Inputs: []string{demoDir}, Stdout: &result}, Policy: p, Config: setup.Config{MapSlots: half, ReduceSlots: half},
		Watch: func(s *trace.Stream) { s.Attach(r.line) }, Events: &r.events,
		Note: func(text string) { fmt.Fprint(e.stderr, argv.ErrorLine("", errors.New(text))) },
	})
	if err != nil {
		return nil, err
	}
	r.result, r.lines = sha256.Sum256(result.Bytes()), bytes.Count(result.Bytes(), []byte("\n"))
	r.top = firstLines(result.Bytes(), demoTop)
	return r, nil
}

func firstLines(text []byte, n int) []byte {
	end := 0
	for ; n > 0 && end < len(text); n-- {
		i := bytes.IndexByte(text[end:], '\n')
		if i < 0 {
			return text
		}
		end += i + 1
	}
	return text[:end]
}

func (r *demoRun) mapSeconds() float64 {
	j := &r.report.Jobs[0]
	return j.MapsDoneS - j.StartS
}

func (r *demoRun) show(w io.Writer, cell time.Duration) error {
	if _, err := fmt.Fprintf(w, "\n%s: %.2fs, map phase %.2fs, slots %.0f%% used, %d moves\n", r.policy,
		r.report.MakespanSeconds, r.mapSeconds(), 100*r.report.Utilisation, r.report.Moves); err != nil {
		return err
	}
	return r.line.Gantt(w, trace.GanttOptions{Cell: cell, Names: r.line.Name})
}

// ganttCell is the time of a column with which a run of that length takes
// between 25 and 64 columns; both runs are drawn with the same.
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

func showDifference(w io.Writer, fair, dynamic *demoRun) error {
	if fair.result != dynamic.result {
		return fmt.Errorf("a bug in mrlocal: %s and %s gave different results", fair.policy, dynamic.policy)
	}
	fmt.Fprintf(w, "\nBoth gave the same %s lines; the first are\n%s", humanize.Comma(int64(dynamic.lines)), dynamic.top)
	fmt.Fprintf(w, "\nDifference: the map phase took %.2fs instead of %.2fs (%.2f times as fast), the whole %.2fs instead of %.2fs.\n",
		dynamic.mapSeconds(), fair.mapSeconds(), ratio(fair.mapSeconds(), dynamic.mapSeconds()),
		dynamic.report.MakespanSeconds, fair.report.MakespanSeconds)
	fmt.Fprintf(w, "Under fair, reduce slots wait for the maps to end; %s lends them to maps (lower case above). The first slot it lent, explained:\n\n", dynamic.policy)
	err := explain.Sentences(w, &dynamic.events, explain.Options{FirstLent: true, WhyIdle: -1})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nNext: mrlocal run grep --input %s/ --sched %s --gantt --events events.jsonl, then mrlocal explain events.jsonl\n", demoDir, dynamic.policy)
	return err
}

func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}
