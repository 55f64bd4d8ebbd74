package setup

import (
	"sync"

	"mrlocal/errs"
	"mrlocal/slots"
)

// claimed are the policies of the runs that are going on in this process. Two runs share
// nothing but the policy that they were given, so no run can know of the other.
var claimed = &sync.Map{}

// Claim takes a policy for a run, until release is called. It fails with an error of kind
// errs.BadOptions if the policy has state and serves another run: each would change what
// the other decides. A policy with state is a slots.Resetter, and a pointer; of others,
// and of nil, nothing is taken. Both drivers call Claim before they start anything.
func Claim(p slots.Policy) (release func(), err error) {
	if _, stateful := p.(slots.Resetter); !stateful {
		return func() {}, nil
	}
	if _, taken := claimed.LoadOrStore(p, nil); taken {
		return nil, errs.Optionf("Options.Policy", "serves another run that is going on; give each run a policy of its own")
	}
	return func() { claimed.Delete(p) }, nil
}
