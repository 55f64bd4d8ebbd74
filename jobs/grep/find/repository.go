package find

import (
	"path/filepath"
	"strings"

	"mrlocal/internal/disk"
	"mrlocal/internal/scan"
)

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
		g.shared = &gitConfig{home: g.getenv("HOME")}
		for _, file := range g.sharedFiles() {
			g.shared.read(file, 0)
		}
	}
	// The condition of an include depends on the repository. So the files with conditions are read again.
	c := *g.shared
	c.repository = absolute(own)
	if c.conditions {
		c = gitConfig{home: c.home, repository: c.repository}
		for _, file := range g.sharedFiles() {
			c.read(file, 0)
		}
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
	if dir := g.getenv("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	return g.getenv("HOME") + "/.config"
}

// sharedFiles returns the files with settings of the machine and the user, those of the user last. Git
// has variables of the environment that replace them.
func (g *gitReader) sharedFiles() (files []string) {
	if off := g.getenv("GIT_CONFIG_NOSYSTEM"); off == "" || off == "0" || off == "false" {
		if file := g.getenv("GIT_CONFIG_SYSTEM"); file != "" {
			files = append(files, file)
		} else {
			files = append(files, "/etc/gitconfig")
		}
	}
	if file := g.getenv("GIT_CONFIG_GLOBAL"); file != "" {
		return append(files, file)
	}
	return append(files, g.configHome()+"/git/config", g.getenv("HOME")+"/.gitconfig")
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
