package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/sort"
	"mrlocal/jobs/wordcount"
)

// jobKind is a job that run, tune, profile and workload files know by name.
type jobKind struct {
	name, use   string
	shortOutput string                            // the letter of --output-file, or ""
	flags       []flagSpec                        // the flags of this job alone
	build       func(*reader) (jobs.Chain, error) // reads those flags
}

// jobKinds lists the jobs in the order of the help. A new job gets a line here.
func jobKinds() []jobKind {
	return []jobKind{
		{"wordcount", "count words; prints word, TAB, count, in byte order of the word", "o", wordcountFlags(), wordcountJob},
		{"sort", "sort lines in byte order or by keys as in GNU sort", "o", sortFlags(), sortJob},
		{"grep", "count the matches of a pattern, most frequent first; --lines and the flags of GNU grep select lines", "", grepFlags(), grepJob},
	}
}

// forEachJob adds to c a subcommand for each kind of job. A subcommand takes the
// given flags and the job's own.
func forEachJob(c command, flags func(jobKind) []flagSpec, run func(context.Context, env, argv.Line, string, func(*reader) (jobs.Chain, error)) (int, error)) command {
	c.args = "JOB [FLAGS] [PATH…]"
	// The loop variable is new in each turn, so each subcommand keeps its own job.
	for _, j := range jobKinds() {
		c.sub = append(c.sub, command{name: j.name, usage: j.use, args: "[PATH…]", long: c.long, flags: slices.Concat(flags(j), j.flags),
			run: func(ctx context.Context, e env, line argv.Line) (int, error) {
				return run(ctx, e, line, j.name, j.build)
			}})
	}
	return c
}

// wordcountFlags are the flags of wordcount alone.
func wordcountFlags() []flagSpec {
	return []flagSpec{
		toggle("ignore-case", "", "count upper case letters A to Z as lower case"),
		toggle("alnum", "", "words are runs of ASCII letters and digits"),
		value("top", "print only the `N` most frequent words, by count, then word", "all"),
	}
}

// wordcountJob makes the job that the flags describe.
func wordcountJob(r *reader) (jobs.Chain, error) {
	o := wordcount.Options{IgnoreCase: r.Line.Has("ignore-case"), Alnum: r.Line.Has("alnum"), Top: int64(r.Count("top", 1, math.MaxInt32))}
	if r.Err != nil {
		return nil, r.Err
	}
	return wordcount.New(o)
}

// sortFlags have the letters and meanings of GNU sort.
func sortFlags() []flagSpec {
	key := value("key", "sort by the key `POS1[,POS2]`, as in GNU sort; may be repeated", "the whole line")
	key.Short, key.Repeat = "k", true
	separator := value("field-separator", "fields end at the byte `SEP`", "fields end before blanks")
	separator.Short = "t"
	return []flagSpec{key, separator,
		toggle("numeric-sort", "n", "compare by numeric value"),
		toggle("human-numeric-sort", "h", "compare numbers with a unit, such as 2K and 1G"),
		toggle("reverse", "r", "sort in descending order"),
		toggle("unique", "u", "print only the first of equal lines"),
		toggle("stable", "s", "keep lines with equal keys in their order"),
		toggle("ignore-case", "f", "compare lower case letters as upper case"),
		toggle("ignore-leading-blanks", "b", "ignore leading blanks of a field"),
		toggle("zero-terminated", "z", "lines end with NUL"),
	}
}

// sortJob makes the job that the flags describe. Package sort reads the keys.
func sortJob(r *reader) (jobs.Chain, error) {
	on := r.Line.Has
	separator, given := r.Line.Value("field-separator")
	if given && separator == "" { // to package sort, "" means that none is set
		return nil, errs.Optionf("-t", "the separator is empty")
	}
	// run sort has no -g, -M, -R or -V; mrlocal sort has all flags of GNU sort.
	return sort.New(sort.Options{
		Keys: r.Line.Values("key"), Separator: separator,
		Numeric: on("numeric-sort"), Human: on("human-numeric-sort"), Reverse: on("reverse"), Unique: on("unique"), Stable: on("stable"),
		FoldCase: on("ignore-case"), Blanks: on("ignore-leading-blanks"), ZeroEnded: on("zero-terminated"),
	})
}

