// Package grep searches lines for patterns.
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

// New makes the job: a chain of two that counts matches, or one that selects
// lines. A wrong pattern is a usage.Error.
func New(o Options) (jobs.Chain, error) { return nil, nil }
