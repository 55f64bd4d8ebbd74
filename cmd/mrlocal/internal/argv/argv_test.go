package argv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
)

// commands returns the commands of a small mrlocal, which has a flag of each form.
func commands() []Command {
	common := []Flag{
		{Name: "input", Value: true, Repeat: true}, {Name: "sched", Value: true}, {Name: "memory", Value: true},
		{Name: "output", Value: true}, {Name: "all"},
	}
	with := func(flags ...Flag) []Flag { return append(append([]Flag(nil), common...), flags...) }
	return []Command{
		{Path: []string{"run", "wordcount"}, Flags: with(Flag{Name: "output-file", Short: "o", Value: true}, Flag{Name: "top", Value: true})},
		{Path: []string{"run", "sort"}, Flags: with(
			Flag{Name: "output-file", Short: "o", Value: true},
			Flag{Name: "key", Short: "k", Value: true, Repeat: true}, Flag{Name: "field-separator", Short: "t", Value: true},
			Flag{Name: "numeric-sort", Short: "n"}, Flag{Name: "reverse", Short: "r"})},
		{Path: []string{"run", "grep"}, Flags: with(
			Flag{Name: "output-file", Value: true}, Flag{Name: "only-matching", Short: "o"},
			Flag{Name: "regexp", Short: "e", Value: true, Any: true, Repeat: true},
			Flag{Name: "line-number", Short: "n"}, Flag{Name: "ignore-case", Short: "i"}, Flag{Name: "max-count", Short: "m", Value: true})},
		{Path: []string{"gen"}, Flags: []Flag{{Name: "size", Value: true}, {Name: "seed", Value: true}}},
		{Path: []string{"policies"}},
	}
}

func TestCommandLinesAreReadAsGNUReadsThem(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"flags after positional words":             {"run sort a.txt --sched fair b.txt", "run sort --sched=fair -- a.txt b.txt"},
		"flags before the command":                 {"--sched fair run sort a", "run sort --sched=fair -- a"},
		"flags between run and the job":            {"run --input wiki grep -n", "run grep --input=wiki --line-number --"},
		"a bundle of short flags":                  {"run sort -rn a", "run sort --reverse --numeric-sort -- a"},
		"a bundle that ends in a value":            {"run sort -rk2,3n a", "run sort --reverse --key=2,3n -- a"},
		"a bundle whose value is the next word":    {"run sort -rk 2 a", "run sort --reverse --key=2 -- a"},
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
		"the same value twice":                     {"run sort --sched fair --sched fair", "run sort --sched=fair --sched=fair --"},
		"a repeatable flag":                        {"run sort --input a --input a", "run sort --input=a --input=a --"},
		"a command of one word":                    {"gen words --size 1M w", "gen --size=1M -- words w"},
		"-- before everything":                     {"-- policies", "policies --"},
		"help wins over mistakes":                  {"run sort --bogus --help", "run sort --help"},
		"a word of another command is only a word": {"run sort gen", "run sort -- gen"},
	} {
		line, err := Parse(strings.Fields(c.in), commands())
		if got := strings.Join(plain(line), " "); err != nil || got != c.want {
			t.Errorf("%s: %s\n got  %s (%v)\n want %s", name, c.in, got, err, c.want)
		}
	}
}

func TestMistakesAreNamedWithTheNearestName(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"unknown long flag":               {"run sort --shed fair a", "run sort: --shed: no such flag; did you mean --sched?"},
		"unknown long flag with a value":  {"run sort --memry=1G a", "run sort: --memry: no such flag; did you mean --memory?"},
		"a beginning of a flag":           {"run sort --rev a", "run sort: --rev: no such flag; did you mean --reverse?"},
		"a flag of simulated runs":        {"run sort --alone a", "run sort: --alone: only for simulated runs; mrlocal sim and sweep have it"},
		"nothing near":                    {"run sort --xyzzy", "run sort: --xyzzy: no such flag; --help lists them"},
		"an unknown flag before the job":  {"run --shed fair sort a", "run: --shed: no such flag; did you mean --sched?"},
		"unknown short flag":              {"run sort -q a", "run sort: -q: no such flag; --help lists them; a file of that name is given after --"},
		"unknown short flag in a bundle":  {"run sort -rqn a", "run sort: -q: no such flag (in -rqn); --help lists them; a file of that name is given after --"},
		"a long flag with one dash":       {"run sort -input a", "run sort: -input: no such flag; did you mean --input?"},
		"a value that is not there":       {"run sort --sched", "run sort: --sched: needs a value"},
		"a short value that is not there": {"run sort -rk", "run sort: -k: needs a value"},
		"a flag where a value should be":  {"run sort --input --sched fair", "run sort: --input: needs a value, but the flag --sched follows; if that is the value, write --input=--sched"},
		"a value for a flag without one":  {"run sort --reverse=yes", "run sort: --reverse: takes no value"},
		"two different values":            {"run sort --sched fair --sched fifo", "run sort: --sched: given twice, with fair and with fifo"},
		"unknown command":                 {"ran sort", "ran: no such command; did you mean run?"},
		"a job where a command should be": {"sort a", "sort: no such command; did you mean run sort?"},
		"no command":                      {"", "no command named; one of run, gen, policies"},
		"no job":                          {"run", "run: no job named; one of wordcount, sort, grep"},
		"unknown job":                     {"run wordcout a", "run: wordcout: no such job; did you mean wordcount?"},
		"a job like nothing":              {"run frobnicate a", "run: frobnicate: no such job; one of wordcount, sort, grep"},
		"a letter of two meanings":        {"run -o grep sort", "run -o grep sort: can be read as run sort and as run grep; put the command's name first"},
		"a letter of two meanings, again": {"run -o x grep", "run grep: name the command before its flags"},
		"an overlong flag":                {"run sort --" + strings.Repeat("x", 100_000), "run sort: --"},
		"a flag with a control character": {"run sort --a\u0001b", `run sort: --a\x01b: no such flag`},
	} {
		_, err := Parse(strings.Fields(c.in), commands())
		if err == nil || !errs.IsUsage(err) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %.80s\n got  %.200v\n want %s", name, c.in, err, c.want)
		}
	}
}

func TestAnErrorIsOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		what string
		err  error
		want string
	}{
		"plain":                   {"run sort", errs.Optionf("a.txt", "no such file"), "mrlocal: run sort: a.txt: no such file\n"},
		"no what":                 {"", errors.New("x"), "mrlocal: x\n"},
		"a newline in a name":     {"run", &fs.PathError{Op: "open", Path: "a\nb", Err: os.ErrNotExist}, "mrlocal: run: open a\\nb: file does not exist\n"},
		"a byte that is not text": {"", errors.New("a\xffb"), "mrlocal: a\\xffb\n"},
		"an escape sequence":      {"", errors.New("\x1b[31m"), "mrlocal: \\x1b[31m\n"},
		"joined errors":           {"", errors.Join(errors.New("a"), errors.New("b")), "mrlocal: a; b\n"},
		"flags for options":       {"", errors.New("give Options.HDFS.Web, Options.Memory.Next or Options.MemoryBytes."), "mrlocal: give --webhdfs, Memory.Next or --memory.\n"},
		"umlauts stay":            {"", errors.New("größe"), "mrlocal: größe\n"},
	} {
		if got := ErrorLine(c.what, c.err); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	long := ErrorLine("x", errors.New(strings.Repeat("ü", 1<<20)))
	if len(long) > mostLineBytes+100 || strings.Count(long, "\n") != 1 {
		t.Errorf("a long message became %d bytes", len(long))
	}
}

func TestSizesAreReadExactly(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "10B": 10, "1K": 1 << 10, "1k": 1 << 10, "1KiB": 1 << 10, "1KB": 1000, "64MiB": 64 << 20, "64mib": 64 << 20,
		"100MB": 100_000_000, "1G": 1 << 30, "2T": 2 << 40, "1.5G": 3 << 29, "1.25M": 1310720, ".5K": 512, "0.1MB": 100_000,
		"64 MiB": 64 << 20, "1Mi": 1 << 20, "7E": 7 << 60, "9223372036854775807": 1<<63 - 1, "1.999999999999999999K": 2047,
	} {
		if got, err := Size("memory", text, 0); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
		if back, err := Size("memory", ppm.FormatBytes(want), 0); err != nil || back != want {
			t.Errorf("%d is written %s, read as %d, %v", want, ppm.FormatBytes(want), back, err)
		}
	}
	for text, want := range map[string]string{
		"": "empty", "-1": "not a size", "NaN": "not a size", "1e99": "not a size", "inf": "not a size", "64XB": "not a size", "MiB": "not a size",
		"1.": "not a number", ".": "not a number", "1..5M": "not a number", "8E": "too large", "99999999999999999999": "too large",
		"9999999999T": "too large", "0x10": "not a size", "1 2": "not a size", "+1": "not a size", strings.Repeat("9", 5000): "too large", "5": "too small; at least 1KiB",
	} {
		checkBad(t, text, want, func() error { _, err := Size("memory", text, 1024); return err })
	}
}

