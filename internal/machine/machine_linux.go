package machine

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ThreadCPU returns the CPU time that the calling thread has used; 0: it is not known. It reads
// the clock of the thread, because getrusage counts a running thread only up to the last tick of
// the kernel. Most of an attempt of a few milliseconds would be lost.
func ThreadCPU() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// ProcessCPU returns the CPU time that the process has used; 0: it is not known.
func ProcessCPU() time.Duration {
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// ReadCoreTimes reads /proc/stat, which counts in hundredths of a second. It fails if that file is
// missing, as in some containers.
func ReadCoreTimes() (CoreTimes, error) {
	text, err := os.ReadFile(CoreTimesFrom)
	if err != nil {
		return CoreTimes{}, err
	}
	return parseCoreTimes(text)
}

// parseCoreTimes parses /proc/stat. The line of all cores has user, nice, system, idle, iowait, irq
// and softirq, in this order. The time of guests is in user already. It also counts the lines of
// single cores.
func parseCoreTimes(text []byte) (t CoreTimes, err error) {
	const tick = time.Second / 100 // USER_HZ is 100 on all systems that Go runs on
	found := false
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) < 8 || !bytes.HasPrefix(fields[0], []byte("cpu")) {
			continue
		}
		if len(fields[0]) > len("cpu") {
			t.Cores++
			continue
		}
		var n [7]time.Duration
		for i := range n {
			ticks, err := strconv.ParseInt(string(fields[1+i]), 10, 64)
			if err != nil {
				return t, fmt.Errorf("%s: %w", CoreTimesFrom, err)
			}
			n[i] = time.Duration(ticks) * tick
		}
		t.User = n[0] + n[1]
		t.System = n[2] + n[5] + n[6]
		t.Idle = n[3]
		t.IOWait = n[4]
		found = true
	}
	if !found || t.Cores == 0 {
		return t, fmt.Errorf("%s: has no line of all cores", CoreTimesFrom)
	}
	return t, nil
}

// PeakRSSBytes returns the most bytes of resident memory that the process has had (VmHWM); 0: it is
// not known. The number of getrusage may be that of the parent process, because exec keeps it.
func PeakRSSBytes() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(string(bytes.TrimSpace(rest)), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// MemoryBytes returns the memory of the machine, or what its control group or ulimit -m or -d allows
// if that is less.
func MemoryBytes() int64 {
	total := min(installedBytes(), limitOf(unix.RLIMIT_RSS), limitOf(unix.RLIMIT_DATA))
	if limit, ok := group(); ok {
		total = min(total, limit)
	}
	return total
}

// MemoryLimited reports whether a control group allows the process less than the memory of
// the machine. Pages of files count against such a limit too.
var MemoryLimited = sync.OnceValue(func() bool {
	limit, ok := group()
	return ok && limit < installedBytes()
})

// installedBytes returns the memory of the machine.
func installedBytes() int64 {
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) == nil {
		return int64(si.Totalram) * int64(si.Unit)
	}
	return 4 << 30 // an estimate
}

// group returns the limit of the memory control groups; false: there is none. It reads several
// files, and only once.
var group = sync.OnceValues(func() (int64, bool) { return groupsOfProcess().leastOf("memory", memoryLimit) })

// memoryLimit and tasksLimit return the limit of the control group with the directory dir.
func memoryLimit(dir string) (int64, bool) {
	if n, ok := numberIn(dir + "/memory.max"); ok {
		return n, true
	}
	return numberIn(dir + "/memory.limit_in_bytes")
}

func tasksLimit(dir string) (int64, bool) { return numberIn(dir + "/pids.max") }

// QuotaCores returns the CPU quota of the control groups, in whole cores, rounded up; 0: there is none.
var QuotaCores = sync.OnceValue(func() int {
	cores, _ := groupsOfProcess().leastOf("cpu", coresLimit)
	return int(cores)
})

// coresLimit returns the CPU quota of the control group with the directory dir, in cores. Version 2
// has quota and period in one file, in microseconds. Without a quota the first word is max, or -1.
func coresLimit(dir string) (int64, bool) {
	text, err := os.ReadFile(dir + "/cpu.max")
	words := strings.Fields(string(text))
	if err != nil {
		quota, _ := os.ReadFile(dir + "/cpu.cfs_quota_us")
		period, _ := os.ReadFile(dir + "/cpu.cfs_period_us")
		words = strings.Fields(string(quota) + " " + string(period))
	}
	if len(words) != 2 {
		return 0, false
	}
	quota, err1 := strconv.ParseInt(words[0], 10, 64)
	period, err2 := strconv.ParseInt(words[1], 10, 64)
	if err1 != nil || err2 != nil || quota <= 0 || period <= 0 || quota > math.MaxInt64-period {
		return 0, false
	}
	return (quota + period - 1) / period, true
}

