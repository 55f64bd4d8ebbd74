package workload

import (
	"flag"
	"testing"

	"mrlocal/internal/testkit"
)

// draws is the number of damaged copies of a file.
var draws = flag.Int("draws", 1500, "damaged copies of a workload file")

// A workload file is damaged in many ways. No error shows words of Go, or of the YAML parser in Go.
func TestDamagedFilesAreNamedInOurWords(t *testing.T) {
	testkit.Mutants(everything, *draws, 1, func(damaged string) {
		_, err := Parse("w", []byte(damaged))
		if err == nil {
			return
		}
		if raw := testkit.RawGo(err.Error()); raw != "" || len(err.Error()) > 400 {
			t.Errorf("%q in %.500s", raw, err)
		}
	})
}
