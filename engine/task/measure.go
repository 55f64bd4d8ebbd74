package task

import (
	"time"

	"mrlocal/internal/machine"
	"mrlocal/report"
	"mrlocal/slots"
	"mrlocal/spill/runs"
)

// measures is what an attempt has used so far, by phase. It belongs to the
// attempt's thread.
type measures struct {
	phases [slots.PhaseHeld + 1]report.Usage
	// The fields from here on are the readings at the start of the phase.
	now   slots.Phase
	begun time.Time
	cpu   time.Duration // of the thread and the helpers, when the phase began
	read  int64
	wrote int64
}

// Usage returns what the attempt has used in each phase, and ends the last phase.
// The attempt's thread calls it when all is done.
func (a *SlotAttempt) Usage() []report.Usage {
	a.measure(slots.PhaseNone)
	return a.measured.phases[:]
}

// measure ends a phase and begins the next one.
func (a *SlotAttempt) measure(next slots.Phase) {
	m := &a.measured
	cpu, read := machine.ThreadCPU()+time.Duration(a.helperCPU.Load()), a.Counters.MapInputBytes+a.CopyBytes
	wrote := a.spilledBytes.Load() + a.Counters.OutputBytes
	// An attempt that runs twice for want of memory enters a phase twice, so usage adds up.
	if m.now != slots.PhaseNone {
		u := &m.phases[m.now]
		u.Attempts = 1
		u.WallS += time.Since(m.begun).Seconds()
		u.CPUS += (cpu - m.cpu).Seconds()
		u.ReadBytes += read - m.read
		u.WrittenBytes += wrote - m.wrote
		u.PeakBytes = max(u.PeakBytes, a.peak())
	}
	m.now, m.begun, m.cpu, m.read, m.wrote = next, time.Now(), cpu, read, wrote
}

// peak returns the most bytes of memory that were in use since the last call.
func (a *SlotAttempt) peak() int64 {
	if a.lease == nil {
		return a.peakBytes
	}
	return a.lease.Peak()
}

// wrote counts what the kvbuffer or a merge writes, on any thread.
func (a *SlotAttempt) wrote(e *runs.Event) {
	switch e.Kind {
	case runs.SpillEnd, runs.MergePass, runs.Evict:
		a.spilledBytes.Add(e.Bytes)
	}
}

// helped returns f with its processor time added to the attempt's.
func (a *SlotAttempt) helped(f func()) func() {
	return func() {
		before := machine.ThreadCPU()
		defer func() { a.helperCPU.Add(int64(machine.ThreadCPU() - before)) }()
		f()
	}
}
