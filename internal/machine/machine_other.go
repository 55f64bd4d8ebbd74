//go:build !linux

package machine

import (
	"errors"
	"math"
	"time"
)

// ThreadCPU returns 0: unknown.
func ThreadCPU() time.Duration { return 0 }

// ProcessCPU returns 0: unknown.
func ProcessCPU() time.Duration { return 0 }

// ReadCoreTimes fails: there is no /proc/stat.
func ReadCoreTimes() (CoreTimes, error) {
	return CoreTimes{}, errors.New("this system has no " + CoreTimesFrom)
}

// PeakRSSBytes returns 0: unknown.
func PeakRSSBytes() int64 { return 0 }

// MemoryBytes returns 8 GiB, an assumption.
func MemoryBytes() int64 { return 8 << 30 }

// MemoryLimited returns false: there are no control groups.
func MemoryLimited() bool { return false }

// QuotaCores returns 0: there are no control groups.
func QuotaCores() int { return 0 }

// FDLimit returns 256, the least default of the systems that this file is for.
func FDLimit() int { return 256 }

// AddressSpaceLimit returns math.MaxInt64: no limit is known.
func AddressSpaceLimit() int64 { return math.MaxInt64 }

// StackBytes returns 0: without a limit of the address space it does not matter.
func StackBytes() int64 { return 0 }

// ThreadLimit returns math.MaxInt64: no limit is known.
func ThreadLimit() int64 { return math.MaxInt64 }

// AllowedCores fails with ErrUnsupported.
func AllowedCores() ([]int, error) { return nil, ErrUnsupported }

// BindThread fails with ErrUnsupported.
func BindThread(...int) error { return ErrUnsupported }
