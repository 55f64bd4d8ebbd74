package journal

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/cespare/xxhash/v2"

	"mrlocal/internal/disk"
)

// digestOf returns a hash of the bytes of a file, as 16 hexadecimal digits.
func digestOf(path string) (string, error) {
	f, err := disk.OpenRead(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := xxhash.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%016x", hash.Sum64()), nil
}

// ownDigest returns the hash of the program of this process, which is read once. On Linux this is the file that
// runs, also if an update has put another one in its place.
var ownDigest = sync.OnceValues(func() (string, error) { return digestOf("/proc/self/exe") })

// buildID identifies the program of this process: a hash of its file and, if it is known, the commit. The
// commit alone does not tell programs apart that were built from changed files, or with other modules.
func buildID() (string, error) {
	id, err := ownDigest()
	if err != nil {
		path, pathErr := os.Executable()
		if pathErr != nil {
			return "", err
		}
		if id, err = digestOf(path); err != nil {
			return "", err
		}
	}
	const shortHash = 12
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				id += " of commit " + s.Value[:min(len(s.Value), shortHash)]
			}
		}
	}
	return id, nil
}
