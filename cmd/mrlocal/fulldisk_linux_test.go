package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mrlocal/cmd/mrlocal/internal/command"
)

// A disk becomes full with spills, results and a journal. The command then fails with the cause and
// leaves no files. Another temporary directory helps, and --resume goes on when there is room
// again.
func TestAFullDisk(t *testing.T) {
	small, dir := t.TempDir(), t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(small, unix.MNT_DETACH) })
	input, lines := filepath.Join(dir, "in"), []string{}
	for r := rand.New(rand.NewPCG(1, 2)); len(lines) < 160_000; {
		lines = append(lines, fmt.Sprintf("%016x%016x\n", r.Uint64(), r.Uint64()))
	}
	if err := os.WriteFile(input, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	sorted, out := []byte(strings.Join(lines, "")), filepath.Join(dir, "out")
	t.Chdir(dir)
	spilling := []string{"run", "sort", input, "--memory", "16MiB", "--sort-buffer", "64KiB", "--buffer-growth", "off", "--block-size", "256KiB", "--compress", "none", "--progress", "none"}
	command := func(code int, says string, words ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if got := run(t.Context(), words, command.Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: os.Getenv}); got != code || !strings.Contains(stderr.String(), says) || stdout.Len() > 0 {
			t.Errorf("%q: code %d, want %d and %q: %s", words, got, code, says, &stderr)
		}
		_, err := os.Stat(out)
		if result, _ := os.ReadFile(out); code == 0 && !bytes.Equal(result, sorted) || code != 0 && err == nil {
			t.Errorf("%q: %d bytes, want %d with code %d", words, len(result), len(sorted), code)
		}
		_ = os.Remove(out)
	}
	empty := func() {
		t.Helper()
		if entries, err := os.ReadDir(small); err != nil || len(entries) > 0 {
			t.Errorf("left on the full disk: %v, %v", entries, err)
		}
	}
	const full = "no space left on device"
	command(3, full, append(spilling, "--tmp", small, "-o", out)...)
	empty()
	command(0, "", append(spilling, "--tmp", small+","+dir, "-o", out)...)
	empty()
	command(3, full, "run", "sort", input, "--progress", "none", "-o", filepath.Join(small, "out"))
	empty()
	command(3, full, "run", "sort", input, "--progress", "none", "--output", filepath.Join(small, "parts"))
	empty()
	command(2, full, "sort", input, "-o", filepath.Join(small, "out"))
	empty()
	command(2, full, "sort", "--memory", "16MiB", "--sort-buffer", "64KiB", "--buffer-growth", "off", "--compress", "none", "-T", small, input, "-o", out)
	empty()

	resumed := append(spilling, "--resume", filepath.Join(small, "kept"), "-o", out)
	command(3, full, resumed...)
	command(3, full, resumed...) // the run goes as far as the disk has room
	if err := unix.Mount("tmpfs", small, "tmpfs", unix.MS_REMOUNT, "size=32m"); err != nil {
		t.Skipf("cannot make the tmpfs larger: %v", err)
	}
	command(0, "", append(resumed, "--report", "report")...)
	empty()
	if report, _ := os.ReadFile("report"); !bytes.Contains(report, []byte(`"RESUMED_MAPS": `)) {
		t.Errorf("no map was taken over")
	}
}

// TestAFullDeviceIsAFailure: whatever command cannot write its standard output ends with 3 and one line.
func TestAFullDeviceIsAFailure(t *testing.T) {
	t.Chdir(writeFiles(t, t.TempDir(), map[string]string{
		"in":     "a b\n",
		"w.yaml": "cluster: {map_slots: 1, reduce_slots: 1}\njobs:\n  - {name: A, maps: 2, map_time: 1s}\n",
		"b.yaml": "jobs:\n  - {name: A, job: wordcount, args: {input: [in], output-file: out}}\n",
	}))
	var ignored bytes.Buffer
	if got := run(t.Context(), []string{"sim", "w.yaml", "--events", "e"}, command.Env{Stdin: strings.NewReader(""), Stdout: &ignored, Stderr: &ignored, Getenv: os.Getenv}); got != 0 {
		t.Fatal(got, ignored.String())
	}
	for _, line := range []string{
		"version", "--help", "policies", "explain e", "replay e", "compare e e", "convert e", "sim w.yaml", "sweep w.yaml --map-slots 1..2", "batch b.yaml --progress none",
		"run wordcount in --progress none", "run streaming --quiet --mapper cat --reducer cat in", "stream map wordcount", "completion bash", "man", "workload generate --jobs 3", "reproduce --list", "clean --dry-run",
		"lint streaming -input in -output o -mapper cat|x -reducer cat", "submit wordcount --input hdfs://a/b --output hdfs://a/c --print",
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		var stderr bytes.Buffer
		got := run(t.Context(), strings.Fields(line), command.Env{Stdin: strings.NewReader("a b\n"), Stdout: full, Stderr: &stderr, Getenv: os.Getenv})
		_ = full.Close()
		if text := stderr.String(); got != 3 || strings.Count(text, "\n") != 1 || !strings.Contains(text, "no space left on device") {
			t.Errorf("%s: code %d: %s", line, got, text)
		}
	}
}
