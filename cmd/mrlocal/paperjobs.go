package main

import (
	"math"
	"strconv"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/jobs"
	"mrlocal/jobs/puma"
)

// noInput is Job.Takes of a job that reads nothing.
const noInput = -1

// paperJobs lists the jobs of the benchmarks that the papers use, PUMA and Gridmix, in the order of
// the help. A new job gets a line here. docs/jobs.md describes each job.
func paperJobs() []NamedJob {
	return []NamedJob{
		paper("inverted-index", "list the files that have each word", "wiki/ -o index.txt", plain(puma.NewInvertedIndex)),
		paper("ranked-inverted-index", "list the files of each word sequence, most frequent first; reads what sequence-count writes", "sequences.txt -o ranked.txt", plain(puma.NewRankedInvertedIndex)),
		paper("term-vector", "list the frequent words of each file", "wiki/ --min 100", termVector),
		paper("sequence-count", "count sequences of three words in each file", "wiki/ -o sequences.txt", plain(puma.NewSequenceCount)),
		paper("self-join", "join sorted lists of k items to candidates of k+1 items", "candidates.txt -o joined.txt", plain(puma.NewSelfJoin)),
		paper("adjacency-list", "list the neighbours of each node of a graph of edges", "edges.txt -o lists.txt", plain(puma.NewAdjacencyList)),
		paper("histogram-movies", "count movies by average rating", "movies.txt", plain(puma.NewHistogramMovies)),
		paper("histogram-ratings", "count ratings of movies", "movies.txt", plain(puma.NewHistogramRatings)),
		paper("kmeans", "find the centres of K clusters of points", "points.txt --clusters 8 -o centroids.txt", kMeans),
		paper("classification", "put points into the clusters of centroids", "points.txt --centroids centroids.txt -o clusters.txt", classify),
		paper("terasort", "sort binary records by their first bytes", "records.bin -o sorted.bin", teraSort),
		paper("teravalidate", "check the order of binary records, and add up their checksums", "sorted.bin", teraValidate),
		paper("randomtext", "write random text; reads no input", "--bytes 64MiB --output text/", randomText),
		paper("combine", "count words, combined in the maps (Gridmix)", "wiki/ --reducers 1 -o counts.txt", plain(puma.NewCombine)),
		paper("select", "keep a tenth, then two fifths of all lines, three times (Gridmix, monsterQuery)", "lines.txt -o kept.txt", selectLines),
		paper("join", "join two inputs by the first field of their lines", "users.tsv visits.tsv -o joined.tsv", func(j *Job) { j.Takes, j.Build = puma.JoinInputs, puma.NewJoin }),
	}
}

func paper(name, use, example string, make func(*Job)) NamedJob {
	return NamedJob{Name: name, Use: use, Examples: []string{example}, Make: make}
}

// plain returns a NamedJob.Make for a job that has no flags of its own.
func plain(build func() (jobs.Chain, error)) func(*Job) { return func(j *Job) { j.Build = build } }

func termVector(j *Job) {
	var o puma.TermVectorOptions
	j.Own = []setting.Setting{setting.Of("min", "Min", "leave out words that a file has less than `N` times", strconv.Itoa(puma.DefaultMinCount), setting.Count(&o.Min, 1, math.MaxInt32))}
	j.Build = func() (jobs.Chain, error) { return puma.NewTermVector(o) }
}

// centroids returns --centroids. The engine reads the file, the side data of the job, before the first
// map, and gives it to each attempt.
func centroids(j *Job, help, otherwise string) setting.Setting {
	return setting.Of("centroids", "Side", help, otherwise, setting.Text(&j.Side))
}

// kMeans refuses --clusters with --centroids, because the lines of the file of centroids already set K.
func kMeans(j *Job) {
	var o puma.KMeansOptions
	j.Own = []setting.Setting{
		setting.Of("clusters", "K", "find `K` clusters", "10, or as many as --centroids has", setting.Count(&o.K, 1, 10_000)),
		setting.Of("rounds", "Rounds", "at most `N` rounds", "20", setting.Count(&o.Rounds, 1, 100_000)),
		setting.Of("tolerance", "Tolerance", "stop when no coordinate moves by more than `X`", "0.001", setting.Optional(&o.Tolerance, setting.Number)),
		centroids(j, "begin with the points in `FILE`, one on each line", "points of the input, drawn by their hash"),
	}
	j.Build = func() (jobs.Chain, error) {
		if o.Given = j.Side != ""; o.Given && o.K > 0 {
			return nil, errs.Optionf("--clusters, --centroids", "give one of them, not both")
		}
		return puma.NewKMeans(o)
	}
}

// classify needs --centroids, because a point belongs to the cluster of its nearest centroid.
func classify(j *Job) {
	j.Own = []setting.Setting{centroids(j, "read the centroids from `FILE`, as kmeans writes them", "required")}
	j.Build = func() (jobs.Chain, error) {
		if j.Side == "" {
			return nil, errs.Optionf("--centroids", "name the file of the centroids")
		}
		return puma.NewClassification()
	}
}

// record returns the flag of terasort and teravalidate: the lengths of a record and of its key.
func record(p *string) []setting.Setting {
	return []setting.Setting{setting.Of("record", "Record", "records are binary: `fixed:BYTES,key=BYTES`; without a key the whole record is the key", puma.DefaultRecord, setting.Text(p))}
}

func teraSort(j *Job) {
	var o puma.TeraSortOptions
	j.Own = record(&o.Record)
	j.Build = func() (jobs.Chain, error) { return puma.NewTeraSort(o) }
}

// teraValidate checks the output of terasort. The user must give the --record of that terasort: with
// other lengths the job would compare the wrong bytes.
func teraValidate(j *Job) {
	var text string
	j.Own = record(&text)
	j.Build = func() (jobs.Chain, error) {
		recordBytes, keyBytes, err := puma.ParseRecord(text)
		if err != nil {
			return nil, err
		}
		return puma.NewTeraValidate(puma.TeraValidateOptions{RecordBytes: recordBytes, KeyBytes: keyBytes})
	}
}

// randomText has no inputs. --bytes and --maps set its splits. The text depends on the seed and on the
// splits.
func randomText(j *Job) {
	var o puma.RandomTextOptions
	j.Takes = noInput
	j.Own = []setting.Setting{
		setting.Of("bytes", "Bytes", "write `SIZE` of text, in whole records", "64MiB", setting.Size(&o.Bytes, 1, math.MaxInt64)),
		setting.Of("maps", "Maps", "write it with `N` map tasks", "one for each 8MiB", setting.Count(&o.Maps, 1, 1<<20)),
		setting.Of("seed", "Seed", "seed `N`, a whole number", "1", setting.Seed(&o.Seed)),
	}
	j.Build = func() (jobs.Chain, error) { return puma.NewRandomText(o) }
}

// selectLines makes a chain of --stages jobs, each of which keeps a share of its lines.
func selectLines(j *Job) {
	var o puma.SelectionOptions
	j.Own = []setting.Setting{
		setting.Of("keep-map", "KeepMap", "a map keeps `P` percent of its lines", "10", setting.Optional(&o.KeepMap, setting.Number)),
		setting.Of("keep-reduce", "KeepReduce", "a reduce keeps `P` percent of its lines", "40", setting.Optional(&o.KeepReduce, setting.Number)),
		setting.Of("stages", "Stages", "a chain of `N` jobs", "3", setting.Count(&o.Stages, 1, 100)),
	}
	j.Build = func() (jobs.Chain, error) { return puma.NewSelection(o) }
}
