package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/setting"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/puma"
	"mrlocal/jobs/sort"
	"mrlocal/jobs/wordcount"
	"mrlocal/slots/report"
)

// NamedJob is a job that run, tune, profile and workload files know by name.
type NamedJob struct {
	Name, Use string     // Use is the line of help
	Examples  []string   // the arguments after "mrlocal run NAME"
	Make      func(*job) // sets the fields of a use of the job, but not its NamedJob
	OnHadoop  bool       // submit and stream have it: it reads no file by itself
}

// job is one use of a job: on a command line or in a workload file. The commands know nothing else about
// single jobs: whatever one job needs and the others do not is a field.
type job struct {
	*NamedJob
	mrlocal.Options // of its run; a workload file sets JobOptions alone

	Own     []setting.Setting          // the flags of this job alone
	Build   func() (jobs.Chain, error) // makes the chain and changes Options as the job needs them; Complete comes before
	Extra   extra                      // what the job does next to its chain; Build may set it
	Takes   int                        // the number of inputs: noInput, or 0 for any number above 0
	Without []string                   // the flags of run that it does not take
	Matches bool                       // the exit code says whether anything matched

	InOrder  func() bool  // on Hadoop: the values of a key must keep the order of the input; nil: they need not
	AnyFiles func() error // on Hadoop: fails if the job depends on the number of input files; nil: it does not

	Words []string  // the inputs that were given without a flag
	Notes []string  // Build sets them: what the user should know
	Log   io.Writer // gets the standard error of commands, and warnings; nil: dropped, as in a workload file
	Quiet bool      // no progress, and no lines of status of commands
}

// extra is what a use of a job does next to its chain. streaming.Work is one. The user of the job closes it.
type extra interface {
	Forget()                                            // before another run of the chain
	Report(to *report.JobReport)                        // adds to the report of the last job
	WriteCounters(w io.Writer, c report.Counters) error // after a successful run
	Close() error                                       // after the last run
}

// noExtra does nothing.
type noExtra struct{}

func (noExtra) Forget()                                        {}
func (noExtra) Report(*report.JobReport)                       {}
func (noExtra) WriteCounters(io.Writer, report.Counters) error { return nil }
func (noExtra) Close() error                                   { return nil }

// Jobs lists the jobs in the order of the help. A new job gets a line here or in paperJobs.
func Jobs() []NamedJob {
	return append([]NamedJob{
		{Name: "wordcount", Use: "count words; prints word, TAB, count, in byte order of the word", Examples: []string{"wiki/ -o words.txt", "--top 10 --alnum --ignore-case wiki/"}, Make: wordcountJob, OnHadoop: true},
		{Name: "sort", Use: "sort lines in byte order or by keys, as a job of Hadoop; for daily work, mrlocal sort has all flags of GNU sort", Examples: []string{"-k2,2nr words.txt -o by-count.txt", "--memory 64MiB words.txt --output sorted/"}, Make: sortJob, OnHadoop: true},
		{Name: "grep", Use: "count the matches of a pattern, most frequent first; --lines and the flags of GNU grep select lines", Examples: []string{"--input wiki/ --sched pi-dhfs", "-n -e '== .* ==' wiki/"}, Make: grepJob, OnHadoop: true},
		streamingJob(func(j *job) { newStreaming(j) }),
	}, paperJobs()...)
}

// New returns a use of the job, whose settings are not set.
func (n *NamedJob) New() *job {
	j := &job{NamedJob: n, Options: mrlocal.Options{TempAtNeed: true}, Extra: noExtra{}}
	n.Make(j)
	return j
}

// Settings returns the settings that say what the job reads, writes and does. They are the args of a job
// in a workload file.
func (j *job) Settings() []setting.Setting {
	all := j.JobOptions.Fields()
	if !slices.ContainsFunc(j.Own, func(s setting.Setting) bool { return s.Short == "o" }) {
		setting.Named(all, "output-file").Short = "o"
	}
	return append(all, j.Own...)
}

