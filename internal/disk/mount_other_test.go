//go:build !linux

package disk

import "testing"

// mountSmall skips the test: there is no tmpfs here.
func mountSmall(t *testing.T) string {
	t.Helper()
	t.Skip("no small file system here")
	return ""
}
