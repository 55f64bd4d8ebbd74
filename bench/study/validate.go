package study

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"mrlocal/internal/errs"
	"mrlocal/internal/stats"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// MostRuns is the largest number of real runs under each policy (--runs).
const MostRuns = 1000

// Load returns the section "measured" of the workload file at path, or of f if path is "". It fails
// with an input error if there is no section, or if it lacks a job of f.
func Load(f *workload.File, path string) (*workload.Measured, error) {
	from := f
	if path != "" {
		var err error
		if from, err = workload.Load(path); err != nil {
			return nil, err
		}
	}
	if from.Measured == nil {
		return nil, errs.Inputf(from.Name, "has no section measured; make it with mrlocal profile %s -o FILE", from.Name)
	}
	// Predicted fails if a job of f was not measured. Sizes do not matter for this.
	_, err := f.Predicted(from.Measured, func(string, int) (workload.Size, bool) { return workload.Size{}, false })
	return from.Measured, err
}

// Validator makes real runs of a file and simulates each of them. All its fields must be set.
type Validator struct {
	File     *workload.File
	Policies []string
	Rounds   int // real runs under each policy
	Measured *workload.Measured

	// Real makes a real run under a policy. Simulated simulates the real run real with the times of m.
	// real gives the numbers of tasks and the bytes.
	Real      func(policyName string) (*report.Report, error)
	Simulated func(policyName string, m *workload.Measured, real *report.Report, seed uint64) (*report.Report, error)
	Probe     func() workload.Probe // measures how fast the machine is now, as SpeedProbe does
	Note      func(string)          // gets a line for each run that is repeated
}

// A real run cannot test the simulator if the speed of the machine changes meanwhile by more than
// the factor mostDrift. It is then made again. After mostTries tries it counts all the same.
const (
	mostDrift = 1.25
	mostTries = 3
)

// Compare makes the runs and returns their comparison. In a turn, each policy gets one real run, so
// that other work of the machine affects all policies alike. Then each real run of the turn is
// simulated, with one seed and one speed of the machine for all policies. So the speed cannot
// change the order of the policies. The first error of a run ends it.
func (v *Validator) Compare() (*Validation, error) {
	// all and unscaled are by policy. unscaled has the simulated runs without scaling, to show the effect of
	// the scaling on the error.
	all, unscaled := make([]Runs, len(v.Policies)), make([][]*report.Report, len(v.Policies))
	first := v.Measured.Probe
	// alone and whole have, for each turn, the mean time of the probe divided by its time in
	// the profile. alone is on one core, whole on all cores.
	var alone, whole []float64
	var tries Validation // only the counts of tries
	before := v.Probe()
	for n := range v.Rounds {
		var real []*report.Report
		var turnAlone, turnWhole []float64
		for _, name := range v.Policies {
			done, probes, err := v.steady(n, name, before, &tries)
			if err != nil {
				return nil, err
			}
			before, real = probes[1], append(real, done)
			for _, p := range probes {
				one, all := p.Slower(first)
				turnAlone, turnWhole = append(turnAlone, one), append(turnWhole, all)
			}
		}
		alone, whole = append(alone, mean(turnAlone)), append(whole, mean(turnWhole))
		slowed := v.Measured.Slowed(alone[n], whole[n])
		for i, name := range v.Policies {
			scaled, err := v.Simulated(name, slowed, real[i], uint64(n)+1)
			if err != nil {
				return nil, err
			}
			plain, err := v.Simulated(name, v.Measured, real[i], uint64(n)+1)
			if err != nil {
				return nil, err
			}
			all[i] = Runs{name, append(all[i].Real, real[i]), append(all[i].Sim, scaled)}
			unscaled[i] = append(unscaled[i], plain)
		}
	}
	out := Validate(v.File, all)
	if first != (workload.Probe{}) {
		out.Alone, out.All = &Slower{mean(alone), slices.Min(alone), slices.Max(alone)}, &Slower{mean(whole), slices.Min(whole), slices.Max(whole)}
	}
	out.Repeated, out.Drifted = tries.Repeated, tries.Drifted
	for i := range out.Policies {
		out.Policies[i].Unscaled = relativeError(makespans(unscaled[i]).Mean, out.Policies[i].Real)
	}
	return out, nil
}

// steady makes real run n under a policy, again if the speed of the machine has changed too much during it.
// before is the probe before the run. It returns the probes before and after the run that counts, and counts
// the tries in tries.
func (v *Validator) steady(n int, name string, before workload.Probe, tries *Validation) (done *report.Report, probes [2]workload.Probe, err error) {
	for try := 1; ; try++ {
		if done, err = v.Real(name); err != nil {
			return nil, probes, err
		}
		probes = [2]workload.Probe{before, v.Probe()}
		// drift is the factor, at least 1, by which the speed of one core or of all cores changed in either direction.
		alone, all := probes[1].Slower(before)
		drift := max(alone, 1/alone, all, 1/all)
		before = probes[1]
		if drift <= mostDrift {
			return done, probes, nil
		}
		if try == mostTries {
			tries.Drifted++
			return done, probes, nil
		}
		tries.Repeated++
		v.Note(fmt.Sprintf("validate: run %d under %s is repeated: within it the speed of the machine changed by %.0f %%", n+1, name, 100*(drift-1)))
	}
}

