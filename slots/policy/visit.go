package policy

import (
	"mrlocal/slots"
	"mrlocal/trace"
)

// Skips are the jobs that were refused the slot that a visit offered to them. Their tasks
// of that kind are not asked again until the visit ends. The zero value has none.
type Skips struct {
	jobs []skip
	of   [trace.Kinds][]bool // by job
}

type skip struct {
	job  slots.JobID
	kind slots.Kind
	why  slots.Refusal // Granted: the policy itself keeps the job back
}

// Add skips the tasks of kind k of a job. why is what the Ledger said; Granted: the policy
// itself does not want them yet.
func (s *Skips) Add(id slots.JobID, k slots.Kind, why slots.Refusal) {
	s.jobs = append(s.jobs, skip{id, k, why})
	*At(&s.of[k], id) = true
}

// Has reports whether tasks of kind k of a job are skipped.
func (s *Skips) Has(id slots.JobID, k slots.Kind) bool {
	return int(id) < len(s.of[k]) && s.of[k][id]
}

// Why returns why tasks of kind k were refused, the first of them, or "" if none was.
func (s *Skips) Why(k slots.Kind) string {
	for _, o := range s.jobs {
		if o.kind == k && o.why != slots.Granted {
			return RefusedBecause(o.why, k)
		}
	}
	return ""
}

// End ends a visit. It calls rank with each job that was skipped, whose tasks may start
// again.
func (s *Skips) End(rank func(id slots.JobID)) {
	for _, o := range s.jobs {
		s.of[o.kind][o.job] = false
		rank(o.job)
	}
	s.jobs = s.jobs[:0]
}

// Beaten returns the jobs after the winner in a ranking.
func Beaten[K any](r *slots.Ranking[K], winner slots.JobID, v *slots.View, why func(j slots.JobView) string) (all []slots.Beaten) {
	for _, id := range r.Firsts(nil, slots.MostBeaten+1) {
		if j := v.Job(slots.JobID(id)); j.ID() != winner && len(all) < slots.MostBeaten {
			all = append(all, slots.Beaten{Pool: j.Pool(), Job: j.ID(), Why: why(j)})
		}
	}
	return all
}

// MapsDone reports whether all maps of the job are done, so that its reduces need not
// wait. A lost output changes that.
func MapsDone(j slots.JobView) bool { return j.Sealed() && j.Done(slots.Map) == j.Total(slots.Map) }

// At returns element i of a list, which grows as far as needed. New elements are zero.
func At[T any, I ~int32](list *[]T, i I) *T {
	if missing := int(i) + 1 - len(*list); missing > 0 {
		*list = append(*list, make([]T, missing)...)
	}
	return &(*list)[i]
}