// Given completes the options of a run by the line, whose settings are set. It fails as Complete does.
func (j *job) Given(line *flags.Line) error {
	// In the options, 0 reduce slots stand for the default. NoReduces says that the user wants none.
	j.NoReduces = line.Has("reduce-slots") && j.ReduceSlots == 0
	return j.Complete(line.Words)
}

// Complete checks and completes what Settings have set. words are further inputs. It fails with an
// options error.
func (j *job) Complete(words []string) error {
	j.Words, j.Inputs = words, append(j.Inputs, words...)
	j.UTF16 = j.UTF16 && !j.NoDecode
	j.HDFS.User = hdfsUser(j.HDFS.User, append(words, append(j.Inputs, j.OutputDir)...))
	switch {
	// An empty path often comes from a shell variable that is not set. Without this check it would
	// mean the working directory.
	case slices.Contains(j.Inputs, ""):
		return errs.Optionf("input", "an empty path")
	case j.Takes == noInput && len(j.Inputs) > 0:
		return errs.Optionf(j.Name, "reads no input")
	case j.Takes != noInput && len(j.Inputs) == 0:
		return errs.Optionf("no input", "name files, directories or globs, or - for standard input")
	case j.Takes > 0 && len(j.Inputs) != j.Takes:
		return errs.Optionf(j.Name, "takes %d inputs, not %d; quote a glob, so that the shell leaves it alone", j.Takes, len(j.Inputs))
	case j.OutputDir == "-":
		return errs.Optionf("--output", "-: standard output cannot hold a directory of parts; give --output-file -, or ./- for a directory of that name")
	// A file is replaced in any case, so --overwrite without a directory has no effect. The user
	// expects one, and learns that here.
	case j.Overwrite && j.OutputDir == "":
		return errs.Optionf("--overwrite", "needs --output DIR; --output-file replaces a file anyway")
	}
	// In the options, an empty OutputFile stands for standard output. If --output is given too, the
	// value stays, and the engine refuses the pair.
	if j.OutputFile == "-" && j.OutputDir == "" {
		j.OutputFile = ""
	}
	return nil
}

