// Package grep searches lines for patterns: RE2 syntax, leftmost-first, each
// line by itself without its newline.
//
// Counting, the default, is Hadoop's grep: "count TAB match", a chain of two
// jobs. Everything else selects lines and writes them in input order: a
// map-only job whose mappers write frames (frame.go) that one releaser turns
// into the output. What a mapper can know it has already formatted; numbers
// and limits of a file that began in another split are settled on release.
//
// A block is searched for literals that the pattern needs (literal.go): a
// window of it at a time is marked, a bit a place (find.go, internal/scan). Where
// such a literal is the pattern, the marks are all there is to know, else the
// lines with one go to a lineMatcher (match.go); and whole blocks do where the
// pattern needs no literal, or too many lines have one (search.go).
//
// Memory: at most 80 KiB of output, 32 KiB of marks and 6 MiB of automata
// (package dfa) a mapper, 128 KiB in the releaser; longer lines are written from
// the block they lie in. Where a pattern's states do not fit, the standard
// library's regexp takes over, at a few per cent of the speed.
package grep

import "mrlocal/jobs"

// DefaultPattern is what is searched without -e: the links of a wiki.
const DefaultPattern = `\[\[[^\[\]]+\]\]`

// Names says whether a line is preceded by the path of its file.
type Names uint8

const (
	NamesAuto Names = iota // when there is more than one file
	NamesAlways
	NamesNever
)

// Options are GNU grep's, by their letters. The zero value counts the matches
// of DefaultPattern; Lines, and everything below it that is set, selects lines
// instead.
type Options struct {
	Patterns []string // -e; a newline separates patterns; none: DefaultPattern
	Text     bool     // -a: files with a NUL byte in their first 64 KiB too

	Lines       bool
	Names       Names  // -H, --no-filename
	LineNumbers bool   // -n
	Count       bool   // -c
	ListFiles   bool   // -l
	Invert      bool   // -v
	IgnoreCase  bool   // -i
	Fixed       bool   // -F
	Word        bool   // -w
	Whole       bool   // -x
	OnlyMatched bool   // -o
	Quiet       bool   // -q
	MaxCount    *int64 // -m; nil or negative: no limit
}

// selects reports whether lines are wanted, not counted matches.
func (o Options) selects() bool {
	return o.Lines || o.LineNumbers || o.Names != NamesAuto || o.Count || o.ListFiles || o.Invert || o.IgnoreCase ||
		o.Fixed || o.Word || o.Whole || o.OnlyMatched || o.Quiet || o.MaxCount != nil
}

// New makes the job: a chain of two that counts matches, or one that selects
// lines. A wrong pattern is an errs.Error.
func New(o Options) (jobs.Chain, error) {
	p, err := compile(o)
	if err != nil {
		return nil, err
	}
	if !o.selects() {
		return countJobs(p, !o.Text), nil
	}
	selecting := func(files int) jobs.Job {
		f := lower(o, files)
		return jobs.Job{
			Name:        "grep",
			NewMapper:   func() jobs.Mapper { return newLineMapper(p, f) },
			NewReleaser: func() jobs.Releaser { return newReleaser(f) },
			SkipBinary:  !o.Text,
			BuiltIn:     true,
		}
	}
	job := selecting(1)
	job.Begin = selecting // several runs of a chain may have different numbers of files
	return jobs.Chain{job}, nil
}
