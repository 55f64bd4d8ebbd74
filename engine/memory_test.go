package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mrlocal/engine"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/jobtest"
	"mrlocal/slots/setup"
)

func TestOneRecordOfThreeQuartersOfTheBoundIsSorted(t *testing.T) {
	var data bytes.Buffer
	data.WriteString("b\n")
	data.Write(bytes.Repeat([]byte{'x'}, 12_000_000))
	data.WriteString("\na\n")
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write(data.Bytes())
	w.Close()
	dir := writeFiles(t, []jobtest.File{{Path: "x", Data: data.Bytes()}, {Path: "x.gz", Data: zipped.Bytes()}})
	for name, o := range map[string]engine.Options{
		"from a file":           {JobOptions: engine.JobOptions{Inputs: []string{filepath.Join(dir, "x")}}},
		"from standard input":   {JobOptions: engine.JobOptions{Inputs: []string{"-"}, Stdin: bytes.NewReader(data.Bytes())}},
		"from a gzip stream":    {JobOptions: engine.JobOptions{Inputs: []string{filepath.Join(dir, "x.gz")}, BlockBytes: 1 << 10}},
		"from a small gzip":     {JobOptions: engine.JobOptions{Inputs: []string{filepath.Join(dir, "x.gz")}}},
		"borrowing, from stdin": {JobOptions: engine.JobOptions{Inputs: []string{"-"}, Stdin: bytes.NewReader(data.Bytes())}, Policy: newPolicy(t, "pi-dhfs")},
	} {
		if testing.Short() && name != "from standard input" && name != "from a gzip stream" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			o.MemoryBytes, o.MapSlots, o.ReduceSlots, o.TempDirs = 16<<20, 1, 1, []string{t.TempDir()}
			got, _ := must(t, chains(t)["sort"](), o)
			if len(got) != data.Len() || string(got[:5]) != "a\nb\nx" {
				t.Errorf("%d bytes beginning %q", len(got), got[:min(5, len(got))])
			}
		})
	}
}

// One record may be read while another one is collected and a third one is spilled.
func TestRecordsOfAThirdOfTheBoundAreSorted(t *testing.T) {
	long := bytes.Repeat([]byte{'x'}, 5_000_000)
	var data, want bytes.Buffer
	for i := range 6 {
		fmt.Fprintf(&data, "%s%d\n", long, 5-i)
		fmt.Fprintf(&want, "%s%d\n", long, i)
	}
	dir := writeFiles(t, []jobtest.File{{Path: "x", Data: data.Bytes()}})
	o := engine.Options{JobOptions: engine.JobOptions{Inputs: []string{dir}}, Policy: newPolicy(t, "pi-dhfs"), MemoryBytes: 16 << 20, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, TempDirs: []string{t.TempDir()}}
	if got, _ := must(t, chains(t)["sort"](), o); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes, want %d", len(got), want.Len())
	}
}

func TestOneMatchOfMoreThanHalfTheBoundGoesThroughTheChain(t *testing.T) {
	match := bytes.Repeat([]byte{'x'}, 9_000_000)
	dir := writeFiles(t, []jobtest.File{{Path: "in", Data: slices.Concat([]byte("b xx\n"), match, []byte(" a\nxx\n"))}})
	o := engine.Options{JobOptions: engine.JobOptions{Inputs: []string{dir}}, MemoryBytes: 16 << 20, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, TempDirs: []string{t.TempDir()}}
	got, _ := must(t, build(t, grep.New, grep.Options{Patterns: []string{"x+"}}), o)
	if want := slices.Concat([]byte("2\txx\n1\t"), match, []byte("\n")); !bytes.Equal(got, want) {
		t.Errorf("%d bytes beginning %q, want %d", len(got), got[:min(8, len(got))], len(want))
	}
}

// lateReader gives its bytes after the run has ended.
type lateReader struct{ reading, late, read chan struct{} }

func (r lateReader) Read(p []byte) (int, error) {
	select {
	case <-r.late:
		close(r.read)
		return 0, io.EOF
	default:
	}
	close(r.reading)
	<-r.late
	return copy(p, bytes.Repeat([]byte("slot7\n"), 1000)), nil
}

func TestAReadThatEndsAfterTheRunFindsItsMemory(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := lateReader{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	go func() {
		<-r.reading
		cancel()
	}()
	var out bytes.Buffer
	_, err := engine.RunChain(ctx, chains(t)["grep --lines"](), engine.Options{JobOptions: engine.JobOptions{Inputs: []string{"-"}, Stdin: r, Stdout: &out}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(r.late)
	select { // the bytes are where they belong: a reader that goes on asks for more
	case <-r.read:
	case <-time.After(100 * time.Millisecond):
	}
}
