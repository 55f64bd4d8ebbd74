package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mrlocal/internal/invariant"
	"mrlocal/internal/testkit"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mrlocal": main})
}

// TestScripts runs the scripts in testdata/script, which call the command as a
// user does. They have these commands in addition to those of testscript:
//
//	code N mrlocal ARG...    runs mrlocal and expects exit code N
//	bad REGEXP ARG...        mrlocal ARG... is wrong usage or input: exit code 2
//	fails REGEXP ARG...      mrlocal ARG... is a job that fails: exit code 3
//	                         both: one line on standard error that matches, nothing
//	                         on standard output, no file made or left
//	sh LINE                  runs LINE in a shell and expects exit code 0
//	socket PATH              makes a socket
//	interrupted SIG ARG...   signals mrlocal while it runs, with a standard input that does not end
//	readme [short]           runs the commands of README.md and docs/tour.md
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: false,
		UpdateScripts:       testkit.Rewrite(),
		Setup: func(env *testscript.Env) error {
			env.Setenv("LC_ALL", "C")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each command of a -race build takes a second to end
			repository, err := filepath.Abs("../..")
			env.Setenv("REPOSITORY", repository)
			return err
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "long":
				return testkit.Long(), nil
			case "mrjob":
				return exec.Command("python3", "-c", "import mrjob").Run() == nil, nil
			case "checked": // also each build with the race detector, which has memory of its own
				return invariant.Enabled, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code":        code,
			"bad":         func(ts *testscript.TestScript, neg bool, args []string) { refusedBy(ts, Usage, args) },
			"fails":       func(ts *testscript.TestScript, neg bool, args []string) { refusedBy(ts, Failed, args) },
			"sh":          shell,
			"socket":      socket,
			"interrupted": signalled,
			"readme":      readme,
		},
	})
}

func exitCodeOf(ts *testscript.TestScript, command string, args ...string) int {
	err := ts.Exec(command, args...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	ts.Fatalf("%s: %v", command, err)
	return -1
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitCodeOf(ts, args[1], args[2:]...); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// refusedBy checks that mrlocal refuses the arguments with one line, and leaves no file.
func refusedBy(ts *testscript.TestScript, want int, args []string) {
	message, err := regexp.Compile(args[0])
	ts.Check(err)
	before := tree(ts)
	got := exitCodeOf(ts, "mrlocal", args[1:]...)
	stderr, stdout := ts.ReadFile("stderr"), ts.ReadFile("stdout")
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	var errorLines []string
	for _, line := range strings.SplitAfter(stderr, "\n") {
		if strings.HasPrefix(line, "mrlocal: ") || line == "" {
			errorLines = append(errorLines, line)
			continue
		}
		ts.Fatalf("a line of standard error that is not a message: %q", line)
	}
	last := errorLines[len(errorLines)-2:] // the message and what follows its newline
	if last[1] != "" || !message.MatchString(last[0]) {
		ts.Fatalf("standard error %q does not end with a line like %q", stderr, args[0])
	}
	if want == Usage && len(errorLines) > 2 && !strings.Contains(stderr, "note") && !strings.Contains(stderr, "no -e PATTERN") {
		ts.Fatalf("more than one line on standard error: %q", stderr)
	}
	if stdout != "" {
		ts.Fatalf("standard output has %q", stdout)
	}
	if after := tree(ts); !slices.Equal(before, after) {
		ts.Fatalf("files before: %q\nfiles after: %q", before, after)
	}
}

// tree lists all files below the folder of the script, with its temporary folder.
func tree(ts *testscript.TestScript) []string {
	var all []string
	ts.Check(filepath.WalkDir(ts.Getenv("WORK"), func(path string, d fs.DirEntry, err error) error {
		if err == nil || errors.Is(err, fs.ErrPermission) {
			all = append(all, path)
			return nil
		}
		return err
	}))
	return all
}

func shell(ts *testscript.TestScript, neg bool, args []string) {
	if got := exitCodeOf(ts, "bash", "-c", strings.Join(args, " ")); (got == 0) == neg {
		ts.Fatalf("exit code %d", got)
	}
}

func socket(ts *testscript.TestScript, neg bool, args []string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: ts.MkAbs(args[0]), Net: "unix"})
	ts.Check(err)
	ts.Defer(func() { l.Close() })
}

