package puma_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mrlocal/engine"
	"mrlocal/internal/datagen"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/jobs/puma"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
)

// paperJob is a job of the papers, its input, and the straightforward program for it.
type paperJob struct {
	name     string
	kind     datagen.Kind // of the input
	made     string       // the job whose result is the input instead; "": none
	files    int          // of the input; 0: one
	part     int64        // of the size asked for: 1/part, where results are many times the input; 0: all
	side     bool         // centroids are its side data
	chain    func() (jobs.Chain, error)
	straight func(docs []doc, side []byte) []byte
}

// paperJobs returns the jobs. A job that reads the result of another one comes after it. The job
// select keeps that many percent of the records in its maps and in its reduces.
func paperJobs(keepMap, keepReduce float64) []paperJob {
	return []paperJob{
		{name: "inverted-index", kind: datagen.Words, files: 3, straight: straightInvertedIndex, chain: puma.NewInvertedIndex},
		{name: "sequence-count", kind: datagen.Words, files: 3, part: 8, straight: straightSequenceCount, chain: puma.NewSequenceCount},
		{name: "ranked-inverted-index", made: "sequence-count", straight: straightRanked, chain: puma.NewRankedInvertedIndex},
		{name: "term-vector", kind: datagen.Words, files: 3, straight: straightTermVector, chain: of(puma.NewTermVector)},
		{name: "self-join", kind: datagen.Candidates, straight: straightSelfJoin, chain: puma.NewSelfJoin},
		{name: "adjacency-list", kind: datagen.Edges, part: 4, straight: straightAdjacency, chain: puma.NewAdjacencyList},
		{name: "histogram-movies", kind: datagen.Movies, straight: straightHistogramMovies, chain: puma.NewHistogramMovies},
		{name: "histogram-ratings", kind: datagen.Movies, straight: straightHistogramRatings, chain: puma.NewHistogramRatings},
		{name: "kmeans", kind: datagen.Points, files: 2, straight: straightKMeans, chain: func() (jobs.Chain, error) { return puma.NewKMeans(puma.KMeansOptions{Rounds: 5}) }},
		{name: "classification", kind: datagen.Points, files: 2, side: true, straight: straightClassification, chain: puma.NewClassification},
		{name: "terasort", kind: datagen.Records, files: 2, straight: straightTeraSort, chain: of(puma.NewTeraSort)},
		{name: "teravalidate", made: "terasort", straight: straightTeraValidate, chain: func() (jobs.Chain, error) {
			return puma.NewTeraValidate(puma.TeraValidateOptions{RecordBytes: 100, KeyBytes: 10})
		}},
		{name: "combine", kind: datagen.Words, straight: straightCombine, chain: puma.NewCombine},
		{name: "select", kind: datagen.Lines, chain: func() (jobs.Chain, error) {
			return puma.NewSelection(puma.SelectionOptions{KeepMap: &keepMap, KeepReduce: &keepReduce})
		}, straight: func(docs []doc, _ []byte) []byte { return straightSelect(docs, keepMap, keepReduce) }},
		{name: "join", kind: datagen.Edges, files: 2, part: 16, straight: straightJoin, chain: puma.NewJoin},
	}
}

// of returns the chain of a job with default options.
func of[O any](build func(O) (jobs.Chain, error)) func() (jobs.Chain, error) {
	return func() (jobs.Chain, error) {
		var o O
		return build(o)
	}
}

// inputs makes the files of a job.
func (j *paperJob) inputs(t testing.TB, dir string, bytes int64) (paths []string) {
	t.Helper()
	if j.made != "" {
		return []string{filepath.Join(dir, j.made+".out")}
	}
	n, part := max(j.files, 1), max(j.part, 1)
	bytes /= part
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d-of-%d-part-%d", j.kind, i+1, n, part))
		if _, err := os.Stat(path); err != nil {
			if err := datagen.Generate(t.Context(), j.kind, path, bytes/int64(n), uint64(i+1)); err != nil {
				t.Fatal(err)
			}
		}
		paths = append(paths, path)
	}
	return paths
}

