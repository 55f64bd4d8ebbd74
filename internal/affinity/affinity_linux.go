package affinity

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// The kernel refuses a mask shorter than its own (EINVAL); 1024 is what
// distributions build for, the rest for the few machines beyond.
const (
	leastMaskCores = 1024
	mostMaskCores  = 1 << 20
)

// allowed asks about thread 0, the calling one, and not about the process id:
// the main thread may itself carry a slot.
func allowed() ([]int, error) {
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

func bind(core int) error {
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