// hdfsUser returns the name of the user for HDFS: user or, if it is "" and one of the paths lies on HDFS,
// who runs the process. It is a number if the system knows no name, as in some containers.
func hdfsUser(name string, paths []string) string {
	if name != "" || !slices.ContainsFunc(paths, hdfs.Is) { // only HDFS needs the name
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// ForEachJob returns c with a subcommand for each job that of accepts; nil: for all. make returns its
// settings and its work.
func ForEachJob(c flags.Command, of func(*NamedJob) bool, make func(*job) *flags.Command) *flags.Command {
	c.Args = "JOB [FLAGS] [PATH…]"
	for _, n := range Jobs() {
		if of == nil || of(&n) {
			c.Sub = append(c.Sub, flags.Entry{Name: n.Name, Make: func() *flags.Command {
				sub := make(n.New())
				sub.Usage, sub.Long = n.Use, c.Long
				sub.Args = "[PATH…]"
				return sub
			}})
		}
	}
	return &c
}

// toggle returns a flag without a value, which sets *p. letter is its letter, or "".
func toggle(name, letter, help string, p *bool) setting.Setting {
	return setting.Of(name, "", help, "", setting.Toggle(p)).Letter(letter)
}

// wordcountJob makes the chain of wordcount: one job, or a second one with --top. An option that is not
// set keeps its zero value, here and below, and the package of the job replaces it by the default.
func wordcountJob(j *job) {
	var o wordcount.Options
	j.Own = []setting.Setting{
		toggle("ignore-case", "", "count upper case letters A to Z as lower case", &o.IgnoreCase),
		toggle("alnum", "", "words are runs of ASCII letters and digits", &o.Alnum),
		setting.Of("top", "Top", "print only the `N` most frequent words, by count, then word", "all", setting.Count(&o.Top, 1, math.MaxInt32)),
	}
	j.Build = func() (jobs.Chain, error) { return wordcount.New(o) }
}

// sortJob has the letters and meanings of GNU sort, without -g, -M, -R and -V. Package jobs/sort parses
// the keys.
func sortJob(j *job) {
	var o sort.Options
	j.Own = []setting.Setting{
		setting.Of("key", "Keys", "sort by the key `POS1[,POS2]`, as in GNU sort; may be repeated", "the whole line", setting.List(&o.Keys)).Letter("k"),
		setting.Of("field-separator", "Separator", "fields end at the byte `SEP`", "fields end before blanks", setting.Text(&o.Separator)).Letter("t"),
		toggle("numeric-sort", "n", "compare by numeric value", &o.Numeric),
		toggle("human-numeric-sort", "h", "compare numbers with a unit, such as 2K and 1G", &o.Human),
		toggle("reverse", "r", "sort in descending order", &o.Reverse),
		toggle("unique", "u", "print only the first of equal lines", &o.Unique),
		toggle("stable", "s", "keep lines with equal keys in their order", &o.Stable),
		toggle("ignore-case", "f", "compare lower case letters as upper case", &o.FoldCase),
		toggle("ignore-leading-blanks", "b", "ignore leading blanks of a field", &o.Blanks),
		toggle("zero-terminated", "z", "lines end with NUL", &o.ZeroEnded),
	}
	j.InOrder = func() bool { return o.Stable || o.Unique }
	j.Build = func() (jobs.Chain, error) { return sort.New(o) }
}

// grepJob has the letters and meanings of GNU grep. So -o is --only-matching here, and not --output-file.
// Its chain is a job that counts matches and one that sorts the counts, or a single job that selects
// lines.
func grepJob(j *job) {
	var o grep.Options
	var with, without bool
	pattern := setting.Of("regexp", "Patterns", "search for `PATTERN` in RE2 syntax; may be repeated", "the links of a wiki", setting.List(&o.Patterns)).Letter("e")
	pattern.Literal = true // the word after -e is a pattern even if it looks like a flag
	j.Own = []setting.Setting{pattern,
		setting.Of("max-count", "MaxCount", "stop reading a file after `N` selected lines; a negative N means no bound", "", setting.Limit(&o.MaxCount)).Letter("m"),
		toggle("lines", "", "print the matching lines in the order of the input instead of counting matches", &o.Lines),
		toggle("line-number", "n", "print line numbers before lines", &o.LineNumbers),
		toggle("with-filename", "H", "print the path before each line", &with),
		toggle("no-filename", "h", "print no path before lines", &without),
		toggle("count", "c", "print only the number of selected lines of each file", &o.Count),
		toggle("files-with-matches", "l", "print only the names of files with a selected line", &o.ListFiles),
		toggle("invert-match", "v", "select the lines that do not match", &o.Invert),
		toggle("ignore-case", "i", "ignore the case of letters", &o.IgnoreCase),
		toggle("fixed-strings", "F", "take patterns as strings", &o.Fixed),
		toggle("word-regexp", "w", "match whole words", &o.Word),
		toggle("line-regexp", "x", "match whole lines", &o.Whole),
		toggle("quiet", "q", "print nothing; only the exit code answers", &o.Quiet),
		toggle("only-matching", "o", "print only the matching parts of lines; --output-file names the file of the result", &o.OnlyMatched),
		toggle("text", "a", "search binary files too", &o.Text),
	}
	j.Without = []string{"quiet"} // as in mrlocal grep, --quiet is that of GNU grep
	j.UTF16, j.Matches = true, true
	j.AnyFiles = func() error {
		if with || without {
			return nil
		}
		return errs.Optionf("-H, --no-filename", "give one of them: a child does not know whether there are several files")
	}
	j.Build = func() (jobs.Chain, error) {
		j.Quiet = o.Quiet
		switch { // if neither is given, names appear if there are several files
		case with && without:
			return nil, errs.Optionf("-H, --no-filename", "give one of them, not both")
		case with:
			o.Names = grep.NamesAlways
		case without:
			o.Names = grep.NamesNever
		}
		if o.OnlyMatched {
			if err := misplaced(j.Words, "-o prints only the matching parts; did you mean --output-file"); err != nil {
				return nil, err
			}
		}
		if len(o.Patterns) == 0 {
			if err := misplaced(j.Words, "did you mean -e"); err != nil {
				return nil, err
			}
			// The first example of the documents has no pattern, so a run without one is not an error.
			j.Notes = append(j.Notes, fmt.Sprintf("no -e PATTERN given: searching for %s, the links of a wiki", grep.DefaultPattern))
		}
		chain, err := grep.New(o)
		// A script may give the same --reducers to all its jobs, so the flag is not an error here. The chain
		// that counts has two jobs. The chain that selects lines has one, without reduces.
		if (j.Reducers > 0 || j.ReducersPerSlot > 0 || j.MapOnly) && len(chain) == 1 && chain[0].NewReducer == nil {
			j.Notes = append(j.Notes, "--reducers is ignored: selecting lines has no reduce")
			j.Reducers, j.ReducersPerSlot, j.MapOnly = 0, 0, false
		}
		return chain, err
	}
}

// misplaced returns an options error with a hint if one of words names no file. The user most likely meant this word as
// the value of a flag: without -e as the pattern, as in GNU grep, and with -o as the output.
func misplaced(words []string, hint string) error {
	for _, word := range words {
		// A word is misplaced only if no file has that name. For any other error the word may name a file, and the
		// run reports why it cannot read the file. The engine expands globs, so one that matches a file is an input.
		_, err := os.Lstat(word)
		found, _ := filepath.Glob(word)
		if word != "-" && !hdfs.Is(word) && errors.Is(err, fs.ErrNotExist) && len(found) == 0 {
			return errs.Optionf(errs.Quote(word), "no such file; %s %s?", hint, errs.Quote(word))
		}
	}
	return nil
}

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
		paper("join", "join two inputs by the first field of their lines", "users.tsv visits.tsv -o joined.tsv", func(j *job) { j.Takes, j.Build = puma.JoinInputs, puma.NewJoin }),
	}
}

