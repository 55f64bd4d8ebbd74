package source

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/internal/setting"
	"mrlocal/internal/stats"
	"mrlocal/slots/setup"
)

// Options are the options of Generate. A zero field stands for the default that its comment names
// after the colon.
type Options struct {
	Jobs int    // number of jobs: 100
	Seed uint64 // seed of all draws: 1

	Arrivals string        // "poisson" (the default), "fixed" or "bursts"
	Every    time.Duration // mean time between two jobs: 10 s
	Burst    int           // jobs of a burst: 10

	Sizes   Sizes
	Bytes   ppm.Share  // factor of all bytes, and of the work of a class: 1
	Shuffle *ppm.Share // bytes of map output for each byte of input; nil: 0.5; 0: there are no reduces; not used for fb-2009

	Pools     []TracePool // each job draws one of these, all with the same chance; nil: no job names a pool
	Deadlines ppm.Share   // the share of jobs that have a deadline: 0
	Slack     ppm.Share   // time from submission to deadline, divided by the job's time alone on Cluster: 2
	Cluster   Cluster     // for a job's time alone
	Tasks     Tasks       // for a job's time alone
}

// Fields returns the settings of o.
func (o *Options) Fields() []setting.Setting {
	return append(append([]setting.Setting{
		setting.Of("jobs", "Jobs", "draw `N` jobs", "100", setting.Count(&o.Jobs, 1, setup.MostJobs)),
		setting.Of("seed", "Seed", "seed `N`: the same flags and seed give the same bytes", "1", setting.Seed(&o.Seed)),
		setting.Of("arrivals", "Arrivals", "when jobs arrive: `poisson|fixed|bursts`", "poisson", setting.Choice(&o.Arrivals, "poisson", "fixed", "bursts")),
		setting.Of("every", "Every", "`TIME` between two jobs on average", "10s", setting.Time(&o.Every, 1)),
		setting.Of("burst", "Burst", "`N` jobs of a burst arrive at once; bursts are a Poisson process", "10", setting.Count(&o.Burst, 1, 1_000_000)),
		setting.Of("sizes", "Sizes", "bytes of input of a job, a `LAW`: lognormal:MEDIAN,SIGMA, pareto:LEAST,ALPHA, or fb-2009, the ten classes of a trace of Facebook that SWIM published", "lognormal:1GiB,1.5", setting.Value{Set: o.Sizes.read, Valid: o.Sizes.check}),
		setting.Of("most", "Sizes.Most", "no job reads more than `SIZE`, except those of fb-2009", "1TiB", setting.Size(&o.Sizes.Most, 1, math.MaxInt64)),
		setting.Of("shuffle", "Shuffle", "`X` bytes of map output for each byte of input; 0: no reduces; fb-2009 has its own", "0.5", setting.Optional(&o.Shuffle, func(x *ppm.Share) setting.Value { return setting.Factor(x, 0, mostFactor) })),
		setting.Of("pools", "Pools", "draw the pool of a job from `NAME[=WEIGHT],…`, as prod=2,adhoc", "a pool for each job", setting.Func(o.readPools)),
		setting.Of("deadlines", "Deadlines", "`SHARE` of the jobs that have a deadline", "0", setting.Share(&o.Deadlines)),
		setting.Of("slack", "Slack", "a deadline leaves `X` times what the job takes alone on the cluster", "2", setting.Factor(&o.Slack, 1, mostFactor)),
		setting.Of("bytes", "Bytes", "multiply all bytes by `X`", "1", setting.Factor(&o.Bytes, 1, mostFactor)),
	}, o.Cluster.Fields()...), o.Tasks.Fields()...)
}

const mostFactor = 1_000_000 * ppm.One

// readPools reads NAME[=WEIGHT] with commas between. The default weight is 1.
func (o *Options) readPools(text string) error {
	o.Pools = nil
	for part := range strings.SplitSeq(text, ",") {
		name, weight, given := strings.Cut(part, "=")
		p := TracePool{name, ppm.One}
		if name == "" || given && setting.Factor(&p.Weight, 1, math.MaxInt64).Set(weight) != nil || slices.ContainsFunc(o.Pools, func(o TracePool) bool { return o.Name == name }) {
			return fmt.Errorf("%s: not names with weights; write prod=2,adhoc, each name once", errs.Quote(text))
		}
		o.Pools = append(o.Pools, p)
	}
	return nil
}

