//go:build unix

package streaming_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mrlocal/hadoop/streaming"
)

// heard collects the output of a command.
type heard struct {
	out        bytes.Buffer
	reads      int
	errorBytes int64
	alive      int
}

// begin starts a command that runs a script of the shell.
func begin(t *testing.T, ctx context.Context, script string) (*streaming.Process, *heard) {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	h := &heard{}
	p, err := streaming.Start(ctx, streaming.Config{
		Args: []string{sh, "-c", script}, Env: os.Environ(),
		Output: func(p []byte, _ bool) (int, error) { h.reads++; return h.out.Write(p) },
		Error:  func(p []byte) { h.errorBytes += int64(len(p)) },
		Alive:  func() { h.alive++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Abandon)
	return p, h
}

func TestACommandReadsAndWritesAtTheSameTime(t *testing.T) {
	for name, script := range map[string]string{
		"at the same time":       "cat",
		"writes before it reads": "awk 'BEGIN{for(i=0;i<40000;i++)print \"before\"}'; cat",
	} {
		t.Run(name, func(t *testing.T) {
			p, h := begin(t, t.Context(), script)
			line, n := []byte(strings.Repeat("x", 99)+"\n"), 20000
			for range n {
				if err := p.Write(line); err != nil {
					t.Fatal(err)
				}
			}
			code, err := p.Close()
			if err != nil || code != 0 {
				t.Fatalf("%d, %v", code, err)
			}
			if got := h.out.Len() - 7*bytes.Count(h.out.Bytes(), []byte("before\n")); got != n*len(line) {
				t.Errorf("%d bytes came back, want %d", got, n*len(line))
			}
			if h.alive == 0 {
				t.Error("no sign of life")
			}
		})
	}
}

// TestRecordsThatAreWrittenOneByOneAreReadTogether: a read at most each millisecond, and some for each page.
func TestRecordsThatAreWrittenOneByOneAreReadTogether(t *testing.T) {
	p, h := begin(t, t.Context(), "awk '{ print; fflush() }'")
	line, n, start := []byte("x\n"), 200_000, time.Now()
	for range n {
		if err := p.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if code, err := p.Close(); err != nil || code != 0 || h.out.Len() != n*len(line) {
		t.Fatalf("%d, %v, %d bytes came back", code, err, h.out.Len())
	}
	if most := int(time.Since(start).Milliseconds()) + 8*h.out.Len()/4096; h.reads > most {
		t.Errorf("%d reads of %d lines, want at most %d", h.reads, n, most)
	}
}

func TestExitCodesAreThoseOfJava(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "read x; exit 1": 1, "exit 77": 77, "kill -TERM $$": 128 + 15, "kill -9 $$": 128 + 9} {
		p, _ := begin(t, t.Context(), script)
		_ = p.Write([]byte("x\n"))
		if code, err := p.Close(); err != nil || code != want {
			t.Errorf("%s: %d, %v; want %d", script, code, err, want)
		}
	}
}

// Writes that are longer than the buffer, and shorter ones between them, arrive in order.
func TestPiecesOfAnyLengthAreWritten(t *testing.T) {
	p, h := begin(t, t.Context(), "cat")
	var want []byte
	for i, n := range []int{1, streaming.PipeBytes, 300_000, 5, streaming.PipeBytes - 5, 300_000, 300_000, streaming.PipeBytes - 1, 2, 7} {
		piece := bytes.Repeat([]byte{byte('a' + i)}, n)
		want = append(want, piece...)
		if err := p.Write(piece); err != nil {
			t.Fatal(err)
		}
		clear(piece) // it was borrowed
	}
	if code, err := p.Close(); err != nil || code != 0 {
		t.Fatal(code, err)
	}
	if !bytes.Equal(h.out.Bytes(), want) {
		t.Errorf("%d bytes came back, not the %d that were written", h.out.Len(), len(want))
	}
}

func TestACommandThatStopsReadingHasClosedItsInputEarly(t *testing.T) {
	p, h := begin(t, t.Context(), "head -n 1; exec <&-; sleep 0.05")
	data := bytes.Repeat([]byte("0123456789abcde\n"), 64<<10)
	err := p.Write(data)
	if !errors.Is(err, streaming.ErrClosed) {
		t.Errorf("1 MiB to a command that wants a line: %v", err)
	}
	code, err := p.Close()
	if err != nil || code != 0 || h.out.String() != "0123456789abcde\n" {
		t.Errorf("%d, %v, %q", code, err, h.out.String())
	}
	p, _ = begin(t, t.Context(), "exec <&-; sleep 0.05") // less than the buffer is written only at the end
	if err := p.Write([]byte("a line\n")); err != nil {
		t.Error(err)
	}
	if _, err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestMuchOnStandardErrorIsReadAndNotKept(t *testing.T) {
	p, h := begin(t, t.Context(), "head -c 100000000 /dev/zero >&2; cat")
	if err := p.Write([]byte("x\n")); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	code, err := p.Close()
	runtime.ReadMemStats(&after)
	if err != nil || code != 0 || h.errorBytes != 100000000 || h.out.String() != "x\n" {
		t.Errorf("%d, %v, %d bytes of errors, output %q", code, err, h.errorBytes, h.out.String())
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 200 {
		if err := syscall.Kill(pid, 0); err != nil {
			return
		}
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && bytes.Contains(state, []byte(") Z ")) {
			return // it has ended, and its parent, the system, has not reaped it yet
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

func TestTheEndOfTheContextKillsTheWholeGroup(t *testing.T) {
	note := filepath.Join(t.TempDir(), "pid")
	for name, script := range map[string]string{
		"a command that hangs":                      "echo $$ > " + note + "; sleep 1000",
		"a grandchild that holds the pipes":         "sleep 1000 & echo $! > " + note + "; exit 0",
		"one that ignores signals":                  "trap '' TERM INT HUP; echo $$ > " + note + "; while :; do sleep 1; done",
		"one that has closed its output, and hangs": "echo $$ > " + note + "; exec >&- 2>&-; sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			cause := errors.New("the attempt was killed")
			ctx, cancel := context.WithCancelCause(t.Context())
			p, _ := begin(t, ctx, script)
			var pid int
			for range 500 {
				text, _ := os.ReadFile(note)
				if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
					pid = n
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			_ = os.Remove(note)
			time.AfterFunc(30*time.Millisecond, func() { cancel(cause) })
			if _, err := p.Close(); !errors.Is(err, cause) {
				t.Errorf("%v, want %v", err, cause)
			}
			gone(t, pid)
		})
	}
}

func TestWhatACommandLeavesBehindEndsWithIt(t *testing.T) {
	p, h := begin(t, t.Context(), "sleep 1000 >/dev/null 2>&1 </dev/null & echo $!")
	code, err := p.Close()
	if err != nil || code != 0 {
		t.Fatalf("%d, %v", code, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(h.out.String()))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

// TestACommandEndsWithUs starts a process that runs a command, which never reads its input, and kills
// the process.
func TestACommandEndsWithUs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux notifies a command of the death of its parent")
	}
	const inside = "MRLOCAL_TEST_COMMAND_ENDS_WITH_US"
	if os.Getenv(inside) != "" {
		runtime.LockOSThread()
		p, err := streaming.Start(t.Context(), streaming.Config{Args: []string{"/bin/sh", "-c", "echo $$; exec sleep 1000"}, Output: func(p []byte, _ bool) (int, error) { return os.Stdout.Write(p) }})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = p.Close()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestACommandEndsWithUs$")
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	_, err = fmt.Fscan(out, &pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

func TestAnErrorOfTheReaderKillsTheCommand(t *testing.T) {
	wrong := errors.New("wrong")
	p, err := streaming.Start(t.Context(), streaming.Config{Args: []string{"/bin/sh", "-c", "while :; do echo y; done"}, Output: func([]byte, bool) (int, error) { return 0, wrong }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Abandon()
	if _, err := p.Close(); !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
}

func TestALongRecordAsksForMemory(t *testing.T) {
	asked := int64(0)
	full := errors.New("full")
	p, err := streaming.Start(t.Context(), streaming.Config{Args: []string{"/bin/sh", "-c", "head -c 1000000 /dev/zero"}, Charge: func(n int64) error {
		if asked += n; asked > 300_000 {
			return full
		}
		return nil
	}, Output: func(p []byte, ended bool) (int, error) {
		if ended {
			return len(p), nil
		}
		return 0, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Abandon()
	if _, err := p.Close(); !errors.Is(err, full) {
		t.Errorf("%v after %d bytes", err, asked)
	}
}

func TestAProgramThatIsNotThereIsNamed(t *testing.T) {
	_, err := streaming.Start(t.Context(), streaming.Config{Args: []string{"/no/such/program"}})
	if err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("%v", err)
	}
}

// TestWhatIsLeftBehindHoldsNothingUp runs commands that end while their background processes still
// hold all three pipes open.
func TestWhatIsLeftBehindHoldsNothingUp(t *testing.T) {
	for name, script := range map[string]string{"reads": "cat; sleep 60 & printf end", "reads nothing": "sleep 60 <&0 & printf end"} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			p, h := begin(t, t.Context(), script)
			for range 64 {
				if err := p.Write(make([]byte, 16<<10)); err != nil {
					break
				}
			}
			code, err := p.Close()
			if err != nil || code != 0 || !strings.HasSuffix(h.out.String(), "end") {
				t.Errorf("%d, %v, %d bytes", code, err, h.out.Len())
			}
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
