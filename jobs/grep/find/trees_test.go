package find

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sourceNames are names of files and directories in random trees.
func sourceNames() []string {
	return []string{"a", "b", "c.c", "d.py", "build", "x.log", ".h", "e f", "é", "[a]", "{a,b}", "q\\"}
}

// makeTree makes random directories and files, with ignore files, below a directory. It returns the
// directories.
func makeTree(t *testing.T, r *rand.Rand, dir string, rule func() string) (directories []string) {
	t.Helper()
	directories = []string{dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 + r.IntN(5) {
		d := filepath.Join(draw(r, directories), draw(r, sourceNames()))
		if os.Mkdir(d, 0o755) == nil {
			directories = append(directories, d)
		}
	}
	for _, d := range directories {
		for range 1 + r.IntN(4) {
			file := filepath.Join(d, draw(r, sourceNames()))
			if _, err := os.Lstat(file); err == nil {
				continue
			}
			write(t, file, "foo\n")
		}
		if r.IntN(2) == 0 {
			write(t, filepath.Join(d, ".gitignore"), rule())
		}
	}
	return directories
}

// write writes a file and makes its directory.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// someRules returns random rules that often match sourceNames.
func someRules(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(3) {
		b.WriteString(draw(r, []string{"", "", "", "!", "/", "**/"}))
		for i := range 1 + r.IntN(3) {
			if i > 0 {
				b.WriteString("/")
			}
			b.WriteString(draw(r, append(sourceNames(), "*", "*", "**", "?", "*.c", "*.py{}", "[a-c]", "[[:alpha:]]", "[a[]*", "??", "\\{*", "[^b]*", "q\\\\", "..", "e\\ f")))
		}
		b.WriteString(draw(r, []string{"", "", "", "/", "/**", " ", "\r"}))
		b.WriteString("\n")
	}
	return b.String()
}

// settings returns variables of the environment for a user whose directory is home.
func settings(home, xdg string) func(string) string {
	return func(name string) string {
		return map[string]string{"HOME": home, "XDG_CONFIG_HOME": xdg, "GIT_CONFIG_NOSYSTEM": "1"}[name]
	}
}

// TestTreesAreGits compares random repositories with git ls-files. Their rules stand in .gitignore files,
// info/exclude and the file of core.excludesFile, which any file of settings may name. A repository is
// also seen from a worktree, from a directory inside and through a link.
func TestTreesAreGits(t *testing.T) {
	n, r := checks(t)
	scratch := t.TempDir()
	for i := range max(n/10, 1) {
		rule := func() string { return someRules(r) }
		base := filepath.Join(scratch, draw(r, []string{"p", "p q"}), strings.Repeat("x", i%7), "n"+string(rune('a'+i%26))+strings.Repeat("y", i/26))
		home, top := filepath.Join(base, "home"), filepath.Join(base, "code", "top")
		if err := os.MkdirAll(top, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, d := range []string{home, filepath.Join(home, ".config", "git"), filepath.Join(home, "xdg", "git")} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		write(t, filepath.Join(base, ".gitignore"), "*\n") // above the repository
		xdg := draw(r, []string{"", "", filepath.Join(home, "xdg")})
		git := func(dir string, args ...string) string {
			t.Helper()
			c := exec.Command("git", args...)
			c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + xdg, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
				"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "PWD=" + dir}
			out, err := c.Output()
			if err != nil && args[0] != "check-ignore" {
				t.Fatalf("git %q: %v", args, err)
			}
			return string(out)
		}
		gitWith(t, top, "", "init", "-q")
		gitDirectory := filepath.Join(top, ".git")
		seen := top
		if r.IntN(3) == 0 {
			// The tree is a worktree of the repository, in another place.
			git(top, "commit", "-q", "--allow-empty", "-m", "x")
			seen = filepath.Join(base, "code", "other")
			git(top, "worktree", "add", "-q", seen)
			if r.IntN(2) == 0 {
				git(top, "config", "extensions.worktreeConfig", "true")
				git(seen, "config", "--worktree", "core.excludesFile", "per\\tree")
				write(t, filepath.Join(seen, "per\\tree"), rule())
			}
		}
		// Each source of rules is there or not.
		for _, file := range []string{filepath.Join(gitDirectory, "info", "exclude"), filepath.Join(home, ".config", "git", "ignore"), filepath.Join(home, "xdg", "git", "ignore"), filepath.Join(home, "mine"), filepath.Join(home, "other mine")} {
			if r.IntN(2) == 0 {
				write(t, file, rule())
			}
		}
		for _, file := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config"), filepath.Join(home, "xdg", "git", "config"), filepath.Join(gitDirectory, "config")} {
			if r.IntN(3) > 0 {
				continue
			}
			old, _ := os.ReadFile(file)
			write(t, file, string(old)+draw(r, []string{
				"[core]\n\texcludesFile = ~/mine\n", "[CORE] ExcludesFile=\"~/other mine\" ; c\n", "[user]\nname = \"x\\\"]\"\n[core]\nexcludesfile = ~/mi\\\nne # c\n", "[core]\nexcludesFile = " + home + "/other mine  \n",
				"[core]\nexcludesFile =\n", "[include]\npath = " + home + "/more\n", "[includeIf \"gitdir:" + base + "/code/\"]\n\tpath = ~/more\n", "[includeIf \"gitdir:~/no/\"]\npath = ~/more\n", "[includeIf \"gitdir/i:CODE/**\"]\npath=~/more\n",
				"[core \"excludesFile\"]\nexcludesfile = ~/mine\n", "[alias]\n\tst = status\n[core]\n\tbare = false\n", "[includeIf \"onbranch:nope\"]\npath = ~/more\n"}))
		}
		write(t, filepath.Join(home, "more"), "[core]\r\n\texcludesfile = ~/mine\r\n")
		directories := makeTree(t, r, seen, rule)
		if r.IntN(4) == 0 {
			_ = os.Remove(filepath.Join(seen, ".gitignore"))
			if err := os.Symlink("../../home/mine", filepath.Join(seen, ".gitignore")); err != nil { // which git does not read
				t.Fatal(err)
			}
		}
		here := draw(r, directories)
		lines := strings.Split(git(here, "-c", "core.quotePath=false", "ls-files", "-z", "-co", "--exclude-standard"), "\x00")
		want := slices.DeleteFunc(lines, func(path string) bool {
			info, err := os.Lstat(filepath.Join(here, path))
			return path == "" || strings.HasPrefix(path, "warning") || err != nil || !info.Mode().IsRegular()
		})
		slices.Sort(want)
		o := Options{Hidden: true, Globs: []string{"!.git"}, Getenv: settings(home, xdg)}
		if here != seen && git(seen, "check-ignore", here) != "" {
			continue // a root is searched even if a rule leaves it out
		}
		t.Chdir(here)
		got, troubles := listAll(t, []string{""}, o)
		slices.Sort(got)
		if !slices.Equal(got, want) || troubles != nil {
			out, _ := exec.Command("sh", "-c", "cd $1; grep -r . --include=.gitignore --include=exclude --include=config --include=.gitconfig --include=ignore --include=mine --include=\"other mine\" --include=more --include=per* . | cat -A; ls -la code/*; cd \"$2\"; HOME=$1/home git check-ignore -v -n -- *", "-", base, here).CombinedOutput()
			t.Fatalf("in %s:\ngot  %q %q\nwant %q\n%s", here, got, troubles, want, out)
		}
		link := filepath.Join(base, "link")
		if err := os.Symlink(here, link); err != nil {
			t.Fatal(err)
		}
		for _, root := range []string{here, link + "/", filepath.Join("..", filepath.Base(here))} {
			got, troubles := listAll(t, []string{root}, o)
			for i := range got {
				got[i] = strings.TrimPrefix(strings.TrimPrefix(got[i], root), "/")
			}
			slices.Sort(got)
			if !slices.Equal(got, want) || troubles != nil {
				t.Fatalf("root %s:\ngot  %q %q\nwant %q", root, got, troubles, want)
			}
		}
		// The shell says that the working directory is the link.
		t.Chdir(link)
		t.Setenv("PWD", link)
		if got, troubles = listAll(t, []string{""}, o); troubles != nil || len(got) != len(want) {
			t.Fatalf("in %s:\ngot  %q %q\nwant %q", link, got, troubles, want)
		}
	}
}
