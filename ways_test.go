package mrlocal_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mrlocal"
	"mrlocal/hadoop/stream"
	"mrlocal/hadoop/submit"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/spill"
)

// work is what a way of running gets in addition to the chain.
type work struct {
	files   []jobtest.File // in the order of the input; their paths are plain names
	inputs  []int32        // number of the input of each file; nil: 0
	reduces int            // of the first job; 0: one
	side    string         // side data; "": none
	cut     jobtest.Cut    // of the reference
	split   int            // bytes of a split; 0: chosen by the way
	options mrlocal.Options
	dir     bool       // the result is a directory, also without named outputs
	resumed *int64     // the maps that were not run again are added; nil: not counted
	rng     *rand.Rand // for what Hadoop does in any order; nil: one split a file, no combiner between
}

// way runs a chain in one way. It returns the text of all parts, and behind it each named output below a
// line with its name.
type way struct {
	name string
	run  func(t testing.TB, chain jobs.Chain, w work) (string, error)
}

// ways are all ways of running a job.
func ways() []way {
	return []way{
		{"run", runWay}, {"later in a chain", laterWay}, {"batch", batchWay}, {"resume", resumeWay}, {"stream, submit", streamWay},
		{"reference", referenceWay},
	}
}

// lay writes the files below a new directory, and returns the options of a run that reads them.
func (w work) lay(t testing.TB) mrlocal.Options {
	t.Helper()
	dir, o := t.TempDir(), w.options
	for i, f := range w.files {
		in := filepath.Join(dir, fmt.Sprint("in", w.inputOf(i)))
		if err := errors.Join(os.MkdirAll(in, 0o700), os.WriteFile(filepath.Join(in, f.Path), f.Data, 0o600)); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(o.Inputs, in) {
			o.Inputs = append(o.Inputs, in)
		}
	}
	if w.side != "" {
		o.Side = filepath.Join(dir, "side")
		if err := os.WriteFile(o.Side, []byte(w.side), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.NoPin, o.Reducers, o.BlockBytes, o.Stderr = true, max(w.reduces, 1), int64(w.split), io.Discard
	o.TempDirs, o.MemoryBytes = []string{dir}, cmp.Or(o.MemoryBytes, 64<<20)
	if o.MapSlots == 0 {
		o.MapSlots, o.ReduceSlots = 2, 1
	}
	return o
}

// inputOf returns the number of the input of file i.
func (w work) inputOf(i int) int32 {
	if w.inputs == nil {
		return 0
	}
	return w.inputs[i]
}

// place is where the result of a run goes: a directory, or a buffer, which needs no sync.
type place struct {
	dir string // "": out
	out bytes.Buffer
}

// to makes the options write to a place.
func (w work) to(t testing.TB, chain jobs.Chain, o *mrlocal.JobOptions) *place {
	p := &place{}
	if o.Stdout = &p.out; w.dir || len(chain[len(chain)-1].Outputs) > 0 {
		p.dir = filepath.Join(t.TempDir(), "out")
		o.OutputDir, o.Stdout = p.dir, nil
	}
	return p
}

// text returns the result.
func (p *place) text(t testing.TB) string {
	if p.dir == "" {
		return p.out.String()
	}
	return result(t, p.dir)
}

// result returns the text of the parts in a directory, and of its named outputs.
func result(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if name, _, is := strings.Cut(e.Name(), "-"); is {
			texts[name] = append(texts[name], text...)
		}
	}
	parts := texts["part"]
	delete(texts, "part")
	return withNamed(parts, texts)
}

// withNamed returns the text of a result with those of its named outputs.
func withNamed(parts []byte, named map[string][]byte) string {
	text := string(parts)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		text += fmt.Sprintf("[%s]\n%s", name, named[name])
	}
	return text
}

// runWay is Run, or RunChain for several jobs.
func runWay(t testing.TB, chain jobs.Chain, w work) (string, error) {
	o := w.lay(t)
	p := w.to(t, chain, &o.JobOptions)
	if _, err := mrlocal.RunChain(t.Context(), chain, o); err != nil {
		return "", err
	}
	return p.text(t), nil
}

