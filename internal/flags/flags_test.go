package flags_test

import (
	"context"
	"strings"
	"testing"

	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
)

// ran is what a line has set, as the command saw it.
type ran struct{ line string }

// program returns a small mrlocal, which has a flag of each form.
func program(r *ran) *flags.Program {
	help := strings.Builder{}
	command := func(tool bool, own ...setting.Setting) func() *flags.Command {
		return func() *flags.Command {
			text := func(name, letter string) setting.Setting {
				return setting.Of(name, "", "help of `VALUE`", "", setting.Func(func(string) error { return nil })).Letter(letter)
			}
			c := &flags.Command{Usage: "work", Tool: tool, Settings: append([]setting.Setting{text("input", ""), text("sched", ""), text("memory", ""), text("output", ""), setting.Of("all", "", "all", "", setting.Toggle(new(bool)))}, own...)}
			c.Settings[2].Whole = true
			c.Run = func(_ context.Context, l *flags.Line) (int, error) {
				words := l.Path
				for _, g := range l.Given {
					word := "--" + g.Name
					if !setting.Named(c.Settings, g.Name).Toggle() {
						word += "=" + g.Text
					}
					words = append(words, word)
				}
				r.line = strings.Join(append(append(words, "--"), l.Words...), " ")
				return 0, nil
			}
			return c
		}
	}
	value := func(name, letter string, literal bool) setting.Setting {
		s := setting.Of(name, "", "help of `VALUE`", "", setting.Func(func(string) error { return nil })).Letter(letter)
		s.Literal = literal
		return s
	}
	on := func(name, letter string) setting.Setting {
		return setting.Of(name, "", "help", "", setting.Toggle(new(bool))).Letter(letter)
	}
	return &flags.Program{Name: "mrlocal", Version: "mrlocal 1", Width: func() int { return 80 }, Write: func(p []byte) error { help.Write(p); r.line = help.String(); return nil }, Commands: []flags.Entry{
		{Name: "run", Make: func() *flags.Command {
			return &flags.Command{Args: "JOB [FLAGS]", Sub: []flags.Entry{
				{Name: "wordcount", Make: command(false, value("output-file", "o", false), value("top", "", false))},
				{Name: "sort", Make: command(false, value("output-file", "o", false), value("key", "k", false), value("field-separator", "t", false), on("numeric-sort", "n"), on("reverse", "r"))},
				{Name: "grep", Make: command(false, value("output-file", "", false), on("only-matching", "o"), value("regexp", "e", true), on("line-number", "n"), on("ignore-case", "i"), value("max-count", "m", false))},
			}}
		}},
		{Name: "gen", Make: command(false, value("size", "", false))},
		{Name: "tool", Make: func() *flags.Command {
			c := command(true, on("human", "h"), value("key", "k", false), on("merge", "m"), on("month", "M"))()
			c.OldWords = func(args []string) (string, int, error) {
				switch {
				case args[0] == "+x":
					return "", 0, errs.Optionf("x", "no key")
				case strings.HasPrefix(args[0], "+") && len(args) > 1 && args[1] == "-1":
					return "--key=" + args[0][1:] + ",1", 2, nil
				case strings.HasPrefix(args[0], "+"):
					return "--key=" + args[0][1:], 1, nil
				}
				return "", 0, nil
			}
			c.OldLetters = func(letters string) (string, int) {
				if digits := len(letters) - len(strings.TrimLeft(letters, "0123456789")); digits > 0 {
					return "--key=" + letters[:digits], digits
				}
				return "", 0
			}
			return c
		}},
	}}
}

func TestCommandLinesAreReadAsGNUReadsThem(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"flags after positional words":             {"run sort a.txt --sched fair b.txt", "run sort --sched=fair -- a.txt b.txt"},
		"a bundle of short flags":                  {"run sort -rn a", "run sort --reverse --numeric-sort -- a"},
		"a bundle that ends in a value":            {"run sort -rk2,3n a", "run sort --reverse --key=2,3n -- a"},
		"a bundle whose value is the next word":    {"run sort -rk 2 a", "run sort --reverse --key=2 -- a"},
		"old words and letters":                    {"tool +2 -1 a +3 -h12m -k +4 -- +5", "tool --key=2,1 --key=3 --human --key=12 --merge --key=+4 -- a +5"},
		"attached values":                          {"run sort -k2,3n -t: -k1", "run sort --key=2,3n --field-separator=: --key=1 --"},
		"an attached value keeps its equals sign":  {"run sort -t= a", "run sort --field-separator== -- a"},
		"-o is a file for sort":                    {"run sort -o out a", "run sort --output-file=out -- a"},
		"-o attached":                              {"run wordcount -oout a", "run wordcount --output-file=out -- a"},
		"-o is only-matching for grep":             {"run grep -o a", "run grep --only-matching -- a"},
		"-e takes a word that looks like a flag":   {"run grep -e --sched a", "run grep --regexp=--sched -- a"},
		"-e takes --":                              {"run grep -e -- a", "run grep --regexp=-- -- a"},
		"-e attached":                              {"run grep -efoo -m5 a", "run grep --regexp=foo --max-count=5 -- a"},
		"-e at the end of a bundle":                {"run grep -ie foo a", "run grep --ignore-case --regexp=foo -- a"},
		"-- ends flags":                            {"run grep -e x -- -n --sched", "run grep --regexp=x -- -n --sched"},
		"- alone is a word":                        {"run sort - -r", "run sort --reverse -- -"},
		"a value may start with a dash":            {"run sort --input -odd -k -1", "run sort --input=-odd --key=-1 --"},
		"an equals sign in a value":                {"run sort --input=a=b", "run sort --input=a=b --"},
		"an empty value":                           {"run sort --input= x", "run sort --input= -- x"},
		"a flag twice":                             {"run sort --sched fair --sched fifo", "run sort --sched=fair --sched=fifo --"},
		"a command of one word":                    {"gen words --size 1M w", "gen --size=1M -- words w"},
		"a word of another command is only a word": {"run sort gen", "run sort -- gen"},
		"a word of the library is only a word":     {"run sort help h", "run sort -- help h"},
		"the version anywhere":                     {"run sort --version", "mrlocal 1\n"},
		"letters of a tool":                        {"tool -hk2 -k 1n f", "tool --human --key=2 --key=1n -- f"},
		"a beginning in a tool":                    {"tool --me", "tool --merge --"},
		"a value in a tool may look like a flag":   {"tool --k=1 --key --merge", "tool --key=1 --key=--merge --"},
		"a value in a tool may be --":              {"tool -k -- f", "tool --key=-- -- f"},
		"a flag that must be whole":                {"tool --memory 1G - -- -h", "tool --memory=1G -- - -h"},
	} {
		var r ran
		if _, _, err := program(&r).Run(context.Background(), strings.Fields(c.in)); err != nil || r.line != c.want {
			t.Errorf("%s: %s\n got  %s (%v)\n want %s", name, c.in, r.line, err, c.want)
		}
	}
	for _, in := range []string{"run sort --bogus --help", "run sort --sched --help", "help run sort", "tool -x --help", "tool --hel", "run --help", "--help", "run -h"} {
		var r ran
		if _, _, err := program(&r).Run(context.Background(), strings.Fields(in)); err != nil || !strings.Contains(r.line, "USAGE") {
			t.Errorf("%s: %s (%v) instead of help", in, r.line, err)
		}
	}
}

