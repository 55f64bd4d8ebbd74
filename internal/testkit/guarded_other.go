//go:build !unix

package testkit

import (
	"slices"
	"testing"
)

// Guarded returns a copy of data. On this system there is no guarded page behind it.
func Guarded(_ testing.TB, data []byte) []byte { return slices.Clip(slices.Clone(data)) }
