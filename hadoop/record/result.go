package main

import (
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
)

// result returns the text of the case file, with the results of a run: its exit code, its standard
// error, and the files in out/.
func (c *golden) result(code int, stderr string) ([]byte, error) {
	a := &txtar.Archive{Comment: c.about, Files: slices.Clone(c.given)}
	a.Files = append(a.Files, txtar.File{Name: "exit", Data: fmt.Appendf(nil, "%d\n", code)})
	out := filepath.Join(c.tmp, "out")
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		// A job that failed may have made no output.
		if errors.Is(err, fs.ErrNotExist) && path == out {
			return nil
		}
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") { // Hadoop's checksum files
			return err
		}
		data, err := content(path)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name(), err)
		}
		below, err := filepath.Rel(c.tmp, path)
		a.Files = append(a.Files, encode(filepath.ToSlash(below), c.withoutDirs(string(data))))
		return err
	})
	if err != nil {
		return nil, err
	}
	if lines := counters(stderr); code == 0 && lines != "" { // the counters of a failed job depend on chance
		a.Files = append(a.Files, txtar.File{Name: "counters", Data: []byte(lines)})
	}
	if lines := c.withoutDirs(message(stderr)); code != 0 && lines != "" {
		a.Files = append(a.Files, txtar.File{Name: "message", Data: []byte(lines)})
	}
	return txtar.Format(a), nil
}

// content returns the bytes of an output file, decompressed by its suffix. Compressed bytes depend
// on the version of a codec, so they are not recorded.
func content(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	switch filepath.Ext(path) {
	case ".gz":
		if r, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	case ".deflate":
		if r, err = zlib.NewReader(f); err != nil {
			return nil, err
		}
	case ".bz2":
		r = bzip2.NewReader(f)
	}
	return io.ReadAll(r)
}

// plain reports whether a section of a txtar file can hold text unchanged. It must be valid UTF-8
// with a newline at its end, and have no control characters that an editor may change.
func plain(text string) bool {
	return text == "" || utf8.ValidString(text) && strings.HasSuffix(text, "\n") && !strings.Contains("\n"+text, "\n-- ") &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == '\ufeff' })
}

// encode returns a section with text, in base64 if it is not plain.
func encode(name, text string) txtar.File {
	if plain(text) {
		return txtar.File{Name: name, Data: []byte(text)}
	}
	return txtar.File{Name: name + ".b64", Data: []byte(base64.StdEncoding.EncodeToString([]byte(text)) + "\n")}
}

// decode is the reverse of encode. It returns the name of a section without .b64, and its bytes.
func decode(f txtar.File) (string, []byte, error) {
	name, ok := strings.CutSuffix(f.Name, ".b64")
	if !ok {
		return f.Name, f.Data, nil
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(f.Data)), ""))
	if err != nil {
		err = fmt.Errorf("%s: %w", f.Name, err)
	}
	return name, data, err
}

// stable are the counters of Hadoop that depend on the job and its input alone. Others count time,
// memory, spills or bytes of files.
var stable = []string{
	"Map input records", "Map output records", "Combine input records", "Combine output records",
	"Reduce input groups", "Reduce input records", "Reduce output records",
}

// counters returns lines GROUP<TAB>NAME=VALUE, sorted, from the counters in Hadoop's standard
// error. They are the stable counters of the framework, and those of the commands.
func counters(stderr string) string {
	_, text, _ := strings.Cut(stderr, "mapreduce.Job: Counters: ")
	var lines []string
	group := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if pair, ok := strings.CutPrefix(line, "\t\t"); ok {
			name, _, _ := strings.Cut(pair, "=")
			switch group {
			case "Map-Reduce Framework":
				if !slices.Contains(stable, name) || strings.HasPrefix(pair, "Combine") && strings.HasSuffix(pair, "=0") {
					continue
				}
			case "File System Counters", "Shuffle Errors", "File Input Format Counters ", "File Output Format Counters ", "Job Counters ":
				continue
			}
			lines = append(lines, group+"\t"+pair+"\n")
		} else if g, ok := strings.CutPrefix(line, "\t"); ok {
			group = g
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// message returns the lines of Hadoop's standard error that say why a job failed. These are lines
// that hadoop-streaming logs as an error, or prints without the prefix of its log. An exception
// that ended the job gives two lines: its first line and the line of the root cause.
func message(stderr string) string {
	// A line of Hadoop's log: time, level, class, text.
	logged := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ ([A-Z]+) ([\w.]+): (.*)`)
	bare := regexp.MustCompile(`^(Streaming Command Failed!|Try -help |Required argument|Found \d+ unexpected|-\w+ ?: class not found|No Arguments Given|File: .* does not exist|Exception in thread "main"|You need to specify)`)
	// Two texts depend on chance and are replaced. One is the random part in names of attempts. The
	// other says whether Hadoop sees a child's exit or its closed pipe first.
	attempt := regexp.MustCompile(`attempt_local\d+_|job_local\d+_`)
	race := regexp.MustCompile(`subprocess (exited successfully|still running|exited with error code \d+)$`)
	var lines []string
	// failed says that the lines are those of the job's exception. first is its first line, and
	// cause the line of its root cause so far.
	failed, first, cause := false, "", ""
	// end appends the exception and the line behind it. It leaves out empty lines, and a cause that
	// repeats the end of the first line.
	end := func(line string) {
		if strings.HasSuffix(first, strings.TrimPrefix(cause, "Caused by: ")) {
			cause = ""
		}
		lines = slices.DeleteFunc(append(lines, first, cause, line), func(l string) bool { return l == "" })
		first, cause = "", ""
	}
	for line := range strings.Lines(stderr + "\n") {
		line = strings.TrimRight(line, "\n")
		m := logged.FindStringSubmatch(line)
		switch {
		case m != nil:
			failed = m[2] == "mapred.LocalJobRunner" && m[1] == "WARN"
			if m[1] == "ERROR" {
				end(m[3])
			}
		case bare.MatchString(line):
			end(line)
		case failed && first == "":
			first = attempt.ReplaceAllString(race.ReplaceAllString(line, "$${CHILD}"), "$${JOB}_")
		case failed && strings.HasPrefix(line, "Caused by: "):
			cause = race.ReplaceAllString(line, "$${CHILD}")
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
