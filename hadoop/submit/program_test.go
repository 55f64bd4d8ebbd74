package submit

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrlocal/hadoop/stream"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
)

// lengths is a chain whose first job has the lengths of lines as keys.
func lengths() jobs.Chain {
	first := jobs.Job{Name: "lengths", Ordered: true, NewMapper: func() jobs.Mapper {
		return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
			for line := range b.Lines() {
				out.Emit([]byte(strings.Repeat("\t", len(line))), []byte(filepath.Base(b.Path)))
			}
			return nil
		})
	}, NewReducer: func() jobs.Reducer { return nil }}
	second := jobs.Job{Name: "second", Text: true, Reduces: 2, NewMapper: first.NewMapper, NewReducer: first.NewReducer, Partition: func([]byte, int) int { return 0 }}
	return jobs.Chain{first, second, {Name: "map only", Text: true, NewMapper: first.NewMapper}}
}

// TestMain makes this test program also a program with jobs of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "stream" {
		os.Exit(stream.Main(lengths(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	}
	os.Exit(testkit.Transitions{M: m}.Run())
}

// emitted collects keys.
type emitted [][]byte

func (e *emitted) Emit(key, _ []byte) { *e = append(*e, bytes.Clone(key)) }

func TestAProgramOfTheUserTellsItsChain(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	chain, err := Program(self)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range lengths() {
		got := &chain[i]
		if got.Name != want.Name || got.Ordered != want.Ordered || got.Reduces != want.Reduces || (got.Partition == nil) != (want.Partition == nil) || (got.NewReducer == nil) != (want.NewReducer == nil) {
			t.Errorf("job %d is %+v", i+1, got)
		}
	}
	var keys emitted
	if err := chain[0].NewMapper().Map(jobs.Block{Path: "hdfs://h/a", Data: []byte("abc\nd\n")}, &keys); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(keys, []string{"\t\t\t", "\t"}, func(a []byte, b string) bool { return string(a) == b }) {
		t.Errorf("keys %q", keys)
	}
	s := Options{Chain: chain, Inputs: []string{"hdfs://h/in"}, Output: "hdfs://h/out", Jar: "s.jar", Binary: "./prog", Reducers: 2}
	if !s.NeedsCuts() {
		t.Error("a total order over two reduces needs no cuts")
	}
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if text := p.Text(nil); !strings.Contains(text, "-files ./prog#mrlocal,cuts#cuts -mapper 'mrlocal stream map --reduces=2 --cuts=cuts'") || !strings.Contains(text, "'mrlocal stream reduce --step=2 --reduces=2'") {
		t.Error(text)
	}
}

func TestAProgramThatIsNoneIsRefusedByName(t *testing.T) {
	dir := t.TempDir()
	program := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"):                              "no such file",
		program("silent", ""):                                   "lists no job",
		program("other", "echo usage: other >&2; exit 2"):       "usage: other",
		program("binary", `echo '{"jobs":[{"refused":"no"}]}'`): "no",
	} {
		if _, err := Program(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
