package slots

// LoadCap is how many tasks of kind k a tracker of typed slots takes under an
// even load (SPEC 1.5, CapBasedLoadManager with max diff 0): its share of what
// is pending and running.
func LoadCap(v *View, t TrackerID, k Kind) int32 {
	return ShareOfLoad(v.Pending(k)+v.Running(k), v.CapacityAt(t, k), v.Capacity(k))
}

// ShareOfLoad is min(ceil(demand/all · own), own), in integers: a ceiling of
// floating point gives a slot too much now and then.
func ShareOfLoad(demand, own, all int32) int32 {
	if all == 0 {
		return 0
	}
	return int32(min((int64(demand)*int64(own)+int64(all)-1)/int64(all), int64(own)))
}
