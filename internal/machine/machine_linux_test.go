package machine

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
)

// onOwnThread runs f on a thread that ends with it, so that bindings do not
// leak into other tests.
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

func TestAThreadBoundToACoreReadsThatCoreBack(t *testing.T) {
	cores, err := AllowedCores()
	if err != nil || len(cores) == 0 {
		t.Fatalf("AllowedCores: %v, %v", cores, err)
	}
	if !slices.IsSorted(cores) {
		t.Errorf("not ascending: %v", cores)
	}
	for _, core := range cores {
		onOwnThread(func() {
			if err := BindThread(core); err != nil {
				t.Errorf("BindThread(%d): %v", core, err)
			}
			if got := ThreadCore(); got != core {
				t.Errorf("bound to %d, read back %d", core, got)
			}
		})
	}
	onOwnThread(func() {
		if err := BindThread(cores...); err != nil {
			t.Errorf("BindThread(%v): %v", cores, err)
		}
		if got, _ := AllowedCores(); !slices.Equal(got, cores) {
			t.Errorf("bound to %v, read back %v", cores, got)
		}
	})
	if after, _ := AllowedCores(); !slices.Equal(after, cores) {
		t.Errorf("a binding leaked to another thread: %v before, %v after", cores, after)
	}
}

func TestACoreThatIsNotThereIsRefused(t *testing.T) {
	for _, core := range []int{-1, 1000, 5000, mostMaskCores} {
		onOwnThread(func() {
			if err := BindThread(core); err == nil {
				t.Errorf("BindThread(%d) succeeded", core)
			}
		})
	}
}

func TestAMaskSmallerThanTheMachineIsWhatIsAllowed(t *testing.T) {
	const inside = "MRLOCAL_TEST_CORES"
	if core := os.Getenv(inside); core != "" {
		want, _ := strconv.Atoi(core)
		if cores, err := AllowedCores(); err != nil || !slices.Equal(cores, []int{want}) {
			t.Errorf("under taskset -c %d: %v, %v", want, cores, err)
		}
		if got := ThreadCore(); got != want {
			t.Errorf("ThreadCore() = %d, want %d", got, want)
		}
		return
	}
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		t.Skip("no taskset here")
	}
	cores, _ := AllowedCores()
	last := strconv.Itoa(cores[len(cores)-1])
	cmd := exec.Command(taskset, "-c", last, os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), inside+"="+last)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestCoreTimesAreThoseOfProcStat: user with nice, system with interrupts; steal and guests are
// left out. A file of another form is refused.
func TestCoreTimesAreThoseOfProcStat(t *testing.T) {
	got, err := parseCoreTimes([]byte("cpu  100 20 30 4000 50 6 7 800 90 0\ncpu0 50 10 15 2000 25 3 3 400 45 0\ncpu1 50 10 15 2000 25 3 4 400 45 0\nintr 1 2\n"))
	want := CoreTimes{User: 1200 * time.Millisecond, System: 430 * time.Millisecond, IOWait: 500 * time.Millisecond, Idle: 40 * time.Second, Cores: 2}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "intr 1 2\n", "cpu  1 2 3 x 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n", "cpu0 1 2 3 4 5 6 7 8\n"} {
		if _, err := parseCoreTimes([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	now, err := ReadCoreTimes()
	if err != nil || now.Cores < 1 || now.User+now.System+now.Idle == 0 {
		t.Errorf("%+v, %v", now, err)
	}
	if d := now.Sub(&CoreTimes{User: now.User, Idle: now.Idle + time.Hour}); d.User != 0 || d.Idle != 0 || d.System != now.System {
		t.Errorf("%+v", d)
	}
}
