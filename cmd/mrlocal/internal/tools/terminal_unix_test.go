//go:build unix

package tools

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/show"
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
		line, err := command.ParseTool("grep", append(strings.Fields(flags), "pattern"), grepFlags())
		if err != nil {
			t.Fatal(err)
		}
		c := Call{Reader: argv.Reader{Line: line}, Env: command.Env{Stdout: tty, Getenv: func(string) string { return "" }}}
		if got := c.grepOptions().Color; got != want {
			t.Errorf("grep %s: colours are %v, want %v", flags, got, want)
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
	c := &Call{name: "grep", Env: command.Env{Stderr: &direct}, complaining: &sync.Mutex{}, screen: show.NewQuietScreen(tty, false)}
	c.complain(errors.New("a mistake"))
	got := make([]byte, 100)
	n, _ := p.Read(got)
	if text := string(got[:n]); direct.Len() > 0 || text != "mrlocal: grep: a mistake\r\n" {
		t.Errorf("past the screen %q, on the screen %q", &direct, text)
	}
}