// Sizes is the distribution of the bytes of input. The zero value stands for lognormal with a
// median of 1 GiB and sigma 1.5. The classes of fb-2009 have their own sizes, so it uses only Law.
type Sizes struct {
	Law   string  // "lognormal", "pareto" or "fb-2009"
	Bytes int64   // the median of lognormal, the least of pareto
	Shape float64 // sigma of lognormal, alpha of pareto
	Most  int64   // the most bytes of a job, before Options.Bytes: 1 TiB
}

// read reads LAW:BYTES,SHAPE or fb-2009.
func (s *Sizes) read(text string) error {
	law, of, given := strings.Cut(text, ":")
	bytes, shape, _ := strings.Cut(of, ",")
	read := Sizes{Law: law, Most: s.Most}
	if given {
		// What cannot be read stays 0, which check refuses.
		_ = setting.Size(&read.Bytes, 1, math.MaxInt64).Set(bytes)
		read.Shape, _ = strconv.ParseFloat(shape, 64)
	}
	if read.check() != nil || given && law == "fb-2009" {
		return fmt.Errorf("%s: not a law; %s", errs.Quote(text), lawsAre)
	}
	*s = read
	return nil
}

const lawsAre = "write lognormal:1GiB,1.5, pareto:64MiB,1.1 or fb-2009"

// check says that the law is unknown, or its numbers out of range. A shape above 20 would give sizes
// beyond any bound.
func (s *Sizes) check() error {
	if s.Law == "" || s.Law == "fb-2009" || (s.Law == "lognormal" || s.Law == "pareto") && s.Bytes > 0 && s.Shape > 0 && s.Shape <= 20 {
		return nil
	}
	return fmt.Errorf("%s:%s,%v: not a law; %s", s.Law, ppm.FormatBytes(s.Bytes), s.Shape, lawsAre)
}

// Class is a class of jobs in a trace. The medians of its jobs stand for every job of the class.
type Class struct {
	Name                                  string
	Jobs                                  int           // number of jobs in the trace
	InputBytes, ShuffleBytes, OutputBytes int64         // medians
	MapWork, ReduceWork                   time.Duration // medians of the time of all maps, and of all reduces
}

// FB2009 returns the ten classes of the 1,129,193 jobs that Facebook ran on 600 machines from
// May to October 2009. K-means found these classes. Sources:
//
//   - Chen, Alspaugh, Katz: Interactive Analytical Processing in Big Data Systems, VLDB 2012,
//     Table 2.
//   - Chen, Ganapathi, Griffith, Katz: The Case for Evaluating MapReduce Performance Using
//     Workload Suites, MASCOTS 2011.
//
// SWIM's traces are samples of these jobs. The numbers are not verified against the table.
// docs/workloads.md compares them with SWIM's sample of the trace.
func FB2009() []Class {
	// The paper's units are powers of ten.
	const kb, mb, gb, tb = 1e3, 1e6, 1e9, 1e12
	c := func(name string, jobs int, input, shuffle, output float64, mapSeconds, reduceSeconds int64) Class {
		return Class{name, jobs, int64(input), int64(shuffle), int64(output), time.Duration(mapSeconds) * time.Second, time.Duration(reduceSeconds) * time.Second}
	}
	return []Class{
		c("small", 1081918, 21*kb, 0, 871*kb, 20, 0),
		c("load-fast", 37038, 381*kb, 0, 1.9*gb, 6079, 0),
		c("load-slow", 2070, 10*kb, 0, 4.2*gb, 26321, 0),
		c("load-large", 602, 405*kb, 0, 447*gb, 66657, 0),
		c("load-huge", 180, 446*kb, 0, 1.1*tb, 125662, 0),
		c("aggregate-fast", 6035, 230*gb, 8.8*gb, 491*mb, 104338, 66760),
		c("aggregate-expand", 379, 1.9*tb, 502*mb, 2.6*gb, 348942, 76736),
		c("expand-aggregate", 159, 418*gb, 2.5*tb, 45*gb, 1076089, 974395),
		c("transform", 793, 255*gb, 788*gb, 1.6*gb, 384562, 338050),
		c("summary", 19, 7.6*tb, 51*gb, 104*kb, 4843452, 853911),
	}
}

