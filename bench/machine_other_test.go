//go:build !unix

package bench_test

import "testing"

func machineTouch(b *testing.B, _, _ int) { b.Skip("memory of its own is asked for by mmap") }
