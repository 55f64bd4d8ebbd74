package streaming

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
			found = append(found, lintCommand(c.name, parse.Words(c.Text), shipped)...)
		}
	}
	for _, v := range args.Env {
		if strings.ContainsRune(v, ' ') {
			found = append(found, fmt.Sprintf("-cmdenv %s: Hadoop ends the value at its first blank", v))
		}
	}
	return found
}

// Signs of a shell in a word without quotes. Programs of awk and sed, and options such as -d| of
// cut, have none of them.
var (
	operators = regexp.MustCompile(`^(\|\|?|&&?|;|[0-9&]?(>>?|<).*)$`)
	glued     = regexp.MustCompile(`^[\w./][\w./-]*(\||;|&&)([\w./-]*$)`)
	expanded  = regexp.MustCompile("^([$]([A-Za-z_]|[{(])|`|~/)")
	assigned  = regexp.MustCompile(`^[A-Za-z_]\w*=`)
)

// shellSign returns whether a shell would see more than a word in w.
func shellSign(w parse.Word, first bool) bool {
	if w.Quoted {
		return false
	}
	if operators.MatchString(w.Text) || glued.MatchString(w.Text) || expanded.MatchString(w.Text) || first && assigned.MatchString(w.Text) {
		return true
	}
	if !strings.ContainsAny(w.Text, "*?") {
		return false
	}
	matches, err := filepath.Glob(w.Text)
	return err == nil && len(matches) > 0
}

// lintCommand looks at the words of a command.
func lintCommand(name string, words []parse.Word, shipped map[string]bool) (found []string) {
	if len(words) == 0 {
		return []string{"-" + name + ": the command is empty"}
	}
	program := filepath.Base(words[0].Text)
	shell := program == "sh" || program == "bash" || program == "dash"
	before := ""
	for i, word := range words {
		w, script := word.Text, shell && before == "-c"
		switch {
		case script:
			for _, inner := range strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune(" \t\n|&;<>()\"'`", r) }) {
				found = append(found, lintFile(name, inner, false, shipped)...)
			}
		case shellSign(word, i == 0):
			found = append(found, fmt.Sprintf("-%s: no shell reads the command: %s is passed to %s as a word; write sh -c '…'", name, w, words[0].Text))
		case i == 0 || before == "-f" || i == 1 && interpreter(program) || strings.ContainsAny(w, "./"):
			found = append(found, lintFile(name, w, i == 0, shipped)...)
		}
		before = w
	}
	return found
}

// interpreter reports whether the first argument of a program is usually a program.
func interpreter(program string) bool {
	for _, name := range []string{"python", "perl", "ruby", "node", "sh", "bash", "dash", "php", "Rscript"} {
		if strings.HasPrefix(program, name) {
			return true
		}
	}
	return false
}

// lintFile looks at a word that may be a file.
func lintFile(name, w string, program bool, shipped map[string]bool) []string {
	if strings.HasPrefix(w, "-") { // --file=NAME
		_, w, _ = strings.Cut(w, "=")
	}
	path := filepath.Clean(w)
	for dir := path; dir != "." && dir != "/" && w != ""; dir = filepath.Dir(dir) {
		if shipped[dir] {
			return nil
		}
	}
	info, err := os.Stat(path)
	switch {
	case w == "" || err != nil || info.IsDir():
	case !filepath.IsAbs(path):
		return []string{fmt.Sprintf("-%s: %s is in this directory, but it is not shipped: add -files %s", name, w, w)}
	case program && !systemProgram(path):
		return []string{fmt.Sprintf("-%s: %s must exist on every node; ship it with -files", name, w)}
	}
	return nil
}

// systemProgram reports whether a program is likely to be on every node.
func systemProgram(path string) bool {
	dir := filepath.Dir(path)
	return dir == "/bin" || dir == "/usr/bin"
}
