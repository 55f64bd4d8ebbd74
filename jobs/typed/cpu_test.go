package typed_test

import (
	"flag"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/internal/datagen"
	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/jobs/typed"
)

var (
	sizeBytes = flag.Int64("size", 1<<20, "bytes of input of each job of BenchmarkCPU")
	rounds    = flag.Int("rounds", 1, "runs of each kind in turn, of which BenchmarkCPU takes medians")
	most      = flag.Int("visits", 19, "most visits of a session")
	python    = flag.String("python", "", "a Python that has duckdb, to which BenchmarkCPU compares")
)

type visit = typed.Pair[string, time.Time]

type session struct {
	User       string
	Begin, End time.Time
	Pages      int
}

// sessions is the job of examples/sessions.
var sessions = typed.Job[visit, visit, struct{}, session]{Name: "sessions", From: typed.CSV[visit](',', false), GroupBy: 1,
	Rows: func(visits iter.Seq2[visit, struct{}], emit func(session)) error {
		var s session
		for v := range visits {
			if v.Value.Unix() > s.End.Unix()+30*60 {
				if s.Pages > 0 {
					emit(s)
				}
				s = session{User: v.Key, Begin: v.Value}
			}
			s.End, s.Pages = v.Value, s.Pages+1
		}
		emit(s)
		return nil
	}}

// queries do in duckdb what the jobs do. They have the names of the input and of the result.
var queries = map[string]string{
	"words": `COPY (SELECT w, count(*) FROM (SELECT unnest(string_split(line, ' ')) AS w FROM read_csv('%s', columns = {'line': 'VARCHAR'},
		delim = '\x01', quote = '', escape = '', header = false, auto_detect = false)) WHERE w <> '' GROUP BY w ORDER BY w) TO '%s' (DELIMITER '\t', HEADER false)`,
	"sessions": `COPY (SELECT u, min(t), max(t), count(*) FROM (SELECT u, t, sum(new) OVER (PARTITION BY u ORDER BY t) AS k FROM
		(SELECT u, t, CASE WHEN t - lag(t) OVER (PARTITION BY u ORDER BY t) <= INTERVAL 30 MINUTE THEN 0 ELSE 1 END AS new FROM
		read_csv('%s', columns = {'u': 'VARCHAR', 't': 'TIMESTAMP', 'page': 'VARCHAR'}, header = false))) GROUP BY u, k) TO '%s' (HEADER false)`,
}

// BenchmarkCPU measures the CPU time of typed jobs, of the same jobs of bytes and, with -python, of duckdb, in turn.
func BenchmarkCPU(b *testing.B) {
	dir := b.TempDir()
	text, visits := filepath.Join(dir, "words"), filepath.Join(dir, "sessions")
	if err := datagen.Generate(b.Context(), datagen.Words, text, *sizeBytes, 1); err != nil {
		b.Fatal(err)
	}
	writeVisits(b, visits)
	typedRun := func(run func(o mrlocal.Options) error) func(string) time.Duration {
		return func(path string) time.Duration {
			before := machine.ProcessCPU()
			if err := run(mrlocal.Options{JobOptions: mrlocal.JobOptions{Inputs: []string{path}, Stdout: io.Discard}}); err != nil {
				b.Fatal(err)
			}
			return machine.ProcessCPU() - before
		}
	}
	chain := func(c jobs.Chain) func(string) time.Duration {
		return typedRun(func(o mrlocal.Options) error { _, err := mrlocal.RunChain(b.Context(), c, o); return err })
	}
	for name, path := range map[string]string{"words": text, "sessions": visits} {
		b.Run(name, func(b *testing.B) {
			kinds := map[string]func(string) time.Duration{}
			if name == "words" {
				kinds["typed"] = typedRun(func(o mrlocal.Options) error { _, err := mrlocal.RunTyped(b.Context(), count, o); return err })
				kinds["bytes"] = chain(jobs.Chain{byteCount()})
			} else {
				kinds["typed"] = typedRun(func(o mrlocal.Options) error { _, err := mrlocal.RunTyped(b.Context(), sessions, o); return err })
				kinds["bytes"] = chain(byteSessions())
			}
			if *python != "" {
				kinds["duckdb"] = func(path string) time.Duration {
					query := fmt.Sprintf(queries[name], path, filepath.Join(dir, "out"))
					cmd := exec.Command(*python, "-c", "import sys, duckdb; duckdb.execute('SET threads = 2'); duckdb.execute(sys.argv[1])", query)
					if out, err := cmd.CombinedOutput(); err != nil {
						b.Fatalf("duckdb: %v: %s", err, out)
					}
					return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				}
			}
			for b.Loop() {
				took := map[string][]float64{}
				for range *rounds {
					for kind, run := range kinds {
						took[kind] = append(took[kind], run(path).Seconds())
					}
				}
				for kind, all := range took {
					slices.Sort(all)
					b.ReportMetric(all[len(all)/2], kind+"-cpu-s")
				}
			}
		})
	}
}

// writeVisits writes CSV lines of visits, "user,time,page". A session has 1 to -visits of them.
func writeVisits(b *testing.B, path string) {
	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for int64(text.Len()) < *sizeBytes {
		user, at := rng.IntN(20_000), time.Date(2024, 1, 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60), 0, time.UTC)
		for range 1 + rng.IntN(*most) {
			fmt.Fprintf(&text, "user%d,%s,/%d\n", user, at.Format(time.RFC3339), rng.IntN(900))
			at = at.Add(time.Duration(1+rng.IntN(600)) * time.Second)
		}
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
}
