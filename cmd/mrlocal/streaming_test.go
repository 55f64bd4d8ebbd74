package main

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"mrlocal/internal/testkit"
)

var goldenDir = flag.String("golden", "../../hadoop/streaming/testdata/golden", "directory of recorded cases")

// differs lists the recorded cases that have another result here on purpose, with the reason.
func differs() map[string]string {
	stays := "Hadoop's local runner leaves the parts of finished tasks; here a failed job leaves nothing half-written"
	native := "Maven's jars lack the native library of zstd; here it is built in"
	return map[string]string{
		"input-zst": native, "output-zst": native,
		"exit-other-parts-stay": stays, "exit-other-reduce-stays": stays, "reducer-without-input-fails": stays,
		"input-xml-slow": "slowmatch is refused by name",
	}
}

// hadoopCase is one recorded case: the input, and the output of Hadoop 3.4.2.
type hadoopCase struct {
	args          []string
	exit          string
	files         map[string]string // of the output, decompressed
	counters      []string
	message       []string
	in, out, work string // directories
}

// read writes the files of the case below dir.
func read(t *testing.T, path, dir string) *hadoopCase {
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &hadoopCase{files: map[string]string{}, in: filepath.Join(dir, "in"), out: filepath.Join(dir, "out"), work: filepath.Join(dir, "work")}
	place := strings.NewReplacer("$IN", c.in, "$OUT", c.out, "$WORK", c.work)
	for _, d := range []string{c.in, c.work} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range a.Files {
		name, data := f.Name, f.Data
		if n, ok := strings.CutSuffix(name, ".b64"); ok {
			name = n
			if data, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(data)), "")); err != nil {
				t.Fatal(err)
			}
		}
		switch lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"); {
		case name == "args" && len(data) == 0:
		case name == "args":
			for _, l := range lines {
				c.args = append(c.args, place.Replace(l))
			}
		case name == "exit":
			c.exit = lines[0]
		case name == "counters":
			c.counters = lines
		case name == "message":
			c.message = lines
		case strings.HasPrefix(name, "out/"):
			c.files[strings.TrimPrefix(name, "out/")] = string(data)
		default:
			to := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, []byte(place.Replace(string(data))), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// outputs reads the result, decompressed, with placeholders for the directories.
func (c *hadoopCase) outputs(t *testing.T) map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(c.out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := decompressed(path)
		name, _ := filepath.Rel(c.out, path)
		files[name] = c.placeless(string(data))
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	return files
}

func (c *hadoopCase) placeless(text string) string {
	return strings.NewReplacer(c.in, "$IN", c.out, "$OUT", c.work, "$WORK").Replace(text)
}

// counterLines returns the printed counters, as GROUP<TAB>NAME=VALUE.
func counterLines(stderr string) []string {
	var lines []string
	_, text, _ := strings.Cut(stderr, "Counters: ")
	group := ""
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		if pair, ok := strings.CutPrefix(l, "\t\t"); ok {
			if group == "Map-Reduce Framework" && (strings.HasPrefix(pair, "Shuffled") || strings.HasPrefix(pair, "Combine") && strings.HasSuffix(pair, "=0")) || group == "File Output Format Counters " {
				continue
			}
			lines = append(lines, group+"\t"+pair)
		} else if g, ok := strings.CutPrefix(l, "\t"); ok {
			group = g
		}
	}
	slices.Sort(lines)
	return lines
}

func TestStreamingDoesWhatHadoopDid(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(*goldenDir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("no recorded cases in " + *goldenDir)
	}
	reasons := differs()
	for i, p := range paths {
		if i%4 >= testkit.Rounds(4) {
			continue // most of the cases need -long
		}
		p, err := filepath.Abs(p)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(p), ".txtar")
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("python3"); err != nil && strings.HasPrefix(name, "py-") {
				t.Skip("there is no python3")
			}
			difference := compareRecorded(t, p)
			reason, differs := reasons[name]
			switch {
			case differs && difference == "":
				t.Errorf("is as Hadoop now; its reason goes: %s", reason)
			case !differs && difference != "":
				t.Error(difference)
			}
		})
	}
}

// compareRecorded runs a case and returns the differences from the output of Hadoop.
func compareRecorded(t *testing.T, path string) string {
	c := read(t, path, t.TempDir())
	if c.exit == "" {
		t.Skip("not recorded")
	}
	t.Chdir(c.work)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"streaming", "--attempts", "1", "--progress", "none"}, c.args...), Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: os.Getenv})
	var all strings.Builder
	if got := fmt.Sprint(code); got != c.exit {
		fmt.Fprintf(&all, "exit code %s, want %s\n", got, c.exit)
	}
	if d := cmp.Diff(c.files, c.outputs(t)); d != "" {
		fmt.Fprintf(&all, "files (-Hadoop +here):\n%s", d)
	}
	if c.exit == "0" {
		if d := cmp.Diff(c.counters, counterLines(stderr.String())); d != "" && len(c.counters) > 0 {
			fmt.Fprintf(&all, "counters (-Hadoop +here):\n%s", d)
		}
	}
	said := c.placeless(stderr.String())
	for _, l := range c.message {
		if !strings.HasPrefix(l, "java.") && !strings.HasPrefix(l, "Caused by") && !strings.HasPrefix(l, "Exception in") && !strings.Contains(said, l) {
			fmt.Fprintf(&all, "message %q is missing\n", l)
		}
	}
	if all.Len() > 0 {
		fmt.Fprintf(&all, "standard error:\n%s", said)
	}
	return all.String()
}
