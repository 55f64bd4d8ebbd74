package engine

import (
	"errors"
	"math"
	"strings"
	"testing"

	"mrlocal/internal/errs"
	"mrlocal/internal/machine"
	"mrlocal/internal/testkit"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
)

// TestDefaultsFitEveryMachine has machines of 1 to 256 cores and 64 MiB to 1 TiB, with quotas of CPU
// time, threads and address space. What a user leaves out is never why a run is refused.
func TestDefaultsFitEveryMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("is long, and has no concurrency")
	}
	opens, err := registry.New("ras", policy.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	const none = math.MaxInt64
	users := map[string]Options{
		"nothing typed":    {},
		"extra slots":      {Policy: opens},
		"no reduces":       {NoReduces: true},
		"--memory 16MiB":   {MemoryBytes: 16 << 20, Policy: opens},
		"--memory 64MiB":   {MemoryBytes: 64 << 20},
		"--map-slots 1":    {Config: setup.Config{MapSlots: 1}},
		"--reduce-slots 1": {Config: setup.Config{ReduceSlots: 1}, Policy: opens},
		"--max-slots 2":    {Config: setup.Config{MaxSlots: 2}, Policy: opens},
		"--max-slots 5":    {Config: setup.Config{MaxSlots: 5}},
	}
	cases, every := 0, 16
	if testkit.Long() {
		every = 1
	}
	for cores := 1; cores <= 256; cores += 1 + cores/5 {
		for bytes := int64(64 << 20); bytes <= 1<<40; bytes *= 2 {
			for _, quota := range []int{0, 1, 2, 3, 16, 300} {
				for _, space := range []struct{ address, stack int64 }{{none, 0}, {none, 8 << 20}, {3 << 30, 0}, {3 << 30, 8 << 20}, {2<<30 + 24<<20, 0}, {2<<30 + 320<<20, 8 << 20}} {
					for _, threads := range []int64{none, 200, 12} {
						l := machine.Limits{Cores: cores, QuotaCores: quota, MemoryBytes: bytes, AddressSpaceBytes: space.address, StackBytes: space.stack, Threads: threads, Files: 1024}
						for name, user := range users {
							if user.MemoryBytes > 16<<20 && space.address < 3<<30 {
								continue // the user asks for more than there is
							}
							if cases++; cases%every != 0 {
								continue
							}
							o := user.withDefaults(l)
							if err := errors.Join(o.validate(1), user.checkLimits(l)); err != nil {
								t.Fatalf("%s, %+v: %v", name, l, err)
							}
							checkHomeSlots(t, name, &user, &o, l)
						}
					}
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

// checkHomeSlots checks that all cores are used if nothing is short, that a quota is kept, and that a
// note says so if a limit of the process lowers a default.
func checkHomeSlots(t *testing.T, name string, user, o *Options, l machine.Limits) {
	t.Helper()
	slots, typed := o.MapSlots+o.ReduceSlots, user.MapSlots+user.ReduceSlots > 0 || user.MaxSlots > 0
	ample := l.QuotaCores == 0 && l.AddressSpaceBytes == math.MaxInt64 && l.Threads == math.MaxInt64 && o.MemoryBytes >= int64(l.Cores)*LeastBytesPerSlot
	switch least := 2 - min(1, int(boolInt(user.NoReduces))); {
	case ample && !typed && (slots < l.Cores || o.fewer != ""):
		t.Fatalf("%s, %+v: %d slots, note %q", name, l, slots, o.fewer)
	case !typed && slots > max(least, l.WorkCores()):
		t.Fatalf("%s, %+v: %d slots", name, l, slots)
	case !typed && slots < max(least, l.Cores) && (o.fewer == "" || strings.Contains(o.fewer, "\n")):
		t.Fatalf("%s, %+v: %d slots without a note", name, l, slots)
	}
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// TestOnlyWhatIsTypedIsRefused: the message names the settings of the user.
func TestOnlyWhatIsTypedIsRefused(t *testing.T) {
	small := machine.Limits{Cores: 64, MemoryBytes: 1 << 30, AddressSpaceBytes: math.MaxInt64, Threads: math.MaxInt64}
	for name, c := range map[string]struct {
		o    Options
		want string // "": it runs
	}{
		"nothing":              {Options{}, ""},
		"slots for half of it": {Options{Config: setup.Config{MapSlots: 60, ReduceSlots: 4}}, ""},
		"slots for more":       {Options{Config: setup.Config{MapSlots: 90}}, "Options.Trackers, Options.MapSlots, Options.ReduceSlots: 91 slots take at least 728MiB, and a run may take 512MiB of memory by default"},
		"trackers":             {Options{Config: setup.Config{Trackers: 40}}, "Options.Trackers, Options.MapSlots, Options.ReduceSlots: 80 slots take"},
		"memory":               {Options{MemoryBytes: 15 << 20}, "Options.MemoryBytes: 15728640: too little for 2 slots: at least 16MiB"},
		"slots and memory":     {Options{MemoryBytes: 64 << 20, Config: setup.Config{MapSlots: 64}}, "Options.MemoryBytes: 67108864: too little for 65 slots"},
	} {
		o := c.o.withDefaults(small)
		err := o.validate(1)
		if (err == nil) != (c.want == "") || err != nil && (!strings.HasPrefix(err.Error(), c.want) || !errs.IsUsage(err)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