func paper(name, use, example string, make func(*job)) NamedJob {
	return NamedJob{Name: name, Use: use, Examples: []string{example}, Make: make}
}

// plain returns a NamedJob.Make for a job that has no flags of its own.
func plain(build func() (jobs.Chain, error)) func(*job) { return func(j *job) { j.Build = build } }

func termVector(j *job) {
	var o puma.TermVectorOptions
	j.Own = []setting.Setting{setting.Of("min", "Min", "leave out words that a file has less than `N` times", strconv.Itoa(puma.DefaultMinCount), setting.Count(&o.Min, 1, math.MaxInt32))}
	j.Build = func() (jobs.Chain, error) { return puma.NewTermVector(o) }
}

// centroids returns --centroids. The engine reads the file, the side data of the job, before the first
// map, and gives it to each attempt.
func centroids(j *job, help, otherwise string) setting.Setting {
	return setting.Of("centroids", "Side", help, otherwise, setting.Text(&j.Side))
}

// kMeans refuses --clusters with --centroids, because the lines of the file of centroids already set K.
func kMeans(j *job) {
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
func classify(j *job) {
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

func teraSort(j *job) {
	var o puma.TeraSortOptions
	j.Own = record(&o.Record)
	j.Build = func() (jobs.Chain, error) { return puma.NewTeraSort(o) }
}

// teraValidate checks the output of terasort. The user must give the --record of that terasort: with
// other lengths the job would compare the wrong bytes.
func teraValidate(j *job) {
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
func randomText(j *job) {
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
func selectLines(j *job) {
	var o puma.SelectionOptions
	j.Own = []setting.Setting{
		setting.Of("keep-map", "KeepMap", "a map keeps `P` percent of its lines", "10", setting.Optional(&o.KeepMap, setting.Number)),
		setting.Of("keep-reduce", "KeepReduce", "a reduce keeps `P` percent of its lines", "40", setting.Optional(&o.KeepReduce, setting.Number)),
		setting.Of("stages", "Stages", "a chain of `N` jobs", "3", setting.Count(&o.Stages, 1, 100)),
	}
	j.Build = func() (jobs.Chain, error) { return puma.NewSelection(o) }
}
