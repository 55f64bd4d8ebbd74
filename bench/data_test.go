package bench_test

import (
	"flag"
	"path/filepath"
	"testing"

	"mrlocal/engine"
	"mrlocal/internal/datagen"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/sort"
	"mrlocal/jobs/wordcount"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
)

var (
	sizeBytes = flag.Int64("size", 64<<20, "bytes of input of each job")
	rounds    = flag.Int("rounds", 5, "runs of each policy, in turn; medians count")
	judge     = flag.Bool("judge", false, "fail where the gains are not what docs/performance.md promises")
)

// source is a job and the data it reads.
type source struct {
	name  string
	kind  datagen.Kind
	chain func() (jobs.Chain, error)
}

func words() source {
	return source{"wordcount", datagen.Words, func() (jobs.Chain, error) { return wordcount.New(wordcount.Options{}) }}
}

func records() source {
	return source{"sort", datagen.Records, func() (jobs.Chain, error) { return sort.New(sort.Options{}) }}
}

func matches() source {
	return source{"grep", datagen.Lines, func() (jobs.Chain, error) {
		return grep.New(grep.Options{Patterns: []string{`[a-z]*ing`}, Count: true})
	}}
}

// mix returns five jobs: two count, two sort, one searches
// (bench/workloads/mix5.yaml).
func mix() []source {
	lines, text := records(), words()
	lines.name, lines.kind = "sort-lines", datagen.Lines
	text.name, text.kind = "wordcount-wiki", datagen.Wiki
	return []source{words(), lines, matches(), records(), text}
}

// makeInputs makes the data of each job and returns the paths.
func makeInputs(b *testing.B, all []source) []string {
	b.Helper()
	dir := b.TempDir()
	var paths []string
	for i, s := range all {
		path := filepath.Join(dir, s.name)
		if err := datagen.Generate(b.Context(), s.kind, path, *sizeBytes, uint64(i+1)); err != nil {
			b.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// splits is the number of splits of each input. There are many, so that maps are short and no slot
// waits long for the last one.
const splits = 40

// runReal runs the jobs at once, each in a pool of its own, and discards their results.
func runReal(b *testing.B, all []source, paths []string, sched string, mapSlots, reduceSlots int) *engine.Report {
	b.Helper()
	return runWith(b, all, paths, engine.Options{Policy: newPolicy(b, sched), Config: setup.Config{MapSlots: mapSlots, ReduceSlots: reduceSlots}})
}

// runWith is runReal with other options.
func runWith(b *testing.B, all []source, paths []string, o engine.Options) *engine.Report {
	b.Helper()
	work := batchOf(b, all, paths, 4)
	r, err := engine.RunBatch(b.Context(), work, o)
	if err != nil {
		b.Fatalf("%s: %v", o.Policy.Traits().Name, err)
	}
	return r
}

func newPolicy(b *testing.B, sched string) slots.Policy {
	b.Helper()
	return policyOf(b, sched)
}

func policyOf(tb testing.TB, sched string) slots.Policy {
	tb.Helper()
	p, err := registry.New(sched, policy.DefaultOptions())
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// batchOf returns jobs that read paths, each with that many reduces.
func batchOf(b *testing.B, all []source, paths []string, reducers int) (work []engine.BatchJob) {
	b.Helper()
	for i, s := range all {
		chain, err := s.chain()
		if err != nil {
			b.Fatal(err)
		}
		work = append(work, engine.BatchJob{Submission: setup.Submission{Name: s.name}, Chain: chain, JobOptions: engine.JobOptions{
			Inputs: []string{paths[i]}, BlockBytes: max(*sizeBytes/splits, 64<<10), Reducers: reducers,
		}})
	}
	return work
}
