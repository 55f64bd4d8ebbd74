package main

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrlocal/output"
	"mrlocal/view/viewtest"
	"mrlocal/view/web/lab"
)

// The page answers each question about a compressed event file as about a plain one.
func TestThePageReadsCompressedRuns(t *testing.T) {
	var plain []string
	for _, format := range []output.Format{output.None, output.Gzip, output.Zstd} {
		path := filepath.Join(t.TempDir(), "run.jsonl"+format.Suffix())
		text := viewtest.Runs()[0].Simulate(t).Events
		if format != output.None {
			var b bytes.Buffer
			c, err := output.NewCompressor(format, &b)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write(text); err != nil || c.Close() != nil {
				t.Fatal(err)
			}
			text = b.Bytes()
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		run, err := loadRun(path)
		if err != nil {
			t.Fatal(err)
		}
		l := &lab.Lab{}
		l.Add(run)
		var answers []string
		for _, q := range []string{"model", "curves", "why?seq=7", "idle?slot=1&at=1000000000"} {
			name, parameters, _ := strings.Cut(q, "?")
			values, err := url.ParseQuery(parameters + "&run=0")
			if err != nil {
				t.Fatal(err)
			}
			answer, err := l.Answer(t.Context(), name, values)
			if err != nil {
				t.Errorf("%s of %s: %v", q, path, err)
			}
			answers = append(answers, string(answer))
		}
		if plain == nil {
			plain = answers
		}
		for i := range answers {
			if answers[i] != plain[i] || answers[i] == "" {
				t.Errorf("answer %d of %s:\n%.300s\nwant\n%.300s", i, path, answers[i], plain[i])
			}
		}
	}
}
