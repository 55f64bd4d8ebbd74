package engine_test

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal/engine"
	"mrlocal/input"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/jobs/sort"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/slots"
	"mrlocal/slots/setup"
	"mrlocal/trace"
)

// otherOption is a change of an option between a run that was stopped and the next one.
type otherOption struct {
	change  func(o *engine.Options)
	refused string // what the error says; "": the next run goes on
}

// otherOptions has a change of each field of engine.Options, and what it does. dir is a new directory.
func otherOptions(dir string) map[string]otherOption {
	type o = *engine.Options
	free := func(change func(o)) otherOption { return otherOption{change, ""} }
	side := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			panic(err)
		}
		return name
	}
	return map[string]otherOption{
		"Inputs":          {func(o o) { o.Inputs = append(o.Inputs, o.Inputs[0]) }, "input"},
		"Found":           {func(o o) { o.Found, o.Inputs = &input.Search{Missing: func(string, error) {}}, nil }, "Options.Found"},
		"NoDecode":        {func(o o) { o.NoDecode = true }, "Options.NoDecode was not given and is given"},
		"UTF16":           {func(o o) { o.UTF16 = true }, "Options.UTF16 was not given and is given"},
		"Stdin":           {func(o o) { o.Inputs, o.Stdin = []string{"-"}, strings.NewReader("a\n") }, "is read as a stream"},
		"OutputDir":       {func(o o) { o.OutputDir = filepath.Join(dir, "out") }, "Options.OutputDir was not given and is given"},
		"Side":            {func(o o) { o.Side = side("other", "other") }, "the bytes of Options.Side have changed"},
		"Reducers":        {func(o o) { o.Reducers = 2 }, "Options.Reducers was 3 and is 2"},
		"ReducersPerSlot": {func(o o) { o.Reducers, o.ReducersPerSlot = 0, 2*slots.One }, "Options.Reducers was 3 and is 2"},
		"MapOnly":         {func(o o) { o.MapOnly, o.Reducers = true, 0 }, "Options.MapOnly"},
		"BlockBytes":      {func(o o) { o.BlockBytes = 16 << 10 }, "Options.BlockBytes was 32768 and is 16384"},
		"ResumeSettings":  {func(o o) { o.ResumeSettings = []string{"the job=y", "the version=1"} }, "the job was x and is y"},
		"Codec":           {func(o o) { o.Codec = 3 }, "Options.Codec was auto and is zstd"},

		// What maps emit does not depend on these. Stdout is set in each run, and a job with reduces
		// needs reduce slots.
		"HDFS": free(func(o o) { o.HDFS = hdfs.Options{User: "ann"} }), "All": free(func(o o) { o.All = true }), "Uncounted": free(func(o o) { o.Uncounted = true }),
		"OutputFile": free(func(o o) { o.OutputFile = filepath.Join(dir, "file") }), "Stdout": free(func(o) {}), "PipeMayClose": free(func(o o) { o.PipeMayClose = true }), "Overwrite": free(func(o o) { o.Overwrite = true }),
		"PlainNames": free(func(o o) { o.PlainNames = true }), "OmitEmpty": free(func(o o) { o.OmitEmpty = true }), "NoSuccess": free(func(o o) { o.NoSuccess = true }),
		"CompressOutput": free(func(o o) { o.CompressOutput = output.None }),
		"Policy":         free(func(o o) { o.Policy = newCopier(time.Millisecond) }), "NoReduces": free(func(o) {}), "NoPin": free(func(o o) { o.NoPin = true }),
		"DiskBytesPerSecond": free(func(o o) { o.DiskBytesPerSecond = 1 << 30 }), "Copiers": free(func(o o) { o.Copiers = shuffle.Copiers{Parallel: 2} }),
		"CopyOutputs": free(func(o o) { o.CopyOutputs = true }),
		"MemoryBytes": free(func(o o) { o.MemoryBytes = 64 << 20 }), "SortBufferBytes": free(func(o o) { o.SortBufferBytes = 64 << 10 }),
		"SpillPercent": free(func(o o) { o.SpillPercent = 0.5 }), "NoGrowth": free(func(o o) { o.NoGrowth = true }), "GrowthThreshold": free(func(o o) { o.GrowthThreshold = 0.5 }), "TablesInProportion": free(func(o o) { o.TablesInProportion = true }),
		"MergeFactor": free(func(o o) { o.MergeFactor = 2 }), "TempDirs": free(func(o o) { o.TempDirs = []string{dir} }), "TempAtNeed": free(func(o o) { o.TempAtNeed = true }), "MaxTempBytes": free(func(o o) { o.MaxTempBytes = 1 << 30 }),
		"ResumeDir": free(func(o o) { o.ResumeDir += string(filepath.Separator) }), "TaskTimeout": free(func(o o) { o.TaskTimeout = time.Minute }), "Profile": free(func(o o) { o.Profile = true }),
		"Events": free(func(o o) { o.Events = io.Discard }), "Watch": free(func(o o) { o.Watch = func(*trace.Stream) {} }), "Note": free(func(o o) { o.Note = func(string) {} }), "Warn": free(func(o o) { o.Warn = func(string) {} }), "Stderr": free(func(o o) { o.Stderr = io.Discard }), "Logger": free(func(o o) { o.Logger = slog.Default() }), "Progress": free(func(o o) { o.Progress = func(engine.Progress) {} }),
		"Config": free(func(o o) {
			o.Config, o.MemoryBytes = setup.Config{Trackers: 2, MapSlots: 1, ReduceSlots: 1, Attempts: 2}, 64<<20
		}),
	}
}

