package tools

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// verdict is what rules say about a path.
type verdict uint8

const (
	silent verdict = iota // no rule matches
	leaveOut
	take
)

// rule is one line of an ignore file, or one glob of -g.
type rule struct {
	kind    ruleKind
	text    string // of a name or a suffix
	glob    string
	keeps   bool // the rule says: take (a leading ! in an ignore file, none in -g)
	anchor  bool // the glob is matched with the path from the directory of the rule
	dirOnly bool
}

// ruleKind says how a rule is matched. Most rules are a name or a suffix, which
// are compared in a few nanoseconds; a glob takes about a hundred.
type ruleKind uint8

const (
	asGlob ruleKind = iota
	asName
	asSuffix
)

// compileRule compiles a line of an ignore file or, if not ignoring, a glob of -g,
// whose leading ! means the reverse. It reports whether the rule is valid.
func compileRule(text string, ignoring bool) (rule, bool) {
	// A rule of an ignore file leaves out; a glob of -g takes. A leading ! turns both around.
	r := rule{keeps: !ignoring}
	if rest, ok := strings.CutPrefix(text, "!"); ok {
		r.keeps, text = ignoring, rest
	}
	// The backslash makes the first character stand for itself, as in git.
	if strings.HasPrefix(text, `\!`) || strings.HasPrefix(text, `\#`) {
		text = text[1:]
	}
	// A slash at the end restricts the rule to directories. It does not anchor the rule.
	if rest, ok := strings.CutSuffix(text, "/"); ok {
		r.dirOnly, text = true, rest
	}
	// Any other slash anchors the rule to the directory of its file, as in git.
	r.anchor = strings.Contains(text, "/")
	r.glob = strings.TrimPrefix(text, "/")
	// The rule **/name matches in every directory, as name alone does, which is cheaper.
	if rest, ok := strings.CutPrefix(r.glob, "**/"); ok && !strings.Contains(rest, "/") {
		r.anchor, r.glob = false, rest
	}
	r.glob = asGitHas(r.glob)
	if r.glob == "" || !validGlob(r.glob) {
		return r, false
	}
	switch {
	case r.anchor:
	// None of these characters means that the glob matches itself only.
	case !strings.ContainsAny(r.glob, `*?[{\`):
		r.kind, r.text = asName, r.glob
	case r.glob[0] == '*' && !strings.ContainsAny(r.glob[1:], `*?[{\`):
		r.kind, r.text = asSuffix, r.glob[1:]
	}
	return r, true
}

// asGitHas rewrites a glob so that doublestar matches what git and ripgrep match with
// the original.
func asGitHas(glob string) string {
	parts := strings.Split(glob, "/")
	for i, part := range parts {
		// Only as a whole name do two asterisks match several directories.
		if strings.Trim(part, "*") != "" || len(part) > 2 {
			for strings.Contains(part, "**") && !strings.Contains(part, `\*`) {
				part = strings.ReplaceAll(part, "**", "*")
			}
		}
		// A bracket at the start of a class stands for itself.
		part = strings.NewReplacer("[]", `[\]`, "[!]", `[!\]`, "[^]", `[^\]`).Replace(part)
		parts[i] = part
	}
	// What lies in a directory does not include the directory itself.
	if n := len(parts); n > 1 && parts[n-1] == "**" {
		parts = append(parts, "*")
	}
	return strings.Join(parts, "/")
}

// validGlob is checked once for each glob, so that matching need not check again.
func validGlob(glob string) bool { return doublestar.ValidatePattern(glob) }

// matches reports whether a path matches. inner is the path from the directory of
// the rule, base its last name.
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

// rules belong to one file or to the flag -g. The last one that matches decides.
type rules []rule

// judge returns the verdict of the last rule that matches, as in git. inner and base are those
// of rule.matches.
func (all rules) judge(inner, base string, isDir bool) verdict {
	// From the end, the first match is the last one of the file.
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

// admitting reports whether a rule says what to take.
func (all rules) admitting() bool {
	for _, r := range all {
		if r.keeps {
			return true
		}
	}
	return false
}

// anyGlob reports whether a name or a path matches one of GNU grep's globs. There
// an asterisk matches a slash, too.
func anyGlob(globs []string, base, full string) bool {
	for _, g := range globs {
		name := base
		// A glob with a slash is matched with the path, one without with the name.
		if strings.Contains(g, "/") {
			name = full
		}
		if doublestar.MatchUnvalidated(g, name) {
			return true
		}
	}
	return false
}

// ignores holds the ignore files of a directory and of those above it.
type ignores struct {
	above     *ignores
	directory string // as a prefix of paths below it
	root      string // of a directory above a root: the root as the user wrote it, and
	full      string // its absolute path
	rg        rules  // of .rgignore
	own       rules  // of .ignore
	git       rules  // of .gitignore
	exclude   rules  // of .git/info/exclude
	isTop     bool   // the top of a git repository
	inGit     bool   // below such a top
}

// judge returns what the files say about a path. Files named .rgignore count more than those
// named .ignore, and these more than those of git. Among files of one name, the one of the
// nearest directory with a verdict decides.
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
	// As in ripgrep, .gitignore counts only inside of a git repository.
	if g == nil || !g.inGit {
		return silent
	}
	for d := g; d != nil; d = d.above {
		if v := d.git.judge(d.inner(full), base, isDir); v != silent {
			return v
		}
		// Rules of git end at the top of the repository. Its exclude file counts least.
		if d.isTop {
			return d.exclude.judge(d.inner(full), base, isDir)
		}
	}
	return silent
}

// inner returns the path from d.
func (g *ignores) inner(full string) string {
	// A directory above a root has absolute rules, so the path becomes absolute first.
	if g.full != "" {
		full = g.full + "/" + strings.TrimPrefix(strings.TrimPrefix(full, g.root), "/")
	}
	return strings.TrimPrefix(full, g.directory)
}

// enter returns the ignores of a directory with these entries, below those of g.
func (g *ignores) enter(name string, entries []listed) *ignores {
	next := &ignores{above: g, inGit: g != nil && g.inGit}
	if name != "" {
		next.directory = strings.TrimSuffix(name, "/") + "/"
	}
	// Most directories have no ignore files. They share the ignores of the directory above, and
	// paths are judged by fewer steps.
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

// parents returns the ignores of the directories above a root.
func (w *walker) parents(root string) *ignores {
	if w.NoIgnore {
		return nil
	}
	here, err := filepath.Abs(root)
	if err != nil {
		return nil // without a working directory there is nothing above
	}
	// above has the directories from the nearest to the top of the file system. Those of a root
	// apply too, as in ripgrep.
	var above []string
	for d := filepath.Dir(here); ; d = filepath.Dir(d) {
		above = append(above, d)
		// The top of the file system is its own parent.
		if d == filepath.Dir(d) {
			break
		}
	}
	var g *ignores
	// The chain is built from the top, because each link points to the one above.
	for i := len(above) - 1; i >= 0; i-- {
		// Reading such a directory whole could take long, so only the four names are looked up.
		var entries []listed
		for _, name := range []string{".git", ".gitignore", ".ignore", ".rgignore"} {
			if _, err := os.Lstat(filepath.Join(above[i], name)); err == nil {
				entries = append(entries, listed{path: name, baseBytes: len(name)})
			}
		}
		g = g.enter(above[i], entries)
	}
	// Paths below the root are as the user wrote them.
	for d := g; d != nil; d = d.above {
		d.root, d.full = root, here
	}
	return g
}

// readRules reads an ignore file. Lines that are no valid rules are left out, as
// by git; a file that cannot be read has no rules.
func readRules(file string) rules {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var all rules
	// Some editors put a byte order mark in front of the text.
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for line := range strings.SplitSeq(string(data), "\n") {
		// Files with the line ends of Windows have the same rules.
		line = strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(line, "#") {
			continue
		}
		// As in git, spaces at the end do not count unless a backslash stands before them.
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		if r, ok := compileRule(line, true); ok {
			all = append(all, r)
		}
	}
	return all
}
