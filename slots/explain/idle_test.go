package explain_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

var idleRuns = flag.Int("idle-runs", 150, "random runs whose sentences about idle slots are checked")

// half is the unit of all times of a random run, so that printed times are exact.
const half = 500 * time.Millisecond

// randomRun returns the event file of a random small run under a policy, and its policy's name.
func randomRun(t *testing.T, draw *rand.Rand) (file []byte, name string) {
	t.Helper()
	names := registry.Names()
	for {
		name = names[draw.IntN(len(names))]
		o := policy.DefaultOptions()
		o.Cycle = time.Second // ras measures its own cycle otherwise, which is not a multiple of half
		p, err := registry.New(name, o)
		if err != nil {
			t.Fatal(err)
		}
		trackers := 1 + draw.IntN(3)
		c := slots.Config{Slots: policytest.Typed(trackers, 1+draw.IntN(2), 1), Slowstart: slots.One / slots.PPM(1+draw.IntN(2)), Users: []slots.User{{Name: "ann", MaxRunning: int32(1 + draw.IntN(2))}}}
		times := func(most int) time.Duration { return time.Duration(1+draw.IntN(most)) * half }
		var jobs []policytest.ScriptJob
		for i := range 1 + draw.IntN(7) {
			j := job(fmt.Sprint("J", i), time.Duration(draw.IntN(60))*half, int32(draw.IntN(5)), int32(draw.IntN(3)), times(9), times(9))
			if draw.IntN(3) == 0 {
				j.Spec.User = "ann"
			}
			jobs = append(jobs, j)
		}
		var written bytes.Buffer
		options := policytest.Options{Heartbeat: time.Duration(draw.IntN(4)) * half, Sinks: []trace.Sink{trace.NewJSONL(&written)}}
		if trackers > 1 && draw.IntN(3) == 0 {
			at, lost := times(40), slots.TrackerID(draw.IntN(trackers))
			options.Faults = []policytest.ScriptFault{{At: at, Do: func(now time.Duration, l *slots.Ledger) { l.LostTracker(now, lost) }}}
		}
		if _, err := policytest.Drive(c, p, jobs, options); err == nil { // a run that gets stuck is drawn again
			return written.Bytes(), name
		}
	}
}

// instant is the state from one time to the next, as far as the sentences about an idle slot tell.
type instant struct {
	from, to          time.Duration
	submitted, active int
	pending           [trace.Kinds]int32
	busy, closed      []bool // by slot
}

// instants replays a run and notes every state that lasts.
func instants(t *testing.T, file []byte) (all []instant) {
	t.Helper()
	var l *slots.Ledger
	now := time.Duration(0)
	note := func(until time.Duration) {
		v := l.View()
		s := instant{from: now, to: until, submitted: l.Jobs(), active: l.Active(), pending: [2]int32{v.Pending(slots.Map), v.Pending(slots.Reduce)}}
		for id := range slots.SlotID(v.Slots()) {
			slot := v.Slot(id)
			s.busy, s.closed = append(s.busy, slot.Busy), append(s.closed, slot.State == slots.SlotClosed)
		}
		all = append(all, s)
		now = until
	}
	diff, err := explain.Replay(bytes.NewReader(file), registry.ForReplay, explain.ReplayOptions{
		Begin: func(begun *slots.Ledger) { l = begun },
		Event: func(e *trace.Event, _ []string) bool {
			if e.At > now {
				note(e.At)
			}
			return true
		},
	})
	if err != nil || diff != nil {
		t.Fatal(diff, err)
	}
	return all
}

// TestEachSentenceAboutAnIdleSlotHoldsAtEveryInstant of its interval, in random runs under random
// policies: a model that looks at every state knows which clauses are false.
func TestEachSentenceAboutAnIdleSlotHoldsAtEveryInstant(t *testing.T) {
	draw := rand.New(rand.NewPCG(13, 207))
	interval := regexp.MustCompile(`From ([0-9.]+)s to ([0-9.]+)s(?: \(as last seen, at [0-9.]+s\))?: (.*)`)
	sentences := 0
	for range *idleRuns {
		file, name := randomRun(t, draw)
		states := instants(t, file)
		if len(states) == 0 { // all happened at one time
			continue
		}
		for id := range len(states[0].busy) {
			var b bytes.Buffer
			if err := explain.Sentences(&b, bytes.NewReader(file), explain.Options{Policy: registry.ForReplay, WhyIdle: id}); err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(b.String(), "\u00a0", " ")
			text = regexp.MustCompile(`\n {8}`).ReplaceAllString(text, " ")
			for _, m := range interval.FindAllStringSubmatch(text, -1) {
				sentences++
				from, to := parsed(t, m[1]), parsed(t, m[2])
				for i := range states {
					if s := &states[i]; s.from >= from && s.to <= to {
						if wrong := s.contradicts(id, m[3]); wrong != "" {
							t.Fatalf("%s, slot %d, from %v to %v: %s, but:\n%s", name, id, s.from, s.to, wrong, text)
						}
					}
				}
			}
		}
	}
	if sentences < 5**idleRuns {
		t.Errorf("only %d sentences in %d runs", sentences, *idleRuns)
	}
}

// parsed returns a number of seconds as a time.
func parsed(t *testing.T, text string) time.Duration {
	t.Helper()
	s, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(s * float64(time.Second))
}

// contradicts says which clause about a slot is false in the state; "": none is.
func (s *instant) contradicts(slot int, text string) string {
	says := func(words string) bool { return strings.Contains(text, words) }
	switch {
	case s.busy[slot]:
		return "the slot is busy"
	case says("no job had been submitted") && s.submitted > 0:
		return fmt.Sprint(s.submitted, " jobs were submitted")
	case says("all submitted jobs had ended") && s.active > 0:
		return fmt.Sprint(s.active, " jobs are active")
	case says("had closed the slot") && !s.closed[slot], says("the slot was closed") && !s.closed[slot]:
		return "the slot is not closed"
	}
	for k := range slots.Kind(trace.Kinds) {
		lower := strings.ToLower(text)
		if strings.Contains(lower, "no "+k.String()+" could start") && s.pending[k] > 0 {
			return fmt.Sprintf("%d %vs are pending", s.pending[k], k)
		}
		if regexp.MustCompile(`[0-9] `+k.String()+`s? (was|were) pending, but`).MatchString(text) && s.pending[k] == 0 {
			return fmt.Sprintf("no %v is pending", k)
		}
	}
	return ""
}
