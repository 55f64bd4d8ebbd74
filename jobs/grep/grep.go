// Package grep is a job that searches lines for patterns. Patterns are in RE2 syntax, or in POSIX syntax
// (pattern.go), and match leftmost-first or leftmost-longest. Each line is matched by itself and without its newline.
//
// By default the job counts matches, as Hadoop's grep example does: a chain of two jobs writes
// "count TAB match". With any other option it selects lines and writes them in the order of the
// input. That is one job without reducers: its mappers write frames (release.go), and one releaser
// makes the output of them. A mapper formats lines as far as it can. The releaser computes line
// numbers and limits of files that began in another split.
//
// Lines around selected ones (context.go) may lie in another split. So mappers write candidates,
// and the releaser chooses among them.
//
// A block is searched in one of four ways (search.go). Literals that each match must contain
// (package words) are marked, one bit for each offset, in windows of the block (find.go,
// internal/scan). If a literal is the whole pattern, the marks decide. Otherwise a lineMatcher
// (search.go) decides about the lines that contain a literal. Where literals are common or not known, three
// byte sets that each match contains, such as [0-9], [.] and [0-9], are marked in their place. If there is
// neither, or if too many lines contain one, the lineMatcher searches whole blocks. Patterns that are many
// strings are a dictionary (package words), which searches whole blocks, too.
//
// Memory: a mapper has at most 80 KiB of output, 32 KiB of marks and twice 10 MiB of automata
// (package dfa). The automata are charged to the memory bound of the run, and so is a dictionary, once
// for each mapper. The releaser has 128 KiB. Long lines are written from the block in which they lie.
package grep

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"math"
	"slices"

	"mrlocal/internal/errs"
	"mrlocal/internal/scan"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// DefaultPattern is the pattern that New uses if Options has none. It finds the links of a
// wiki.
const DefaultPattern = `\[\[[^\[\]]+\]\]`

// Names says whether the path of its file is written before each line.
type Names uint8

const (
	NamesAuto Names = iota // only if there is more than one file
	NamesAlways
	NamesNever
)

// Labels has the name in the output of a file, by its path in a Block. A file without an entry has its path as
// name.
type Labels = map[string]string

// Options are options of GNU grep, with their letters. The zero value counts the matches of
// DefaultPattern. Lines, or any field below it except Single, selects lines instead.
type Options struct {
	Patterns []string // -e; a newline separates patterns; none: DefaultPattern
	Syntax   Syntax   // of Patterns, unless Fixed is set
	Text     bool     // -a: do not skip files with a NUL byte in their first 64 KiB

	Lines       bool
	Names       Names  // -H, --no-filename
	LineNumbers bool   // -n
	Count       bool   // -c
	ListFiles   bool   // -l
	Invert      bool   // -v
	IgnoreCase  bool   // -i
	SmartCase   bool   // -S of ripgrep: IgnoreCase, unless a pattern has an upper case letter
	Fixed       bool   // -F
	Word        bool   // -w
	Whole       bool   // -x
	OnlyMatched bool   // -o
	Multiline   bool   // a match may span lines, as with -U of ripgrep; a file is then held in memory
	Longest     bool   // of several matches that begin at one place, take the longest one, not the first one
	Quiet       bool   // -q
	MaxCount    *int64 // -m; nil or negative: no limit

	ListOthers bool     // -L; the output records are counted as with -l
	NULNames   bool     // -Z: a NUL byte follows each path instead of the separator
	NULEnded   bool     // -z: a NUL byte ends each line; lines may contain newlines
	Offsets    bool     // -b: the offset of the line in its file, or with -o of the match, in bytes
	Tab        bool     // -T: a tab stands before the text of a line if anything else does
	Context    *Context // -A, -B, -C; nil: only selected lines
	Color      bool     // --color=always
	Colors     string   // changes of GNU grep's default colours, as in its variable GREP_COLORS
	Labels     Labels   // --label: what the output calls some files
	JSON       bool     // --json: messages of ripgrep instead of lines; ignored with -c, -l, -L and -q

	// Single says that there is one file. The job then ends as soon as the rest of the file is
	// not needed, even if it is a pipe whose writer pauses.
	Single bool

	// BinaryMatch is called, instead of writing lines, for each file that has a match and a NUL
	// byte in its first 64 KiB. Calls come from one goroutine, in the order of the input. nil:
	// such files are skipped.
	BinaryMatch func(path string)
	// Warn is called with the warnings of GNU grep about a pattern that is not in RE2 syntax, such as a backslash
	// without a meaning. nil: there are none.
	Warn func(text string)
	// NoBinary says that no line of such a file is selected. Unlike a file that is skipped, it has a
	// count of 0 and is listed with -L.
	NoBinary bool
}

// Context is the number of lines to write before and after each selected line. A separator
// stands between groups of lines that are not neighbours.
type Context struct {
	Before, After int64
	Separator     *string // nil: "--"
	NoSeparator   bool
	Continued     bool // lines stand before the output, so a separator stands before its first group
}

