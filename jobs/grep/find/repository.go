package find

import (
	"path/filepath"
	"strings"

	"mrlocal/internal/disk"
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
