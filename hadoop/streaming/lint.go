package streaming

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Lint returns one line for each thing in the arguments that will work here and differ on a
// cluster. It checks which files exist, and runs nothing.
func Lint(args *ParsedJob) []string {
	found := append([]string(nil), args.Warnings...)
	shipped := map[string]bool{}
	for _, f := range args.Files {
		shipped[f.Link] = true
	}
	for _, c := range []struct {
		name string
		Command
	}{{"mapper", args.Mapper}, {"combiner", args.Combiner}, {"reducer", args.Reducer}} {
		if c.Given && c.Text != "NONE" && !strings.EqualFold(c.Text, "aggregate") && !isClass(c.Text) {
			found = append(found, lintCommand(c.name, Words(c.Text), shipped)...)
		}
	}
	for _, v := range args.Env {
		if strings.ContainsRune(v, ' ') {
			found = append(found, fmt.Sprintf("-cmdenv %s: Hadoop ends the value at its first blank", v))
		}
	}
	return found
}

// These match words without quotes that mean something to a shell. They do not match common
// programs of awk and sed, or options such as -d| of cut.
var (
	operators = lazy(`^(\|\|?|&&?|;|[0-9&]?(>>?|<).*)$`)    // | && ; 2>errors <in
	glued     = lazy(`^[\w./][\w./-]*(\||;|&&)([\w./-]*$)`) // sort|uniq
	expanded  = lazy("^([$]([A-Za-z_]|[{(])|`|~/)")         // $HOME ${X} $(date) ~/x
	assigned  = lazy(`^[A-Za-z_]\w*=`)                      // LC_ALL=C, as the first word

	interpreter = lazy(`^(python|perl|ruby|node|sh|bash|dash|php|Rscript)`) // its first word is a script
	scripted    = lazy(`^(sed|perl)$|awk$`)                                 // its words may be a script
	ofTheSystem = lazy(`^/(bin|sbin|usr|lib|etc|dev|proc|sys)/`)            // a path that other machines have too
)

// lazy returns a function that compiles expr at its first call, so that no other start of the program does.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// shellSign reports whether w means more than a plain word to a shell. first says that w is the
// first word of its command. script says that w may be a script of sed, awk or perl, which may
// have ; and | inside.
func shellSign(w Word, first, script bool) bool {
	if w.Quoted {
		return false
	}
	if operators().MatchString(w.Text) || !script && glued().MatchString(w.Text) || expanded().MatchString(w.Text) || first && assigned().MatchString(w.Text) {
		return true
	}
	if !strings.ContainsAny(w.Text, "*?") {
		return false
	}
	matches, err := filepath.Glob(w.Text)
	return err == nil && len(matches) > 0
}

// lintCommand returns findings about the words of a command: signs of a shell, and files that
// are not shipped. name is the option, without its hyphen. shipped has the names in the working
// directory. In a script after sh -c it looks only for files, because that shell reads the rest.
func lintCommand(name string, words []Word, shipped map[string]bool) (found []string) {
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
		case shellSign(word, i == 0, i > 0 && scripted().MatchString(program)):
			use := "passed to " + words[0].Text + " as a word"
			if i == 0 {
				use = "taken for the program"
			}
			found = append(found, fmt.Sprintf("-%s: no shell reads the command: %s is %s; write sh -c '…'", name, w, use))
		case i == 0 || before == "-f" || i == 1 && interpreter().MatchString(program) || strings.ContainsAny(w, "./"):
			found = append(found, lintFile(name, w, shipped)...)
		}
		before = w
	}
	return found
}

// lintFile returns a finding if the word w is a file here that a node may lack. name and shipped
// are those of lintCommand.
func lintFile(name, w string, shipped map[string]bool) []string {
	if strings.HasPrefix(w, "-") { // --file=NAME
		_, w, _ = strings.Cut(w, "=")
	}
	path := filepath.Clean(w)
	// A file is shipped too if a directory above it is.
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
	case !ofTheSystem().MatchString(path):
		return []string{fmt.Sprintf("-%s: %s must exist on every node; ship it with -files", name, w)}
	}
	return nil
}
