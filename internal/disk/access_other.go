//go:build !unix

package disk

import "os"

// MayRead returns why path cannot be read, by opening it; nil: it can.
func MayRead(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// MayWrite knows nothing here: opening the file will show it.
func MayWrite(string) error { return nil }

// MayMakeIn knows nothing here: making the file will show it.
func MayMakeIn(string) error { return nil }
