//go:build !unix

package side

// writable is found out by the write itself.
func writable(string) error { return nil }
