package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mrlocal/internal/machine"
)

// TestLittleAddressSpace runs the command with ulimit -v, also as on many cores. Each run has the right
// result, or ends with exit code 2 and one line. With nothing typed a run needs no more than version does.
func TestLittleAddressSpace(t *testing.T) {
	bash, err := exec.LookPath("bash")
	command, notThere := exec.LookPath("mrlocal") // this test binary
	if err != nil {
		t.Skip("needs bash")
	}
	if notThere != nil {
		t.Fatal(notThere)
	}
	input, want := filepath.Join(t.TempDir(), "in"), strings.Repeat("a\n", 1000)+strings.Repeat("b\n", 1000)
	if err := os.WriteFile(input, []byte(strings.Repeat("b\na\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	l := machine.ReadLimits()
	usual, withSlots := l.AddressBytes(2, 16<<20)>>20, l.AddressBytes(16, 128<<20)>>20
	cases := 0
	for _, mib := range []int64{2047, usual, 2500, 2800, withSlots, 3500, 4096} {
		for _, typed := range []string{"", "--trackers 8", "--map-slots 53 --reduce-slots 11", "--memory 64MiB", "--sched ras"} {
			for _, procs := range []string{"2", "8"} {
				cmd := exec.Command(bash, "-c", fmt.Sprintf(`ulimit -v %d && exec "$0" run sort "$1" --block-size 1KiB --progress none %s`, mib<<10, typed), command, input)
				cmd.Env = append(os.Environ(), "GOMAXPROCS="+procs)
				var out, errs bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &errs
				_ = cmd.Run() // the code says it
				cases++
				code, lines := cmd.ProcessState.ExitCode(), strings.Count(errs.String(), "\n")
				must := typed == "" && mib >= usual || typed == "--trackers 8" && mib >= withSlots
				switch {
				case code == 0 && out.String() == want && lines <= 1:
				case code == 2 && out.Len() == 0 && lines == 1 && strings.Contains(errs.String(), "address space: ") && !must:
				default:
					t.Errorf("%d MiB, %s, %s processors: code %d, %d bytes, %.300s", mib, typed, procs, code, out.Len(), &errs)
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}
