package predict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"mrlocal/errs"
	"mrlocal/internal/interval"
	"mrlocal/report"
	"mrlocal/workload"
)

// MostRuns bounds the real runs under each policy.
const MostRuns = 1000

// ValidateHelp and ProfileHelp are the texts of the commands.
const (
	ValidateHelp = `Runs the file for real --runs times under each policy, in turn, throws the results away, and simulates each of these runs by what mrlocal profile has measured. The table shows the makespans and the time of each job, their 95 % intervals over the runs, the error (simulated by real, minus 1), and whether both put the policies into the same order. Numbers of tasks and bytes are those of the real inputs; times come from the profile alone.

WORKLOAD has a section "measured", or --measured names a file that has one. A job takes the times of the job of its name, or of one that runs the same with other inputs.

Exit codes: 0 done; 2 wrong usage or input, nothing was started; 3 a job failed; 128 + the signal's number when interrupted.`

	ProfileHelp = `With a JOB, profile runs the job alone with 1 to --map-slots map slots on each tracker, throws the results away, and prints the profile of the fastest run, for the policy ras: mrlocal profile JOB --help.

With a WORKLOAD, profile runs each job of the file alone, with blocks of half, once, twice and four times their size, with other numbers of reduces, and with 1, 2, ... slots of each kind, up to twice the cores. It throws the results away, and writes the file with a section "measured" behind it: the times of tasks as functions of bytes, their spread, and how much slower they are while others run. sim --cost measured simulates such a file, and validate compares that with real runs. Inputs must exist: those that other jobs write are made by mrlocal batch first.

Exit codes: 0 done; 2 wrong usage or input, nothing was started; 3 a job failed; 128 + the signal's number when interrupted.`
)

// Load returns what was measured: of the file at path, or else of f. All jobs of f must have
// been measured.
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
	_, err := f.Predicted(from.Measured, func(string, int) (workload.Size, bool) { return workload.Size{}, false })
	return from.Measured, err
}

// Compare makes real runs under each policy, simulates each of them with a seed of its own, and
// compares. The policies take turns, so that what else the machine does hits all of them alike.
func Compare(f *workload.File, policies []string, runs int, real func(policyName string) (*report.Report, error),
	simulated func(policyName string, real *report.Report, seed uint64) (*report.Report, error)) (*Validation, error) {
	all := make([]Runs, len(policies))
	for n := range runs {
		for i, name := range policies {
			done, err := real(name)
			if err != nil {
				return nil, err
			}
			predicted, err := simulated(name, done, uint64(n)+1)
			if err != nil {
				return nil, err
			}
			all[i] = Runs{name, append(all[i].Real, done), append(all[i].Sim, predicted)}
		}
	}
	return Validate(f, all), nil
}

// Validation compares real and simulated runs of a workload file.
type Validation struct {
	// OrderAgrees says whether the simulator puts each two policies whose real makespans
	// certainly differ, as their 95 % intervals say, into the real order.
	OrderAgrees bool `json:"order_agrees"`
	// Ties is the number of pairs of policies whose real intervals overlap. They count for
	// neither side.
	Ties       int      `json:"ties"`
	RealBest   string   `json:"real_best"` // of the least makespan
	SimBest    string   `json:"sim_best"`
	BestAgrees bool     `json:"best_agrees"`
	BestTies   bool     `json:"best_ties"` // for real: the question of the best one has no answer
	Policies   []Policy `json:"policies"`
}

// Policy compares the runs under one policy. Times are means, in seconds.
type Policy struct {
	Name     string  `json:"policy"`
	Real     float64 `json:"real_makespan_s"`
	RealLow  float64 `json:"real_low_s"` // 95 % interval
	RealHigh float64 `json:"real_high_s"`
	Sim      float64 `json:"sim_makespan_s"`
	SimLow   float64 `json:"sim_low_s"`
	SimHigh  float64 `json:"sim_high_s"`
	Error    float64 `json:"error"` // Sim ÷ Real − 1
	Jobs     []Job   `json:"jobs"`
}

// Job compares the times of one job from its submission to its end.
type Job struct {
	Name     string  `json:"name"`
	Real     float64 `json:"real_s"`
	RealLow  float64 `json:"real_low_s"` // 95 % interval
	RealHigh float64 `json:"real_high_s"`
	Sim      float64 `json:"sim_s"`
	SimLow   float64 `json:"sim_low_s"`
	SimHigh  float64 `json:"sim_high_s"`
	Error    float64 `json:"error"`
}

// Runs are all runs under one policy.
type Runs struct {
	Policy    string
	Real, Sim []*report.Report
}

// Sizes returns how much work a real run was, for the simulator: the numbers of tasks and bytes
// of each stage, which follow from the inputs and not from the run.
func Sizes(real *report.Report) func(job string, stage int) (workload.Size, bool) {
	all := map[string]workload.Size{}
	for i := range real.Jobs {
		j := &real.Jobs[i]
		all[j.Name] = workload.Size{Maps: j.Maps, Reduces: j.Reduces, InputBytes: j.Counters.MapInputBytes}
	}
	return func(job string, stage int) (workload.Size, bool) {
		if stage > 0 {
			job = fmt.Sprintf("%s.%d", job, stage+1)
		}
		size, ok := all[job]
		return size, ok
	}
}