// signalled starts mrlocal with a standard input that never ends, and sends it a signal. mrlocal
// must end in time with the right exit code, and leave no file. The documented bound is two
// seconds. The test allows four, for busy machines.
func signalled(ts *testscript.TestScript, neg bool, args []string) {
	sig, ok := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT}[args[0]]
	if !ok {
		ts.Fatalf("no signal %s", args[0])
	}
	if signal.Ignored(sig) && sig == syscall.SIGHUP {
		ts.Logf("the tests themselves run under nohup, which mrlocal heeds")
		return
	}
	before := tree(ts)
	cmd := exec.Command(mrlocalPath(ts), args[1:]...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = append(os.Environ(), "TMPDIR="+ts.Getenv("TMPDIR"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	wrote := make(chan struct{})
	go func() { // ends with the process, which may read it or not
		_, _ = in.Write(bytes.Repeat([]byte("a line\n"), 500_000))
		close(wrote)
	}()
	select {
	case <-wrote:
	case <-time.After(time.Second): // for what reads none of it
	}
	time.Sleep(300 * time.Millisecond)
	begun := time.Now()
	ts.Check(cmd.Process.Signal(sig))
	hangs := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	hangs.Stop()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 128+int(sig) {
		ts.Fatalf("ended with %v, want exit code %d; %s", err, 128+int(sig), stderr.String())
	}
	if d := time.Since(begun); d > 4*time.Second {
		ts.Fatalf("took %v to end", d)
	}
	if !strings.Contains(stderr.String(), "interrupted by SIG"+args[0]) {
		ts.Fatalf("standard error: %q", stderr.String())
	}
	if after := tree(ts); !slices.Equal(before, after) {
		ts.Fatalf("files before: %q\nfiles after: %q", before, after)
	}
}

func mrlocalPath(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, "mrlocal"); exists(p) {
			return p
		}
	}
	ts.Fatalf("no mrlocal in PATH")
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readme runs the lines of the shell blocks in README.md and then docs/tour.md that call mrlocal. It
// makes the text and the blocks of the workload file smaller, so that the test is fast. With the
// argument short it leaves out measurements, which take many runs.
func readme(ts *testscript.TestScript, neg bool, args []string) {
	var text string
	for _, page := range []string{"README.md", "docs/tour.md"} {
		b, err := os.ReadFile(filepath.Join(ts.Getenv("REPOSITORY"), page))
		ts.Check(err)
		text += string(b)
	}
	files, blocks := fenced(text, "yaml"), fenced(text, "sh")
	if len(files) != 1 || len(blocks) < 3 {
		ts.Fatalf("the pages have %d workload files and %d shell blocks", len(files), len(blocks))
	}
	ts.Check(os.WriteFile(ts.MkAbs("two.yaml"), []byte(strings.ReplaceAll(files[0], "1MiB", "128KiB")), 0o666))
	here := strings.NewReplacer("./mrlocal", "mrlocal", "--size 64MiB", "--size 1MiB", "-o measured.yaml", "-o measured.yaml --runs 1", "--runs 5", "--runs 1", "bench/workloads/", ts.Getenv("REPOSITORY")+"/bench/workloads/", "hadoop/wordcount/", ts.Getenv("REPOSITORY")+"/hadoop/wordcount/")
	ran := 0
	for _, line := range strings.Split(strings.ReplaceAll(strings.Join(blocks, "\n"), "\\\n", " "), "\n") { // a backslash continues a line
		if !strings.Contains(line, "mrlocal") || strings.HasPrefix(line, "go build") {
			continue
		}
		if len(args) > 0 && strings.Contains(line, "measured.yaml") {
			continue
		}
		if got := exitCodeOf(ts, "bash", "-c", here.Replace(line)); got != 0 {
			ts.Fatalf("%s: exit code %d", line, got)
		}
		ran++
	}
	if ran < 30 {
		ts.Fatalf("only %d commands in the pages", ran)
	}
}

// fenced returns the fenced blocks of a Markdown text that are in a language.
func fenced(text, language string) (blocks []string) {
	for {
		_, after, found := strings.Cut(text, "```"+language+"\n")
		if !found {
			return blocks
		}
		block, rest, _ := strings.Cut(after, "```\n")
		blocks, text = append(blocks, strings.TrimSpace(block)), rest
	}
}