func TestSharesAreReadAsPartsPerMillion(t *testing.T) {
	for text, want := range map[string]ppm.Share{"0": 0, "1": 1_000_000, "1.0": 1_000_000, ".5": 500_000, "0.5": 500_000, "0.000001": 1, "0.250000000": 250_000, "00.5": 500_000} {
		if got, err := Share("borrow-map", text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "empty", "-1": "not a share", "NaN": "not a share", "1e99": "not a share", "1e-1": "not a share", "1.5": "more than 1", "2": "more than 1",
		"1.0000001": "too fine", "0.1234567": "too fine", ".": "not a share", "50%": "not a share", "1.2.3": "not a share", strings.Repeat("9", 5000): "more than 1",
	} {
		checkBad(t, text, want, func() error { _, err := Share("borrow-map", text); return err })
	}
}

func TestCountsTimesAndChoices(t *testing.T) {
	if n, err := Count("reducers", "17", 0, 100); n != 17 || err != nil {
		t.Errorf("17: %d, %v", n, err)
	}
	for text, want := range map[string]string{
		"": "empty", "-1": "too small; at least 1", "0": "too small", "NaN": "not a whole", "1e99": "not a whole", "1.5": "not a whole", "-": "not a whole",
		"101": "too large; at most 100", "99999999999999999999": "too large", "-99999999999999999999": "too small", strings.Repeat("1", 5000): "too large", "+5": "not a whole",
	} {
		checkBad(t, text, want, func() error { _, err := Count("map-slots", text, 1, 100); return err })
	}
	if d, err := Time("task-timeout", "250ms"); d.Milliseconds() != 250 || err != nil {
		t.Errorf("250ms: %v, %v", d, err)
	}
	for text, want := range map[string]string{
		"": "empty", "20": "no unit", "-1s": "must be more than 0s", "0s": "must be more", "NaN": "not a time", "1e99": "not a time", "1e99s": "not a time",
		"99999999999h": "too long", "abc": "not a time",
	} {
		checkBad(t, text, want, func() error { _, err := Time("task-timeout", text); return err })
	}
	checkBad(t, "zst", "did you mean zstd?", func() error { _, err := Choice("compress", "zst", "none", "s2", "zstd", "auto"); return err })
	checkBad(t, "", "empty", func() error { _, err := Choice("compress", "", "none", "s2"); return err })
	checkBad(t, "", "empty", func() error { _, err := NonEmpty("tmp", ""); return err })
	checkBad(t, "-1", "not a whole", func() error { _, err := Seed("seed", "-1"); return err })
}

func checkBad(t *testing.T, text, want string, read func() error) {
	t.Helper()
	err := read()
	if err == nil || !errs.IsUsage(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("%.40q: %v, want %q", text, err, want)
		return
	}
	if len(err.Error()) > 300 {
		t.Errorf("%.40q: a message of %d bytes", text, len(err.Error()))
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"run sort -rk2,3n a", "run grep -e -- x", "run -o grep sort", "run -o  grep", "run -o sort grep", "--", "-", "run sort --input"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, " ")
		line, err := Parse(args, commands())
		if err != nil {
			if !errs.IsUsage(err) {
				t.Fatalf("%q: %v is not a usage error", args, err)
			}
			return
		}
		if line.Help {
			return
		}
		again, err := Parse(plain(line), commands())
		if err != nil || fmt.Sprintf("%q", plain(again)) != fmt.Sprintf("%q", plain(line)) {
			t.Fatalf("%q became %q, which is read as %q (%v)", args, plain(line), plain(again), err)
		}
	})
}

// plain formats a line in one form: path, --name or --name=value, "--", words.
func plain(l Line) []string {
	args := append([]string(nil), l.Path...)
	if l.Help {
		return append(args, "--help")
	}
	for _, s := range l.Flags {
		if s.Flag.Value {
			args = append(args, "--"+s.Flag.Name+"="+s.Value)
		} else {
			args = append(args, "--"+s.Flag.Name)
		}
	}
	return append(append(args, "--"), l.Words...)
}

func TestToolsAreReadAsGNUToolsAre(t *testing.T) {
	flags := []Flag{{Name: "human", Short: "h"}, {Name: "key", Short: "k", Value: true}, {Name: "merge", Short: "m"}, {Name: "memory", Value: true, Whole: true}, {Name: "month", Short: "M"}}
	for _, c := range []struct{ args, want string }{
		{"-h", "human=;"}, {"-hk2 -k 1n f", "human=;key=2;key=1n;f"}, {"--me", "merge=;"}, {"--k=1 --key --merge", "key=1;key=--merge;"}, {"-k -- f", "key=--;f"},
		{"--memory 1G - -- -h", "memory=1G;- -h"}, {"--m", "error"}, {"--mem 1", "error"}, {"-x", "error"}, {"--key", "error"}, {"--human=x", "error"},
	} {
		line, err := ParseTool("tool", strings.Fields(c.args), flags)
		got := ""
		for _, s := range line.Flags {
			got += s.Flag.Name + "=" + s.Value + ";"
		}
		if got += strings.Join(line.Words, " "); err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s: %s (%v), want %s", c.args, got, err, c.want)
		}
	}
	if line, err := ParseTool("tool", []string{"-x", "--help"}, flags); err != nil || !line.Help {
		t.Errorf("--help: %v, %v", line, err)
	}
}
