package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal"
	"mrlocal/input"
	"mrlocal/internal/testkit"
	"mrlocal/jobs/jobtest"
)

// call runs a tool on a standard input.
func call(t *testing.T, name, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = runTool(context.Background(), name, args, Env{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Getenv: os.Getenv}, mrlocal.Options{NoPin: true})
	return out.String(), errs.String(), code
}

// The cases are facts from the tests of coreutils (tests/sort/sort.pl): the flags, an input and its
// result. A bar stands for a newline.
func TestSortConformsToTheFactsOfCoreutils(t *testing.T) {
	for _, c := range []struct{ flags, in, want string }{
		// numbers: a fraction without digits, leading zeros, signs
		{"-n", ".01|0|", "0|.01|"}, {"-n", ".02|.01|", ".01|.02|"}, {"-n", ".02|.00|", ".00|.02|"}, {"-n", ".02|.000|", ".000|.02|"},
		{"-n", ".021|.029|", ".021|.029|"}, {"-n", ".02|.0*|", ".0*|.02|"}, {"-n", ".02|.*|", ".*|.02|"},
		{"-s -n -k1,1", ".0a|.0b|", ".0a|.0b|"}, {"-s -n -k1,1", ".0b|.0a|", ".0b|.0a|"}, {"-s -n -k1,1", ".000a|.000b|", ".000a|.000b|"},
		{"-s -n -k1,1", ".00a|.000b|", ".00a|.000b|"}, {"-s -n -k1,1", ".00b|.000a|", ".00b|.000a|"},
		{"-s -n -k1,1", ".01a|.010|", ".01a|.010|"}, {"-s -n -k1,1", ".010|.01a|", ".010|.01a|"},
		{"-n", "-1|-9|", "-9|-1|"}, {"-n", "11|2|", "2|11|"}, {"-n -t: +1", "a:1|b:-|", "b:-|a:1|"}, {"-n -t: +1", "b:X|a:1|", "b:X|a:1|"},
		{"--sort=numeric", ".01|0|", "0|.01|"}, {"--sort=human", "1K|9|", "9|1K|"}, {"--sort=h", "1K|9|", "9|1K|"}, {"--sort=g", "1e2|2e1|", "2e1|1e2|"}, {"--sort=v", "a10|a9|", "a9|a10|"}, {"-n", "1e2|2e1|", "1e2|2e1|"}, {"-n", "2e1|1e2|", "1e2|2e1|"},
		{"-g", "1e2|2e1|", "2e1|1e2|"}, {"--sort=general-numeric", "1e2|2e1|", "2e1|1e2|"}, {"-k2g", "a 1e2|b 2e1|", "b 2e1|a 1e2|"},
		// numbers with units
		{"-h", "1Q|1R|1Y|1Z|1E|1P|1T|1G|1M|1K|02|1|Y|-1k|-1M|-1G|-1T|-1P|-1E|-1Z|-1Y|-1Q|-1R|", "-1Q|-1R|-1Y|-1Z|-1E|-1P|-1T|-1G|-1M|-1k|Y|1|02|1K|1M|1G|1T|1P|1E|1Z|1Y|1R|1Q|"},
		{"-h", "1M|-2G|-3K", "-2G|-3K|1M|"}, {"-k 2,2h -k 1,1", "a 1G|b 1023M|", "b 1023M|a 1G|"}, {"-h", "1.E|2.M|", "2.M|1.E|"},
		{"-h", "1..2E|2..2M|", "1..2E|2..2M|"}, {"-h", "1GiB|1030MiB|", "1030MiB|1GiB|"}, {"-n -k2,2h", "1 1E|2 2M|", "2 2M|1 1E|"},
		{"-h -k1,1 -k2,2", "1M 1Mi|1M 1Mi|", "1M 1Mi|1M 1Mi|"}, {"-h -k1,1 -k2,2", "1M 2M|2M 1Mi|", "1M 2M|2M 1Mi|"},
		// fields
		{"", "A|B|C|", "A|B|C|"}, {"-k1", "B|A|", "A|B|"}, {"-k1,1", "B|A|", "A|B|"}, {"-k1 -k2", "A b|A a|", "A a|A b|"},
		{"-k1n", "11|2|", "2|11|"}, {"-k1", "11|2|", "11|2|"}, {"-k2", "ignored B|z-ig A|", "z-ig A|ignored B|"},
		{"-k1,2", "A B|A A|", "A A|A B|"}, {"-k1,2", "A B A|A A Z|", "A A Z|A B A|"}, {"-k 1 -k 2", "A B A|A A Z|", "A A Z|A B A|"},
		{"-k 2,2", "A B A|A A Z|", "A A Z|A B A|"}, {"-k2,2", "A B Z|A A A|", "A A A|A B Z|"},
		{"-k 2,3", "9 a b|7 a a|", "7 a a|9 a b|"}, {"-k 2,3", "a a b|z a a|", "z a a|a a b|"}, {"-k 2,3", "y k b|z k a|", "z k a|y k b|"},
		{"-k 2,3.0", "a a b|z a a|", "z a a|a a b|"}, {"-n -k1.3,1.1", "a 2|b 1|", "a 2|b 1|"}, {"-n -k2.2,1.2", "aa 2|bb 1|", "aa 2|bb 1|"},
		{"-k1.3nb,1.3", "  a 2|  b 1|", "  a 2|  b 1|"}, {"-k1.1,1.0", "", ""}, {"-k 18446744073709551616", "2|1|", "1|2|"},
		{"-t : -k 2.2,2.2", ":ba|:ab|", ":ba|:ab|"}, {"-t : -k 2.2,2.2", ":ab|:ba|", ":ba|:ab|"}, {"-k 2.3,2.3", "z ba|z ab|", "z ba|z ab|"},
		{"-k 1.2,1.2", "ba|ab|", "ba|ab|"}, {"-b -k 2.2,2.2", "z ba|z ab|", "z ba|z ab|"}, {"-k 1.2,1.2", "ab|ba|", "ba|ab|"},
		{"-t : -k 1.3,1.3", ":ab|:ba|", ":ba|:ab|"}, {"-k 1.4,1.4", "a ab|b ba|", "b ba|a ab|"},
		{"-k1,1 -k2nr", "b 2|b 1|b 3|", "b 3|b 2|b 1|"}, {"-s -k1,1 -t/", "a b/x|a-b-c/x|", "a b/x|a-b-c/x|"},
		// keys that count from 0
		{"+1 -3", "y k b|z k a|", "z k a|y k b|"}, {"-s +0 -1", "a c|a b|", "a c|a b|"}, {"-s +0 -1.0", "a c|a b|", "a c|a b|"},
		{"-s +0 -1.1", "a c|a b|", "a c|a b|"}, {"-s +0 -1.2", "a c|a b|", "a b|a c|"}, {"-s +0 -1.1b", "a c|a b|", "a b|a c|"},
		{"-t : +1.1 -1.2", ":ba|:ab|", ":ba|:ab|"}, {"-t : +1.1 -1.2", ":ab|:ba|", ":ba|:ab|"},
		{"+0.1n", "axx|b-1|", "b-1|axx|"}, {"+0.1n", "b-1|axx|", "b-1|axx|"}, {"+0 +1nr", "b 2|b 1|b 3|", "b 1|b 2|b 3|"},
		// blanks
		{"-t: -k1,1b -k2,2", "a\t:a|a :b|", "a\t:a|a :b|"}, {"-t: -k1,1b -k2,2", "a :b|a\t:a|", "a\t:a|a :b|"},
		{"-t: -k2,2b -k3,3", "z:a\t:a|a :b|", "z:a\t:a|a :b|"}, {"-t: -k2,2b -k3,3", "z:a :b|a\t:a|", "a\t:a|z:a :b|"},
		{"-k1.1,1.2n", " 901|100|", " 901|100|"}, {"-b -k1.1,1.2n", " 901|100|", " 901|100|"}, {"-k1.1,1.2nb", " 901|100|", "100| 901|"},
		{"-k1.1b,1.2n", " 901|100|", " 901|100|"}, {"-nb -k1.1,1.2", " 901|100|", "100| 901|"}, {"-k1,1b", "a  y|a z|", "a  y|a z|"}, {"-k1b,1", "a  y|a z|", "a  y|a z|"},
		// bytes that are left out, and case
		{"-d -u", "mal|mal-|mala|", "mal|mala|"}, {"-f -d -u", "mal|mal-|mala|", "mal|mala|"}, {"-i -u", "a|a\x01|", "a|"}, {"-i -u", "a|\x01a|", "a|"},
		{"-i -u", "a\x01|a|", "a\x01|"}, {"-i -u", "a|\x01\x01\x01\x01\x01a\x01\x01\x01\x01|", "a|"},
		{"", "A|a|_|", "A|_|a|"}, {"-f", "A|a|_|", "A|a|_|"}, {"-f", "a|A|_|", "A|a|_|"}, {"-f", "_|a|A|", "A|a|_|"}, {"-fs", "A|a|_|", "A|a|_|"}, {"-fu", "a|_|", "a|_|"},
		{"-k 2,2fd -k 1,1r", "3 b|4 B|", "4 B|3 b|"}, {"-k 2,2d -k 1,1r", "3 b|4 b|", "4 b|3 b|"},
		{"-f", "éa|üb|'s-G|aë|Aag|aagt|", "'s-G|Aag|aagt|aë|éa|üb|"},
		// small buffers, lines of any length, NUL
		{"--p=1 -S32b -u", strings.Repeat("7|", 11) + "1|", "1|7|"}, {"-u -k2,2 --p=1 -S32b", strings.Repeat("a 7|", 11) + "b 1|", "b 1|a 7|"},
		{"-u --p=1 -S32b", "a|" + strings.Repeat("b", 900) + "|", "a|" + strings.Repeat("b", 900) + "|"}, {"-S1", strings.Repeat("a", 4000) + "|", strings.Repeat("a", 4000) + "|"},
		{"", "\x00b|\x00a|", "\x00a|\x00b|"}, {"", "|\t|", "|\t|"}, {`-k2,2 -t \0`, "a\x00z\x01|b\x00y\x02|", "b\x00y\x02|a\x00z\x01|"}, {`-k2,2 -t \t`, "a\tz|b\ty|", "b\ty|a\tz|"},
		{"-z", "2\x001\x00", "1\x002\x00"}, {"-z -k2,2", "1|2\x002|1\x00", "2|1\x001|2\x00"}, {"-zb -k2,2", "1||2\x002|1\x00", "2|1\x001||2\x00"},
		// order is kept or checked
		{"-c", "A|B|C|", ""}, {"-c -k1,1", "a|a b|", ""}, {"-C", "A|B|C|", ""}, {"-cu", "A|B|", ""}, {"-nc", "2|11|", ""}, {"-c", strings.Repeat("x", 30) + "|", ""},
		{"-c -k 1,1fR", "ABC|ABc|AbC|Abc|aBC|aBc|abC|abc|", ""}, {"-c -k 1,1fV", "ABC|ABc|AbC|Abc|aBC|aBc|abC|abc|", ""},
		{"-c -k 1,1dfR", ".ABC|.ABc.|A.bC|A.bc.|aB.C|aB.c.|abC.|abc..|", ""}, {"--check=quiet", "A|", ""}, {"-M", "feb|Jan|x|", "x|Jan|feb|"},
		{"-V", "a10|a9|", "a9|a10|"}, {"-V", "a1.tar.gz|a1.tar|.a|.0|..|.|", ".|..|.0|.a|a1.tar|a1.tar.gz|"},
	} {
		out, errs, code := call(t, "sort", strings.ReplaceAll(c.in, "|", "\n"), strings.Fields(c.flags)...)
		if want := strings.ReplaceAll(c.want, "|", "\n"); out != want || errs != "" || code != 0 {
			t.Errorf("sort %s of %q: %q, exit %d, %s; want %q", c.flags, c.in, out, code, errs, want)
		}
	}
}

