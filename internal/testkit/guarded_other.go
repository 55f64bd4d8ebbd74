//go:build !unix

package testkit

import (
	"slices"
	"testing"
)

// Guarded returns a copy of data. On this system nothing guards the memory behind
// it.
func Guarded(_ testing.TB, data []byte) []byte { return slices.Clip(slices.Clone(data)) }
