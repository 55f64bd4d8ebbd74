package find

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	_ "pgregory.net/rapid" // its flags
)

// gitWith runs git in a directory, with no settings of the machine, and returns its standard output. It
// skips the test if there is no git.
func gitWith(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		t.Skipf("no git to compare with: %v", err)
	}
	c := exec.Command(path, args...)
	c.Dir, c.Stdin = dir, strings.NewReader(stdin)
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir, "XDG_CONFIG_HOME=", "LC_ALL=C")
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		t.Fatalf("git %q: %v %s", args, err, exit.Stderr)
	}
	return string(out)
}

// rulePaths are the paths that the rules of TestRulesAreGits are asked about. A path with a slash at the
// end is a directory.
func rulePaths() []string {
	return strings.Split("b ab a.c abc foo/ foo/bar foo/x/bar foobar foox/y/bar a/ a/b/ a/b/c a/x/b/c a/b.c [ ] [a ! !a #x \\ \\a a\\ * a* ? - ^ é \xe9 a{ a{b,c} "+
		"{} *.c **/a A a- a-b \x01 \v \f \x7f ~ : | dir/sub/ dir/sub/f dir/foo/bar c x x.py src/x.py src/lib/x.py a, aé éa 0 9 _ Z z + a+ %", " ")
}

// draw returns an element of all.
func draw[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// randomRules returns the text of an ignore file.
func randomRules(r *rand.Rand) string {
	words := []string{"a", "b", "c", "foo", "bar", "x", "dir", "sub", "py", "*", "*", "**", "***", "?", "/", "/", "/", ".", "[ab]", "[!a]", "[^a]", "[a-c]", "[]a]", "[]]", "[!]]", "[a", "[]", "[a[]", "[[]",
		"[[:alpha:]]", "[[:alpha:]", "[[:punct:]]", "[[:space:]x]", "[[:cntrl:]]", "[[:foo:]]", "[![:upper:]]", "[[:digit:][:lower:]]", "[[:xdigit:]]", "[[:graph:]]", "[[:blank:]]", "[[:print:]]", "[[:alnum:]-]",
		"[z-a]", "[a-]", "[-a]", "[a-c-e]", "[\\]]", "[\\a]", "[a\\-z]", "[\\\\]", "[--a]", "[a/b]", "[[:", "[:alpha:]", "[[:]", "[[::]]", "[*?]", "\\", "\\*", "\\a", "\\\\", "\\[", "\\/", "{", "}", ",", "{a,b}",
		"!", "#", " ", "\\ ", "\t", "\r", "é", "\xe9", "\xc3", "-", "^", "]", "[", "+", "0", "**/", "/**", "/**/", "**a"}
	var b strings.Builder
	b.WriteString(draw(r, []string{"", "", "", "", "", "", "\ufeff"}))
	for range 1 + r.IntN(2) {
		b.WriteString(draw(r, []string{"", "", "", "", "", "!", "/", "**/", "\\!", "\\#", "#", " "}))
		for range 1 + r.IntN(4) {
			b.WriteString(draw(r, words))
		}
		b.WriteString(draw(r, []string{"", "", "", "", "", "/", " ", "  ", "\\ ", "\\", "/ ", "\t", "*/", "/**"}))
		b.WriteString(draw(r, []string{"\n", "\n", "\n", "\n", "\r\n", "\r\r\n", ""}))
	}
	return b.String()
}

// checks returns the number of draws that -rapid.checks asks for, and a source of random numbers that
// differs from run to run. It logs the seed.
func checks(t *testing.T) (n int, r *rand.Rand) {
	n, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	if text := flag.Lookup("rapid.seed").Value.String(); text != "0" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("-rapid.seed=%d", seed)
	return n, rand.New(rand.NewPCG(seed, 0))
}

// TestRulesAreGits asks git about paths under ignore files that are drawn at random.
func TestRulesAreGits(t *testing.T) {
	n, r := checks(t)
	top := t.TempDir()
	gitWith(t, top, "", "init", "-q")
	var asked bytes.Buffer
	var texts []string
	for i := range n {
		text := randomRules(r)
		texts = append(texts, text)
		dir := filepath.Join(top, fmt.Sprint(i))
		for _, path := range rulePaths() {
			if strings.HasSuffix(path, "/") {
				if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			fmt.Fprintf(&asked, "%d/%s\x00", i, strings.TrimSuffix(path, "/"))
		}
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	answers := strings.Split(gitWith(t, top, asked.String(), "check-ignore", "--no-index", "--stdin", "-z", "-v", "-n"), "\x00")
	wrong, cases := 0, 0
	// Since version 2.52, git takes two asterisks behind text for one.
	var major, minor int
	if _, err := fmt.Sscanf(gitWith(t, top, "", "version"), "git version %d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	behindText := regexp.MustCompile(`[^/\n]\*\*`)
	for i, text := range texts {
		if (major > 2 || minor >= 52) && behindText.MatchString(text) {
			answers = answers[4*len(rulePaths()):]
			continue
		}
		all := parseRules([]byte(text))
		for _, path := range rulePaths() {
			// An answer has a source, a line, a pattern and the path.
			pattern := answers[2]
			want := silent
			if answers[0] != "" {
				want = leaveOut
				if strings.HasPrefix(pattern, "!") {
					want = take
				}
			}
			answers = answers[4:]
			cases++
			if got := all.judgeAll(path); got != want {
				if wrong++; wrong < 20 {
					t.Errorf("rules %q: path %q: got %d, want %d by %q of %d", text, path, got, want, pattern, i)
				}
			}
		}
	}
	t.Logf("%d rule files, %d cases, %d differences", n, cases, wrong)
}

// judgeAll returns the verdict of rules on a path and the directories above it, as the walk asks for it.
func (all rules) judgeAll(path string) verdict {
	last, isDir := strings.CutSuffix(path, "/")
	v := silent
	for i := range last {
		if last[i] == '/' {
			if v = all.judge(last[:i], filepath.Base(last[:i]), true); v == leaveOut {
				return v
			}
		}
	}
	return all.judge(last, last[strings.LastIndexByte(last, '/')+1:], isDir)
}
