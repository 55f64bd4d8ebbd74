//go:build !unix

package main

import "os"

// create creates or truncates a file.
func create(path string) (*os.File, error) { return os.Create(path) }