func TestMistakesAreNamedWithTheNearestName(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"unknown long flag":               {"run sort --shed fair a", "--shed: no such flag; did you mean --sched?"},
		"unknown long flag with a value":  {"run sort --memry=1G a", "--memry: no such flag; did you mean --memory?"},
		"a beginning of a flag":           {"run sort --rev a", "--rev: no such flag; did you mean --reverse?"},
		"a flag of other commands":        {"run sort --size 1 a", "--size: no such flag here; it belongs to mrlocal gen"},
		"a flag of other jobs":            {"gen --top 1 a", "--top: no such flag here; it belongs to mrlocal run JOB"},
		"nothing near":                    {"run sort --xyzzy", "--xyzzy: no such flag; --help lists them"},
		"a flag before the job":           {"run --sched fair sort a", "--sched: flags stand after the name of the job"},
		"a flag before the command":       {"--sched fair run sort a", "--sched: flags stand after the name of the command; mrlocal --help lists the commands"},
		"unknown short flag":              {"run sort -q a", "-q: no such flag; --help lists them; a file of that name is given after --"},
		"unknown short flag in a bundle":  {"run sort -rqn a", "-q: no such flag (in -rqn); --help lists them; a file of that name is given after --"},
		"a long flag with one dash":       {"run sort -input a", "-input: no such flag; did you mean --input?"},
		"a value that is not there":       {"run sort --sched", "--sched: needs a value"},
		"a short value that is not there": {"run sort -rk", "-k: needs a value"},
		"a flag where a value should be":  {"run sort --input --sched fair", "--input: needs a value, but the flag --sched follows; if that is the value, write --input=--sched"},
		"a value for a flag without one":  {"run sort --reverse=yes", "--reverse: takes no value"},
		"true for a flag without one":     {"run sort --reverse=true", "--reverse: true: no such value"},
		"an old word with a mistake":      {"tool +x", "x: no key"},
		"a letter that is not old":        {"tool -7z", "-z: no such flag (in -7z)"},
		"unknown command":                 {"ran sort", "ran: no such command; did you mean run?"},
		"a job where a command should be": {"sort a", "sort: no such command; did you mean run sort?"},
		"no command":                      {"", "name a command: mrlocal --help lists them"},
		"no job":                          {"run", "no job named; one of wordcount, sort, grep"},
		"unknown job":                     {"run wordcout a", "wordcout: no such job; did you mean wordcount?"},
		"a job like nothing":              {"run frobnicate a", "frobnicate: no such job; --help lists them"},
		"-h below a job":                  {"run sort -h", "-h: this job has no such flag; help is --help"},
		"two beginnings in a tool":        {"tool --m", "--m: can be --merge or --month"},
		"a flag of three dashes":          {"run sort ---all", "---all: no such flag"},
		"an overlong flag":                {"run sort --" + strings.Repeat("x", 100_000), "--"},
		"a flag with a control character": {"run sort --a\u0001b", `--a\x01b: no such flag`},
	} {
		var r ran
		_, _, err := program(&r).Run(context.Background(), strings.Fields(c.in))
		if err == nil || !errs.IsUsage(err) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %.80s\n got  %.200v\n want %s", name, c.in, err, c.want)
		}
	}
}

// No line makes the parser panic, and what it reads are the words of the line.
func FuzzALine(f *testing.F) {
	f.Add("run sort -rk2 --input=a --\x00-")
	f.Add("tool --m -hk --")
	f.Fuzz(func(t *testing.T, text string) {
		var r ran
		_, _, err := program(&r).Run(context.Background(), strings.Split(text, " "))
		if err != nil && !errs.IsUsage(err) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
