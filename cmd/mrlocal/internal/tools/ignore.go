package tools

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// verdict is the answer of rules to the question whether a path is searched.
type verdict uint8

const (
	silent   verdict = iota // no rule matches
	leaveOut                // the path is not searched
	take                    // the path is searched
)

// rule is one line of an ignore file, or one glob of -g.
type rule struct {
	kind    ruleKind
	text    string // the name or the suffix; "" for asGlob
	glob    string // the pattern for doublestar
	keeps   bool   // the verdict is take: a leading ! in an ignore file, none in -g
	anchor  bool   // the glob is matched with the path from the directory of the rule
	dirOnly bool   // the rule matches directories only
}

// ruleKind says how a rule is matched. Most rules are names or suffixes. Comparing these takes a few
// nanoseconds, and matching a glob about a hundred.
type ruleKind uint8

const (
	asGlob   ruleKind = iota // doublestar matches the glob
	asName                   // the last name is text
	asSuffix                 // the last name ends in text, as for *.go
)

// compileRule compiles a line of an ignore file, or, if ignoring is false, a glob of -g. It returns
// false if the rule is empty or not a valid glob.
func compileRule(text string, ignoring bool) (rule, bool) {
	// A rule of an ignore file leaves paths out, and a glob of -g takes files. A leading ! reverses
	// both.
	r := rule{keeps: !ignoring}
	if rest, ok := strings.CutPrefix(text, "!"); ok {
		r.keeps, text = ignoring, rest
	}
	// As in git, a backslash makes a first ! or # stand for itself.
	if strings.HasPrefix(text, `\!`) || strings.HasPrefix(text, `\#`) {
		text = text[1:]
	}
	// A slash at the end restricts the rule to directories. It is no reason to anchor the rule.
	if rest, ok := strings.CutSuffix(text, "/"); ok {
		r.dirOnly, text = true, rest
	}
	// As in git, any other slash anchors the rule to the directory of its file.
	r.anchor = strings.Contains(text, "/")
	r.glob = strings.TrimPrefix(text, "/")
	// The rules **/name and name match in every directory. The second one is faster.
	if rest, ok := strings.CutPrefix(r.glob, "**/"); ok && !strings.Contains(rest, "/") {
		r.anchor, r.glob = false, rest
	}
	r.glob = asGitHas(r.glob)
	if r.glob == "" || !validGlob(r.glob) {
		return r, false
	}
	switch {
	case r.anchor:
	// A glob without these characters matches only its own text.
	case !strings.ContainsAny(r.glob, `*?[{\`):
		r.kind, r.text = asName, r.glob
	case r.glob[0] == '*' && !strings.ContainsAny(r.glob[1:], `*?[{\`):
		r.kind, r.text = asSuffix, r.glob[1:]
	}
	return r, true
}

// asGitHas rewrites a glob of git for doublestar. With the result, doublestar matches the same paths as
// git and ripgrep match with the original.
func asGitHas(glob string) string {
	parts := strings.Split(glob, "/")
	for i, part := range parts {
		// Two asterisks match several directories only if they are a whole part of the path. Elsewhere
		// git takes them as one.
		if strings.Trim(part, "*") != "" || len(part) > 2 {
			for strings.Contains(part, "**") && !strings.Contains(part, `\*`) {
				part = strings.ReplaceAll(part, "**", "*")
			}
		}
		// A closing bracket at the start of a class stands for itself.
		part = strings.NewReplacer("[]", `[\]`, "[!]", `[!\]`, "[^]", `[^\]`).Replace(part)
		parts[i] = part
	}
	// The glob dir/** matches all that lies below dir, but not dir itself.
	if n := len(parts); n > 1 && parts[n-1] == "**" {
		parts = append(parts, "*")
	}
	return strings.Join(parts, "/")
}

// validGlob reports whether doublestar accepts a glob. Matching does not check this again.
func validGlob(glob string) bool { return doublestar.ValidatePattern(glob) }

// matches reports whether a path matches the rule. inner is the path from the directory of the rule,
// and base its last name. The caller checks dirOnly.
func (r rule) matches(inner, base string) bool {
	switch r.kind {
	case asName:
		return base == r.text
	case asSuffix:
		return strings.HasSuffix(base, r.text)
	}
	name := base
	if r.anchor {
		name = inner
	}
	return doublestar.MatchUnvalidated(r.glob, name)
}

// rules are the rules of one ignore file, or all globs of -g, in their order.
type rules []rule

// judge returns the verdict of the last rule that matches, as in git. inner and base are as in
// rule.matches. If no rule matches, it returns silent.
func (all rules) judge(inner, base string, isDir bool) verdict {
	for i := len(all) - 1; i >= 0; i-- {
		r := all[i]
		if r.dirOnly && !isDir || !r.matches(inner, base) {
			continue
		}
		if r.keeps {
			return take
		}
		return leaveOut
	}
	return silent
}

// admitting reports whether the verdict of a rule is take.
func (all rules) admitting() bool {
	for _, r := range all {
		if r.keeps {
			return true
		}
	}
	return false
}

// anyGlob reports whether a file matches one of the globs of --include, --exclude or --exclude-dir.
// base is its name, and full its path.
func anyGlob(globs []string, base, full string) bool {
	for _, g := range globs {
		name := base
		// A glob with a slash is matched with the path, and one without a slash with the name.
		if strings.Contains(g, "/") {
			name = full
		}
		if doublestar.MatchUnvalidated(g, name) {
			return true
		}
	}
	return false
}

// ignores holds the ignore files of a directory, and through above those of the directories above it.
// nil has none. It does not change after the walk has entered the directory.
type ignores struct {
	above     *ignores
	directory string // with a slash at the end; the prefix of the paths below it

	// root and full are set for a directory above a root. root is the root as the user wrote it, and
	// full its absolute path.
	root, full string

	rg      rules // of .rgignore
	own     rules // of .ignore
	git     rules // of .gitignore
	exclude rules // of .git/info/exclude
	isTop   bool  // the directory is the top of a git repository
	inGit   bool  // the directory is such a top or lies below one
}

// judge returns the verdict of all ignore files on a path. full is the path as the walk has it, and
// base its last name. As in ripgrep, .rgignore wins over .ignore, and .ignore over the files of
// git. Among files of one name, that of the nearest directory with a verdict wins.
func (g *ignores) judge(full, base string, isDir bool) verdict {
	for d := g; d != nil; d = d.above {
		if v := d.rg.judge(d.inner(full), base, isDir); v != silent {
			return v
		}
	}
	for d := g; d != nil; d = d.above {
		if v := d.own.judge(d.inner(full), base, isDir); v != silent {
			return v
		}
	}
	// As in ripgrep, .gitignore has an effect only in a git repository.
	if g == nil || !g.inGit {
		return silent
	}
	for d := g; d != nil; d = d.above {
		if v := d.git.judge(d.inner(full), base, isDir); v != silent {
			return v
		}
		// The rules of git end at the top of the repository. All .gitignore files win over its exclude
		// file.
		if d.isTop {
			return d.exclude.judge(d.inner(full), base, isDir)
		}
	}
	return silent
}

// inner returns the path full from the directory of g.
func (g *ignores) inner(full string) string {
	// A directory above a root is known by its absolute path, so full becomes absolute first.
	if g.full != "" {
		full = g.full + "/" + strings.TrimPrefix(strings.TrimPrefix(full, g.root), "/")
	}
	return strings.TrimPrefix(full, g.directory)
}

// enter returns the ignores of the directory name, which has these entries. g has those of the
// directory above. enter reads the ignore files among the entries.
func (g *ignores) enter(name string, entries []listed) *ignores {
	next := &ignores{above: g, inGit: g != nil && g.inGit}
	if name != "" {
		next.directory = strings.TrimSuffix(name, "/") + "/"
	}
	// Most directories have no ignore files. They share g, so that judge takes fewer steps.
	worth := false
	for _, e := range entries {
		switch file := e.base(); file {
		case ".git":
			next.isTop, next.inGit, worth = true, true, true
			next.exclude = readRules(next.directory + file + "/info/exclude")
		case ".gitignore":
			next.git, worth = readRules(next.directory+file), true
		case ".ignore":
			next.own, worth = readRules(next.directory+file), true
		case ".rgignore":
			next.rg, worth = readRules(next.directory+file), true
		}
	}
	if !worth {
		return g
	}
	return next
}

// parents returns the ignores of the directories above a root. As in ripgrep, these apply too.
func (w *walker) parents(root string) *ignores {
	if w.NoIgnore {
		return nil
	}
	here, err := filepath.Abs(root)
	if err != nil {
		return nil // the working directory is gone, so the directories above are unknown
	}
	// above lists the directories from the nearest one to the top of the file system.
	var above []string
	for d := filepath.Dir(here); ; d = filepath.Dir(d) {
		above = append(above, d)
		// The top of the file system is its own parent.
		if d == filepath.Dir(d) {
			break
		}
	}
	var g *ignores
	// The loop begins at the top, because enter needs the ignores of the directory above.
	for i := len(above) - 1; i >= 0; i-- {
		// A directory above may have very many entries, so only the four names are looked up.
		var entries []listed
		for _, name := range []string{".git", ".gitignore", ".ignore", ".rgignore"} {
			if _, err := os.Lstat(filepath.Join(above[i], name)); err == nil {
				entries = append(entries, listed{path: name, baseBytes: len(name)})
			}
		}
		g = g.enter(above[i], entries)
	}
	// inner needs both forms of the root, because paths of the walk begin with the root as the user
	// wrote it.
	for d := g; d != nil; d = d.above {
		d.root, d.full = root, here
	}
	return g
}

// readRules reads an ignore file. As git does, it ignores lines that are not valid rules, and a file
// that cannot be read.
func readRules(file string) rules {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var all rules
	// Some editors begin a text with a byte order mark.
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for line := range strings.SplitSeq(string(data), "\n") {
		// A file with the line ends of Windows has the same rules.
		line = strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(line, "#") {
			continue
		}
		// As in git, spaces at the end are ignored unless a backslash stands before them.
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		if r, ok := compileRule(line, true); ok {
			all = append(all, r)
		}
	}
	return all
}
