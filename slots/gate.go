package slots

import "mrlocal/trace"

// When a reduce may start. Four things decide:
//
//   - The gate of its job, in this file. It opens once a share of the job's maps is done
//     (slowstart), and until then the job shows no pending reduces. The share is
//     Config.Slowstart, unless the policy has its own (Traits.OwnSlowstart).
//   - The policy, which grants reduces or does not.
//   - The deadlock guard (guard.go), which refuses a reduce that would wait for maps on the
//     last slot that a map may use.
//   - Like any task: a free slot, running-job limits, earlier failures, weights
//     (Ledger.resolve).
//
// A reduce that has started leaves its copy phase when it has the output of all maps. If the
// policy is a PhaseGate, the policy decides when the reduce leaves it.

// gateOpen reports whether the job's reduces may start (Hadoop 1.0.3,
// JobInProgress.scheduleReduces). The number of its maps must be final, and ceil(slowstart
// · maps) of them done. The loss of a map's output may close the gate again.
func (j *ledgerJob) gateOpen(slowstart PPM) bool {
	if slowstart == 0 {
		return true
	}
	return j.sealed && j.side[Map].done >= slowstart.CeilOf(j.side[Map].total)
}

// setGate opens or closes the gate of j, and records it if j is running and has reduces.
func (l *Ledger) setGate(j *ledgerJob) {
	running := j.state == Running
	gate := running && j.gateOpen(l.config.Slowstart)
	if gate == j.gate {
		return
	}
	j.gate = gate
	if j.side[Reduce].total > 0 && running {
		e := jobEvent(trace.OpGate, j.id)
		e.Set(trace.OK, gate)
		l.recordDecision(e, trace.RuleNone)
	}
}
