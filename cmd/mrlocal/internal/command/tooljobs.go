package command

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/sort"
	"mrlocal/jobs/wordcount"
)

// wordcountFlags returns the flags of wordcount alone. wordcountJob reads them.
func wordcountFlags() []argv.Spec {
	return []argv.Spec{
		argv.ToggleSpec("ignore-case", "", "count upper case letters A to Z as lower case"),
		argv.ToggleSpec("alnum", "", "words are runs of ASCII letters and digits"),
		argv.ValueSpec("top", "print only the `N` most frequent words, by count, then word", "all"),
	}
}

// wordcountJob makes the chain of wordcount: one job, or a second one with --top.
func wordcountJob(r *Reader) (jobs.Chain, error) {
	o := wordcount.Options{IgnoreCase: r.Line.Has("ignore-case"), Alnum: r.Line.Has("alnum"), Top: int64(r.Count("top", 1, math.MaxInt32))}
	if r.Err != nil {
		return nil, r.Err
	}
	return wordcount.New(o)
}

// sortFlags returns the flags of sort alone, with the letters and meanings of GNU sort.
func sortFlags() []argv.Spec {
	key := argv.ValueSpec("key", "sort by the key `POS1[,POS2]`, as in GNU sort; may be repeated", "the whole line")
	key.Short, key.Repeat = "k", true
	separator := argv.ValueSpec("field-separator", "fields end at the byte `SEP`", "fields end before blanks")
	separator.Short = "t"
	return []argv.Spec{key, separator,
		argv.ToggleSpec("numeric-sort", "n", "compare by numeric value"),
		argv.ToggleSpec("human-numeric-sort", "h", "compare numbers with a unit, such as 2K and 1G"),
		argv.ToggleSpec("reverse", "r", "sort in descending order"),
		argv.ToggleSpec("unique", "u", "print only the first of equal lines"),
		argv.ToggleSpec("stable", "s", "keep lines with equal keys in their order"),
		argv.ToggleSpec("ignore-case", "f", "compare lower case letters as upper case"),
		argv.ToggleSpec("ignore-leading-blanks", "b", "ignore leading blanks of a field"),
		argv.ToggleSpec("zero-terminated", "z", "lines end with NUL"),
	}
}

// sortJob makes the chain of sort. Package jobs/sort parses the keys, and fails for a wrong one.
func sortJob(r *Reader) (jobs.Chain, error) {
	on := r.Line.Has
	separator, given := r.Line.Value("field-separator")
	if given && separator == "" { // for package sort, "" means that no -t was given
		return nil, errs.Optionf("-t", "the separator is empty")
	}
	// run sort has no -g, -M, -R or -V; mrlocal sort has all flags of GNU sort.
	return sort.New(sort.Options{
		Keys: r.Line.Values("key"), Separator: separator,
		Numeric: on("numeric-sort"), Human: on("human-numeric-sort"), Reverse: on("reverse"), Unique: on("unique"), Stable: on("stable"),
		FoldCase: on("ignore-case"), Blanks: on("ignore-leading-blanks"), ZeroEnded: on("zero-terminated"),
	})
}

// grepFlags returns the flags of grep alone, with the letters and meanings of GNU grep. So -o is
// --only-matching here, and not --output-file.
func grepFlags() []argv.Spec {
	pattern := argv.ValueSpec("regexp", "search for `PATTERN` in RE2 syntax; may be repeated", "the links of a wiki")
	pattern.Short, pattern.Any = "e", true
	pattern.Repeat = true // the word after -e is a pattern even if it looks like a flag
	most := argv.ValueSpec("max-count", "stop reading a file after `N` selected lines; a negative N means no bound", "")
	most.Short = "m"
	return []argv.Spec{pattern, most,
		argv.ToggleSpec("lines", "", "print the matching lines in the order of the input instead of counting matches"),
		argv.ToggleSpec("line-number", "n", "print line numbers before lines"),
		argv.ToggleSpec("with-filename", "H", "print the path before each line"),
		argv.ToggleSpec("no-filename", "h", "print no path before lines"),
		argv.ToggleSpec("count", "c", "print only the number of selected lines of each file"),
		argv.ToggleSpec("files-with-matches", "l", "print only the names of files with a selected line"),
		argv.ToggleSpec("invert-match", "v", "select the lines that do not match"),
		argv.ToggleSpec("ignore-case", "i", "ignore the case of letters"),
		argv.ToggleSpec("fixed-strings", "F", "take patterns as strings"),
		argv.ToggleSpec("word-regexp", "w", "match whole words"),
		argv.ToggleSpec("line-regexp", "x", "match whole lines"),
		argv.ToggleSpec("quiet", "q", "print nothing; only the exit code answers"),
		argv.ToggleSpec("only-matching", "o", "print only the matching parts of lines"),
		argv.ToggleSpec("text", "a", "search binary files too"),
	}
}

