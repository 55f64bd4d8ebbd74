//go:build !unix

package main

import "os"

// writable returns nil. On this system the first write shows whether path may be written.
func writable(string) error { return nil }

// create creates or truncates a file.
func create(path string) (*os.File, error) { return os.Create(path) }