// TestInputsThatAreNamedInAnotherGroupingAreOthers: the files and their order are the same, but not
// Block.Input of each.
func TestInputsThatAreNamedInAnotherGroupingAreOthers(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), text(76, 40_000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	named := func(names ...string) (paths []string) {
		for _, n := range names {
			paths = append(paths, filepath.Join(dir, n))
		}
		return paths
	}
	r := newResumable(t, func() jobs.Chain { return build(t, sort.New, sort.Options{}) }, named("[ab]", "c")...)
	r.stop(3)
	for _, o := range [][]string{named("a", "[bc]"), named("a", "b", "c"), {dir}} {
		r.o.Inputs = o
		if _, err := engine.RunChain(t.Context(), r.chain(), r.o); !errs.IsUsage(err) || !strings.Contains(err.Error(), "belonged to path") {
			t.Errorf("%v: error %v", o, err)
		}
	}
}

// leaves returns the names of the exported fields of a struct, and those of its embedded structs.
// setup.Config counts as one field, because it only describes the cluster.
func leaves(of reflect.Type) (names []string) {
	for f := range of.Fields() {
		switch {
		case f.Anonymous && f.Type != reflect.TypeFor[setup.Config]():
			names = append(names, leaves(f.Type)...)
		case f.IsExported():
			names = append(names, f.Name)
		}
	}
	return names
}

// TestEachOptionIsInTheJournalOrDoesNotMatter: a change of each option in turn is refused by name, or the
// run goes on to the same result.
func TestEachOptionIsInTheJournalOrDoesNotMatter(t *testing.T) {
	t.Parallel() // much of its time it waits for the disk
	files := []jobtest.File{{Path: "a", Data: text(74, 100_000)}}
	writeFiles(t, files)
	chain := func() jobs.Chain { return build(t, sort.New, sort.Options{}) }
	want, err := jobtest.Reference(chain(), files)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	options := otherOptions(dir)
	fields := leaves(reflect.TypeFor[engine.Options]())
	for _, name := range fields {
		if _, known := options[name]; !known {
			t.Errorf("Options.%s: add what its change does to a journal", name)
		}
	}
	if len(options) != len(fields) {
		t.Errorf("%d options, %d fields", len(options), len(fields))
	}
	r := newResumable(t, chain, files[0].Path)
	r.o.Side = filepath.Join(dir, "side")
	if err := os.WriteFile(r.o.Side, []byte("side"), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := false
	for name, c := range options {
		if !kept {
			r.stop(3)
		}
		o := r.o
		o.Inputs, o.ResumeSettings = slices.Clone(o.Inputs), slices.Clone(o.ResumeSettings)
		c.change(&o)
		if kept = c.refused != ""; kept {
			if _, err := engine.RunChain(t.Context(), chain(), o); !errs.IsUsage(err) || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: error %v, want one with %q", name, err, c.refused)
			}
			continue
		}
		got, report := must(t, chain(), o)
		if o.OutputFile != "" {
			got, err = os.ReadFile(o.OutputFile)
		}
		if err != nil || !slices.Equal(got, want) || report.Jobs[0].Counters.ResumedMaps < 2 {
			t.Errorf("%s: %v, %d bytes, want %d; %d maps were done", name, err, len(got), len(want), report.Jobs[0].Counters.ResumedMaps)
		}
		if _, err := os.Stat(r.o.ResumeDir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %s is left: %v", name, r.o.ResumeDir, err)
		}
	}
}

// TestEachPartOfAJobThatTheEngineSeesIsInTheJournal, and a change of the bytes of side data under the
// same name.
func TestEachPartOfAJobThatTheEngineSeesIsInTheJournal(t *testing.T) {
	files := []jobtest.File{{Path: "a", Data: text(75, 100_000)}}
	writeFiles(t, files)
	chain := func() jobs.Chain { return build(t, sort.New, sort.Options{}) }
	r := newResumable(t, chain, files[0].Path)
	r.o.Side = filepath.Join(t.TempDir(), "side")
	write := func(text string) {
		if err := os.WriteFile(r.o.Side, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1 2\n")
	r.stop(3)
	refused := func(what string, chain jobs.Chain) {
		t.Helper()
		if _, err := engine.RunChain(t.Context(), chain, r.o); !errs.IsUsage(err) || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one with %q", err, what)
		}
	}
	for what, change := range map[string]func(j *jobs.Job){
		"Job.Name was":       func(j *jobs.Job) { j.Name = "other" },
		"Job.Delim was":      func(j *jobs.Job) { j.Delim = jobs.NUL },
		"Job.SkipBinary was": func(j *jobs.Job) { j.SkipBinary = !j.SkipBinary },
		"Job.Ordered was":    func(j *jobs.Job) { j.Ordered = !j.Ordered },
	} {
		other := chain()
		change(&other[0])
		refused(what, other)
	}
	for _, text := range []string{"1 3\n", "", "1 2"} {
		write(text)
		refused("the bytes of Options.Side have changed", chain())
	}
	if err := os.Remove(r.o.Side); err != nil {
		t.Fatal(err)
	}
	refused("no such file", chain())
	write("1 2\n")
	r.o.Side = ""
	refused("Options.Side was", chain())
}
