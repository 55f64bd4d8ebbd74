package slots_test

import (
	"fmt"
	"testing"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// steady is a cluster in a steady state: every slot is busy and jobs have pending tasks. A
// step ends one attempt and asks for the next one on its slot.
type steady struct {
	l    *slots.Ledger
	now  time.Duration
	live []slots.Start // in the order of their starts, a ring
	next int

	started []time.Duration // of live
	probe   time.Duration   // time from which progress is reported; negative: no Probe is due
}

// attemptTime is how long each attempt takes.
const attemptTime = 10 * time.Second

func newSteady(t testing.TB, name string, places, jobs int, s *trace.Stream, pools ...slots.Pool) *steady {
	t.Helper()
	p, err := registry.New(name, policy.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	c := slots.Config{Slots: policytest.Typed(places/10, 8, 2), Pools: pools}
	l, err := slots.New(c, p)
	if err != nil {
		t.Fatal(err)
	}
	if s != nil {
		l.SetStream(s)
	}
	for i := range jobs {
		l.Submit(0, slots.JobSpec{Name: fmt.Sprintf("J%04d", i), Pool: fmt.Sprintf("P%03d", i%(jobs/10+1)), User: fmt.Sprint("U", i%7), Maps: int32(1 << 30 / jobs), MapsSealed: true})
	}
	st := &steady{l: l, probe: -1}
	for _, o := range l.AssignAll(0).Starts {
		st.live = append(st.live, o)
		st.started = append(st.started, 0)
	}
	for range 2 * len(st.live) { // until attempts that began at different times have ended
		st.step(t)
	}
	return st
}

func (s *steady) step(t testing.TB) {
	s.now += attemptTime / time.Duration(len(s.live))
	s.l.Finish(s.now, s.live[s.next].Attempt, slots.Outcome{OK: true})
	s.answerProbe()
	o := s.l.AssignAll(s.now)
	if len(o.Starts) != 1 {
		t.Fatalf("%d starts for one end", len(o.Starts))
	}
	if s.probe < 0 {
		s.probe = o.Probe
	}
	s.live[s.next], s.started[s.next] = o.Starts[0], s.now
	s.next = (s.next + 1) % len(s.live)
}

// answerProbe reports the progress of all attempts if a Probe is due. All attempts are equally fast.
func (s *steady) answerProbe() {
	if s.probe < 0 || s.now < s.probe {
		return
	}
	s.probe = -1
	for i, a := range s.live {
		s.l.Progress(s.now, a.Slot, a.Attempt, slots.Progress(int64(slots.AllDone)*int64(s.now-s.started[i])/int64(attemptTime)))
	}
}

func policies() (names []string) {
	for _, p := range registry.All() {
		names = append(names, p.Name)
	}
	return names
}

// BenchmarkLedger measures a decision in a steady state: an end, an Assign, a start. Its
// cost depends on what has changed, not on the number of slots or jobs.
func BenchmarkLedger(b *testing.B) {
	for _, name := range policies() {
		for _, size := range []struct{ slots, jobs int }{{100, 10}, {10_000, 1000}} {
			b.Run(fmt.Sprintf("policy=%s/slots=%d/jobs=%d", name, size.slots, size.jobs), func(b *testing.B) {
				s := newSteady(b, name, size.slots, size.jobs, nil)
				b.ReportAllocs()
				for b.Loop() {
					s.step(b)
				}
			})
		}
	}
}

// BenchmarkQueues measures the same under capacity, with queues that have jobs of several users.
func BenchmarkQueues(b *testing.B) {
	for _, queues := range []int{1, 10, 100} {
		var pools []slots.Pool
		for i := range queues {
			pools = append(pools, slots.Pool{Name: fmt.Sprintf("P%03d", i), Capacity: slots.One / slots.PPM(queues+1), UserLimitFactor: 10 * slots.One})
		}
		b.Run(fmt.Sprintf("queues=%d", queues), func(b *testing.B) {
			s := newSteady(b, "capacity", 10_000, 1000, nil, pools...)
			b.ReportAllocs()
			for b.Loop() {
				s.step(b)
			}
		})
	}
}

// BenchmarkLedgerRecorded measures the same with a stream.
func BenchmarkLedgerRecorded(b *testing.B) {
	stream := trace.NewStream()
	s := newSteady(b, "pi-dhfs", 100, 10, stream)
	b.ReportAllocs()
	for b.Loop() {
		s.step(b)
	}
}

func TestADecisionAllocatesNothing(t *testing.T) {
	if invariant.Enabled {
		t.Skip("checked builds allocate on purpose")
	}
	for _, name := range policies() {
		stream := trace.NewStream()
		s := newSteady(t, name, 100, 10, stream)
		for range 1000 {
			s.step(t)
		}
		if n := testing.AllocsPerRun(200, func() { s.step(t) }); n > 0.5 { // the slices of tasks grow now and then
			t.Errorf("%s: %v allocations per decision", name, n)
		}
	}
}
