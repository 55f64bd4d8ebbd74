package testkit

import (
	"flag"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// mutants are values that replace parts of a text in Mutants.
var mutants = []string{
	"", "null", "{}", "[]", "[1]", `"x"`, "-1", "1.5", "1e400", "99999999999999999999", "true", "{", "}", "]", `"`, "\\", `\u12`,
	"\x00", "\xff", "\n", "\t", ": ", "- ", "&a", "*a", "!!int x", "{a: 1}", "300y", "9999999h", "1e30s", "99999EiB",
}

// tokens matches what Mutants replaces: a number, a text in quotes, a word, or another character.
var tokens = regexp.MustCompile(`-?[0-9][0-9.]*|"[^"\n]*"|[A-Za-z_]+|[^\s]`)

// Mutants calls f with n damaged copies of text, drawn with a seed. A copy has one to three parts
// that are replaced, cut out, doubled or exchanged, or it is cut short.
func Mutants(text string, n int, seed uint64, f func(string)) {
	rng := rand.New(rand.NewPCG(seed, uint64(len(text))))
	places := tokens.FindAllStringIndex(text, -1)
	for range n {
		damaged := text
		for range 1 + rng.IntN(3) {
			// A place of the whole text may be none of the damaged one.
			p := places[rng.IntN(len(places))]
			if p[1] > len(damaged) {
				continue
			}
			part := damaged[p[0]:p[1]]
			switch rng.IntN(8) {
			case 0:
				damaged = damaged[:p[0]]
			case 1:
				part += part
			case 2:
				q := places[rng.IntN(len(places))]
				part = text[q[0]:q[1]]
			default:
				part = mutants[rng.IntN(len(mutants))]
			}
			if p[1] <= len(damaged) {
				damaged = damaged[:p[0]] + part + damaged[p[1]:]
			}
		}
		f(damaged)
	}
}

// RawGo returns the words of an error text that come from Go and its libraries, and that tell a user
// nothing; "": it has none. An error is one line, so a newline counts too.
func RawGo(text string) string {
	for _, raw := range []string{
		"json:", "strconv.", "cannot unmarshal", "invalid character", "looking for beginning", "Go struct", "Go value", "unexpected EOF", "unexpected end of JSON", "yaml:", "runtime error",
		"bufio.", "time: invalid", "time: unknown unit", "time: missing unit", "reflect", "panic", "parsing ", "int64", "float64", "interface", "map[", "%!", "nil", "sequence was used", "syntax error", "\n",
	} {
		if strings.Contains(text, raw) {
			return raw
		}
	}
	return ""
}

// long is a flag of each test binary that imports testkit. .ci/full passes it to each test that calls Rounds or Long.
var long = flag.Bool("long", false, "make all rounds of the tests that draw their input")

// Long reports whether the tests run with -long.
func Long() bool { return *long }

// Rounds returns how many of most rounds a test makes: all with -long, a quarter without it, and one
// with -short. At least one is made.
func Rounds(most int) int {
	switch {
	case *long:
		return most
	case testing.Short():
		return 1
	}
	return max(1, most/4)
}

// Check is rapid.Check with a tenth of the draws. With -long, with -short and with -rapid.checks it is rapid.Check
// itself.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	draws := flag.Lookup("rapid.checks")
	if all := draws.DefValue; !*long && !testing.Short() && draws.Value.String() == all {
		if err := draws.Value.Set("10"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = draws.Value.Set(all) }()
	}
	rapid.Check(t, property)
}