func TestSortFailsAsGNUSortDoes(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("-\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags, in string
		code      int
		message   string
	}{
		{"-c", "A\nC\nB\n", 1, "mrlocal: sort: -:3: disorder: B\n"}, {"-C", "A\nC\nB\n", 1, ""},
		{"-cu", "A\nA\n", 1, "-:2: disorder: A"}, {"-cu", "A\nB\nB\n", 1, "-:3: disorder: B"}, {"-cu", "B\nA\nB\n", 1, "-:2: disorder: A"},
		{"-k0", "", 2, "they count from 1"}, {"-k1.0", "", 2, "they count from 1"}, {"-k1.1,-k0", "", 2, "a number is missing"},
		{"-k 2.,3", "", 2, "a number is missing"}, {"-k 2,", "", 2, "a number is missing"}, {"+1x", "", 2, "invalid field"},
		{"-hn", "", 2, "'-hn' are incompatible"}, {"-in", "", 2, "'-in' are incompatible"}, {"-nR", "", 2, "'-nR' are incompatible"},
		{"-dfgiMnR", "", 2, "'-dfgMnR' are incompatible"}, {"-c -o /dev/null", "", 2, "'-co' are"}, {"-C -o /dev/null", "", 2, "'-Co' are"},
		{"-cC", "", 2, "'-cC' are"}, {"--sort=random -n", "", 2, "'-nR' are"}, {"--parallel -1", "", 2, "too small"}, {"--parallel 0", "", 2, "too small"}, {"--parallel a", "", 2, "not a whole number"},
		{"no-file", "", 2, "no such file"}, {"-o no-file no-file", "", 2, "no such file"}, {"-o no/such/file /dev/null", "", 2, "no/such"},
		{"-o x -o y", "", 2, "given twice"}, {"-o x -o ./x", "", 2, "given twice"}, {"--compress-program=gzip", "", 2, "runs no other program"},
		{".", "", 2, "is a directory"}, {"-c a b", "", 2, "extra operand"}, {"--files0-from=- a", "", 2, "extra operand"}, {"-m nope", "", 2, "no such file"},
		{"--files0-from=-", "-\x00", 2, "-:1: no file name of - is allowed"}, {"--files0-from=" + list, "a\n", 2, ":1: no file name of - is allowed"},
		{"--sort=size", "", 2, "one of"}, {"--sort=", "", 2, "one of"}, {"--sort=numericx", "", 2, "one of"}, {"--check=loud", "", 2, "one of"}, {"-t ab", "", 2, "one byte"}, {"--no", "", 2, "no such flag"}, {"--m", "", 2, "can be --month-sort or --merge"},
	} {
		out, errs, code := call(t, "sort", c.in, strings.Fields(c.flags)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.message) || strings.Count(errs, "\n") > 1 {
			t.Errorf("sort %s: %q, exit %d, %q; want exit %d and %q", c.flags, out, code, errs, c.code, c.message)
		}
	}
}

