package find

import (
	"strings"
	"testing"
	"time"
)

// TestMatch has the rules in which the three languages differ. Package find compares each of them with
// its program on random globs.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		glob, name        string
		git, gnu, ripgrep string // yes, no, or bad for a malformed glob
	}{
		{"*.py{}", "a.py", "no", "no", "yes"},
		{"*.py{}", "a.py{}", "yes", "yes", "no"},
		{"{a,b}", "b", "no", "no", "yes"},
		{"{a,{b,c}d}", "cd", "no", "no", "yes"},
		{"{a", "{a", "yes", "yes", "bad"},
		{"a}", "a}", "yes", "yes", "bad"},
		{"[a[]", "[", "yes", "yes", "yes"},
		{"[[]", "[", "yes", "yes", "yes"},
		{"[[:digit:]]x", "7x", "yes", "yes", "yes"},
		{"[[:digits:]]", "7", "bad", "bad", "no"},
		{"[[:space:]]", "\v", "no", "yes", "yes"},
		{"[]-]", "]", "yes", "yes", "yes"},
		{"[!]a]", "b", "yes", "yes", "yes"},
		{"[z-a]", "z", "yes", "no", "bad"},
		{"[a", "[a", "bad", "yes", "bad"},
		{"a\\", "a\\", "bad", "bad", "bad"},
		{"[\\]]", "]", "yes", "yes", "no"},
		{"?", "é", "no", "no", "no"},
		{"??", "é", "yes", "yes", "yes"},
		{"*", "a/b", "no", "yes", "no"},
		{"a?b", "a/b", "no", "yes", "no"},
		{"a[/]b", "a/b", "no", "yes", "no"},
		{"a[!x]b", "a/b", "no", "yes", "no"},
		{"**/b", "b", "yes", "no", "yes"},
		{"**/b", "a/a/b", "yes", "yes", "yes"},
		{"a/**/b", "a/b", "yes", "no", "yes"},
		{"a/**/b", "a/x/y/b", "yes", "yes", "yes"},
		{"a/**", "a/x/y", "yes", "yes", "yes"},
		{"a/**", "a", "no", "no", "no"},
		{"a/***/b", "a/x/y/b", "yes", "yes", "no"},
		{"a?**/b", "ax/y/b", "no", "yes", "no"},
		{"ax**/b", "ax/y/b", "yes", "yes", "no"},
		// In ripgrep, asterisks that a brace separates are not one run.
		{"{a,x/*}*", "x/y/a", "no", "no", "no"},
		{"{a,x/*}*", "x/y", "no", "no", "yes"},
		{"x/{*}*/a", "x/a", "no", "no", "no"},
		{"x/*{*,a}", "x/y/a", "no", "no", "no"},
		{"{x/,a}**", "x/y/a", "no", "no", "no"},
		{"{x/,y}**/a", "x/a", "no", "no", "no"},
		{"{x/**}/a", "x/a", "no", "no", "no"},
		{"{x/**,a}", "x/y/a", "no", "no", "yes"},
		{"x/{**}", "x/y/a", "no", "no", "no"},
		{"x/{**/,y}a", "x/y/a", "no", "no", "yes"},
		{"x/{}**", "x/y/a", "no", "no", "no"},
		{"x/**{/a,b}", "x/a", "no", "no", "no"},
		{"x{{},a}", "x", "no", "no", "no"},
		{"x{{,},}", "x", "no", "no", "yes"},
		{"**/?{**/,a}", "c/d", "no", "no", "yes"},
		{"x{**/a,b}", "x/y/a", "no", "no", "yes"},
		{"{a,b", "a", "no", "no", "bad"},
		{"{a,b}}", "a", "no", "no", "bad"},
		{"[[.a.]-c]", "b", "no", "yes", "no"},
		{"[[=a=]]", "a", "no", "yes", "no"},
		{"[[=a=]]", "a]", "yes", "no", "yes"},
		{"[[.ab.]]", "a]", "yes", "no", "yes"},
		{"[a[.foo.]b]", "a", "no", "yes", "no"},
		{"[a[.foo.]b]", "b", "no", "no", "no"},
		{"[!a[.foo.]b]", "c", "no", "no", "no"},
		{"*a*/**/*b?c", "xa/y/z/bbxc", "yes", "yes", "yes"},
	} {
		git, gitOK := GitGlob(c.glob)
		gnu, gnuOK := GNUGlob(c.glob)
		ripgrep, ripgrepOK := RipgrepGlob(c.glob)
		for _, l := range []struct {
			name, want string
			glob       Glob
			ok         bool
		}{{"git", c.git, git, gitOK}, {"gnu", c.gnu, gnu, gnuOK}, {"ripgrep", c.ripgrep, ripgrep, ripgrepOK}} {
			got := "no"
			if !l.ok {
				got = "bad"
			} else if l.glob.Match(c.name) {
				got = "yes"
			}
			if got != l.want {
				t.Errorf("%s: glob %q, name %q: got %s, want %s", l.name, c.glob, c.name, got, l.want)
			}
		}
	}
}

// TestMatchIsFast has globs whose time is exponential in a matcher that tries all lengths of all stars.
func TestMatchIsFast(t *testing.T) {
	name := strings.Repeat("a", 200) + "/" + strings.Repeat("a", 200)
	start := time.Now()
	for _, text := range []string{strings.Repeat("*a", 50) + "b", strings.Repeat("**/a*", 50) + "b", strings.Repeat("*a", 50) + "*/" + strings.Repeat("*a", 50) + "b"} {
		for _, compile := range []func(string) (Glob, bool){GitGlob, GNUGlob, RipgrepGlob} {
			if g, ok := compile(text); !ok || g.Match(name) {
				t.Errorf("glob %q: valid %t, or it matches", text, ok)
			}
		}
	}
	if _, ok := RipgrepGlob(strings.Repeat("{a,b}", 40)); ok {
		t.Error("a glob with 2^40 alternatives is accepted")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
