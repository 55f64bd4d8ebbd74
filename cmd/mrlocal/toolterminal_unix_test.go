//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"

	"mrlocal"
	"mrlocal/internal/term"
)

// TestTheLastColorWins shows that both spellings of --color are one flag on a terminal.
func TestTheLastColorWins(t *testing.T) {
	p, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	defer p.Close()
	defer tty.Close()
	for flags, want := range map[string]bool{
		"":                              true,
		"--color=never":                 false,
		"--colour=never":                false,
		"--colour=auto":                 true,
		"--color=always --colour=never": false,
		"--colour=always --color=never": false,
		"--color=never --colour=always": true,
		"--colour=never --color=auto":   true,
		"--color=always --color=never":  false,
	} {
		e := Env{Stdin: strings.NewReader("a line\n"), Stdout: tty, Stderr: io.Discard, Getenv: func(string) string { return "" }}
		code := runTool(context.Background(), "grep", append(strings.Fields(flags), "line"), e, mrlocal.Options{NoPin: true})
		out := make([]byte, 100)
		n, err := p.Read(out)
		if got := bytes.Contains(out[:n], []byte("\x1b[")); got != want || code != 0 || err != nil {
			t.Errorf("grep %s: colours are %v, want %v; exit %d, %v", flags, got, want, code, err)
		}
	}
}

// TestAMistakeGoesThroughTheScreen: an error during a run removes the line of progress first.
func TestAMistakeGoesThroughTheScreen(t *testing.T) {
	var direct bytes.Buffer
	p, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	defer p.Close()
	defer tty.Close()
	c := &tool{name: "grep", Env: Env{Stderr: &direct}, screen: term.NewQuietScreen(tty, false, noteLine)}
	c.complain(errors.New("a mistake"))
	got := make([]byte, 100)
	n, _ := p.Read(got)
	if text := string(got[:n]); direct.Len() > 0 || text != "mrlocal: grep: a mistake\r\n" {
		t.Errorf("past the screen %q, on the screen %q", &direct, text)
	}
}
