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
func Lint(args *parse.ParsedJob) []string {
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

// shellSign returns whether a shell would see more than a word in w. A script of sed, awk or perl may have ; and | inside.
func shellSign(w parse.Word, first, script bool) bool {
	if w.Quoted {
		return false
	}
	if operators.MatchString(w.Text) || !script && glued.MatchString(w.Text) || expanded.MatchString(w.Text) || first && assigned.MatchString(w.Text) {
		return true
	}
	if !strings.ContainsAny(w.Text, "*?") {
		return false
	}
	matches, err := filepath.Glob(w.Text)
	return err == nil && len(matches) > 0
}

// lintCommand looks at the words of a command for signs of a shell, and for files that are not
// shipped. shipped has the names in the working directory. A script after sh -c is searched for
// files alone, because its shell reads the rest.
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
				found = append(found, lintFile(name, inner, shipped)...)
			}
		case shellSign(word, i == 0, i > 0 && scripted(program)):
			use := "passed to " + words[0].Text + " as a word"
			if i == 0 {
				use = "taken for the program"
			}
			found = append(found, fmt.Sprintf("-%s: no shell reads the command: %s is %s; write sh -c '…'", name, w, use))
		case i == 0 || before == "-f" || i == 1 && interpreter(program) || strings.ContainsAny(w, "./"):
			found = append(found, lintFile(name, w, shipped)...)
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

// scripted reports whether a word of a program is usually a script in a language of its own.
func scripted(program string) bool {
	return program == "sed" || program == "perl" || strings.HasSuffix(program, "awk")
}

// lintFile looks at a word that may be a file here and may be missing on a node.
func lintFile(name, w string, shipped map[string]bool) []string {
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
	case !ofTheSystem(path):
		return []string{fmt.Sprintf("-%s: %s must exist on every node; ship it with -files", name, w)}
	}
	return nil
}

// ofTheSystem reports whether a file is likely to be on every node.
func ofTheSystem(path string) bool {
	for _, dir := range []string{"/bin/", "/sbin/", "/usr/", "/lib/", "/etc/", "/dev/", "/proc/", "/sys/"} {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}
