package find

import (
	_ "embed"
	"strings"
)

// Name is one --include, --exclude or --exclude-dir of GNU grep.
type Name struct {
	Kind NameKind
	Glob string
}

// NameKind says what a Name does with the files or directories that match it.
type NameKind uint8

// The kinds of a Name.
const (
	Include    NameKind = iota // files that match are searched
	Exclude                    // files that match are left out
	ExcludeDir                 // directories that match are left out
)

// PatternsOf returns the lines of a file of --exclude-from as globs for Exclude. As in GNU grep, blanks
// at the end of a line are dropped, and then empty lines.
func PatternsOf(text string) (globs []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRight(line, " \t\v\f\r"); line != "" {
			globs = append(globs, line)
		}
	}
	return globs
}

// names are the compiled Names of one sort of entry, files or directories, in their order.
type names []namePattern

// namePattern is a compiled Name.
type namePattern struct {
	include bool
	literal bool // the glob has no wildcards
	glob    Glob
}

// compileNames compiles the Names for files and those for directories.
func compileNames(all []Name) (files, directories names) {
	for _, n := range all {
		text := n.Glob
		if n.Kind == ExcludeDir {
			// As in GNU grep, slashes at the end are dropped, except a lone one.
			if text = strings.TrimRight(text, "/"); text == "" && n.Glob != "" {
				text = "/"
			}
		}
		p := namePattern{include: n.Kind == Include, literal: !hasWildcards(text), glob: Glob{{prefix: unescape(text)}}}
		if !p.literal {
			// A malformed glob matches nothing, but it counts as the first one in takes.
			p.glob, _ = GNUGlob(text)
		}
		if n.Kind == ExcludeDir {
			directories = append(directories, p)
		} else {
			files = append(files, p)
		}
	}
	return files, directories
}

// takes reports whether an entry is searched. name is its last name, or for an entry that the user
// named, the path as given. As in GNU grep, the last pattern that matches decides. If none matches, an
// entry is left out only if the first pattern is an Include.
func (all names) takes(name string, given bool) bool {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].matches(name, given) {
			return all[i].include
		}
	}
	return len(all) == 0 || !all[0].include
}

// matches reports whether the pattern matches a name. For one that is given, it also tries what stands
// behind each slash.
func (p *namePattern) matches(name string, given bool) bool {
	if p.glob.Match(name) {
		return true
	}
	for i := 0; given && i < len(name); i++ {
		// As in GNU grep, a glob with wildcards is not tried behind the first of two slashes.
		if name[i] == '/' && (p.literal || !strings.HasPrefix(name[i+1:], "/")) && p.glob.Match(name[i+1:]) {
			return true
		}
	}
	return false
}

// hasWildcards reports whether a glob of GNU has a wildcard that no backslash precedes.
func hasWildcards(glob string) bool {
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// unescape returns the text that a glob without wildcards matches.
func unescape(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		if glob[i] == '\\' && i+1 < len(glob) {
			i++
		}
		b.WriteByte(glob[i])
	}
	return b.String()
}

// types has the file types.txt with the types that -t knows. They are the types of ripgrep 15, with
// ripgrep's globs. A line has the name of a type, then the globs of its files.
//
//go:embed types.txt
var types string

// typeGlobs returns the globs of the type of that name. As in ripgrep, all is each type. known is false if
// there is no such type.
func typeGlobs(name string) (globs []string, known bool) {
	// A search through the text takes microseconds, so types is not a map, which each start would
	// have to build.
	for line := range strings.Lines(types) {
		if words := strings.Fields(line); words[0] == name || name == "all" {
			globs = append(globs, words[1:]...)
		}
	}
	return globs, len(globs) > 0
}
