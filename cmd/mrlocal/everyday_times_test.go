package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var everydayMiB = flag.Int("everyday", 0, "time the everyday commands on files of about this many MiB")

// readsTree matches command lines whose data does not grow with the files.
var readsTree = regexp.MustCompile(`\btree\b|none|--no-such|no/where`)

// TestEverydayTimes times each pair of testdata/everyday.txt that does not read a tree. Both
// commands of a pair run 5 times in turn, on larger files than those of TestEverydayCommands, and
// the medians count. The test prints the time of the peer divided by ours, least first. It fails if
// both print different bytes.
//
//	go test ./cmd/mrlocal -run EverydayTimes -v -timeout 1h -everyday 64
func TestEverydayTimes(t *testing.T) {
	if *everydayMiB == 0 {
		t.Skip("-everyday MIB times the commands")
	}
	base := ""
	if _, err := os.Stat("/dev/shm"); err == nil {
		base = "/dev/shm" // write-back is noise
	}
	dir, err := os.MkdirTemp(base, "everyday-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// The results are in another directory, because a command may read the whole directory of the
	// files.
	out, err := os.MkdirTemp(base, "everyday-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(out)
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "mrlocal"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	const lineBytes = 20 // of a line of text
	files := everydayFiles(*everydayMiB << 20 / lineBytes)
	sorted := strings.Split(files["text"], "\n")
	slices.Sort(sorted)
	files["sorted"] = strings.Join(sorted, "\n") + "\n"
	files["sorted2"] = strings.Join(sorted[:len(sorted)/2], "\n") + "\n"
	files["twice"] = strings.Join(slices.Compact(sorted), "\n") + "\n"
	files["names0"] = strings.ReplaceAll(files["text"], "\n", "\x00")
	writeFiles(t, dir, files)
	path := bin + string(os.PathListSeparator) + os.Getenv("PATH")

	results := [2]string{filepath.Join(out, "ours"), filepath.Join(out, "peer")}
	type row struct {
		line        string
		ours, peers time.Duration
	}
	var rows []row
	for _, p := range readEveryday(t) {
		if readsTree.MatchString(p.ours) || p.differs != "" {
			continue
		}
		var times [2][]time.Duration
		var got [2]outcome
		for range 5 {
			for i, line := range []string{p.ours, p.peer} {
				// The output goes to a file, because the reader of a pipe would take a part of a core.
				begin := time.Now()
				got[i] = runLineIn(t, dir, "{ "+line+"\n} >"+results[i], path)
				times[i] = append(times[i], time.Since(begin))
			}
		}
		if got[0] != got[1] || !sameFiles(t, results[0], results[1]) {
			t.Errorf("%s: exit %d; the peer %d; or the bytes differ", p.ours, got[0].code, got[1].code)
		}
		slices.Sort(times[0])
		slices.Sort(times[1])
		rows = append(rows, row{p.ours, times[0][2], times[1][2]})
	}
	const atOnce = 5 * time.Millisecond // of the peer: what counts is how a process starts
	ratio := func(r row) float64 { return float64(r.peers) / float64(r.ours) }
	slices.SortFunc(rows, func(a, b row) int {
		if ratio(a) < ratio(b) {
			return -1
		}
		return 1
	})
	slower, short := 0, 0
	for _, r := range rows {
		switch {
		case r.peers < atOnce:
			short++
		case ratio(r) < 1:
			slower++
		}
		fmt.Printf("%5.2f  %6.1f ms  %6.1f ms  %s\n", ratio(r), r.ours.Seconds()*1e3, r.peers.Seconds()*1e3, r.line)
	}
	fmt.Printf("%d of %d are slower than the peer, not counting %d that take it less than %v\n", slower, len(rows)-short, short, atOnce)
}

func sameFiles(t *testing.T, a, b string) bool {
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(x, y)
}
