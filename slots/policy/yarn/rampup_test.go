package yarn

import "testing"

// TestRampUp has 16 containers. If half of the maps or more are done, reduces may have half of
// the containers; if a fourth is done, a fourth. They also get containers that maps do not need
// (Hadoop 2.6, RMContainerAllocator.scheduleReduces).
func TestRampUp(t *testing.T) {
	for _, c := range []struct {
		r    request
		want int32
	}{
		{request{total: 16, doneMaps: 50, maps: 100, wantedMaps: 50, reduces: 0}, 8},
		{request{total: 16, doneMaps: 80, maps: 100, wantedMaps: 20, reduces: 8}, 0},
		{request{total: 16, doneMaps: 25, maps: 100, wantedMaps: 75, reduces: 1}, 3},
		{request{total: 16, doneMaps: 97, maps: 100, wantedMaps: 3, reduces: 8}, 5},
		{request{total: 16, doneMaps: 10, maps: 100, wantedMaps: 90, reduces: 5}, -4},
		{request{total: 1, doneMaps: 99, maps: 100, wantedMaps: 1, reduces: 0}, 0},
	} {
		if got := rampUp(c.r); got != c.want {
			t.Errorf("%+v: %d, want %d", c.r, got, c.want)
		}
	}
	for _, c := range [][3]int32{{16, 1, 1}, {16, 20, 8}, {1, 5, 1}, {3, 9, 2}} {
		if got := toPreempt(c[0], c[1]); got != c[2] {
			t.Errorf("of %d with %d maps waiting: %d, want %d", c[0], c[1], got, c[2])
		}
	}
}
