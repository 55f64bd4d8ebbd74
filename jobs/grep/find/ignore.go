package find

import (
	"cmp"
	"os"
	"path/filepath"
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
func parseRules(data []byte) (all rules) {
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

// ignores holds the ignore files of a directory, and through above those of the directories above it.
// nil has none. It does not change after the walk has entered the directory.
type ignores struct {
	above *ignores
	start int // where the paths from the directory begin in absolute paths

	own   [2]rules    // of .rgignore, and of .ignore
	git   rules       // of .gitignore
	top   *repository // set if the directory is the top of a git repository
	inGit bool        // the directory is such a top or lies below one
}

// judge returns the verdict of all ignore files on a path. full is its absolute path, and base its last
// name. As in ripgrep, .rgignore wins over .ignore, and .ignore over the files of git. Among files of
// one name, that of the nearest directory with a verdict wins.
func (g *ignores) judge(full, base string, isDir bool) verdict {
	// All .rgignore files count more than each .ignore file.
	for kind := range 2 {
		for d := g; d != nil; d = d.above {
			if v := d.own[kind].judge(full[d.start:], base, isDir); v != silent {
				return v
			}
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
			next.own[1], worth = readRules(path), true
		case ".rgignore":
			next.own[0], worth = readRules(path), true
		}
	}
	if !worth {
		return g
	}
	return next
}

// parents returns the ignores of the directories above a root. As in ripgrep, these apply too. full is
// the absolute path of the root, without links.
func (w *walker) parents(full string) (g *ignores) {
	// above lists the directories from the nearest one to the top of the file system.
	var above []string
	for d := full; d != filepath.Dir(d); {
		d = filepath.Dir(d)
		above = append(above, d)
	}
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

// repository has the rules of a whole git repository.
type repository struct {
	exclude rules // of info/exclude
	user    rules // of the file that core.excludesFile names
}

// gitReader reads what a git repository has in addition to .gitignore files.
type gitReader struct {
	getenv func(string) string
	// shared has the settings of the machine and the user. nil: open has not read them yet.
	shared *gitConfig
}

// open reads the rules of the repository whose top is a directory. As in git, files that are missing
// or malformed have no effect.
func (g *gitReader) open(top string) *repository {
	own, common := gitDirectories(top)
	if g.shared == nil {
		g.shared = new(g.config(""))
	}
	// The condition of an include depends on the repository. So the files with conditions are read again.
	c := *g.shared
	c.repository = absolute(own)
	if c.conditions {
		c = g.config(c.repository)
	}
	c.read(common+"/config", 0)
	if c.perWorktree {
		c.read(own+"/config.worktree", 0)
	}
	file := c.excludes
	switch {
	case !c.given:
		file = g.configHome() + "/git/ignore"
	case file != "" && !filepath.IsAbs(file):
		// Git works at the top.
		file = inside(top, file)
	}
	return &repository{readRules(common + "/info/exclude"), readRules(file)}
}

// gitDirectories returns the directory of git for a top, and the one that all worktrees of the
// repository share. For a worktree and a submodule, .git is a file that names the first one.
func gitDirectories(top string) (own, common string) {
	own = inside(top, ".git")
	if text, err := disk.ReadFile(own); err == nil {
		if name, ok := strings.CutPrefix(string(text), "gitdir: "); ok {
			own = from(strings.TrimRight(name, "\r\n"), top)
		}
	}
	text, err := disk.ReadFile(own + "/commondir")
	if err != nil {
		return own, own
	}
	return own, from(strings.TrimRight(string(text), "\r\n"), own)
}

// from returns a path that is relative to a directory.
func from(path, directory string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return inside(directory, path)
}

// configHome returns the directory for the settings of the user.
func (g *gitReader) configHome() string {
	return cmp.Or(g.getenv("XDG_CONFIG_HOME"), g.getenv("HOME")+"/.config")
}

// config reads the files with settings of the machine and the user, those of the user last. Git has
// variables of the environment that replace them.
func (g *gitReader) config(repository string) gitConfig {
	c := gitConfig{home: g.getenv("HOME"), repository: repository}
	if off := g.getenv("GIT_CONFIG_NOSYSTEM"); off == "" || off == "0" || off == "false" {
		c.read(cmp.Or(g.getenv("GIT_CONFIG_SYSTEM"), "/etc/gitconfig"), 0)
	}
	if file := g.getenv("GIT_CONFIG_GLOBAL"); file != "" {
		c.read(file, 0)
		return c
	}
	c.read(g.configHome()+"/git/config", 0)
	c.read(c.home+"/.gitconfig", 0)
	return c
}

// gitConfig has the settings of git that choose ignore files. A later file wins over an earlier one.
type gitConfig struct {
	home       string
	repository string // the absolute path of its directory of git, for includes with a condition; "" if unknown

	given       bool   // core.excludesFile is set
	excludes    string // its value
	perWorktree bool   // extensions.worktreeConfig is true
	conditions  bool   // a file has an include with a condition
}

// mostIncludes is how deep files may include each other, as in git.
const mostIncludes = 10

// read reads a file of settings and the files that it includes. depth is the number of files that
// include it. A file that is missing has no settings.
func (c *gitConfig) read(file string, depth int) {
	data, err := disk.ReadFile(file)
	if err != nil || depth > mostIncludes {
		return
	}
	section := ""
	for rest := strings.TrimPrefix(string(data), scan.ByteOrderMark); rest != ""; {
		rest = strings.TrimLeft(rest, " \t\r\n")
		switch {
		case rest == "":
		case rest[0] == '#' || rest[0] == ';':
			_, rest, _ = strings.Cut(rest, "\n")
		case rest[0] == '[':
			section, rest = readSection(rest[1:])
		default:
			end := strings.IndexFunc(rest, func(r rune) bool { return strings.ContainsRune(" \t\r\n=#;", r) })
			if end < 0 {
				return // a name without a value says true, which none of the settings may be
			}
			key := section + "." + strings.ToLower(rest[:end])
			var value string
			if rest = strings.TrimLeft(rest[end:], " \t"); strings.HasPrefix(rest, "=") {
				value, rest = readValue(strings.TrimLeft(rest[1:], " \t"))
				c.set(key, value, file, depth)
			}
		}
	}
}

// set takes a setting of a file. The name of key is in lower case, but not a subsection.
func (c *gitConfig) set(key, value, file string, depth int) {
	condition, isInclude := strings.CutSuffix(key, ".path")
	switch {
	case key == "core.excludesfile":
		c.given, c.excludes = true, c.expand(value)
	case key == "extensions.worktreeconfig":
		word := strings.ToLower(value)
		c.perWorktree = word == "true" || word == "yes" || word == "on" || word == "1"
	case isInclude && condition == "include":
		c.read(from(c.expand(value), filepath.Dir(file)), depth+1)
	case isInclude && strings.HasPrefix(condition, "includeif."):
		c.conditions = true
		if c.holds(strings.TrimPrefix(condition, "includeif."), filepath.Dir(file)) {
			c.read(from(c.expand(value), filepath.Dir(file)), depth+1)
		}
	}
}

// expand replaces a leading ~/ by the directory of the user.
func (c *gitConfig) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return c.home + "/" + rest
	}
	return path
}

// holds reports whether the condition of an include holds. Conditions about branches and URLs never do.
// directory is that of the file with the condition.
func (c *gitConfig) holds(condition, directory string) bool {
	pattern, sensitive := strings.CutPrefix(condition, "gitdir:")
	text := c.repository
	if !sensitive {
		var ok bool
		if pattern, ok = strings.CutPrefix(condition, "gitdir/i:"); !ok {
			return false
		}
	}
	pattern = c.expand(pattern)
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		pattern = absolute(directory) + "/" + rest
	}
	if !filepath.IsAbs(pattern) {
		pattern = "**/" + pattern
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	if !sensitive {
		pattern, text = strings.ToLower(pattern), strings.ToLower(text)
	}
	g, ok := GitGlob(pattern)
	return ok && text != "" && g.Match(text)
}

// readSection reads the name of a section, whose opening bracket is read, and returns it with the text
// behind it. The name of a section is made lower case, and that of a subsection is not.
func readSection(text string) (name, rest string) {
	head, rest, _ := strings.Cut(text, "]")
	section, _, quoted := strings.Cut(head, `"`)
	if !quoted {
		return strings.ToLower(head), rest
	}
	// The name of a subsection may have a bracket.
	var b strings.Builder
	text = text[len(section)+1:]
	for len(text) > 0 && text[0] != '"' && text[0] != '\n' {
		if text[0] == '\\' && len(text) > 1 {
			text = text[1:]
		}
		b.WriteByte(text[0])
		text = text[1:]
	}
	_, rest, _ = strings.Cut(text, "]")
	return strings.ToLower(strings.TrimSpace(section)) + "." + b.String(), rest
}

// readValue reads a value up to the end of the line, and returns it with the text behind the line. A
// backslash at the end continues the line. Quotes keep blanks and the marks of comments.
func readValue(text string) (value, rest string) {
	var b strings.Builder
	quoted, keep := false, 0 // keep is the length of the value without blanks at the end
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			return b.String()[:keep], text[i+1:]
		case c == '"':
			quoted = !quoted
			keep = b.Len()
			continue
		case (c == '#' || c == ';') && !quoted:
			_, rest, _ = strings.Cut(text[i:], "\n")
			return b.String()[:keep], rest
		case c == '\r' && strings.HasPrefix(text[i+1:], "\n"):
			continue
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] == '\r' && strings.HasPrefix(text[i+1:], "\n") {
				i++
			}
			if text[i] == '\n' {
				continue
			}
			escaped, ok := map[byte]byte{'n': '\n', 't': '\t', 'b': '\b'}[text[i]]
			if !ok {
				escaped = text[i]
			}
			b.WriteByte(escaped)
			keep = b.Len()
		default:
			b.WriteByte(c)
			if quoted || c != ' ' && c != '\t' {
				keep = b.Len()
			}
		}
	}
	return b.String()[:keep], ""
}