// laterWay is RunChain with a job before the chain that writes the lines of the input in order.
func laterWay(t testing.TB, chain jobs.Chain, w work) (string, error) {
	delim := chain[0].Delim
	chain[0].Text = true
	each := func(b jobs.Block, out jobs.Emitter) error {
		for record := range b.Records(delim) {
			out.Emit(record, nil)
		}
		return nil
	}
	copies := jobs.Job{
		Name: "copy", Reduces: 1, Delim: delim, NewMapper: mapperOf(each),
		NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} },
	}
	return runWay(t, append(jobs.Chain{copies}, chain...), w)
}

// batchWay is RunBatch with the chain twice.
func batchWay(t testing.TB, chain jobs.Chain, w work) (string, error) {
	o := w.lay(t)
	var batch []mrlocal.BatchJob
	var places []*place
	for _, name := range []string{"one", "two"} {
		b := mrlocal.BatchJob{Chain: chain, JobOptions: o.JobOptions}
		b.Name = name
		places = append(places, w.to(t, chain, &b.JobOptions))
		batch = append(batch, b)
	}
	o.JobOptions = mrlocal.JobOptions{Reducers: o.Reducers, BlockBytes: o.BlockBytes}
	if _, err := mrlocal.RunBatch(t.Context(), batch, o); err != nil {
		return "", err
	}
	one, two := places[0].text(t), places[1].text(t)
	if one != two {
		t.Errorf("two jobs of a batch: %q and %q", one, two)
	}
	return one, nil
}

var errStopped = errors.New("stopped by the test")

// resumeWay stops a run when its second map begins, and runs it again with what the first run has kept.
func resumeWay(t testing.TB, chain jobs.Chain, w work) (string, error) {
	w.options.ResumeDir, w.split = filepath.Join(t.TempDir(), "kept"), cmp.Or(w.split, 8)
	o := w.lay(t)
	o.Config.MapSlots = 1
	w.to(t, chain, &o.JobOptions)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stopped := slices.Clone(chain)
	var made atomic.Int64
	stopped[0].NewMapper = func() jobs.Mapper {
		if made.Add(1) == 2 {
			cancel(errStopped)
		}
		return chain[0].NewMapper()
	}
	// A chain that ends before its second map has kept nothing.
	if _, err := mrlocal.RunChain(ctx, stopped, o); err != nil && !errors.Is(err, errStopped) {
		return "", err
	}
	p := w.to(t, chain, &o.JobOptions)
	report, err := mrlocal.RunChain(t.Context(), chain, o)
	if err != nil {
		return "", err
	}
	if w.resumed != nil {
		*w.resumed += report.Jobs[0].Counters.ResumedMaps
	}
	return p.text(t), nil
}

// referenceWay is package jobtest. Without a partitioner it divides keys as the engine does.
func referenceWay(_ testing.TB, chain jobs.Chain, w work) (string, error) {
	chain, cut := slices.Clone(chain), w.cut
	cut.Side, cut.Inputs, cut.Reduces = []byte(w.side), w.inputs, w.reduces
	if w.side == "" {
		cut.Side = nil
	}
	for i := range chain {
		chain[i] = dividing(chain[i])
	}
	out, err := jobtest.Run(chain, w.files, cut)
	return withNamed(out.Data, out.Named), err
}

// dividing returns the job with the partitioner of the engine, unless it has one.
func dividing(j jobs.Job) jobs.Job {
	if begin := j.Begin; begin != nil {
		j.Begin = func(files int) (jobs.Job, error) { begun, err := begin(files); return dividing(begun), err }
	}
	if prefix := j.GroupBytes; j.Partition == nil && !j.Ordered {
		j.Partition = func(key []byte, parts int) int {
			if prefix != nil {
				key = key[:prefix(key)]
			}
			return spill.HashPartition(key, parts)
		}
	}
	return j
}

