// Package affinity binds the calling operating system thread to one core and
// reads the binding back.
//
// A slot is a thread on a core: which core, and how often each, is what the
// papers' experiments turn, so it must be what the kernel really does, not
// what was asked for. Core therefore asks the kernel. Where there is no such
// call (anything but Linux) every function returns ErrUnsupported or -1 and
// the run goes on unbound.
//
// A binding belongs to a thread: callers lock their goroutine to it
// (runtime.LockOSThread) and never unlock, so that the thread ends with the
// goroutine and no other goroutine inherits the binding. Neighbour:
// slots/pool, the only user.
package affinity

import "errors"

// ErrUnsupported says that this system cannot bind threads to cores.
var ErrUnsupported = errors.New("binding threads to cores is not supported on this system")

// Allowed lists, ascending, the cores that the calling thread may use: fewer
// than the machine has under taskset or in a control group with a cpuset. From
// a goroutine that is not locked to a bound thread, these are the process's.
func Allowed() ([]int, error) { return allowed() }

// Bind binds the calling thread to core, which must be one of Allowed.
func Bind(core int) error { return bind(core) }

// Core is the one core that the kernel lets the calling thread use, or -1
// when there are several or it cannot be known.
func Core() int {
	cores, err := allowed()
	if err != nil || len(cores) != 1 {
		return -1
	}
	return cores[0]
}