// selects reports whether Options select lines. Otherwise they count matches.
func (o Options) selects() bool {
	return o.Lines || o.LineNumbers || o.Names != NamesAuto || o.Count || o.ListFiles || o.Invert || o.IgnoreCase || o.SmartCase ||
		o.Fixed || o.Word || o.Whole || o.OnlyMatched || o.Multiline || o.Quiet || o.MaxCount != nil ||
		o.ListOthers || o.NULNames || o.NULEnded || o.Offsets || o.Tab || o.Context != nil || o.Color || o.JSON || o.BinaryMatch != nil || o.NoBinary
}

// New makes the job: a chain of two jobs that counts matches, or one job that selects lines. It
// fails with an options error (package errs) if a pattern is wrong. The chain may run several
// times.
func New(o Options) (jobs.Chain, error) {
	if o.Multiline && o.NULEnded {
		return nil, errs.Fieldf("Options.Multiline", "lines that end with NUL are not searched so")
	}
	o.IgnoreCase = o.IgnoreCase || o.SmartCase && !slices.ContainsFunc(o.Patterns, hasUpper)
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
		f.several = p.several
		if f.want == wantLines && f.Context == nil && (p.several || f.limited()) { // lines of a chunk, or up to a limit, are items
			f.Context = &Context{NoSeparator: true}
		}
		return jobs.Job{
			Name:        "grep",
			Delim:       delim,
			NewMapper:   func() jobs.Mapper { return newLineMapper(p, f) },
			NewReleaser: func() jobs.Releaser { return newReleaser(p, f) },
			SkipBinary:  !o.Text && o.BinaryMatch == nil && !o.NoBinary && !o.NULEnded,
			ByFile:      p.several,
			BuiltIn:     true,
		}
	}
	job := selecting(1)
	job.Begin = func(files int) (jobs.Job, error) { return selecting(files), nil } // later runs of the chain may have another number of files
	return jobs.Chain{job}, nil
}

// gnuBlock is the number of bytes that GNU grep reads at a time.
const gnuBlock = 96 << 10

// Used implements jobs.PartUser, as GNU grep leaves its standard input: with -m behind the last
// selected line, also if lines after it are written (-A). With -q, -l and -L it is left behind the
// block in which the first selected line ends. All is used if the file has fewer lines. The frames
// have no offsets, so Used searches the start of the file once more.
func (r *releaser) Used(file int32, text io.Reader) (int64, error) {
	binary := r.binary == int64(file) // the mapper has stopped at its first line
	first := r.want > wantCounts
	switch {
	case r.want == wantAny && r.records > 0 && r.file < int64(file): // the job has ended before the file
		return 0, nil
	case r.limit == 0:
		return 0, nil
	case r.want == wantAny && r.records == 0 || first && (binary && r.NoBinary || r.Single && r.want != wantAny && r.selected == 0):
		return -1, nil
	case !first && (!r.limited() || binary && r.limit > 1 || r.Single && !binary && r.selected < r.limit):
		return -1, nil
	}
	s := newSearch(r.program)
	defer s.end()
	// The mappers have given back the memory that their automata charged.
	s.account(jobs.OwnAttempt{Charge: func(int64) bool { return true }})
	const leastBytes = 64 << 10
	blocks := bufio.NewScanner(text)
	left := r.limit
	used := int64(0)
	blocks.Buffer(make([]byte, leastBytes), math.MaxInt)
	blocks.Split(func(data []byte, atEnd bool) (int, []byte, error) {
		whole := bytes.LastIndexByte(data, r.eol) + 1
		if atEnd && len(data) > 0 {
			return len(data), data, nil
		}
		if whole == 0 || r.several {
			return 0, nil, nil
		}
		return whole, data[:whole], nil
	})
	if first {
		left = 1
	}
	for blocks.Scan() {
		data := blocks.Bytes()
		if r.eol == 0 {
			lines.Exchange(data)
		}
		if end := r.skip(s, data, &left); left == 0 && first {
			return (used + int64(end) + gnuBlock - 1) / gnuBlock * gnuBlock, nil
		} else if left == 0 {
			return used + int64(end), nil
		}
		used += int64(len(data))
	}
	return -1, blocks.Err()
}

// skip subtracts the selected lines of data, which has whole lines, from left. With -U, the lines of a
// chunk count once. If left becomes 0, it returns the end of the last line.
func (r *releaser) skip(s *search, data []byte, left *int64) int {
	from := 0
	// With -v, the lines before what is found are selected.
	others := func(high int) int {
		for ; from < high && *left > 0; *left-- {
			from = min(scan.LineEnd(data[:high], from)+1, high)
		}
		return from
	}
	for low, high := range s.found(data, r) {
		if r.Invert {
			if others(low); *left == 0 {
				return from
			}
		} else if *left--; *left == 0 {
			return high
		}
		from = high
	}
	if r.Invert {
		return others(len(data))
	}
	return 0
}

// found returns the lines of data that match, or with -U the chunks.
func (s *search) found(data []byte, r *releaser) iter.Seq2[int, int] {
	if r.several {
		return s.chunks(data, r.Invert)
	}
	return func(yield func(low, high int) bool) {
		s.begin(data)
		s.tune()
		for start, end := s.line(); start < len(data) && yield(start, min(end+1, len(data))); start, end = s.line() {
		}
	}
}
