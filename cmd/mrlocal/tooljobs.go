package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/setting"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/sort"
	"mrlocal/jobs/wordcount"
)

// toggle returns a flag without a value, which sets *p. letter is its letter, or "".
func toggle(name, letter, help string, p *bool) setting.Setting {
	return setting.Of(name, "", help, "", setting.Toggle(p)).Letter(letter)
}

// wordcountJob makes the chain of wordcount: one job, or a second one with --top. An option that is not
// set keeps its zero value, here and below, and the package of the job replaces it by the default.
func wordcountJob(j *Job) {
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
func sortJob(j *Job) {
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
func grepJob(j *Job) {
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
		toggle("only-matching", "o", "print only the matching parts of lines", &o.OnlyMatched),
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
		if len(o.Patterns) == 0 {
			if err := missingPattern(j.Words); err != nil {
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

// missingPattern returns an options error if one of words, those of a line without -e, names no file.
// The user most likely meant this word as the pattern, as in GNU grep.
func missingPattern(words []string) error {
	for _, word := range words {
		if word == "-" || hdfs.Is(word) {
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