// grepFlags have the letters and meanings of GNU grep; -o is therefore not
// --output-file.
func grepFlags() []flagSpec {
	pattern := value("regexp", "search for `PATTERN` in RE2 syntax; may be repeated", "the links of a wiki")
	pattern.Short, pattern.Any, pattern.Repeat = "e", true, true // the word after -e is a pattern even if it looks like a flag
	most := value("max-count", "stop reading a file after `N` selected lines; a negative N is no bound", "")
	most.Short = "m"
	return []flagSpec{pattern, most,
		toggle("lines", "", "print the matching lines in the order of the input instead of counting matches"),
		toggle("line-number", "n", "print line numbers before lines"),
		toggle("with-filename", "H", "print the path before each line"),
		toggle("no-filename", "h", "print no path before lines"),
		toggle("count", "c", "print only the number of selected lines of each file"),
		toggle("files-with-matches", "l", "print only the names of files with a selected line"),
		toggle("invert-match", "v", "select the lines that do not match"),
		toggle("ignore-case", "i", "ignore the case of letters"),
		toggle("fixed-strings", "F", "take patterns as strings"),
		toggle("word-regexp", "w", "match whole words"),
		toggle("line-regexp", "x", "match whole lines"),
		toggle("quiet", "q", "print nothing; only the exit code answers"),
		toggle("only-matching", "o", "print only the matching parts of lines"),
		toggle("text", "a", "search binary files too"),
	}
}

// grepJob makes the jobs that the flags describe: counting and sorting, or one that
// selects lines.
func grepJob(r *reader) (jobs.Chain, error) {
	o, err := grepOptions(r)
	if err != nil {
		return nil, err
	}
	return grep.New(o)
}

// grepOptions reads grepFlags.
func grepOptions(r *reader) (grep.Options, error) {
	on := r.Line.Has
	o := grep.Options{
		Patterns: r.Line.Values("regexp"), Text: on("text"),
		Lines: on("lines"), LineNumbers: on("line-number"), Count: on("count"), ListFiles: on("files-with-matches"),
		Invert: on("invert-match"), IgnoreCase: on("ignore-case"), Fixed: on("fixed-strings"), Word: on("word-regexp"), Whole: on("line-regexp"),
		OnlyMatched: on("only-matching"), Quiet: on("quiet"),
	}
	switch { // without either, names appear if there are several files
	case on("with-filename") && on("no-filename"):
		return o, errs.Optionf("-H, --no-filename", "give one of them, not both")
	case on("with-filename"):
		o.Names = grep.NamesAlways
	case on("no-filename"):
		o.Names = grep.NamesNever
	}
	// The field is a pointer, because no bound differs from a bound of 0.
	o.MaxCount = r.Limit("max-count")
	return o, r.Err
}

// missingWord refuses a plain word that names no file if there is no -e: the
// user probably meant it as the pattern of grep.
func missingWord(line argv.Line) error {
	if len(line.Values("regexp")) > 0 {
		return nil
	}
	for _, word := range line.Words {
		if word == "-" || word == "" { // standard input; the empty path is refused elsewhere
			continue
		}
		// A file that is there, or that cannot be looked at, is no misplaced pattern. The run
		// reports what it cannot read.
		if _, err := os.Lstat(word); err == nil || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		// The engine expands globs that the shell has left alone.
		if found, err := filepath.Glob(word); err == nil && len(found) > 0 {
			continue
		}
		return errs.Optionf(argv.Quote(word), "no such file; did you mean -e %s?", argv.Quote(word))
	}
	return nil
}

// grepNotes returns notes on what a run of grep does without being asked, and
// whether --reducers must be ignored.
func grepNotes(line argv.Line, chain jobs.Chain) (notes []string, ignoreReducers bool) {
	if len(line.Values("regexp")) == 0 {
		// A run without a pattern is allowed, because it is the first example of the documents.
		// The note says what it does.
		notes = append(notes, fmt.Sprintf("no -e PATTERN given: searching for %s, the links of a wiki", grep.DefaultPattern))
	}
	// The user may keep one --reducers for all jobs of a script, so it is no error.
	_, given := line.Value("reducers")
	// Counting has a second job, which sorts the counts. Selecting lines has one job, without
	// reduces.
	if given && len(chain) == 1 && chain[0].NewReducer == nil {
		notes = append(notes, "--reducers is ignored: selecting lines has no reduce")
		ignoreReducers = true
	}
	return notes, ignoreReducers
}
