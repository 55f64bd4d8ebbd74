// Package puma has the jobs that the papers run: those of PUMA and Gridmix, and examples of Hadoop. Each
// job has a constructor NewNAME. What an attempt of a job keeps in memory stands there too.
package puma

import "bytes"

// firstField returns the length of the first field of key, with the TAB behind it. Jobs group by it.
func firstField(key []byte) int { return bytes.IndexByte(key, '\t') + 1 }
