package dynamicmr

import "mrlocal/slots"

// Slot PreScheduling: a tracker that has had its even part of the load, and has
// slots beyond it, takes at once the maps whose input it has. That trades an even
// load, not fairness, for locality. Reconstructed (A22).

// ExtraIdle is Definition 2: the map slots of a tracker that are idle beyond those
// that load balancing lets it give away now (Definition 1), kept for a heavier
// load: own - max(used, min(ceil(map load factor · own), own)).
func ExtraIdle(demand, own, all, used int32) int32 {
	return max(own-max(used, slots.ShareOfLoad(demand, own, all)), 0)
}

// PreSchedules: a map may have an extra idle slot, where no slot is allowable and
// the job that fairness ranks first has a map whose input is there.
func PreSchedules(allowable, extra int32, local slots.Level) bool {
	return allowable <= 0 && extra > 0 && local == slots.LevelTracker
}
