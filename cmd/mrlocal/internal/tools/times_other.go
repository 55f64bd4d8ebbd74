//go:build !linux

package tools

import (
	"io/fs"
	"time"
)

// accessed and created are known on Linux only.
func accessed(string, fs.FileInfo) (time.Time, error) { return time.Time{}, errNoTime }
func created(string, fs.FileInfo) (time.Time, error)  { return time.Time{}, errNoTime }
