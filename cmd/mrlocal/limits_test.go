package main

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"mrlocal"
	"mrlocal/jobs"
)

// TestARunHasTheLimitsOfItsOptions: the processors of its slots, and a memory limit that ends with
// it.
func TestARunHasTheLimitsOfItsOptions(t *testing.T) {
	const memoryBytes = 64 << 20
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	usual := debug.SetMemoryLimit(-1)
	var procs int
	var limit int64
	look := jobs.Job{Name: "look", NewMapper: func() jobs.Mapper {
		return jobs.MapperFunc(func(jobs.Block, jobs.Emitter) error {
			procs, limit = runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1)
			return nil
		})
	}}
	o := mrlocal.Options{MemoryBytes: memoryBytes, Config: mrlocal.Config{MapSlots: 4, ReduceSlots: 3}}
	one := mrlocal.JobOptions{Inputs: []string{"-"}, Stdin: strings.NewReader("a\n"), Stdout: &bytes.Buffer{}}
	for what, run := range map[string]func() error{
		"RunChain": func() error {
			o.JobOptions = one
			_, err := runChain(context.Background(), jobs.Chain{look}, o)
			return err
		},
		"RunBatch": func() error {
			o.JobOptions, one.Stdin = mrlocal.JobOptions{}, strings.NewReader("a\n")
			_, err := runBatch(context.Background(), []mrlocal.BatchJob{{Chain: jobs.Chain{look}, JobOptions: one}}, o)
			return err
		},
	} {
		runtime.GOMAXPROCS(1)
		procs, limit = 0, 0
		if err := run(); err != nil {
			t.Fatal(err)
		}
		if procs < 4+3 || limit < memoryBytes || limit > 4*memoryBytes {
			t.Errorf("%s: the mapper saw %d processors and a memory limit of %d bytes", what, procs, limit)
		}
		if limit := debug.SetMemoryLimit(-1); limit != usual {
			t.Errorf("%s: a memory limit of %d bytes is left", what, limit)
		}
	}
}

var garbage []byte

// While little stays alive, the collector runs once for about 32 MiB, also after its first run.
func TestTheCollectorRunsLate(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Skip("the user has a pace")
	}
	defer debug.SetGCPercent(100)
	collectLate()
	garbage = nil
	runtime.GC() // what earlier tests have left would delay the next collection
	before, after := runtime.MemStats{}, runtime.MemStats{}
	runtime.ReadMemStats(&before)
	const pieces, bytes = 200, 1 << 20
	for range pieces {
		garbage = make([]byte, bytes)
	}
	runtime.ReadMemStats(&after)
	if n := after.NumGC - before.NumGC; n == 0 || n > pieces/16 {
		t.Errorf("%d collections for %d MiB of garbage", n, pieces)
	}
}
