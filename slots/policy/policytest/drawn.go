package policytest

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// drawnRuns is how many workloads Drawn draws for each setting of the options.
const drawnRuns = 40

// Drawn runs drawn workloads, and compares each with its line in the golden file at path. A line has the last
// time, the numbers of starts, loans and kills, and a digest of all events and reasons. So a change of any
// decision is seen, also in a case that no script has. A change that is meant needs -rewrite. The workloads
// depend on their number alone. options has settings as in the command policy of Scripts.
func Drawn(t *testing.T, path string, newPolicy func(o policy.Options) slots.Policy, claims Claims, options ...string) {
	var out bytes.Buffer
	for _, setting := range options {
		for i := range drawnRuns {
			s := &script{t: t, options: policy.DefaultOptions()}
			if err := s.policy(parseArgs(strings.Fields(setting))); err != nil {
				t.Fatal(err)
			}
			p := newPolicy(s.options)
			if i == 0 {
				fmt.Fprintf(&out, "policy %s: %s\n", setting, traits(p))
			}
			fmt.Fprintf(&out, "%d: %s\n", i, Digest(t, i, p, claims))
		}
	}
	testkit.Golden(t, path, out.Bytes())
}

// traits returns a digest of the constants of a policy.
func traits(p slots.Policy) string {
	sum, t := fnv.New32a(), p.Traits()
	fmt.Fprintln(sum, t.Name, t.Uses, t.Lends, t.ByDemand, t.OwnSlowstart, t.Slowstart, t.Weights, t.Options == nil, t.Rules)
	return fmt.Sprintf("%08x", sum.Sum32())
}

// Digest runs the drawn workload of a number under a policy. It returns the line of Drawn for it, without the number.
func Digest(t *testing.T, number int, p slots.Policy, claims Claims) string {
	s := &script{t: t}
	w := rapid.Custom(func(t *rapid.T) workload { return drawWorkload(t, claims) }).Example(number)
	if number%4 == 3 { // many jobs, because some policies look at all jobs only when an eighth of them have changed
		w.jobs = slices.Repeat(w.jobs, 4)
	}
	for i := range w.jobs {
		s.names = append(s.names, w.jobs[i].Spec.Name)
	}
	var log Log
	var reasons strings.Builder
	w.options.Sinks, w.options.Explain = []trace.Sink{&log}, func(e *slots.Explanation) { s.explain(&reasons, e) }
	l, err := Drive(w.config, p, w.jobs, w.options)
	if err != nil {
		t.Fatalf("drawn workload %d: %v", number, err)
	}
	sum, count := fnv.New32a(), map[trace.Op]int{}
	for i := range log.Events {
		e := &log.Events[i]
		count[e.Op]++
		fmt.Fprintln(sum, log.Line(e))
	}
	st := l.Stats()
	fmt.Fprintln(sum, st.Phases, st.Wasted, st.Moves, st.Lent, st.WaitingReduce, reasons.String())
	return fmt.Sprintf("%v, %d starts, %d lent, %d killed, %08x", l.Now(), count[trace.OpStart], count[trace.OpLend], count[trace.OpKill], sum.Sum32())
}
