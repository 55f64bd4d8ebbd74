//go:build !unix

package guarded

import (
	"slices"
	"testing"
)

// Copy copies data; here nothing watches what lies behind it.
func Copy(_ testing.TB, data []byte) []byte { return slices.Clip(slices.Clone(data)) }
