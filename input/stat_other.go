//go:build !linux

package input

import "os"

// statPath follows links.
func statPath(path string) (stat, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return stat{}, err
	}
	return stat{mode: fi.Mode(), bytes: fi.Size(), id: identityOf(fi)}, nil
}
