package omo

import (
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/yarn"
)

// percent returns so much of a tracker's CPU and memory.
func percent(cpu, memory float64) slots.Vector {
	return slots.Vector{CPU: slots.PPM(cpu * float64(slots.One) / 100), Memory: slots.PPM(memory * float64(slots.One) / 100)}
}

// TestContainersOfResources works R_t of [OMO21, section IV-A] on nodes of 8 cores and 64 GB
// [OMO21, section V-D]: 2 cores are 25 %, 8 GB 12.5 % of a node.
func TestContainersOfResources(t *testing.T) {
	whole := percent(100, 100)
	for _, c := range []struct {
		request slots.Vector
		want    int64
	}{
		{percent(25, 12.5), 4}, // min(8 / 2, 64 / 8)
		{percent(25, 37.5), 2}, // min(8 / 2, 64 / 24)
		{percent(0, 37.5), 2},
		{percent(0, 0), 0}, // nothing is requested
	} {
		if got := yarn.Makes(whole, c.request); got != c.want {
			t.Errorf("%+v in a node: %d, want %d", c.request, got, c.want)
		}
	}

	// In a window of 10 s node 0 gives back two tasks of 2 cores and 24 GB, node 1 one. For
	// a request of 2 cores and 8 GB, node 0 has floor(48 / 8) = 6 containers by memory and
	// floor(4 / 2) = 2 by cores. Node 1 has one: R_t = 3. A request of 4 cores finds 1 and,
	// with the two cores that node 1 had left, 1 more.
	var m monitor
	small, large := m.ask(percent(25, 12.5)), m.ask(percent(50, 12.5))
	if m.ask(percent(25, 12.5)) != small {
		t.Error("a request has two numbers")
	}
	m.left = []slots.Vector{{}, percent(25, 25)}
	m.available(0, 3)
	for i, node := range []int32{0, 0, 1, 1} {
		m.released(time.Duration(i+1)*time.Second, 60*time.Second)
		if i < 3 { // the fourth gives nothing back: it makes the window several releases long
			m.gave(slots.TrackerID(node), percent(25, 37.5))
		}
	}
	if got := m.containers(percent(25, 12.5)); got != 3 {
		t.Errorf("R_t of 2 cores and 8 GB: %d", got)
	}
	if got := m.containers(percent(50, 12.5)); got != 2 {
		t.Errorf("R_t of 4 cores and 8 GB: %d", got)
	}
	m.close(10*time.Second, 60*time.Second)
	if s, l := m.frequencyOf(small), m.frequencyOf(large); !near(s, 0.3) || !near(l, 0.2) || !near(m.frequency, 0.4) {
		t.Errorf("F_o %v and %v, of tasks %v", s, l, m.frequency)
	}
	if m.containers(percent(25, 12.5)) != 0 {
		t.Error("a window begins with nothing released")
	}
}
