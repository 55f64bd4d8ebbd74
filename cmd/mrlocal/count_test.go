package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal"
	"mrlocal/internal/testkit"
	"mrlocal/jobs/count"
	"mrlocal/jobs/jobtest"
)

// callCount runs mrlocal count with splits and memory of the given number of bytes.
func callCount(blockBytes, memoryBytes int64, tmp, stdin string, args ...string) (stdout, stderr string, code int) {
	var out, trouble bytes.Buffer
	o := mrlocal.Options{MemoryBytes: memoryBytes, NoPin: true, TempDirs: []string{tmp}}
	o.MapSlots, o.ReduceSlots, o.BlockBytes, o.NoDecode = 1, 1, blockBytes, true // bytes may look like an archive
	code = runTool(context.Background(), "count", args, Env{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &trouble, Getenv: os.Getenv}, o)
	return out.String(), trouble.String(), code
}

func TestCountTool(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"f": "b\na\nb", "g": "c", "empty": "", "t": "name,n\n\"x, y\",1\nz,2\n\"z\",3\n", "u": "name,n\r\nz,2\r\n", "other": "name,m\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ args, stdin, want string }{
		{"", "x\ny\nx\n", "      2 x\n      1 y\n"},
		{"-", "x\n", "      1 x\n"},
		{"f g", "", "      1 a\n      2 b\n      1 c\n"},
		{"f - g", "a", "      2 a\n      2 b\n      1 c\n"},
		{"f f --top=1", "", "      4 b\n"},
		{"empty", "", ""}, {"/dev/null", "", ""},
		{"-c f", "", "      1 a\n      2 b\n"},
		{"--min=2 f", "", "      2 b\n"}, {"--max=1 f", "", "      1 a\n"},
		{`-f2 -d\t`, "a\tb\n", "      1 b\n"}, {`-f2 -d \0`, "a\x00b\n", "      1 b\n"}, {"-sf2", "a\n", ""},
		{"-w", "b a\tb", "      1 a\n      2 b\n"}, {"-wf2", " b  a\tb", "      1 a\n"}, {"--alnum -i", "It's IT", "      2 it\n      1 s\n"},
		{"-z", "a\nb\x00a\nb", "      2 a\nb\x00"},
		{"--csv -f name t", "", "count,name\n1,\"x, y\"\n2,z\n"},
		{"--csv -fname --top 1 t u", "", "count,name\n3,z\n"},
		{"--csv t", "", "count,name,n\n1,\"x, y\",1\n1,z,2\n1,z,3\n"},
		{"--csv -f a", "\ufeffa,b\nx,1\nx,2\n", "count,a\n2,x\n"},
		{"--csv -d; -f2", "a;b\n1;\"2\n3\"\n", "count;b\n1;\"2\n3\"\n"},
		{"--csv empty", "", ""}, {"--csv -f n other", "", ""},
	} {
		if c.args == "--csv -f n other" { // a header and no record
			c.args, c.want = "--csv -f m other", "count,m\n"
		}
		out, errs, code := call(t, "count", c.stdin, strings.Fields(c.args)...)
		if out != c.want || errs != "" || code != 0 {
			t.Errorf("count %s: %q, exit %d, %s; want %q", c.args, out, code, errs, c.want)
		}
	}
	for args, want := range map[string]string{
		"-f2x f": `--fields: "2x": not a list`, "-f0 f": "count from 1", "-f 1 -f 2 f": "only one list", "-f= f": `--fields: "=": not a list`, "-d, f": "--delimiter: needs --fields", "-d:: -f2 f": "must be one byte",
		"--top 0 f": "--top: 0: too small", "--top x f": "not a whole number", "--max 0 f": "too small", "-w --csv f": "--csv, --words: give one", "-wz f": "--words, --zero-terminated: give one",
		"--csv -z f": "--csv, -z: give one", "--csv -f9 t": "no such column; the columns are name, n", "--csv -d\" t": "no such separator", "--csv t other": "header differs",
		"none": "none: cannot read: no such file", ".": "is a directory", "-o none/x f": "none", "-o x -o y f": "given twice", "-u f": "no such flag", "-s f": "--only-delimited: is for fields",
	} {
		out, errs, code := call(t, "count", "", strings.Fields(args)...)
		if code != 2 || out != "" && !strings.Contains(args, "other") || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("count %s: %q, exit %d, %q; want %q", args, out, code, errs, want)
		}
	}
}

func TestCountReplacesItsInput(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ args, in, want string }{
		{"-o f f", "b\na\nb\n", "      1 a\n      2 b\n"}, {"-o f --top 1 f", "b\na\nb\n", "      2 b\n"}, {"--csv -f a -o f f", "a,b\n1,2\n1,3\n", "count,a\n2,1\n"},
	} {
		if err := os.WriteFile("f", []byte(c.in), 0o640); err != nil {
			t.Fatal(err)
		}
		out, errs, code := call(t, "count", "", strings.Fields(c.args)...)
		got, err := os.ReadFile("f")
		if out != "" || errs != "" || code != 0 || err != nil || string(got) != c.want {
			t.Errorf("count %s: %q, exit %d, %s; f has %q, %v; want %q", c.args, out, code, errs, got, err, c.want)
		}
	}
	if left, _ := os.ReadDir("."); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// For any bytes and splits of any size, the result is that of GNU sort and uniq.
