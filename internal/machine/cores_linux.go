package machine

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// The kernel refuses a mask that is shorter than its own (EINVAL). Distributions build
// kernels for 1024 cores; the larger limit is for the few machines beyond.
const (
	leastMaskCores = 1024
	mostMaskCores  = 1 << 20
)

// allowedCores asks about thread 0, which is the calling one. The id of the process would
// mean the main thread, which may itself be bound.
func allowedCores() ([]int, error) {
	for maskCores := leastMaskCores; ; maskCores *= 2 {
		set := unix.NewCPUSet(maskCores)
		err := unix.SchedGetaffinityDynamic(0, set)
		if errors.Is(err, unix.EINVAL) && maskCores < mostMaskCores {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("sched_getaffinity: %w", err)
		}
		cores := make([]int, 0, set.Count())
		for core := range maskCores {
			if set.IsSet(core) {
				cores = append(cores, core)
			}
		}
		return cores, nil
	}
}

func bindThread(core int) error {
	if core < 0 || core >= mostMaskCores {
		return fmt.Errorf("bind thread to core %d: no such core", core)
	}
	set := unix.NewCPUSet(max(core+1, leastMaskCores))
	set.Set(core)
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return fmt.Errorf("bind thread to core %d: %w", core, err)
	}
	return nil
}
