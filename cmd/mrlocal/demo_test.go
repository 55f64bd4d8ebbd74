package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"mrlocal/internal/testkit"
	"mrlocal/view/lesson"
)

// lessonOf returns a session with fast runs, and the buffer with its output.
func lessonOf(t *testing.T, name string) (*session, *bytes.Buffer) {
	t.Helper()
	l, err := lesson.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if l.Input != nil && l.Input.Wiki {
		if !testkit.Rewrite() {
			l.Input.Bytes = 4 << 20
		}
		t.Chdir(t.TempDir())
	}
	out := &bytes.Buffer{}
	c := &session{Env: Env{Stdout: out, Stderr: io.Discard, Getenv: os.Getenv}, lesson: l, fast: true, width: 79}
	cleanUp, err := c.prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cleanUp)
	return c, out
}

// Package lesson tests the simulated lessons. This lesson has real runs. Here they run without the
// slow disk.
func TestTheLessonOfRealRunsIsTrue(t *testing.T) {
	c, out := lessonOf(t, "spill")
	if err := c.teach(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if n := strings.Count(text, ": holds ("); n != 3 || strings.Contains(text, "does not hold") {
		t.Errorf("%d of 3 claims hold:\n%s", n, text)
	}
	if items := c.lesson.Items(c.models()); len(items) != len(c.lesson.Notes) {
		t.Errorf("%d of %d notes have their moment:\n%s", len(items), len(c.lesson.Notes), text)
	}
	// The claims compare runs with and without growth. With the settings of the first run for both,
	// they fail.
	c, out = lessonOf(t, "spill")
	c.lesson.Runs[1].Settings = c.lesson.Runs[0].Settings
	if err := c.teach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "does not hold") {
		t.Errorf("without growth:\n%s", out.String())
	}
}

// With -rewrite the lessons that read files are recorded, for pages that only simulate:
//
//	go test ./cmd/mrlocal -run TestLessonsAreRecorded -rewrite
func TestLessonsAreRecorded(t *testing.T) {
	if !testkit.Rewrite() {
		t.Skip("without -rewrite the recordings stay; package lesson tests them")
	}
	source, err := filepath.Abs("../../view/lesson")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"grep", "spill"} {
		c, _ := lessonOf(t, name)
		c.fast = false
		if err := c.teach(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, r := range c.runs {
			var packed bytes.Buffer
			out := gzip.NewWriter(&packed)
			if _, err := out.Write(r.file.Bytes()); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(out.Close(), os.WriteFile(filepath.Join(source, c.lesson.Recording(i)), packed.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The lesson without a name searches a directory that stays, and compares the results of its runs.
func TestTheFirstLessonComparesResults(t *testing.T) {
	c, out := lessonOf(t, lesson.Names()[0])
	c.ask = newAnswers(strings.NewReader("")) // it asks nothing, so no run is made before the first one
	if err := c.teach(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"made wiki/: 4.0 MiB of wiki articles", "Both gave the same ", "pi-dhfs lends slots: holds", "The first slot that pi-dhfs lent:", "Rule map-borrows"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if items := c.lesson.Items(c.models()); len(c.runs) != 2 || len(items) != len(c.lesson.Notes) {
		t.Errorf("%d runs, %d of %d notes have their moment", len(c.runs), len(items), len(c.lesson.Notes))
	}
	if _, err := c.runs[1].result[0].Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := c.outcomes(); err == nil || !strings.Contains(err.Error(), "fair and pi-dhfs gave different results") {
		t.Error(err)
	}
}

// The user answers before the run, and is told at once whether that was right. The gantt above the question ends
// before the decision.
func TestTheReaderPredictsFirst(t *testing.T) {
	c, out := lessonOf(t, "borrow")
	c.ask = newAnswers(strings.NewReader("9\n" + strings.Repeat("first ", 20_000) + "\n1\n1"))
	if err := c.teach(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	before, after, ok := strings.Cut(text, "Which slot is lent to a map?")
	if !ok || strings.Contains(before, "pi-dhfs lent the reduce slot") || !strings.Contains(before, "Until 0.0s:") {
		t.Errorf("before the question:\n%s", before)
	}
	if n := strings.Count(after, "slot, 0, 1 (Enter: show me): "); n != 4 { // two answers are not slots
		t.Errorf("%d prompts:\n%s", n, after)
	}
	first, second, _ := strings.Cut(strings.Join(strings.Fields(after), " "), "Until 6.0s:")
	if !strings.Contains(first, "You were right: slot 1. pi-dhfs lent the reduce slot") || !strings.Contains(second, "You chose slot 1, and it was slot 0. pi-dhfs lent the map slot") {
		t.Errorf("verdicts:\n%s", text)
	}
}

// If the input ends, the questions have no answers, and the lesson goes on.
func TestAReaderMayLeaveQuestionsOpen(t *testing.T) {
	c, out := lessonOf(t, "pools")
	c.ask = newAnswers(strings.NewReader(""))
	if err := c.teach(t.Context()); err != nil || !strings.Contains(out.String(), "\nIt was 2. pd-dhfs let") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// Without questions a note names the slots, but does not answer.
func TestANoteWithoutAQuestionIsNoAnswer(t *testing.T) {
	for name, want := range map[string]string{"borrow": "[DHFS13, Alg. 1]. (slot 1)", "pools": "[DHFS13, Alg. 2]. (slots 2, 4)"} {
		c, out := lessonOf(t, name)
		if err := c.teach(t.Context()); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		if strings.Contains(text, "It was slot") || strings.Contains(text, "It was 2") || !strings.Contains(text, want) {
			t.Errorf("%s: %q is missing, or a note answers:\n%s", name, want, out.String())
		}
	}
}

// The legend of a gantt names jobs. A job whose name is its letter would say nothing.
func TestJobsOfLessonsHaveNames(t *testing.T) {
	for _, name := range lesson.Names() {
		c, out := lessonOf(t, name)
		if err := c.teach(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, "A A\n") || strings.Contains(text, "A A  B B\n") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	c, _ := lessonOf(t, "borrow")
	silent, w := io.Pipe()
	defer w.Close()
	c.ask = newAnswers(bufio.NewReader(silent))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.teach(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestMistakesOfTheLine(t *testing.T) {
	for want, line := range map[string]string{
		"one word too many": "borrow pools",
		"no such lesson":    "lending",
		"one of real, fast": "borrow --speed slow",
		"needs --ui":        "borrow --addr 127.0.0.1:0",
	} {
		c := makeDemo(Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: os.Getenv})
		l, err := c.Parse(strings.Fields(line))
		if err == nil {
			_, err = c.Run(t.Context(), l)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
