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
	}
}

// Read reads them; what was not given is as in policy.Defaults.
func Read(r *argv.Reader) policy.Options {
	o := policy.Defaults()
	o.BorrowMap = r.ShareOr("borrow-map", o.BorrowMap)
	o.BorrowReduce = r.ShareOr("borrow-reduce", o.BorrowReduce)
	o.LocalityDelay = r.Time("locality-delay", true)
	return o
}