// streamWay runs the children of package stream as Hadoop does, after package submit has made a plan.
func streamWay(t testing.TB, chain jobs.Chain, w work) (string, error) {
	var inputs []string
	var files []jobtest.File
	for i, f := range w.files {
		in := fmt.Sprint("hdfs://h:1/in", w.inputOf(i))
		if !slices.Contains(inputs, in) {
			inputs = append(inputs, in)
		}
		files = append(files, jobtest.File{Path: in + "/" + f.Path, Data: f.Data})
	}
	if len(inputs) == 0 {
		inputs = []string{"hdfs://h:1/in0"}
	}
	if _, err := submit.New(submit.Options{Chain: chain, Inputs: inputs, Output: "hdfs://h:1/out", Files: max(len(files), 1)}); err != nil {
		return "", err
	}
	var parts [][]byte
	for i := range chain {
		h := hadoop{w: w, chain: chain, o: stream.Options{Step: i + 1, Reduces: cmp.Or(chain[i].Reduces, 1), InOrder: chain[i].NewReducer != nil, Inputs: inputs, Files: len(files)}}
		if i == 0 && chain[0].NewReducer != nil {
			h.o.Reduces = cmp.Or(chain[0].Reduces, w.reduces, 1)
		}
		if chain[i].Ordered && chain[i].Partition == nil && h.o.Reduces > 1 {
			var err error
			if h.o.Cuts, err = mrlocal.Cuts(t.Context(), chain[i], h.o.Reduces, w.lay(t).JobOptions); err != nil {
				return "", err
			}
		}
		var err error
		if parts, err = h.job(t, files); err != nil {
			return "", err
		}
		inputs, files = []string{"hdfs://h:1/between"}, nil
		for p, part := range parts {
			files = append(files, jobtest.File{Path: fmt.Sprintf("hdfs://h:1/between/part-%05d", p), Data: part})
		}
	}
	return string(bytes.Join(parts, nil)), nil
}

// hadoop does the work of Hadoop Streaming for one job.
type hadoop struct {
	w     work
	chain jobs.Chain
	o     stream.Options
}

// child runs one side.
func (h *hadoop) child(t testing.TB, side stream.Side, task stream.Task, in []byte) ([]byte, error) {
	var out bytes.Buffer
	o := h.o
	task.Counts = true
	o.Task = task
	err := stream.Run(t.Context(), h.chain, side, o, bytes.NewReader(in), &out, io.Discard)
	return out.Bytes(), err
}

// job runs a job on files and returns its parts.
func (h *hadoop) job(t testing.TB, files []jobtest.File) ([][]byte, error) {
	partitions := make([][]string, h.o.Reduces)
	number := 0
	for _, f := range files {
		for from := 0; from == 0 || from < len(f.Data); {
			end := len(f.Data)
			if h.w.rng != nil && from < end {
				end = from + 1 + h.w.rng.IntN(end-from)
				if i := bytes.IndexByte(f.Data[end-1:], '\n'); i >= 0 {
					end += i
				} else {
					end = len(f.Data)
				}
			}
			out, err := h.child(t, stream.Map, stream.Task{Number: number, InputFile: f.Path, InputStart: int64(from)}, f.Data[from:end])
			if err != nil {
				return nil, err
			}
			number++
			byReduce := make([][]string, h.o.Reduces)
			for line := range strings.Lines(string(out)) {
				key, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				hash := int32(1)
				for _, b := range []byte(key) {
					hash = 31*hash + int32(int8(b))
				}
				p := int(hash&0x7fffffff) % h.o.Reduces
				byReduce[p] = append(byReduce[p], line)
			}
			for p, lines := range byReduce {
				if h.w.rng != nil && h.w.rng.IntN(2) == 0 && len(lines) > 0 { // Hadoop may combine, or not
					out, err := h.child(t, stream.Combine, stream.Task{}, h.sorted(lines))
					if err != nil {
						return nil, err
					}
					lines = slices.Collect(strings.Lines(string(out)))
				}
				partitions[p] = append(partitions[p], lines...)
			}
			from = max(end, 1)
		}
	}
	var parts [][]byte
	for p, lines := range partitions {
		out, err := h.child(t, stream.Reduce, stream.Task{Number: p}, h.sorted(lines))
		if err != nil {
			return nil, err
		}
		parts = append(parts, out)
	}
	return parts, nil
}

// sorted returns lines by their keys, and lines with equal keys in any order. Hadoop ends each key with a TAB.
func (h *hadoop) sorted(lines []string) []byte {
	if h.w.rng != nil {
		h.w.rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	}
	var in bytes.Buffer
	key := func(line string) string {
		key, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		return key
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	for _, line := range lines {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		fmt.Fprintf(&in, "%s\t%s\n", key, value)
	}
	return in.Bytes()
}
