// Package policyflags reads the flags that tell slot policies what to do, the
// same for all commands that run something under a policy: one line a flag in
// Specs, one line in Read.
//
// It owns nothing. Neighbours: argv reads values, slots/policy has the options.
package policyflags

import (
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/slots/demand"
	"mrlocal/slots/policy"
)

// Specs lists the flags.
func Specs() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("borrow-map", "`SHARE` of the map slots that reduces may borrow", "1"),
		argv.ValueSpec("borrow-reduce", "`SHARE` of the reduce slots that maps may borrow", "1"),
		argv.ValueSpec("locality-delay", "how long a job waits for a slot near its input, `TIME`; 0: not at all", "0"),
		argv.ValueSpec("dhsa", "what dynamicmr allocates by, `pi|pd|off`: as pi-dhfs, as pd-dhfs, or as fair", "pi"),
		argv.ValueSpec("sepb", "`on|off`: whether dynamicmr copies slow tasks", "on"),
		argv.ValueSpec("sepb-jobs", "`SHARE` of the running jobs whose pending tasks go before dynamicmr's copies; 0: job-first, as under late; 1: batch-first", "1"),
		argv.ValueSpec("prescheduling", "`on|off`: whether dynamicmr gives a tracker maps at their input beyond its part of the load", "on"),
		argv.ValueSpec("slot-weights", "what tasks weigh under dynamicmr, `map=N,reduce=N`: a tracker runs no more than its home slots weigh together", "no bound but the slots"),
		argv.ValueSpec("copy-after", "how long an attempt must have run before late and dynamicmr copy it, `TIME`", "100ms"),
		argv.ValueSpec("additional-map-slots", "map slots a tracker that open while maps are in their I/O period, at most `N` (dynsplit)", "1"),
		argv.ValueSpec("reduce-total", "reduces a tracker runs at a time, at most `N` (dynsplit)", "no bound"),
		argv.ValueSpec("reduce-shuffle", "of these, reduces that copy, at most `N` (dynsplit)", "no bound"),
		argv.ValueSpec("reduce-compute", "of these, reduces that sort and reduce, at most `N` (dynsplit)", "no bound"),
		argv.ValueSpec("control-cycle", "how often ras places tasks anew, `TIME`", "the mean time of a map, from 250ms to 10s"),
		argv.ValueSpec("shuffle-memory", "`off|on`: whether under ras a reduce that copies holds the memory that it reduces with", "off"),
	}
}

// most bounds counts of slots a tracker.
const most = 1_000_000

// Read reads them; what was not given is as in policy.Defaults.
func Read(r *argv.Reader) policy.Options {
	o := policy.Defaults()
	o.BorrowMap = r.ShareOr("borrow-map", o.BorrowMap)
	o.BorrowReduce = r.ShareOr("borrow-reduce", o.BorrowReduce)
	o.LocalityDelay = r.Time("locality-delay", true)
	o.DHSA = r.Choice("dhsa", "pi", "pd", "off")
	o.SEPB = r.Choice("sepb", "on", "off") != "off"
	o.SEPBJobs = r.ShareOr("sepb-jobs", o.SEPBJobs)
	o.PreScheduling = r.Choice("prescheduling", "on", "off") != "off"
	o.SlotWeights = slotWeights(r)
	o.CopyAfter = r.Time("copy-after", false)
	if r.Line.Has("additional-map-slots") {
		o.AdditionalMapSlots = int32(r.Count("additional-map-slots", 0, most))
	}
	o.ReduceTotal = int32(r.Count("reduce-total", 1, most))
	o.ReduceShuffle = int32(r.Count("reduce-shuffle", 1, most))
	o.ReduceCompute = int32(r.Count("reduce-compute", 1, most))
	o.Cycle = r.Time("control-cycle", false)
	o.ShuffleMemory = r.Choice("shuffle-memory", "off", "on") == "on"
	return o
}

// slotWeights reads --slot-weights map=N,reduce=N; both are given.
func slotWeights(r *argv.Reader) (w demand.Weights) {
	text, ok := r.Line.Value("slot-weights")
	if !ok {
		return w
	}
	for _, part := range strings.Split(text, ",") {
		kind, number, _ := strings.Cut(part, "=")
		of := map[string]*int32{"map": &w.Map, "reduce": &w.Reduce}[kind]
		if of == nil || *of != 0 {
			r.Keep(errs.Optionf("--slot-weights", "%s: not map=N,reduce=N; write map=1,reduce=2", argv.Quote(text)))
			return w
		}
		n, err := argv.Count("slot-weights", number, 1, demand.MostWeight)
		r.Keep(err)
		*of = int32(n)
	}
	if r.Err == nil && !w.Valid() {
		r.Keep(errs.Optionf("--slot-weights", "%s: give map and reduce; write map=1,reduce=2", argv.Quote(text)))
	}
	return w
}