// centroids writes the side data of classification: the first points of the input.
func centroids(t testing.TB, dir string, data []byte) string {
	t.Helper()
	var text []byte
	for i := range 10 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		text, data = fmt.Appendf(text, "%d\t%s\n", i, line), rest
	}
	path := filepath.Join(dir, "centroids")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAJobGivesTheAnswerOfAProgramForItAlone(t *testing.T) {
	const inputBytes = 60_000
	rng := rand.New(rand.NewPCG(14, 1))
	dir := t.TempDir()
	for _, j := range paperJobs(60, 80) {
		t.Run(j.name, func(t *testing.T) {
			paths := j.inputs(t, dir, inputBytes*max(j.part, 1))
			docs := read(paths)
			var side string
			var sideText []byte
			if j.side {
				side = centroids(t, dir, docs[0].data)
				sideText = read([]string{side})[0].data
			}
			want := j.straight(read(paths), sideText)
			if err := os.WriteFile(filepath.Join(dir, j.name+".out"), want, 0o600); err != nil {
				t.Fatal(err)
			}
			chain, err := j.chain()
			if err != nil || len(want) == 0 || len(chain) == 0 {
				t.Fatal(err, len(want))
			}
			if err := chain.Check(); err != nil {
				t.Fatal(err)
			}
			var files []jobtest.File
			cut := jobtest.Cut{BlockBytes: 1 + rng.IntN(30_000), SplitBlocks: 1 + rng.IntN(4), Side: sideText}
			for i, d := range docs {
				files, cut.Inputs = append(files, jobtest.File{Path: d.name, Data: d.data}), append(cut.Inputs, int32(i))
			}
			got, err := jobtest.Run(chain, files, cut)
			if err != nil || !bytes.Equal(got.Data, want) {
				t.Errorf("in memory, %d bytes a block: %v: %s", cut.BlockBytes, err, difference(got.Data, want))
			}
			for i, info := range registry.All() {
				if (i+int(j.name[0]))%8 > 0 && !testkit.Long() {
					continue
				}
				p, err := registry.New(info.Name, policy.DefaultOptions())
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				o := engine.Options{Policy: p, NoPin: true, MemoryBytes: 64 << 20, TempDirs: []string{dir}, Config: setup.Config{MapSlots: 1 + rng.IntN(3), ReduceSlots: 1 + rng.IntN(2)},
					JobOptions: engine.JobOptions{Inputs: paths, Side: side, Stdout: &out, BlockBytes: int64(1<<10 + rng.IntN(60_000)), Reducers: rng.IntN(6)}}
				if rng.IntN(2) == 0 {
					o.SortBufferBytes, o.NoGrowth, o.MergeFactor = 16<<10, true, 2
				}
				if _, err := engine.RunChain(t.Context(), chain, o); err != nil || !bytes.Equal(out.Bytes(), want) {
					t.Errorf("%s, %d bytes a split, %d reduces: %v: %s", info.Name, o.BlockBytes, o.Reducers, err, difference(out.Bytes(), want))
				}
			}
		})
	}
}

// difference describes the first difference of two results.
func difference(got, want []byte) string {
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	begin := max(0, at-40)
	return fmt.Sprintf("%d bytes, want %d; %.80q at byte %d, want %.80q", len(got), len(want), got[begin:], at, want[begin:])
}

func TestRandomTextHasItsFormAndDependsOnItsSeed(t *testing.T) {
	texts := map[string]bool{}
	for _, o := range []puma.RandomTextOptions{{Bytes: 100_000, Maps: 3}, {Bytes: 100_000, Maps: 3, Seed: 1}, {Bytes: 100_000, Maps: 3, Seed: 2}} {
		chain, err := puma.NewRandomText(o)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := engine.RunChain(t.Context(), chain, engine.Options{NoPin: true, MemoryBytes: 64 << 20, JobOptions: engine.JobOptions{Stdout: &out}}); err != nil {
			t.Fatal(err)
		}
		if n, ok := straightRandomText(out.Bytes()); !ok || n < 100 || out.Len() < 100_000 {
			t.Errorf("%+v: %d records in %d bytes, form %t", o, n, out.Len(), ok)
		}
		texts[out.String()] = true
	}
	if len(texts) != 2 {
		t.Errorf("%d texts of two seeds", len(texts))
	}
}

// straightRandomText only checks the form of the text, because no other program can draw the same
// words.
func straightRandomText(out []byte) (records int, ok bool) {
	ok = true
	for line := range bytes.Lines(out) {
		k, v, tab := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("\t"))
		a, b := bytes.Count(k, []byte(" "))+1, bytes.Count(v, []byte(" "))+1
		ok = ok && tab && a >= 5 && a <= 10 && b >= 20 && b <= 100
		records++
	}
	return records, ok
}

func straightTeraValidate(docs []doc, _ []byte) []byte {
	var sums, counts [2]uint64
	var both sync.WaitGroup
	for t := range 2 {
		both.Go(func() {
			for _, d := range docs {
				half := len(d.data) / 200 * 100
				part := d.data[:half]
				if t == 1 {
					part = d.data[half:]
				}
				for r := range slices.Chunk(part, 100) {
					sums[t] += uint64(crc32.ChecksumIEEE(r))
					counts[t]++
				}
			}
		})
	}
	both.Wait()
	var last []byte
	for _, d := range docs {
		for r := range slices.Chunk(d.data, 100) {
			if bytes.Compare(last, r[:10]) > 0 {
				return []byte("error")
			}
			last = r[:10]
		}
	}
	return fmt.Appendf(nil, "records\t%d\nchecksum\t%x\n", counts[0]+counts[1], sums[0]+sums[1])
}

// A message about a wrong line has the byte offset of the line in its file, whatever the blocks.
func TestWrongLinesAreNamedByTheirOffset(t *testing.T) {
	for good, chain := range map[string]func() (jobs.Chain, error){"a\tb\n": puma.NewAdjacencyList, "a|b|c|d\t1\n": puma.NewRankedInvertedIndex, "a,b\n": puma.NewSelfJoin} {
		c, err := chain()
		if err != nil {
			t.Fatal(err)
		}
		files := []jobtest.File{{Path: "in", Data: []byte(good + good + good + "wrong\n")}}
		for _, blockBytes := range []int{0, len(good)} {
			_, err = jobtest.Run(c, files, jobtest.Cut{BlockBytes: blockBytes})
			if want := fmt.Sprintf("in: line at byte %d: \"wrong\"", 3*len(good)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", c[0].Name, err, want)
			}
		}
	}
}
