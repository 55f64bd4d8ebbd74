package jobs

import "fmt"

// Mistake is the error of user code that breaks a rule of this package, such as a group of Job.GroupBytes that
// comes back. The function that finds it panics with it, or returns it. The attempt fails without a stack.
type Mistake string

// Mistakef makes a Mistake.
func Mistakef(format string, args ...any) error { return Mistake(fmt.Sprintf(format, args...)) }

func (m Mistake) Error() string { return string(m) }

// CombinerOf returns a combiner that create, a Job.NewCombiner, makes. It panics with a Mistake if that is a Sum.
func CombinerOf(create func() Reducer) Reducer {
	r := create()
	if _, sum := r.(Sum); sum {
		panic(Mistakef("jobs.Sum is a Folder, for Job.NewFolder; as a combiner it would emit text"))
	}
	return r
}

// GroupOf returns the leading bytes of a key that name its group: group is Job.GroupBytes. It panics with a
// Mistake if the key has fewer bytes.
func GroupOf(key []byte, group func(key []byte) int) []byte {
	n := group(key)
	if n < 0 || n > len(key) {
		panic(Mistakef("GroupBytes: returned %d for a key of %d bytes", n, len(key)))
	}
	return key[:n:n]
}