// These constants are the purposes of draws. A draw is a hash of the seed, the index of the job and
// the purpose. So draws are independent, and a new purpose changes none of the others.
const (
	drawGap = iota + 1
	drawSize
	drawPool
	drawDeadline
)

// Generate draws a workload. The same options give the same jobs on every machine. Jobs are in the
// order of submission, and the first one arrives at 0. They have bytes but no tasks. Generate fails
// with errs.BadOptions if an option is out of range or has no effect, or if the last job arrives after
// 100,000 hours. The result uses o.Pools itself.
func Generate(o Options) (*Set, error) {
	if err := setting.Check(o.Fields()); err != nil {
		return nil, err
	}
	switch {
	case o.Shuffle != nil && o.Sizes.Law == "fb-2009":
		return nil, errs.Fieldf("Options.Shuffle", "cannot be combined with %s fb-2009, whose classes have their own shuffle", errs.Field("Options.Sizes"))
	case o.Burst > 0 && o.Arrivals != "bursts":
		return nil, errs.Fieldf("Options.Burst", "needs %s bursts", errs.Field("Options.Arrivals"))
	case o.Slack > 0 && o.Deadlines == 0:
		return nil, errs.Fieldf("Options.Slack", "needs %s", errs.Field("Options.Deadlines"))
	}
	half := ppm.One / 2
	o.Jobs, o.Seed = cmp.Or(o.Jobs, 100), cmp.Or(o.Seed, 1)
	o.Arrivals, o.Burst = cmp.Or(o.Arrivals, "poisson"), cmp.Or(o.Burst, 10)
	o.Every = cmp.Or(o.Every, 10*time.Second)
	o.Shuffle, o.Slack = cmp.Or(o.Shuffle, &half), cmp.Or(o.Slack, 2*ppm.One)
	// Sizes.Most applies to the default law too.
	if o.Sizes.Law == "" {
		o.Sizes = Sizes{Law: "lognormal", Bytes: 1 << 30, Shape: 1.5, Most: o.Sizes.Most}
	}
	o.Sizes.Most = cmp.Or(o.Sizes.Most, 1<<40)
	s := &Set{Pools: o.Pools, Notes: o.notes()}
	at := time.Duration(0)
	for i := range o.Jobs {
		if i > 0 {
			at += o.gap(i)
		}
		// Package workload refuses later times.
		if at > setup.MostTime {
			return nil, errs.Fieldf("Options.Every", "job %d of %d arrives after %v; give fewer jobs or a shorter time", i, o.Jobs, setup.MostTime)
		}
		j := o.job(i)
		// at itself is not rounded, so that rounding errors do not add up.
		j.Submit = at.Round(time.Millisecond)
		if len(o.Pools) > 0 {
			j.Pool = o.Pools[stats.Bits(o.Seed, uint64(i), drawPool)%uint64(len(o.Pools))].Name
		}
		if o.unit(i, drawDeadline) < float64(o.Deadlines)/float64(ppm.One) {
			j.Deadline = j.Submit + time.Duration(times(int64(o.alone(j)), o.Slack)).Round(time.Millisecond)
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s, nil
}

// notes describes the options in words, for the head of the file. A user can make the same file
// again from them.
func (o *Options) notes() []string {
	arrivals := map[string]string{
		"poisson": fmt.Sprintf("a Poisson process, %v between two jobs on average", o.Every),
		"fixed":   fmt.Sprintf("every %v", o.Every),
		"bursts":  fmt.Sprintf("bursts of %s at once, as a Poisson process, %v a job on average", errs.Counted(o.Burst, "job"), o.Every),
	}
	sizes := map[string]string{
		"lognormal": fmt.Sprintf("lognormal, median %d bytes, sigma %v, at most %d", o.Sizes.Bytes, o.Sizes.Shape, o.Sizes.Most),
		"pareto":    fmt.Sprintf("Pareto, at least %d bytes, alpha %v, at most %d", o.Sizes.Bytes, o.Sizes.Shape, o.Sizes.Most),
		"fb-2009":   "the ten classes of the Facebook trace FB-2009, by their shares of its jobs; after Chen, Alspaugh, Katz, VLDB 2012, Table 2, but not compared with it",
	}
	n := []string{fmt.Sprintf("%s drawn with seed %d", errs.Counted(o.Jobs, "job"), o.Seed), "arrivals: " + arrivals[o.Arrivals], "sizes: " + sizes[o.Sizes.Law]}
	if o.Bytes > 0 && o.Bytes != ppm.One {
		n = append(n, fmt.Sprintf("bytes times %v", o.Bytes))
	}
	if o.Sizes.Law != "fb-2009" {
		n = append(n, fmt.Sprintf("shuffle: %v bytes for each byte of input", *o.Shuffle))
	}
	if o.Deadlines > 0 {
		n = append(n, fmt.Sprintf("deadlines: of a share of %v of the jobs, %v times what a job takes alone on this cluster", o.Deadlines, o.Slack))
	}
	return n
}

// unit returns a uniform number between 0 and 1 for a job and a purpose, such as drawGap.
func (o *Options) unit(job int, what uint64) float64 {
	return stats.Unit(stats.Bits(o.Seed, uint64(job), what))
}

// gap returns the time between job i and the one before. In bursts, only the first job of a burst
// has a gap above 0. This gap is Burst times as long on average, so that the mean over all jobs is
// Every.
func (o *Options) gap(i int) time.Duration {
	// Ln of package stats has the same result on every machine. math.Log may not.
	exponential := func(mean time.Duration) time.Duration {
		return time.Duration(-float64(mean) * stats.Ln(o.unit(i, drawGap)))
	}
	switch {
	case o.Arrivals == "fixed":
		return o.Every
	case o.Arrivals == "poisson":
		return exponential(o.Every)
	case i%o.Burst > 0:
		return 0
	}
	return exponential(o.Every * time.Duration(o.Burst))
}

// job draws job i: its name, its bytes, and in fb-2009 its work.
func (o *Options) job(i int) TraceJob {
	j := TraceJob{Name: fmt.Sprintf("J%0*d", len(fmt.Sprint(o.Jobs-1)), i)}
	if o.Sizes.Law == "fb-2009" {
		c := o.class(i)
		j.Name += "-" + c.Name
		j.InputBytes = c.InputBytes
		j.ShuffleBytes = c.ShuffleBytes
		j.OutputBytes = c.OutputBytes
		j.MapWork = c.MapWork
		j.ReduceWork = c.ReduceWork
		j.scale(o.Bytes)
		return j
	}
	// Both laws apply an inverse distribution function to one uniform number.
	u := o.unit(i, drawSize)
	x := stats.Exp(float64(o.Sizes.Shape * stats.Normal(u)))
	if o.Sizes.Law == "pareto" {
		x = stats.Exp(-stats.Ln(u) / o.Sizes.Shape)
	}
	j.InputBytes = int64(math.Min(math.Max(1, float64(o.Sizes.Bytes)*x), float64(o.Sizes.Most)))
	j.scale(o.Bytes)
	if *o.Shuffle > 0 {
		j.ShuffleBytes = max(1, times(j.InputBytes, *o.Shuffle))
	}
	return j
}

// class draws the class of job i. The chance of a class is its share of the jobs in the trace.
func (o *Options) class(i int) Class {
	all, jobs := FB2009(), 0
	for _, c := range all {
		jobs += c.Jobs
	}
	n := int(o.unit(i, drawSize) * float64(jobs))
	for _, c := range all {
		if n -= c.Jobs; n < 0 {
			return c
		}
	}
	return all[0]
}

// alone returns the approximate time of a job that has the cluster to itself. It counts the waves
// of its maps, and then the waves of its reduces. j is a copy, so the job of the caller gets no
// tasks.
func (o *Options) alone(j TraceJob) time.Duration {
	j.divide(o.Tasks)
	c := o.Cluster.withDefaults(0)
	waves := func(tasks, slots int) time.Duration { return time.Duration((tasks + slots - 1) / slots) }
	t := waves(j.Maps, c.Trackers*c.MapSlots) * j.MapTimes[0]
	if j.Reduces > 0 {
		t += waves(j.Reduces, c.Trackers*c.ReduceSlots) * j.ReduceTimes[0]
	}
	return t
}
