package engine_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"mrlocal/engine"
	"mrlocal/jobs"
	"mrlocal/slots/setup"
)

// idle is a mapper that does nothing.
type idle struct{}

func (idle) Map(jobs.Block, jobs.Emitter) error { return nil }

// BenchmarkReadOnly measures a job that only reads. On each slot it takes about as
// long as a core takes to copy the bytes out of the page cache and count lines.
func BenchmarkReadOnly(b *testing.B) {
	const fileBytes = 256 << 20
	path := filepath.Join(b.TempDir(), "f")
	line := bytes.Repeat([]byte("x"), 99)
	if err := os.WriteFile(path, bytes.Repeat(append(line, '\n'), fileBytes/100), 0o666); err != nil {
		b.Fatal(err)
	}
	job := jobs.Job{Name: "read", NewMapper: func() jobs.Mapper { return idle{} }}
	b.SetBytes(fileBytes)
	for b.Loop() {
		if _, err := engine.RunChain(context.Background(), jobs.Chain{job}, engine.Options{JobOptions: engine.JobOptions{Inputs: []string{path}}, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}}); err != nil {
			b.Fatal(err)
		}
	}
}
