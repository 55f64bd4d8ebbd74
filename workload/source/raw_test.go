package source_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"mrlocal/internal/testkit"
	"mrlocal/workload/source"
)

// draws is the number of damaged copies of each file.
var draws = flag.Int("draws", 300, "damaged copies of each trace")

// Each file in testdata is damaged in many ways. No error shows words of Go.
func TestDamagedTracesAreNamedInOurWords(t *testing.T) {
	for file, read := range map[string]reader{
		"swim.tsv": source.SWIM, "load.json": source.SLS, "dag.json": source.SLS, "trace.rumen": source.Rumen,
		"jobs.history1": source.History1, "job.jhist": source.History, "binary.jhist": source.History,
	} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		testkit.Mutants(string(text), *draws, 1, func(damaged string) {
			_, err := read("t", strings.NewReader(damaged), source.Reading{})
			if err == nil {
				return
			}
			if raw := testkit.RawGo(err.Error()); raw != "" || len(err.Error()) > 400 {
				t.Errorf("%s: %q in %.500s", file, raw, err)
			}
		})
	}
}
