// Package wordcount is a job that counts words, like the first example of Hadoop.
//
// jobs.Words finds the words of a block, several hundred at a time. The mapper passes them to the
// kvbuffer, where jobs.Sum adds the counts. The result is "word TAB count" in byte order of the
// words. With Top, a second job sorts the counts in descending order. Words with equal counts are
// in byte order.
//
// Memory: words are slices of the block and are not copied here. With IgnoreCase, the mapper changes
// the block in place; a second attempt on the same block changes nothing.
package wordcount

import (
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// Options say what a word is and which words are printed. By default, words are runs of bytes
// other than space, TAB, newline, carriage return and form feed, as in Java's StringTokenizer.
type Options struct {
	IgnoreCase bool  // A to Z count as a to z; other letters do not change
	Alnum      bool  // words are runs of ASCII letters and digits
	Top        int64 // only the Top most frequent words, by descending count, then by word; 0: all words
}

// New makes the job. It fails with an options error (package errs) if Top is negative.
func New(o Options) (jobs.Chain, error) {
	if o.Top < 0 {
		return nil, errs.Fieldf("Options.Top", "%d: must not be negative", o.Top)
	}
	count := jobs.Job{
		Name:       "wordcount",
		Ordered:    o.Top == 0,
		NewMapper:  func() jobs.Mapper { return lines.NewWordCounter(o.Alnum, o.IgnoreCase) },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.NewSum() },
		BuiltIn:    true,
	}
	if o.Top == 0 {
		return jobs.Chain{count}, nil
	}
	top := lines.Kept{Top: o.Top}
	count.NewReducer = func() jobs.Reducer { return lines.NewSum(top, lines.KeyCount{}) }
	return jobs.Chain{count, lines.TopJob("wordcount-top", jobs.Newline, top, func() lines.CountFormat { return lines.KeyCount{} })}, nil
}