// controlGroups are the groups of a process: the root of their hierarchies, and /proc/PID/cgroup.
type controlGroups struct{ root, memberships string }

func groupsOfProcess() controlGroups {
	text, _ := os.ReadFile("/proc/self/cgroup")
	return controlGroups{"/sys/fs/cgroup", string(text)}
}

// leastOf returns the lowest limit of the control group of the process and of the groups above it;
// false: there is none. limit returns that of the group with a directory. Within a container the
// root of the hierarchy is the group of the container. Where a system has both versions, version 2
// is below unified.
func (c controlGroups) leastOf(controller string, limit func(dir string) (int64, bool)) (least int64, ok bool) {
	groups := []string{""}
	for line := range strings.Lines(c.memberships) {
		// A line is 4:memory:/a/b in version 1, and 0::/a/b in version 2.
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && (fields[1] == "" || slices.Contains(strings.Split(fields[1], ","), controller)) {
			for at := fields[2]; len(at) > 1; at = path.Dir(at) {
				groups = append(groups, at)
			}
		}
	}
	for _, group := range groups {
		for _, dir := range []string{c.root + group, c.root + "/" + controller + group, c.root + "/unified" + group} {
			if n, is := limit(dir); is && (!ok || n < least) {
				least, ok = n, true
			}
		}
	}
	return least, ok
}

// numberIn returns the number above 0 in a file; false: there is none.
func numberIn(file string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil && n > 0
}

// FDLimit returns the number of file descriptors that the process may have open.
func FDLimit() int {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil {
		return 1024
	}
	return int(min(lim.Cur, 1<<20))
}

// Lengths of the mask of cores in system calls. The kernel refuses a mask that is shorter than its
// own (EINVAL). Most kernels are built for 1024 cores.
const (
	leastMaskCores = 1024
	mostMaskCores  = 1 << 20
)

// AllowedCores returns, in ascending order, the numbers of the cores that the calling thread may
// use. Under taskset, or in a control group with a cpuset, these are fewer than the machine has. For
// a goroutine that is not locked to a bound thread they are the cores of the process.
func AllowedCores() ([]int, error) {
	// 0 in the call is the calling thread. The id of the process would be its main thread, which
	// may be bound.
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

// BindThread binds the calling thread to one or several cores. It fails if none of them is in
// AllowedCores, or the system refuses.
func BindThread(cores ...int) error {
	for _, core := range cores {
		if core < 0 || core >= mostMaskCores {
			return fmt.Errorf("bind thread to core %d: no such core", core)
		}
	}
	set := unix.NewCPUSet(max(slices.Max(cores)+1, leastMaskCores))
	for _, core := range cores {
		set.Set(core)
	}
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return fmt.Errorf("bind thread to core %v: %w", strings.Trim(fmt.Sprint(cores), "[]"), err)
	}
	return nil
}

// AddressSpaceLimit returns the bytes of address space that the process may have;
// math.MaxInt64: there is no limit.
func AddressSpaceLimit() int64 { return limitOf(unix.RLIMIT_AS) }

// StackBytes returns the address space that the C library takes for the stack of a thread; 0: the program
// does not link it.
func StackBytes() int64 {
	const usual = 8 << 20
	switch bytes := limitOf(unix.RLIMIT_STACK); {
	case !linksC:
		return 0
	case bytes == math.MaxInt64:
		return usual
	default:
		return bytes
	}
}

// ThreadLimit returns the number of threads that the user of the process may have in all processes.
// If the control group may have fewer, it returns that number. The limit of the user does not apply
// to root.
var ThreadLimit = sync.OnceValue(func() int64 {
	limit := int64(math.MaxInt64)
	if os.Geteuid() != 0 {
		limit = limitOf(unix.RLIMIT_NPROC)
	}
	if tasks, ok := groupsOfProcess().leastOf("pids", tasksLimit); ok {
		limit = min(limit, tasks)
	}
	return limit
})

// limitOf returns a limit of the process; math.MaxInt64: there is none.
func limitOf(resource int) int64 {
	var lim unix.Rlimit
	if unix.Getrlimit(resource, &lim) != nil {
		return math.MaxInt64
	}
	return int64(min(lim.Cur, math.MaxInt64))
}
