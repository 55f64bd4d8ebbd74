package disk

import "os"

// Stat is os.Stat of a path of any length.
func Stat(path string) (os.FileInfo, error) {
	short, release := Short(path)
	defer release()
	return os.Stat(short)
}

// Lstat is os.Lstat of a path of any length.
func Lstat(path string) (os.FileInfo, error) {
	short, release := Short(path)
	defer release()
	return os.Lstat(short)
}

// ReadFile is os.ReadFile of a path of any length.
func ReadFile(path string) ([]byte, error) {
	short, release := Short(path)
	defer release()
	return os.ReadFile(short)
}

// OpenInput is os.Open of a path of any length.
func OpenInput(path string) (*os.File, error) {
	short, release := Short(path)
	defer release()
	return os.Open(short)
}
