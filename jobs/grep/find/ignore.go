package find

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal/internal/disk"
	"mrlocal/internal/scan"
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
	glob    Glob
	keeps   bool // the verdict is take: a leading ! in an ignore file, none in -g
	anchor  bool // the glob is matched with the path from the directory of the rule, else with the last name
	dirOnly bool // the rule matches directories only
}

// rules are the rules of one ignore file, or all globs of -g, in their order.
type rules []rule

// parseRules parses an ignore file as git does. It skips lines that match nothing.
func parseRules(data []byte) rules {
	var all rules
	text := strings.TrimPrefix(string(data), scan.ByteOrderMark)
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.TrimSuffix(line, "\r")
		line, _, _ = strings.Cut(line, "\x00") // git reads lines as strings of C
		line = trimSpaces(line)
		rest, keeps := strings.CutPrefix(line, "!")
		r := rule{keeps: keeps}
		rest = r.cut(rest)
		var ok bool
		if r.glob, ok = GitGlob(rest); ok && rest != "" {
			all = append(all, r)
		}
	}
	return all
}

// trimSpaces drops spaces at the end of a line of an ignore file, or of a glob of -g. A space behind a
// backslash stays.
func trimSpaces(line string) string {
	end := 0 // behind the last byte that stays
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if line[i] == ' ' {
			continue
		}
		end = i + 1
	}
	return line[:min(end, len(line))]
}

// cut sets dirOnly and anchor, and returns the glob without the slashes that say so.
func (r *rule) cut(text string) string {
	// A slash at the end restricts the rule to directories. Any other one anchors it.
	text, r.dirOnly = strings.CutSuffix(text, "/")
	r.anchor = strings.Contains(text, "/")
	return strings.TrimPrefix(text, "/")
}

