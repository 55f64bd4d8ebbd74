// Package machine reads what the operating system reports about the machine and this process: cores,
// memory, file descriptors, CPU time and peak memory. It also binds threads to cores.
//
// A slot of a real run is a thread on a core. The papers vary the number of slots, and so the
// number of threads on a core. So reports must show the binding that the kernel has, and not the
// one that was asked for. ThreadCore therefore reads the binding back. On systems other than
// Linux threads cannot be bound, and a run goes on without bindings. A number that the system
// does not give is 0 or a low estimate.
//
// A binding belongs to a thread. The caller locks its goroutine to the thread
// (runtime.LockOSThread) and never unlocks it. The thread then ends with the goroutine,
// and no other goroutine gets the binding.
//
// The package has no state but limits that it has read once.
package machine

import (
	"errors"
	"runtime"
	"time"
)

// ErrUnsupported means that this system cannot bind threads to cores.
var ErrUnsupported = errors.New("binding threads to cores is not supported on this system")

// CoreTimesFrom names the source of ReadCoreTimes.
const CoreTimesFrom = "/proc/stat"

// CoreTimes are the times of all cores of the machine together since it started, for all programs.
// Time that a hypervisor took from the machine is in none of them.
type CoreTimes struct {
	User, System, IOWait, Idle time.Duration
	Cores                      int // number of cores
}

// Sub returns the times since before. The counter of IOWait may decrease a little. A difference
// below 0 counts as 0.
func (t CoreTimes) Sub(before *CoreTimes) CoreTimes {
	return CoreTimes{
		max(0, t.User-before.User), max(0, t.System-before.System), max(0, t.IOWait-before.IOWait), max(0, t.Idle-before.Idle), t.Cores,
	}
}

// Cores returns, in ascending order, the numbers of the cores on which the process may run: all
// cores, if the system does not report them.
func Cores() []int {
	cores, err := AllowedCores()
	if err == nil && len(cores) > 0 {
		return cores
	}
	cores = make([]int, runtime.NumCPU())
	for i := range cores {
		cores[i] = i
	}
	return cores
}

// ThreadCore returns the core to which the calling thread is bound; -1: it may use several cores, or
// the system does not report them.
func ThreadCore() int {
	cores, err := AllowedCores()
	if err != nil || len(cores) != 1 {
		return -1
	}
	return cores[0]
}
