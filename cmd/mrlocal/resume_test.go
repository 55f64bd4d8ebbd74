package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mrlocal/internal/disk"
)

var kills = flag.Int("kills", 2, "random kills of TestAKilledRunGoesOn in each phase")

// killed is a command that the test kills and then resumes.
type killed struct {
	t      *testing.T
	binary string
	dir    string   // the current directory of the command
	args   []string // of the command, with --resume kept
	parts  bool     // the result is a directory
	want   []byte   // the result
	maps   int      // of its first job
	reduce time.Duration
	rng    *rand.Rand

	ran, restored, again int // maps that ran and did not; that ran although they had committed
	ended                int // runs that ended before they were killed, or had removed their journal by then
}

// begin starts the command.
func (k *killed) begin(more ...string) *exec.Cmd {
	k.t.Helper()
	cmd := exec.Command(k.binary, append(append([]string{"run"}, k.args...), more...)...)
	cmd.Dir = k.dir
	var errors bytes.Buffer
	cmd.Stderr = &errors
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	return cmd
}

// journal returns the maps that have committed, as the lines of the journal list them.
func (k *killed) journal() map[int]bool {
	maps := map[int]bool{}
	found, _ := filepath.Glob(filepath.Join(k.dir, "kept", "*", "journal"))
	if len(found) == 0 {
		return maps
	}
	data, _ := os.ReadFile(found[0])
	for line := range bytes.Lines(data) {
		var r struct{ Map *int }
		if len(line) > 9 && line[len(line)-1] == '\n' && json.Unmarshal(line[9:], &r) == nil && r.Map != nil {
			maps[*r.Map] = true
		}
	}
	return maps
}

// waitFor polls until the condition holds. It reports false if the command ends before that.
func waitFor(ended <-chan error, condition func() bool) bool {
	for !condition() {
		select {
		case <-ended:
			return false
		case <-time.After(200 * time.Microsecond):
		}
	}
	return true
}

// phases are the phases in which killIn kills a run.
var phases = []string{"maps", "shuffle and reduce", "commit"}

// killIn runs the command and kills it at a random moment of a phase. It reports false if the
// command ended before that.
func (k *killed) killIn(phase string) bool {
	cmd := k.begin()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	alive := true
	switch phase {
	case "maps": // after a random number of commits, and a part of a map
		n := k.rng.IntN(k.maps)
		alive = waitFor(ended, func() bool { return len(k.journal()) >= n })
		time.Sleep(time.Duration(k.rng.Int64N(int64(2 * time.Millisecond))))
	case "shuffle and reduce":
		alive = waitFor(ended, func() bool { return len(k.journal()) >= k.maps })
		time.Sleep(time.Duration(k.rng.Int64N(int64(k.reduce))))
	case "commit": // all bytes are written next to the result, or it has been moved there
		alive = waitFor(ended, func() bool {
			for _, pattern := range []string{"out", ".out.mrlocal-*"} {
				for _, path := range glob(k.dir, pattern) {
					if disk.BytesBelow(path) >= int64(len(k.want)) {
						return true
					}
				}
			}
			return false
		})
		time.Sleep(time.Duration(k.rng.Int64N(int64(2 * time.Millisecond))))
	}
	if !alive {
		return false
	}
	_ = cmd.Process.Kill()
	if <-ended == nil {
		return false
	}
	k.check("killed in "+phase, true)
	return len(glob(k.dir, "kept/*/journal")) > 0 || phase == "maps" && len(glob(k.dir, "out")) == 0
}

func glob(dir, pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, pattern))
	return found
}

// result returns the bytes of the result. A directory has to be whole.
func (k *killed) result() (text []byte, err error) {
	out := filepath.Join(k.dir, "out")
	if !k.parts {
		return os.ReadFile(out)
	}
	if _, err := os.Stat(out); err != nil {
		return nil, err
	}
	if _, err := os.ReadFile(filepath.Join(out, "_SUCCESS")); err != nil {
		return nil, fmt.Errorf("not whole: %s", err)
	}
	for _, part := range glob(out, "part-r-*") {
		data, err := os.ReadFile(part)
		if err != nil {
			return nil, err
		}
		text = append(text, data...)
	}
	return text, nil
}

// check fails the test if the result is wrong, or if there is none although there must be one.
func (k *killed) check(when string, mayLack bool) {
	k.t.Helper()
	got, err := k.result()
	if mayLack && errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil || !bytes.Equal(got, k.want) {
		k.t.Fatalf("%s: %d bytes, want %d: %v", when, len(got), len(k.want), err)
	}
}

