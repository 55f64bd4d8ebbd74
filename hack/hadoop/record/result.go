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

// result returns the text of the case with what came out. Counters are recorded for jobs
// that succeed, and messages for jobs that fail.
func (c *golden) result(code int, stderr string) ([]byte, error) {
	a := &txtar.Archive{Comment: c.about, Files: slices.Clone(c.given)}
	a.Files = append(a.Files, txtar.File{Name: "exit", Data: fmt.Appendf(nil, "%d\n", code)})
	out := filepath.Join(c.tmp, "out")
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		// A job that failed may have made no output.
		if errors.Is(err, fs.ErrNotExist) && path == out {
			return nil
		}
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") { // checksums of the local file system
			return err
		}
		data, err := content(path)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name(), err)
		}
		below, err := filepath.Rel(c.tmp, path)
		a.Files = append(a.Files, encode(filepath.ToSlash(below), c.placeless(string(data))))
		return err
	})
	if err != nil {
		return nil, err
	}
	if lines := counters(stderr); code == 0 && lines != "" { // of failed tasks Hadoop counts what it happened to see
		a.Files = append(a.Files, txtar.File{Name: "counters", Data: []byte(lines)})
	}
	if lines := c.placeless(message(stderr)); code != 0 && lines != "" {
		a.Files = append(a.Files, txtar.File{Name: "message", Data: []byte(lines)})
	}
	return txtar.Format(a), nil
}

// content returns an output, decompressed by its suffix. Compressed bytes depend on the
// version of a codec, so they are no golden result.
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

// plain is text that a txtar file keeps as it is, in an editor too.
func plain(text string) bool {
	return text == "" || utf8.ValidString(text) && strings.HasSuffix(text, "\n") && !strings.Contains("\n"+text, "\n-- ") &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == '\ufeff' })
}

func encode(name, text string) txtar.File {
	if plain(text) {
		return txtar.File{Name: name, Data: []byte(text)}
	}
	return txtar.File{Name: name + ".b64", Data: []byte(base64.StdEncoding.EncodeToString([]byte(text)) + "\n")}
}

// decode is the reverse of encode: it returns the name of a section without .b64, and its bytes.
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

// stable reports whether a counter of Hadoop's own depends on the job alone. Others count
// time, memory, spills or bytes of files.
func stable(name string) bool {
	switch name {
	case "Map input records", "Map output records", "Combine input records", "Combine output records",
		"Reduce input groups", "Reduce input records", "Reduce output records":
		return true
	}
	return false
}

// counters are the lines GROUP<TAB>NAME=VALUE of what the job printed when it
// ended, sorted: those of the framework that are stable, and the user's.
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
				if !stable(name) || strings.HasPrefix(pair, "Combine") && strings.HasSuffix(pair, "=0") {
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

// message returns the lines that say why a job failed. They are those that
// hadoop-streaming logs as an error or prints without a log's prefix. Of the exception
// that ended a job of the local runner they are its first line and that of its root
// cause.
func message(stderr string) string {
	// A line of Hadoop's log: time, level, class, text.
	logged := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ ([A-Z]+) ([\w.]+): (.*)`)
	bare := regexp.MustCompile(`^(Streaming Command Failed!|Try -help |Required argument|Found \d+ unexpected|-\w+ ?: class not found|No Arguments Given|File: .* does not exist|Exception in thread "main"|You need to specify)`)
	// Names of attempts have a random part, and whether a child's exit or its closed pipe is seen
	// first is chance. Both are replaced.
	attempt := regexp.MustCompile(`attempt_local\d+_|job_local\d+_`)
	race := regexp.MustCompile(`subprocess (exited successfully|still running|exited with error code \d+)$`) // who was first
	var lines []string
	failed, first, cause := false, "", "" // inside the job's exception: its first line, its root's
	for line := range strings.Lines(stderr + "\n") {
		line = strings.TrimRight(line, "\n")
		m := logged.FindStringSubmatch(line)
		switch {
		case m != nil:
			failed = m[2] == "mapred.LocalJobRunner" && m[1] == "WARN"
			if m[1] == "ERROR" {
				lines = appendNew(lines, first, cause, m[3])
				first, cause = "", ""
			}
		case bare.MatchString(line):
			lines = appendNew(lines, first, cause, line)
			first, cause = "", ""
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

// appendNew appends an exception's first line, its root cause, and a line. It leaves out
// empty ones, and a cause that says what the exception's first line said.
func appendNew(lines []string, first, cause, line string) []string {
	if strings.HasSuffix(first, strings.TrimPrefix(cause, "Caused by: ")) {
		cause = ""
	}
	for _, l := range []string{first, cause, line} {
		if l != "" {
			lines = append(lines, l)
		}
	}
	return lines
}