func TestCountIsSortAndUniq(t *testing.T) {
	jobtest.Tool(t, nil, "uniq", "--version") // skips the test where it is missing
	t.Chdir(t.TempDir())
	testkit.Check(t, func(r *rapid.T) {
		data := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom([]byte("ab \n\n\x00")), rapid.Byte()), 0, 100).Draw(r, "data")
		args, pipeline := []string{"f"}, "sort f | uniq -c"
		if rapid.Bool().Draw(r, "zero") {
			args, pipeline = []string{"-z", "f"}, "sort -z f | uniq -cz"
		}
		if err := os.WriteFile("f", data, 0o600); err != nil {
			r.Fatal(err)
		}
		want, _ := jobtest.Tool(t, []jobtest.File{{Path: "f", Data: data}}, "sh", "-c", pipeline)
		block := rapid.SampledFrom([]int64{1, 3, 16, 1 << 20}).Draw(r, "block")
		got, errs, code := callCount(block, 64<<20, os.TempDir(), "", args...)
		if got != string(want) || code != 0 {
			r.Fatalf("count %q of %q: %q, exit %d, %s; want %q", args, data, got, code, errs, want)
		}
	})
}

// Data that does not fit in memory spills, and the counts stay the same. The data has many
// different lines, long lines, and lines longer than a chunk of the kvbuffer.
func TestCountSpills(t *testing.T) {
	jobtest.Tool(t, nil, "uniq", "--version")
	rng := rand.New(rand.NewPCG(3, 4))
	var different, long bytes.Buffer
	const lines = 150_000 // more than the table may hold
	for range lines {
		fmt.Fprintf(&different, "line %d of many, of which some are equal\n", rng.IntN(lines/6*5))
	}
	for i := range 30 {
		fmt.Fprintf(&long, "%s,%d\n", strings.Repeat(string(rune('a'+i%7)), 1000+i%5*300_000), i%3)
	}
	long.WriteString("no final newline")
	t.Chdir(t.TempDir())
	for name, data := range map[string][]byte{"different": different.Bytes(), "long": long.Bytes()} {
		if err := os.WriteFile("f", data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := new(count.Options).MostlyDifferent("f"); got != (name == "different") {
			t.Errorf("%s lines differ: %v", name, got)
		}
		for args, pipeline := range map[string]string{
			"": "sort f | uniq -c", "--top 5": "sort f | uniq -c | sort -s -k1,1nr | head -n 5", "-f1 -d,": "cut -f1 -d, f | sort | uniq -c", "--min 2": "sort f | uniq -cd",
		} {
			if args != map[string]string{"different": "", "long": "-f1 -d,"}[name] && !testkit.Long() {
				continue // what the other flags do to the counts does not depend on where those come from
			}
			want, _ := jobtest.Tool(t, []jobtest.File{{Path: "f", Data: data}}, "sh", "-c", pipeline)
			for _, words := range [][]string{strings.Fields(args), append(strings.Fields(args), "f")} {
				tmp := t.TempDir()
				// A stream cannot be sampled, so its lines go to the table.
				got, errs, code := callCount(4<<20, 16<<20, tmp, string(data), words...)
				left, err := os.ReadDir(tmp)
				if got != string(want) || code != 0 || err != nil || len(left) > 0 {
					t.Errorf("count %q of %s lines: %d bytes, exit %d, %s; want %d bytes; left %v, %v", words, name, len(got), code, errs, len(want), left, err)
				}
			}
		}
	}
}

func TestLinesThatAreMostlyEqualAreNotSorted(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		text string
		want bool
	}{
		{"", false}, {"a", false}, {strings.Repeat("a\nb\nc\n", 1e5), false}, {strings.Repeat("a", 1e6), false},
		{numbers(300_000, 30_000), false}, // of which a sample has few twice
		{numbers(300_000, math.MaxInt), true},
		{strings.Repeat(numbers(40_000, math.MaxInt), 10), false},
		{often(numbers(300_000, math.MaxInt), 3), true}, // a quarter of the lines are few different ones
		{often(numbers(300_000, 30_000), 3), false},
	} {
		if err := os.WriteFile("f", []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := new(count.Options).MostlyDifferent("f"); got != c.want {
			t.Errorf("%d bytes: %v", len(c.text), got)
		}
	}
	for _, name := range []string{"-", "none", "."} {
		if (&count.Options{ZeroEnded: false}).MostlyDifferent(name) {
			t.Errorf("%s: true", name)
		}
	}
}

// often adds one of ten frequent lines after each n lines of text.
func often(text string, n int) string {
	var b strings.Builder
	lines := 0
	for line := range strings.Lines(text) {
		b.WriteString(line)
		if lines++; lines%n == 0 {
			fmt.Fprintf(&b, "return %d\n", lines/n%10)
		}
	}
	return b.String()
}

// numbers returns n lines of 50 bytes, drawn from the given number of different ones.
func numbers(n, different int) string {
	var b strings.Builder
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		fmt.Fprintf(&b, "%048x\n", rng.IntN(different))
	}
	return b.String()
}
