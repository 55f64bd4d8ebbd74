package streaming

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mrlocal/streaming/parse"
)

// Lint returns what will differ on a cluster, as far as the arguments tell, a line for
// each finding. It looks at files and runs nothing.
func Lint(args *parse.Job) []string {
	found := append([]string(nil), args.Warnings...)
	shipped := map[string]bool{}
	for _, f := range args.Files {
		shipped[f.Link] = true
	}
	for _, c := range []struct {
		name string
		parse.Command
	}{{"mapper", args.Mapper}, {"combiner", args.Combiner}, {"reducer", args.Reducer}} {
		if c.Given && c.Text != "NONE" && !strings.EqualFold(c.Text, "aggregate") && !isClass(c.Text) {
			found = append(found, lintCommand(c.name, parse.Split(c.Text), shipped)...)
		}
	}
	for _, v := range args.Env {
		if strings.ContainsRune(v, ' ') {
			found = append(found, fmt.Sprintf("-cmdenv %s: Hadoop ends the value at its first blank", v))
		}
	}
	return found
}

// lintCommand looks at the words of a command.
func lintCommand(name string, words []string, shipped map[string]bool) (found []string) {
	if len(words) == 0 {
		return []string{"-" + name + ": the command is empty"}
	}
	shell := filepath.Base(words[0]) == "sh" || filepath.Base(words[0]) == "bash"
	for i, w := range words {
		if !shell && (w == "|" || w == ">" || w == "<" || w == ">>" || w == "&&" || w == "||" || w == ";" || w == "&" || strings.HasPrefix(w, "$")) {
			found = append(found, fmt.Sprintf("-%s: no shell reads the command: %s is passed to %s as a word; write sh -c '…'", name, w, words[0]))
			continue
		}
		path := filepath.Clean(w)
		if shipped[path] || i > 0 && strings.HasPrefix(w, "-") {
			continue
		}
		info, err := os.Stat(path)
		switch {
		case err != nil || info.IsDir():
		case !filepath.IsAbs(path):
			found = append(found, fmt.Sprintf("-%s: %s is in this directory, but it is not shipped: add -files %s", name, w, w))
		case i == 0 && !systemProgram(path):
			found = append(found, fmt.Sprintf("-%s: %s must exist on every node; ship it with -files", name, w))
		}
	}
	return found
}

// systemProgram reports whether a program is likely to be on every node.
func systemProgram(path string) bool {
	dir := filepath.Dir(path)
	return dir == "/bin" || dir == "/usr/bin"
}