// goOn runs the command to its end and counts maps that run again although they have committed.
func (k *killed) goOn() {
	k.t.Helper()
	committed := k.journal()
	cmd := k.begin("--events", "events")
	if err := cmd.Wait(); err != nil {
		k.t.Fatalf("%v: %s", err, cmd.Stderr)
	}
	k.check("after all", false)
	file, err := os.Open(filepath.Join(k.dir, "events"))
	if err != nil {
		k.t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var e struct {
			Op, Kind  string
			Job, Task int
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			k.t.Fatal(err)
		}
		switch {
		case e.Job != 0 || e.Kind != "map":
		case e.Op == "start":
			k.ran++
			if committed[e.Task] {
				k.again++
			}
		case e.Op == "restore":
			k.restored++
			delete(committed, e.Task)
		}
	}
	if len(committed) > 0 {
		k.t.Errorf("committed maps that were not restored: %v", committed)
	}
	// A very early kill may leave an empty directory, which the next run takes for a directory of
	// the user.
	for _, left := range []string{"kept/*", ".out.mrlocal-*", "mrlocal-*"} {
		if found := glob(k.dir, left); len(found) > 0 {
			k.t.Fatalf("left: %v", found)
		}
	}
}

// TestAKilledRunGoesOn kills the command at random moments of each phase, some runs twice, and
// resumes it. The result must be right, and no map that has committed may run again.
func TestAKilledRunGoesOn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks here")
	}
	if testing.Short() {
		t.Skip("long")
	}
	binary, err := exec.LookPath("mrlocal") // this test binary
	if err != nil {
		t.Fatal(err)
	}
	input := filepath.Join(t.TempDir(), "in")
	if out, err := exec.Command(binary, "gen", "words", "--size", "3MiB", "--seed", "7", input).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	jobs := []string{"sort", "sort --output out", "wordcount --output out --overwrite", "wordcount", "sort -k1,1nr -s", "grep -e [a-e]+"}
	for i, args := range jobs {
		// The kills are divided among the jobs.
		n := (*kills + len(jobs) - 1 - i) / len(jobs)
		if n == 0 {
			continue
		}
		t.Run(args, func(t *testing.T) {
			k := &killed{t: t, binary: binary, dir: t.TempDir(), parts: strings.Contains(args, "--output"), rng: rand.New(rand.NewPCG(seed, uint64(i)))}
			if !k.parts {
				args += " --output-file out"
			}
			k.args = append(strings.Fields(args), input, "--resume", "kept", "--block-size", "64KiB", "--memory", "16MiB", "--tmp", ".", "--progress", "none")
			k.measure()
			for _, phase := range phases {
				k.ran, k.restored, k.again, k.ended = 0, 0, 0, 0
				for done := 0; done < n; {
					_ = os.RemoveAll(filepath.Join(k.dir, "out"))
					alive := k.killIn(phase)
					if alive && k.rng.IntN(3) == 0 { // once more, but not so late that nothing is left to go on with
						k.killIn(phases[k.rng.IntN(2)])
					}
					whole := len(glob(k.dir, "out")) > 0 // the kill came after the commit
					if !alive || whole || len(glob(k.dir, "kept/*/journal")) == 0 && phase != "maps" {
						if k.ended++; k.ended > 50*n {
							t.Fatalf("%s: %d runs ended before they were killed", phase, k.ended)
						}
						k.reduce = max(time.Millisecond, k.reduce*7/8) // it was measured on a busy machine
						ran, restored := k.ran, k.restored
						_ = os.RemoveAll(filepath.Join(k.dir, "out"))
						k.goOn() // from the start
						k.ran, k.restored = ran, restored
						continue
					}
					k.goOn()
					done++
				}
				t.Logf("%s: %d kills, and %d that came too late; of %d maps %d were restored, %d ran, %d of them again",
					phase, n, k.ended, k.maps*n, k.restored, k.ran, k.again)
				if phase != "maps" && k.ran > 0 { // all had committed
					t.Errorf("%s: %d maps ran", phase, k.ran)
				}
				if k.again > 0 || k.restored+k.ran != k.maps*n {
					t.Errorf("%s: %d maps ran again", phase, k.again)
				}
			}
		})
	}
}

// measure runs the command once without a kill. It learns the result, the number of maps and
// how long the reduces take.
func (k *killed) measure() {
	k.t.Helper()
	cmd := k.begin("--report", "report")
	if err := cmd.Wait(); err != nil {
		k.t.Fatalf("%v: %s", err, cmd.Stderr)
	}
	var report struct {
		Jobs []struct {
			Maps                  int
			Maps_done_s, Finish_s float64
		}
	}
	data, err := os.ReadFile(filepath.Join(k.dir, "report"))
	if err == nil {
		err = json.Unmarshal(data, &report)
	}
	if err != nil || len(report.Jobs) == 0 || report.Jobs[0].Maps < 20 {
		k.t.Fatalf("report %s: %v", data, err)
	}
	last := report.Jobs[len(report.Jobs)-1]
	k.maps, k.reduce = report.Jobs[0].Maps, time.Duration((last.Finish_s-report.Jobs[0].Maps_done_s)*float64(time.Second))
	if k.want, err = k.result(); err != nil || len(k.want) == 0 {
		k.t.Fatal(fmt.Errorf("the result has %d bytes: %w", len(k.want), err))
	}
}
