package jobs

import (
	"bytes"
	"errors"
	"fmt"
)

// errBorrowed is the error of user code that changes bytes that it only borrows.
var errBorrowed = errors.New("changed bytes that it borrows")

// Checked returns j with a Partition, GroupBytes, AppendKey and Folder that panic if they change what
// they borrow, or keep it. The engine uses it in checked builds, and package jobtest in each run.
// Folders that are a Sum or a Summer stay as they are, because kvbuffers know their type.
func Checked(j Job) Job {
	if partition := j.Partition; partition != nil {
		j.Partition = func(key []byte, parts int) (part int) {
			unchanged(key, func() { part = partition(key, parts) })
			return part
		}
	}
	if group := j.GroupBytes; group != nil {
		j.GroupBytes = func(key []byte) (n int) {
			unchanged(key, func() { n = group(key) })
			return n
		}
	}
	if appendKey := j.AppendKey; appendKey != nil {
		j.AppendKey = func(dst, record []byte) (key []byte) {
			unchanged(record, func() { key = appendKey(dst, record) })
			return key
		}
	}
	if create := j.NewFolder; create != nil {
		j.NewFolder = func() Folder {
			f := create()
			switch f.(type) {
			case nil, Sum, Summer:
				return f
			}
			return checkedFolder{f}
		}
	}
	return j
}

// unchanged calls do, and panics if do has changed p.
func unchanged(p []byte, do func()) {
	before := bytes.Clone(p)
	if do(); !bytes.Equal(p, before) {
		panic(errBorrowed)
	}
}

// checkedFolder is a Folder that panics if the one in it changes or keeps a value.
type checkedFolder struct{ Folder }

// Fold folds a copy of value, and overwrites the copy.
func (f checkedFolder) Fold(acc, value []byte) (folded []byte) {
	lent := append([]byte{}, value...)
	folded = f.Folder.Fold(acc, lent)
	if !bytes.Equal(lent, value) {
		panic(errBorrowed)
	}
	result := bytes.Clone(folded)
	for i := range lent {
		lent[i] = ^lent[i]
	}
	if !bytes.Equal(folded, result) {
		panic(errors.New("keeps the value that it borrows"))
	}
	return folded
}

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
