// Package policyflags reads the flags that tell slot policies what to do, the
// same for all commands that run something under a policy: one line a flag in
// Specs, one line in Read.
//
// It owns nothing. Neighbours: argv reads values, slots/policy has the options.
package policyflags

import (
	"mrlocal/cmd/mrlocal/internal/argv"
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
		argv.ValueSpec("copy-after", "how long an attempt must have run before late and dynamicmr copy it, `TIME`", "100ms"),
		argv.ValueSpec("additional-map-slots", "map slots a tracker that open while maps are in their I/O period, at most `N` (dynsplit)", "1"),
		argv.ValueSpec("reduce-total", "reduces a tracker runs at a time, at most `N` (dynsplit)", "no bound"),
		argv.ValueSpec("reduce-shuffle", "of these, reduces that copy, at most `N` (dynsplit)", "no bound"),
		argv.ValueSpec("reduce-compute", "of these, reduces that sort and reduce, at most `N` (dynsplit)", "no bound"),
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
	o.CopyAfter = r.Time("copy-after", false)
	if r.Line.Has("additional-map-slots") {
		o.AdditionalMapSlots = int32(r.Count("additional-map-slots", 0, most))
	}
	o.ReduceTotal = int32(r.Count("reduce-total", 1, most))
	o.ReduceShuffle = int32(r.Count("reduce-shuffle", 1, most))
	o.ReduceCompute = int32(r.Count("reduce-compute", 1, most))
	return o
}
