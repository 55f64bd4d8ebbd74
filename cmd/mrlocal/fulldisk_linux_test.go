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

	"mrlocal/internal/flags"
	"mrlocal/internal/testkit"
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
		if got := run(t.Context(), words, Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: os.Getenv}); got != code || !strings.Contains(stderr.String(), says) || stdout.Len() > 0 {
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

// fullDeviceLines returns a line of each command that prints to standard output, below the path of the command.
// silent says why a command, or each command below it, has none.
func fullDeviceLines() (lines map[string][]string, silent map[string]string) {
	return map[string][]string{
			"count": {"in", "in -o /dev/full"}, "grep": {"a in", "-c a in", "-l a in", "--files ."}, "sort": {"in", "-m in", "in -o /dev/full"},
			"run wordcount": {"in", "in -o /dev/full", "in --events /dev/full", "in --report /dev/full", "in --svg /dev/full"},
			"run sort":      {"in"}, "run grep": {"-e a in", "-e a in --lines"}, "run streaming": {"--quiet --mapper cat --reducer cat in"},
			"run inverted-index": {"in"}, "run ranked-inverted-index": {"sequences"}, "run term-vector": {"--min 1 in"}, "run sequence-count": {"in"},
			"run self-join": {"candidates"}, "run adjacency-list": {"edges"}, "run histogram-movies": {"movies"}, "run histogram-ratings": {"movies"},
			"run kmeans": {"points"}, "run classification": {"points --centroids points"}, "run terasort": {"records"}, "run teravalidate": {"records"},
			"run randomtext": {"--bytes 10"}, "run combine": {"in"}, "run select": {"in --keep-map 100 --keep-reduce 100"}, "run join": {"in in"},
			"streaming": {"-info", "-help"}, "lint": {"streaming -info", "streaming --no-run -input in -output o -mapper cat|x -reducer cat"},
			"stream wordcount": {"map"}, "stream sort": {"map"}, "stream grep": {"-e a map"}, "submit wordcount": {"--input hdfs://a/b --output hdfs://a/c --print"},
			"batch": {"b.yaml --progress none"}, "sim": {"w.yaml", "w.yaml --events /dev/full", "w.yaml --html /dev/full"}, "sweep": {"w.yaml --map-slots 1..2", "w.yaml --map-slots 1..2 --csv /dev/full"},
			"workload generate": {"--jobs 3", "--jobs 3 -o /dev/full"}, "workload import": {"--swim swim", "--swim swim -o /dev/full"},
			"profile": {"b.yaml --runs 1"}, "profile wordcount": {"in"}, "tune wordcount": {"in --rounds 1"}, "validate": {"measured.yaml --sched fair --runs 1"},
			"reproduce": {"--list", "x.yaml --format csv"}, "replay": {"e"}, "explain": {"e", "e --lent", "e --job A", "e --slot 0"}, "compare": {"e e"}, "show": {"e --svg -", "e --trace -", "e --metrics /dev/full", "e --html -"},
			"gen": {"lines --size 10 -", "lines --size 10 /dev/full"}, "clean": {"--dry-run"}, "demo": {"--list", "borrow --speed fast --no-questions"},
			"policies": {""}, "completion": {"bash"}, "man": {""}, "version": {"", "--licenses"},
		}, map[string]string{
			"ui":     "its page has an address, on standard error",
			"submit": "as wordcount", "profile": "as wordcount", "tune": "as wordcount", // each job: one code prints
		}
}

// TestAFullDeviceIsAFailure: whatever command cannot write its result or its help fails, and says so in one line
// below the notes.
func TestAFullDeviceIsAFailure(t *testing.T) {
	if testing.Short() {
		t.Skip("starts every command")
	}
	t.Chdir(writeFiles(t, t.TempDir(), map[string]string{
		"in": "a b c d\n", "sequences": "a|b|c|in\t1\n", "swim": "J1\t0\t0\t100\t100\t100\n",
		"w.yaml": "cluster: {map_slots: 1, reduce_slots: 1}\njobs:\n  - {name: A, maps: 2, map_time: 1s}\n",
		"b.yaml": "jobs:\n  - {name: A, job: wordcount, args: {input: [in], output-file: out}}\n",
		"x.yaml": "jobs:\n  - {name: A, maps: 2, map_time: 1s}\nexperiments:\n  - name: x\n    paper: none\n    runs: [{name: a, sched: fifo}]\n" +
			"    figures: [{what: time, paper: 2 s, ours: \"makespan[a]\"}]\n",
	}))
	on := func(device, line string, prefix ...string) (int, string) {
		stdout, err := os.OpenFile(device, os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		defer stdout.Close()
		var stderr bytes.Buffer
		words := append(prefix, strings.Fields(line)...)
		return run(t.Context(), words, Env{Stdin: strings.NewReader("a b\n"), Stdout: stdout, Stderr: &stderr, Getenv: os.Getenv}), stderr.String()
	}
	for _, line := range []string{"sim w.yaml --events e", "profile b.yaml --runs 1 -o measured.yaml", "gen candidates --size 100 candidates", "gen edges --size 100 edges",
		"gen movies --size 100 movies", "gen points --size 100 points", "gen records --size 100 records"} {
		if code, text := on(os.DevNull, line); code != 0 {
			t.Fatal(line, code, text)
		}
	}
	full := func(line string, path ...string) {
		t.Helper()
		device := "/dev/full"
		if strings.Contains(line, device) {
			device = os.DevNull
		}
		code, text := on(device, line, path...)
		wrote := strings.Split(strings.TrimSpace(text), "\n")
		last := wrote[len(wrote)-1]
		if code == 0 || strings.Count(text, "no space left on device") != 1 || !strings.HasPrefix(last, "mrlocal: ") || !strings.Contains(last, "no space left on device") {
			t.Errorf("%q %s: code %d: %s", path, line, code, text)
		}
	}
	lines, silent := fullDeviceLines()
	quiet().Each(func(path []string, c *flags.Command) {
		if c.Run == nil && c.Raw == nil {
			return
		}
		name := strings.Join(path, " ")
		full("--help", path...)
		own := lines[name]
		if len(own) == 0 && silent[path[0]] == "" {
			t.Errorf("%s has no line in the table", name)
		}
		if (path[0] == "profile" || path[0] == "tune") && !testkit.Long() {
			own = nil // each makes ten runs
		}
		for _, line := range own {
			full(line, path...)
		}
	})
	for _, line := range []string{"--help", "--version", "run --help", "help workload", "stream --help"} {
		full(line)
	}
}
