// Package grep is a job that searches lines for patterns. Patterns are in RE2
// syntax and match leftmost-first. Each line is matched without its newline and
// without regard to other lines.
//
// By default it counts matches, as Hadoop's grep example does: a chain of two
// jobs writes "count TAB match". With any other option it selects lines and writes
// them in the order of the input. That is one job without reducers: its mappers
// write frames (frame.go), and one releaser makes the output of them. A mapper
// formats all that it can know. The releaser computes numbers and limits of files
// that began in another split.
//
// Lines around selected ones (context.go) cross the borders of splits: mappers
// write candidates, and the releaser chooses among them.
//
// A block is searched in three ways. Literals that each match must contain
// (literal.go) are marked, one bit for each place, in windows of the block
// (find.go, internal/scan). If a literal is the whole pattern, the marks decide.
// Else a lineMatcher (match.go) decides about the lines that hold one. It gets
// whole blocks if the pattern needs no literal, or if too many lines hold one
// (search.go).
//
// Memory: a mapper has at most 80 KiB of output, 32 KiB of marks and two times 6
// MiB of automata (package dfa). The automata are charged to the bound of the run.
// The releaser has 128 KiB. Longer lines are written from the block in which they
// lie. If the states of a pattern do not fit, package regexp takes over, with a few
// per cent of the speed.
//
// Neighbours: package jobs defines jobs; jobs/jobtest, package regexp and GNU grep
// are the references of the tests.
package grep

import "mrlocal/jobs"

// DefaultPattern is the pattern that New uses if there is none: the links of a
// wiki.
const DefaultPattern = `\[\[[^\[\]]+\]\]`

// Names says whether the path of its file precedes each line.
type Names uint8

const (
	NamesAuto Names = iota // if there is more than one file
	NamesAlways
	NamesNever
)

// Options are those of GNU grep, named with their letters. The zero value
// counts the matches of DefaultPattern. Lines, and each field below it, selects
// lines instead.
type Options struct {
	Patterns []string // -e; a newline separates patterns; if there is none, DefaultPattern
	Text     bool     // -a: do not skip files with a NUL byte in their first 64 KiB

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
	MaxCount    *int64 // -m; no limit if nil or negative

	ListOthers bool     // -L; the output records are the files with a match
	NULNames   bool     // -Z: a NUL byte follows the path in place of its separator
	NULEnded   bool     // -z: a NUL byte ends each line; lines may hold newlines
	Context    *Context // -A, -B, -C; nil: no groups of lines
	Color      bool     // --color=always, with GNU grep's default colours
	JSON       bool     // --json: messages of ripgrep in place of lines; no effect on what is no line

	// Single says that there is one file. The job ends as soon as nothing more of it is
	// of use, even if it is a pipe whose writer pauses.
	Single bool

	// BinaryMatch is called, instead of writing lines, for each file that matches
	// and has a NUL byte in its first 64 KiB. It is called from one goroutine, in
	// the order of the input. If it is nil, such files are left out.
	BinaryMatch func(path string)
}

// Context is the number of lines that are written around each selected line.
// A separator stands between groups of lines that are not neighbours.
type Context struct{ Before, After int64 }

// selects reports whether Options ask for lines, and not for counted matches.
func (o Options) selects() bool {
	return o.Lines || o.LineNumbers || o.Names != NamesAuto || o.Count || o.ListFiles || o.Invert || o.IgnoreCase ||
		o.Fixed || o.Word || o.Whole || o.OnlyMatched || o.Quiet || o.MaxCount != nil ||
		o.ListOthers || o.NULNames || o.NULEnded || o.Context != nil || o.Color || o.JSON || o.BinaryMatch != nil
}

// New makes the job: a chain of two jobs that counts matches, or one job that
// selects lines. It fails if a pattern is wrong, with an error of kind
// errs.BadOptions. The result may run only once.
func New(o Options) (jobs.Chain, error) {
	p, err := compile(o)
	if err != nil {
		return nil, err
	}
	if !o.selects() {
		return countJobs(p, !o.Text), nil
	}
	delim := jobs.Newline
	if o.NULEnded {
		delim = jobs.NUL
	}
	selecting := func(files int) jobs.Job {
		f := lower(o, files)
		return jobs.Job{
			Name:        "grep",
			Delim:       delim,
			NewMapper:   func() jobs.Mapper { return newLineMapper(p, f) },
			NewReleaser: func() jobs.Releaser { return newReleaser(f) },
			SkipBinary:  !o.Text && o.BinaryMatch == nil && !o.NULEnded,
			BuiltIn:     true,
		}
	}
	job := selecting(1)
	job.Begin = selecting // several runs of a chain may have different numbers of files
	return jobs.Chain{job}, nil
}
