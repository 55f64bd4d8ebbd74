//go:build !unix

package main

// writable is found out by the write itself.
func writable(string) error { return nil }