// Validate compares the runs. The time of a job goes from its submission, as the file has it,
// to the end of the last job of its chain.
func Validate(f *workload.File, all []Runs) *Validation {
	v := &Validation{OrderAgrees: true}
	for i := range all {
		r := &all[i]
		p := Policy{Name: r.Policy}
		real, sim := makespans(r.Real), makespans(r.Sim)
		p.Real, p.RealLow, p.RealHigh = real.Mean, real.Low, real.High
		p.Sim, p.SimLow, p.SimHigh = sim.Mean, sim.Low, sim.High
		p.Error = off(p.Sim, p.Real)
		realTimes, simTimes := jobTimes(f, r.Real), jobTimes(f, r.Sim)
		for n := range f.Jobs {
			name := f.Jobs[n].Name
			real, sim := realTimes[name], simTimes[name]
			j := Job{Name: name, Real: real.Mean, RealLow: real.Low, RealHigh: real.High, Sim: sim.Mean, SimLow: sim.Low, SimHigh: sim.High}
			j.Error = off(j.Sim, j.Real)
			p.Jobs = append(p.Jobs, j)
		}
		v.Policies = append(v.Policies, p)
	}
	v.rank()
	return v
}

// rank compares the orders of the policies.
func (v *Validation) rank() {
	all := v.Policies
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
	least := func(by func(p *Policy) float64) *Policy {
		best := &all[0]
		for i := range all {
			if by(&all[i]) < by(best) {
				best = &all[i]
			}
		}
		return best
	}
	real, sim := least(func(p *Policy) float64 { return p.Real }), least(func(p *Policy) float64 { return p.Sim })
	v.RealBest, v.SimBest = real.Name, sim.Name
	v.BestAgrees = real == sim
	for i := range all {
		v.BestTies = v.BestTies || &all[i] != real && all[i].RealLow <= real.RealHigh
	}
}

func makespans(reports []*report.Report) interval.Interval {
	var all []float64
	for _, r := range reports {
		all = append(all, r.MakespanSeconds)
	}
	return interval.Of(all)
}

// jobTimes returns the time of each job of the file, until the end of its last stage.
func jobTimes(f *workload.File, reports []*report.Report) map[string]interval.Interval {
	times := map[string]interval.Interval{}
	for n := range f.Jobs {
		name := f.Jobs[n].Name
		var all []float64
		for _, r := range reports {
			end := 0.0
			for i := range r.Jobs {
				j := &r.Jobs[i]
				stage, isStage := strings.CutPrefix(j.Name, name+".")
				if j.Name == name || isStage && strings.Trim(stage, "0123456789") == "" {
					end = max(end, j.FinishS)
				}
			}
			all = append(all, end-f.Jobs[n].Submit.Seconds())
		}
		times[name] = interval.Of(all)
	}
	return times
}

func off(sim, real float64) float64 {
	if real == 0 {
		return 0
	}
	return sim/real - 1
}

// MedianErrors returns the medians of the errors, without their signs, of the makespans and of
// the jobs.
func (v *Validation) MedianErrors() (makespan, job float64) {
	var makespans, jobs []float64
	for i := range v.Policies {
		p := &v.Policies[i]
		makespans = append(makespans, max(p.Error, -p.Error))
		for _, j := range p.Jobs {
			jobs = append(jobs, max(j.Error, -j.Error))
		}
	}
	return median(makespans), median(jobs)
}

// Text returns the comparison as a table.
func (v *Validation) Text() []byte {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "policy\tjob\treal\t95 %\tsimulated\t95 %\terror\t\n")
	for i := range v.Policies {
		p := &v.Policies[i]
		fmt.Fprintf(t, "%s\t(makespan)\t%.3fs\t±%.3fs\t%.3fs\t±%.3fs\t%+.1f%%\t\n", p.Name, p.Real, p.RealHigh-p.Real, p.Sim, p.SimHigh-p.Sim, 100*p.Error)
		for _, j := range p.Jobs {
			fmt.Fprintf(t, "\t%s\t%.3fs\t±%.3fs\t%.3fs\t±%.3fs\t%+.1f%%\t\n", j.Name, j.Real, j.RealHigh-j.Real, j.Sim, j.SimHigh-j.Sim, 100*j.Error)
		}
	}
	_ = t.Flush() // into memory
	makespan, job := v.MedianErrors()
	fmt.Fprintf(&b, "\nmedian error: makespans %.1f%%, jobs %.1f%%\n", 100*makespan, 100*job)
	if len(v.Policies) > 1 {
		says := func(yes bool) string {
			if yes {
				return "agrees"
			}
			return "differs"
		}
		fmt.Fprintf(&b, "order of the policies: %s (%s whose real times do not differ)\n", says(v.OrderAgrees), pairs(v.Ties))
		tie := ""
		if v.BestTies {
			tie = "; for real it ties with another"
		}
		fmt.Fprintf(&b, "best policy: %s (real %s, simulated %s%s)\n", says(v.BestAgrees), v.RealBest, v.SimBest, tie)
	}
	return b.Bytes()
}

func pairs(n int) string {
	if n == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d pairs", n)
}

// WriteJSON writes the comparison as JSON.
func (v *Validation) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(v)
}
