//go:build !linux

package find

import (
	"io/fs"
	"time"
)

// accessed returns errNoTime: mrlocal knows this time only on Linux.
func accessed(string, fs.FileInfo) (time.Time, error) { return time.Time{}, errNoTime }

// created returns errNoTime: mrlocal knows this time only on Linux.
func created(string, fs.FileInfo) (time.Time, error) { return time.Time{}, errNoTime }
