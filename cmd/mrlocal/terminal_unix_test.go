//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// terminalWorkload returns a workload that runs for about a second on any machine. If fail is 9,
// its task fails in all attempts.
const terminalWorkload = `cluster: {trackers: 1, map_slots: 2, reduce_slots: 1}
defaults: {map_time: 300ms, reduce_time: 100ms}
jobs:
  - {name: alpha, job: sleep, maps: 12, reduces: 1}
  - {name: beta, job: sleep, maps: 2, reduces: 1}
`

// ptySession is mrlocal on a terminal of 80 columns and 24 rows.
type ptySession struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File

	mu      sync.Mutex // of screen and written
	screen  vt10x.Terminal
	written strings.Builder
	done    chan struct{}
}

// onTerminal starts mrlocal batch on workload.
func onTerminal(t *testing.T, workload string, env []string, args ...string) *ptySession {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w.yaml"), []byte(workload), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &ptySession{t: t, screen: vt10x.New(vt10x.WithSize(80, 24)), done: make(chan struct{})}
	s.cmd = exec.Command("mrlocal", append([]string{"batch", "w.yaml", "--report", os.DevNull}, args...)...)
	s.cmd.Dir, s.cmd.Env = dir, append(append(os.Environ(), "TERM=xterm", "LC_ALL=C.UTF-8", "NO_COLOR="), env...)
	tty, err := pty.StartWithSize(s.cmd, &pty.Winsize{Cols: 80, Rows: 24})
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	s.tty = tty
	go func() {
		defer close(s.done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			s.mu.Lock()
			_, _ = s.screen.Write(buf[:n])
			s.written.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// text returns what is on the screen, without blanks at the ends of lines.
func (s *ptySession) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, line := range strings.Split(s.screen.String(), "\n") {
		lines = append(lines, strings.TrimRight(line, " \x00"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func (s *ptySession) wait(text string) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(s.text(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%q never appears:\n%s", text, s.text())
		}
	}
}

// end waits for the command. It returns the exit code, the text on the screen, and all bytes that
// were written to the terminal.
func (s *ptySession) end() (code int, screen, written string) {
	s.t.Helper()
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	// A read fails after the last process has closed its side of the terminal.
	<-s.done
	_ = s.tty.Close()
	return s.cmd.ProcessState.ExitCode(), s.text(), s.written.String()
}

func TestABatchOnATerminalShowsABlockAndRemovesIt(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, terminalWorkload, nil)
	for _, text := range []string{"pi-dhfs  ", "of 2 jobs ended", "alpha               map    [#", "slots  MMm", " leased  temp 0 B"} {
		s.wait(text)
	}
	code, screen, written := s.end()
	// The table of a run of more than two seconds may stay.
	if code != Done || strings.Contains(screen, "slots  ") || strings.Contains(screen, "[#") {
		t.Errorf("exit code %d:\n%s", code, screen)
	}
	if !strings.Contains(written, "\x1b[7mm\x1b[0m") || strings.Contains(written, "\x1b[?") {
		t.Errorf("no inverse cell, or a mode of the terminal was changed: %q", written)
	}
}

func TestCtrlCRemovesTheBlock(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, strings.Replace(terminalWorkload, "maps: 12", "maps: 1200", 1), nil)
	s.wait("slots  MMm")
	if _, err := s.tty.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	code, screen, _ := s.end()
	if code != 130 || screen != "mrlocal: batch: interrupted by SIGINT" {
		t.Errorf("exit code %d:\n%s", code, screen)
	}
}

func TestAFailingJobRemovesTheBlock(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, terminalWorkload+"faults: [{task: alpha/m/5, fail: 9}]\n", []string{"NO_COLOR=1"})
	s.wait("slots  MMm")
	code, screen, written := s.end()
	if code != Failed || !strings.HasPrefix(screen, "mrlocal: batch: pi-dhfs: 1 of 2 jobs failed: alpha") || strings.Contains(screen, "slots  ") {
		t.Errorf("exit code %d:\n%s", code, screen)
	}
	if strings.Contains(written, "\x1b[7m") {
		t.Error("inverse cells with NO_COLOR")
	}
}

func TestADumbTerminalGetsNoEscapes(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, terminalWorkload, []string{"TERM=dumb"})
	if code, screen, written := s.end(); code != Done || strings.Contains(written, "\x1b") {
		t.Errorf("exit code %d, %q:\n%s", code, written, screen)
	}
}

// Each line of --progress json is a JSON object, and the last one is marked as the last.
func TestProgressForPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w.yaml"), []byte(terminalWorkload), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mrlocal", "batch", "w.yaml", "--report", os.DevNull, "--progress", "json")
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	type line struct {
		Kind      string
		AtSeconds float64 `json:"at_s"`
		JobsEnded int     `json:"jobs_ended"`
		Last      bool
		Jobs      []struct {
			Name string
			Maps struct{ Total, Done int }
		}
	}
	var last line
	names := map[string]bool{}
	for text := range strings.Lines(stderr.String()) {
		l := line{}
		if err := json.Unmarshal([]byte(text), &l); err != nil || l.Kind != "progress" || last.Last || l.AtSeconds < last.AtSeconds {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		for _, j := range l.Jobs {
			names[j.Name] = true
		}
		last = l
	}
	if !last.Last || last.JobsEnded != 2 || !names["alpha"] || !names["beta"] {
		t.Errorf("the last object: %+v of %s", last, stderr.String())
	}
}
