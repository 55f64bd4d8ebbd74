package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"mrlocal"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/slots/policy/registry"
)

// makePolicies returns mrlocal policies, which lists the policies in the order of the registry: simplest
// first.
func makePolicies(e Env) *flags.Command {
	return &flags.Command{Usage: "list the slot policies, each with one line and its paper",
		Run: func(_ context.Context, line *flags.Line) (int, error) {
			if err := line.NoWords(); err != nil {
				return 0, err
			}
			var text bytes.Buffer
			for _, p := range registry.All() {
				fmt.Fprintf(&text, "%s\t%s\n\t%s\n", p.Name, p.Line, p.Paper)
			}
			return Done, e.Print(text.Bytes())
		}}
}

// makeVersion returns mrlocal version, which prints the same line as --version.
func makeVersion(e Env) *flags.Command {
	licences := false
	return &flags.Command{Usage: "print the version", Settings: []setting.Setting{
		setting.Of("licenses", "", "print the licences of the modules and files in this program that others wrote", "", setting.Toggle(&licences)),
	}, Run: func(_ context.Context, line *flags.Line) (int, error) {
		switch err := line.NoWords(); {
		case err != nil:
			return 0, err
		case licences:
			return Done, e.Write([]byte(thirdParty))
		}
		return Done, e.Write([]byte(versionText() + "\n"))
	}}
}

// makeCompletion returns mrlocal completion, which prints a script for a shell.
func makeCompletion(e Env) *flags.Command {
	return &flags.Command{Usage: "print a script that completes command lines in a shell", Args: "bash|zsh|fish",
		Long:     "The script completes commands, flags, policies, other choices, and files.",
		Examples: []string{"source <(mrlocal completion bash)", "mrlocal completion zsh > ~/.zfunc/_mrlocal", "mrlocal completion fish > ~/.config/fish/completions/mrlocal.fish"},
		Run: func(_ context.Context, line *flags.Line) (int, error) {
			script, err := program(e).Script(strings.Join(line.Words, " "))
			if err != nil {
				return 0, err
			}
			return Done, e.Write([]byte(script))
		}}
}

// makeMan returns mrlocal man, which prints a manual page, or writes all of them.
func makeMan(e Env) *flags.Command {
	return &flags.Command{Usage: "print a manual page, or write all of them", Args: "[COMMAND… | DIR]",
		Long:     "Without words the page of mrlocal goes to standard output, and with the names of a command the page of this command. With DIR, which has a slash, or is there and is no command, the pages mrlocal.1, mrlocal-run-sort.1 and so on are written there; a missing DIR is created.",
		Examples: []string{"mrlocal man | man -l -", "mrlocal man ~/.local/share/man/man1"},
		Run: func(_ context.Context, line *flags.Line) (int, error) {
			p := program(e)
			page, err := p.Page(line.Words)
			if w := line.Words; err != nil && len(w) == 1 { // a command wins over a directory of its name
				if info, missing := os.Stat(w[0]); strings.ContainsRune(w[0], filepath.Separator) || missing == nil && info.IsDir() {
					return Done, p.WritePages(w[0])
				}
			}
			if err != nil {
				return 0, err
			}
			return Done, e.Write([]byte(page))
		}}
}

// versionText returns the line of mrlocal version: version, commit with its date, Go release and platform.
func versionText() string {
	info, _ := debug.ReadBuildInfo()
	return fmt.Sprintf("mrlocal %s %s %s %s/%s", mrlocal.Version, commitOf(info, archived), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// archived has a commit and its day where git archive made the tree (.gitattributes). In a clone it has the pattern.
//
//go:embed archived.txt
var archived string

// commitOf returns the commit of a build and its day, such as "58a8cd115a3f of 2026-11-29". go build knows them only in
// a clone of the repository, and not with -buildvcs=false or in a worktree of git.
func commitOf(info *debug.BuildInfo, archived string) string {
	known := map[string]string{}
	if info != nil {
		for _, s := range info.Settings {
			known[s.Key] = s.Value
		}
	}
	revision, day := known["vcs.revision"], known["vcs.time"]
	if revision == "" || day == "" {
		if !strings.HasPrefix(archived, "$") {
			return strings.TrimSpace(archived)
		}
		return "(built without the commit, see go help buildvcs)"
	}
	// Twelve digits are enough to identify a commit.
	text := fmt.Sprintf("%s of %s", revision[:min(12, len(revision))], day[:min(10, len(day))])
	if known["vcs.modified"] == "true" {
		text += " with changes"
	}
	return text
}

// thirdParty has the file THIRD_PARTY: the licence notices of code from others. This code is the linked
// Go modules, the standard library, and files of the page. A test compares the file with the linked
// modules and with the files below view/web/assets. To write it again:
//
//	go test ./cmd/mrlocal -run Notice -rewrite
//
//go:embed THIRD_PARTY
var thirdParty string

// Program returns the words by which the user calls this program in a shell. arg0 is os.Args[0],
// or "" if it is not known. For a program that "go run" has built, it returns that command.
func Program(arg0 string) string {
	if strings.Contains(arg0, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/mrlocal"
	}
	return cmp.Or(arg0, "mrlocal")
}
