//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fullPipe returns the end of a pipe to which nothing more can be written.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	var ends [2]int
	if err := unix.Pipe(ends[:]); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(ends[0]), "read"), os.NewFile(uintptr(ends[1]), "write")
	t.Cleanup(func() { r.Close(); w.Close() })
	err := unix.SetNonblock(ends[1], true)
	for err == nil {
		_, err = unix.Write(ends[1], make([]byte, 4096))
	}
	for err == nil || errors.Is(err, unix.EAGAIN) { // the rest of the last page
		if _, err = unix.Write(ends[1], []byte{0}); errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	if err := unix.SetNonblock(ends[1], false); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestASignalRemovesAResultAlthoughNobodyReads what the run writes next to it. The run is in the middle
// of its input. A warning and 64 KiB of events wait to be written.
func TestASignalRemovesAResultAlthoughNobodyReads(t *testing.T) {
	for _, what := range []string{"stderr", "events and stderr"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			_, err := w.Write([]byte("x\n"))
			if err := errors.Join(err, w.Close(), os.WriteFile(filepath.Join(dir, "a.gz"), append(packed.Bytes(), "garbage"...), 0o600),
				os.WriteFile(filepath.Join(dir, "lines"), bytes.Repeat([]byte("0123456789abcde\n"), 32<<10), 0o600),
				syscall.Mkfifo(filepath.Join(dir, "events"), 0o600)); err != nil {
				t.Fatal(err)
			}
			args := []string{"run", "sort", "a.gz", "lines", "-", "--block-size", "1KiB", "--output", "out", "--reducers", "1", "--memory", "64MiB"}
			if what == "stderr" {
				args = append(args, "--progress", "json")
			} else {
				args = append(args, "--events", "events")
			}
			cmd := exec.Command("mrlocal", args...)
			cmd.Dir, cmd.Stderr = dir, fullPipe(t)
			in, err := cmd.StdinPipe() // it does not end
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			for tries := 0; ; tries++ {
				if _, err := os.Stat(filepath.Join(dir, "out", "_temporary")); err == nil {
					break
				} else if tries == 1000 {
					t.Fatal("there is no result")
				}
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(200 * time.Millisecond)
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait()
			timer.Stop()
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit code %d", code)
			}
			if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
				t.Error("the result is left")
			}
		})
	}
}
