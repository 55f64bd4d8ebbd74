//go:build unix

package tools

import (
	"strings"
	"testing"

	"github.com/creack/pty"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
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
		line, err := argv.ParseTool("grep", append(strings.Fields(flags), "pattern"), argv.Flags(grepFlags()))
		if err != nil {
			t.Fatal(err)
		}
		c := Call{Reader: argv.Reader{Line: line}, Env: command.Env{Stdout: tty, Getenv: func(string) string { return "" }}}
		if got := c.grepOptions().Color; got != want {
			t.Errorf("grep %s: colours are %v, want %v", flags, got, want)
		}
	}
}
