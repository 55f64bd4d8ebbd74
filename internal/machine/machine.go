// Package machine asks the operating system about the machine and this process: cores, memory,
// file descriptors, CPU time and peak memory. It also binds threads to cores.
//
// A slot of a real run is a thread on a core. How many threads a core has is what the
// papers vary in their experiments. So reports must show what the kernel does, not what
// was asked of it. ThreadCore therefore reads the binding back. On systems other than
// Linux threads cannot be bound, and a run goes on without that. Figures that the system
// does not give are 0 or a modest assumption.
//
// A binding belongs to a thread. The caller locks its goroutine to the thread
// (runtime.LockOSThread) and never unlocks it. The thread then ends with the goroutine,
// and no other goroutine gets the binding.
//
// The package keeps nothing. Neighbours: engine/task binds threads; package engine, the
// simulator and the command ask for the rest.
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

// CoreTimes is what all cores of the machine together have done since it started, whichever
// programs they ran. Time that a hypervisor took is in none of them.
type CoreTimes struct {
	User, System, IOWait, Idle time.Duration
	Cores                      int
}

// Sub returns what was done since before. The system may take back a little of its
// waiting; then that is 0.
func (t CoreTimes) Sub(before *CoreTimes) CoreTimes {
	return CoreTimes{
		max(0, t.User-before.User), max(0, t.System-before.System), max(0, t.IOWait-before.IOWait), max(0, t.Idle-before.Idle), t.Cores,
	}
}

// Cores returns, in ascending order, the cores that the process may run on: all of
// them if the system does not say.
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

// ThreadCore returns the only core that the kernel lets the calling thread use, or -1 if
// there are several or the system does not say.
func ThreadCore() int {
	cores, err := AllowedCores()
	if err != nil || len(cores) != 1 {
		return -1
	}
	return cores[0]
}
