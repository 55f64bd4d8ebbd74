package command

import (
	"math"
	"strconv"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/puma"
)

// noInput is NamedJob.Inputs of a job that reads nothing.
const noInput = -1

// centroidsFlag is the flag whose file is the side data of a job (mrlocal.Options.Side).
const centroidsFlag = "centroids"

// paperJobs lists the jobs of the benchmarks that the papers use, PUMA and Gridmix, in the order of
// the help. A new job gets a line here. docs/jobs.md describes each job.
func paperJobs() []NamedJob {
	return []NamedJob{
		paper("inverted-index", "list the files that have each word", "wiki/ -o index.txt", 0, nil, withoutOptions(puma.NewInvertedIndex)),
		paper("ranked-inverted-index", "list the files of each word sequence, most frequent first; reads what sequence-count writes", "sequences.txt -o ranked.txt", 0, nil, withoutOptions(puma.NewRankedInvertedIndex)),
		paper("term-vector", "list the frequent words of each file", "wiki/ --min 100", 0, termFlags(), termVector),
		paper("sequence-count", "count sequences of three words in each file", "wiki/ -o sequences.txt", 0, nil, withoutOptions(puma.NewSequenceCount)),
		paper("self-join", "join sorted lists of k items to candidates of k+1 items", "candidates.txt -o joined.txt", 0, nil, withoutOptions(puma.NewSelfJoin)),
		paper("adjacency-list", "list the neighbours of each node of a graph of edges", "edges.txt -o lists.txt", 0, nil, withoutOptions(puma.NewAdjacencyList)),
		paper("histogram-movies", "count movies by average rating", "movies.txt", 0, nil, withoutOptions(puma.NewHistogramMovies)),
		paper("histogram-ratings", "count ratings of movies", "movies.txt", 0, nil, withoutOptions(puma.NewHistogramRatings)),
		paper("kmeans", "find the centres of K clusters of points", "points.txt --clusters 8 -o centroids.txt", 0, kmeansFlags(), kMeans),
		paper("classification", "put points into the clusters of centroids", "points.txt --centroids centroids.txt -o clusters.txt", 0, []argv.Spec{centroids("read the centroids from `FILE`, as kmeans writes them", "required")}, classify),
		paper("terasort", "sort binary records by their first bytes", "records.bin -o sorted.bin", 0, recordFlags(), teraSort),
		paper("teravalidate", "check the order of binary records, and add up their checksums", "sorted.bin", 0, recordFlags(), teraValidate),
		paper("randomtext", "write random text; reads no input", "--bytes 64MiB --output text/", noInput, randomFlags(), randomText),
		paper("combine", "count words, combined in the maps (Gridmix)", "wiki/ --reducers 1 -o counts.txt", 0, nil, withoutOptions(puma.NewCombine)),
		paper("select", "keep a tenth, then two fifths of all lines, three times (Gridmix, monsterQuery)", "lines.txt -o kept.txt", 0, selectFlags(), selectLines),
		paper("join", "join two inputs by the first field of their lines", "users.tsv visits.tsv -o joined.tsv", puma.JoinInputs, nil, withoutOptions(puma.NewJoin)),
	}
}

// paper returns a NamedJob without anything special.
func paper(name, use, example string, inputs int, flags []argv.Spec, build func(*Reader) (jobs.Chain, error)) NamedJob {
	return NamedJob{Name: name, Use: use, Examples: []string{example}, Inputs: inputs, Flags: flags, Build: build}
}

// withoutOptions returns a NamedJob.Build for a job that has no flags of its own.
func withoutOptions(build func() (jobs.Chain, error)) func(*Reader) (jobs.Chain, error) {
	return func(*Reader) (jobs.Chain, error) { return build() }
}

// termFlags returns the flag of term-vector.
func termFlags() []argv.Spec {
	return []argv.Spec{argv.ValueSpec("min", "leave out words that a file has less than `N` times", strconv.Itoa(puma.DefaultMinCount))}
}

// termVector makes the chain of term-vector. Here and below, an option whose flag is not set keeps its
// zero value, and the package of the job replaces it by the default. The help repeats the default.
func termVector(r *Reader) (jobs.Chain, error) {
	o := puma.TermVectorOptions{Min: int64(r.Count("min", 1, math.MaxInt32))}
	if r.Err != nil {
		return nil, r.Err
	}
	return puma.NewTermVector(o)
}

// centroids returns --centroids with its help and its default. Build looks only at whether the flag
// is set. The engine reads the file before the first map and gives it to each attempt.
func centroids(help, def string) argv.Spec { return argv.ValueSpec(centroidsFlag, help, def) }