// Validation compares real and simulated runs of a workload file. Its JSON is the --report file.
type Validation struct {
	// OrderAgrees is true if the simulator has the real order for each pair of policies whose real
	// makespans differ. They differ if their 95 % intervals do not overlap.
	OrderAgrees bool `json:"order_agrees"`
	// Ties is the number of pairs of policies whose real intervals overlap. OrderAgrees ignores them.
	Ties       int      `json:"ties"`
	RealBest   string   `json:"real_best"` // the policy with the least mean makespan of the real runs
	SimBest    string   `json:"sim_best"`  // likewise of the simulated runs
	BestAgrees bool     `json:"best_agrees"`
	BestTies   bool     `json:"best_ties"` // the real interval of RealBest overlaps that of another policy
	Policies   []Policy `json:"policies"`

	// Alone and All compare the times of the speed probe during the runs with those in the profile, on
	// one core and on all cores. They are nil if the profile has no probe.
	Alone    *Slower `json:"slower_alone,omitempty"`
	All      *Slower `json:"slower_all,omitempty"`
	Repeated int     `json:"repeated"` // tries that were made again because the speed changed too much
	Drifted  int     `json:"drifted"`  // runs that count although the speed changed too much in each try
}

// Slower is the time of the speed probe divided by its time in the profile. It has the mean over
// all turns, and the least and the greatest of a turn.
type Slower struct {
	Mean  float64 `json:"mean"`
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

// Policy compares the runs under one policy. Times are means over the runs, in seconds.
type Policy struct {
	Name string  `json:"policy"`
	Real float64 `json:"real_makespan_s"`
	Sim  float64 `json:"sim_makespan_s"`
	Compared
	Unscaled float64       `json:"unscaled_error"` // Error without the scaling by the speed probe
	Jobs     []ComparedJob `json:"jobs"`           // in the order of the file
}

// ComparedJob compares the times of one job, from its submission to the end of its chain. Times are
// means over the runs, in seconds.
type ComparedJob struct {
	Name string  `json:"name"`
	Real float64 `json:"real_s"`
	Sim  float64 `json:"sim_s"`
	Compared
}

// Compared has the 95 % intervals of two times, in seconds, and compares their means.
type Compared struct {
	RealLow  float64 `json:"real_low_s"`
	RealHigh float64 `json:"real_high_s"`
	SimLow   float64 `json:"sim_low_s"`
	SimHigh  float64 `json:"sim_high_s"`
	Error    float64 `json:"error"` // simulated ÷ real − 1
}

func compared(real, sim stats.Interval) Compared {
	return Compared{real.Low, real.High, sim.Low, sim.High, relativeError(sim.Mean, real.Mean)}
}

// Runs has the reports of all runs under one policy. Sim[i] simulates Real[i].
type Runs struct {
	Policy    string
	Real, Sim []*report.Report
}

// Sizes returns a function that returns the size of a stage in the real run: its maps, reduces and
// input bytes. stage counts the jobs of a chain from 0. The function returns false for a stage that
// did not run. The sizes depend on the inputs only, so the simulator may use them for a prediction.
func Sizes(real *report.Report) func(job string, stage int) (workload.Size, bool) {
	all := map[string]workload.Size{}
	for i := range real.Jobs {
		j := &real.Jobs[i]
		all[j.Name] = workload.Size{Maps: j.Maps, Reduces: j.Reduces, InputBytes: j.Counters.MapInputBytes}
	}
	return func(job string, stage int) (workload.Size, bool) {
		size, ok := all[setup.StepName(job, stage)]
		return size, ok
	}
}

// Validate compares the runs of all policies of the file. It leaves the fields of the speed probe and
// Policy.Unscaled at zero; Compare sets them. Each policy must have at least one run.
func Validate(f *workload.File, all []Runs) *Validation {
	v := &Validation{OrderAgrees: true}
	for i := range all {
		r := &all[i]
		real, sim := makespans(r.Real), makespans(r.Sim)
		p := Policy{Name: r.Policy, Real: real.Mean, Sim: sim.Mean, Compared: compared(real, sim)}
		for n := range f.Jobs {
			real, sim := jobTime(&f.Jobs[n], r.Real), jobTime(&f.Jobs[n], r.Sim)
			p.Jobs = append(p.Jobs, ComparedJob{f.Jobs[n].Name, real.Mean, sim.Mean, compared(real, sim)})
		}
		v.Policies = append(v.Policies, p)
	}
	v.rank()
	return v
}

// rank sets the fields of v that compare the order of the policies and the best policy.
func (v *Validation) rank() {
	all := v.Policies
	// Each pair of policies is looked at once.
	for i := range all {
		for n := range all[:i] {
			a, b := &all[n], &all[i]
			switch {
			case a.RealLow <= b.RealHigh && b.RealLow <= a.RealHigh:
				v.Ties++
			case (a.Real < b.Real) != (a.Sim < b.Sim):
				v.OrderAgrees = false
			}
		}
	}
	real := slices.MinFunc(all, func(a, b Policy) int { return cmp.Compare(a.Real, b.Real) })
	sim := slices.MinFunc(all, func(a, b Policy) int { return cmp.Compare(a.Sim, b.Sim) })
	v.RealBest, v.SimBest = real.Name, sim.Name
	v.BestAgrees = real.Name == sim.Name
	// The intervals of two policies overlap if the low end of the slower one is below the high end
	// of the best.
	for i := range all {
		v.BestTies = v.BestTies || all[i].Name != real.Name && all[i].RealLow <= real.RealHigh
	}
}

// makespans returns the mean makespan of the runs with its 95 % interval, in seconds.
func makespans(reports []*report.Report) stats.Interval {
	return stats.IntervalOf(figures(reports, func(r *report.Report) float64 { return r.MakespanSeconds }))
}

// jobTime returns the mean time of a job over the runs with its 95 % interval, in seconds. The time goes
// from the submission in the file to the end of the last stage of the job.
func jobTime(listed *workload.ListedJob, reports []*report.Report) stats.Interval {
	return stats.IntervalOf(figures(reports, func(r *report.Report) (end float64) {
		for i := range r.Jobs {
			j := &r.Jobs[i]
			if chain, _ := setup.StepOf(j.Name); j.Name == listed.Name || chain == listed.Name {
				end = max(end, j.FinishS)
			}
		}
		return end - listed.Submit.Seconds()
	}))
}

// relativeError returns the error of a simulated time as sim ÷ real − 1: 0.1 is a tenth too long.
// If real is 0, it returns 0.
func relativeError(sim, real float64) float64 {
	if real == 0 {
		return 0
	}
	return sim/real - 1
}

// MedianErrors returns the medians of the absolute errors: of the makespans, and of the times of jobs.
func (v *Validation) MedianErrors() (makespan, job float64) {
	var makespans, jobs []float64
	for i := range v.Policies {
		p := &v.Policies[i]
		makespans = append(makespans, max(p.Error, -p.Error))
		for _, j := range p.Jobs {
			jobs = append(jobs, max(j.Error, -j.Error))
		}
	}
	return stats.Median(makespans), stats.Median(jobs)
}

// Text returns the comparison as text for errs.Fit. A table comes first, then the medians of the errors, the
// order of the policies, and the changes of the speed of the machine.
func (v *Validation) Text() []byte {
	var b bytes.Buffer
	b.WriteString("policy\tjob\treal\t95 %\tsimulated\t95 %\terror\n")
	add := func(policy, job string, real, sim float64, c *Compared) {
		fmt.Fprintf(&b, "%s\t%s\t%.3fs\t±%.3fs\t%.3fs\t±%.3fs\t%+.1f%%\n", policy, job, real, c.RealHigh-real, sim, c.SimHigh-sim, 100*c.Error)
	}
	for i := range v.Policies {
		p := &v.Policies[i]
		add(p.Name, "(makespan)", p.Real, p.Sim, &p.Compared)
		for _, j := range p.Jobs {
			add("", j.Name, j.Real, j.Sim, &j.Compared)
		}
	}
	makespan, job := v.MedianErrors()
	fmt.Fprintf(&b, "\nmedian error: makespans %.1f%%, jobs %.1f%%\n", 100*makespan, 100*job)
	if len(v.Policies) > 1 {
		says := func(yes bool) string {
			if yes {
				return "agrees"
			}
			return "differs"
		}
		fmt.Fprintf(&b, "order of the policies: %s (%s whose real times do not differ)\n", says(v.OrderAgrees), errs.Counted(v.Ties, "pair"))
		tie := ""
		if v.BestTies {
			tie = "; for real it ties with another"
		}
		fmt.Fprintf(&b, "best policy: %s (real %s, simulated %s%s)\n", says(v.BestAgrees), v.RealBest, v.SimBest, tie)
	}
	if v.Alone != nil {
		fmt.Fprintf(&b, "machine: the speed probe took %.2f times as long as in the profile on one core (%.2f to %.2f), %.2f times on all (%.2f to %.2f); runs repeated: %d\n",
			v.Alone.Mean, v.Alone.Least, v.Alone.Most, v.All.Mean, v.All.Least, v.All.Most, v.Repeated)
	} else {
		b.WriteString("machine: the profile has no speed probe, so its times are taken as they are; make it again with mrlocal profile\n")
	}
	if v.Drifted > 0 {
		fmt.Fprintf(&b, "warning: in %s the speed of the machine changed by more than %.0f %% each time; the times count nevertheless\n", errs.Counted(v.Drifted, "run"), 100*(mostDrift-1))
	}
	return b.Bytes()
}
