package jobs

import (
	"fmt"

	"mrlocal/internal/errs"
)

// Mistake is user code that breaks a rule of this package, such as a group of Job.GroupBytes that comes back.
// The function that finds it panics with it, and the attempt fails with this text and without a stack.
type Mistake string

// Mistakef makes a Mistake.
func Mistakef(format string, args ...any) error { return Mistake(fmt.Sprintf(format, args...)) }

func (m Mistake) Error() string { return string(m) }

// GroupOf returns the leading bytes of a key that name its group: group is Job.GroupBytes. It panics with a
// Mistake if the key has fewer bytes.
func GroupOf(key []byte, group func(key []byte) int) []byte {
	n := group(key)
	if n < 0 || n > len(key) {
		panic(Mistakef("GroupBytes: returned %d for a key of %d bytes", n, len(key)))
	}
	return key[:n:n]
}

// GroupOrder finds out that a group comes back after another one has begun. The zero value has seen no group.
//
// In sorted keys a group can come back only if its name is a prefix of the names between. So it keeps the
// names that are prefixes of the last one, and no others.
type GroupOrder struct {
	longest []byte // the longest name kept; the others are prefixes of it
	lengths []int  // of the names kept
}

// Begin begins a group whose first key is key. It panics with a Mistake if the group has been there.
func (o *GroupOrder) Begin(name, key []byte) {
	same := 0
	for same < min(len(o.longest), len(key)) && o.longest[same] == key[same] {
		same++
	}
	kept := o.lengths[:0]
	for _, n := range o.lengths {
		if n == len(name) && n <= same {
			panic(Mistakef("GroupBytes: the group %s comes back at the key %s; its name must not be a prefix of another one", errs.Quote(string(name)), errs.Quote(string(key))))
		}
		if n <= same {
			kept = append(kept, n)
		}
	}
	o.lengths = append(kept, len(name))
	if o.longest = o.longest[:same]; len(name) > same {
		o.longest = append(o.longest[:0], name...)
	}
}