// kmeansFlags returns the flags of kmeans. Their defaults are those of package jobs/puma.
func kmeansFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("clusters", "find `K` clusters", "10, or as many as --centroids has"),
		argv.ValueSpec("rounds", "at most `N` rounds", "20"),
		argv.ValueSpec("tolerance", "stop when no coordinate moves by more than `X`", "0.001"),
		centroids("begin with the points in `FILE`, one on each line", "points of the input, drawn by their hash"),
	}
}

// kMeans makes the chain of kmeans, a job that runs for several rounds. It refuses --clusters with
// --centroids, because the lines of the file of centroids already set K.
func kMeans(r *Reader) (jobs.Chain, error) {
	o := puma.KMeansOptions{K: r.Count("clusters", 1, 10_000), Rounds: r.Count("rounds", 1, 100_000), Given: r.Line.Has(centroidsFlag)}
	o.Tolerance = argv.Value(&r.Reader, "tolerance", number)
	if r.Err == nil && o.Given && o.K > 0 {
		return nil, errs.Optionf("--clusters, --centroids", "give one of them, not both")
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return puma.NewKMeans(o)
}

// number parses the text of a flag as a finite number above 0. It has the type that argv.Value takes.
func number(flag, text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x > 0) || math.IsInf(x, 0) {
		return 0, errs.Optionf("--"+flag, "%s: want a number above 0", errs.Quote(text))
	}
	return x, nil
}

// classify makes the chain of classification. It refuses a line without --centroids, because a point
// belongs to the cluster of its nearest centroid.
func classify(r *Reader) (jobs.Chain, error) {
	if !r.Line.Has(centroidsFlag) {
		return nil, errs.Optionf("--"+centroidsFlag, "name the file of the centroids")
	}
	return puma.NewClassification()
}

// recordFlags returns the flag of terasort and teravalidate: the lengths of a record and of its key.
func recordFlags() []argv.Spec {
	return []argv.Spec{argv.ValueSpec("record", "records are binary: `fixed:BYTES,key=BYTES`; without a key the whole record is the key", puma.DefaultRecord)}
}

// teraSort makes the chain of terasort. Package jobs/puma parses --record.
func teraSort(r *Reader) (jobs.Chain, error) {
	record, _ := r.Line.Value("record")
	return puma.NewTeraSort(puma.TeraSortOptions{Record: record})
}

// teraValidate makes the chain of teravalidate, which checks the output of terasort. The user must
// give the --record of that terasort: with other lengths the job would compare the wrong bytes.
func teraValidate(r *Reader) (jobs.Chain, error) {
	record, _ := r.Line.Value("record")
	recordBytes, keyBytes, err := puma.ParseRecord(record)
	if err != nil {
		return nil, err
	}
	return puma.NewTeraValidate(puma.TeraValidateOptions{RecordBytes: recordBytes, KeyBytes: keyBytes})
}

// randomFlags returns the flags of randomtext.
func randomFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("bytes", "write `SIZE` of text, in whole records", "64MiB"),
		argv.ValueSpec("maps", "write it with `N` map tasks", "one for each 8MiB"),
		argv.ValueSpec("seed", "seed `N`, a whole number", "1"),
	}
}

// randomText makes the chain of randomtext, which has no inputs. --bytes and --maps set its splits.
// The text depends on the seed and on the splits.
func randomText(r *Reader) (jobs.Chain, error) {
	o := puma.RandomTextOptions{Bytes: r.Size("bytes", 1), Maps: r.Count("maps", 1, 1<<20)}
	if r.Line.Has("seed") {
		o.Seed = argv.Value(&r.Reader, "seed", argv.Seed)
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return puma.NewRandomText(o)
}

// selectFlags returns the flags of select.
func selectFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("keep-map", "a map keeps `P` percent of its lines", "10"),
		argv.ValueSpec("keep-reduce", "a reduce keeps `P` percent of its lines", "40"),
		argv.ValueSpec("stages", "a chain of `N` jobs", "3"),
	}
}

// selectLines makes the chain of select: --stages jobs, each of which keeps a share of its lines.
func selectLines(r *Reader) (jobs.Chain, error) {
	o := puma.SelectionOptions{Stages: r.Count("stages", 1, 100)}
	o.KeepMap, o.KeepReduce = argv.Value(&r.Reader, "keep-map", number), argv.Value(&r.Reader, "keep-reduce", number)
	if r.Err != nil {
		return nil, r.Err
	}
	return puma.NewSelection(o)
}