// parseGlob parses a glob of -g as ripgrep does. ok is false if it is malformed. An empty one has no
// effect, and some is false then.
func parseGlob(text string) (r rule, some, ok bool) {
	if text = trimSpaces(text); text == "" || strings.HasPrefix(text, "#") {
		return r, false, true
	}
	rest, leaves := strings.CutPrefix(text, "!")
	r.keeps = !leaves
	if strings.HasPrefix(rest, `\!`) || strings.HasPrefix(rest, `\#`) {
		rest = rest[1:]
	}
	if rest = r.cut(rest); r.dirOnly {
		rest = strings.TrimSuffix(rest, `\`) // of a slash with a backslash before it
	}
	if rest == "" {
		return r, false, true
	}
	// With the glob dir/**, ripgrep means what lies below dir.
	if strings.HasSuffix(rest, "/**") {
		rest += "/*"
	}
	r.glob, ok = RipgrepGlob(rest)
	return r, true, ok
}

// judge returns the verdict of the last rule that matches, as in git. inner is the path from the
// directory of the rules, and base its last name. If no rule matches, it returns silent.
func (all rules) judge(inner, base string, isDir bool) verdict {
	for i := len(all) - 1; i >= 0; i-- {
		r := &all[i]
		name := base
		if r.anchor {
			name = inner
		}
		if r.dirOnly && !isDir || !r.glob.Match(name) {
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
	return slices.ContainsFunc(all, func(r rule) bool { return r.keeps })
}

// ignores holds the ignore files of a directory, and through above those of the directories above it.
// nil has none. It does not change after the walk has entered the directory.
type ignores struct {
	above *ignores
	start int // where the paths from the directory begin in absolute paths

	rg    rules       // of .rgignore
	own   rules       // of .ignore
	git   rules       // of .gitignore
	top   *repository // set if the directory is the top of a git repository
	inGit bool        // the directory is such a top or lies below one
}

// judge returns the verdict of all ignore files on a path. full is its absolute path, and base its last
// name. As in ripgrep, .rgignore wins over .ignore, and .ignore over the files of git. Among files of
// one name, that of the nearest directory with a verdict wins.
func (g *ignores) judge(full, base string, isDir bool) verdict {
	for d := g; d != nil; d = d.above {
		if v := d.rg.judge(full[d.start:], base, isDir); v != silent {
			return v
		}
	}
	for d := g; d != nil; d = d.above {
		if v := d.own.judge(full[d.start:], base, isDir); v != silent {
			return v
		}
	}
	// As in ripgrep, .gitignore has an effect only in a git repository.
	if g == nil || !g.inGit {
		return silent
	}
	for d := g; d != nil; d = d.above {
		inner := full[d.start:]
		if v := d.git.judge(inner, base, isDir); v != silent {
			return v
		}
		// The rules of git end at the top of the repository. All .gitignore files win over those of the
		// whole repository.
		if d.top != nil {
			if v := d.top.exclude.judge(inner, base, isDir); v != silent {
				return v
			}
			return d.top.user.judge(inner, base, isDir)
		}
	}
	return silent
}

// enter returns the ignores of a directory that has these entries. name is its path, and full its
// absolute path with a slash at the end. g has those of the directory above. enter reads the ignore
// files among the entries.
func (w *walker) enter(g *ignores, name, full string, entries []listed) *ignores {
	next := &ignores{above: g, start: len(full), inGit: g != nil && g.inGit}
	// Most directories have no ignore files. They share g, so that judge takes fewer steps.
	worth := false
	for i := range entries {
		e := &entries[i]
		path := inside(name, e.base())
		switch e.base() {
		case ".git":
			next.top = w.git.open(name)
			next.inGit, worth = true, true
		case ".gitignore":
			// As git does, enter does not follow a link of this name.
			if e.mode == 0 {
				next.git, worth = readRules(path), true
			}
		case ".ignore":
			next.own, worth = readRules(path), true
		case ".rgignore":
			next.rg, worth = readRules(path), true
		}
	}
	if !worth {
		return g
	}
	return next
}

// parents returns the ignores of the directories above a root. As in ripgrep, these apply too. full is
// the absolute path of the root, without links.
func (w *walker) parents(full string) *ignores {
	// above lists the directories from the nearest one to the top of the file system.
	var above []string
	for d := full; d != filepath.Dir(d); {
		d = filepath.Dir(d)
		above = append(above, d)
	}
	var g *ignores
	// The loop begins at the top, because enter needs the ignores of the directory above.
	for i := len(above) - 1; i >= 0; i-- {
		// A directory above may have very many entries, so only the four names are looked up.
		var entries []listed
		for _, name := range []string{".git", ".gitignore", ".ignore", ".rgignore"} {
			if info, err := disk.Lstat(filepath.Join(above[i], name)); err == nil {
				entries = append(entries, listed{path: name, baseBytes: len(name), mode: info.Mode().Type()})
			}
		}
		g = w.enter(g, above[i], withSlash(above[i]), entries)
	}
	return g
}

// absolute returns the absolute path of a directory without links, as git sees it. It is "" if the path
// cannot be known, because the working directory is gone.
func absolute(name string) string {
	if !filepath.IsAbs(name) {
		here, err := os.Getwd()
		if err != nil {
			return ""
		}
		// The shell may have entered the working directory by a link. filepath.Join cannot be used here,
		// because it drops link/.. from the path.
		name = here + "/" + name
	}
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return ""
	}
	return name
}

// withSlash returns a path that ends in a slash.
func withSlash(path string) string { return strings.TrimSuffix(path, "/") + "/" }

// inside returns the path of a name in a directory, which is "" for the working directory. It keeps
// link/.. in the path, which filepath.Join drops.
func inside(directory, name string) string {
	if directory == "" {
		return name
	}
	return withSlash(directory) + name
}

// readRules reads an ignore file. As in git, a file that cannot be read has no rules.
func readRules(file string) rules {
	data, err := disk.ReadFile(file)
	if err != nil {
		return nil
	}
	return parseRules(data)
}
