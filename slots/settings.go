package slots

// Settings are settings of pools and jobs that a policy may use or ignore. A user sets them in a
// workload file. Limits of running jobs are not among them, because the Ledger keeps them.
type Settings uint16

const (
	PoolWeight Settings = 1 << iota
	MinShare
	PoolMax
	PoolMode
	Preemption
	JobWeight
	JobPriority
	PoolCapacity
)

// PoolSettings are all settings of a pool, and those of the jobs in it.
const PoolSettings = PoolWeight | MinShare | PoolMax | PoolMode | JobWeight | JobPriority

// settingNames are in the order of the bits, as workload files have them.
var settingNames = []string{"weight of pools", "min_maps and min_reduces", "max_maps and max_reduces", "mode: fifo", "preempt_after and fair_preempt_after", "weight of jobs", "priority", "capacity, max_capacity, min_user_limit and user_limit_factor"}

// Names returns the names of the settings in s.
func (s Settings) Names() (names []string) {
	for i, name := range settingNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