// grepJob makes the chain of grep: a job that counts matches and one that sorts the counts, or a
// single job that selects lines.
func grepJob(r *Reader) (jobs.Chain, error) {
	o, err := grepOptions(r)
	if err != nil {
		return nil, err
	}
	return grep.New(o)
}

// grepOptions reads grepFlags. It returns an options error for the first mistake.
func grepOptions(r *Reader) (grep.Options, error) {
	on := r.Line.Has
	o := grep.Options{
		Patterns: r.Line.Values("regexp"), Text: on("text"),
		Lines: on("lines"), LineNumbers: on("line-number"), Count: on("count"), ListFiles: on("files-with-matches"),
		Invert: on("invert-match"), IgnoreCase: on("ignore-case"), Fixed: on("fixed-strings"), Word: on("word-regexp"), Whole: on("line-regexp"),
		OnlyMatched: on("only-matching"), Quiet: on("quiet"),
	}
	switch { // if neither is given, names appear if there are several files
	case on("with-filename") && on("no-filename"):
		return o, errs.Optionf("-H, --no-filename", "give one of them, not both")
	case on("with-filename"):
		o.Names = grep.NamesAlways
	case on("no-filename"):
		o.Names = grep.NamesNever
	}
	// MaxCount is a pointer, because no bound differs from a bound of 0 lines.
	o.MaxCount = r.Limit("max-count")
	return o, r.Err
}

// missingPattern returns an options error if run grep has no -e and one of its words names no file.
// The user most likely meant this word as the pattern, as in GNU grep.
func missingPattern(line argv.Line) error {
	if len(line.Values("regexp")) > 0 {
		return nil
	}
	for _, word := range line.Words {
		if word == "-" || word == "" || hdfs.Is(word) { // standard input; inputs refuses the empty path
			continue
		}
		// A word is a misplaced pattern only if no file has that name. For any other error the word
		// may name a file, and the run reports why it cannot read the file.
		if _, err := os.Lstat(word); err == nil || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		// The engine expands globs, so a glob that matches a file is an input.
		if found, err := filepath.Glob(word); err == nil && len(found) > 0 {
			continue
		}
		return errs.Optionf(errs.Quote(word), "no such file; did you mean -e %s?", errs.Quote(word))
	}
	return nil
}

// adaptGrep is NamedJob.Adapt of grep. It returns notes on the defaults that a run uses and on flags
// that it ignores. If the chain has no reduces, it clears --reducers in o.
func adaptGrep(r *Reader, chain jobs.Chain, o *mrlocal.Options) (notes []string) {
	if len(r.Line.Values("regexp")) == 0 {
		// The first example of the documents has no pattern, so a run without one is not an error.
		notes = append(notes, fmt.Sprintf("no -e PATTERN given: searching for %s, the links of a wiki", grep.DefaultPattern))
	}
	// A script may give the same --reducers to all its jobs, so the flag is not an error here. The chain
	// that counts has two jobs. The chain that selects lines has one, without reduces.
	if r.Line.Has("reducers") && len(chain) == 1 && chain[0].NewReducer == nil {
		notes = append(notes, "--reducers is ignored: selecting lines has no reduce")
		o.Reducers, o.ReducersPerSlot = 0, 0
		o.MapOnly = false
	}
	return notes
}
