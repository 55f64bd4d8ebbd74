package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/testkit"
)

// everyday is a pair of command lines, one with mrlocal and one with its peer.
type everyday struct {
	ours, peer string
	differs    string // why the two differ; "": they must not
}

// readEveryday reads testdata/everyday.txt.
func readEveryday(t *testing.T) []everyday {
	text, err := os.ReadFile("testdata/everyday.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []everyday
	reason := ""
	for line := range strings.SplitSeq(string(text), "\n") {
		why, differs := strings.CutPrefix(line, "differs: ")
		switch {
		case line == "" || line[0] == '#':
		case differs:
			reason = why
		case line[0] == '\t':
			all[len(all)-1].peer = line[1:]
		default:
			all = append(all, everyday{ours: line, peer: strings.ReplaceAll(line, "mrlocal ", ""), differs: reason})
			reason = ""
		}
	}
	return all
}

// programs matches the first word of each command of a pipeline.
var programs = regexp.MustCompile(`(?:^|\| |&& )(\w+)`)

// TestEverydayCommands runs the pairs of testdata/everyday.txt in a shell, side by side. Without -long it runs every
// other pair.
func TestEverydayCommands(t *testing.T) {
	pairs := readEveryday(t)
	if len(pairs) < 60 {
		t.Fatalf("%d pairs of commands", len(pairs))
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash to run the commands")
	}
	d, missing := &directory{base: t.TempDir(), files: everydayFiles(60)}, map[string]bool{}
	for i, p := range pairs {
		if i%2 > 0 && !testkit.Long() {
			continue
		}
		t.Run(fmt.Sprint(i, " ", p.ours), func(t *testing.T) {
			for _, m := range programs.FindAllStringSubmatch(p.ours+" && "+p.peer, -1) {
				if _, seen := missing[m[1]]; !seen {
					missing[m[1]] = isMissing(m[1])
				}
				if missing[m[1]] {
					t.Skipf("%s is not installed, or of another make", m[1])
				}
			}
			got, want := d.runLine(t, p.ours), d.runLine(t, p.peer)
			switch same := got == want; {
			case same && p.differs != "":
				t.Logf("the same with this release of the peer: %s", p.differs)
			case !same && p.differs == "":
				t.Errorf("%s\n%+v\n%s\n%+v", p.ours, got, p.peer, want)
			}
		})
	}
}

// isMissing reports whether the program of that name is missing, or is another one than that of GNU.
func isMissing(name string) bool {
	if name == "cd" { // a word of the shell
		return false
	}
	path, err := exec.LookPath(name)
	if err == nil && slices.Contains([]string{"sort", "uniq", "cut", "tr", "head", "grep"}, name) {
		var version []byte
		if version, err = exec.Command(path, "--version").Output(); err == nil && !bytes.Contains(version, []byte("GNU")) {
			return true
		}
	}
	return err != nil
}

// outcome is the result of a command line.
type outcome struct {
	stdout   string
	code     int
	complain bool // standard error is not empty
}

// directory has these files, and no others, when a line begins. Few lines change a file, and to make
// all files again for each line would take most of the time of the test.
type directory struct {
	base  string // where it is made
	files map[string]string
	path  string   // "": it must be made
	held  []string // what listing returns for the files
}

// runLine runs a line in a shell, in the directory.
func (d *directory) runLine(t *testing.T, line string) outcome {
	t.Helper()
	if d.path == "" {
		path, err := os.MkdirTemp(d.base, "")
		if err != nil {
			t.Fatal(err)
		}
		d.path = writeFiles(t, path, d.files)
		d.held = listing(t, d.path)
	}
	o := runLineIn(t, d.path, line, os.Getenv("PATH"))
	if !slices.Equal(listing(t, d.path), d.held) {
		d.path = ""
	}
	return o
}

// listing returns the path, the mode, the size and the time of each file and directory below dir.
func listing(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		info, err := os.Lstat(path)
		if err == nil {
			all = append(all, fmt.Sprint(path, info.Mode(), info.Size(), info.ModTime()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// writeFiles writes the files into a temporary directory and returns its path.
func writeFiles(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func runLineIn(t *testing.T, dir, line, path string) outcome {
	t.Helper()
	c := exec.Command("bash", "-c", line)
	c.Dir, c.Env = dir, append(os.Environ(), "PATH="+path, "LC_ALL=C", "GORACE=atexit_sleep_ms=0", "TERM=xterm", "GREP_COLORS=")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{stdout.String(), c.ProcessState.ExitCode(), stderr.Len() > 0}
}

// everydayFiles returns the texts of the files that the commands read, by name. Files with data have a
// little more than the given number of lines.
func everydayFiles(lines int) map[string]string {
	var numbers, sizes, log, tabs, text strings.Builder
	for i := range lines {
		n := (i*7919 + 13) % (lines + 1)
		fmt.Fprintf(&numbers, "%d.%d\n", n*n-900, i%4)
		fmt.Fprintf(&sizes, "%d%s\tfile-%d\n", n*37%1024, []string{"", "K", "M", "G"}[i%4], n)
		fmt.Fprintf(&log, "%s user%d %s: line a.b %d\n", []string{"mon", "tue", "wed"}[i%3], n%5, []string{"error", "info", "warn", "info", "info"}[i%5], n%9)
		fmt.Fprintf(&tabs, "name %d\t%d\tx\n", n%7, n%11)
		fmt.Fprintf(&text, "%s %d Of  %s%d\n", []string{"Alpha", "beta", "alpha", "gamma"}[n%4], n%13, []string{"x", "Y"}[n%2], n%3)
	}
	return map[string]string{
		"text": text.String() + "\n\nlast line without its newline", "numbers": numbers.String() + "x\n-\n.5\n", "sizes": sizes.String(), "log": log.String() + "ok\nnot ok\nERROR\n",
		"tabs": tabs.String() + "no tab\n", "empty": "", "crlf": "b\r\na\r\n\r\n", "floats": "1e3\n-2.5e-1\n0x10\nnan\n-inf\ninf\n\nabc\n1E+2\n",
		"versions": "v1.10\nv1.9\nv1.9~rc1\n1.0.0\nfile-2.tar.gz\nfile-10.tar.gz\n", "months": "Mar 3\nJan 10\nfeb 2\nJan 9\nnever 1\nDEC 31\n",
		"people.csv": "ann,paris,41\nbob,rome,7\ncyd,paris,100\nann,oslo,7\nnobody\n", "passwd": "root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000::/home/ann:/bin/zsh\nbin:x:2:2::/bin:/bin/bash\n",
		"sorted": "a\nb\nd\n", "sorted2": "a\nc\ne\n", "twice": "a\na\nb\n", "names0": "b line\x00a\nline\x00b line\x00c", "fields0": "a\x00z\nb\x00y\n",
		"patterns": "error\nwarn\n", "flags": "-x\n-y\n", "binary": "text 1\n\x00\x01\ntext 1\n",
		"tree/main.go": "package main\n\n// TODO: more\nfunc main() {\n\tx.(y)\n}\n", "tree/lib/util.go": "package lib // TODO\n\nfunc Util() {} // todo\n",
		"tree/lib/util.py": "# TODO python\n# Todo\n", "tree/vendor/v.go": "// TODO vendor\n", "tree/docs/a.md": "TODO in words\nTODO again\n\nend\nTODO last", "tree/.hidden.go": "// TODO hidden\n",
		"tree/.secret/s.txt": "TODO secret\n", "tree/.gitignore": "*.log\nbuild/\n", "tree/.ignore": "ignored.txt\n", "tree/x.log": "TODO logged\n", "tree/build/b.go": "// TODO built\n",
		"tree/ignored.txt": "TODO ignored\n", "tree/bin.dat": "no\x00thing\n", "tree/docs/.gitignore": "!keep.log\n", "tree/docs/keep.log": "TODO kept\n",
	}
}
