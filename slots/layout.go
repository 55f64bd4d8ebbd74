package slots

// Layout is a cluster of trackers that are alike.
type Layout struct {
	Trackers    int
	MapSlots    int // a tracker
	ReduceSlots int // a tracker
	MaxSlots    int // a tracker, extra ones among them; below the home slots: none is extra

	Core func(tracker, i int) int32 // of slot i of a tracker; nil: not bound
}

// Slots lays them out: first the home slots, tracker by tracker, map slots
// before reduce slots; then each tracker's extra ones, closed until a policy
// opens them, of home kind map.
func (y Layout) Slots() []Slot {
	home := y.MapSlots + y.ReduceSlots
	all := make([]Slot, 0, y.Trackers*max(y.MaxSlots, home))
	lay := func(from, to int) {
		for t := range y.Trackers {
			for i := from; i < to; i++ {
				s := Slot{ID: SlotID(len(all)), Tracker: TrackerID(t), Core: -1, Home: Map, Extra: i >= home}
				if i >= y.MapSlots && !s.Extra {
					s.Home = Reduce
				}
				if y.Core != nil {
					s.Core = y.Core(t, i)
				}
				all = append(all, s)
			}
		}
	}
	lay(0, home)
	lay(home, y.MaxSlots)
	return all
}