// Everyday commands give the bytes of GNU sort.
func TestSortBesideGNUSort(t *testing.T) {
	var text, numbers, sizes, dated bytes.Buffer
	for i := range 3000 {
		n := (i*7919 + 13) % 3001
		fmt.Fprintf(&text, "line %d of text%d\twith Word%d\n", n, n%97, n%13)
		fmt.Fprintf(&numbers, "%d,%d.%d,user%d\n", n, n%50-25, i%7, n%31)
		fmt.Fprintf(&sizes, "%d%s\tfile-%d.tar.gz\n", n%1024, []string{"", "K", "M", "G"}[i%4], n)
		fmt.Fprintf(&dated, "%s %2d 10:%02d:%02d host%d\n", []string{"Jan", "feb", "MAR", "x"}[i%4], n%31, n%60, i%60, n%5)
	}
	files := []jobtest.File{
		{Path: "text", Data: text.Bytes()}, {Path: "numbers", Data: numbers.Bytes()}, {Path: "sizes", Data: sizes.Bytes()}, {Path: "dated", Data: dated.Bytes()},
		{Path: "salt", Data: []byte("0123456789abcdef")}, {Path: "names", Data: []byte("text\x00sizes\x00")}, {Path: "empty"},
	}
	for i, command := range []string{
		"text", "-r text", "-u text", "-f text", "-k2,2n text", "-k4,4 -k2,2nr text", "text sizes", "-s -k5 text", "-b -k4 text", "-t: -k1 text",
		"-n numbers", "-t, -k2,2n numbers", "-t, -k2,2g numbers", "-t, -k3,3 -k1,1nr numbers", "-t, -k3.5n numbers", "-t, -u -k3,3 numbers", "-rn numbers",
		"-h sizes", "-hr sizes", "-k2V sizes", "-V sizes", "-t- -k2,2n sizes", "-k1,1h -k2,2Vr sizes", "-M dated", "-k1,1M -k2,2n -k3,3 dated", "-k4 -s dated",
		"-R --random-source=salt text", "-k4,4R --random-source=salt text", "-m text sizes", "-m -u numbers numbers", "-mn numbers sizes empty",
		"--files0-from=names", "-z text", "-d text", "-i -f text", "-c empty", "-c text", "-C numbers", "empty", "--numeric-sort --reverse numbers", "+1 -2 text", "-uf -k4,4 text",
		"--debug -k2 text", "--debug -h sizes", "--debug -k1,1M -k2,2n -s dated", "--debug -t, -k2,2g -k9 numbers", "--debug -b sizes", "--debug -u -bk2 dated", "--debug -m sizes text", "--debug text",
	} {
		t.Run(fmt.Sprint(i, " ", command), func(t *testing.T) {
			args := strings.Fields(command)
			want, wantCode := jobtest.Tool(t, files, "sort", args...)
			t.Chdir(t.TempDir())
			for _, f := range files {
				if err := os.WriteFile(f.Path, f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, errs, code := call(t, "sort", "", args...)
			if got != string(want) || code != wantCode {
				t.Errorf("sort %s: %d bytes, exit %d, %s; want %d bytes, exit %d", command, len(got), code, errs, len(want), wantCode)
			}
		})
	}
}

func TestSortReplacesItsInput(t *testing.T) {
	for _, flags := range []string{"-o f f", "-m -o f f", "-m -o f f g h", "-o f g f", "-o f f -"} {
		dir := t.TempDir()
		t.Chdir(dir)
		for _, name := range []string{"f", "g", "h"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(name+"1\n"+name+"2\n"), 0o640); err != nil {
				t.Fatal(err)
			}
		}
		out, errs, code := call(t, "sort", "", strings.Fields(flags)...)
		got, err := os.ReadFile("f")
		lines := strings.Count(flags, "f") + strings.Count(flags, "g") + strings.Count(flags, "h") - 1
		if out != "" || errs != "" || code != 0 || err != nil || strings.Count(string(got), "\n") != 2*lines || !strings.HasPrefix(string(got), "f1\nf2\n") {
			t.Errorf("sort %s: exit %d, %s, f has %q, %v", flags, code, errs, got, err)
		}
		info, err := os.Stat("f")
		left, _ := filepath.Glob(".*")
		if err != nil || info.Mode().Perm() != 0o640 || len(left) > 0 {
			t.Errorf("sort %s: %v, %v; left: %q", flags, info, err, left)
		}
	}
}

func TestSortOfCSV(t *testing.T) {
	people := "name,age,note\n\"Roe, Jane\",41,\"two\nlines\"\nDoe,7,\"a \"\"word\"\"\"\nAda,100,\n"
	ada, doe, roe := "Ada,100,\n", "Doe,7,\"a \"\"word\"\"\"\n", "\"Roe, Jane\",41,\"two\nlines\"\n"
	for _, c := range []struct{ flags, in, want string }{
		{"-k name", people, "name,age,note\n" + ada + doe + roe}, {"-k age:n", people, "name,age,note\n" + doe + roe + ada},
		{"-k age:nr", people, "name,age,note\n" + ada + roe + doe}, {"-rn -k age", people, "name,age,note\n" + ada + roe + doe},
		{"-k 2n", people, "name,age,note\n" + doe + roe + ada}, {"-k note", people, "name,age,note\n" + ada + doe + roe}, {"-k2n,2", people, "name,age,note\n" + doe + roe + ada},
		{"", "a\nc\nb", "a\nb\nc\n"}, {"-k a", "", ""}, {"-k a", "a\n", "a\n"}, {"-t; -k b:n", "a;b\n1;10\n2;9", "a;b\n2;9\n1;10\n"},
		// A byte order mark stays at the beginning. It does not belong to the name of the first column.
		{"-k a:n", "\ufeffa,b\n10,x\n9,y\n", "\ufeffa,b\n9,y\n10,x\n"}, {"-k a", "\ufeff\"a\",b\n2,x\n1,y\n", "\ufeff\"a\",b\n1,y\n2,x\n"},
		// A key that looks like a number is one. Quotes make it a name.
		{"-k 2", "2,1\nb,1\na,2\n", "2,1\nb,1\na,2\n"}, {`-k "2"`, "2,1\nb,1\na,2\n", "2,1\na,2\nb,1\n"}, {`-k "1":nr`, "2,1\nb,1\na,2\n", "2,1\na,2\nb,1\n"},
		{"--no-header -k 2n", "b,10\na,9\n", "a,9\nb,10\n"}, {"--no-header", "\ufeffb\na\n", "\ufeffa\nb\n"}, {"--no-header -k 9", "b\na", "a\nb\n"}, {"--no-header", "", ""}, {"--no-header - -", "b\na\n", "a\nb\n"},
		{"--delimiter ; -k 2", "a;b\n1;2\n3;1\n", "a;b\n3;1\n1;2\n"}, {"--delimiter=\\t -k b", "a\tb\n1\t2\n3\t1\n", "a\tb\n3\t1\n1\t2\n"},
		{"--lenient -k b", "a,b\n1,x\"y\n2,\"q\"z\n3,\"a,b\"\n", "a,b\n3,\"a,b\"\n2,\"q\"z\n1,x\"y\n"}, {"--lenient -k 3 -s", "a,b\n1,2,9\n3,4\n5,6,8\n", "a,b\n3,4\n5,6,8\n1,2,9\n"},
		{"--lenient", "a\nb\rc\na\n", "a\na\nb\rc\n"}, {"--lenient", "a\n\"b\n", "a\n\"b\n\n"},
		{"-u -k b", "a,b\n1,x\n2,x\n", "a,b\n1,x\n"}, {"-k b", "a,b\r\n1,y\r\n2,x\r\n", "a,b\r\n2,x\r\n1,y\r\n"}, {"-k b - -", "a,b\n1,y\n2,x\n", "a,b\n2,x\n1,y\n"},
	} {
		if c.in == "" {
			c.flags = strings.TrimPrefix(c.flags, "-k a")
		}
		out, errs, code := call(t, "sort", c.in, append([]string{"--csv"}, strings.Fields(c.flags)...)...)
		if out != c.want || errs != "" || code != 0 {
			t.Errorf("sort --csv %s of %q: %q, exit %d, %s; want %q", c.flags, c.in, out, code, errs, c.want)
		}
	}
	for in, want := range map[string]string{
		"a,b\n1,\"x\n": "record 2 has a quote that is not closed", "a\nx\"y\n": "quote inside", "a\n\"x\"y\n": "after a closing quote", "a\nx\x00\n": "NUL", "b\n1\n": "no such column",
		"a,b\r2,1\r1,2\r": "carriage return without a newline", "a\n1\r2\n": "record 2 has a carriage return", "": "without a header",
	} {
		if out, errs, code := call(t, "sort", in, "--csv", "-k", "a"); code != 2 || !strings.Contains(errs, want) || out != "" && !strings.HasPrefix(in, out) {
			t.Errorf("sort --csv of %q: %q, exit %d, %s; want %q", in, out, code, errs, want)
		}
	}
}

func TestSortOfJSONLines(t *testing.T) {
	for _, c := range []struct{ flags, in, want string }{
		{"--json a", `{"a":10}|{"a":9}|{"b":1}|{"a":"x"}|{"a":null}|{"a":true}|{"a":false}|{"a":-1.5e3}|{"a":[1]}|`,
			`{"b":1}|{"a":null}|{"a":false}|{"a":true}|{"a":-1.5e3}|{"a":9}|{"a":10}|{"a":"x"}|{"a":[1]}|`},
		{"--json u.n:nr", `{"u":{"n":"3"}}|{"u":{"n":20}}|{"u":{}}|`, `{"u":{"n":20}}|{"u":{"n":"3"}}|{"u":{}}|`},
		{"--json t --json n", `{"n":2,"t":"b\u0061"}|{"t" : "ba" , "n" : 1 }|{"t":"a","x":[{"t":"}"},"\\"]}|`, `{"t":"a","x":[{"t":"}"},"\\"]}|{"t" : "ba" , "n" : 1 }|{"n":2,"t":"b\u0061"}|`},
		{"--json a", "\ufeff{\"a\":2}|{\"a\":1}|", "{\"a\":1}|\ufeff{\"a\":2}|"},
		{"--json a", `{"a":9007199254740993}|{"a":9007199254740992}|{"a":18446744073709551617}|{"a":18446744073709551616}|{"a":1e400}|{"a":1e399}|`,
			`{"a":9007199254740992}|{"a":9007199254740993}|{"a":18446744073709551616}|{"a":18446744073709551617}|{"a":1e399}|{"a":1e400}|`},
		{`--json "a.b".c`, `{"a.b":{"c":2}}|{"a.b":{"c":1},"a":{"b":3}}|`, `{"a.b":{"c":1},"a":{"b":3}}|{"a.b":{"c":2}}|`},
		{"--json a", "", ""}, {"--header 1 --json a", `#|{"a":2}|{"a":1}|`, `#|{"a":1}|{"a":2}|`},
		{"-u --json a", `{"a":1,"b":1}|{"a":1.0}|`, `{"a":1,"b":1}|`}, {"-m --json a", `{"a":1}|{"a":2}|`, `{"a":1}|{"a":2}|`}, {"-r --json a", `{"a":1}||{"a":2}|`, `{"a":2}|{"a":1}||`},
	} {
		out, errs, code := call(t, "sort", strings.ReplaceAll(c.in, "|", "\n"), strings.Fields(c.flags)...)
		if want := strings.ReplaceAll(c.want, "|", "\n"); out != want || errs != "" || code != 0 {
			t.Errorf("sort %s: %q, exit %d, %s; want %q", c.flags, out, code, errs, want)
		}
	}
	for _, flags := range []string{"--json a", "-c --json a", "-m --json a"} {
		if _, errs, code := call(t, "sort", "{\"a\":1}\n{\"a\":\n", strings.Fields(flags)...); code != 2 || !strings.Contains(errs, "is not JSON") {
			t.Errorf("sort %s: exit %d, %s", flags, code, errs)
		}
	}
}

func TestAKeyThatNoLineHasIsAnError(t *testing.T) {
	for _, flags := range []string{"--json a", "-m --json a"} {
		for in, want := range map[string]int{"": 0, "\n": 2, "\n\n": 2, " \n": 2, "\n{}\n": 2, "{}": 2, "\n{\"a\":1}\n": 0, "\xef\xbb\xbf\n": 2} {
			_, errs, code := call(t, "sort", in, strings.Fields(flags)...)
			if code != want {
				t.Errorf("sort %s of %q: %s, exit %d, want %d", flags, in, errs, code, want)
			}
		}
	}
	for _, flags := range []string{"--json b", "--json a --json b:n", "-m --json a.x", "--header 1 --json a.b", `--json "a.b"`} {
		out, errs, code := call(t, "sort", "{\"a\":1}\n{\"a\":2}\n", strings.Fields(flags)...)
		if out != "{\"a\":1}\n{\"a\":2}\n" || !strings.Contains(errs, "no line has this key") || code != 2 {
			t.Errorf("sort %s: %q, %s, exit %d", flags, out, errs, code)
		}
	}
	for _, c := range []struct{ tool, flags string }{
		{"sort", "--csv -k 3"}, {"sort", "--csv -k c"}, {"sort", "--csv --no-header -k a"}, {"count", "--csv -f 3"}, {"count", "--csv -f c"}, {"count", "--csv --no-header -f a"},
		{"sort", "--no-header"}, {"sort", "--lenient"}, {"sort", "--delimiter ;"}, {"count", "--lenient"}, {"sort", "--csv --header 1"}, {"sort", "-c --header 1"}, {"sort", "-m --header 1"}, {"sort", "--header 0"}, {"sort", "--header x"},
	} {
		if out, errs, code := call(t, c.tool, "a,b\n1,2\n", strings.Fields(c.flags)...); out != "" || errs == "" || code != 2 {
			t.Errorf("%s %s: %q, %s, exit %d", c.tool, c.flags, out, errs, code)
		}
	}
}

func TestAHeaderStaysFirst(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("z\ny\n0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ flags, in, want string }{
		{"--header 1", "z\nb\na\n", "z\na\nb\n"}, {"--header=2 -r", "z\ny\na\nb", "z\ny\nb\na\n"}, {"--header 3", "z\ny", "z\ny\n"}, {"--header 2147483647", "z\ny\n", "z\ny\n"}, {"--header 1", "", ""}, {"--header 1 -u", "a\na\na\n", "a\na\n"},
		{"--header 1 -z", "z\x00b\x00a", "z\x00a\x00b\x00"}, {"--header 2 - " + other, "z\ny\n1\n", "z\ny\n0\n1\n"}, {"--header 2 - " + other, "", "z\ny\n0\n"},
	} {
		if out, errs, code := call(t, "sort", c.in, strings.Fields(c.flags)...); out != c.want || errs != "" || code != 0 {
			t.Errorf("sort %s of %q: %q, exit %d, %s; want %q", c.flags, c.in, out, code, errs, c.want)
		}
	}
	if _, errs, code := call(t, "sort", "z\nx\n1\n", "--header", "2", "-", other); code != 2 || !strings.Contains(errs, "its header differs") {
		t.Errorf("another header: exit %d, %s", code, errs)
	}
	if _, errs, code := call(t, "sort", strings.Repeat("z", input.MostHeaderBytes+1), "--header", "1"); code != 2 || !strings.Contains(errs, "its header is longer than 16777216 bytes") {
		t.Errorf("a header without end: exit %d, %s", code, errs)
	}
}

// The first lines of a result are those of the whole result, also if their keys need more memory than a mapper has.
func TestTopIsTheBeginningOfTheResult(t *testing.T) {
	testkit.Check(t, func(r *rapid.T) {
		line, times := rapid.StringOfN(rapid.SampledFrom([]rune("ab 1,")), 0, 4, -1), rapid.SampledFrom([]int{1, 40, 80}).Draw(r, "times")
		if times == 1 && rapid.Bool().Draw(r, "long") {
			line = rapid.Map(line, func(s string) string { return s + strings.Repeat("x", 200<<10) })
		}
		text := strings.Repeat(strings.Join(rapid.SliceOfN(line, 1, 60).Draw(r, "lines"), "\n")+"\n", times)
		var args []string
		for _, flag := range []string{"-u", "-s", "-r", "-n", "-k2,2", "--header=2"} {
			if rapid.IntRange(0, 2).Draw(r, flag) == 2 {
				args = append(args, flag)
			}
		}
		n := rapid.IntRange(1, 70).Draw(r, "top")
		want, _, _ := call(t, "sort", text, args...)
		headed := map[bool]int{true: 2}[slices.Contains(args, "--header=2")]
		if lines := strings.SplitAfter(want, "\n"); len(lines) > n+headed {
			want = strings.Join(lines[:n+headed], "")
		}
		if got, trouble, code := call(t, "sort", text, append(args, "--top", fmt.Sprint(n))...); got != want || code != 0 {
			r.Fatalf("sort %q --top %d: %q %s, want %q", args, n, got, trouble, want)
		}
	})
	if _, trouble, code := call(t, "sort", "", "--top=1", "-c"); code != 2 || !strings.Contains(trouble, "--top, --check: give one of them, not both") {
		t.Errorf("%d %s", code, trouble)
	}
}

// Progress of the tools is that of run. --quiet is a flag of GNU grep.
func TestToolsTakeProgress(t *testing.T) {
	for _, flag := range []string{"--progress=plain", "--progress=json", "--progress=none", "--progress=auto", "--quiet"} {
		for _, name := range []string{"sort", "count"} {
			if out, trouble, code := call(t, name, "a\n", flag); !strings.HasSuffix(out, "a\n") || code != 0 {
				t.Errorf("%s %s: %q %s", name, flag, out, trouble)
			}
		}
	}
	if _, trouble, code := call(t, "grep", "a\n", "--progress=fast", "a"); code != 2 || !strings.Contains(trouble, "--progress: fast") {
		t.Errorf("%d %s", code, trouble)
	}
	if out, _, code := call(t, "grep", "a\n", "--quiet", "--progress=json", "a"); out != "" || code != 0 {
		t.Errorf("%d %s", code, out)
	}
}

func TestHelpFitsOneScreen(t *testing.T) {
	for _, name := range []string{"count", "grep", "sort"} {
		out, _, code := call(t, name, "", "--help")
		if lines := strings.Count(out, "\n"); code != 0 || lines > 50 || lines < 5 {
			t.Errorf("%s --help: %d lines, exit %d", name, lines, code)
		}
	}
}
