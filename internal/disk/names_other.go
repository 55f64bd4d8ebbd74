//go:build !linux

package disk

import (
	"io/fs"
	"os"

	"mrlocal/internal/errs"
)

// ReadNames calls visit with the names in a directory, and their types. It follows no links.
func ReadNames(path string, _ []byte, visit func(name []byte, mode fs.FileMode)) error {
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		visit([]byte(e.Name()), e.Type())
	}
	return errs.Cause(err)
}
